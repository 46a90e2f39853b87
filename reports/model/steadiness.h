// How steady a run was, and work in it that comes back at a regular distance.
#pragma once

#include <cstddef>
#include <cstdint>
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

[[nodiscard]] constexpr std::string_view name(Steadiness steadiness) {
  constexpr std::string_view kNames[] = {"flat", "warm_up", "slow_down", "no_steady_state"};
  return kNames[static_cast<std::size_t>(steadiness)];
}

/// Iterations at a regular distance that take longer (found by reports/measure/series_shape.h).
struct PeriodicWork {
  std::int64_t period = 0;  ///< iterations between two slow ones
  std::int64_t phase = 0;   ///< slow where (counter mod period) is this, 0 <= phase < period
  std::int64_t count = 0;   ///< slow iterations in the series
  double extra_s = 0;       ///< median time of a slow iteration above the typical one
  double share = 0;         ///< part of all time that the extra is
};

}  // namespace bertbench
