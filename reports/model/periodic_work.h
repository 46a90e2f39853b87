// Work that comes back at a regular distance: what is told of it.
#pragma once

#include <cstdint>

namespace bertbench {

/// Iterations at a regular distance that take longer (found by reports/stats/periodic.h).
struct PeriodicWork {
  std::int64_t period = 0;  ///< iterations between two slow ones
  std::int64_t phase = 0;   ///< slow where (counter mod period) is this, 0 <= phase < period
  std::int64_t count = 0;   ///< slow iterations in the series
  double extra_s = 0;       ///< median time of a slow iteration above the typical one
  double share = 0;         ///< part of all time that the extra is
};

}  // namespace bertbench
