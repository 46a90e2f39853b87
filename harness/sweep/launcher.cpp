#include "harness/sweep/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "parsers/core/text.h"
#include "parsers/rules/trainer_options.h"

namespace bertbench {
namespace {

/// {name} -> value; "{{" and "}}" stand for braces. Values are never looked at again, so a value
/// that holds braces stays as it is.
Result<std::string> fill(const std::string& text, const std::map<std::string, std::string>& values,
                         const std::string& where) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] == '{' || text[i] == '}') && i + 1 < text.size() && text[i + 1] == text[i]) {
      out += text[i++];
    } else if (text[i] == '{') {
      const auto end = text.find('}', i);
      const std::string name = text.substr(i + 1, end == std::string::npos ? end : end - i - 1);
      const auto it = values.find(name);
      if (end == std::string::npos || it == values.end()) {
        std::vector<std::string> names;
        for (const auto& [key, value] : values) names.push_back(key);
        return fail(where, fmt::format("'{}' holds no known placeholder", text),
                    fmt::format("known: {}", fmt::join(names, ", ")));
      }
      out += it->second;
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

int threads_per_rank(const Plan& plan, int ranks_per_machine) {
  if (plan.config.launcher == "slurm" && plan.config.slurm.cpus_per_task > 0) {
    return static_cast<int>(plan.config.slurm.cpus_per_task);
  }
  return std::max(1, plan.cores / std::max(1, ranks_per_machine));
}

std::map<std::string, std::string> placeholders(const Plan& plan, const PlannedTrial& trial,
                                                const LaunchPlace& place, int ranks_per_machine) {
  const auto& cell = plan.cells[trial.cell];
  std::map<std::string, std::string> values = cell.point;
  values["nodes"] = std::to_string(cell.topology.nodes);
  values["gpus_per_node"] = std::to_string(cell.topology.gpus_per_node);
  values["world_size"] = std::to_string(cell.topology.world_size());
  if (const auto batch = cell.identity.global_batch_size()) {
    values["global_batch_size"] = std::to_string(*batch);
  }
  if (cell.identity.micro_batch_size) {
    values["micro_batch_size_all"] =
        std::to_string(*cell.identity.micro_batch_size * cell.topology.world_size());
  }
  // What NGC calls the accumulated batch size: sequences of one GPU per optimizer step.
  if (cell.identity.micro_batch_size && cell.identity.gradient_accumulation_steps) {
    values["accumulated_batch_size"] = std::to_string(*cell.identity.micro_batch_size *
                                                      *cell.identity.gradient_accumulation_steps);
  }
  const bool local = plan.config.launcher == "local";
  std::string slots;
  for (std::int64_t node = 0; !local && node < cell.topology.nodes; ++node) {
    slots +=
        fmt::format("{}{}:{}", node ? "," : "", host_of(plan, node), cell.topology.gpus_per_node);
  }
  values["host_slots"] = local ? fmt::format("localhost:{}", cell.topology.world_size()) : slots;
  values["steps"] = std::to_string(plan.config.steps);
  values["trial"] = std::to_string(trial.trial);
  if (const auto seed = plan.config.seed_of(trial.trial)) values["seed"] = std::to_string(*seed);
  values["dir"] = place.directory;
  values["threads"] = std::to_string(threads_per_rank(plan, ranks_per_machine));
  values["master_addr"] = !local && cell.topology.nodes > 1 ? host_of(plan, 0) : "127.0.0.1";
  values["master_port"] = place.master_port ? std::to_string(place.master_port) : "<port>";
  return values;
}

/// The template's arguments for a cell whose axes (and whatever else is known of it) are `values`,
/// placeholders as they stand.
Result<std::vector<std::string>> template_words(const Workload& workload,
                                                const std::map<std::string, std::string>& values) {
  std::vector<std::string> words = workload.args;
  const auto add = [&](const std::vector<std::string>& list) {
    words.insert(words.end(), list.begin(), list.end());
  };
  for (const auto& [axis, list] : workload.axes) {
    // A boolean axis gives its arguments when true; false leaves them out.
    const auto it = values.find(axis);
    if (it != values.end() && it->second != "false") add(list);
  }
  for (const auto& [axis, by_value] : workload.values) {
    const auto it = values.find(axis);
    if (it == values.end()) continue;
    auto word = by_value.find(it->second);
    if (word == by_value.end()) word = by_value.find("*");
    if (word == by_value.end()) {
      return fail("template " + workload.name,
                  fmt::format("has no word for {} = '{}'", axis, it->second));
    }
    add(word->second);
  }
  return words;
}

Result<std::vector<std::string>> template_args(const Plan& plan, const PlannedTrial& trial,
                                               const LaunchPlace& place, int ranks_per_machine) {
  const auto values = placeholders(plan, trial, place, ranks_per_machine);
  auto args = template_words(plan.workload, values);
  if (!args) return args;
  for (auto& arg : *args) {
    auto text = fill(arg, values, "template " + plan.workload.name);
    if (!text) return tl::unexpected(text.error());
    arg = std::move(*text);
  }
  args->insert(args->end(), plan.config.args.begin(), plan.config.args.end());
  return args;
}

}  // namespace

std::vector<std::string> template_command(const std::map<std::string, std::string>& point,
                                          const SweepConfig& config, const Workload& workload) {
  std::vector<std::string> out;
  for (const auto& [name, value] : workload.env) out.push_back(fmt::format("{}={}", name, value));
  out.push_back(workload.program);
  // A value without a word is an error of the launch, which names it.
  const auto words = template_words(workload, point).value_or(workload.args);
  out.insert(out.end(), words.begin(), words.end());
  out.insert(out.end(), config.args.begin(), config.args.end());
  return out;
}

Result<std::vector<std::string>> trainer_args(const Plan& plan, const PlannedTrial& trial,
                                              const LaunchPlace& place, int ranks_per_machine) {
  if (!plan.workload.is_bert_train) {
    return template_args(plan, trial, place, ranks_per_machine);
  }
  const auto& cell = plan.cells[trial.cell];
  const auto& config = plan.config;
  std::vector<std::string> args;
  const auto add = [&](std::string_view name, const std::string& value) {
    args.push_back(fmt::format("--{}", name));
    args.push_back(value);
  };
  const OptionValues in_args = given_options(config.args);
  for (const auto& option : trainer_options()) {
    const auto it = cell.point.find(axis_name(option.name));
    if (it != cell.point.end()) {
      if (!option.flag) {
        add(option.name, it->second);
      } else if (it->second == "true") {
        args.push_back(fmt::format("--{}", option.name));
      }
    } else if (option.name == "steps") {
      add(option.name, std::to_string(config.steps));
    } else if (option.name == "timings") {
      add(option.name, place.directory + "/timings.jsonl");
    } else if (option.name == "expect-world-size") {
      add(option.name, std::to_string(cell.topology.world_size()));
    } else if (option.name == "seed" && config.seed_of(trial.trial)) {
      add(option.name, std::to_string(*config.seed_of(trial.trial)));
    } else if (option.name == "threads" && !in_args.contains("threads")) {
      add(option.name, std::to_string(threads_per_rank(plan, ranks_per_machine)));
    }
  }
  args.insert(args.end(), config.args.begin(), config.args.end());
  return args;
}

Result<Variables> trainer_env(const Plan& plan, const PlannedTrial& trial,
                              const LaunchPlace& place) {
  const auto& cell = plan.cells[trial.cell];
  const auto values = placeholders(plan, trial, place, 1);
  std::map<std::string, std::string> env;
  for (const auto& [name, text] : plan.workload.env) {
    auto value = fill(text, values, "template " + plan.workload.name);
    if (!value) return tl::unexpected(value.error());
    env[name] = *value;
  }
  for (const auto& [name, value] : plan.config.env) env[name] = value;
  for (const auto& [axis, value] : cell.point) {
    if (axis.starts_with("env.")) env[axis.substr(4)] = value;
  }
  if (!place.marker.empty()) env["BERTBENCH_TRIAL"] = place.marker;
  return Variables(env.begin(), env.end());
}

std::string host_of(const Plan& plan, std::int64_t node) {
  const auto index = static_cast<std::size_t>(node);
  return index < plan.config.hosts.size() ? plan.config.hosts[index]
                                          : fmt::format("<host{}>", node + 1);
}

std::string full_program(const Plan& plan) {
  const auto path = find_program(plan.workload.program);
  return path.empty() ? plan.workload.program : path;
}

Result<const Launcher*> find_launcher(std::string_view wanted) {
  std::vector<std::string> names;
  for (const auto* launcher : all_launchers()) {
    if (launcher->name == wanted) return launcher;
    names.emplace_back(launcher->name);
  }
  const auto near = nearest_name(wanted, names);
  return fail("launcher", fmt::format("unknown launcher '{}'", wanted),
              near.empty() ? fmt::format("known: {}", fmt::join(names, ", "))
                           : fmt::format("did you mean '{}'?", near));
}

std::string shell_quote(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("_./:=,+-@%").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  // $'...' keeps a command with a newline in it on one line.
  std::string out = control ? "$'" : "'";
  for (const char c : text) {
    if (control && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else if (control && (c == '\'' || c == '\\')) {
      out += '\\';
      out += c;
    } else if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace bertbench
