#include "harness/sweep/plan/template_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/config/axes.h"
#include "harness/sweep/config/placeholders.h"
#include "parsers/core/config_reader.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using Texts = std::map<std::string, std::string>;

/// The share of the steps during which a learning rate rises, where a script requires it: less
/// than all of them, or Adam of BERT's TensorFlow script never starts.
constexpr std::int64_t kStepsOfOneWarmUpStep = 10;

/// The line of a text around one of its characters: all of a word, a line of a file.
std::string line_around(const std::string& text, std::size_t at) {
  const auto begin = at == 0 ? text.npos : text.rfind('\n', at - 1);
  const auto first = begin == text.npos ? 0 : begin + 1;
  return text.substr(first, text.find('\n', at) - first);
}

/// Why a placeholder has no value, and what would give it one.
Error unknown_placeholder(const std::string& where, const std::string& text,
                          const std::string& name, const Texts& values) {
  std::vector<std::string> known;
  for (const auto& one : known_placeholders()) {
    if (one.name != "rank" || values.contains("rank")) known.emplace_back(one.name);
  }
  for (const auto& [one, value] : values) {
    if (!is_known_placeholder(one)) known.push_back(one);
  }
  if (name == "seed") {
    return {where, fmt::format("'{}': the sweep gives no seed", text),
            "give it the key seed, as in --set seed=1"};
  }
  if (name == kVariantAxis) {
    return {where, fmt::format("'{}': the sweep has no variants", text),
            R"(give it the key variants, as {"base": {}, "new": {}})"};
  }
  if (is_known_placeholder(name) && name != "rank") {
    const bool batch = name.find("batch_size") != name.npos;
    const std::string axis = batch ? "micro_batch_size" : name;
    return {where, fmt::format("'{}': the grid has no {}", text, axis),
            fmt::format("give it that axis, as in --grid {}=...", axis)};
  }
  const auto near = nearest_name(name, known);
  return {where, fmt::format("'{}' holds no known placeholder", text),
          fmt::format("{}any axis of the grid is one, as in --grid {}=...; known: {}; a brace "
                      "itself is {{{{ or }}}}",
                      near.empty() ? "" : fmt::format("did you mean {{{}}}? ", near),
                      is_variable_name(name) ? name : "lr", fmt::join(known, ", "))};
}

/// {name} -> value; "{{" and "}}" stand for braces. Values are never looked at again, so a value
/// that holds braces stays as it is.
Result<std::string> fill(const std::string& text, const Texts& values, const std::string& where) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool brace = text[i] == '{' || text[i] == '}';
    if (brace && i + 1 < text.size() && text[i + 1] == text[i]) {
      out += text[i++];
    } else if (brace) {
      const auto end = text.find('}', i);
      if (text[i] == '}' || end == text.npos) {
        return fail(where,
                    fmt::format("'{}' has a '{}' without its '{}'", line_around(text, i), text[i],
                                text[i] == '{' ? '}' : '{'),
                    "write {NAME} for a placeholder; a brace itself is {{ or }}");
      }
      const std::string name = text.substr(i + 1, end - i - 1);
      const auto it = values.find(name);
      if (it == values.end()) {
        return tl::unexpected(unknown_placeholder(where, line_around(text, i), name, values));
      }
      out += it->second;
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// The GPUs of a node for a program that takes all that are visible: the first of those that this
/// process was given.
std::string gpu_list(std::int64_t gpus) {
  const char* given = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<std::string> ours;
  for (const auto name : split(given ? given : "", ',')) {
    if (!trim(name).empty()) ours.emplace_back(trim(name));
  }
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < gpus; ++i) {
    const auto index = static_cast<std::size_t>(i);
    out.push_back(index < ours.size() ? ours[index] : std::to_string(i));
  }
  return fmt::format("{}", fmt::join(out, ","));
}

/// What `by_value` has for the cell's value of the axis, else for any ("*"); null without either.
template <class Values>
const typename Values::mapped_type* value_in(const Values& by_value, const std::string& axis,
                                             const PlannedCell& cell) {
  const auto value = cell.point.find(axis);
  auto it = value == cell.point.end() ? by_value.end() : by_value.find(value->second);
  if (it == by_value.end()) it = by_value.find("*");
  return it == by_value.end() ? nullptr : &it->second;
}

/// What the placeholders of a trial stand for.
struct Placeholders {
  Texts texts;
  std::map<std::string, Json> json;            ///< of `define`: for JSON files only
  std::map<std::string, std::string> without;  ///< of `define`, without a value here: why
};

/// Those that need no template: facts of the cell, its place, its axes.
Texts base_texts(const Plan& plan, const PlannedTrial& trial, const LaunchPlace& place,
                 int ranks_per_machine) {
  const auto& cell = plan.cells[trial.cell];
  Texts values = cell.point;
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
  // Before the largest batch has been searched, as in a dry run.
  if (const auto it = cell.point.find("micro_batch_size");
      it != cell.point.end() && it->second == kLargestBatch) {
    for (const char* name :
         {"global_batch_size", "micro_batch_size_all", "accumulated_batch_size"}) {
      values[name] = "<max>";
    }
  }
  const bool local = plan.launcher->hosts == RankHosts::this_machine;
  std::string slots, lines;
  for (std::int64_t node = 0; !local && node < cell.topology.nodes; ++node) {
    const auto host = host_of(plan, node);
    slots += fmt::format("{}{}:{}", node ? "," : "", host, cell.topology.gpus_per_node);
    lines += fmt::format("{} slots={}\n", host, cell.topology.gpus_per_node);
  }
  const auto world = cell.topology.world_size();
  values["host_slots"] = local ? fmt::format("localhost:{}", world) : slots;
  values["host_lines"] = local ? fmt::format("localhost slots={}\n", world) : lines;
  values["gpu_list"] = gpu_list(cell.topology.gpus_per_node);
  values["steps"] = std::to_string(plan.config.steps);
  values["warmup_steps"] =
      std::to_string(std::max<std::int64_t>(1, plan.config.steps / kStepsOfOneWarmUpStep));
  values["trial"] = std::to_string(trial.trial);
  if (const auto seed = plan.config.seed_of(trial.trial)) values["seed"] = std::to_string(*seed);
  values["dir"] = place.directory;
  values["output"] = place.directory + "/" + kOutputFolder;
  for (const auto& [name, file] : plan.workload.files) {
    values["file:" + name] = fmt::format("{}/{}/{}", place.directory, kFilesFolder, name);
  }
  values["threads"] = std::to_string(threads_per_rank(plan, ranks_per_machine));
  values["master_addr"] = !local && cell.topology.nodes > 1 ? host_of(plan, 0) : "127.0.0.1";
  values["master_port"] = place.master_port ? std::to_string(place.master_port) : "<port>";
  return values;
}

Result<Placeholders> placeholders(const Plan& plan, const PlannedTrial& trial,
                                  const LaunchPlace& place, int ranks_per_machine) {
  const auto& cell = plan.cells[trial.cell];
  Placeholders out;
  const auto base = base_texts(plan, trial, place, ranks_per_machine);
  out.texts = base;
  for (const auto& [name, definition] : plan.workload.define) {
    const auto* const found = value_in(definition.values, definition.axis, cell);
    if (found == nullptr) {
      const auto value = cell.point.find(definition.axis);
      out.without[name] =
          value == cell.point.end()
              ? fmt::format("needs the axis '{}'", definition.axis)
              : fmt::format("has no value for {} = '{}'", definition.axis, value->second);
      continue;
    }
    auto json = Json::parse(*found);
    if (json.is_string()) {
      auto text = fill(json.get<std::string>(), base, plan.workload.label());
      if (!text) return tl::unexpected(text.error());
      out.texts[name] = std::move(*text);
    } else {
      if (json.is_number() || json.is_boolean()) out.texts[name] = json.dump();
      out.json[name] = std::move(json);
    }
  }
  return out;
}

Result<std::string> fill(const std::string& text, const Placeholders& values, const Plan& plan) {
  for (const auto& [name, why] : values.without) {
    if (text.find("{" + name + "}") == std::string::npos) continue;
    return fail(plan.workload.label(), fmt::format("'{}': {{{}}} {}", text, name, why),
                "leave such cells out of the grid, or add the value to 'define'");
  }
  return fill(text, values.texts, plan.workload.label());
}

Result<std::vector<std::string>> fill(std::vector<std::string> words, const Placeholders& values,
                                      const Plan& plan) {
  for (auto& word : words) {
    auto text = fill(word, values, plan);
    if (!text) return tl::unexpected(text.error());
    word = std::move(*text);
  }
  return words;
}

/// The JSON with its strings filled. A string that is one placeholder becomes its value: a number,
/// true or false where it reads as one. A member whose value is null is left out.
Result<Json> fill_json(const Json& json, const Placeholders& values, const Plan& plan) {
  if (json.is_string()) {
    const auto text = json.get<std::string>();
    const bool alone = text.size() > 2 && text.front() == '{' && text[1] != '{' &&
                       text.find('}') == text.size() - 1;
    if (alone) {
      if (const auto it = values.json.find(text.substr(1, text.size() - 2));
          it != values.json.end()) {
        return fill_json(it->second, values, plan);
      }
    }
    auto filled = fill(text, values, plan);
    if (!filled) return tl::unexpected(filled.error());
    if (alone) {
      auto scalar = Json::parse(*filled, nullptr, false);
      if (scalar.is_number() || scalar.is_boolean()) return scalar;
    }
    return Json(*filled);
  }
  if (json.is_object()) {
    Json out = Json::object();
    for (const auto& [key, value] : json.items()) {
      auto filled = fill_json(value, values, plan);
      if (!filled) return filled;
      if (!filled->is_null()) out[key] = std::move(*filled);
    }
    return out;
  }
  if (json.is_array()) {
    Json out = Json::array();
    for (const auto& value : json) {
      auto filled = fill_json(value, values, plan);
      if (!filled) return filled;
      out.push_back(std::move(*filled));
    }
    return out;
  }
  return json;
}

bool holds_option(const std::vector<std::string>& words, const std::string& options) {
  const auto names = split(options, '|');
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(names, [&](std::string_view name) {
      return word == name ||
             (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=');
    });
  });
}

/// The needs that these words of a cell leave open.
std::vector<Need> open_needs(const Plan& plan, const PlannedCell& cell,
                             const std::vector<std::string>& words) {
  std::vector<Need> out;
  for (const auto& need : plan.workload.needs) {
    const bool here = std::ranges::all_of(need.where, [&](const auto& condition) {
      const auto it = cell.point.find(condition.first);
      return it != cell.point.end() &&
             std::ranges::find(condition.second, it->second) != condition.second.end();
    });
    if (here && !holds_option(words, need.option)) out.push_back(need);
  }
  return out;
}

/// Program and arguments of a cell, placeholders as they stand; without what the user adds.
Result<std::vector<std::string>> raw_words(const Workload& workload, const PlannedCell& cell) {
  std::vector<std::string> words = workload.launch[cell.way].words;
  const auto add = [&](const std::vector<std::string>& list) {
    words.insert(words.end(), list.begin(), list.end());
  };
  add(workload.args);
  for (const auto& [axis, list] : workload.axes) {
    // A boolean axis gives its arguments when true; false leaves them out.
    const auto it = cell.point.find(axis);
    if (it != cell.point.end() && it->second != "false") add(list);
  }
  for (const auto& [axis, by_value] : workload.values) {
    const auto it = cell.point.find(axis);
    if (it == cell.point.end()) continue;
    const auto* const its = value_in(by_value, axis, cell);
    if (its == nullptr) {
      return fail(workload.label(), fmt::format("has no word for {} = '{}'", axis, it->second));
    }
    add(*its);
  }
  return words;
}

/// Program and arguments, without what is missing.
Result<std::vector<std::string>> given_words(const Plan& plan, const PlannedTrial& trial,
                                             const LaunchPlace& place, int ranks_per_machine) {
  const auto values = placeholders(plan, trial, place, ranks_per_machine);
  if (!values) return tl::unexpected(values.error());
  auto words = raw_words(plan.workload, plan.cells[trial.cell]);
  if (words) words = fill(std::move(*words), *values, plan);
  if (!words) return words;
  const auto& cell = plan.cells[trial.cell];
  if (!cell.trainer.empty()) words->front() = cell.trainer;
  words->insert(words->end(), cell.args.begin(), cell.args.end());
  return words;
}

}  // namespace

Result<std::size_t> choose_way(const Workload& workload, const PlannedCell& cell,
                               const std::string& launcher) {
  const auto asked = cell.point.find("launch");
  const bool named = asked != cell.point.end() && workload.launch.size() > 1;
  for (std::size_t i = 0; i < workload.launch.size(); ++i) {
    const auto& way = workload.launch[i];
    if (named && way.name != asked->second) continue;
    if (!way.under.empty() && std::ranges::find(way.under, launcher) == way.under.end()) continue;
    if (way.many_nodes && *way.many_nodes != (cell.topology.nodes > 1)) continue;
    if (way.many_gpus && *way.many_gpus != (cell.topology.world_size() > 1)) continue;
    return i;
  }
  return fail(
      workload.label(),
      fmt::format("has no way {}to start {} under launcher {}",
                  named ? fmt::format("'{}' ", asked->second) : "", cell.topology.str(), launcher),
      "use another launcher, another value of the axis 'launch', or add one to 'launch'");
}

const LaunchWay& way_of(const Plan& plan, const PlannedCell& cell) {
  return plan.workload.launch[cell.way];
}

ProcessCount process_count(const Plan& plan, const PlannedCell& cell) {
  const auto each = way_of(plan, cell).each;
  return {each == Each::job ? 1 : cell.topology.nodes,
          each == Each::gpu ? cell.topology.gpus_per_node : 1};
}

Result<std::vector<std::string>> template_words(const Plan& plan, const PlannedTrial& trial,
                                                const LaunchPlace& place, int ranks_per_machine) {
  auto words = given_words(plan, trial, place, ranks_per_machine);
  if (!words) return words;
  for (const auto& need : open_needs(plan, plan.cells[trial.cell], *words)) {
    const auto option = need.option.substr(0, need.option.find('|'));
    words->push_back(option);
    words->push_back(fmt::format("<{}>", option.substr(option.find_first_not_of('-'))));
  }
  return words;
}

Result<Texts> template_env(const Plan& plan, const PlannedTrial& trial, const LaunchPlace& place) {
  const auto values = placeholders(plan, trial, place, 1);
  if (!values) return tl::unexpected(values.error());
  auto texts = plan.workload.env;
  for (const auto& [name, text] : way_of(plan, plan.cells[trial.cell]).env) texts[name] = text;
  for (auto& [name, text] : texts) {
    auto value = fill(text, *values, plan);
    if (!value) return tl::unexpected(value.error());
    text = std::move(*value);
  }
  return texts;
}

Result<std::vector<TrialFile>> trial_files(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place) {
  std::vector<TrialFile> out;
  if (plan.workload.files.empty()) return out;
  const auto values = placeholders(plan, trial, place, 1);
  if (!values) return tl::unexpected(values.error());
  const auto words = given_words(plan, trial, place, 1);
  if (!words) return tl::unexpected(words.error());
  const auto env = template_env(plan, trial, place);
  if (!env) return tl::unexpected(env.error());
  const auto in_file = [](Error error, const std::string& name) {
    error.where += ", file " + name;
    return tl::unexpected(std::move(error));
  };
  for (const auto& [name, file] : plan.workload.files) {
    const auto& path = values->texts.at("file:" + name);
    const auto names_it = [&](const std::string& text) {
      return text.find(path) != std::string::npos;
    };
    if (std::ranges::none_of(*words, names_it) &&
        std::ranges::none_of(*env, [&](const auto& one) { return names_it(one.second); })) {
      continue;  // another way to start it, or another value of an axis, would need it
    }
    if (!file.json) {
      auto text = fill(file.text, *values, plan);
      if (!text) return in_file(text.error(), name);
      out.push_back({name, std::move(*text), false});
      continue;
    }
    auto json = fill_json(Json::parse(file.text), *values, plan);
    if (!json) return in_file(json.error(), name);
    out.push_back({name, json->dump(2, ' ', false, Json::error_handler_t::replace) + "\n", true});
  }
  return out;
}

Result<std::vector<std::string>> hook_words(const Plan& plan, const PlannedTrial& trial,
                                            const LaunchPlace& place,
                                            const std::vector<std::string>& words) {
  const auto values = placeholders(plan, trial, place, 1);
  if (!values) return tl::unexpected(values.error());
  return fill(words, *values, plan);
}

Result<void> check_words(const Plan& plan) {
  std::set<std::size_t> seen;
  for (const auto& trial : plan.trials) {
    if (!seen.insert(trial.cell).second) continue;
    const LaunchPlace place{"<dir>", 0, ""};
    for (const auto* hook : {&plan.config.hooks.trial_setup, &plan.config.hooks.trial_cleanup}) {
      if (hook->empty()) continue;
      const auto words = hook_words(plan, trial, place, *hook);
      if (!words) return tl::unexpected(words.error());
    }
    if (plan.workload.is_bert_train) continue;
    const auto files = trial_files(plan, trial, place);
    if (!files) return tl::unexpected(files.error());
    const auto words = given_words(plan, trial, place, 1);
    if (!words) return tl::unexpected(words.error());
    const auto env = template_env(plan, trial, place);
    if (!env) return tl::unexpected(env.error());
    const auto logs = own_logs(plan, trial, place);
    if (!logs) return tl::unexpected(logs.error());
  }
  return {};
}

Result<OwnLogs> own_logs(const Plan& plan, const PlannedTrial& trial, const LaunchPlace& place) {
  OwnLogs out;
  out.folder = place.directory;
  if (plan.workload.logs.empty()) return out;
  auto values = placeholders(plan, trial, place, 1);
  if (!values) return tl::unexpected(values.error());
  // Patterns are below the folder of the attempt: see the template's reader.
  values->texts["dir"] = ".";
  values->texts["output"] = kOutputFolder;
  const auto world = plan.cells[trial.cell].topology.world_size();
  for (const auto& pattern : plan.workload.logs) {
    const bool each_rank = pattern.find("{rank}") != std::string::npos;
    for (std::int64_t rank = 0; rank < (each_rank ? world : 1); ++rank) {
      values->texts["rank"] = std::to_string(rank);
      auto text = fill(pattern, *values, plan);
      if (!text) return tl::unexpected(text.error());
      out.patterns.push_back(std::move(*text));
    }
  }
  return out;
}

std::vector<std::string> template_command(const SweepConfig& config, const Workload& workload,
                                          const PlannedCell& cell) {
  std::vector<std::string> out;
  auto env = workload.env;
  for (const auto& [name, text] : workload.launch[cell.way].env) env[name] = text;
  for (const auto& [name, text] : env) out.push_back(fmt::format("{}={}", name, text));
  // A value without a word is an error of the launch, which names it.
  const auto words = raw_words(workload, cell).value_or(workload.args);
  out.insert(out.end(), words.begin(), words.end());
  out.insert(out.end(), config.args.begin(), config.args.end());
  for (const auto& [name, file] : workload.files) {
    const auto names_it = [&](const std::string& text) {
      return text.find("{file:" + name + "}") != std::string::npos;
    };
    if (std::ranges::any_of(out, names_it)) out.push_back(fmt::format("{}: {}", name, file.text));
  }
  for (const auto& [name, definition] : workload.define) {
    const auto* const value = value_in(definition.values, definition.axis, cell);
    if (value == nullptr) continue;
    const auto names_it = [&](const std::string& text) {
      return text.find("{" + name + "}") != std::string::npos;
    };
    if (std::ranges::any_of(out, names_it)) {
      out.push_back(fmt::format("{{{}}}: {}", name, *value));
    }
  }
  return out;
}

const std::string& program_of(const Plan& plan, const PlannedCell& cell) {
  return cell.trainer.empty() ? way_of(plan, cell).words.front() : cell.trainer;
}

std::vector<std::string> programs_of(const Plan& plan) {
  std::set<std::string> out;
  for (const auto& trial : plan.trials) out.insert(program_of(plan, plan.cells[trial.cell]));
  return {out.begin(), out.end()};
}

Result<bool> template_names_hosts(const Plan& plan, const PlannedTrial& trial) {
  const auto unknown = [](const std::string& text) {
    return text.find("<host") != std::string::npos;
  };
  if (plan.workload.is_bert_train) return false;
  const LaunchPlace place{"<dir>", 0, ""};
  const auto words = given_words(plan, trial, place, 1);
  if (!words) return tl::unexpected(words.error());
  const auto files = trial_files(plan, trial, place);
  if (!files) return tl::unexpected(files.error());
  return std::ranges::any_of(*words, unknown) ||
         std::ranges::any_of(*files, [&](const TrialFile& one) { return unknown(one.text); });
}

Result<std::vector<Need>> missing_needs(const Plan& plan) {
  std::vector<Need> out;
  if (plan.workload.needs.empty()) return out;
  std::set<std::size_t> seen;
  std::set<std::string> named;
  for (const auto& trial : plan.trials) {
    if (!seen.insert(trial.cell).second) continue;
    const auto words = given_words(plan, trial, {"<dir>", 0, ""}, 1);
    if (!words) return tl::unexpected(words.error());
    for (auto& need : open_needs(plan, plan.cells[trial.cell], *words)) {
      if (named.insert(need.option).second) out.push_back(std::move(need));
    }
  }
  return out;
}

}  // namespace bertbench
