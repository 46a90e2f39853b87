// Where a run's time went: start-up, warm-up, steady training, evaluation, checkpoints, stalls,
// tail.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/run_log.h"
#include "reports/model/result_set.h"

namespace bertbench {

enum class TimePart { start_up, warm_up, steady, evaluation, checkpoint, stall, tail };
inline constexpr std::size_t kTimePartCount = 7;
[[nodiscard]] std::string_view name(TimePart part);

/// One stretch of one part, seconds since the run's beginning.
struct TimeSpan {
  TimePart part = TimePart::steady;
  double begin_s = 0, end_s = 0;
};

struct TimeParts {
  double total_s = 0;                            ///< sum of all parts
  std::array<double, kTimePartCount> seconds{};  ///< by TimePart
  std::vector<TimeSpan> spans;                   ///< in order, without gaps, at most kMostSpans

  [[nodiscard]] double of(TimePart part) const { return seconds[static_cast<std::size_t>(part)]; }
};

/// A timeline of more stretches than that is shown by its longest; what lies between is steady.
inline constexpr std::size_t kMostSpans = 64;

/// What the log mentions on the lines after `after`, up to `upto`. An evaluation often ends with a
/// checkpoint; the evaluation is the longer work.
[[nodiscard]] std::optional<MarkKind> mark_between(std::span<const Mark> marks, std::int64_t after,
                                                   std::int64_t upto);

/// Needs a log with time stamps (RunLog::clock_is_wall) and 20 records or more; else nothing.
///
/// The steady level (reports/stats/steady_state.h) gives the time that the iterations between two
/// records should take. What a record takes beyond it, by more than 10 % and more than the clock's
/// steps and 5 x 1.4826 MAD of all records, is evaluation or checkpoint when the log mentions one
/// between the two lines (RunLog::marks), else a stall. Records before the steady level are warm-up
/// as a whole. Start-up is what lies before the first record's iterations; tail is what the
/// stated total (Totals::wall_s) has beyond the last record. A total whose start-up is not on the
/// clock counts what it has in excess as start-up. Evaluations that the records' clock leaves out
/// (RunLog::off_clock) stand where the log has them.
[[nodiscard]] std::optional<TimeParts> time_parts(const RunLog& log);
/// The same with the log's iteration_times() (reports/stats/window.h: seconds, one a record, or
/// none), where they are at hand.
[[nodiscard]] std::optional<TimeParts> time_parts(const RunLog& log,
                                                  std::span<const double> iteration_times);

/// The same for a result set: parts by name, those without time left out.
[[nodiscard]] TimeRecord time_record(const TimeParts& parts);

}  // namespace bertbench
