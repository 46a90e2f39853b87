#include "parsers/formats/dllogger/byte_maps.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bertbench {

#if defined(__x86_64__)
__attribute__((target("avx2"))) bool ByteMaps::fill_avx2(std::string_view text) {
  constexpr std::size_t kWidth = 32;
  const __m256i quote = _mm256_set1_epi8('"'), escape = _mm256_set1_epi8('\\');
  const __m256i space = _mm256_set1_epi8(' '), zero = _mm256_set1_epi8('0');
  const __m256i nine = _mm256_set1_epi8(9);
  __m256i odd = _mm256_setzero_si256();
  auto* const digits = reinterpret_cast<char*>(digits_.data());
  auto* const quotes = reinterpret_cast<char*>(quotes_.data());
  // Until a difference is found, whole vectors are held against the text before.
  const std::size_t comparable = std::min(text.size(), before_size_) / kWidth * kWidth;
  alike_ = comparable;
  before_size_ = text.size();
  const auto step = [&](std::size_t from, std::size_t out, unsigned drop)
      __attribute__((target("avx2"))) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + from));
    // As signed bytes, control characters and all that is not ASCII lie below the blank.
    odd = _mm256_or_si256(
        odd, _mm256_or_si256(_mm256_cmpgt_epi8(space, x), _mm256_cmpeq_epi8(x, escape)));
    const __m256i value = _mm256_sub_epi8(x, zero);
    const auto digit = static_cast<unsigned>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(value, nine), value)));
    char* const before = before_.data() + from;
    if (drop == 0 && from < alike_) {
      const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(before));
      unsigned old = 0;
      std::memcpy(&old, digits + from / 8, sizeof old);
      const unsigned same =
          static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y))) | (digit & old);
      if (same != ~0u) alike_ = from + static_cast<std::size_t>(std::countr_one(same));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(before), x);
    const unsigned d = digit >> drop;
    const auto q = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, quote))) >> drop;
    std::memcpy(digits + out / 8, &d, sizeof d);
    std::memcpy(quotes + out / 8, &q, sizeof q);
  };
  std::size_t at = 0;
  for (; at + kWidth <= text.size(); at += kWidth) step(at, at, 0);
  // The last step sees some bytes twice and drops their bits.
  const std::size_t rest = text.size() - at;
  if (rest > 0) {
    step(text.size() - kWidth, at, static_cast<unsigned>(kWidth - rest));
    at += kWidth;
  }
  const std::uint64_t none = 0;
  std::memcpy(digits + at / 8, &none, sizeof none);
  std::memcpy(quotes + at / 8, &none, sizeof none);
  return _mm256_testz_si256(odd, odd) != 0;
}

// The same with 64 bytes and their bits at a time. Bytes behind the text read as blanks, which are
// neither digits nor quotes nor odd.
__attribute__((target("avx512f,avx512bw"))) bool ByteMaps::fill_avx512(std::string_view text) {
  constexpr std::size_t kWidth = 64;
  const __m512i quote = _mm512_set1_epi8('"'), escape = _mm512_set1_epi8('\\');
  const __m512i space = _mm512_set1_epi8(' '), zero = _mm512_set1_epi8('0');
  const __m512i ten = _mm512_set1_epi8(10);
  const std::size_t comparable = std::min(text.size(), before_size_);
  alike_ = comparable;
  before_size_ = text.size();
  std::uint64_t odd = 0;
  std::size_t at = 0, word = 0;
  for (; at < text.size(); at += kWidth, ++word) {
    const std::size_t rest = text.size() - at;
    const std::uint64_t there = rest < kWidth ? (std::uint64_t{1} << rest) - 1 : ~std::uint64_t{0};
    const __m512i x = _mm512_mask_loadu_epi8(space, there, text.data() + at);
    odd |= _mm512_cmplt_epi8_mask(x, space) | _mm512_cmpeq_epi8_mask(x, escape);
    const std::uint64_t digits = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(x, zero), ten);
    char* const before = before_.data() + at;
    if (at < alike_) {
      const std::uint64_t differs =
          _mm512_cmpneq_epi8_mask(x, _mm512_loadu_si512(before)) & ~(digits & digits_[word]);
      if (differs != 0) {
        alike_ = std::min(alike_, at + static_cast<std::size_t>(std::countr_zero(differs)));
      }
    }
    _mm512_storeu_si512(before, x);
    digits_[word] = digits;
    quotes_[word] = _mm512_cmpeq_epi8_mask(x, quote);
  }
  digits_[word] = quotes_[word] = 0;
  return odd == 0;
}
#else
bool ByteMaps::fill_avx2(std::string_view) { return false; }
#endif

bool ByteMaps::fill(std::string_view text) {
#if defined(__x86_64__)
  static const bool have = __builtin_cpu_supports("avx2") > 0;
  static const bool have_more = __builtin_cpu_supports("avx512bw") > 0;
  if (text.size() < 32 || text.size() > kLongest) return false;
  if (have_more && !narrow_) return fill_avx512(text);
  return have && fill_avx2(text);
#else
  return fill_avx2(text);
#endif
}

}  // namespace bertbench
