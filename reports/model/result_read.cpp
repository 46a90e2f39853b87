// The fields of a result set. Result files come from other machines and other people: every value
// is checked.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "reports/model/result_fields.h"

namespace bertbench {
namespace {

// A notice of an older result, or of a release that knows other codes, keeps its text.
Notice read_notice(JsonReader& in) {
  const auto line = in.count("line").value_or(0);
  const auto code = parse_notice_code(in.text("code").value_or(""));
  if (code.value_or(NoticeCode::foreign) == NoticeCode::foreign) {
    return foreign_notice(line, in.text("text").value_or(""));
  }
  Notice out{*code, line, {}, in.text("log").value_or("")};
  std::map<std::string, NoticeValue, std::less<>> values;
  in.object("values", [&](JsonReader& o) {
    o.members([&](std::string_view name, const JsonTree& tree, JsonTree::Index node) {
      if (tree.type(node) == JsonTree::Type::text) {
        values.emplace(name, std::string(tree.text(node)));
      } else if (tree.type(node) == JsonTree::Type::real) {
        values.emplace(name, tree.number(node));
      } else if (tree.is_number(node)) {
        values.emplace(name, static_cast<std::int64_t>(tree.number(node)));
      } else if (tree.type(node) == JsonTree::Type::null) {
        values.emplace(name, kUnknown);  // JSON has no NaN
      }
    });
  });
  for (const std::string_view name : value_names(kind_of(out.code).text)) {
    const auto at = values.find(name);
    if (at == values.end()) return foreign_notice(line, in.text("text").value_or(""));
    out.values.push_back(at->second);
  }
  return out;
}

using Json = nlohmann::ordered_json;

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
  if (auto detail = in.text("detail"); detail && !in.has("detail_notices")) {
    outcome.details.push_back(foreign_notice(0, std::move(*detail)));
  }
  in.objects("detail_notices", [&](JsonReader& o) { outcome.details.push_back(read_notice(o)); });
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

void read_time_parts(JsonReader& in, TimeRecord& time) {
  time.total_s = in.number("total_s").value_or(0);
  in.object("parts_s", [&](JsonReader& o) { time.parts_s = read_numbers(o); });
  in.objects("timeline", [&](JsonReader& o) {
    time.timeline.push_back({o.text("part").value_or(""), o.number("begin_s").value_or(0),
                             o.number("end_s").value_or(0)});
  });
}

void read_periodic(JsonReader& in, PeriodicRecord& record) {
  PeriodicWork& periodic = record.work;
  periodic.period = in.count("period").value_or(0);
  periodic.phase = in.count("phase").value_or(0);
  periodic.count = in.count("count").value_or(0);
  periodic.extra_s = in.number("extra_s").value_or(0);
  periodic.share = in.number("share").value_or(0);
  record.sequences_per_second_without = in.number("sequences_per_second_without");
}

MemoryRecord read_memory(JsonReader& in) {
  return {in.count("peak_bytes").value_or(0), in.count("capacity_bytes").value_or(0),
          in.text("source").value_or("")};
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
  trial.skipped_steps = in.count("skipped_steps");
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
  in.object("expected_error", [&](JsonReader& o) { trial.expected_error = read_numbers(o); });
  in.object("reconciliation",
            [&](JsonReader& o) { read_reconciliation(o, trial.reconciliation.emplace()); });
  in.object("step_time", [&](JsonReader& o) {
    trial.step_time = StepTimes{o.number("p50").value_or(0), o.number("p90").value_or(0),
                                o.number("p99").value_or(0)};
  });
  in.object("rate_interval", [&](JsonReader& o) { trial.rate_interval = read_interval(o); });
  in.object("steady_state", [&](JsonReader& o) { read_steady(o, trial.steady_state.emplace()); });
  in.object("periodic", [&](JsonReader& o) { read_periodic(o, trial.periodic.emplace()); });
  in.object("time_parts", [&](JsonReader& o) { read_time_parts(o, trial.time_parts.emplace()); });
  in.object("memory", [&](JsonReader& o) { trial.memory = read_memory(o); });
  in.object("telemetry", [&](JsonReader& o) { trial.telemetry = o.json(); });
  trial.energy_j = in.number("energy_j");
  trial.energy_per_sequence_j = in.number("energy_per_sequence_j");
  in.object("loss", [&](JsonReader& o) {
    trial.loss_first = o.number("first");
    trial.loss_last = o.number("last");
  });
  trial.simulated = in.flag("simulated").value_or(false);
  trial.seed = in.count("seed");
  in.object("scores", [&](JsonReader& o) { trial.scores = read_numbers(o); });
  trial.iterations_file = in.text("iterations_file").value_or("");
  in.objects("notices", [&](JsonReader& o) { trial.notices.push_back(read_notice(o)); });
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

Spread read_spread(JsonReader& in) {
  for (const char* key : {"n", "mean", "min", "max"}) in.require(key);
  Spread out;
  out.n = static_cast<int>(std::min<std::int64_t>(in.count("n").value_or(0), 1'000'000'000));
  out.mean = in.number("mean").value_or(0);
  out.stddev = in.number("stddev");
  out.min = in.number("min").value_or(0);
  out.max = in.number("max").value_or(0);
  return out;
}

}  // namespace

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
  in.object("context", [&](JsonReader& o) { cell.context = o.json(); });
  in.objects("trials", [&](JsonReader& o) { read_trial(o, cell.trials.emplace_back()); });
  in.object("throughput", [&](JsonReader& o) { read_throughput(o, cell.throughput); });
  in.object("stability", [&](JsonReader& o) {
    for (const char* what : kQualities) {
      o.object(what, [&](JsonReader& one) { cell.stability[what] = read_spread(one); });
    }
  });
  cell.sequences_per_second_per_gpu = in.number("sequences_per_second_per_gpu");
  in.object("speedup", [&](JsonReader& o) { cell.speedup = read_ratio(o); });
  cell.scaling_efficiency = in.number("scaling_efficiency");
  cell.scaling = in.text("scaling").value_or("");
  in.object("precision_speedup", [&](JsonReader& o) { cell.precision_speedup = read_ratio(o); });
  cell.time_to_train_s = in.number("time_to_train_s");
  in.object("time_to_train_speedup",
            [&](JsonReader& o) { cell.time_to_train_speedup = read_ratio(o); });
  cell.power_w = in.number("power_w");
  cell.energy_per_sequence_j = in.number("energy_per_sequence_j");
  // Files of before 0.2 have it in the trials alone.
  for (const Trial& trial : cell.trials) {
    if (trial.memory) take_more(cell.memory, *trial.memory, trial.outcome.status);
  }
  in.object("memory", [&](JsonReader& o) { cell.memory = read_memory(o); });
  in.object("flops", [&](JsonReader& o) {
    std::vector<std::string> formulas;
    o.members([&](std::string_view name, const JsonTree&, JsonTree::Index) {
      formulas.emplace_back(name);
    });
    for (const std::string& formula : formulas) {
      o.object(formula, [&](JsonReader& use) {
        cell.flops[formula] = {use.number("tflops_per_gpu").value_or(0), use.number("mfu"),
                               use.number("hfu")};
      });
    }
  });
  cell.tflops_per_gpu = in.number("tflops_per_gpu");
  cell.mfu = in.number("mfu");
  cell.hfu = in.number("hfu");
  cell.flops_formula = in.text("flops_formula").value_or("");
  cell.peak = in.text("peak").value_or("");
  for (std::string& warning : in.texts("warnings")) {
    cell.warnings.push_back(foreign_notice(0, std::move(warning)));
  }
  if (in.has("warning_notices")) cell.warnings.clear();
  in.objects("warning_notices", [&](JsonReader& o) { cell.warnings.push_back(read_notice(o)); });
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

}  // namespace bertbench
