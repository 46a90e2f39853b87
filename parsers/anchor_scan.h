// AnchorScanner: finds every occurrence of a set of literals in one pass over a block.
//
// The method is Hyperscan's "Teddy" (also in ripgrep's aho-corasick crate): a fingerprint of four
// bytes of each literal, looked up by nibbles with byte shuffles, eight buckets at a time; a
// survivor is compared with the literals of its bucket. AVX2 where the processor has it, the same
// tables byte by byte elsewhere; both give the same hits (tests/parsers/anchor_scan_test.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

struct AnchorHit {
  std::size_t offset = 0;     ///< a byte inside the literal (its fingerprint), not always its first
  std::uint32_t literal = 0;  ///< index into the list given to the constructor
};

class AnchorScanner {
 public:
  static constexpr std::size_t kFingerprint = 4;  ///< shortest literal

  /// Literals of fewer than kFingerprint bytes are never found; there must be no line break in one.
  /// `allow_simd` = false forces the portable path.
  explicit AnchorScanner(std::vector<std::string> literals, bool allow_simd = true);

  /// Appends the hits whose offset lies in [begin, end) and whose literal lies wholly in `data`, in
  /// order of offset, then of literal.
  void scan(std::string_view data, std::size_t begin, std::size_t end,
            std::vector<AnchorHit>& hits) const;

 private:
  struct Literal {
    std::uint32_t id;
    std::uint32_t at;    ///< where in the literal the fingerprint begins
    std::uint32_t word;  ///< the fingerprint
  };

  [[nodiscard]] std::uint8_t buckets_at(const unsigned char* p) const;
  void verify(std::string_view data, std::size_t offset, std::uint8_t buckets,
              std::vector<AnchorHit>& hits) const;
  void scan_portable(std::string_view data, std::size_t begin, std::size_t end,
                     std::vector<AnchorHit>& hits) const;
  void scan_avx2(std::string_view data, std::size_t begin, std::size_t end,
                 std::vector<AnchorHit>& hits) const;

  std::vector<std::string> literals_;
  std::array<std::vector<Literal>, 8> buckets_;
  // Bit b of low_[j][n]: bucket b has a fingerprint whose j-th byte has the low nibble n.
  alignas(32) std::array<std::array<std::uint8_t, 16>, kFingerprint> low_{};
  alignas(32) std::array<std::array<std::uint8_t, 16>, kFingerprint> high_{};
  bool simd_ = false;
};

/// Number of '\n' in `data`.
[[nodiscard]] std::int64_t count_newlines(std::string_view data);

/// Position of the first '\n' or '\r' at or after `from`, npos if there is none.
[[nodiscard]] std::size_t find_line_break(std::string_view data, std::size_t from);

}  // namespace bertbench
