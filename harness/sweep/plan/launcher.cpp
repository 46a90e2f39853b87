#include "harness/sweep/plan/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "harness/sweep/config/hosts.h"
#include "harness/sweep/plan/template_call.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"

namespace bertbench {

bool Launcher::runs_here(const SweepConfig& config) const {
  if (hosts == RankHosts::this_machine) return true;
  return hosts == RankHosts::configured && !watches_nodes &&
         std::ranges::all_of(config.hosts, is_loopback);
}

std::int64_t Launcher::bound_cpus(const SweepConfig& config) const {
  return cpus_per_rank ? cpus_per_rank(config) : 0;
}

int threads_per_rank(const Plan& plan, int ranks_per_machine) {
  if (const auto cpus = plan.launcher->bound_cpus(plan.config); cpus > 0) {
    return static_cast<int>(cpus);
  }
  return std::max(1, plan.cores / std::max(1, ranks_per_machine));
}

Result<std::vector<std::string>> trainer_words(const Plan& plan, const PlannedTrial& trial,
                                               const LaunchPlace& place, int ranks_per_machine) {
  if (!plan.workload.is_bert_train) {
    return template_words(plan, trial, place, ranks_per_machine);
  }
  const auto& cell = plan.cells[trial.cell];
  const auto& config = plan.config;
  std::vector<std::string> words = plan.workload.launch.front().words;
  const auto add = [&](std::string_view name, const std::string& value) {
    words.push_back(fmt::format("--{}", name));
    words.push_back(value);
  };
  if (!cell.trainer.empty()) words.front() = cell.trainer;
  const OptionValues in_args = given_options(cell.args);
  for (const auto& option : trainer_options()) {
    const auto it = cell.point.find(axis_name(option.name));
    if (it != cell.point.end()) {
      if (!option.flag()) {
        add(option.name, it->second);
      } else if (it->second == "true") {
        words.push_back(fmt::format("--{}", option.name));
      }
    } else if (option.name == "steps") {
      add(option.name, std::to_string(cell.steps));
    } else if (option.name == "timings") {
      add(option.name, place.directory + "/timings.jsonl");
    } else if (option.name == "expect-world-size") {
      add(option.name, std::to_string(cell.topology.world_size()));
    } else if (option.name == "turn-s" && config.turn_s > 0) {
      add(option.name, fmt::format("{}", config.turn_s));
    } else if (option.name == "seed" && config.seed_of(trial.trial)) {
      add(option.name, std::to_string(*config.seed_of(trial.trial)));
    } else if (option.name == "threads" && !in_args.contains("threads")) {
      add(option.name, std::to_string(threads_per_rank(plan, ranks_per_machine)));
    }
  }
  words.insert(words.end(), cell.args.begin(), cell.args.end());
  if (cell.phase > 1) {
    add("resume", phase_checkpoint(plan, trial.cell - 1, trial.trial, place));
    words.emplace_back("--new-phase");
  }
  if (cell.has_later_phase()) {
    add("checkpoint", phase_checkpoint(plan, trial.cell, trial.trial, place));
  }
  return words;
}

std::string phase_checkpoint(const Plan& plan, std::size_t cell, int trial,
                             const LaunchPlace& place) {
  std::filesystem::path folder = place.directory;
  if (folder.filename().string().starts_with("attempt_")) folder = folder.parent_path();
  return folder.parent_path().parent_path() / plan.cells[cell].folder /
         fmt::format("trial_{}", trial) / kPhaseCheckpoint;
}

Result<Variables> trainer_env(const Plan& plan, const PlannedTrial& trial,
                              const LaunchPlace& place) {
  const auto& cell = plan.cells[trial.cell];
  auto env = template_env(plan, trial, place);
  if (!env) return tl::unexpected(env.error());
  for (const auto& [name, value] : cell.env) (*env)[name] = value;
  for (const auto& [axis, value] : cell.point) {
    if (axis.starts_with("env.")) (*env)[axis.substr(4)] = value;
  }
  if (!place.marker.empty()) (*env)["BERTBENCH_TRIAL"] = place.marker;
  return Variables(env->begin(), env->end());
}

std::string host_of(const Plan& plan, std::int64_t node) {
  const auto index = static_cast<std::size_t>(node);
  return index < plan.config.hosts.size() ? plan.config.hosts[index]
                                          : fmt::format("<host{}>", node + 1);
}

Result<const Launcher*> find_launcher(std::string_view wanted) {
  std::vector<std::string> names;
  for (const auto* launcher : all_launchers()) {
    if (launcher->name == wanted) return launcher;
    names.emplace_back(launcher->name);
  }
  return fail("launcher", fmt::format("unknown launcher '{}'", wanted), name_hint(wanted, names));
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string shell_quote(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_name_char(c) || std::string_view("./:=,+-@%").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::none_of(text, is_control)) return single_quoted(text);
  // $'...' keeps a command with a newline in it on one line.
  std::string out = "$'";
  for (const char c : text) {
    if (is_control(c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "'";
}

}  // namespace bertbench
