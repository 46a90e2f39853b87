#include "reports/stats/multiple_testing.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace bertbench {
namespace {

std::vector<std::size_t> order_of(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  return order;
}

}  // namespace

std::vector<double> holm(std::span<const double> p) {
  std::vector<double> adjusted(p.size());
  double highest = 0;
  std::size_t left = p.size();
  for (const std::size_t i : order_of(p)) {
    highest = std::max(highest, std::min(1.0, p[i] * static_cast<double>(left--)));
    adjusted[i] = highest;
  }
  return adjusted;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  std::vector<double> adjusted(p.size());
  const auto order = order_of(p);
  double lowest = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    lowest = std::min(lowest, p[i] * static_cast<double>(p.size()) / static_cast<double>(rank));
    adjusted[i] = lowest;
  }
  return adjusted;
}

}  // namespace bertbench
