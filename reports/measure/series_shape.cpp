#include "reports/measure/series_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "reports/measure/time_parts.h"
#include "reports/stats/block_bootstrap.h"
#include "reports/stats/periodic.h"
#include "reports/stats/steady_state.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kFineClock_s = 1e-3;

bool has_own_times(const RunLog& log) {
  return std::ranges::any_of(log.records, [](const Record& r) { return r.seconds > 0; });
}

bool has_fine_clock(const RunLog& log) {
  return std::isfinite(log.clock_resolution_s) && log.clock_resolution_s <= kFineClock_s;
}

// A bar prints an exponential average, whose changes trail those of the iterations.
bool is_smoothed(const RunLog& log) {
  return std::ranges::any_of(log.records,
                             [](const Record& r) { return std::isfinite(r.printed_first); });
}

// Records of equal work, unmerged: only then is a record's time comparable with its neighbour's.
bool is_even(std::span<const Record> records) {
  return std::ranges::all_of(records, [&](const Record& r) {
    return r.merged == 1 && r.iterations == records.front().iterations;
  });
}

/// Places of the records whose times show how steady the run is. Iterations that hold a checkpoint
/// or an evaluation at a regular distance are work of another kind, not another level.
std::vector<std::size_t> steady_places(const RunLog& log, std::size_t usable, const Trial& trial) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < usable; ++i) {
    const bool periodic = trial.periodic && log.records[i].step % trial.periodic->work.period ==
                                                trial.periodic->work.phase;
    if (!periodic) out.push_back(i);
  }
  return out;
}

void describe_steadiness(const RunLog& log, const Window& window, std::span<const double> times,
                         Trial& trial) {
  const std::vector<std::size_t> places = steady_places(log, times.size(), trial);
  std::vector<double> series, in_window;
  for (const std::size_t i : places) {
    series.push_back(times[i]);
    if (i >= window.first && i < window.last) in_window.push_back(times[i]);
  }
  const auto found = steady_state(series);
  if (!found) return;
  const std::size_t first = places[found->first];
  auto& out = trial.steady_state.emplace();
  out.state = found->steadiness;
  if (found->first == 0) return;  // one level: nothing to report
  const std::int64_t before = step_before(log.records, first);
  const double change = found->level / found->earlier - 1;
  out.first_step = before;
  out.change = change;
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * std::abs(share)); };
  if (out.state == Steadiness::no_steady_state) {
    trial.notices.push_back(make_notice(NoticeCode::rate_changes_late, 0, percent(change), before));
    return;
  }
  if (out.state == Steadiness::slow_down && window.last > first) {
    trial.notices.push_back(make_notice(NoticeCode::run_slows_down, 0, percent(change), before));
    return;
  }
  if (in_window.empty() || window.first >= first) return;
  const double off = mean(in_window) / found->level - 1;
  if (off <= kSameLevel) return;
  trial.notices.push_back(
      make_notice(NoticeCode::window_begins_in_warmup, 0, percent(off), before));
}

// Whether the rate taken is one of printed rates that leave out what makes some records longer, as
// MXNet's Speedometer does what lies between two epochs: the work of such a record, by its rate
// and its time, is then as much too large as its time is longer.
bool leaves_out(const RunLog& log, const Window& window, std::span<const double> times,
                const Trial& trial, const std::function<bool(std::size_t)>& is_long) {
  if (!trial.estimator.starts_with("printed")) return false;
  std::vector<double> long_times, long_work, usual_times, usual_work;
  for (std::size_t i = window.first; i < window.last; ++i) {
    const double work = log.records[i].printed_rate * times[i];
    if (!(work > 0)) continue;
    const bool is_one = is_long(i);
    (is_one ? long_times : usual_times).push_back(times[i]);
    (is_one ? long_work : usual_work).push_back(work);
  }
  if (long_work.empty() || usual_work.empty()) return false;
  const double longer = median(long_times) / median(usual_times);
  return longer > 1 && median(long_work) / median(usual_work) > std::sqrt(longer);
}

std::string rate_with_unit(double rate, RateUnit unit) {
  const bool iterations = unit == RateUnit::iterations_per_second;
  return fmt::format(
      "{} {}", iterations ? fmt::format("{:.4g}", rate) : fmt::format("{:.2f}", rate), name(unit));
}

void describe_periodic(const RunLog& log, const Window& window, std::span<const double> times,
                       Trial& trial) {
  const auto records = std::span(log.records).subspan(window.first, window.size());
  std::vector<std::int64_t> counters;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < records.size(); ++i) {
    counters.push_back(records[i].step);
    seconds.push_back(times[window.first + i] * static_cast<double>(records[i].iterations));
  }
  const auto found = periodic_work(counters, seconds);
  if (!found) return;
  trial.periodic = PeriodicRecord{found->work, {}};
  const auto rate = trial.rate();
  if (!rate) return;
  double all = 0;
  for (const double s : seconds) all += s;
  const double with = static_cast<double>(seconds.size()) / all;
  const double without = static_cast<double>(found->left_without) / found->seconds_without;
  const PeriodicWork& work = found->work;
  const bool left_out = leaves_out(log, window, times, trial, [&](std::size_t i) {
    return log.records[i].step % work.period == work.phase;
  });
  const double rate_without = left_out ? *rate : *rate * without / with;
  if (trial.sequences_per_second) trial.periodic->sequences_per_second_without = rate_without;
  const std::string text = rate_with_unit(rate_without, trial.unit());
  trial.notices.push_back(make_notice(
      NoticeCode::periodic_slow_iteration, 0, work.period, work.extra_s, 100 * work.share,
      left_out ? "the printed rates leave it out" : text + " without"));
}

/// Whether the log speaks of an evaluation or a checkpoint on the lines after `after`, up to
/// `upto`.
bool marked_between(std::span<const Mark> marks, std::int64_t after, std::int64_t upto) {
  const auto first = std::ranges::upper_bound(marks, after, {}, &Mark::line);
  return first != marks.end() && first->line <= upto;
}

// Too few for a period: records after a line about an evaluation or a checkpoint, where
// these take clearly longer than the others do.
void describe_marked(const RunLog& log, const Window& window, std::span<const double> times,
                     Trial& trial) {
  constexpr double kLonger = 1.1, kTold = 0.01;
  const auto rate = trial.rate();
  if (log.marks.empty() || trial.periodic || !rate) return;
  std::vector<double> plain;
  std::vector<double> marked;
  const auto is_marked = [&](std::size_t i) {
    return i > 0 && marked_between(log.marks, log.records[i - 1].line, log.records[i].line);
  };
  for (std::size_t i = window.first; i < window.last; ++i) {
    (is_marked(i) ? marked : plain).push_back(times[i]);
  }
  if (marked.empty() || plain.size() < 3 || plain.size() < marked.size()) return;
  const double usual = median(plain);
  double all = 0, extra = 0;
  std::size_t slow = 0;
  for (const double t : plain) all += t;
  for (const double t : marked) {
    all += t;
    if (!(t > kLonger * usual)) continue;
    extra += t - usual;
    ++slow;
  }
  if (!(extra > kTold * all)) return;
  const bool left_out = leaves_out(log, window, times, trial, [&](std::size_t i) {
    return is_marked(i) && times[i] > kLonger * usual;
  });
  const double without = *rate * all / (all - extra);
  const std::string text = rate_with_unit(without, trial.unit());
  trial.notices.push_back(make_notice(
      NoticeCode::marked_work_in_window, 0, slow, plain.size() + marked.size(), 100 * extra / all,
      left_out ? "the printed rates leave it out" : text + " without"));
}

}  // namespace

void describe_series(const RunLog& log, const Window& window, Trial& trial, bool notices_only) {
  const auto times = iteration_times(log);
  const auto parts = notices_only ? std::nullopt : time_parts(log, times);
  if (parts) trial.time_parts = time_record(*parts);
  const bool own = has_own_times(log);
  const bool fine = own || has_fine_clock(log);
  if (!fine && is_smoothed(log)) return;
  if (times.empty()) return;
  const bool comparable = window.covered && window.size() > 0 &&
                          is_even(std::span(log.records).subspan(window.first, window.size()));
  if (comparable) {
    describe_periodic(log, window, times, trial);
    describe_marked(log, window, times, trial);
  }
  describe_steadiness(log, window, std::span(times).first(usable_records(log)), trial);
  if (!comparable || notices_only) return;
  const bool measured = trial.estimator == "step_time" || trial.estimator == "counter_clock";
  if (!fine || !measured || !trial.sequences_per_second) return;
  const auto used = std::span(times).subspan(window.first, window.size());
  const auto found = bootstrap_mean(used);
  if (!found || !(found->interval.low > 0)) return;
  const double rate = *trial.sequences_per_second * mean(used);  // rate x time: the work
  trial.rate_interval =
      Interval{rate / found->interval.high, rate / found->interval.low, found->interval.coverage};
}

}  // namespace bertbench
