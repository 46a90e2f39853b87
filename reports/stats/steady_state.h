// Steady state: what a run's iteration times do over the run, shown by change points.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "reports/model/steadiness.h"

namespace bertbench {

/// Levels closer than this are one level: a real shift of the mean by less is of no consequence.
inline constexpr double kSameLevel = 0.01;
/// What holds a smaller part of the run is a spike, no level, unless the run begins with it.
inline constexpr double kLeastLevelPart = 0.05;
/// The last level must hold this part of the run.
inline constexpr double kLeastSteadyPart = 0.25;

struct SteadyState {
  Steadiness steadiness = Steadiness::flat;
  /// Index of the first value of the last level; where one before it was faster, of the first value
  /// after the largest rise since the fastest level: a run that drifts on as well became slower
  /// there.
  std::size_t first = 0;
  double level = 0;  ///< mean from `first` on, as the series (clipped for outliers)
  /// The fastest level before, if that is faster; else the mean of all before; 0: nothing before.
  double earlier = 0;
};

/// Seconds per iteration, all > 0. Change points (reports/stats/change_points.h) are sought in at
/// most 400 means of neighbours, outliers clipped to Tukey's fences, so the begin of
/// the last level is a multiple of ceil(n / 400); the largest rise is sought in the values. Nothing
/// for fewer than 20 values.
[[nodiscard]] std::optional<SteadyState> steady_state(std::span<const double> series);

}  // namespace bertbench
