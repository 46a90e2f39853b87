// JSON -> ResultSet. Result files come from other machines and other people: every value is
// checked.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/model/json_reader.h"
#include "reports/model/result_io.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDeepest = 64;  // nesting of a result file is 7; printing JSON recurses

constexpr std::array<std::string_view, 8> kFacts{"framework",
                                                 "model",
                                                 "precision",
                                                 "sequence_length",
                                                 "micro_batch_size",
                                                 "gradient_accumulation_steps",
                                                 "nodes",
                                                 "gpus_per_node"};

void read_facts(JsonReader& in, Identity& id) {
  id.framework = in.text("framework");
  id.model = in.text("model");
  id.precision = in.text("precision");
  id.sequence_length = in.count("sequence_length", 1);
  id.micro_batch_size = in.count("micro_batch_size", 1);
  id.gradient_accumulation_steps = in.count("gradient_accumulation_steps", 1);
  id.nodes = in.count("nodes", 1);
  id.gpus_per_node = in.count("gpus_per_node", 1);
}

void read_identity(JsonReader& in, Identity& id) {
  read_facts(in, id);
  if (!in.json().is_object()) return;
  for (const auto& [key, value] : in.json().items()) {
    if (std::ranges::find(kFacts, key) != kFacts.end() || value.is_null()) continue;
    if (value.is_structured()) return in.report(key, "a string, a number, true or false");
    id.axes[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

std::map<std::string, double> read_numbers(JsonReader& in) {
  std::map<std::string, double> out;
  if (!in.json().is_object()) return out;
  for (const auto& [key, value] : in.json().items()) {
    if (const auto number = in.number(key.c_str())) out[key] = *number;
  }
  return out;
}

Interval read_interval(JsonReader& in) {
  for (const char* key : {"low", "high", "coverage"}) in.require(key);
  return {in.number("low").value_or(0), in.number("high").value_or(0),
          in.number("coverage").value_or(0)};
}

Ratio read_ratio(JsonReader& in) {
  in.require("value");
  return {in.number("value").value_or(0), in.text("base").value_or("")};
}

void read_outcome(JsonReader& in, Outcome& outcome) {
  in.require("status");
  const std::string status = in.text("status").value_or("");
  if (const auto known = parse_status(status)) {
    outcome.status = *known;
  } else {
    in.report("status",
              "completed, nan, out_of_memory, error, killed, timeout, stalled, truncated "
              "or no_data");
  }
  outcome.step = in.count("step");
  outcome.line = in.count("line").value_or(0);
  outcome.detail = in.text("detail").value_or("");
}

void read_window(JsonReader& in, WindowUsed& window) {
  window.rule = in.text("rule").value_or("");
  window.chosen_by = in.text("chosen_by").value_or("");
  in.require("covered");
  window.covered = in.flag("covered").value_or(false);
  window.first_step = in.count("first_step");
  window.last_step = in.count("last_step");
}

void read_reconciliation(JsonReader& in, Reconciliation& sums) {
  sums.sequences = in.number("sequences");
  sums.training_s = in.number("training_s");
  sums.wall_s = in.number("wall_s");
  sums.rate = in.number("rate");
  in.object("gaps", [&](JsonReader& gaps) { sums.gaps = read_numbers(gaps); });
}

void read_trial(JsonReader& in, Trial& trial) {
  const auto small = [&](const char* key) {
    return static_cast<int>(std::min<std::int64_t>(in.count(key, 1).value_or(1), 1'000'000'000));
  };
  trial.trial = small("trial");
  trial.attempt = small("attempt");
  trial.log = in.text("log").value_or("");
  trial.format = in.text("format").value_or("");
  in.object("outcome", [&](JsonReader& o) { read_outcome(o, trial.outcome); });
  in.object("iterations", [&](JsonReader& o) {
    trial.iterations = {o.count("seen").value_or(0), o.count("dropped").value_or(0),
                        o.count("used").value_or(0)};
  });
  in.require("window");
  in.object("window", [&](JsonReader& o) { read_window(o, trial.window); });
  trial.sequences_per_second = in.number("sequences_per_second");
  trial.iterations_per_second = in.number("iterations_per_second");
  for (const char* key : {"sequences_per_second", "iterations_per_second"}) {
    const auto rate = in.number(key);
    if (rate && !(*rate > 0)) in.report(key, "a rate above 0");
  }
  trial.estimator = in.text("estimator").value_or("");
  in.object("estimators", [&](JsonReader& o) { trial.estimators = read_numbers(o); });
  in.object("resolution", [&](JsonReader& o) { trial.resolution = read_numbers(o); });
  in.object("reconciliation",
            [&](JsonReader& o) { read_reconciliation(o, trial.reconciliation.emplace()); });
  in.object("step_time", [&](JsonReader& o) {
    trial.step_time = StepTimes{o.number("p50").value_or(0), o.number("p90").value_or(0),
                                o.number("p99").value_or(0)};
  });
  in.object("memory", [&](JsonReader& o) {
    trial.memory =
        MemoryRecord{o.count("peak_bytes").value_or(0), o.count("capacity_bytes").value_or(0),
                     o.text("source").value_or("")};
  });
  in.object("loss", [&](JsonReader& o) {
    trial.loss_first = o.number("first");
    trial.loss_last = o.number("last");
  });
  trial.iterations_file = in.text("iterations_file").value_or("");
  in.objects("notices", [&](JsonReader& o) {
    trial.notices.push_back({o.count("line").value_or(0), o.text("text").value_or("")});
  });
}

void read_throughput(JsonReader& in, ThroughputSummary& summary) {
  summary.unit = in.text("unit").value_or("sequences/s");
  summary.n = static_cast<int>(std::min<std::int64_t>(in.count("n").value_or(0), 1'000'000'000));
  summary.mean = in.number("mean");
  summary.median = in.number("median");
  summary.stddev = in.number("stddev");
  summary.cv = in.number("cv");
  in.object("median_interval", [&](JsonReader& o) { summary.median_interval = read_interval(o); });
  in.object("mean_interval", [&](JsonReader& o) { summary.mean_interval = read_interval(o); });
}

void read_cell(JsonReader& in, Cell& cell) {
  in.require("key");
  in.require("trials");
  cell.key = in.text("key").value_or("");
  if (in.has("identity")) {
    in.object("identity", [&](JsonReader& o) { read_identity(o, cell.identity); });
  } else {
    read_facts(in, cell.identity);
  }
  const std::string kind = in.text("kind").value_or("training");
  if (kind == "evaluation") {
    cell.kind = WorkKind::evaluation;
  } else if (kind == "inference") {
    cell.kind = WorkKind::inference;
  } else if (kind != "training") {
    in.report("kind", "training, evaluation or inference");
  }
  cell.stated_world_size = in.count("world_size", 1);
  cell.stated_global_batch_size = in.count("global_batch_size", 1);
  cell.gpu = in.text("gpu").value_or("");
  cell.emulated = in.flag("emulated").value_or(false);
  in.objects("trials", [&](JsonReader& o) { read_trial(o, cell.trials.emplace_back()); });
  in.object("throughput", [&](JsonReader& o) { read_throughput(o, cell.throughput); });
  cell.sequences_per_second_per_gpu = in.number("sequences_per_second_per_gpu");
  in.object("speedup", [&](JsonReader& o) { cell.speedup = read_ratio(o); });
  cell.scaling_efficiency = in.number("scaling_efficiency");
  cell.scaling = in.text("scaling").value_or("");
  in.object("precision_speedup", [&](JsonReader& o) { cell.precision_speedup = read_ratio(o); });
  cell.time_to_train_s = in.number("time_to_train_s");
  cell.tflops_per_gpu = in.number("tflops_per_gpu");
  cell.mfu = in.number("mfu");
  cell.hfu = in.number("hfu");
  cell.flops_formula = in.text("flops_formula").value_or("");
  cell.peak = in.text("peak").value_or("");
  if (!in.failed() && in.has("warnings")) {
    const Json& warnings = in.json()["warnings"];
    const auto text = [](const Json& warning) { return warning.is_string(); };
    if (!warnings.is_array() || !std::ranges::all_of(warnings, text)) {
      return in.report("warnings", "an array of strings");
    }
    cell.warnings = warnings.get<std::vector<std::string>>();
  }
}

// Deepest nesting of brackets outside strings.
std::size_t depth_of(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

Result<std::string> read_text(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return std::move(text).str();
  }
  errno = 0;
  const std::ifstream file(path, std::ios::binary);
  if (file.is_open()) text << file.rdbuf();
  if (!file.is_open() || (!text && errno != 0)) {
    return fail(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  return std::move(text).str();
}

}  // namespace

Result<ResultSet> result_set_from_json(const nlohmann::ordered_json& json,
                                       const std::string& where) {
  std::optional<Error> error;
  JsonReader in(json, "$", error, where);
  ResultSet results;
  in.require("schema");
  const std::string schema = in.text("schema").value_or("");
  if (!in.failed() && schema != kResultSchema) {
    return fail(where + ": $.schema", "\"" + schema + "\" is not " + std::string(kResultSchema),
                "this program reads version 1 result sets");
  }
  in.require("cells");
  in.object("tool", [&](JsonReader& o) {
    results.tool_version = o.text("version").value_or("");
    results.tool_commit = o.text("commit").value_or("");
  });
  results.created = in.text("created").value_or("");
  in.object("environment", [&](JsonReader& o) { results.environment = o.json(); });
  in.objects("cells", [&](JsonReader& o) { read_cell(o, results.cells.emplace_back()); });
  if (error) {
    if (error->hint.empty()) error->hint = "see configs/schema/result.schema.json";
    return tl::unexpected(*error);
  }
  return results;
}

Result<ResultSet> result_set_from_text(std::string_view text, const std::string& where) {
  if (depth_of(text) > kDeepest) {
    return fail(where, "is nested more than " + std::to_string(kDeepest) + " levels deep",
                "a result set has fewer than ten");
  }
  try {
    return result_set_from_json(Json::parse(text), where);
  } catch (const nlohmann::json::exception& exception) {
    // "[json.exception.parse_error.101] parse error at line 1, column 1: ..." without the prefix.
    std::string_view what = exception.what();
    if (const auto end = what.find("] "); end != std::string_view::npos)
      what.remove_prefix(end + 2);
    return fail(where, "is not JSON: " + std::string(what),
                "a result file is written by bertbench sweep or extract --json");
  }
}

Result<ResultSet> read_result_set(const std::string& path_or_run_folder) {
  namespace fs = std::filesystem;
  std::error_code code;
  std::string path = path_or_run_folder;
  if (fs::is_directory(path, code)) {
    path = (fs::path(path) / kResultsFile).string();
    if (!fs::exists(path, code)) {
      return fail(path_or_run_folder, "holds no " + std::string(kResultsFile),
                  "a run folder gets one from bertbench sweep");
    }
  }
  const auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  if (text->empty()) return fail(path, "is empty", "expected a result set");
  return result_set_from_text(*text, path);
}

}  // namespace bertbench
