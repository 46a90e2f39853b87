#include "harness/sweep/config/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/sweep/config/axes.h"
#include "harness/sweep/config/config.h"
#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"

namespace bertbench {
namespace {

/// All phases of a training have one model on one set of GPUs.
constexpr std::string_view kOfAllPhases[] = {"topology", "nodes", "gpus_per_node", "model"};
/// Options by which the harness hands the checkpoint of a phase to the next one.
constexpr const char* kHandedOn[] = {"checkpoint", "resume", "new_phase", "init_checkpoint"};

bool is_of_all_phases(const std::string& axis) {
  return axis.starts_with("env.") ||
         std::ranges::find(kOfAllPhases, axis) != std::end(kOfAllPhases);
}

void read_phase(ConfigReader& in, const Workload& workload, const std::string& at,
                const Json& value, SweepConfig& config) {
  Phase phase;
  if (!value.is_object()) {
    in.fail_at(at, "must be an object of what the phase has of its own",
               R"(as {"sequence_length": 512, "micro_batch_size": 8, "steps": 1536})");
    return;
  }
  for (const auto& [name, member] : value.items()) {
    const std::string here = child_pointer(at, name);
    if (name == "steps" || name == "args") continue;
    const std::string axis = canonical_axis(name);
    if (is_of_all_phases(axis)) {
      in.fail_at(here, "is the same in all phases", "give it in the grid, in env or in args");
      return;
    }
    if (!in.accepts(here, check_axis_name(axis, workload))) return;
    const auto text = in.scalar(member, here);
    if (!text) return;
    if (!in.accepts(here, check_axis_value(axis, *text, workload))) return;
    phase.axes[axis] = *text;
  }
  in.texts(value, at, "args", phase.args);
  if (!value.contains("steps")) {
    in.fail_at(at, "a phase needs its number of steps", R"(as "steps": 1536)");
    return;
  }
  in.integer(value, at, "steps", phase.steps);
  config.phases.push_back(std::move(phase));
}

}  // namespace

void read_phases(ConfigReader& in, const Workload& workload, SweepConfig& config) {
  if (!in.root().contains("phases")) return;
  if (!workload.is_bert_train) {
    in.fail_at("/phases", fmt::format("{} is not resumed by the harness", workload.label()),
               "phases are for workload bert_train; sweep each phase of another trainer by itself");
    return;
  }
  if (in.root().contains("steps")) {
    in.fail_at("/steps", "is given by each phase", "remove it");
    return;
  }
  const Json& phases = in.root()["phases"];
  if (!phases.is_array() || phases.size() < 2) {
    in.fail_at(
        "/phases", "must be a list of two or more phases",
        R"(as [{"sequence_length": 128, "steps": 7038}, {"sequence_length": 512, "steps": 1536}])");
    return;
  }
  for (std::size_t i = 0; i < phases.size() && !in.error(); ++i) {
    read_phase(in, workload, child_pointer("/phases", std::to_string(i)), phases[i], config);
  }
}

bool phases_give(const SweepConfig& config, const std::string& axis) {
  return !config.phases.empty() && std::ranges::all_of(config.phases, [&](const Phase& phase) {
    return phase.axes.contains(axis);
  });
}

void check_phases(ConfigReader& in, const SweepConfig& config) {
  if (config.phases.empty()) return;
  if (!config.variants.empty()) {
    in.fail_at("/phases", "cannot be measured in variants", "keep one of the two keys");
  } else if (config.auto_trials) {
    in.fail_at("/trials", "must be a number in a sweep with phases",
               "a later phase needs the same trial of the phase before it");
  } else if (config.window.kind == WindowRule::Kind::steps) {
    in.fail_at("/window", "counts the steps of a log, and each phase counts on from the one before",
               "drop records instead, as in \"2:12\" or \"last:10\"");
  }
  if (config.searches_batch()) {
    in.fail_at("/grid/micro_batch_size", "must be numbers in a sweep with phases");
  }
  const auto check_args = [&](const std::string& at, const std::vector<std::string>& args) {
    const OptionValues given = given_options(args);
    for (const char* option : kHandedOn) {
      if (!given.contains(option)) continue;
      in.fail_at(at,
                 fmt::format("--{} is set by the harness for each phase",
                             find_trainer_option(option)->name),
                 "leave it out");
    }
  };
  const OptionValues in_args = given_options(config.args);
  const auto check_once = [&](const std::string& at, const std::string& option) {
    const bool in_seed = option == "seed" && !config.seed.empty();
    if (!in_seed && !in_args.contains(option)) return;
    in.fail_at(
        at,
        fmt::format("{} is given by the sweep's '{}' as well", option, in_seed ? "seed" : "args"),
        "keep one of them");
  };
  check_args("/args", config.args);
  for (std::size_t i = 0; i < config.phases.size(); ++i) {
    const Phase& phase = config.phases[i];
    const std::string at = child_pointer("/phases", std::to_string(i));
    check_args(child_pointer(at, "args"), phase.args);
    for (const auto& [axis, value] : phase.axes) check_once(child_pointer(at, axis), axis);
    for (const auto& [option, value] : given_options(phase.args)) {
      check_once(child_pointer(at, "args"), option);
      if (!phase.axes.contains(option)) continue;
      in.fail_at(child_pointer(at, "args"),
                 fmt::format("{} is an axis of the phase as well", option), "keep one of them");
    }
    for (const char* option : kHandedOn) {
      if (!phase.axes.contains(option) && !config.axis(option)) continue;
      in.fail_at(at, fmt::format("{} is set by the harness for each phase", option),
                 "leave it out");
    }
    if (const auto batch = phase.axes.find("micro_batch_size");
        batch != phase.axes.end() && batch->second == kLargestBatch) {
      in.fail_at(child_pointer(at, "micro_batch_size"), "must be a number in a phase");
    }
  }
}

void add_phases(const SweepConfig& config, Json& json) {
  if (config.phases.empty()) return;
  json.erase("steps");
  json["phases"] = Json::array();
  for (const Phase& phase : config.phases) {
    Json one = Json::object();
    for (const auto& [axis, value] : phase.axes) one[axis] = axis_json(axis, value);
    if (!phase.args.empty()) one["args"] = phase.args;
    one["steps"] = phase.steps;
    json["phases"].push_back(std::move(one));
  }
}

}  // namespace bertbench
