#include "reports/measure/series_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "reports/measure/time_parts.h"
#include "reports/stats/steady_state.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::size_t kLeastValues = 12;
constexpr std::size_t kLeastSlow = 3;
constexpr double kMostOf = 0.8;
constexpr double kSlowInSigmas = 5;
constexpr double kSlowAtLeast = 0.1;

// Distances between neighbouring slow iterations: a period is one of them. The most frequent ones
// only, so that a noisy log costs no more than a clean one.
std::vector<std::int64_t> candidate_periods(std::span<const std::int64_t> slow) {
  constexpr std::size_t kMostCandidates = 16;
  std::map<std::int64_t, std::size_t> count;
  for (std::size_t i = 1; i < slow.size(); ++i) ++count[slow[i] - slow[i - 1]];
  std::vector<std::pair<std::size_t, std::int64_t>> ranked;
  for (const auto& [distance, times] : count) {
    if (distance >= 2) ranked.emplace_back(times, distance);
  }
  std::ranges::sort(ranked, std::greater<>());
  if (ranked.size() > kMostCandidates) ranked.resize(kMostCandidates);
  std::vector<std::int64_t> out;
  for (const auto& [times, distance] : ranked) out.push_back(distance);
  std::ranges::sort(out, std::greater<>());
  return out;
}

std::int64_t residue(std::int64_t counter, std::int64_t period) {
  return ((counter % period) + period) % period;
}

}  // namespace

std::optional<PeriodicSplit> periodic_work(std::span<const std::int64_t> counters,
                                           std::span<const double> seconds) {
  if (counters.size() < kLeastValues) return std::nullopt;
  const double typical = median(seconds);
  const double limit =
      typical + std::max(kSlowAtLeast * typical,
                         kSlowInSigmas * kMadToSigma * median_absolute_deviation(seconds, typical));
  std::vector<std::int64_t> slow;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (seconds[i] > limit) slow.push_back(counters[i]);
  }
  for (const std::int64_t period : candidate_periods(slow)) {
    std::map<std::int64_t, std::size_t> by_residue;
    for (const std::int64_t counter : slow) ++by_residue[residue(counter, period)];
    const auto best = std::ranges::max_element(
        by_residue, [](const auto& a, const auto& b) { return a.second < b.second; });
    PeriodicSplit out;
    PeriodicWork& work = out.work;
    work.period = period;
    work.phase = best->first;
    std::size_t places = 0;
    double all = 0;
    std::vector<double> at_phase;
    for (std::size_t i = 0; i < counters.size(); ++i) {
      all += seconds[i];
      const bool here = residue(counters[i], period) == work.phase;
      places += here ? 1 : 0;
      if (here && seconds[i] > limit) {
        at_phase.push_back(seconds[i]);
      } else {
        out.seconds_without += seconds[i];
        ++out.left_without;
      }
    }
    const std::size_t count = at_phase.size();
    if (count < kLeastSlow || double(count) < kMostOf * double(places) ||
        double(count) < kMostOf * double(slow.size())) {
      continue;
    }
    work.count = static_cast<std::int64_t>(count);
    work.extra_s = median(at_phase) - typical;
    double extra = 0;
    for (const double s : at_phase) extra += s - typical;
    work.share = extra / all;
    return out;
  }
  return std::nullopt;
}

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kMostValues = 4096;

// Autocovariances at lags 0 .. most.
std::vector<double> autocovariances(std::span<const double> y, std::size_t most) {
  const double centre = mean(y);
  std::vector<double> out(most + 1, 0);
  for (std::size_t lag = 0; lag <= most; ++lag) {
    for (std::size_t i = lag; i < y.size(); ++i) {
      out[lag] += (y[i] - centre) * (y[i - lag] - centre);
    }
    out[lag] /= static_cast<double>(y.size());
  }
  return out;
}

// Uniform in [0, bound) without the library's distributions, whose results differ by vendor. The
// bias of the multiplication is below bound / 2^64.
std::size_t below(std::mt19937_64& random, std::size_t bound) {
  return static_cast<std::size_t>((Wide{random()} * bound) >> 64);
}

}  // namespace

std::size_t block_length(std::span<const double> series) {
  const std::size_t n = series.size();
  const double size = static_cast<double>(n);
  const auto in_a_row =
      static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(std::log10(size)))));
  const std::size_t most =
      std::min(n - 1, static_cast<std::size_t>(std::ceil(std::sqrt(size))) + in_a_row);
  const auto r = autocovariances(series, most);
  if (!(r[0] > 0)) return 1;
  // m: the last lag before `in_a_row` insignificant ones.
  const double significant = 2 * std::sqrt(std::log10(size) / size);
  std::size_t m = 0;
  for (std::size_t lag = 1; lag <= most && lag <= m + in_a_row; ++lag) {
    if (std::abs(r[lag]) > significant * r[0]) m = lag;
  }
  const std::size_t reach = std::min(2 * std::max<std::size_t>(m, 1), most);
  double g0 = r[0];
  double weighted = 0;
  for (std::size_t lag = 1; lag <= reach; ++lag) {
    const double t = static_cast<double>(lag) / static_cast<double>(reach);
    const double taper = t <= 0.5 ? 1 : 2 * (1 - t);  // flat-top lag window
    g0 += 2 * taper * r[lag];
    weighted += 2 * taper * static_cast<double>(lag) * r[lag];
  }
  const double d = 4.0 / 3.0 * g0 * g0;
  const double bound = std::ceil(std::min(3 * std::sqrt(size), size / 3));
  if (!(d > 0)) return static_cast<std::size_t>(bound);
  const double b = std::cbrt(2 * weighted * weighted / d * size);
  return static_cast<std::size_t>(std::clamp(std::ceil(b), 1.0, bound));
}

std::optional<BlockInterval> bootstrap_mean(std::span<const double> series, double confidence,
                                            std::size_t resamples) {
  if (series.size() < kLeastForBootstrap) return std::nullopt;
  const std::size_t batch = (series.size() + kMostValues - 1) / kMostValues;
  const auto y = batch_means(series, batch);
  const std::size_t n = y.size();
  const std::size_t block = block_length(y);
  std::vector<double> sum(n + 1, 0);  // about the first value: keeps the differences exact enough
  for (std::size_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + (y[i] - y[0]);

  std::mt19937_64 random(20171217);  // any fixed number: the interval must not change by rerunning
  std::vector<double> means(resamples);
  for (double& value : means) {
    double total = 0;
    for (std::size_t taken = 0; taken < n; taken += block) {
      const std::size_t length = std::min(block, n - taken);
      const std::size_t at = below(random, n - block + 1);
      total += sum[at + length] - sum[at];
    }
    value = y[0] + total / static_cast<double>(n);
  }
  const double tail = (1 - confidence) / 2;
  BlockInterval out;
  out.interval = {quantile(means, tail), quantile(means, 1 - tail), confidence};
  out.block = block * batch;
  return out;
}

namespace {

constexpr double kFineClock_s = 1e-3;

bool has_own_times(const RunLog& log) {
  return std::ranges::any_of(log.records, [](const Record& r) { return r.seconds > 0; });
}

bool has_fine_clock(const RunLog& log) { return log.clock_resolution_s <= kFineClock_s; }

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
  if (window.first >= first) return;
  const double off = mean(in_window) / found->level - 1;
  if (!(off > kSameLevel)) return;
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
  return median(long_work) / median(usual_work) > std::sqrt(longer);
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
  // Of records of 2.25 s a clock of whole seconds shows each fourth a second longer.
  constexpr double kTicksOfABeat = 1.5;
  const bool by_clock = !has_own_times(log) && std::isfinite(log.clock_resolution_s);
  if (by_clock && found->work.extra_s <= kTicksOfABeat * log.clock_resolution_s) return;
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

// Too few for a period: records after a line about an evaluation or a checkpoint, where
// these take clearly longer than the others do.
void describe_marked(const RunLog& log, const Window& window, std::span<const double> times,
                     Trial& trial) {
  constexpr double kSlowFactor = 1.1;         // times the usual record
  constexpr double kLeastNoticeShare = 0.01;  // of the window's time
  const auto rate = trial.rate();
  if (trial.periodic || !rate) return;
  std::vector<double> plain;
  std::vector<double> marked;
  const auto is_marked = [&](std::size_t i) {
    return i > 0 && mark_between(log.marks, log.records[i - 1].line, log.records[i].line);
  };
  for (std::size_t i = window.first; i < window.last; ++i) {
    (is_marked(i) ? marked : plain).push_back(times[i]);
  }
  if (plain.size() < 3 || plain.size() < marked.size()) return;
  const double usual = median(plain);
  double all = 0, extra = 0;
  std::size_t slow = 0;
  for (const double t : plain) all += t;
  for (const double t : marked) {
    all += t;
    if (!(t > kSlowFactor * usual)) continue;
    extra += t - usual;
    ++slow;
  }
  if (!(extra > kLeastNoticeShare * all)) return;
  const bool left_out = leaves_out(log, window, times, trial, [&](std::size_t i) {
    return is_marked(i) && times[i] > kSlowFactor * usual;
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
