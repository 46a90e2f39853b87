// AnchorScanner: finds every occurrence of a set of literals in one pass over a block.
//
// The method is Hyperscan's "Teddy" (also in ripgrep's aho-corasick crate): a fingerprint of four
// bytes of each literal, looked up with byte shuffles, eight buckets at a time; a survivor is
// looked up in a hash table of the fingerprints and compared with their literals. Three kernels:
// AVX-512 VBMI looks up 7 bits of a byte at once (64 bytes a step), AVX2 two nibbles (32 bytes),
// the portable one the same tables byte by byte. All give the same hits
// (tests/parsers/anchor_scan_test.cpp).
//
// The pass counts the line breaks as well: a pass of its own over the block would cost a fifth of
// the whole on logs with few records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bertbench {

struct AnchorHit {
  std::size_t offset = 0;     ///< a byte inside the literal (its fingerprint), not always its first
  std::uint32_t literal = 0;  ///< index into the list given to the constructor
  std::uint32_t newlines = 0;  ///< '\n' between the begin of the scan and `offset`
};

/// Kernels from slow to fast; the best one that the processor has is taken.
enum class ScanKernel { portable, avx2, avx512vbmi };
[[nodiscard]] ScanKernel best_scan_kernel();

class AnchorScanner {
 public:
  static constexpr std::size_t kFingerprint = 4;  ///< shortest literal

  /// Literals of fewer than kFingerprint bytes are never found; there must be no line break in one.
  /// A kernel that the processor lacks becomes its best one.
  explicit AnchorScanner(std::vector<std::string> literals, ScanKernel kernel = best_scan_kernel());
  AnchorScanner(std::vector<std::string> literals, bool allow_simd)
      : AnchorScanner(std::move(literals), allow_simd ? best_scan_kernel() : ScanKernel::portable) {
  }

  /// Appends the hits whose offset lies in [begin, end) and whose literal lies wholly in `data`, in
  /// order of offset, then of literal. Returns the number of '\n' in [begin, end); a range must be
  /// shorter than 4 GiB.
  std::int64_t scan(std::string_view data, std::size_t begin, std::size_t end,
                    std::vector<AnchorHit>& hits) const;

  /// Places in `data` that the tables let pass, hits or not: what costs time beside the pass
  /// itself.
  [[nodiscard]] std::int64_t count_candidates(std::string_view data) const;

 private:
  struct Literal {
    std::uint32_t id;
    std::uint32_t at;  ///< where in the literal the fingerprint begins
    std::uint32_t size;
    std::uint32_t word;       ///< the fingerprint
    std::uint32_t last_word;  ///< the literal's last bytes
  };
  /// Literals of one fingerprint: [first, first + count) of sorted_. count = 0: empty.
  struct Slot {
    std::uint32_t word = 0;
    std::uint16_t first = 0, count = 0;
  };
  static constexpr unsigned kSlotBits = 11;

  void build_slots();
  [[nodiscard]] std::uint8_t buckets_at(const unsigned char* p) const;
  void verify(std::string_view data, std::size_t offset, std::uint32_t newlines,
              std::vector<AnchorHit>& hits) const;
  std::uint32_t scan_portable(std::string_view data, std::size_t begin, std::size_t end,
                              std::uint32_t newlines, std::vector<AnchorHit>& hits) const;
  std::uint32_t scan_simd(std::string_view data, std::size_t begin, std::size_t end,
                          std::vector<AnchorHit>& hits) const;
  void masks_avx2(const char* p, std::size_t steps, std::uint64_t* found,
                  std::uint64_t* breaks) const;
  void masks_avx512(const char* p, std::size_t steps, std::uint64_t* found,
                    std::uint64_t* breaks) const;

  std::vector<std::string> literals_;
  std::vector<Literal> sorted_;  ///< by fingerprint, then by id
  std::vector<Slot> slots_;
  // Bit b of low_[j][n]: bucket b has a fingerprint whose j-th byte has the low nibble n.
  alignas(32) std::array<std::array<std::uint8_t, 16>, kFingerprint> low_{};
  alignas(32) std::array<std::array<std::uint8_t, 16>, kFingerprint> high_{};
  // Bit b of bytes_[j][c]: bucket b has a fingerprint whose j-th byte is c or c + 128.
  alignas(64) std::array<std::array<std::uint8_t, 128>, kFingerprint> bytes_{};
  ScanKernel kernel_ = ScanKernel::portable;
};

/// text.find(what, from), several times as fast on a line of a few hundred bytes.
[[nodiscard]] std::size_t find_text(std::string_view text, std::string_view what,
                                    std::size_t from = 0);

/// Number of '\n' in `data`.
[[nodiscard]] std::int64_t count_newlines(std::string_view data);

/// Where the line begins that holds the byte at `at`: behind the last '\n' or '\r' in
/// [limit, at), else `limit`.
[[nodiscard]] std::size_t find_line_begin(std::string_view data, std::size_t at, std::size_t limit);

/// How often the line of `n` bytes at `at`, which '\r' ends, is repeated right behind it: copies
/// that
/// '\r' (not "\r\n") ends as well, with a byte behind it.
[[nodiscard]] std::int64_t count_repeats(std::string_view data, std::size_t at, std::size_t n);

/// Position of the first '\n' or '\r' at or after `from`, npos if there is none.
[[nodiscard]] std::size_t find_line_break(std::string_view data, std::size_t from);

}  // namespace bertbench
