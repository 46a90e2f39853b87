// PlacedDecimal: a number of which everything is known but its digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bertbench {

/// Lines of a log often differ in their digits only: where a number stands, and where its point, is
/// then found out once, and each line's value takes a shuffle that leaves the point out, and four
/// multiplications for up to 16 digits.
struct PlacedDecimal {
  PlacedDecimal(std::size_t end_, std::size_t whole_, std::size_t fraction_, bool negative_);

  std::size_t end = 0;                  ///< offset behind the last digit
  std::size_t whole = 0, fraction = 0;  ///< digits in front of the point and behind it
  bool negative = false;
  bool by_vectors = false;  ///< up to 16 digits, and 32 bytes may be read in front of `end`
  // Which byte of the last 16 in front of `end`, and of the 16 in front of those, becomes which of
  // 16 digits; 0x80: none.
  alignas(16) std::array<std::uint8_t, 16> near{}, far{};
};

/// The numbers' values in `text`, as std::from_chars reads them. `values` has as many places.
void read_decimals(const char* text, std::span<const PlacedDecimal> numbers, double* values);

}  // namespace bertbench
