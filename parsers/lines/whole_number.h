// Whole numbers that follow from others: a batch is a rate times a time, each of them rounded.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace bertbench {

/// The only whole number from `least` to `most`, where it is 1 to below 10^9; nothing where none or
/// several lie there.
[[nodiscard]] inline std::optional<std::int64_t> whole_between(double least, double most) {
  const double whole = std::ceil(least);
  if (!(whole >= 1 && whole < 1e9) || !(whole <= most && whole + 1 > most)) return std::nullopt;
  return static_cast<std::int64_t>(whole);
}

/// Likewise within `doubt` of a value.
[[nodiscard]] inline std::optional<std::int64_t> whole_near(double value, double doubt = 0) {
  return whole_between(value - doubt, value + doubt);
}

}  // namespace bertbench
