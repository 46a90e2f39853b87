#include "reports/estimators.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/stats/clock.h"

namespace bertbench {
namespace {

constexpr std::array<std::string_view, 7> kNames{"step_time", "counter_clock", "printed_last",
                                                 "printed",   "log_summary",   "printed_first",
                                                 "total_time"};
constexpr std::size_t kChosenByDefault = 5;
constexpr double kCoarse = 0.01;

void add(std::vector<Estimate>& out, Estimate estimate) {
  if (std::isfinite(estimate.rate) && estimate.rate > 0) out.push_back(estimate);
}

// Work over time of the records that say their seconds; the first one often cannot.
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

// All iterations over all time by the records alone: a bar counts and clocks from its own start, so
// a first record that begins at counter 0 brings its time along; else the first record is the
// start.
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
      // A finer clock begins with the first record, which then has to tell its own time.
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
  add(out, {.name = "step_time", .rate = step_time_rate(records)});
  if (const auto clock = counter_over_clock(log, window)) {
    add(out, {.name = "counter_clock",
              .rate = clock->iterations / clock->seconds,
              .resolution = clock->resolution,
              .whole_seconds = log.clock_resolution_s >= 1});
  }
  // A bar shows an elapsed field of whole seconds; a rate printed once is its own first redraw.
  const bool elapsed_field = log.clock_resolution_s >= 1 && !log.clock_is_wall;
  const bool bar = elapsed_field && std::ranges::any_of(log.records, [](const Record& record) {
                     return !std::isnan(record.printed_first);
                   });
  if (log.rate_unit != RateUnit::unknown) {
    add(out, {.name = bar ? "printed_last" : "printed",
              .rate = mean_of(records, &Record::printed_rate),
              .unit = log.rate_unit});
  }
  if (log.summary && log.summary->unit != RateUnit::unknown) {
    add(out, {.name = "log_summary", .rate = log.summary->value, .unit = log.summary->unit});
  }
  if (bar && log.rate_unit != RateUnit::unknown) {
    add(out, {.name = "printed_first",
              .rate = mean_of(records, &Record::printed_first),
              .unit = log.rate_unit});
  }
  add(out, total_time(log, sequences_per_optimizer_step));
  return out;
}

bool rules_out(const Estimate& clock, const Estimate& bar) {
  constexpr double kFar = 0.05, kSure = 2;
  return bar.name == "printed_last" && bar.unit == clock.unit && clock.resolution > kCoarse &&
         std::abs(clock.rate / bar.rate - 1) > std::max(kFar, kSure * clock.resolution);
}

const Estimate* default_estimate(std::span<const Estimate> estimates) {
  const Estimate* coarse = nullptr;
  for (const Estimate& estimate : estimates) {
    if (!chosen_by_default(estimate.name)) continue;
    if (estimate.whole_seconds && estimate.resolution > kCoarse) {
      coarse = &estimate;
      continue;
    }
    return coarse != nullptr && rules_out(*coarse, estimate) ? coarse : &estimate;
  }
  return coarse;
}

}  // namespace bertbench
