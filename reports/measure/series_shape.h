// What the iteration times of one run look like: steady state, periodic work, how well the run's
// own scatter fixes its rate. Fills Trial::steady_state, periodic, rate_interval and
// time_parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "parsers/core/run_log.h"
#include "reports/model/result_set.h"
#include "reports/model/steadiness.h"
#include "reports/stats/window.h"

namespace bertbench {

// Periodic work: iterations at a regular distance that take longer than their neighbours, such as
// a checkpoint, an evaluation or the optimizer's step at an accumulation boundary.

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

// Moving-block bootstrap of the mean of a correlated series, such as the iteration times of one
// run.

/// Below this many values the percentile interval covers too little to be shown.
inline constexpr std::size_t kLeastForBootstrap = 50;

/// Block length for the mean: Politis and White 2004 with the correction of Patton, Politis and
/// White 2009 (circular blocks), at least 1, at most ceil(min(3 sqrt n, n / 3)).
[[nodiscard]] std::size_t block_length(std::span<const double> series);

struct BlockInterval {
  Interval interval;      ///< of the mean, percentile method
  std::size_t block = 1;  ///< values in a block
};

/// Kuensch 1989. Deterministic: the same series gives the same interval on every machine. Beyond
/// 4096 values neighbours are averaged first, which the blocks would hold together anyway. Nothing
/// below kLeastForBootstrap values.
[[nodiscard]] std::optional<BlockInterval> bootstrap_mean(std::span<const double> series,
                                                          double confidence = 0.95,
                                                          std::size_t resamples = 1000);

/// Call when the trial's rate and estimator are set. The smoothed rates of a bar do not show how
/// steady a run was, so a log with no other times is left out. Adds notices where the window's mean
/// lies more than 1 % off the steady level, where the run slows down, and where it has no steady
/// state. `notices_only`: leaves out time_parts and rate_interval, which no notice needs.
void describe_series(const RunLog& log, const Window& window, Trial& trial,
                     bool notices_only = false);

}  // namespace bertbench
