// The clock of a progress bar, read finer than the whole seconds that it shows.
#pragma once

#include <optional>
#include <vector>

#include "parsers/core/run_log.h"
#include "reports/stats/window.h"

namespace bertbench {

struct BarRate {
  double iterations = 0;  ///< counter difference between the marks, > 0
  double seconds = 0;     ///< by the bar's rates, the smoothing undone, > 0
  double error = 0;       ///< expected relative error of the rate, one standard deviation
};

/// Work over time by the moments that a bar's smoothed rates imply (Record::bar_s), for the way of
/// smoothing that fits the bar's own clock: with one shift for all, the moment of every redraw lies
/// within the second that the bar shows there. Nothing where none of them does, as where redraws
/// are missing or several bars were mixed, where the moments are unknown, or where fewer than three
/// redraws are in the window.
///
/// The expected error is, in quadrature,
///   - the rounding of the rates to two decimals (it/s or s/it), uniform and independent: the sum
///     of the intervals holds the rate of its last redraw 1/0.3 times, that of the first one
///     0.7/0.3 times and the others once;
///   - by how much the moments miss the shown seconds at most;
///   - what the last redraw of a bar that is closed has counted, which shows the mean rate of all
///     its time: that goes on at the rate before, uniform between nothing and twice the time;
///   - the spread of the ways of smoothing that fit as well, where the window is short;
///   - seconds that earlier bars of the run cut off (RunLog::clock_resolution_s above 1).
[[nodiscard]] std::optional<BarRate> counter_over_bar_rates(const RunLog& log,
                                                            const Window& window);

/// Seconds an iteration of each record by the same moments, of the whole log: what a bar's smoothed
/// rates hide of its first steps. Unknown (NaN) for a first record without the bar's creation and
/// for a redraw that is no mark; empty where no way of smoothing fits all redraws, or where the
/// moments are too coarse for single redraws.
[[nodiscard]] std::vector<double> bar_iteration_times(const RunLog& log);

}  // namespace bertbench
