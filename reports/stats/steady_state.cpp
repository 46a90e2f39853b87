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

bool same_level(double a, double b) { return std::abs(a / b - 1) <= kSameLevel; }

}  // namespace

std::optional<SteadyState> steady_state(std::span<const double> series) {
  const std::size_t n = series.size();
  if (n < kLeastForChangePoints) return std::nullopt;
  if (!std::ranges::all_of(series, [](double y) { return y > 0; })) return std::nullopt;
  const std::size_t batch = (n + kMostMeans - 1) / kMostMeans;
  const auto y = batch_means(clipped(series), batch);
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
  while (steady > 0 && (passing(steady - 1) || same_level(level_of(steady - 1), last))) --steady;

  SteadyState out;
  out.first = begins[steady] * batch;
  out.level = mean(std::span(y).subspan(begins[steady]));
  if (out.first == 0) return out;
  out.earlier = mean(std::span(y).first(begins[steady]));
  if (static_cast<double>(n - out.first) < kLeastSteadyPart * static_cast<double>(n)) {
    out.steadiness = Steadiness::no_steady_state;
    return out;
  }
  out.steadiness = Steadiness::warm_up;
  for (std::size_t segment = 0; segment < steady; ++segment) {
    if (passing(segment)) continue;
    const double level = level_of(segment);
    if (level >= out.level * (1 - kSameLevel)) continue;
    // The mean of all before holds the warm-up and may be as slow as the end.
    out.earlier = out.steadiness == Steadiness::slow_down ? std::min(out.earlier, level) : level;
    out.steadiness = Steadiness::slow_down;
  }
  return out;
}

}  // namespace bertbench
