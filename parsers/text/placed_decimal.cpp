#include "parsers/text/placed_decimal.h"

#include "parsers/text/decimal.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bertbench {
namespace {

constexpr std::size_t kWidth = 16;

double by_digits(const char* text, const PlacedDecimal& number) {
  const std::size_t size = number.whole + number.fraction + (number.fraction > 0 ? 1 : 0);
  const char* const end = text + number.end;
  return number.end - size >= kReadInFrontOfDecimal
             ? counted_decimal(end, number.whole, number.fraction)
             : read_decimal(end - size, end).value;
}

#if defined(__x86_64__)
__attribute__((target("sse4.1"))) void by_vectors(const char* text,
                                                  std::span<const PlacedDecimal> numbers,
                                                  double* values) {
  const __m128i zero = _mm_set1_epi8('0');
  const __m128i tens = _mm_set1_epi16(0x010a);          // 10, 1
  const __m128i hundreds = _mm_set1_epi32(0x00010064);  // 100, 1
  const __m128i myriads = _mm_set1_epi32(0x00012710);   // 10000, 1
  for (const PlacedDecimal& number : numbers) {
    double value = 0;
    std::uint64_t mantissa = detail::kExact + 1;
    if (number.by_vectors) {
      const auto load = [&](std::size_t back) __attribute__((target("sse4.1"))) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + number.end - back));
      };
      const auto table = [](const auto& control) __attribute__((target("sse4.1"))) {
        return _mm_load_si128(reinterpret_cast<const __m128i*>(control.data()));
      };
      const __m128i ascii = _mm_or_si128(_mm_shuffle_epi8(load(kWidth), table(number.near)),
                                         _mm_shuffle_epi8(load(2 * kWidth), table(number.far)));
      // Places without a digit are 0 and stay so.
      const __m128i digits = _mm_subs_epu8(ascii, zero);
      const __m128i pairs = _mm_maddubs_epi16(digits, tens);
      const __m128i fours = _mm_madd_epi16(pairs, hundreds);
      const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), myriads);
      const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
      mantissa = (both & 0xffffffffu) * 100'000'000 + (both >> 32u);
    }
    if (mantissa <= detail::kExact) {
      // A signed number is one instruction to convert.
      value =
          static_cast<double>(static_cast<std::int64_t>(mantissa)) / detail::kTens[number.fraction];
    } else {
      value = by_digits(text, number);
    }
    *values++ = number.negative ? -value : value;
  }
}
#endif

const bool kVectors = [] {  // asked for each line: no guard of a static in front of it
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.1") > 0;
#else
  return false;
#endif
}();

}  // namespace

PlacedDecimal::PlacedDecimal(std::size_t end_, std::size_t whole_, std::size_t fraction_,
                             bool negative_)
    : end(end_), whole(whole_), fraction(fraction_), negative(negative_) {
  near.fill(0x80);
  far.fill(0x80);
  by_vectors = whole + fraction <= kWidth && end >= 2 * kWidth;
  if (!by_vectors) return;
  for (std::size_t i = 0; i < whole + fraction; ++i) {  // from the last digit on
    const std::size_t back = 1 + i + (i >= fraction && fraction > 0 ? 1 : 0);
    auto& control = back <= kWidth ? near : far;
    control[kWidth - 1 - i] = static_cast<std::uint8_t>((2 * kWidth - back) % kWidth);
  }
}

void read_decimals(const char* text, std::span<const PlacedDecimal> numbers, double* values) {
#if defined(__x86_64__)
  if (kVectors) return by_vectors(text, numbers, values);
#endif
  for (const PlacedDecimal& number : numbers) {
    const double value = by_digits(text, number);
    *values++ = number.negative ? -value : value;
  }
}

}  // namespace bertbench
