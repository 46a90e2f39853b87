// Estimators: every way in which a log shows its throughput.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
///                  the whole seconds that it shows (counter_over_bar_rates)
///   printed_last   work over the time that the last redraws of a bar per step imply
///   printed        work over the time that the printed rates imply, their harmonic mean by work
///                  (logs without redraws)
///   arrival        counter difference over the time between the arrivals of its lines, where
///                  somebody watched the log grow (stats/arrival_clock.h)
///   log_summary    the log's own closing statement, of the whole run: a rate, or what was counted
///                  over its time where nothing else has one
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
  /// Expected relative error as the rate of the window (error_of_printed() and the like); unknown
  /// for those of the whole run until there is a rate of the window to compare with.
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

// What error is to be expected of an estimate of a window's throughput.
//
// An estimate is the window's work over a time; its expected error is the standard deviation of
// that time over the time, by the model of where the time comes from. Independent parts are added
// in quadrature; what is known to lean to one side counts in full. docs/numbers.md has the table,
// with predicted errors next to the true ones of logs that were clocked from outside.

/// Expected errors below this (relative) count as equal: a log cannot show which of two such
/// estimates is the better one, since the time between its lines (logging, loading, from a step's
/// end to its stamp) is in no model.
inline constexpr double kEqualErrors = 0.005;

/// Of a mean by work of values that are each printed once, `Record::seconds` or
/// `Record::printed_rate`:
///   - digits: the values are multiples of a power of ten (found from them where they differ), so
///   each is off by a
///     uniform half of it, and n of them by that over the root of n;
///   - spread: a record of k iterations may state its last one only (a timer read every k
///     steps), so that the n records are a sample of k n: the coefficient of variation of the times
///     that they imply, over the root of n, times the root of 1 - 1/k. A record of one iteration
///     has no such part. Where the values are of all k iterations, they hardly differ and the part
///     is small by itself;
///   - gaps: the work of records without the value takes as long as the others' on the average, the
///     coefficient of variation times its share over the root of its records. Those before the
///     first value are not counted: a window of records begins with the time that no log states.
/// Unknown when no record has the value.
[[nodiscard]] double error_of_printed(std::span<const Record> window, double Record::*value);

/// Of the rates of a bar that smooths them with tqdm's default of 0.3: their harmonic mean trails
/// the window, as the sum of the times is that of the smoothed ones and 0.7/0.3 times the
/// difference of the smoothed time between the window's ends; and the rounding of the rates.
/// `before`: the record before the window, null when there is none.
[[nodiscard]] double error_of_smoothed(const Record* before, std::span<const Record> window);

// Notices about the rates that a log states.

/// What to report when the sequences/s that the log states and those of its own times and the facts
/// are apart by a factor of 1.9 or more, as they are when a batch, the world size or the
/// accumulation is wrong, or the stated rate is one card's. Each record of the window is compared
/// with itself and the median taken, so that warm-up and stalls do not matter. Nothing when they
/// agree or fewer than three records have both. `per_iteration`: sequences by the facts.
[[nodiscard]] std::optional<Notice> stated_rate_is_apart(const RunLog& log,
                                                         std::span<const Record> window,
                                                         std::int64_t per_iteration);

/// What to report when the plain mean of the window's printed rates is 3 % or more above the work
/// over the time that they add up to. Rates of intervals that differ, by a warm-up or an evaluation
/// within, have no mean that is a throughput. Nothing when they agree. `unit`: of the rates.
[[nodiscard]] std::optional<Notice> mean_of_rates_misleads(std::span<const Record> window,
                                                           RateUnit unit);

}  // namespace bertbench
