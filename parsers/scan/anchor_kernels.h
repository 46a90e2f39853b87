// The vector loops of the anchor scan: which places of a block may begin a fingerprint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bertbench {

/// Kernels from slow to fast; the best one that the processor has is taken.
enum class ScanKernel { portable, avx2, avx512vbmi };
[[nodiscard]] ScanKernel best_scan_kernel();

/// Sixteen buckets of fingerprints, as tables that the kernels look up. A place passes when some
/// bucket has a fingerprint with each of the place's pairs of bytes, as far as a hash of seven bits
/// shows: all places that hold a fingerprint do, and some that hold none. Pairs and not bytes, as
/// in prose the bytes of many fingerprints together are nearly all letters. One kernel looks up the
/// two nibbles of each byte instead, so that a fingerprint has a bucket for either. An entry has
/// eight bits: each table stands twice, for the first eight buckets and for the others.
class FingerprintTables {
 public:
  static constexpr std::size_t kWidth = 4;  ///< bytes of a fingerprint
  static constexpr std::size_t kBuckets = 16;
  static constexpr unsigned kAllBuckets = (1u << kBuckets) - 1;
  /// The bytes that are looked up together.
  static constexpr std::size_t kPairs = 5;
  static constexpr std::array<std::size_t, kPairs> kFirst = {0, 1, 2, 0, 0},
                                                   kSecond = {1, 2, 3, 3, 2};

  // What the kernels look up. Bits 3 to 6 of a byte distinguish more than the upper nibble, of
  // which ASCII has six.
  [[nodiscard]] static constexpr unsigned pair(unsigned first, unsigned second) {
    return (first ^ second << 2u) & 127u;
  }
  [[nodiscard]] static constexpr unsigned low_nibble(unsigned c) { return c & 15u; }
  [[nodiscard]] static constexpr unsigned high_nibble(unsigned c) { return c >> 3u & 15u; }

  void add(const char* fingerprint, std::size_t bucket, std::size_t nibble_bucket);

  /// The buckets that have a fingerprint whose k-th pair has the hash of p's.
  [[nodiscard]] unsigned of_pair(std::size_t k, const unsigned char* p) const {
    return both(pairs[k], pair(p[kFirst[k]], p[kSecond[k]]));
  }
  /// The nibble buckets that have one whose j-th byte has c's low nibble, and its high nibble.
  [[nodiscard]] unsigned of_low(std::size_t j, unsigned c) const {
    return both(low[j], low_nibble(c));
  }
  [[nodiscard]] unsigned of_high(std::size_t j, unsigned c) const {
    return both(high[j], high_nibble(c));
  }
  /// `p` has kWidth bytes.
  [[nodiscard]] bool passes(const unsigned char* p) const {
    unsigned mask = kAllBuckets;
    for (std::size_t k = 0; k < kPairs; ++k) mask &= of_pair(k, p);
    return mask != 0;
  }
  /// For the kernel of nibbles: more false places.
  [[nodiscard]] bool passes_by_nibbles(const unsigned char* p) const {
    unsigned mask = kAllBuckets;
    for (std::size_t j = 0; j < kWidth; ++j) mask &= of_low(j, p[j]) & of_high(j, p[j]);
    return mask != 0;
  }

  template <std::size_t n>
  using Table = std::array<std::uint8_t, 2 * n>;
  alignas(32) std::array<Table<16>, kWidth> low{};
  alignas(32) std::array<Table<16>, kWidth> high{};
  alignas(64) std::array<Table<128>, kPairs> pairs{};

 private:
  template <std::size_t n>
  static unsigned both(const std::array<std::uint8_t, n>& table, unsigned at) {
    return table[at] | unsigned{table[n / 2 + at]} << 8u;
  }
};

/// What a kernel finds in up to kSteps steps of kPlaces places each.
struct ScanMasks {
  static constexpr std::size_t kPlaces = 64, kSteps = 64;
  std::uint64_t any = 0;                     ///< bit s: some place of step s passes
  std::array<std::uint64_t, kSteps> found;   ///< bit k of [s]: place k of step s passes
  std::array<std::uint64_t, kSteps> breaks;  ///< bit k of [s]: it holds '\n'
};

/// Fills `out` for `steps` (up to kSteps) from `p` on, which has kWidth - 1 bytes more than the
/// steps. Returns the number of '\n' in them. `kernel` must not be portable, and the processor must
/// have it.
std::uint32_t match_masks(ScanKernel kernel, const FingerprintTables& tables, const char* p,
                          std::size_t steps, ScanMasks& out);

}  // namespace bertbench
