#include "reports/measure/estimators.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "parsers/core/notice.h"
#include "reports/measure/expected_error.h"
#include "reports/stats/arrival_clock.h"
#include "reports/stats/bar_clock.h"
#include "reports/stats/clock.h"

namespace bertbench {
namespace {

constexpr std::array<std::string_view, 10> kNames{
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
  constexpr double kLonger = 1.3, kCoarsestClock = 0.1;
  constexpr double kBursts = 20;  // times: lines that a pipe let through together have no clock
  constexpr std::size_t kFewest = 3;
  // Lines of several processes that name no step count as many steps.
  const bool counts_lines = std::ranges::any_of(log.notices, [](const Notice& notice) {
    return notice.code == NoticeCode::rate_of_one_process_left_out;
  });
  if (counts_lines) return false;
  const std::size_t begin = std::max<std::size_t>(window.first, 1);
  if (clock.resolution > kCoarsestClock || window.last < begin + kFewest) return false;
  const double own =
      step_time_rate(std::span<const Record>(log.records).subspan(begin, window.last - begin));
  const double ratio = clock.iterations / clock.seconds / own;
  return ratio > kLonger && ratio < kBursts;
}

double mean_of(std::span<const Record> records, double Record::*value) {
  double sum = 0;
  std::size_t n = 0;
  for (const Record& record : records) {
    if (!std::isfinite(record.*value) || record.*value <= 0) continue;
    sum += record.*value;
    ++n;
  }
  return n > 0 ? sum / static_cast<double>(n) : kUnknown;
}

// Work over the time that rates imply, which is counted in units of the first one's: of equal rates
// the mean is each of them to the last digit.
double work_over_time(std::span<const Record> records, double Record::*rate) {
  double iterations = 0;
  double time = 0;
  double unit = kUnknown;
  for (const Record& record : records) {
    if (!std::isfinite(record.*rate) || record.*rate <= 0) continue;
    if (std::isnan(unit)) unit = record.*rate;
    const auto work = static_cast<double>(std::max<std::int64_t>(1, record.iterations));
    iterations += work;
    time += work * (unit / record.*rate);
  }
  return time > 0 ? unit * (iterations / time) : kUnknown;
}

// All iterations over all time by the records alone: a tqdm bar counts and clocks from its own
// start, so a first record that begins at counter 0 brings its time along; else the first record is
// the start.
double records_total(const RunLog& log) {
  const auto& records = log.records;
  if (records.empty()) return kUnknown;
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
  return seconds > 0 ? iterations / seconds : kUnknown;
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

}  // namespace

std::span<const std::string_view> estimator_names() { return kNames; }

bool chosen_by_default(std::string_view estimator) {
  return std::find(kNames.begin(), kNames.begin() + kChosenByDefault, estimator) !=
         kNames.begin() + kChosenByDefault;
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
  add(out, {.name = "step_time",
            .rate = step_time_rate(records),
            .misleads = clock && clock_refutes_times(log, window, *clock),
            .error = error_of_printed(records, &Record::seconds)});
  if (clock) {
    add(out, {.name = "counter_clock",
              .rate = clock->iterations / clock->seconds,
              .resolution = clock->resolution,
              .whole_seconds = log.clock_resolution_s >= 1,
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
  const bool rates = log.rate_unit != RateUnit::unknown;
  const Record* before = window.first > 0 ? &log.records[window.first - 1] : nullptr;
  const double printed_error =
      bar ? error_of_smoothed(before, records) : error_of_printed(records, &Record::printed_rate);
  if (rates) {
    add(out, {.name = bar ? "printed_last" : "printed",
              .rate = work_over_time(records, &Record::printed_rate),
              .unit = log.rate_unit,
              .error = printed_error});
  }
  if (const auto arrival = counter_over_arrivals(log, window); arrival && arrival->seconds > 0) {
    add(out, {.name = "arrival",
              .rate = arrival->iterations / arrival->seconds,
              .resolution = arrival->resolution,
              .misleads = arrival->in_bursts(),
              .error = arrival->error});
  }
  if (log.summary && log.summary->unit != RateUnit::unknown) {
    add(out, {.name = "log_summary", .rate = log.summary->value, .unit = log.summary->unit});
  }
  if (rates) {
    add(out, {.name = "printed_mean",
              .rate = mean_of(records, &Record::printed_rate),
              .unit = log.rate_unit,
              .error = printed_error + excess_of_mean(records, &Record::printed_rate)});
  }
  if (bar && rates) {
    add(out, {.name = "printed_first",
              .rate = mean_of(records, &Record::printed_first),
              .unit = log.rate_unit,
              .error = printed_error + excess_of_mean(records, &Record::printed_first)});
  }
  add(out, total_time(log, sequences_per_optimizer_step));
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
  if (is_contradicted_by_statement(estimates)) {
    clock->error = std::hypot(clock->error, clock->rate / find("log_summary")->rate - 1);
    clock = nullptr;
  }
  for (Estimate& estimate : estimates) {
    const auto set_against = [&](const Estimate* witness, double allows) {
      if (witness == nullptr || witness == &estimate || witness->unit != estimate.unit) return;
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
  if (best == nullptr || std::isnan(best->error)) return;
  for (Estimate& estimate : estimates) {
    if (!std::isnan(estimate.error) || estimate.unit != best->unit) continue;
    estimate.error = std::hypot(best->error, estimate.rate / best->rate - 1);
  }
}

const Estimate* default_estimate(std::span<const Estimate> estimates) {
  const Estimate* best = nullptr;
  const Estimate* closing = nullptr;
  for (const Estimate& estimate : estimates) {
    if (!chosen_by_default(estimate.name) || estimate.misleads) continue;
    if (estimate.name == "log_summary") {
      closing = &estimate;
    } else if (best == nullptr || std::max(estimate.error, kEqualErrors) < best->error) {
      best = &estimate;
    }
  }
  return best != nullptr ? best : closing;
}

bool total_is_of_other_work(double total, std::span<const double> rates, bool by_own_times) {
  return !rates.empty() && std::ranges::all_of(rates, [&](double rate) {
    return total / rate > kIncredible || (!by_own_times && rate / total > kIncredible);
  });
}

}  // namespace bertbench
