#include "reports/stats/steady_state.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/stats/change_points.h"
#include "reports/stats/clip.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::size_t kMostMeans = 400;  // optimal partitioning is quadratic in them

/// Where between two places the values turn from below the middle to above it: where the sum of
/// what they fall short of it by is largest.
std::size_t turn_above(std::span<const double> values, double middle, std::size_t from,
                       std::size_t to) {
  std::size_t best = from;
  double sum = 0, largest = 0;
  for (std::size_t i = from; i < to; ++i) {
    sum += middle - values[i];
    if (sum > largest) {
      largest = sum;
      best = i + 1;
    }
  }
  return best;
}

bool same_level(double a, double b) { return std::abs(a / b - 1) <= kSameLevel; }

}  // namespace

std::optional<SteadyState> steady_state(std::span<const double> series) {
  const std::size_t n = series.size();
  if (n < kLeastForChangePoints) return std::nullopt;
  if (!std::ranges::all_of(series, [](double y) { return y > 0; })) return std::nullopt;
  const std::size_t batch = (n + kMostMeans - 1) / kMostMeans;
  const auto values = clipped(series);
  const auto y = batch_means(values, batch);
  std::vector<std::size_t> begins = change_points(y);
  begins.insert(begins.begin(), 0);

  const auto end_of = [&](std::size_t segment) {
    return segment + 1 < begins.size() ? begins[segment + 1] : y.size();
  };
  const auto level_of = [&](std::size_t segment) {
    return mean(std::span(y).subspan(begins[segment], end_of(segment) - begins[segment]));
  };
  // A few odd iterations are no level, unless the run begins with them.
  const auto passing = [&](std::size_t segment) {
    return segment > 0 && static_cast<double>(end_of(segment) - begins[segment]) <
                              kLeastLevelPart * static_cast<double>(y.size());
  };
  std::size_t steady = begins.size() - 1;
  while (passing(steady)) --steady;
  const double last = level_of(steady);
  // All neighbours are held against the last level, not against each other: a slow drift in small
  // steps is no steady state.
  for (std::size_t segment = steady; segment-- > 0;) {
    if (passing(segment)) continue;
    if (!same_level(level_of(segment), last)) break;
    steady = segment;
  }

  SteadyState out;
  out.first = begins[steady] * batch;
  out.level = mean(std::span(y).subspan(begins[steady]));
  if (out.first == 0) return out;
  const bool settled =
      static_cast<double>(n - out.first) >= kLeastSteadyPart * static_cast<double>(n);
  std::optional<std::size_t> fastest;
  for (std::size_t segment = 0; segment < steady; ++segment) {
    if (passing(segment) || level_of(segment) >= out.level * (1 - kSameLevel)) continue;
    if (!fastest || level_of(segment) < level_of(*fastest)) fastest = segment;
  }
  if (fastest) {
    // A run that drifts as well comes to its last level long after it became slower: what names the
    // place is the largest rise since its fastest level.
    std::size_t from = *fastest, rise = steady;
    double largest = 0;
    for (std::size_t before = *fastest, segment = before + 1; segment <= steady; ++segment) {
      if (passing(segment)) continue;
      const double ratio = level_of(segment) / level_of(before);
      if (ratio > largest) {
        largest = ratio;
        from = before;
        rise = segment;
      }
      before = segment;
    }
    const double middle = (level_of(from) + level_of(rise)) / 2;
    out.first = turn_above(values, middle, (end_of(from) - 1) * batch + 1,
                           std::min(n, (begins[rise] + 1) * batch - 1));
    out.level = mean(std::span(values).subspan(out.first));
  }
  out.steadiness = !settled  ? Steadiness::no_steady_state
                   : fastest ? Steadiness::slow_down
                             : Steadiness::warm_up;
  // The mean of all before holds the warm-up and may be as slow as the end.
  out.earlier = fastest ? level_of(*fastest) : mean(std::span(values).first(out.first));
  return out;
}

}  // namespace bertbench
