#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace bertbench {

/// The middle value, of an even number the mean of the two middle ones. Not empty.
[[nodiscard]] inline double median(std::span<const double> sample) {
  std::vector<double> values(sample.begin(), sample.end());
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace bertbench
