#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bertbench {

/// The middle of finite values, of an even number the mean of the two middle ones. Not empty.
[[nodiscard]] inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace bertbench
