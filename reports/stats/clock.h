// The counter of a log over its clock: elapsed fields and time stamps, often of whole seconds.
#pragma once

#include <cmath>
#include <optional>

#include "parsers/core/run_log.h"
#include "reports/stats/window.h"

namespace bertbench {

/// When the counter reached this value: at its first redraw. A record of several iterations keeps
/// the first redraw of its first one, so there the last redraw stands for the counter.
[[nodiscard]] inline double clock_of(const Record& record) {
  const bool own = record.iterations == 1 && record.merged == 1;
  return own && !std::isnan(record.first_time_s) ? record.first_time_s : record.time_s;
}

/// The log has no two records without an evaluation between them: its clock is not that of steps.
[[nodiscard]] bool always_holds_evaluations(const RunLog& log);

/// One gap between two records of a window that outweighs all others together: the clock was set,
/// the machine slept, or the job stood still.
struct ClockJump {
  std::size_t record = 0;  ///< index in the log of the record after the gap
  double seconds = 0;
  double times = 0;  ///< of what its iterations take at the median pace
};

/// The gap that takes more than half of the window's time and at least 100 times what its
/// iterations take at the median pace, where ten other gaps fix that pace; nothing otherwise.
[[nodiscard]] std::optional<ClockJump> clock_jump(const RunLog& log, const Window& window);

struct ClockRate {
  double iterations = 0;  ///< counter difference over the window's stretches
  double seconds = 0;     ///< clock difference over them, > 0
  double resolution = 0;  ///< bound of the relative error that the clock's steps at the marks allow
  double error = 0;       ///< expected relative error, one standard deviation
};

/// Counter difference over clock difference within the window.
///
/// A clock of whole seconds (or minutes, as some time stamps have) is finer at the record where the
/// second rolls over: there the true time lies between the shown second and the time since the
/// record before. So the marks are the first and the last such record, the record before the window
/// included as it ends where the window begins, in the middle of that time. When each record shows
/// a new second, the first record is a mark too, by its second alone. The error of a mark is then
/// at most min(clock step, time between two records), uniform. What the window holds before the
/// first mark and after the last one takes the time that the nearest seconds' pace gives, but no
/// more than the second shown there leaves: its error is taken as uniform over that time. A clock
/// or counter that begins anew (a bar per data file) ends a stretch, and so does a clock that
/// jumps; the stretches are added up. Nothing when no two marks differ.
[[nodiscard]] std::optional<ClockRate> counter_over_clock(const RunLog& log, const Window& window);

}  // namespace bertbench
