// native: bert_train's own log, one JSON object per line: a header with every fact of the run, one
// line per logged optimizer step, a summary. NaN and infinity are the strings "nan", "inf", "-inf".
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
#include "parsers/lines/json_line.h"

namespace bertbench::format_native {
namespace {

using Json = nlohmann::json;

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

constexpr int kTraining = 0, kInference = 1;  // tracks

constexpr Begin run_of(int track, WorkKind work) {
  return {.track = track,
          .work = work,
          .unit = IterationUnit::optimizer_step,
          .rate = RateUnit::sequences_per_second,
          // A monotonic clock that does not stop between lines.
          .clock = {1e-6, true},
          .own_facts = work == WorkKind::inference};
}
// A step of --inference is one batch, forward only.
constexpr Begin kRuns[] = {run_of(kTraining, WorkKind::training),
                           run_of(kInference, WorkKind::inference)};

PartTimes parts_of(const Json& step) {
  PartTimes out;
  const auto parts = step.find("parts");
  if (parts == step.end() || !parts->is_object()) return out;
  for (std::size_t i = 0; i < kStepParts; ++i) {
    const auto part = parts->find(kStepPartNames[i]);
    if (part == parts->end() || !part->is_number()) continue;
    const double seconds = part->get<double>();
    if (seconds > 0) out.add(static_cast<StepPart>(i), seconds);
  }
  return out;
}

struct Native {
  // Other text may stand before the literal: ranks share a terminal. Null: cut by the end of input.
  template <bool (Native::*take)(const Json&, const Line&, Emit)>
  bool json(const Line& line, Emit emit) {
    const Json json = parse_json_line(line.text.substr(line.at));
    return json.is_object() && (this->*take)(json, line, emit);
  }

  bool header(const Json& json, const Line& line, Emit emit) {
    const auto format = json.find("format");
    if (format == json.end() || !format->is_string() ||
        !format->get_ref<const std::string&>().starts_with("bert_train/")) {
      return false;
    }
    const auto inference = json.find("inference");
    track = inference != json.end() && *inference == true ? kInference : kTraining;
    Known known{.track = track, .of = Of::begun};
    Facts& facts = known.facts;
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
    // Versions that had this option called it --variable-lengths.
    const auto variable = json.find("variable_lengths");
    if (variable != json.end() && *variable == true) facts.axes.emplace("lengths", "uniform");
    job_over_counted = 1;
    const auto simulated = json.find("simulated");
    if (simulated != json.end() && *simulated == true) {
      facts.axes.emplace(kSimulatedAxis, "true");
      const auto named = json.find("simulated_topology");
      const auto topology = named != json.end() && named->is_string()
                                ? parse_topology(named->get_ref<const std::string&>())
                                : std::nullopt;
      if (topology) simulate(*topology, facts);
    }
    const auto versions = json.find("versions");
    if (versions != json.end() && versions->is_object()) {
      for (const auto& [name, value] : versions->items()) {
        if (value.is_string() && facts.versions.size() < 32) {
          facts.versions.emplace(name, value.get<std::string>());
        }
      }
    }
    emit(kRuns[track]);
    emit(known);
    emit(Statement{.track = track, .planned = integer(json, "last_step")});
    Fact<std::string> emulated_by;
    set(emulated_by, json, "precision_emulated_by");
    if (emulated_by.known() && facts.precision.known()) {
      emit(Note{.notice = make_notice(NoticeCode::precision_emulated, line.number,
                                      *facts.precision.value, *emulated_by.value),
                .track = track});
    }
    return true;
  }

  void simulate(const Topology& topology, Facts& facts) {
    const std::int64_t counted = facts.world().value_or(1), world = topology.world_size();
    facts.nodes.set(topology.nodes, FactSource::log);
    facts.gpus_per_node.set(topology.gpus_per_node, FactSource::log);
    facts.world_size.set(world, FactSource::log);
    if (world % counted != 0) return;
    job_over_counted = world / counted;
    if (auto& batch = facts.global_batch_size; batch.known()) *batch.value = of_job(*batch.value);
  }

  bool step(const Json& json, const Line&, Emit emit) {
    const auto step = integer(json, "step");
    const auto steps = integer(json, "steps");
    const auto seconds = number_in(json, "seconds");
    if (!step || !steps || *steps < 1 || !seconds) return false;
    emit(Step{.track = track,
              .step = *step,
              .iterations = *steps,
              .each_s = *seconds,
              .time_s = number_in(json, "elapsed").value_or(kUnknown),
              .rate = job_rate(number_in(json, "sequences_per_second")),
              .loss = number_in(json, "loss")});
    emit(TimedParts{.times = parts_of(json)});
    return true;
  }

  bool summary(const Json& json, const Line& line, Emit emit) {
    const auto outcome = json.find("outcome");
    const auto sequences = integer(json, "sequences"), steps = integer(json, "steps");
    if (outcome == json.end() || !outcome->is_string() || !sequences) return false;
    Statement statement{.track = track,
                        .of = Of::begun,
                        .totals = {.training_s = number_in(json, "training_s"),
                                   .wall_s = number_in(json, "wall_s"),
                                   .iterations = steps,
                                   .optimizer_steps = steps,
                                   .sequences = of_job(*sequences)},
                        .nan_step = integer(json, "first_nan_step")};
    if (const double rate = job_rate(number_in(json, "sequences_per_second")); rate > 0) {
      statement.summary = Stated{rate, RateUnit::sequences_per_second};
    }
    if (const auto bytes = integer(json, "peak_bytes"); bytes && *bytes > 0) {
      statement.memory = MemoryUse{*bytes, integer(json, "capacity_bytes").value_or(0)};
    }
    emit(statement);
    End end{.track = track, .well = *outcome == "completed"};
    if (*outcome == "interrupted") {
      const auto signal = integer(json, "signal");
      end.outcome = Outcome{Status::killed,
                            integer(json, "step"),
                            line.number,
                            {signal ? make_notice(NoticeCode::ended_by_signal, 0, *signal)
                                    : make_notice(NoticeCode::interrupted, 0)}};
    }
    emit(end);
    return true;
  }

  [[nodiscard]] std::int64_t of_job(std::int64_t counted) const {
    std::int64_t out = 0;
    return __builtin_mul_overflow(counted, job_over_counted, &out) ? counted : out;
  }
  [[nodiscard]] double job_rate(std::optional<double> counted) const {
    return counted.value_or(kUnknown) * static_cast<double>(job_over_counted);
  }

  int track = kTraining;  ///< of the newest header
  /// Sequences of the job over those that the log counts: above 1 only in logs of a simulated
  /// cluster by versions that counted the ranks which ran.
  std::int64_t job_over_counted = 1;
};

constexpr Row kRows[] = {
    on<&Native::json<&Native::header>>("{\"type\":\"header\""),
    on<&Native::json<&Native::step>>("{\"type\":\"step\""),
    on<&Native::json<&Native::summary>>("{\"type\":\"summary\""),
    // A run that fails before its header (out of memory, no device) leaves only this.
    on<[](Native&, const Line& line, Emit) { return line.at == 0; }>("bert_train: "),
};

}  // namespace

extern const Format entry{.name = "native",
                          .title = "bert_train's own log, one JSON object per line",
                          .reference = "workloads/bert/log/native.cpp",
                          .framework = "bert_train",
                          .table = table_of<Native>(kRows, kRuns)};

}  // namespace bertbench::format_native
