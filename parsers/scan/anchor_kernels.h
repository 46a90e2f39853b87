// The vector loops of the anchor scan: which places of a block may begin a fingerprint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bertbench {

/// Kernels from slow to fast; the best one that the processor has is taken.
enum class ScanKernel { portable, avx2, avx512vbmi };
[[nodiscard]] ScanKernel best_scan_kernel();

/// Eight buckets of fingerprints, as tables that the kernels look bytes up in. A place passes when
/// some bucket has, for each of its bytes, a fingerprint with that byte there: all places that hold
/// a fingerprint do, and some that hold none. The kernels see more or less of a byte, so that a
/// fingerprint has a bucket for either.
class FingerprintTables {
 public:
  static constexpr std::size_t kWidth = 4;    ///< bytes of a fingerprint
  static constexpr std::size_t kBuckets = 8;  ///< bits of a table's entry

  // What the kernels look up. ASCII needs 7 bits; bits 3 to 6 distinguish more than the upper
  // nibble, of which it has six.
  [[nodiscard]] static constexpr unsigned exact(unsigned c) { return c & 127u; }
  [[nodiscard]] static constexpr unsigned low_nibble(unsigned c) { return c & 15u; }
  [[nodiscard]] static constexpr unsigned high_nibble(unsigned c) { return c >> 3u & 15u; }

  void add(const char* fingerprint, std::size_t bucket, std::size_t nibble_bucket);
  /// `p` has kWidth bytes.
  [[nodiscard]] bool passes(const unsigned char* p) const {
    unsigned mask = 0xff;
    for (std::size_t j = 0; j < kWidth; ++j) mask &= bytes[j][exact(p[j])];
    return mask != 0;
  }
  /// For the kernel of nibbles: more false places.
  [[nodiscard]] bool passes_by_nibbles(const unsigned char* p) const {
    unsigned mask = 0xff;
    for (std::size_t j = 0; j < kWidth; ++j) {
      mask &= static_cast<unsigned>(low[j][low_nibble(p[j])] & high[j][high_nibble(p[j])]);
    }
    return mask != 0;
  }

  // Bit b of low[j][n]: nibble bucket b has a fingerprint whose j-th byte has the low nibble n.
  alignas(32) std::array<std::array<std::uint8_t, 16>, kWidth> low{};
  alignas(32) std::array<std::array<std::uint8_t, 16>, kWidth> high{};
  // Bit b of bytes[j][c]: bucket b has a fingerprint whose j-th byte is c or c + 128.
  alignas(64) std::array<std::array<std::uint8_t, 128>, kWidth> bytes{};
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
