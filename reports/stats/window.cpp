#include "reports/stats/window.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "reports/stats/bar_clock.h"
#include "reports/stats/clock.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::size_t kRecordsForMser = 20;

std::string quantity(std::size_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

void use_all(const RunLog& log, Window& window) {
  window.first = 0;
  window.last = log.records.size();
  window.covered = window.last > 0;
}

constexpr double kFineClock_s = 0.5;  // one of whole seconds shows no time of a single interval
constexpr double kOutlierRatio = 1.05;
constexpr double kMatters = 0.005;  // of the window's time
// A record of another kind of work takes so many times as long as the others, or as much less.
constexpr double kTimesTheOthers = 3;
constexpr std::size_t kStart = 2;  // records at most that the start of a run is in

// Whether most of `times` after the first are none, as a clock of whole seconds shows a fast
// loop's.
bool are_mostly_none(std::span<const double> times) {
  return 2 * std::ranges::count(times.subspan(1), 0.0) >= std::ssize(times);
}

// An iteration of the first record over the median of the others, or over their mean where most of
// those show no time.
double first_over_others(std::vector<double> times) {
  if (times.size() < 3) return kUnknown;
  const double first = times.front();
  if (are_mostly_none(times)) return first / mean(std::span<const double>(times).subspan(1));
  const auto middle = times.begin() + 1 + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin() + 1, middle, times.end());
  return first / *middle;
}

struct SlowFirst {
  std::size_t records = 0;  ///< at the front: a record without a time of its own has the next one's
  bool start_up = false;    ///< see holds_start()
  double ratio = 0;         ///< of an iteration of the first record to that `of` the others
  std::string of;           ///< "median of the others", their mean, or the one other
  double share = 0;         ///< of the window's time that it takes more than that
  std::string remedy;       ///< what leaving it out would give, and how
};

// Whether the first of `times` is of another kind than all that follow it: beyond their far fence
// (Tukey 1977: three interquartile ranges above the upper quartile), which of a thousand normal
// values less than one passes, and twice as far above that quartile as any of them, as pauses are
// no start. It then holds what the run begins with, building a graph or filling caches. Of fewer
// than five others no quartile can be estimated: the first must be far above each, by more than
// they differ. A first step that only sends its work to a device takes far less than each.
bool holds_start(std::span<const double> times) {
  constexpr std::size_t kForQuartiles = 5, kFewest = 2;  // records
  constexpr double kAlike = 1.5, kSpreads = 2;  // times the most over the least of the others
  if (times.size() < kFewest + 1) return false;
  const std::vector<double> others(times.begin() + 1, times.end());
  const auto [least, most] = std::ranges::minmax(others);
  if (times.front() * kTimesTheOthers <= least) return most <= kAlike * least;
  if (others.size() < kForQuartiles) {
    // Of normal values a fourth lies so many ranges of the three others above them once in 2,700, a
    // fifth once in 170,000 (a million and more drawn).
    constexpr double kRanges = 22;
    constexpr double kRounded = 0.03;  // share of a value: those that agree better may be rounded
    constexpr std::size_t kForRange = 3;
    const double range = std::max(most - least, kRounded * most);
    return (others.size() >= kForRange && times.front() - most > kRanges * range) ||
           times.front() >= std::max(kTimesTheOthers, kSpreads * most / least) * most;
  }
  const double lower = quantile(others, 0.25), upper = quantile(others, 0.75);
  const double above = times.front() - upper;
  const double pauses = 2 * (*std::ranges::max_element(others) - upper);
  // Where a clock of whole seconds shows most as none, the others' longest may be its second alone.
  return above > 3 * (upper - lower) &&
         (above > pauses || (above >= pauses && are_mostly_none(times)));
}

// The last of a few records that are alike takes less than a third of their time: it is of a part
// of the work, such as what is left of an accumulation at an epoch's end.
bool ends_short(std::span<const double> times) {
  constexpr std::size_t kFewestRecords = 4;
  constexpr double kAlike = 1.5;  // times the most over the least of the others
  if (times.size() < kFewestRecords) return false;
  const auto [least, most] = std::ranges::minmax(times.first(times.size() - 1));
  return most <= kAlike * least && times.back() * kTimesTheOthers <= least;
}

// What the warm-up is worth where it is not left out: a first record that holds a compilation.
std::optional<SlowFirst> slow_first(const RunLog& log, std::span<const double> times) {
  // A record without a time of its own, as TensorFlow's step 0, has that of the next: both go.
  std::size_t slow = 1;
  while (slow < times.size() && times[slow] == times.front()) ++slow;
  const auto rest = times.subspan(slow - 1);
  // Of two records, the first of a run that takes so many times as long as the second holds its
  // start: PaddleNLP and MaxText stopped after two lines. Where it takes far more, the second may
  // only send its work, as JAX's does. A clock of whole seconds does not show that.
  constexpr double kTimesTheSecond = 2, kSecondOnlySends = 20;  // times
  const bool fine = log.records[0].seconds > 0 || !(log.clock_resolution_s >= kFineClock_s);
  const bool only_two =
      times.size() == 2 && slow == 1 && fine && step_before(log.records, 0) == 0 &&
      times[0] >= kTimesTheSecond * times[1] && times[0] <= kSecondOnlySends * times[1];
  const double ratio =
      only_two ? times[0] / times[1] : first_over_others({rest.begin(), rest.end()});
  const bool fast = ratio > 0 && ratio * kTimesTheOthers <= 1;
  if ((!(ratio > kOutlierRatio) && !fast) || !std::isfinite(ratio)) return std::nullopt;
  double all_s = 0, all = 0, first_s = 0, first = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    all += static_cast<double>(log.records[i].iterations);
    all_s += times[i] * static_cast<double>(log.records[i].iterations);
    if (i + 1 == slow) {
      first = all;
      first_s = all_s;
    }
  }
  const double higher = (all - first) / (all_s - first_s) / (all / all_s) - 1;
  SlowFirst out;
  out.records = slow;
  out.ratio = ratio;
  out.share = first_s * (1 - 1 / ratio) / all_s;
  out.start_up =
      only_two || (slow <= kStart && (fast || out.share > kMatters) && holds_start(rest));
  const bool of_mean = are_mostly_none(rest);
  out.of = only_two ? "other" : of_mean ? "mean of the others" : "median of the others";
  if ((fast || of_mean) && !out.start_up) return std::nullopt;
  // The start may go on in the next record; JAX compiles in its first step and only sends the
  // second.
  if (slow < kStart && holds_start(times.subspan(slow))) ++out.records;
  out.remedy = fmt::format("without it, as by --window {}:{}, the rate is {:.{}f} % {}", slow,
                           times.size(), 100 * std::abs(higher), std::abs(higher) < 0.1 ? 1 : 0,
                           higher < 0 ? "lower" : "higher");
  return out;
}

// The time of an iteration after the first `n` over that of one of them.
double rest_over_front(std::span<const double> times, std::size_t n) {
  return mean(times.subspan(n)) / mean(times.first(n));
}

std::string times_as_long(const SlowFirst& first) {
  return fmt::format("{:.{}f} times as long as the {}", first.ratio, first.ratio < 10 ? 2 : 0,
                     first.of);
}

// MSER-5 leaves out five records or none: among so many that differ a slow first one may stay.
void note_slow_first(const SlowFirst& first, Window& window) {
  constexpr double kLeastNoticeShare = 0.02;  // of the window's time
  if (!(first.share > kLeastNoticeShare)) return;
  window.notices.push_back(make_notice(NoticeCode::warmup_in_window, 0, times_as_long(first),
                                       100 * first.share, first.remedy));
}

// The start of a run is no part of its throughput, however short the run is.
void leave_out_start(const SlowFirst& first, std::size_t usable, const std::string& others,
                     Window& window) {
  window.first = first.records;
  window.rule = "auto (start-up left out: " + std::to_string(first.records) + ":" +
                std::to_string(usable) + ")";
  window.notices.push_back(
      make_notice(NoticeCode::warmup_taken_off, 0, others, times_as_long(first)));
}

bool has_no_time(const Record& record) {
  return std::isnan(record.seconds) && std::isnan(record.time_s) && std::isnan(record.printed_rate);
}

std::string where_it_breaks(const RunLog& log, std::size_t usable) {
  const std::string step = std::to_string(log.records[usable].step);
  return log.first_nan_step ? "the loss is NaN or infinite from step " + step
                            : "the run failed before step " + step;
}

// Among the first `usable` records: what follows a NaN loss or a failure is no training.
void apply_automatic(const RunLog& log, std::size_t usable, Window& window) {
  use_all(log, window);
  const std::size_t n = log.records.size();
  if (n == 0) return;
  window.rule = "auto (all)";
  // A run that broke before it was well under way has no number: a gate must not pass it. One whose
  // last loss alone is NaN was: of what the log has, all before it is good.
  const bool only_last = log.first_nan_step && usable + 1 == n && usable > 1;
  if (usable < std::min(n, kRecordsForMser) && !only_last) return;
  if (usable < n) {
    window.last = usable;
    window.rule = "auto (0:" + std::to_string(usable) + ")";
    window.notices.push_back(make_notice(NoticeCode::records_after_break_left_out,
                                         log.records[usable].line, where_it_breaks(log, usable),
                                         quantity(n, "record"), usable));
  }
  const auto all_times = iteration_times(log);
  const auto times = std::span(all_times).first(std::min(usable, all_times.size()));
  const auto first = slow_first(log, times);
  if (usable < kRecordsForMser) {
    if (first && first->start_up) {
      leave_out_start(*first, usable,
                      "only " + quantity(usable, "record") +
                          (usable == 2 ? ": the other is used" : ": all others are used"),
                      window);
      return;
    }
    if (ends_short(times)) {
      --window.last;
      window.rule = "auto (short end left out: 0:" + std::to_string(usable - 1) + ")";
      window.notices.push_back(
          make_notice(NoticeCode::short_end_left_out, 0, quantity(usable, "record")));
      return;
    }
    std::string more;
    if (first) {
      more = "; an iteration of the first takes " + times_as_long(*first) + ": " + first->remedy;
    }
    window.notices.push_back(
        make_notice(NoticeCode::few_records, 0, quantity(usable, "record"), more));
    return;
  }
  if (times.empty()) return;
  constexpr double kFasterFront = 1.25;  // times; less is noise
  const auto cut = mser5(times);
  const double slower = cut.value_or(0) > 0 ? rest_over_front(times, *cut) : 1;
  const bool warm_up = cut.value_or(0) > 0 && slower <= kFasterFront;
  if (first && first->start_up && !warm_up) {
    leave_out_start(*first, usable,
                    cut ? "all others are used (MSER-5)"
                        : "no steady state in the first half of the run (MSER-5): all others are "
                          "used",
                    window);
    return;
  }
  if (!cut) {
    window.notices.push_back(make_notice(NoticeCode::no_steady_state_in_first_half, 0));
    return;
  }
  if (slower > kFasterFront) {
    window.notices.push_back(
        make_notice(NoticeCode::fast_start_in_window, 0, quantity(*cut, "record"), slower));
    return;
  }
  window.first = *cut;
  if (*cut == 0 && first) note_slow_first(*first, window);
  window.rule = "auto (mser-5: " + std::to_string(*cut) + ":" + std::to_string(usable) + ")";
}

std::int64_t total_records(const RunLog& log) {
  std::int64_t total = 0;
  for (const Record& record : log.records) total += record.merged;
  return total;
}

// Index of the first record with at least `count` records of the log before it. Long logs hold
// merged records outside the window; a boundary inside one moves to its end.
std::size_t index_after(const RunLog& log, std::int64_t count) {
  std::int64_t before = 0;
  std::size_t index = 0;
  while (index < log.records.size() && before < count) before += log.records[index++].merged;
  return index;
}

void note_too_short(std::int64_t total, Window& window) {
  window.notices.push_back(make_notice(NoticeCode::too_few_records, 0,
                                       quantity(static_cast<std::size_t>(total), "record"),
                                       window.rule));
}

void apply_records(const RunLog& log, const WindowRule& rule, Window& window) {
  const std::int64_t total = total_records(log);
  window.first = index_after(log, rule.begin);
  window.last = index_after(log, rule.end);
  window.covered = rule.end <= total;
  if (!window.covered) note_too_short(total, window);
}

void apply_last(const RunLog& log, const WindowRule& rule, Window& window) {
  const std::int64_t total = total_records(log);
  window.first = index_after(log, std::max<std::int64_t>(0, total - rule.begin));
  window.last = log.records.size();
  window.covered = rule.begin <= total;
  if (!window.covered) note_too_short(total, window);
}

// Steps A < n <= B. A record stands for the steps between two printed counters; those that lie
// inside as a whole are used.
void apply_steps(const RunLog& log, const WindowRule& rule, Window& window) {
  const auto& records = log.records;
  const std::size_t n = records.size();
  std::size_t first = 0;
  while (first < n && step_before(records, first) < rule.begin) ++first;
  std::size_t last = first;
  while (last < n && records[last].step <= rule.end &&
         (last == first || records[last].step >= records[last - 1].step)) {
    ++last;
  }
  window.first = first;
  window.last = last;
  if (first == last) {
    const std::string seen = n == 0 ? std::string("has no records")
                                    : "prints steps " + std::to_string(records.front().step) +
                                          " to " + std::to_string(records.back().step);
    window.notices.push_back(make_notice(NoticeCode::no_step_in_window, 0, seen, rule.str()));
    return;
  }
  const std::int64_t begin = step_before(records, first);
  const std::int64_t end = records[last - 1].step;
  // One printing interval: between a bound and the nearest counter inside there is less than that.
  const std::int64_t interval = std::max<std::int64_t>(
      {1, records[first].step - begin, end - step_before(records, last - 1)});
  // Bars print by time: the interval that holds A may be a few steps longer than the next one, and
  // is one printing interval all the same, unless lines are missing in it.
  constexpr std::int64_t kLinesAreMissing = 2;  // times as many steps as the interval after it
  const bool holds_a =
      first > 0 && begin - step_before(records, first - 1) < kLinesAreMissing * interval;
  const bool begins = begin == rule.begin || begin - rule.begin < interval || holds_a;
  // The end is covered when a counter at or beyond B was printed, or when a run that completed has
  // B no more than one interval after its last one (TensorFlow leaves out the very last).
  const bool reached = end == rule.end || (last < n && records[last].step >= rule.end) ||
                       (log.outcome.status == Status::completed && end + interval >= rule.end);
  window.covered = begins && reached;
  if (!window.covered) {
    window.notices.push_back(
        make_notice(NoticeCode::window_not_covered, 0, begin, end, rule.str()));
  } else if (begin != rule.begin || end != rule.end) {
    window.notices.push_back(
        make_notice(NoticeCode::window_moved_to_counters, 0, rule.str(), begin, end));
  }
}

}  // namespace

std::int64_t step_before(std::span<const Record> records, std::size_t index) {
  const Record& record = records[index];
  const std::int64_t own = record.step - std::max<std::int64_t>(0, record.iterations);
  if (index == 0) return own;
  const std::int64_t printed = records[index - 1].step;
  return printed < record.step ? printed : own;  // a counter that began anew
}

std::size_t usable_records(const RunLog& log) {
  // Who is to be ended by a signal or a scheduler trains well until then.
  const Status status = log.outcome.status;
  const bool broke = is_failure(status) && status != Status::truncated &&
                     status != Status::killed && status != Status::timeout;
  std::size_t usable = log.records.size();
  for (std::size_t i = 0; i < usable; ++i) {
    const Record& record = log.records[i];
    const bool nan = log.first_nan_step && record.step >= *log.first_nan_step;
    const bool after = broke && log.outcome.line > 0 && record.line > log.outcome.line;
    if (nan || after) usable = i;
  }
  return usable;
}

Window apply_window(const RunLog& log, const WindowRule& rule) {
  Window window;
  window.rule = rule.str();
  const std::size_t usable = usable_records(log);
  switch (rule.kind) {
    case WindowRule::Kind::automatic:
      apply_automatic(log, usable, window);
      break;
    case WindowRule::Kind::all:
      use_all(log, window);
      break;
    case WindowRule::Kind::records:
      apply_records(log, rule, window);
      break;
    case WindowRule::Kind::last:
      apply_last(log, rule, window);
      break;
    case WindowRule::Kind::steps:
      apply_steps(log, rule, window);
      break;
  }
  if (window.covered && window.last > usable) {
    window.covered = false;
    window.notices.push_back(make_notice(NoticeCode::window_broken, log.records[usable].line,
                                         where_it_breaks(log, usable), window.rule, usable));
  }
  if (window.size() > 0) {
    // What has no time is not measured: Keras' first step, TensorFlow's step 0.
    std::size_t timed = window.first;
    while (timed + 1 < window.last && has_no_time(log.records[timed])) ++timed;
    if (!(log.records[timed].seconds > 0)) timed = window.first;
    window.first_step = step_before(log.records, timed);
    window.last_step = log.records[window.last - 1].step;
  }
  return window;
}

std::vector<double> iteration_times(const RunLog& log) {
  const auto& records = log.records;
  std::vector<double> times(records.size(), kUnknown);
  const auto fill = [&](auto&& value_of) {
    std::size_t known = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const double value = value_of(i);
      times[i] = std::isfinite(value) && value >= 0 ? value : kUnknown;
      known += std::isnan(times[i]) ? 0U : 1U;
    }
    return 2 * known > records.size();
  };
  const auto per_iteration = [&](std::size_t i, double seconds) {
    return seconds / static_cast<double>(std::max<std::int64_t>(1, records[i].iterations));
  };
  const auto own = [&](std::size_t i) { return per_iteration(i, records[i].seconds); };
  const auto ticks = [&](std::size_t i) {
    return i == 0 ? kUnknown : per_iteration(i, clock_of(records[i]) - clock_of(records[i - 1]));
  };
  // A bar's rates are smoothed: a slow first step would show in the ten after it.
  const auto moments = bar_iteration_times(log);
  const auto of_bar = [&](std::size_t i) { return moments.empty() ? kUnknown : moments[i]; };
  const auto printed = [&](std::size_t i) { return 1 / records[i].printed_rate; };
  const bool fine = log.clock_resolution_s < kFineClock_s;
  const bool of_steps = !always_holds_evaluations(log);  // the clock
  if (!fill(own) && !(fine && of_steps && fill(ticks)) && !fill(of_bar) && !fill(printed) &&
      !fill(ticks)) {
    return {};
  }
  // Most clocks begin with the first record, and it may be the one that holds a compilation: its
  // printed rate shows that, compared with the second's.
  if (std::isnan(times.front())) {
    constexpr double kWarmUp = 2;
    const double slower = records[1].printed_rate / records[0].printed_rate;
    if (std::isfinite(slower) && slower > kWarmUp) times.front() = times[1] * slower;
    // One that counts from the start of the run shows it, too.
    const double since_start = per_iteration(0, clock_of(records[0]));
    if (step_before(records, 0) == 0 && since_start > times[1]) times.front() = since_start;
  }
  double neighbour = *std::ranges::find_if(times, [](double t) { return std::isfinite(t); });
  for (double& t : times) {
    if (std::isnan(t)) t = neighbour;
    neighbour = t;
  }
  return times;
}

}  // namespace bertbench
