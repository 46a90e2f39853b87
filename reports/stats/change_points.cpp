#include "reports/stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kLeastNoise = 5e-4;
constexpr double kSpike = 3;  // times the noise
constexpr std::size_t kValuesAround = 2 * kLeastSegment - 1;
constexpr double kPenalty = 5;  // x ln n: below 2 % of steady series of 20 to 100 runs alarm

double noise_of(std::span<const double> series) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < series.size(); ++i) {
    steps.push_back(std::fabs(std::log(series[i] / series[i - 1])));
  }
  return std::max(kLeastNoise, kMadToSigma * median(steps) / std::sqrt(2.0));
}

}  // namespace

std::vector<double> without_spikes(std::span<const double> series) {
  std::vector<double> out(series.begin(), series.end());
  if (series.size() < kValuesAround) return out;
  const double most = std::exp(kSpike * noise_of(series));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from =
        std::min(i - std::min(i, kValuesAround / 2), series.size() - kValuesAround);
    const double middle = median(series.subspan(from, kValuesAround));
    out[i] = std::clamp(series[i], middle / most, middle * most);
  }
  return out;
}

std::vector<std::size_t> change_points(std::span<const double> series) {
  const std::size_t n = series.size();
  if (n < kLeastForChangePoints) return {};
  std::vector<double> sum(n + 1, 0);
  std::vector<double> squares(n + 1, 0);
  const double origin = std::log(series[0]);  // keeps the sums of squares small
  for (std::size_t i = 0; i < n; ++i) {
    const double value = std::log(series[i]) - origin;
    sum[i + 1] = sum[i] + value;
    squares[i + 1] = squares[i] + value * value;
  }
  const double noise = noise_of(series);
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
