#include "reports/measure/estimators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

#include "parsers/core/notice.h"
#include "reports/stats/arrival_clock.h"
#include "reports/stats/bar_clock.h"
#include "reports/stats/clock.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::array<std::string_view, 10> kEstimatorNames{
    "step_time", "counter_clock", "unsmoothed",   "printed_last",  "printed",
    "arrival",   "log_summary",   "printed_mean", "printed_first", "total_time"};
constexpr std::size_t kChosenByDefault = 7;
/// Times: a total this far from every estimate does not fit its records (72.8 against 368
/// sequences/s in corpus nvidia-dle-pytorch/lambda_8x2080ti_squad_base_fp16.log).
constexpr double kIncredible = 2;

void add(std::vector<Estimate>& out, Estimate estimate) {
  if (std::isfinite(estimate.rate) && estimate.rate > 0) out.push_back(estimate);
}

// Work over time of the records that state their seconds; the first one often cannot.
double step_time_rate(std::span<const Record> records) {
  double iterations = 0;
  double seconds = 0;
  for (const Record& record : records) {
    if (!(record.seconds > 0)) continue;
    iterations += static_cast<double>(record.iterations);
    seconds += record.seconds;
  }
  return seconds > 0 ? iterations / seconds : kUnknown;
}

// Steps cannot take longer than the clock shows: whether the times that the records state do, by
// more than rounding. Both are of the same records; a clock begins at the end of a first one.
bool clock_refutes_times(const RunLog& log, const Window& window, const ClockRate& clock) {
  constexpr double kRefutingFactor = 1.3;  // times the clock; less is rounding
  constexpr double kCoarsestClock = 0.1;   // resolution, as a share of the rate
  constexpr double kBurstFactor =
      20;  // times: lines that a pipe let through together have no clock
  constexpr std::size_t kFewestRecords = 3;
  // Lines of several processes that name no step count as many steps.
  const bool counts_lines = std::ranges::any_of(log.notices, [](const Notice& notice) {
    return notice.code == NoticeCode::rate_of_one_process_left_out;
  });
  if (counts_lines) return false;
  const std::size_t begin = std::max<std::size_t>(window.first, 1);
  if (clock.resolution > kCoarsestClock || window.last < begin + kFewestRecords) return false;
  const double own =
      step_time_rate(std::span<const Record>(log.records).subspan(begin, window.last - begin));
  const double ratio = clock.iterations / clock.seconds / own;
  // "step_time": 200.1 of milliseconds next to a clock that fits them.
  const bool of_another_unit = std::ranges::any_of(std::array{1e3, 1e6}, [&](double unit) {
    return ratio > unit / kRefutingFactor && ratio < unit * kRefutingFactor;
  });
  return (ratio > kRefutingFactor && ratio < kBurstFactor) || of_another_unit;
}

bool is_number(double value) { return value > 0 && std::isfinite(value); }

double work_of(const Record& record) {
  return static_cast<double>(std::max<std::int64_t>(1, record.iterations));
}

/// What lines that print rates amount to: the mean of the rates, which is above work over time
/// where they differ.
struct RatesOfLines {
  double sum = 0, lines = 0, iterations = 0, time = 0;
  [[nodiscard]] double mean() const { return sum / lines; }
  [[nodiscard]] double over_time() const { return iterations / time; }
};

RatesOfLines rates_of_lines(std::span<const Record> records, double Record::*rate) {
  RatesOfLines out;
  for (const Record& record : records) {
    if (!is_number(record.*rate)) continue;
    out.sum += record.*rate;
    out.lines += 1;
    out.iterations += work_of(record);
    out.time += work_of(record) / record.*rate;
  }
  return out;
}

// Work over the time that rates imply, which is counted in units of the first one's: of equal rates
// the mean is each of them to the last digit.
double work_over_time(std::span<const Record> records, double Record::*rate) {
  double iterations = 0;
  double time = 0;
  double unit = kUnknown;
  for (const Record& record : records) {
    if (!is_number(record.*rate)) continue;
    if (std::isnan(unit)) unit = record.*rate;
    iterations += work_of(record);
    time += work_of(record) * (unit / record.*rate);
  }
  return time > 0 ? unit * (iterations / time) : kUnknown;
}

// All iterations over all time by the records alone: a tqdm bar counts and clocks from its own
// start, so a first record that begins at counter 0 brings its time along; else the first record is
// the start.
double records_total(const RunLog& log) {
  const auto& records = log.records;
  double iterations = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const double now = clock_of(record);
    if (std::isnan(now)) return step_time_rate(records);
    const bool from_start =
        i == 0 || now < clock_of(records[i - 1]) || record.step < records[i - 1].step;
    if (!from_start) {
      iterations += static_cast<double>(record.step - records[i - 1].step);
      seconds += now - clock_of(records[i - 1]);
    } else if (!log.clock_is_wall && record.step == record.iterations) {
      // A finer clock begins with the first record, which then has to have its own time.
      const bool own_start = now > 0 || log.clock_resolution_s >= 1;
      if (!own_start && !(record.seconds > 0)) continue;
      iterations += static_cast<double>(record.step);
      seconds += own_start ? now : record.seconds;
    }
  }
  return seconds > 0 ? iterations / (seconds + log.off_clock_s()) : kUnknown;
}

// Counter of the last record when the records begin at counter 0 and never begin anew.
std::optional<std::int64_t> counted_from_zero(const RunLog& log) {
  const auto& records = log.records;
  if (records.empty() || records.front().step != records.front().iterations) return std::nullopt;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].step < records[i - 1].step) return std::nullopt;
  }
  return records.back().step;
}

Estimate total_time(const RunLog& log, std::optional<std::int64_t> sequences_per_optimizer_step) {
  const Totals& totals = log.totals;
  const double seconds = seconds_of_run(log);
  Estimate estimate{.name = "total_time"};
  if (std::isnan(seconds)) {
    estimate.rate = records_total(log);
    return estimate;
  }
  if (const auto sequences = sequences_of_run(log, sequences_per_optimizer_step)) {
    estimate.unit = RateUnit::sequences_per_second;
    estimate.rate = *sequences / seconds;
  } else if (const auto work = totals.iterations ? totals.iterations : counted_from_zero(log)) {
    estimate.rate = static_cast<double>(*work) / seconds;
  } else {
    estimate.rate = records_total(log);
  }
  return estimate;
}

// Whether a clock of whole seconds with few marks is wrong: the log's closing statement and its
// printed rates agree with each other and not with it.
bool is_contradicted_by_statement(std::span<const Estimate> estimates) {
  constexpr double kCoarse = 0.02, kAgree = 0.02, kApart = 0.05;  // shares of a rate
  const auto rate_of = [&](std::string_view name) {
    const auto at = std::ranges::find(estimates, name, &Estimate::name);
    return at != estimates.end() && at->unit == estimates.front().unit ? at->rate : kUnknown;
  };
  const auto clock = std::ranges::find(estimates, "counter_clock", &Estimate::name);
  if (clock == estimates.end() || !clock->whole_seconds || !(clock->resolution > kCoarse)) {
    return false;
  }
  const double stated = rate_of("log_summary");
  return std::abs(rate_of("printed") / stated - 1) < kAgree &&
         std::abs(clock->rate / stated - 1) > kApart;
}

// What a number on a line of an unknown program means is a guess, which is wrong where the lines
// came at another pace by a factor of two: it was a part of a step, or milliseconds without a unit.
void leave_out_refuted_guesses(const RunLog& log, const ArrivalRate& arrival,
                               std::vector<Estimate>& estimates) {
  constexpr double kRefutingFactor = 2;
  const bool guessed =
      std::ranges::find(log.notices, NoticeCode::generic_shape, &Notice::code) != log.notices.end();
  if (!guessed || !(arrival.seconds > 0) || arrival.in_bursts()) return;
  const double pace = arrival.iterations / arrival.seconds;
  for (Estimate& estimate : estimates) {
    const bool of_lines = estimate.name == "step_time" || estimate.name == "printed";
    if (!of_lines || estimate.unit != RateUnit::iterations_per_second) continue;
    const double ratio = estimate.rate / pace;
    estimate.misleads = estimate.misleads || std::max(ratio, 1 / ratio) >= kRefutingFactor;
  }
}

}  // namespace

std::span<const std::string_view> estimator_names() { return kEstimatorNames; }

bool chosen_by_default(std::string_view estimator) {
  return std::find(kEstimatorNames.begin(), kEstimatorNames.begin() + kChosenByDefault,
                   estimator) != kEstimatorNames.begin() + kChosenByDefault;
}

double seconds_of_run(const RunLog& log) {
  const auto seconds = log.totals.wall_s ? log.totals.wall_s : log.totals.training_s;
  return seconds && *seconds > 0 ? *seconds : kUnknown;
}

std::optional<double> sequences_of_run(const RunLog& log,
                                       std::optional<std::int64_t> sequences_per_optimizer_step) {
  const Totals& totals = log.totals;
  if (totals.sequences) return static_cast<double>(*totals.sequences);
  if (totals.optimizer_steps && sequences_per_optimizer_step) {
    return static_cast<double>(*totals.optimizer_steps) *
           static_cast<double>(*sequences_per_optimizer_step);
  }
  return std::nullopt;
}

std::vector<Estimate> estimate_all(const RunLog& log, const Window& window,
                                   std::optional<std::int64_t> sequences_per_optimizer_step) {
  std::vector<Estimate> out;
  const std::span<const Record> records =
      std::span<const Record>(log.records).subspan(window.first, window.size());
  const auto clock = counter_over_clock(log, window);
  const bool rates = log.rate_unit != RateUnit::unknown;
  add(out, {.name = "step_time",
            .rate = step_time_rate(records),
            .misleads = clock && clock_refutes_times(log, window, *clock),
            .error = error_of_printed(records, &Record::seconds)});
  if (clock) {
    add(out, {.name = "counter_clock",
              .rate = clock->iterations / clock->seconds,
              .resolution = clock->resolution,
              .whole_seconds = log.clock_resolution_s >= 1,
              .misleads = rates && always_holds_evaluations(log),
              .error = clock->error});
  }
  if (const auto bar = counter_over_bar_rates(log, window)) {
    add(out, {.name = "unsmoothed", .rate = bar->iterations / bar->seconds, .error = bar->error});
  }
  // A tqdm bar shows an elapsed field of whole seconds; a rate printed once is its own first
  // redraw.
  const bool elapsed_field = log.clock_resolution_s >= 1 && !log.clock_is_wall;
  const bool bar = elapsed_field && std::ranges::any_of(log.records, [](const Record& record) {
                     return !std::isnan(record.printed_first);
                   });
  const Record* before = window.first > 0 ? &log.records[window.first - 1] : nullptr;
  const double printed_error =
      bar ? error_of_smoothed(before, records) : error_of_printed(records, &Record::printed_rate);
  if (rates) {
    add(out, {.name = bar ? "printed_last" : "printed",
              .rate = work_over_time(records, &Record::printed_rate),
              .unit = log.rate_unit,
              .error = printed_error});
  }
  const auto arrival = counter_over_arrivals(log, window);
  if (arrival) {
    add(out, {.name = "arrival",
              .rate = arrival->iterations / arrival->seconds,
              .resolution = arrival->resolution,
              .misleads = arrival->in_bursts(),
              .error = arrival->error});
    leave_out_refuted_guesses(log, *arrival, out);
  }
  const Estimate total = total_time(log, sequences_per_optimizer_step);
  if (log.summary && log.summary->unit != RateUnit::unknown) {
    add(out, {.name = "log_summary", .rate = log.summary->value, .unit = log.summary->unit});
  } else if (log.totals.training_s &&
             std::ranges::none_of(out, chosen_by_default, &Estimate::name)) {
    // "Training took 330 s" after steps without a time states a rate as well.
    add(out, {.name = "log_summary", .rate = total.rate, .unit = total.unit});
  }
  const auto add_mean = [&](std::string_view name, double Record::*rate) {
    const RatesOfLines lines = rates_of_lines(records, rate);
    add(out, {.name = name,
              .rate = lines.mean(),
              .unit = log.rate_unit,
              .error = printed_error + lines.mean() / lines.over_time() - 1});
  };
  if (rates) {
    add_mean("printed_mean", &Record::printed_rate);
    if (bar) add_mean("printed_first", &Record::printed_first);
  }
  add(out, total);
  return out;
}

void compare_errors(std::span<Estimate> estimates) {
  const auto find = [&](std::string_view name) -> Estimate* {
    const auto at = std::ranges::find(estimates, name, &Estimate::name);
    return at != estimates.end() ? &*at : nullptr;
  };
  Estimate* clock = find("counter_clock");
  const Estimate* bar = find("unsmoothed");
  const Estimate* arrival = find("arrival");
  if (arrival != nullptr && arrival->misleads) arrival = nullptr;
  if (clock != nullptr && clock->misleads) clock = nullptr;
  if (is_contradicted_by_statement(estimates)) {
    clock->error = std::hypot(clock->error, clock->rate / find("log_summary")->rate - 1);
    clock = nullptr;
  }
  for (Estimate& estimate : estimates) {
    const auto set_against = [&](const Estimate* witness, double allows) {
      if (witness->unit != estimate.unit) return;
      const double beyond = std::abs(estimate.rate / witness->rate - 1) - allows;
      if (beyond > 0) estimate.error = std::hypot(estimate.error, beyond);
    };
    const bool printed = estimate.name.starts_with("printed");
    if (clock != nullptr && (printed || estimate.name == "unsmoothed")) {
      set_against(clock, std::max(clock->resolution, clock->error));
    }
    if (arrival != nullptr && printed) {
      constexpr double kErrorsApart = 3;  // expected errors
      set_against(arrival, std::max(arrival->resolution, kErrorsApart * arrival->error));
    }
    // They are tqdm's smoothed rates, of which `unsmoothed` has undone the smoothing.
    if (bar != nullptr && printed && bar->unit == estimate.unit) {
      estimate.error = std::hypot(estimate.error, bar->error, estimate.rate / bar->rate - 1);
    }
  }
  const Estimate* best = default_estimate(estimates);
  if (best == nullptr) return;
  for (Estimate& estimate : estimates) {
    if (!std::isnan(estimate.error) || estimate.unit != best->unit) continue;
    estimate.error = std::hypot(best->error, estimate.rate / best->rate - 1);
  }
}

const Estimate* default_estimate(std::span<const Estimate> estimates) {
  const Estimate* best = nullptr;
  for (const Estimate& estimate : estimates) {  // log_summary, the last, has no error below another
    if (!chosen_by_default(estimate.name) || estimate.misleads) continue;
    if (best == nullptr || std::max(estimate.error, kEqualErrors) < best->error) best = &estimate;
  }
  return best;
}

bool total_is_of_other_work(double total, std::span<const double> rates, bool by_own_times) {
  return !rates.empty() && std::ranges::all_of(rates, [&](double rate) {
    return total / rate > kIncredible || (!by_own_times && rate / total > kIncredible);
  });
}

namespace {

double square(double x) { return x * x; }

// The power of ten that all values are multiples of: the last digit that was printed. 0 where more
// digits stand than matter, as in DLLogger's lines.
double digit_of(std::span<const double> values) {
  constexpr double kRounding = 1e-6;  // of a value that went through a double
  const auto [low, high] = std::ranges::minmax(values);
  if (low == high) return 0;  // no last digit shows
  double digit = 1;
  for (int decimals = 0; decimals <= 9; ++decimals, digit /= 10) {
    const bool all = std::ranges::all_of(values, [&](double value) {
      const double n = value / digit;
      const double whole = std::round(n);
      return whole >= 1 && std::abs(n - whole) <= kRounding * std::max(1.0, n) && n < 1e12;
    });
    if (all) return digit;
  }
  return 0;
}

double deviation_of(std::span<const double> values) {
  return values.size() > 1 ? standard_deviation(values) : 0;
}

}  // namespace

double error_of_printed(std::span<const Record> window, double Record::*value) {
  const bool rates = value == &Record::printed_rate;
  std::vector<double> values, times;  // as printed; seconds an iteration that they imply
  double iterations = 0, missing = 0, missing_records = 0;
  for (const Record& record : window) {
    const double own = record.*value, work = work_of(record);
    if (!is_number(own)) {
      if (values.empty()) continue;  // where the window begins, for every clock
      missing += work;
      missing_records += 1;
      continue;
    }
    iterations += work;
    values.push_back(own);
    times.push_back(rates ? 1 / own : own / work);
  }
  if (values.empty()) return kUnknown;
  const auto n = static_cast<double>(times.size());
  const double mean_time = mean(times);
  // A time that is printed of one iteration stands in the record times their number.
  const double of_one = rates ? 0 : digit_of(times) / mean_time;
  const double digit = std::max(digit_of(values) / mean(values), of_one);
  const double digits = digit / std::sqrt(12.0) / std::sqrt(n);
  const double variation = mean_time > 0 ? deviation_of(times) / mean_time : 0;
  // The sum of own seconds is that of all iterations by what a record is: only rates may be of one.
  const double per_record = iterations / n;
  const double sampled = rates ? std::max(0.0, 1 - 1 / per_record) : 0;
  const double spread = variation * std::sqrt(sampled / n);
  const double gaps =
      missing > 0 ? variation * missing / (iterations + missing) / std::sqrt(missing_records) : 0;
  return std::sqrt(square(digits) + square(spread) + square(gaps));
}

double error_of_smoothed(const Record* before, std::span<const Record> window) {
  constexpr double kHalfDigit = 0.005;   // of tqdm's rates, it/s or s/it with two decimals
  constexpr double kTrails = 0.7 / 0.3;  // of tqdm's smoothing, see the header
  constexpr double kHole = 2;            // times the usual iterations of a redraw
  double seconds = 0, n = 0, rounding = 0;
  std::vector<double> works;
  const Record* first = before;
  const Record* last = nullptr;
  for (const Record& record : window) {
    const double rate = record.printed_rate;
    if (!is_number(rate)) continue;
    works.push_back(work_of(record));
    seconds += works.back() / rate;
    rounding += square(kHalfDigit * std::min(rate, 1 / rate)) / 3;
    n += 1;
    last = &record;
    if (first == nullptr || !(first->printed_rate > 0)) first = &record;
  }
  if (last == nullptr || !(seconds > 0)) return kUnknown;
  // Each redraw is of as many iterations as a record is on the average. In a log with a hole the
  // record after it had redraws that are not there
  // (quoted/tqdm.redraws_that_were_left_out_leave_the_expected_error_as_it_is).
  const double average = static_cast<double>(window.back().step - first->step) /
                         std::max(1.0, n - (first == before ? 0 : 1));
  const double per_redraw = std::min(average, kHole * median(std::move(works)));
  const double change = per_redraw * (1 / last->printed_rate - 1 / first->printed_rate);
  return std::sqrt(square(kTrails * change / seconds) + rounding / square(n));
}

namespace {

constexpr double kStatedApart = 1.9;
constexpr std::size_t kRecordsOfBoth = 3;  // that have times and a stated rate

// By times and facts over as stated, of each record that has both.
std::vector<double> ratios_of(const RunLog& log, std::span<const Record> window,
                              std::int64_t per_iteration) {
  std::vector<double> out;
  if (log.rate_unit != RateUnit::sequences_per_second) return out;
  for (const Record& record : window) {
    if (!(record.seconds > 0) || !(record.printed_rate > 0) || record.iterations < 1) continue;
    const double work = static_cast<double>(record.iterations) * static_cast<double>(per_iteration);
    out.push_back(work / record.seconds / record.printed_rate);
  }
  return out;
}

}  // namespace

std::optional<Notice> stated_rate_is_apart(const RunLog& log, std::span<const Record> window,
                                           std::int64_t per_iteration) {
  const auto ratios = ratios_of(log, window, per_iteration);
  if (ratios.size() < kRecordsOfBoth) return std::nullopt;
  const double ratio = quantile(ratios, 0.5);
  if (!(std::max(ratio, 1 / ratio) >= kStatedApart)) return std::nullopt;
  return make_notice(NoticeCode::stated_rate_apart, 0, std::max(ratio, 1 / ratio),
                     ratio > 1 ? "many" : "few");
}

std::optional<Notice> mean_of_rates_misleads(std::span<const Record> window, RateUnit unit) {
  constexpr double kMisleads = 0.03;
  const RatesOfLines lines = rates_of_lines(window, &Record::printed_rate);
  const double above = lines.mean() / lines.over_time() - 1;
  if (!(above >= kMisleads)) return std::nullopt;
  return make_notice(NoticeCode::mean_of_rates_misleads, 0, lines.mean(), name(unit), 100 * above,
                     lines.over_time());
}

}  // namespace bertbench
