#include "reports/stats/multiple_testing.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace bertbench {
std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> smallest_first(p.size());
  std::iota(smallest_first.begin(), smallest_first.end(), std::size_t{0});
  std::ranges::stable_sort(smallest_first,
                           [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double highest = 0;
  std::size_t left = p.size();
  for (const std::size_t i : smallest_first) {
    highest = std::max(highest, std::min(1.0, p[i] * static_cast<double>(left--)));
    adjusted[i] = highest;
  }
  return adjusted;
}

}  // namespace bertbench
