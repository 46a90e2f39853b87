// AnchorScanner: finds every occurrence of a set of literals in one pass over a block.
//
// The method is Hyperscan's "Teddy" (also in ripgrep's aho-corasick crate): a fingerprint of four
// bytes of each literal, looked up with byte shuffles, sixteen buckets at a time. What passes is
// held against a bitmap of the fingerprints, and then against one more byte of the literal, without
// a branch that could be mispredicted; what is left, nearly all of it right, is compared with the
// literals. Three kernels: AVX-512 VBMI looks up 7 bits of a hash of two bytes (64 places a step),
// AVX2 two nibbles of a byte (16 places), the portable one looks into the tables of the first place
// by place. All give the same hits (tests/parsers/anchor_scan_test.cpp).
//
// The pass counts the line breaks as well: a pass of its own over the block would cost a fifth of
// the whole on logs with few records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/scan/anchor_kernels.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {

struct AnchorHit {
  std::size_t offset = 0;     ///< a byte inside the literal (its fingerprint), not always its first
  std::uint32_t literal = 0;  ///< index into the list given to the constructor
  std::uint32_t newlines = 0;  ///< '\n' between the begin of the scan and `offset`
};

class AnchorScanner {
 public:
  static constexpr std::size_t kFingerprint = FingerprintTables::kWidth;  ///< shortest literal

  /// Literals of fewer than kFingerprint bytes are never found; there must be no line break in one.
  /// A kernel that the processor lacks becomes its best one.
  explicit AnchorScanner(std::vector<std::string> literals, ScanKernel kernel = best_scan_kernel());

  /// Appends the hits whose offset lies in [begin, end) and whose literal lies wholly in `data`, in
  /// order of offset, then of literal. Returns the number of '\n' in [begin, end); a range must be
  /// shorter than 4 GiB.
  std::int64_t scan(std::string_view data, std::size_t begin, std::size_t end,
                    std::vector<AnchorHit>& hits) const;

  /// Where the literal of a hit begins, an offset as the hit's own.
  [[nodiscard]] std::size_t begin_of(const AnchorHit& hit) const {
    return hit.offset - fingerprints_[hit.literal];
  }

  /// Places in `data` that the tables let pass, hits or not: what costs time next to the pass
  /// itself.
  [[nodiscard]] std::int64_t count_candidates(std::string_view data) const;

 private:
  struct Literal {
    std::uint32_t id;
    std::uint32_t at;  ///< where in the literal the fingerprint begins
    std::uint32_t size;
    std::uint32_t word;  ///< the fingerprint
    /// Its first and its last 8 bytes, 4 of a literal that is shorter than 8. They lie here, as the
    /// text of a literal is rarely in the cache; up to 16 bytes they decide it for good.
    std::uint64_t front, back;
  };
  /// Literals of one fingerprint: [first, first + count) of sorted_. count = 0: empty. They share
  /// one more byte: what stands at `offset` from the fingerprint is `value` where `mask` has bits.
  struct Slot {
    std::uint32_t word = 0;
    std::uint16_t first = 0, count = 0;
    std::int8_t offset = 0;
    std::uint8_t mask = 0, value = 0;
  };
  static constexpr unsigned kFilterBits = 15;

  void build_slots();
  void find_shared_byte(Slot& slot) const;
  [[nodiscard]] bool may_be_fingerprint(std::uint32_t word) const;
  void verify(std::string_view data, std::size_t offset, std::uint32_t newlines,
              std::vector<AnchorHit>& hits) const;
  /// `newlines` stand between the begin of the scan and `begin`, where the masks begin.
  void verify_all(std::string_view data, std::size_t begin, const ScanMasks& masks,
                  std::uint32_t newlines, std::vector<AnchorHit>& hits) const;
  std::uint32_t scan_portable(std::string_view data, std::size_t begin, std::size_t end,
                              std::vector<AnchorHit>& hits) const;
  std::uint32_t scan_simd(std::string_view data, std::size_t begin, std::size_t end,
                          std::vector<AnchorHit>& hits) const;

  std::vector<std::string> literals_;
  std::vector<std::uint32_t> fingerprints_;  ///< of each literal: offset of its fingerprint
  std::vector<Literal> sorted_;              ///< by fingerprint, then by id
  std::vector<Slot> slots_;                  ///< twice as many as literals, or more
  unsigned slot_bits_ = 11;
  std::vector<std::uint64_t> filter_;  ///< a bit for each fingerprint's hash
  FingerprintTables tables_;
  ScanKernel kernel_ = ScanKernel::portable;
};

}  // namespace bertbench
