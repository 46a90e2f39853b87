#include "reports/stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kLeastNoise = 5e-4;
constexpr double kPenalty = 5;  // x ln n: below 2 % of steady series of 20 to 100 runs alarm

}  // namespace

std::vector<std::size_t> change_points(std::span<const double> series) {
  const std::size_t n = series.size();
  if (n < kLeastForChangePoints) return {};
  std::vector<double> sum(n + 1, 0);
  std::vector<double> squares(n + 1, 0);
  std::vector<double> steps;
  const double origin = std::log(series[0]);  // keeps the sums of squares small
  for (std::size_t i = 0; i < n; ++i) {
    const double value = std::log(series[i]) - origin;
    sum[i + 1] = sum[i] + value;
    squares[i + 1] = squares[i] + value * value;
    if (i > 0) steps.push_back(std::fabs(std::log(series[i] / series[i - 1])));
  }
  const double noise = std::max(kLeastNoise, kMadToSigma * median(steps) / std::sqrt(2.0));
  const auto cost = [&](std::size_t from, std::size_t to) {
    const double total = sum[to] - sum[from];
    const double deviation = squares[to] - squares[from] - total * total / double(to - from);
    return std::max(0.0, deviation) / (noise * noise);
  };
  const double penalty = kPenalty * std::log(double(n));
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> previous(n + 1, 0);
  best[0] = -penalty;
  for (std::size_t to = kLeastSegment; to <= n; ++to) {
    for (std::size_t from = 0; from + kLeastSegment <= to; ++from) {
      if (best[from] + penalty >= best[to]) continue;  // a cost is never below 0
      const double value = best[from] + cost(from, to) + penalty;
      if (value < best[to]) {
        best[to] = value;
        previous[to] = from;
      }
    }
  }
  std::vector<std::size_t> out;
  for (std::size_t at = previous[n]; at > 0; at = previous[at]) out.push_back(at);
  std::ranges::reverse(out);
  return out;
}

}  // namespace bertbench
