// Closed intervals of real numbers, for arithmetic on numbers that were rounded for print.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

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

/// Invalid when the divisor can be zero: nothing can be said then.
[[nodiscard]] inline Interval operator/(const Interval& a, const Interval& b) {
  if (!b.valid() || (b.low <= 0 && b.high >= 0)) return {};
  return a * Interval{1 / b.high, 1 / b.low};
}

}  // namespace bertbench::audit
