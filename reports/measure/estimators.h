// Estimators: every way in which a log shows its throughput.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/run_log.h"
#include "reports/stats/window.h"

namespace bertbench {

/// Names in the order that decides between equal errors, then those that are never chosen by
/// default:
///   step_time      iterations over the sum of per-step latencies in the window
///   counter_clock  counter difference over elapsed or time stamps in the window
///   unsmoothed     counter difference over the moments that a bar's smoothed rates imply, within
///                  the whole seconds that it shows (stats/bar_clock.h)
///   printed_last   work over the time that the last redraws of a bar per step imply
///   printed        work over the time that the printed rates imply, their harmonic mean by work
///                  (logs without redraws)
///   arrival        counter difference over the time between the arrivals of its lines, where
///                  somebody watched the log grow (stats/arrival_clock.h)
///   log_summary    the log's own closing statement, of the whole run
///   printed_mean   arithmetic mean of the printed rates, of last redraws where a bar is redrawn: a
///                  mean of rates is never below work over time; shown because scripts take it
///   printed_first  arithmetic mean of the first redraws per step; shown because scripts take it
///   total_time     all work over all time
[[nodiscard]] std::span<const std::string_view> estimator_names();
[[nodiscard]] bool chosen_by_default(std::string_view estimator);

struct Estimate {
  std::string_view name;
  double rate = 0;  ///< > 0 and finite, of the whole job
  RateUnit unit = RateUnit::iterations_per_second;
  double resolution = 0;       ///< relative error that the clock's steps allow; 0 = negligible
  bool whole_seconds = false;  ///< from a clock that shows whole seconds
  /// Never the default: lines that came in bursts, times that are longer than the clock allows.
  bool misleads = false;
  /// Expected relative error as the rate of the window (expected_error.h); unknown for those of the
  /// whole run until there is a rate of the window to compare with.
  double error = kUnknown;
};

/// All estimates that the log allows, in the order of estimator_names(). Those of the window are
/// absent when the window holds no records. Steps are counted in sequences where the work of an
/// applied optimizer step is known, as skipped fp16 steps move the counter but not the model.
[[nodiscard]] std::vector<Estimate> estimate_all(
    const RunLog& log, const Window& window,
    std::optional<std::int64_t> sequences_per_optimizer_step = {});

/// Raises the errors of estimates in one unit by comparing them: printed rates outside of what the
/// clock of the same window allows are off by at least the difference, and an estimate of the whole
/// run is off by its distance to the best one of the window. Rates and errors are those of
/// estimate_all(), converted to one unit.
void compare_errors(std::span<Estimate> estimates);

/// The default among estimates: the one with the least expected error, of several below
/// kEqualErrors the first in order; log_summary only when nothing else is there. Null when nothing
/// may be chosen.
[[nodiscard]] const Estimate* default_estimate(std::span<const Estimate> estimates);

/// True where all work over all time covers another stretch than the records: it is more than twice
/// off every other rate of the log, as in a log without its head whose stated time is that of the
/// whole run. `rates`: of all other estimators, in its unit; false when there are none.
/// `by_own_times`: the time is the sum of the records' own times, and so of their work. A slow
/// start may make the rate so much lower, but not higher: that is a resumed bar, which shows the
/// steps of the run before and the time since.
[[nodiscard]] bool total_is_of_other_work(double total, std::span<const double> rates,
                                          bool by_own_times);

/// Seconds of the whole run as the log states them (the process, else training); NaN = unknown.
[[nodiscard]] double seconds_of_run(const RunLog& log);

/// Sequences of the whole run as stated, or applied optimizer steps times their sequences.
[[nodiscard]] std::optional<double> sequences_of_run(
    const RunLog& log, std::optional<std::int64_t> sequences_per_optimizer_step);

}  // namespace bertbench
