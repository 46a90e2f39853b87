// Numbers as tables print them: the digits show how far the true value may be away.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench::audit {

/// All values from low to high, both ends included. NaN ends mean "no such value".
struct Interval {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] static Interval point(double value) { return {value, value}; }
  [[nodiscard]] bool valid() const { return low <= high; }
  [[nodiscard]] double middle() const { return low == high ? low : low + (high - low) / 2; }

  /// Whether the two share a value. The slack of 1e-9 (relative) is the rounding error of a dozen
  /// double operations, far below any printed digit.
  [[nodiscard]] bool meets(const Interval& other) const {
    const double slack = 1e-9 * std::max({std::fabs(low), std::fabs(high), 1e-300});
    return valid() && other.valid() && low <= other.high + slack && other.low <= high + slack;
  }
  [[nodiscard]] bool contains(double value) const { return meets(point(value)); }

  [[nodiscard]] Interval intersect(const Interval& other) const {
    if (!meets(other)) return {};
    const double from = std::max(low, other.low), to = std::min(high, other.high);
    return {std::min(from, to), std::max(from, to)};  // the slack may have crossed them
  }
};

[[nodiscard]] inline Interval operator*(const Interval& a, const Interval& b) {
  const double p[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

[[nodiscard]] inline Interval operator+(const Interval& a, const Interval& b) {
  return {a.low + b.low, a.high + b.high};
}

/// Invalid when the divisor can be zero: nothing is known then.
[[nodiscard]] inline Interval operator/(const Interval& a, const Interval& b) {
  if (!b.valid() || (b.low <= 0 && b.high >= 0)) return {};
  return a * Interval{1 / b.high, 1 / b.low};
}

/// One printed number. "1.92" has the value 1.92 and two decimals, so its true value lies in
/// [1.915, 1.925] when it was rounded and in [1.92, 1.93] when digits were cut off.
struct Printed {
  std::string text;  ///< as printed, without Markdown emphasis
  double value = 0;  ///< percentages as a fraction, "16K" as 16000
  double unit = 1;   ///< of the last digit: 0.01 for "1.92", 0.001 for "98.2%", 1 for "42"
  bool percent = false;

  [[nodiscard]] Interval rounded() const { return {value - unit / 2, value + unit / 2}; }
  /// As if truncated toward zero at a digit worth `digit`.
  [[nodiscard]] Interval truncated(double digit) const {
    return value >= 0 ? Interval{value, value + digit} : Interval{value - digit, value};
  }
};

/// How numbers of one column are written.
struct NumberStyle {
  bool decimal_comma = false;  ///< "1,92" is 1.92; otherwise commas group thousands
  bool slash_pairs = false;    ///< "32/32" is two numbers
};

/// The numbers of a cell: none (text, "-", "OOM", "310-NaN"), one, or the several of "a and b".
/// Understands thousands separators (comma, apostrophe, thin and no-break space), a minus, %, a
/// trailing x, K/M/G/B, units after a blank ("156.76 samples/s"), "~", "± s", footnote marks and
/// Markdown emphasis. Anything else around the digits makes the cell text: never half a number.
[[nodiscard]] std::vector<Printed> parse_numbers(std::string_view cell, const NumberStyle& style);

/// Whether a column writes decimal commas: some cell has a comma not followed by three digits,
/// and none has a point.
[[nodiscard]] bool uses_decimal_comma(const std::vector<std::string>& cells);

/// `value` with `decimals` digits after the point, at most 12.
[[nodiscard]] std::string fixed_digits(double value, int decimals);

/// Digits after the point of a unit: 2 for 0.01, 0 for 1.
[[nodiscard]] int decimals_of(double unit);

}  // namespace bertbench::audit
