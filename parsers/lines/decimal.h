// Decimal numbers of hot lines.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bertbench {

struct Decimal {
  double value = 0;
  const char* stop = nullptr;  ///< after the number; nullptr: there is none
};

namespace detail {

// Eight digits, each a byte of 0 to 9, the first one lowest, to their value by three
// multiplications.
inline std::uint64_t value_of_eight(std::uint64_t digits) {
  digits = digits * 10 + (digits >> 8u);
  return (((digits & 0x000000ff000000ffu) * 0x000f424000000064u) +
          (((digits >> 16u) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
         32u;
}

inline constexpr std::uint64_t kPowers[] = {1,       10,        100,        1'000,      10'000,
                                            100'000, 1'000'000, 10'000'000, 100'000'000};

// Appends the digits at p to `mantissa`; it may wrap round, which the caller finds by the count.
inline const char* take_digits(const char* p, const char* end, std::uint64_t& mantissa) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  while (end - p >= 8) {
    std::uint64_t digits = 0;
    std::memcpy(&digits, p, sizeof digits);
    digits ^= 0x3030303030303030u;
    // The high bit of each byte above 9. The carry of such a byte reaches only bytes after it.
    const std::uint64_t other = (digits | (digits + 0x7676767676767676u)) & 0x8080808080808080u;
    const int count = std::countr_zero(other) / 8;  // 8 where all are digits
    if (count == 0) return p;
    // What comes after the digits is shifted out; zeros before them add nothing.
    digits <<= 8u * static_cast<unsigned>(8 - count);
    mantissa = mantissa * kPowers[count] + value_of_eight(digits);
    p += count;
    if (count < 8) return p;
  }
#endif
  while (p != end && *p >= '0' && *p <= '9') {
    mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
    ++p;
  }
  return p;
}

inline constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr std::uint64_t kExact = std::uint64_t{1} << 53;

}  // namespace detail

/// Start of the run of digits that ends at `end`.
inline std::size_t digits_before(std::string_view text, std::size_t end) {
  while (end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9') --end;
  return end;
}

/// End of the run of digits that begins at `begin`.
inline std::size_t digits_after(std::string_view text, std::size_t begin) {
  while (begin < text.size() && text[begin] >= '0' && text[begin] <= '9') ++begin;
  return begin;
}

/// A comma and three digits, no more, stand at `at`: ",234" of "1,234".
inline bool has_thousands_at(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] == ',' && digits_after(text, at + 1) == at + 4;
}

/// What a letter right after a number multiplies it by, as in "37.5k"; 1: it is no such letter.
inline double suffix_scale(char c) {
  return c == 'k' || c == 'K' ? 1e3 : c == 'M' ? 1e6 : c == 'G' || c == 'B' ? 1e9 : 1;
}

/// digits[.digits] as nearly all numbers of logs are, to the value that std::from_chars gives: a
/// mantissa below 2^53 and a power of ten up to 22 are both exact, so one division rounds correctly
/// (Clinger 1990). Whatever is unusual (a sign, an exponent, no digit on a side of the point, too
/// many digits) is left to from_chars.
inline Decimal read_plain_decimal(const char* p, const char* end) {
  constexpr std::ptrdiff_t kDigits = 19;  // fit into 64 bits
  std::uint64_t mantissa = 0;
  const char* const begin = p;
  p = detail::take_digits(p, end, mantissa);
  std::ptrdiff_t digits = p - begin, fraction = 0;
  if (digits == 0) return {};
  if (p != end && *p == '.') {
    const char* const dot = p;
    p = detail::take_digits(p + 1, end, mantissa);
    fraction = p - dot - 1;
    if (fraction == 0) return {};
    digits += fraction;
  }
  if (digits > kDigits || mantissa > detail::kExact) return {};
  if (p != end && (*p == 'e' || *p == 'E')) return {};
  return {static_cast<double>(static_cast<std::int64_t>(mantissa)) / detail::kTens[fraction], p};
}

/// [-]digits[.digits][e[+-]digits] as JSON writes them (no leading zeros, no "1." and no ".5"), to
/// the same value.
inline Decimal read_decimal(const char* begin, const char* end) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  const std::size_t whole = text.starts_with('-') ? 1 : 0;
  if (text.substr(whole).starts_with('0') && digits_after(text, whole) > whole + 1) return {};
  const Decimal plain = read_plain_decimal(begin + whole, end);
  if (plain.stop != nullptr) return {whole > 0 ? -plain.value : plain.value, plain.stop};
  const std::size_t point = digits_after(text, whole);
  if (point == whole) return {};
  if (text.substr(point).starts_with('.') && digits_after(text, point + 1) == point + 1) return {};
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc{}) return {};
  return {value, stop};
}

}  // namespace bertbench
