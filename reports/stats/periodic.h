// Periodic work: iterations at a regular distance that take longer than their neighbours, such as
// a checkpoint, an evaluation or the optimizer's step at an accumulation boundary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "reports/model/steadiness.h"

namespace bertbench {

/// The slow iterations, and what the others come to.
struct PeriodicSplit {
  PeriodicWork work;
  double seconds_without = 0;    ///< sum of the others' times
  std::size_t left_without = 0;  ///< how many those are
};

/// `counters[i]` is the iteration's own number, ascending; `seconds[i]` > 0 its time. Slow = above
/// the median by 5 x 1.4826 MAD and by 10 %. A period is found when at least 3 slow iterations
/// share one residue, fill 4 of 5 places of it in the series, and are 4 of 5 of all slow ones;
/// among the periods that do, the longest. Nothing otherwise, and nothing below 12 values.
[[nodiscard]] std::optional<PeriodicSplit> periodic_work(std::span<const std::int64_t> counters,
                                                         std::span<const double> seconds);

}  // namespace bertbench
