// Adaptive trials: when a cell has been measured often enough. Pure.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "reports/model/result_set.h"

namespace bertbench {

/// The end of a trial that every further launch would meet again: out of memory, NaN.
[[nodiscard]] bool repeats_if_launched_again(Status status);

/// True when the first trials of a cell ended so and none gave a number. `decided`: the trial of a
/// number, from 1; null where it has not ended or will be tried again, and after the last. By
/// number and not by time: a resumed sweep finds the same.
[[nodiscard]] bool begins_hopeless(const std::function<const Trial*(int)>& decided);

struct AdaptiveRule {
  int least = 6;           ///< trials that give a number, before the interval is looked at
  int most = 30;           ///< launches
  double interval = 0.01;  ///< width asked for, as a share of the median
};

/// True when the exact 95 % order-statistic interval of the median of `rates` (sequences/s) is no
/// wider than asked, when `launches` reached the most, or when the cell cannot give a number:
/// `hopeless` (out of memory, NaN), or `least` launches without one.
///
/// The interval is looked at after each trial, so its coverage at the stop is a little below what
/// it states; docs/numbers.md gives the figure.
[[nodiscard]] bool enough_trials(std::span<const double> rates, int launches, bool hopeless,
                                 const AdaptiveRule& rule);

}  // namespace bertbench
