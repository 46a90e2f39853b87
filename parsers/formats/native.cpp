// native: bert_train's own log, one JSON object per line: a header with every fact of the run, one
// line per logged optimizer step, a summary. NaN and infinity are the strings "nan", "inf", "-inf".
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "parsers/core/trainer_options.h"
#include "parsers/formats/format.h"

namespace bertbench {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kAnchors[] = {"{\"type\":\"header\"", "{\"type\":\"step\"",
                                         "{\"type\":\"summary\"", "bert_train: "};

std::optional<double> number(const Json& line, const char* key) {
  const auto at = line.find(key);
  if (at == line.end()) return std::nullopt;
  if (at->is_number()) return at->get<double>();
  if (!at->is_string()) return std::nullopt;
  const auto value = to_double(at->get_ref<const std::string&>());
  return value && !std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> integer(const Json& line, const char* key) {
  const auto at = line.find(key);
  if (at == line.end() || !at->is_number_integer()) return std::nullopt;
  return at->get<std::int64_t>();
}

void set(Fact<std::int64_t>& fact, const Json& line, const char* key) {
  if (const auto value = integer(line, key); value && *value >= 1)
    fact.set(*value, FactSource::log);
}

void set(Fact<std::string>& fact, const Json& line, const char* key) {
  const auto at = line.find(key);
  if (at != line.end() && at->is_string() && !at->get_ref<const std::string&>().empty()) {
    fact.set(at->get<std::string>(), FactSource::log);
  }
}

class NativeParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;

 private:
  void see_header(const Json& json, const Line& line, RunBuilder& out);
  void see_simulated(const Topology& topology, Facts& facts);
  bool see_step(const Json& json, const Line& line, RunBuilder& out) const;
  bool see_summary(const Json& json, const Line& line, RunBuilder& out) const;

  /// Sequences of the job over those that the log counts: above 1 only in logs of a simulated
  /// cluster by versions that counted the ranks which ran.
  std::int64_t job_over_counted_ = 1;
  [[nodiscard]] std::int64_t of_job(std::int64_t counted) const {
    std::int64_t out = 0;
    return __builtin_mul_overflow(counted, job_over_counted_, &out) ? counted : out;
  }
};

/// The options that change the work, as the command line in the header gives them.
std::map<std::string, std::string> options_of(const Json& header) {
  const auto command = header.find("command");
  std::vector<std::string> words;
  if (command != header.end() && command->is_array()) {
    for (const Json& word : *command) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
  }
  return work_options(given_options(words));
}

RunDraft& begin_run(const Line& line, RunBuilder& out) {
  RunDraft& run = out.run(WorkKind::training, line.number);
  run.log.iteration_unit = IterationUnit::optimizer_step;
  run.log.rate_unit = RateUnit::sequences_per_second;
  run.log.clock_resolution_s = 1e-6;
  run.log.clock_is_wall = true;  // a monotonic clock that does not stop between lines
  return run;
}

bool NativeParser::parse(const Line& line, RunBuilder& out) {
  // A run that fails before its header (out of memory, no device) leaves only this.
  if (line.text.starts_with("bert_train: ")) {
    out.facts.framework.set("bert_train", FactSource::log);
    return true;
  }
  // Other text may stand before the literal: ranks share a terminal.
  const auto begin = line.text.find("{\"type\":\"");
  if (begin == std::string_view::npos) return false;
  const Json json = Json::parse(line.text.substr(begin), nullptr, false);
  if (!json.is_object()) return false;  // cut by the end of input, or another's JSON
  const std::string type = json.value("type", "");
  if (type == "header") {
    const auto format = json.find("format");
    if (format == json.end() || !format->is_string() ||
        !format->get_ref<const std::string&>().starts_with("bert_train/")) {
      return false;
    }
    see_header(json, line, out);
    return true;
  }
  if (type == "step") return see_step(json, line, out);
  return type == "summary" && see_summary(json, line, out);
}

void NativeParser::see_simulated(const Topology& topology, Facts& facts) {
  const std::int64_t counted = facts.world().value_or(1), world = topology.world_size();
  facts.nodes.set(topology.nodes, FactSource::log);
  facts.gpus_per_node.set(topology.gpus_per_node, FactSource::log);
  facts.world_size.set(world, FactSource::log);
  if (world % counted != 0) return;
  job_over_counted_ = world / counted;
  if (auto& batch = facts.global_batch_size; batch.known()) *batch.value = of_job(*batch.value);
}

void NativeParser::see_header(const Json& json, const Line& line, RunBuilder& out) {
  out.close(WorkKind::training);
  RunDraft& run = begin_run(line, out);
  Facts& facts = run.log.facts;
  set(facts.framework, json, "framework");
  set(facts.model, json, "model");
  set(facts.precision, json, "precision");
  set(facts.micro_batch_size, json, "micro_batch_size");
  set(facts.gradient_accumulation_steps, json, "gradient_accumulation_steps");
  set(facts.sequence_length, json, "sequence_length");
  set(facts.nodes, json, "nodes");
  set(facts.gpus_per_node, json, "gpus_per_node");
  set(facts.world_size, json, "world_size");
  set(facts.global_batch_size, json, "global_batch_size");
  facts.axes = options_of(json);
  job_over_counted_ = 1;
  const auto simulated = json.find("simulated");
  if (simulated != json.end() && *simulated == true) {
    facts.axes.emplace(kSimulatedAxis, "true");
    const auto named = json.find("simulated_topology");
    const auto topology = named != json.end() && named->is_string()
                              ? parse_topology(named->get_ref<const std::string&>())
                              : std::nullopt;
    if (topology) see_simulated(*topology, facts);
  }
  const auto versions = json.find("versions");
  if (versions != json.end() && versions->is_object()) {
    for (const auto& [name, value] : versions->items()) {
      if (value.is_string() && facts.versions.size() < 32) {
        facts.versions.emplace(name, value.get<std::string>());
      }
    }
  }
  run.planned = integer(json, "last_step");
}

bool NativeParser::see_step(const Json& json, const Line& line, RunBuilder& out) const {
  const auto step = integer(json, "step");
  const auto steps = integer(json, "steps");
  const auto seconds = number(json, "seconds");
  if (!step || !steps || *steps < 1 || !seconds) return false;
  Sample sample;
  sample.step = *step;
  sample.iterations = *steps;
  sample.seconds = *seconds * static_cast<double>(*steps);
  sample.time_s = number(json, "elapsed").value_or(kUnknown);
  const auto over = static_cast<double>(job_over_counted_);
  sample.rate = number(json, "sequences_per_second").value_or(kUnknown) * over;
  sample.loss = number(json, "loss");
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft* open = out.open(WorkKind::training);
  if (open == nullptr || open->goes_back(sample)) {
    out.close(WorkKind::training);
    begin_run(line, out);
  }
  out.add(WorkKind::training, sample);
  return true;
}

bool NativeParser::see_summary(const Json& json, const Line& line, RunBuilder& out) const {
  const auto outcome = json.find("outcome");
  const auto sequences = integer(json, "sequences");
  if (outcome == json.end() || !outcome->is_string() || !sequences) return false;
  RunDraft* run = out.open(WorkKind::training);
  if (run == nullptr) run = &begin_run(line, out);
  run->last_line = line.number;
  RunLog& log = run->log;
  if (const auto rate = number(json, "sequences_per_second"); rate && *rate > 0) {
    log.summary = Stated{*rate * static_cast<double>(job_over_counted_),
                         RateUnit::sequences_per_second, line.number};
  }
  log.totals.training_s = number(json, "training_s");
  log.totals.wall_s = number(json, "wall_s");
  log.totals.sequences = of_job(*sequences);
  log.totals.iterations = log.totals.optimizer_steps = integer(json, "steps");
  if (const auto bytes = integer(json, "peak_bytes"); bytes && *bytes > 0) {
    log.memory = MemoryUse{*bytes, integer(json, "capacity_bytes").value_or(0)};
  }
  if (const auto step = integer(json, "first_nan_step"); step && !log.first_nan_step) {
    log.first_nan_step = step;
  }
  if (*outcome == "interrupted") {
    const auto signal = integer(json, "signal");
    run->stated_outcome = Outcome{Status::killed,
                                  integer(json, "step"),
                                  line.number,
                                  {signal ? make_notice(NoticeCode::ended_by_signal, 0, *signal)
                                          : make_notice(NoticeCode::interrupted, 0)}};
  } else {
    run->ended_well = *outcome == "completed";
  }
  return true;
}

std::unique_ptr<LineParser> make() { return std::make_unique<NativeParser>(); }

}  // namespace

extern const Format format_native;
const Format format_native = {"native", "bert_train's own log, one JSON object per line",
                              "workloads/bert/log/native.cpp", kAnchors, make};

}  // namespace bertbench
