// ResultSet -> JSON, keys in the order of the schema.
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "parsers/core/parallel.h"
#include "parsers/core/trainer_options.h"
#include "reports/model/json_put.h"
#include "reports/model/result_io.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

using bertbench::put;

// Nor is anything written for what has no JSON number.
void put(Json& json, const char* key, double value) {
  if (std::isfinite(value)) json[key] = value;
}
void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) put(json, key, *value);
}
void put(Json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}

Json write(const std::map<std::string, double>& values) {
  Json json = Json::object();
  for (const auto& [key, value] : values) put(json, key.c_str(), value);
  return json;
}

Json write(const Interval& interval) {
  Json json = Json::object();
  put(json, "low", interval.low);
  put(json, "high", interval.high);
  put(json, "coverage", interval.coverage);
  return json;
}

Json write(const Ratio& ratio) {
  Json json = Json::object();
  put(json, "value", ratio.value);
  put(json, "base", ratio.base);
  return json;
}

Json write(const Identity& identity) {
  Json json = Json::object();
  put(json, "framework", identity.framework);
  put(json, "model", identity.model);
  put(json, "precision", identity.precision);
  put(json, "sequence_length", identity.sequence_length);
  put(json, "micro_batch_size", identity.micro_batch_size);
  put(json, "gradient_accumulation_steps", identity.gradient_accumulation_steps);
  put(json, "nodes", identity.nodes);
  put(json, "gpus_per_node", identity.gpus_per_node);
  for (const auto& [axis, value] : identity.axes) {
    if (axis == kSimulatedAxis && value == "true") {
      json[axis] = true;
    } else {
      json[axis] = value;
    }
  }
  return json;
}

Json write(const Notice& notice) {
  Json json = {{"code", name(notice.code)}};
  if (notice.line > 0) json["line"] = notice.line;
  if (!notice.log.empty()) json["log"] = notice.log;
  const bool foreign = notice.code == NoticeCode::foreign;  // its text is all that there is
  const auto names =
      foreign ? std::vector<std::string_view>() : value_names(kind_of(notice.code).text);
  for (std::size_t i = 0; i < std::min(names.size(), notice.values.size()); ++i) {
    std::visit([&](const auto& value) { json["values"][std::string(names[i])] = value; },
               notice.values[i]);
  }
  json["text"] = text_of(notice);
  return json;
}

Json write(const std::vector<Notice>& notices) {
  Json json = Json::array();
  for (const Notice& notice : notices) json.push_back(write(notice));
  return json;
}

// Texts without a code are in the plain list already.
bool has_codes(const std::vector<Notice>& notices) {
  return std::ranges::any_of(
      notices, [](const Notice& notice) { return notice.code != NoticeCode::foreign; });
}

Json write(const Outcome& outcome) {
  Json json = Json::object();
  json["status"] = name(outcome.status);
  put(json, "step", outcome.step);
  if (outcome.line > 0) json["line"] = outcome.line;
  if (!outcome.details.empty()) {
    json["detail"] = detail_text(outcome);
    if (has_codes(outcome.details)) json["detail_notices"] = write(outcome.details);
  }
  return json;
}

Json write(const Reconciliation& sums) {
  Json json = Json::object();
  put(json, "sequences", sums.sequences);
  put(json, "training_s", sums.training_s);
  put(json, "wall_s", sums.wall_s);
  put(json, "rate", sums.rate);
  if (!sums.gaps.empty()) json["gaps"] = write(sums.gaps);
  return json;
}

Json write(const SteadyRecord& steady) {
  Json json = Json::object();
  json["state"] = name(steady.state);
  put(json, "first_step", steady.first_step);
  put(json, "change", steady.change);
  return json;
}

Json write(const PeriodicRecord& record) {
  const PeriodicWork& periodic = record.work;
  Json json = Json::object();
  json["period"] = periodic.period;
  json["phase"] = periodic.phase;
  json["count"] = periodic.count;
  put(json, "extra_s", periodic.extra_s);
  put(json, "share", periodic.share);
  put(json, "sequences_per_second_without", record.sequences_per_second_without);
  return json;
}

Json write(const IterationCounts& iterations) {
  return {{"seen", iterations.seen}, {"dropped", iterations.dropped}, {"used", iterations.used}};
}

Json write(const WindowUsed& window) {
  Json json = Json::object();
  json["rule"] = window.rule;
  json["chosen_by"] = window.chosen_by;
  json["covered"] = window.covered;
  put(json, "first_step", window.first_step);
  put(json, "last_step", window.last_step);
  return json;
}

Json write(const StepTimes& times) {
  Json json = Json::object();
  put(json, "p50", times.p50);
  put(json, "p90", times.p90);
  put(json, "p99", times.p99);
  return json;
}

Json write(const MemoryRecord& memory) {
  Json json = Json::object();
  json["peak_bytes"] = memory.peak_bytes;
  if (memory.capacity_bytes > 0) json["capacity_bytes"] = memory.capacity_bytes;
  put(json, "source", memory.source);
  return json;
}

Json write(const std::map<std::string, FlopsUse>& flops) {
  Json json = Json::object();
  for (const auto& [formula, use] : flops) {
    Json& each = json[formula] = Json::object();
    put(each, "tflops_per_gpu", use.tflops_per_gpu);
    put(each, "mfu", use.mfu);
    put(each, "hfu", use.hfu);
  }
  return json;
}

Json write(const Trial& trial) {
  Json json = Json::object();
  json["trial"] = trial.trial;
  json["attempt"] = trial.attempt;
  put(json, "log", trial.log);
  put(json, "format", trial.format);
  json["outcome"] = write(trial.outcome);
  json["iterations"] = write(trial.iterations);
  put(json, "skipped_steps", trial.skipped_steps);
  json["window"] = write(trial.window);
  put(json, "sequences_per_second", trial.sequences_per_second);
  put(json, "iterations_per_second", trial.iterations_per_second);
  put(json, "estimator", trial.estimator);
  if (!trial.estimators.empty()) json["estimators"] = write(trial.estimators);
  if (!trial.resolution.empty()) json["resolution"] = write(trial.resolution);
  if (!trial.expected_error.empty()) json["expected_error"] = write(trial.expected_error);
  if (trial.reconciliation) json["reconciliation"] = write(*trial.reconciliation);
  if (trial.step_time) json["step_time"] = write(*trial.step_time);
  if (trial.rate_interval) json["rate_interval"] = write(*trial.rate_interval);
  if (trial.steady_state) json["steady_state"] = write(*trial.steady_state);
  if (trial.periodic) json["periodic"] = write(*trial.periodic);
  if (trial.time_parts) json["time_parts"] = to_json(*trial.time_parts);
  if (trial.memory) json["memory"] = write(*trial.memory);
  if (!trial.telemetry.is_null()) json["telemetry"] = *trial.telemetry;
  put(json, "energy_j", trial.energy_j);
  put(json, "energy_per_sequence_j", trial.energy_per_sequence_j);
  if (trial.loss_first || trial.loss_last) {
    Json loss = Json::object();
    put(loss, "first", trial.loss_first);
    put(loss, "last", trial.loss_last);
    json["loss"] = std::move(loss);
  }
  if (trial.simulated) json["simulated"] = true;
  put(json, "seed", trial.seed);
  if (!trial.scores.empty()) json["scores"] = write(trial.scores);
  put(json, "iterations_file", trial.iterations_file);
  if (!trial.notices.empty()) json["notices"] = write(trial.notices);
  return json;
}

Json write(const ThroughputSummary& summary) {
  Json json = Json::object();
  json["unit"] = summary.unit;
  json["n"] = summary.n;
  put(json, "mean", summary.mean);
  put(json, "median", summary.median);
  put(json, "stddev", summary.stddev);
  put(json, "cv", summary.cv);
  if (summary.median_interval) json["median_interval"] = write(*summary.median_interval);
  if (summary.mean_interval) json["mean_interval"] = write(*summary.mean_interval);
  return json;
}

Json write(const std::map<std::string, Spread>& stability) {
  Json json = Json::object();
  for (const auto& [what, spread] : stability) {
    Json& one = json[what];
    one["n"] = spread.n;
    put(one, "mean", spread.mean);
    put(one, "stddev", spread.stddev);
    put(one, "min", spread.min);
    put(one, "max", spread.max);
  }
  return json;
}

constexpr const char* kTrials = "trials";

Json write(const std::vector<Trial>& trials) {
  Json json = Json::array();
  for (const Trial& trial : trials) json.push_back(write(trial));
  return json;
}

Json write(const Cell& cell) {
  Json json = Json::object();
  json["key"] = cell.key;
  json["identity"] = write(cell.identity);
  json["kind"] = name(cell.kind);
  put(json, "model", cell.identity.model);
  put(json, "framework", cell.identity.framework);
  put(json, "precision", cell.identity.precision);
  put(json, "sequence_length", cell.identity.sequence_length);
  put(json, "nodes", cell.identity.nodes);
  put(json, "gpus_per_node", cell.identity.gpus_per_node);
  put(json, "world_size", cell.world_size());
  put(json, "micro_batch_size", cell.identity.micro_batch_size);
  put(json, "gradient_accumulation_steps", cell.identity.gradient_accumulation_steps);
  put(json, "global_batch_size", cell.global_batch_size());
  put(json, "gpu", cell.gpu);
  if (cell.emulated) json["emulated"] = true;
  if (cell.identity.simulated()) json["simulated"] = true;
  if (!cell.context.is_null()) json["context"] = *cell.context;
  json[kTrials] = write(cell.trials);
  json["throughput"] = write(cell.throughput);
  if (!cell.stability.empty()) json["stability"] = write(cell.stability);
  put(json, "sequences_per_second_per_gpu", cell.sequences_per_second_per_gpu);
  if (cell.speedup) json["speedup"] = write(*cell.speedup);
  put(json, "scaling_efficiency", cell.scaling_efficiency);
  put(json, "scaling", cell.scaling);
  if (cell.precision_speedup) json["precision_speedup"] = write(*cell.precision_speedup);
  put(json, "time_to_train_s", cell.time_to_train_s);
  if (cell.time_to_train_speedup)
    json["time_to_train_speedup"] = write(*cell.time_to_train_speedup);
  put(json, "power_w", cell.power_w);
  put(json, "energy_per_sequence_j", cell.energy_per_sequence_j);
  if (cell.memory) json["memory"] = write(*cell.memory);
  put(json, "tflops_per_gpu", cell.tflops_per_gpu);
  put(json, "mfu", cell.mfu);
  put(json, "hfu", cell.hfu);
  put(json, "flops_formula", cell.flops_formula);
  put(json, "peak", cell.peak);
  if (!cell.flops.empty()) json["flops"] = write(cell.flops);
  if (!cell.warnings.empty()) {
    json["warnings"] = texts_of(cell.warnings);
    if (has_codes(cell.warnings)) json["warning_notices"] = write(cell.warnings);
  }
  return json;
}

}  // namespace

Json to_json(const TimeRecord& time) {
  Json json = Json::object();
  put(json, "total_s", time.total_s);
  json["parts_s"] = write(time.parts_s);
  Json timeline = Json::array();
  for (const TimeRecord::Span& span : time.timeline) {
    timeline.push_back({{"part", span.part}, {"begin_s", span.begin_s}, {"end_s", span.end_s}});
  }
  json["timeline"] = std::move(timeline);
  return json;
}

namespace {

Json head_of(const ResultSet& results) {
  Json json = Json::object();
  json["schema"] = kResultSchema;
  json["tool"] = {{"version", results.tool_version}, {"commit", results.tool_commit}};
  put(json, "created", results.created);
  json["environment"] = *results.environment;
  if (!results.partial.is_null()) json["partial"] = *results.partial;
  return json;
}

}  // namespace

nlohmann::ordered_json to_json(const Cell& cell) { return write(cell); }
nlohmann::ordered_json to_json(const Trial& trial) { return write(trial); }

nlohmann::ordered_json to_json(const ResultSet& results) {
  Json json = head_of(results);
  Json cells = Json::array();
  for (const Cell& cell : results.cells) cells.push_back(write(cell));
  json["cells"] = std::move(cells);
  return json;
}

namespace {

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// The members of an object, a line each, and of a list of objects again; what is further inside
/// stands on one line, so that a trial is a line: large files stay small and quick to read, and a
/// diff shows trials. `member` may write a member's value itself, then it returns true.
void write_lines(const Json& object, const std::string& margin, const TextSink& out,
                 const std::function<bool(const std::string& key)>& member) {
  out("{");
  std::string line;
  const char* separator = "\n";
  for (const auto& [key, value] : object.items()) {
    line = separator + margin + "  " + dump(key, -1) + ": ";
    separator = ",\n";
    out(line);
    if (member(key)) continue;
    const bool list = value.is_array() && !value.empty() && value.front().is_object();
    if (!list) {
      out(dump(value, -1));
      continue;
    }
    out("[");
    for (const Json& element : value) {
      line = (&element == &value.front() ? "\n" : ",\n") + margin + "    " + dump(element, -1);
      out(line);
    }
    out("\n" + margin + "  ]");
  }
  out("\n" + margin + "}");
}

/// A cell with its trials one after the other: neither is ever whole in memory.
void write_cell(const CellSource& cells, std::size_t i, const TextSink& out) {
  const std::string margin = "    ";
  out(i == 0 ? "\n    " : ",\n    ");
  write_lines(write(cells.cell(i)), margin, out, [&](const std::string& key) {
    if (key != kTrials) return false;
    bool first = true;
    cells.each_trial(i, [&](const Trial& trial) {
      out((first ? "[\n" : ",\n") + margin + "    " + dump(write(trial), -1));
      first = false;
    });
    out(first ? "[]" : "\n" + margin + "  ]");
    return true;
  });
}

}  // namespace

void write_text(const CellSource& cells, const TextSink& out) {
  std::string head;
  write_lines(
      head_of(cells.head()), "", [&](std::string_view text) { head += text; },
      [](const std::string&) { return false; });
  head.resize(head.size() - 2);  // the closing brace and its line
  out(head + ",\n  \"cells\": [");
  // Blocks of cells go side by side; one of very many trials is written as it is made.
  constexpr std::size_t kBlock = 8, kBlocks = 32, kLeastBlocks = 4, kManyTrials = 1000;
  for (std::size_t begin = 0; begin < cells.size();) {
    std::size_t end = begin;
    while (end < cells.size() && end - begin < kBlock * kBlocks &&
           cells.trials(end) <= kManyTrials) {
      ++end;
    }
    std::vector<std::string> blocks((end - begin + kBlock - 1) / kBlock);
    for_each_index(blocks.size(), kLeastBlocks, [&](std::size_t block) {
      const std::size_t from = begin + block * kBlock;
      for (std::size_t i = from; i < std::min(end, from + kBlock); ++i) {
        write_cell(cells, i, [&](std::string_view text) { blocks[block] += text; });
      }
    });
    for (const std::string& block : blocks) out(block);
    if (begin == end) write_cell(cells, end++, out);
    begin = end;
  }
  out(cells.size() == 0 ? "]" : "\n  ]");
  out("\n}\n");
}

std::string to_text(const ResultSet& results) {
  std::string out;
  write_text(SetSource(results), [&](std::string_view text) { out += text; });
  return out;
}

}  // namespace bertbench
