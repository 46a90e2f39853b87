#include "reports/stats/clock.h"

#include <algorithm>
#include <span>
#include <vector>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

// One stretch in which counter and clock both go forward.
struct Stretch {
  double iterations = 0, seconds = 0;
  double error = 0;     // seconds by which the clock difference between the marks may be off
  double variance = 0;  // of all seconds
};

// What a clock shows: whole seconds, whole minutes, parts of a second.
struct ClockStep {
  double tick_s = 0;
  // What was lost by the bars whose times it is put together from: no mark brings that back.
  double lost_s = 0;
};

ClockStep step_of(const RunLog& log) {
  constexpr double kTickOfBars_s = 1;
  const double step_s = std::isnan(log.clock_resolution_s) ? 0 : log.clock_resolution_s;
  const double tick_s = log.clock_is_wall ? step_s : std::min(step_s, kTickOfBars_s);
  return {tick_s, step_s - tick_s};
}

double variance_of_uniform(double width) { return width * width / 12; }

// By how much the time at a mark may be off: by no more than the time since the record before.
double error_at_mark(const ClockStep& step, double gap) {
  return std::min(step.tick_s, gap) + step.lost_s;
}

// How long after the second that it shows a mark is reached, on the average: within the time since
// the record before each moment is as likely as another.
double delay_at_mark(const ClockStep& step, double gap) { return std::min(step.tick_s, gap) / 2; }

// The variance of that time.
double variance_at_mark(const ClockStep& step, double gap) {
  return variance_of_uniform(std::min(step.tick_s, gap)) + variance_of_uniform(step.lost_s);
}

// Seconds an iteration near record `mark`, by the marks `kPaceSpan` ticks away from it on the side
// where `step` leads; where there is none that far, by the farthest, and without any `overall`.
template <class RollsOver>
double pace_near(std::span<const Record> records, std::size_t mark, int step, double overall,
                 double tick_s, const RollsOver& rolls_over) {
  constexpr double kPaceSpan = 4;  // one counts steps too coarsely, the run's pace may change
  double pace = overall;
  for (std::size_t i = mark; i < records.size(); i += static_cast<std::size_t>(step)) {
    if (!rolls_over(i)) continue;
    const double seconds = std::abs(clock_of(records[i]) - clock_of(records[mark]));
    const auto iterations = static_cast<double>(std::abs(records[i].step - records[mark].step));
    if (iterations > 0) pace = seconds / iterations;
    if (seconds >= kPaceSpan * tick_s) break;
  }
  return pace;
}

// The time of `iterations` after the newest mark: all of them lie within the tick that began there.
double seconds_after_mark(double iterations, double pace, double gap, double tick_s) {
  return std::min(iterations * pace, tick_s - std::min(gap, tick_s) / 2);
}

bool goes_on(const Record& before, const Record& after) {
  return clock_of(after) >= clock_of(before) && after.step >= before.step;
}

// What lies between the window's ends and the marks: `begin` is where the window begins.
template <class RollsOver>
void add_ends(std::span<const Record> records, std::size_t begin, std::size_t first,
              std::size_t last, double tick_s, const RollsOver& rolls_over, Stretch& out) {
  const double gap = out.seconds / out.iterations;
  const auto add = [&](std::int64_t iterations, double seconds) {
    out.iterations += static_cast<double>(iterations);
    out.seconds += seconds;
    out.variance += variance_of_uniform(std::min(seconds, tick_s));
  };
  if (const std::int64_t head = records[first].step - records[begin].step; head > 0) {
    const double shown = clock_of(records[first]) - clock_of(records[begin]);
    const double by_pace =
        static_cast<double>(head) * pace_near(records, first, 1, gap, tick_s, rolls_over);
    add(head,
        std::clamp(by_pace, std::max(0.0, shown - tick_s), shown + std::min(gap, tick_s) / 2));
  }
  const std::int64_t tail = records.back().step - records[last].step;
  const double pace = pace_near(records, last, -1, gap, tick_s, rolls_over);
  add(tail, seconds_after_mark(static_cast<double>(tail), pace, gap, tick_s));
}

Stretch measure(std::span<const Record> records, bool has_record_in_front, const ClockStep& step) {
  Stretch out;
  const std::size_t n = records.size();
  const auto rolls_over = [&](std::size_t i) {
    return i > 0 && clock_of(records[i]) > clock_of(records[i - 1]);
  };
  bool every_record = true;
  for (std::size_t i = 1; i < n; ++i) every_record = every_record && rolls_over(i);
  // Index 0 serves for comparison only when a record of the same stretch lies before it, and
  // as a mark when no second is shown twice.
  std::size_t first = every_record && !has_record_in_front ? 0 : 1;
  while (first < n && first > 0 && !rolls_over(first)) ++first;
  std::size_t last = n - 1;
  while (last > first && !rolls_over(last)) --last;
  if (last <= first) return out;
  out.iterations = static_cast<double>(records[last].step - records[first].step);
  out.seconds = clock_of(records[last]) - clock_of(records[first]);
  if (out.iterations <= 0) return {};  // one counter, drawn again
  const double per_iteration = out.seconds / out.iterations;
  const auto step_gap = [&](std::size_t i) {
    const auto iterations = i > 0 ? records[i].step - records[i - 1].step
                                  : std::max<std::int64_t>(1, records[i].iterations);
    return static_cast<double>(iterations) * per_iteration;
  };
  out.error = error_at_mark(step, std::max(step_gap(first), step_gap(last)));
  // The delays of marks whose gaps differ, as that of a bar's last redraw does, do not cancel out.
  // A first record is a mark by its second alone.
  if (first > 0) {
    out.seconds += delay_at_mark(step, step_gap(last)) - delay_at_mark(step, step_gap(first));
  }
  out.variance = variance_at_mark(step, step_gap(first)) + variance_at_mark(step, step_gap(last));
  if (step.tick_s >= 1) {
    add_ends(records, has_record_in_front ? 1 : 0, first, last, step.tick_s, rolls_over, out);
  }
  return out;
}

// A bar is created at counter 0 and elapsed 0: for a window from there on that is an exact mark.
bool begins_at_zero(const RunLog& log, const Window& window) {
  if (window.first != 0 || window.size() < 2 || log.clock_is_wall) return false;
  if (!(log.clock_resolution_s >= 1) || log.records[0].step != log.records[0].iterations) {
    return false;
  }
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < window.last; ++i) {
    if (i == 0) continue;
    if (!goes_on(log.records[i - 1], log.records[i])) return false;
    longest = std::max(longest, log.records[i].step - log.records[i - 1].step);
  }
  // The tail of a log, or a bar that resumes at a counter (tqdm's `initial`) with no time elapsed.
  return log.records[0].step <= 2 * longest;
}

std::optional<ClockRate> from_zero(const RunLog& log, const Window& window) {
  const auto& records = log.records;
  std::size_t last = window.last - 1;
  while (last > 0 && !(clock_of(records[last]) > clock_of(records[last - 1]))) --last;
  const double shown = clock_of(records[last]);
  if (last == 0) return std::nullopt;
  const auto iterations = static_cast<double>(records[last].step);
  const double pace = shown / iterations;
  const double gap = static_cast<double>(records[last].step - records[last - 1].step) * pace;
  const auto used = std::span(records).first(window.last);
  const auto rolls_over = [&](std::size_t i) {
    return i > 0 && clock_of(used[i]) > clock_of(used[i - 1]);
  };
  const auto tail = static_cast<double>(used.back().step - used[last].step);
  const ClockStep step = step_of(log);
  const double near = pace_near(used, last, -1, pace, step.tick_s, rolls_over);
  const double after = seconds_after_mark(tail, near, gap, step.tick_s);
  const double seconds = shown + delay_at_mark(step, gap) + after;
  const double variance =
      variance_at_mark(step, gap) + variance_of_uniform(std::min(after, step.tick_s));
  return ClockRate{iterations + tail, seconds, error_at_mark(step, gap) / seconds,
                   std::sqrt(variance) / seconds};
}

}  // namespace

bool always_holds_evaluations(const RunLog& log) {
  return std::ranges::find(log.notices, NoticeCode::evaluations_between_all_lines, &Notice::code) !=
         log.notices.end();
}

std::optional<ClockJump> clock_jump(const RunLog& log, const Window& window) {
  constexpr double kShareOfTheWindow = 0.5;
  constexpr double kTimesTheMedianPace = 100;
  constexpr std::size_t kOtherGaps = 10;
  const std::span<const Record> records = log.records;
  const auto for_each_gap = [&](const auto& take) {
    for (std::size_t i = window.first + 1; i < window.last; ++i) {
      const double seconds = clock_of(records[i]) - clock_of(records[i - 1]);
      const auto steps = static_cast<double>(records[i].step - records[i - 1].step);
      if (seconds >= 0 && steps > 0) take(i, seconds, steps);  // else it begins anew, or is unknown
    }
  };
  ClockJump longest;
  std::size_t gaps = 0;
  double all = 0, all_steps = 0, steps_of_longest = 0;
  for_each_gap([&](std::size_t i, double seconds, double steps) {
    ++gaps;
    all += seconds;
    all_steps += steps;
    if (seconds <= longest.seconds) return;
    longest = {i, seconds, 0};
    steps_of_longest = steps;
  });
  if (gaps <= kOtherGaps || longest.seconds <= kShareOfTheWindow * all) return std::nullopt;
  // Few windows come this far: the others need no memory for their paces.
  std::vector<double> paces;
  paces.reserve(gaps);
  for_each_gap(
      [&](std::size_t, double seconds, double steps) { paces.push_back(seconds / steps); });
  // A clock of whole seconds shows most gaps as none.
  const double others = (all - longest.seconds) / (all_steps - steps_of_longest);
  const double usual = std::max(median(paces), others);
  if (!(usual > 0)) return std::nullopt;
  longest.times = longest.seconds / (steps_of_longest * usual);
  if (longest.times < kTimesTheMedianPace) return std::nullopt;
  return longest;
}

std::optional<ClockRate> counter_over_clock(const RunLog& log, const Window& window) {
  // The clock goes on over records without a time: Trackio stamps once what it sends together.
  const auto has_time = [](const Record& record) { return !std::isnan(clock_of(record)); };
  if (!std::ranges::all_of(std::span(log.records).first(window.last), has_time)) {
    RunLog timed;
    timed.clock_is_wall = log.clock_is_wall;
    timed.clock_resolution_s = log.clock_resolution_s;
    Window part = window;
    for (std::size_t i = 0; i < window.last; ++i) {
      if (i == window.first) part.first = timed.records.size();
      if (has_time(log.records[i])) timed.records.push_back(log.records[i]);
    }
    part.last = timed.records.size();
    if (part.first >= part.last) return std::nullopt;
    return counter_over_clock(timed, part);
  }
  const auto jump = clock_jump(log, window);
  if (!jump && begins_at_zero(log, window)) return from_zero(log, window);
  const std::span<const Record> records = log.records;
  // The record before the window ends where the window begins; the one before that shows
  // whether the second rolled over there.
  const std::size_t from = window.first - std::min<std::size_t>(2, window.first);
  ClockRate rate;
  double error = 0, variance = 0;
  const ClockStep step = step_of(log);
  std::size_t begin = from;
  const auto close = [&](std::size_t end) {
    if (end > begin + 1) {
      const bool in_front = begin == from && window.first >= 2;
      const Stretch stretch = measure(records.subspan(begin, end - begin), in_front, step);
      rate.iterations += stretch.iterations;
      rate.seconds += stretch.seconds;
      error += stretch.error;
      variance += stretch.variance;
    }
    begin = end;
  };
  for (std::size_t i = from + 1; i < window.last; ++i) {
    if (!goes_on(records[i - 1], records[i]) || (jump && jump->record == i)) close(i);
  }
  close(window.last);
  if (rate.seconds <= 0) return std::nullopt;
  rate.resolution = error / rate.seconds;
  rate.error = std::sqrt(variance) / rate.seconds;
  return rate;
}

}  // namespace bertbench
