#include "reports/series_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "reports/stats/block_bootstrap.h"
#include "reports/stats/periodic.h"
#include "reports/stats/steady_state.h"
#include "reports/stats/summary.h"
#include "reports/time_parts.h"

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

void describe_steadiness(const RunLog& log, const Window& window, std::span<const double> times,
                         Trial& trial) {
  const auto found = steady_state(times);
  if (!found) return;
  auto& out = trial.steady_state.emplace();
  out.state = found->steadiness;
  if (found->first > 0) {
    out.first_step = step_before(log.records, found->first);
    out.change = found->level / found->earlier - 1;
  }
  const auto percent = [](double change) {
    return fmt::format("{:.1f} %", 100 * std::abs(change));
  };
  if (out.state == Steadiness::no_steady_state) {
    trial.notices.push_back(
        {0, fmt::format("no steady state: the iteration times change by {} after "
                        "step {}, close to the end of the run",
                        percent(*out.change), *out.first_step)});
    return;
  }
  if (out.state == Steadiness::slow_down && window.last > found->first) {
    trial.notices.push_back({0, fmt::format("the run slows down: iterations take {} longer after "
                                            "step {} than before",
                                            percent(*out.change), *out.first_step)});
    return;
  }
  if (window.size() == 0 || window.first >= found->first) return;
  const double off = mean(times.subspan(window.first, window.size())) / found->level - 1;
  if (off <= kSameLevel) return;
  trial.notices.push_back(
      {0, fmt::format("the window begins in the warm-up: its iterations take {} "
                      "longer than those after step {}",
                      percent(off), *out.first_step)});
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
  if (!trial.sequences_per_second) return;
  double all = 0;
  for (const double s : seconds) all += s;
  const double with = static_cast<double>(seconds.size()) / all;
  const double without = static_cast<double>(found->left_without) / found->seconds_without;
  trial.periodic->sequences_per_second_without = *trial.sequences_per_second * without / with;
}

}  // namespace

void describe_series(const RunLog& log, const Window& window, Trial& trial) {
  if (const auto parts = time_parts(log)) trial.time_parts = time_record(*parts);
  const bool own = has_own_times(log);
  const bool fine = own || has_fine_clock(log);
  if (!fine && is_smoothed(log)) return;
  const auto times = iteration_times(log);
  if (times.empty()) return;
  describe_steadiness(log, window, std::span(times).first(usable_records(log)), trial);
  if (!window.covered || window.size() == 0 ||
      !is_even(std::span(log.records).subspan(window.first, window.size()))) {
    return;
  }
  describe_periodic(log, window, times, trial);
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
