// Steady state: what a run's iteration times do over the run, told by change points.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace bertbench {

/// After Barrett, Bolz-Tereick, Killick, Mount, Tratt, "Virtual Machine Warmup Blows Hot and Cold",
/// OOPSLA 2017 (arXiv 1602.00602), section 4.
enum class Steadiness {
  flat,             ///< one level all the way
  warm_up,          ///< a last level that nothing before it undercuts
  slow_down,        ///< some earlier level was faster than the last
  no_steady_state,  ///< the last level holds too short a part of the run
};
[[nodiscard]] std::string_view name(Steadiness steadiness);
[[nodiscard]] std::optional<Steadiness> steadiness_from_name(std::string_view name);

/// Levels closer than this are one level: a real shift of the mean by less is of no consequence.
inline constexpr double kSameLevel = 0.01;
/// The last level must hold this part of the run.
inline constexpr double kLeastSteadyPart = 0.25;

struct SteadyState {
  Steadiness steadiness = Steadiness::flat;
  std::size_t first = 0;  ///< index of the first value of the last level
  double level = 0;       ///< mean of the last level, as the series (clipped for outliers)
  double earlier = 0;     ///< mean of all that stands before; 0 when there is nothing before
};

/// Seconds per iteration, all > 0. Change points (reports/stats/change_points.h) are sought in at
/// most 400 means of neighbours, outliers clipped to Tukey's fences, so `first` is a multiple of
/// ceil(n / 400). Nothing for fewer than 20 values.
[[nodiscard]] std::optional<SteadyState> steady_state(std::span<const double> series);

}  // namespace bertbench
