// Shared builders of run logs and result sets for the tests of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parsers/core/run_log.h"
#include "reports/cells/summarize.h"
#include "reports/measure/measure.h"
#include "reports/model/result_set.h"

namespace bertbench::samples {

/// A completed run whose log has these records.
inline RunLog log_of(const std::string& format, IterationUnit unit, std::vector<Record> records) {
  RunLog log;
  log.path = "run.log";
  log.format = format;
  log.iteration_unit = unit;
  log.outcome.status = Status::completed;
  log.records_seen = static_cast<std::int64_t>(records.size());
  log.records = std::move(records);
  return log;
}

/// One record an iteration, steps 1..seconds.size(), with the seconds given.
inline RunLog log_of_seconds(const std::vector<double>& seconds) {
  std::vector<Record> records;
  for (const double one : seconds) {
    const auto step = static_cast<std::int64_t>(records.size()) + 1;
    records.push_back({.step = step, .seconds = one, .loss = 7.0, .line = step});
  }
  return log_of("native", IterationUnit::optimizer_step, std::move(records));
}

/// Counters printed every `every` steps, up to `last`, at 0.1 s a step.
inline RunLog log_of_counters(std::int64_t every, std::int64_t last) {
  std::vector<Record> records;
  for (std::int64_t step = every; step <= last; step += every) {
    records.push_back({.step = step,
                       .iterations = every,
                       .seconds = 0.1 * static_cast<double>(every),
                       .line = step / every});
  }
  return log_of("native", IterationUnit::optimizer_step, std::move(records));
}

/// A bar of micro-steps, whose rates are iterations and whose clock shows whole seconds.
inline RunLog bar_of(std::vector<Record> records) {
  RunLog log = log_of("tqdm", IterationUnit::micro_step, std::move(records));
  log.rate_unit = RateUnit::iterations_per_second;
  log.clock_resolution_s = 1;
  return log;
}

/// The published bar, of which the log has seven redraws, 64 micro-steps apart.
inline RunLog published_bar() {
  const double seconds[] = {217, 237, 258, 279, 300, 321, 342};
  const double first_seconds[] = {196, 217, 238, 259, 280, 301, 321};
  const double first_rates[] = {2.81, 2.71, 2.66, 2.74, 2.83, 2.70, 2.66};
  std::vector<Record> records;
  for (int i = 0; i < 7; ++i) {
    records.push_back({.step = 661 + 64 * i,
                       .iterations = 64,
                       .time_s = seconds[i],
                       .first_time_s = first_seconds[i],
                       .printed_rate = 3.09,
                       .printed_first = first_rates[i]});
  }
  return bar_of(std::move(records));
}

inline WindowRule window(const std::string& text) { return parse_window(text).value(); }

inline MeasureOptions with_window(const std::string& rule) {
  MeasureOptions options;
  options.window = window(rule);
  return options;
}

/// The notices of a trial, a log or a result of another kind as text, one a line.
template <class Holder>
std::string notices(const Holder& of) {
  std::string out;
  for (const Notice& notice : of.notices) out += text_of(notice) + "\n";
  return out;
}

inline Facts facts(std::int64_t micro, std::int64_t accumulation, std::int64_t nodes,
                   std::int64_t gpus) {
  Facts out;
  out.framework.set("mxnet", FactSource::command_line);
  out.model.set("bert-base", FactSource::command_line);
  out.precision.set("fp32", FactSource::command_line);
  out.sequence_length.set(128, FactSource::command_line);
  out.micro_batch_size.set(micro, FactSource::command_line);
  out.gradient_accumulation_steps.set(accumulation, FactSource::command_line);
  out.nodes.set(nodes, FactSource::command_line);
  out.gpus_per_node.set(gpus, FactSource::command_line);
  return out;
}

inline Identity identity(std::int64_t nodes, std::int64_t gpus, std::int64_t micro = 32,
                         const std::string& precision = "fp32") {
  Facts out = facts(micro, 1, nodes, gpus);
  out.precision.set(precision, FactSource::command_line);
  return identity_of(out);
}

/// A trial that counts, with this rate.
inline Trial trial(int number, double rate) {
  Trial out;
  out.trial = number;
  out.outcome.status = Status::completed;
  out.window.rule = "100:200";
  out.window.chosen_by = "user";
  out.window.covered = true;
  out.sequences_per_second = rate;
  out.estimator = "step_time";
  return out;
}

inline Cell cell(const Identity& identity, const std::vector<double>& rates) {
  Cell out;
  out.identity = identity;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    out.trials.push_back(trial(static_cast<int>(i) + 1, rates[i]));
  }
  return out;
}

inline ResultSet result_set(std::vector<Cell> cells, const SummaryOptions& options = {}) {
  ResultSet out;
  out.tool.version = "0.1.0";
  out.tool.commit = "0123456789ab";
  static int minutes = 0;  // each set was measured at a time of its own
  out.created = "2026-01-02T03:" + std::to_string(10 + minutes++ % 50) + ":05Z";
  out.cells = std::move(cells);
  summarize(out, options);
  return out;
}

}  // namespace bertbench::samples
