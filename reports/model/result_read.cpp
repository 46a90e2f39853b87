// JSON -> ResultSet. Result files come from other machines and other people: every value is
// checked.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2  // skips blanks 16 at a time
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

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
  in.members([&](std::string_view key, const JsonTree& tree, JsonTree::Index node) {
    if (std::ranges::find(kFacts, key) != kFacts.end()) return;
    if (tree.is_structured(node)) return in.report(key, "a string, a number, true or false");
    id.axes[std::string(key)] = tree.type(node) == JsonTree::Type::text
                                    ? std::string(tree.text(node))
                                    : tree.json(node).dump();
  });
}

std::map<std::string, double> read_numbers(JsonReader& in) {
  std::map<std::string, double> out;
  in.members([&](std::string_view key, const JsonTree& tree, JsonTree::Index node) {
    if (!tree.is_number(node)) return in.report(key, "a number");
    out.emplace_hint(out.end(), key, tree.number(node));
  });
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
  window.first_step = in.count("first_step", -1);
  window.last_step = in.count("last_step");
}

void read_reconciliation(JsonReader& in, Reconciliation& sums) {
  sums.sequences = in.number("sequences");
  sums.training_s = in.number("training_s");
  sums.wall_s = in.number("wall_s");
  sums.rate = in.number("rate");
  in.object("gaps", [&](JsonReader& gaps) { sums.gaps = read_numbers(gaps); });
}

void read_steady(JsonReader& in, SteadyRecord& steady) {
  const auto state = steadiness_from_name(in.text("state").value_or(""));
  if (!state) in.report("state", "one of flat, warm_up, slow_down, no_steady_state");
  steady.state = state.value_or(Steadiness::flat);
  steady.first_step = in.count("first_step", -1);
  steady.change = in.number("change");
}

void read_periodic(JsonReader& in, PeriodicShare& periodic) {
  periodic.period = in.count("period").value_or(0);
  periodic.phase = in.count("phase").value_or(0);
  periodic.count = in.count("count").value_or(0);
  periodic.extra_s = in.number("extra_s").value_or(0);
  periodic.share = in.number("share").value_or(0);
  periodic.sequences_per_second_without = in.number("sequences_per_second_without");
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
  in.object("rate_interval", [&](JsonReader& o) { trial.rate_interval = read_interval(o); });
  in.object("steady_state", [&](JsonReader& o) { read_steady(o, trial.steady_state.emplace()); });
  in.object("periodic", [&](JsonReader& o) { read_periodic(o, trial.periodic.emplace()); });
  in.object("memory", [&](JsonReader& o) {
    trial.memory =
        MemoryRecord{o.count("peak_bytes").value_or(0), o.count("capacity_bytes").value_or(0),
                     o.text("source").value_or("")};
  });
  in.object("telemetry", [&](JsonReader& o) { trial.telemetry = o.json(); });
  trial.energy_j = in.number("energy_j");
  trial.energy_per_sequence_j = in.number("energy_per_sequence_j");
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
  cell.warnings = in.texts("warnings");
}

// Head of a result set: everything but its cells.
void read_head(JsonReader& in, ResultSet& results) {
  in.object("tool", [&](JsonReader& o) {
    results.tool_version = o.text("version").value_or("");
    results.tool_commit = o.text("commit").value_or("");
  });
  results.created = in.text("created").value_or("");
  in.object("environment", [&](JsonReader& o) { results.environment = o.json(); });
  in.object("partial", [&](JsonReader& o) { results.partial = o.json(); });
}

// Events of the JSON text become the head and one cell after the other: memory holds the structs
// and a single cell's text, however large the file is.
class ResultEvents : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ResultEvents> {
 public:
  ResultEvents(ResultSet& results, const std::string& where) : results_(results), where_(where) {}

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// After the last event.
  void finish() {
    JsonReader in(head_, "$", error_, where_);
    in.require("schema");
    check_schema();
    if (!saw_cells_) in.require("cells");
    read_head(in, results_);
  }

  // The names of the events are the library's.
  bool Null() {
    return value([](JsonTree& tree) { tree.null(); });
  }
  bool Bool(bool v) {
    return value([v](JsonTree& tree) { tree.flag(v); });
  }
  bool Int(int v) { return Int64(v); }
  bool Uint(unsigned v) { return Uint64(v); }
  bool Int64(std::int64_t v) {
    return value([v](JsonTree& tree) { tree.integer(v); });
  }
  bool Uint64(std::uint64_t v) {
    return value([v](JsonTree& tree) { tree.count(v); });
  }
  bool Double(double v) {
    return value([v](JsonTree& tree) { tree.real(v); });
  }
  bool String(const char* text, unsigned size, bool) {
    return value([=](JsonTree& tree) { tree.text({text, size}); });
  }
  bool Key(const char* text, unsigned size, bool) {
    const std::string_view name(text, size);
    at_cells_ = depth_ == 1 && name == "cells";
    if (!at_cells_) tree().key(name);
    return true;
  }
  bool StartObject() { return open(JsonTree::Type::object); }
  bool StartArray() { return open(JsonTree::Type::array); }
  bool EndObject(unsigned) { return close(); }
  bool EndArray(unsigned) { return close(); }

 private:
  [[nodiscard]] JsonTree& tree() { return in_cells_ ? cell_ : head_; }

  bool wrong(const std::string& path, const std::string& expected) {
    error_ = Error{where_ + ": " + path, "must be " + expected, {}};
    return false;
  }

  template <class Add>
  bool value(Add add) {
    if (depth_ == 0) return wrong("$", "an object");
    if (at_cells_) return wrong("$.cells", "an array");
    if (in_cells_ && depth_ == 2) return wrong(cell_path(), "an object");
    add(tree());
    return true;
  }

  bool open(JsonTree::Type type) {
    if (depth_ == 0 && type != JsonTree::Type::object) {
      no_object_ = true;  // how deep it goes is still looked at: that error is the more telling one
    }
    if (++depth_ > kDeepest) {
      error_ = Error{where_, "is nested more than " + std::to_string(kDeepest) + " levels deep",
                     "a result set has fewer than ten"};
      return false;
    }
    if (no_object_) return true;
    if (at_cells_) {
      at_cells_ = false;
      if (type != JsonTree::Type::array) return wrong("$.cells", "an array");
      in_cells_ = saw_cells_ = true;
      return check_schema();
    }
    if (in_cells_ && depth_ == 3 && type != JsonTree::Type::object) {
      return wrong(cell_path(), "an object");
    }
    tree().open(type);
    return true;
  }

  bool close() {
    --depth_;
    if (no_object_) return depth_ > 0 || wrong("$", "an object");
    if (in_cells_ && depth_ == 1) {
      in_cells_ = false;
      return true;
    }
    tree().close();
    if (in_cells_ && depth_ == 2) {
      JsonReader in(cell_, cell_path(), error_, where_);
      read_cell(in, results_.cells.emplace_back());
      cell_.clear();
    }
    return !error_;
  }

  /// As early as it is known: a file of another kind is called that, not a wrong result.
  bool check_schema() {
    for (JsonTree::Index i = 1; i < head_.size(); i = head_.end(i)) {
      if (head_.name(i) != "schema" || head_.type(i) == JsonTree::Type::null) continue;
      if (head_.type(i) != JsonTree::Type::text) return wrong("$.schema", "a string");
      if (head_.text(i) == kResultSchema) continue;
      error_ = Error{where_ + ": $.schema",
                     "\"" + std::string(head_.text(i)) + "\" is not " + std::string(kResultSchema),
                     "this program reads version 1 result sets"};
    }
    return !error_;
  }

  [[nodiscard]] std::string cell_path() const {
    return "$.cells[" + std::to_string(results_.cells.size()) + "]";
  }

  ResultSet& results_;
  const std::string& where_;
  std::optional<Error> error_;
  JsonTree head_, cell_;
  std::size_t depth_ = 0;
  bool at_cells_ = false, in_cells_ = false, saw_cells_ = false, no_object_ = false;
};

Result<std::string> read_text(const std::string& path) {
  if (path == "-") {
    std::ostringstream text;
    text << std::cin.rdbuf();
    return std::move(text).str();
  }
  std::string text;
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!unknown) text.reserve(size + 1);
  std::array<char, 1 << 16> block{};
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad() || (text.empty() && errno != 0)) {
    return fail(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  return text;
}

// Reads in place: strings of the text are unescaped where they stand.
Result<ResultSet> read_in_place(std::string text, const std::string& where) {
  ResultSet results;
  ResultEvents events(results, where);
  rapidjson::InsituStringStream stream(text.data());
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseFullPrecisionFlag |
                              rapidjson::kParseValidateEncodingFlag;
  const auto parsed = reader.Parse<kFlags>(stream, events);
  if (!parsed.IsError()) {
    events.finish();
  } else if (!events.error()) {
    std::string what = rapidjson::GetParseError_En(parsed.Code());
    while (what.ends_with('.')) what.pop_back();
    // Lines cannot be counted any more: unescaped strings may hold line ends.
    return fail(where, "is not JSON: byte " + std::to_string(parsed.Offset()) + ": " + what,
                "a result file is written by bertbench sweep or extract --json");
  }
  if (auto error = events.error()) {
    if (error->hint.empty()) error->hint = "see configs/schema/result.schema.json";
    return tl::unexpected(*error);
  }
  return results;
}

}  // namespace

Result<ResultSet> result_set_from_text(std::string_view text, const std::string& where) {
  return read_in_place(std::string(text), where);
}

Result<ResultSet> read_result_set(const std::string& path_or_run_folder, Parts parts) {
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
  auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  if (text->empty()) return fail(path, "is empty", "expected a result set");
  auto results = read_in_place(std::move(*text), path);
  if (results && parts == Parts::refused && !results->partial.is_null()) {
    return fail(path, "is one shard of a result, not the whole",
                "join the results of all shards with bertbench merge");
  }
  return results;
}

}  // namespace bertbench
