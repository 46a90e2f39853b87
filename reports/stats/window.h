// Window: which records of a run are measured, and whether the log covers them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"
#include "parsers/core/window_rule.h"

namespace bertbench {

struct Window {
  std::size_t first = 0, last = 0;  ///< records [first, last) of the run log
  bool covered = false;             ///< all of it lies before the first NaN loss or failure
  std::string rule;                 ///< the rule as used: "100:200", "auto (mser-5: 30:200)"
  /// The counters used: the window is first_step < n <= last_step. Unknown without records.
  std::optional<std::int64_t> first_step, last_step;
  std::vector<Notice> notices;

  [[nodiscard]] std::size_t size() const { return last - first; }
};

/// Number of leading records before the first NaN or infinite loss and before the line that shows a
/// failure. Records after a failure line (a restart in the same log) do not count.
[[nodiscard]] std::size_t usable_records(const RunLog& log);

/// The counter before `records[index]`: that of the record before it, or index 0: step -
/// iterations.
[[nodiscard]] std::int64_t step_before(std::span<const Record> records, std::size_t index);

/// Applies a rule. A window that is not covered still names the records that it would take.
[[nodiscard]] Window apply_window(const RunLog& log, const WindowRule& rule);

/// Seconds per iteration of each record, for detection and percentiles: its own seconds, else the
/// difference of a fine clock, else of a bar's moments (bar_iteration_times), else the inverse of
/// the printed rate (1 / rate in the rate's own unit), else the difference of a coarse clock. Empty
/// when the log has none of them; a record without a value takes its neighbour's.
[[nodiscard]] std::vector<double> iteration_times(const RunLog& log);

/// MSER-5 (White 1997): batch means of 5, d* = argmin over d of sum_{i>d} (y_i - mean_d)^2 /
/// (n-d)^2. Returns the number of leading values to drop (a multiple of 5), or nothing when d* lies
/// beyond half the series, which means that no steady state is in sight. Values outside Tukey's
/// fences are clipped for the detection only, as one late spike would else move the cut to itself.
/// Of ten values at least.
[[nodiscard]] std::optional<std::size_t> mser5(std::span<const double> series);

}  // namespace bertbench
