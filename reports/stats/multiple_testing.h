// P values of many cells at once.
#pragma once

#include <span>
#include <vector>

namespace bertbench {

/// Adjusted p values in the order given: a test passes at family-wise level alpha when its adjusted
/// value is <= alpha. Step-down, monotone, at most 1. Holm 1979.
[[nodiscard]] std::vector<double> holm(std::span<const double> p);

}  // namespace bertbench
