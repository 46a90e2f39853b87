// How steady a run was, and work in it that comes back at a regular distance.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace bertbench {

/// After Barrett, Bolz-Tereick, Killick, Mount, Tratt, "Virtual Machine Warmup Blows Hot and Cold",
/// OOPSLA 2017 (arXiv 1602.00602), section 4.
enum class Steadiness {
  flat,             ///< one level all the way
  warm_up,          ///< a last level that nothing before it undercuts
  slow_down,        ///< some earlier level was faster than the last
  no_steady_state,  ///< the last level holds too short a part of the run
};

inline constexpr std::array<std::pair<Steadiness, std::string_view>, 4> kSteadinessNames{{
    {Steadiness::flat, "flat"},
    {Steadiness::warm_up, "warm_up"},
    {Steadiness::slow_down, "slow_down"},
    {Steadiness::no_steady_state, "no_steady_state"},
}};

[[nodiscard]] constexpr std::string_view name(Steadiness steadiness) {
  for (const auto& [value, text] : kSteadinessNames) {
    if (value == steadiness) return text;
  }
  return "";
}

[[nodiscard]] constexpr std::optional<Steadiness> steadiness_from_name(std::string_view name) {
  for (const auto& [value, text] : kSteadinessNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

/// Iterations at a regular distance that take longer (found by reports/stats/periodic.h).
struct PeriodicWork {
  std::int64_t period = 0;  ///< iterations between two slow ones
  std::int64_t phase = 0;   ///< slow where (counter mod period) is this, 0 <= phase < period
  std::int64_t count = 0;   ///< slow iterations in the series
  double extra_s = 0;       ///< median time of a slow iteration above the typical one
  double share = 0;         ///< part of all time that the extra is
};

}  // namespace bertbench
