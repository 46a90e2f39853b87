// Estimators: every way in which a log tells its throughput.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/run_log.h"
#include "reports/stats/window.h"

namespace bertbench {

/// Names in the default order, then the two that are never chosen by default:
///   step_time      iterations over the sum of per-step latencies in the window
///   counter_clock  counter difference over elapsed or time stamps in the window
///   printed_last   mean over the window of the last redraw of a bar per step
///   printed        mean over the window of printed rates (logs without redraws)
///   log_summary    the log's own closing statement, of the whole run
///   printed_first  mean over the window of the first redraw per step; shown because scripts take
///   it total_time     all work over all time
[[nodiscard]] std::span<const std::string_view> estimator_names();
[[nodiscard]] bool chosen_by_default(std::string_view estimator);

struct Estimate {
  std::string_view name;
  double rate = 0;  ///< > 0 and finite, of the whole job
  RateUnit unit = RateUnit::iterations_per_second;
  double resolution = 0;       ///< relative error that the clock's steps allow; 0 = negligible
  bool whole_seconds = false;  ///< from a clock that shows whole seconds
};

/// All estimates that the log allows, in the order of estimator_names(). Those of the window are
/// absent when the window holds no records. Steps are told in sequences where the work of an
/// applied optimizer step is known, as skipped fp16 steps move the counter but not the model.
[[nodiscard]] std::vector<Estimate> estimate_all(
    const RunLog& log, const Window& window,
    std::optional<std::int64_t> sequences_per_optimizer_step = {});

/// A bar's smoothed rates that even a coarse clock beside them rules out, by twice its resolution
/// and 5 %: they are those of the newest steps, not of the window.
[[nodiscard]] bool rules_out(const Estimate& clock, const Estimate& bar);

/// The default among estimates: the first in order; a whole-second clock whose resolution exceeds
/// 1 % only when nothing else is there, or a bar's printed rates that it rules out. Null when
/// nothing may be chosen.
[[nodiscard]] const Estimate* default_estimate(std::span<const Estimate> estimates);

/// Seconds of the whole run as the log states them (the process, else training); NaN = unknown.
[[nodiscard]] double seconds_of_run(const RunLog& log);

/// Sequences of the whole run as stated, or applied optimizer steps times their sequences.
[[nodiscard]] std::optional<double> sequences_of_run(
    const RunLog& log, std::optional<std::int64_t> sequences_per_optimizer_step);

}  // namespace bertbench
