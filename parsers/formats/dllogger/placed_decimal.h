// PlacedDecimal: a number of which everything is known but its digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "parsers/lines/decimal.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bertbench {

/// Lines of a log often differ in their digits only: where a number stands, and where its point, is
/// then found out once, and each line's value takes a shuffle that leaves the point out, and four
/// multiplications for up to 16 digits.
struct PlacedDecimal {
  static constexpr std::size_t kDigits = 16;

  PlacedDecimal(std::size_t end_, std::size_t whole_, std::size_t fraction_, bool negative_);

  std::size_t end = 0;                  ///< offset behind the last digit
  std::size_t whole = 0, fraction = 0;  ///< digits in front of the point and behind it
  bool negative = false;
  bool by_vectors = false;  ///< up to 16 digits, and 32 bytes may be read in front of `end`
  // Which byte of the last 16 in front of `end`, and of the 16 in front of those, becomes which of
  // 16 digits; 0x80: none.
  alignas(16) std::array<std::uint8_t, kDigits> near{}, far{};

  /// The value in `text`, as std::from_chars reads it.
  [[nodiscard]] double read_bytewise(const char* text) const;
#if defined(__x86_64__)
  /// The same in line, for loops that are compiled for SSE 4.1 or more.
  [[gnu::target("sse4.1"), gnu::always_inline]] double read_sse41(const char* text) const {
    if (!by_vectors) return read_bytewise(text);
    const char* const behind = text + end;
    const auto* const last = reinterpret_cast<const __m128i*>(behind - kDigits);
    const auto* const first = reinterpret_cast<const __m128i*>(behind - 2 * kDigits);
    const __m128i ascii = _mm_or_si128(
        _mm_shuffle_epi8(_mm_loadu_si128(last),
                         _mm_load_si128(reinterpret_cast<const __m128i*>(near.data()))),
        _mm_shuffle_epi8(_mm_loadu_si128(first),
                         _mm_load_si128(reinterpret_cast<const __m128i*>(far.data()))));
    // Places without a digit are 0 and stay so.
    const __m128i digits = _mm_subs_epu8(ascii, _mm_set1_epi8('0'));
    const __m128i twos = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010a));  // 10, 1
    const __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(0x00010064));  // 100, 1
    const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours),
                                          _mm_set1_epi32(0x00012710));  // 10000, 1
    const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
    const std::uint64_t mantissa = (both & 0xffffffffu) * 100'000'000 + (both >> 32u);
    if (mantissa > detail::kExact) return read_bytewise(text);
    // A signed number is one instruction to convert.
    const double value =
        static_cast<double>(static_cast<std::int64_t>(mantissa)) / detail::kTens[fraction];
    return negative ? -value : value;
  }
#endif
};

/// The numbers' values in `text`, as std::from_chars reads them. `values` has as many places.
void read_decimals(const char* text, std::span<const PlacedDecimal> numbers, double* values);

}  // namespace bertbench
