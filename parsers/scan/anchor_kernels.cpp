#include "parsers/scan/anchor_kernels.h"

#include <bit>
#include <numeric>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bertbench {

ScanKernel best_scan_kernel() {
#if defined(__x86_64__)
  static const ScanKernel best = [] {
    if (__builtin_cpu_supports("avx512bw") > 0 && __builtin_cpu_supports("avx512vbmi") > 0 &&
        __builtin_cpu_supports("avx512vpopcntdq") > 0) {
      return ScanKernel::avx512vbmi;
    }
    return __builtin_cpu_supports("avx2") > 0 ? ScanKernel::avx2 : ScanKernel::portable;
  }();
  return best;
#else
  return ScanKernel::portable;
#endif
}

void FingerprintTables::add(const char* fingerprint, std::size_t bucket,
                            std::size_t nibble_bucket) {
  const auto enter = [](auto& table, unsigned at, std::size_t number) {
    table[table.size() / 2 * (number / 8) + at] |= static_cast<std::uint8_t>(1u << number % 8);
  };
  for (std::size_t j = 0; j < kWidth; ++j) {
    const auto c = static_cast<unsigned char>(fingerprint[j]);
    enter(low[j], low_nibble(c), nibble_bucket);
    enter(high[j], high_nibble(c), nibble_bucket);
  }
  for (std::size_t k = 0; k < kPairs; ++k) {
    const auto first = static_cast<unsigned char>(fingerprint[kFirst[k]]);
    const auto second = static_cast<unsigned char>(fingerprint[kSecond[k]]);
    enter(pairs[k], pair(first, second), bucket);
  }
}

#if defined(__x86_64__)
namespace {

#define BB_AVX2 __attribute__((target("avx2,popcnt")))  // every processor with AVX2 has them
#define BB_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vpopcntdq,popcnt")))

// Nothing is called in the loops over text, so that the tables stay in registers.

// Macros, as a vector must not cross the border of a function that is compiled without AVX.
#define BB_TABLE(t) _mm256_load_si256(reinterpret_cast<const __m256i*>((t).data()))
// 16 bytes of text, in both halves of a vector: the upper half looks up the other eight buckets.
#define BB_TEXT(p) _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))
#define BB_LOOK(x, low, high)                                             \
  _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(x, nibble)), \
                   _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(x, 3), nibble)))

BB_AVX2 std::uint32_t match_avx2(const FingerprintTables& tables, const char* p, std::size_t steps,
                                 ScanMasks& out) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i zero = _mm256_setzero_si256();
  const __m256i l0 = BB_TABLE(tables.low[0]), l1 = BB_TABLE(tables.low[1]);
  const __m256i l2 = BB_TABLE(tables.low[2]), l3 = BB_TABLE(tables.low[3]);
  const __m256i h0 = BB_TABLE(tables.high[0]), h1 = BB_TABLE(tables.high[1]);
  const __m256i h2 = BB_TABLE(tables.high[2]), h3 = BB_TABLE(tables.high[3]);
  std::uint64_t any = 0;
  std::uint32_t newlines = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    std::uint64_t found = 0, breaks = 0;
    for (unsigned quarter = 0; quarter < 4; ++quarter, p += 16) {
      const __m256i x0 = BB_TEXT(p), x1 = BB_TEXT(p + 1), x2 = BB_TEXT(p + 2), x3 = BB_TEXT(p + 3);
      const __m256i all =
          _mm256_and_si256(_mm256_and_si256(BB_LOOK(x0, l0, h0), BB_LOOK(x1, l1, h1)),
                           _mm256_and_si256(BB_LOOK(x2, l2, h2), BB_LOOK(x3, l3, h3)));
      const auto some = ~static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(all, zero)));
      const auto lf = static_cast<unsigned>(
          _mm_movemask_epi8(_mm_cmpeq_epi8(_mm256_castsi256_si128(x0), _mm_set1_epi8('\n'))));
      found |= std::uint64_t{(some | some >> 16u) & 0xffffu} << (16 * quarter);
      breaks |= std::uint64_t{lf} << (16 * quarter);
    }
    out.found[step] = found;
    out.breaks[step] = breaks;
    newlines += static_cast<std::uint32_t>(std::popcount(breaks));
    any |= std::uint64_t{found != 0} << step;
  }
  out.any = any;
  return newlines;
}
#undef BB_TABLE
#undef BB_TEXT
#undef BB_LOOK

// The loop holds nothing but what the vector units do; what is asked of its masks follows, eight
// steps at a time. The tables take half of the registers.
BB_AVX512 std::uint32_t match_avx512(const FingerprintTables& tables, const char* p,
                                     std::size_t steps, ScanMasks& out) {
  const __m512i newline = _mm512_set1_epi8('\n');
  const __m512i own = _mm512_set1_epi8(static_cast<char>(0xfc));
#define BB_PART(j, part) _mm512_load_si512(tables.pairs[j].data() + 64 * (part))
  const __m512i a0 = BB_PART(0, 0), b0 = BB_PART(0, 1), c0 = BB_PART(0, 2), d0 = BB_PART(0, 3);
  const __m512i a1 = BB_PART(1, 0), b1 = BB_PART(1, 1), c1 = BB_PART(1, 2), d1 = BB_PART(1, 3);
  const __m512i a2 = BB_PART(2, 0), b2 = BB_PART(2, 1), c2 = BB_PART(2, 2), d2 = BB_PART(2, 3);
  const __m512i a3 = BB_PART(3, 0), b3 = BB_PART(3, 1), c3 = BB_PART(3, 2), d3 = BB_PART(3, 3);
  const __m512i a4 = BB_PART(4, 0), b4 = BB_PART(4, 1), c4 = BB_PART(4, 2), d4 = BB_PART(4, 3);
#undef BB_PART
// FingerprintTables::pair() of each place. Of two bytes that are shifted together the upper one
// gets bits of the lower one, which are none of its own.
#define BB_SHIFTED(x) _mm512_and_si512(_mm512_slli_epi16(x, 2), own)
#define BB_ONE(low, high, x) _mm512_permutex2var_epi8(low, x, high)
  for (std::size_t step = 0; step < steps; ++step, p += ScanMasks::kPlaces) {
    const __m512i x0 = _mm512_loadu_si512(p), x1 = _mm512_loadu_si512(p + 1);
    const __m512i x2 = _mm512_loadu_si512(p + 2), x3 = _mm512_loadu_si512(p + 3);
    const __m512i third = BB_SHIFTED(x2), last = BB_SHIFTED(x3);
    const __m512i y0 = _mm512_xor_si512(x0, BB_SHIFTED(x1)), y1 = _mm512_xor_si512(x1, third);
    const __m512i y2 = _mm512_xor_si512(x2, last), y3 = _mm512_xor_si512(x0, last);
    const __m512i y4 = _mm512_xor_si512(x0, third);
#define BB_ALL(t0, u0, t1, u1, t2, u2, t3, u3, t4, u4)                                             \
  _mm512_test_epi8_mask(_mm512_and_si512(BB_ONE(t0, u0, y0), BB_ONE(t1, u1, y1)),                  \
                        _mm512_and_si512(_mm512_and_si512(BB_ONE(t2, u2, y2), BB_ONE(t3, u3, y3)), \
                                         BB_ONE(t4, u4, y4)))
    const __mmask64 first = BB_ALL(a0, b0, a1, b1, a2, b2, a3, b3, a4, b4);
    const __mmask64 second = BB_ALL(c0, d0, c1, d1, c2, d2, c3, d3, c4, d4);
#undef BB_ALL
    out.found[step] = first | second;
    out.breaks[step] = _mm512_cmpeq_epi8_mask(x0, newline);
  }
#undef BB_ONE
#undef BB_SHIFTED
  out.any = 0;
  // A vector load of what was stored a moment ago in parts would have to wait for it.
  if (steps < ScanMasks::kSteps) {
    std::uint32_t newlines = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      newlines += static_cast<std::uint32_t>(std::popcount(out.breaks[step]));
      out.any |= std::uint64_t{out.found[step] != 0} << step;
    }
    return newlines;
  }
  __m512i newlines = _mm512_setzero_si512();
  for (std::size_t step = 0; step < ScanMasks::kSteps; step += 8) {
    const __m512i found = _mm512_loadu_si512(out.found.data() + step);
    const __m512i breaks = _mm512_loadu_si512(out.breaks.data() + step);
    out.any |= std::uint64_t{_mm512_test_epi64_mask(found, found)} << step;
    newlines = _mm512_add_epi64(newlines, _mm512_popcnt_epi64(breaks));
  }
  alignas(64) std::array<std::uint64_t, 8> lanes;
  _mm512_store_si512(lanes.data(), newlines);
  return static_cast<std::uint32_t>(std::accumulate(lanes.begin(), lanes.end(), std::uint64_t{0}));
}

}  // namespace
#endif

std::uint32_t match_masks([[maybe_unused]] ScanKernel kernel,
                          [[maybe_unused]] const FingerprintTables& tables,
                          [[maybe_unused]] const char* p, [[maybe_unused]] std::size_t steps,
                          [[maybe_unused]] ScanMasks& out) {
#if defined(__x86_64__)
  return kernel == ScanKernel::avx512vbmi ? match_avx512(tables, p, steps, out)
                                          : match_avx2(tables, p, steps, out);
#else
  return 0;
#endif
}

}  // namespace bertbench
