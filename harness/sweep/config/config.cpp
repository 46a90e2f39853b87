#include "harness/sweep/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "harness/sweep/config/axes.h"
#include "harness/sweep/config/hosts.h"
#include "harness/sweep/config/scaling.h"
#include "harness/sweep/config/workload.h"
#include "harness/sweep/process/folder.h"
#include "parsers/core/config_reader.h"
#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"
#include "parsers/core/whole_file.h"
#include "reports/model/identity.h"

namespace bertbench {
namespace {

/// "NAME=REST"; `usage` is for the error where there is no such form.
Result<std::pair<std::string, std::string>> name_and_rest(const std::string& option,
                                                          const std::string& text,
                                                          const std::string& usage) {
  const auto equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    return fail(option + " " + text, "has no value", usage);
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

/// Values stay as they are typed: a learning rate of 1e-4 is "1e-4" in words and in keys.
Result<Override> axis_of(const std::string& text) {
  const auto given = name_and_rest("--grid", text, "write it as --grid micro_batch_size=4,8");
  if (!given) return tl::unexpected(given.error());
  const auto name = canonical_axis(given->first);
  Override out{"grid." + name, Json::array(), "--grid " + name};
  for (const auto value : split(given->second, ',')) {
    if (trim(value).empty()) {
      return fail(out.option, fmt::format("'{}' has an empty value", given->second),
                  "separate values by one comma; a value with a comma needs --set or a file");
    }
    out.value.push_back(std::string(value));
  }
  return out;
}

/// A file whose name ends in .json is an object whose strings hold placeholders, any other is text.
Result<Override> file_of(const std::string& text) {
  const auto given = name_and_rest("--file", text, "write it as --file ds.json=PATH");
  if (!given) return tl::unexpected(given.error());
  const auto& [name, path] = *given;
  constexpr std::size_t kLargestFileMib = 16;
  const auto content = read_whole_file(
      path, kLargestFileMib,
      "name a file; {file:" + name + "} in the command is then its path in a trial");
  if (!content) {
    Error error = content.error();
    error.where = "--file " + path;
    return tl::unexpected(error);
  }
  Override out{"", *content, "--file " + name};
  if (name.ends_with(".json")) {
    const auto reader = ConfigReader::open(*content, path, {}, "a file of JSON");
    if (!reader) return tl::unexpected(reader.error());
    out.value = reader->root();
  }
  out.path = "files." + name;
  return out;
}

Result<std::vector<Override>> overrides_of(const OneLine& line) {
  std::vector<Override> out;
  if (!line.command.empty()) out.push_back({"command", line.command, "the command"});
  if (!line.each.empty()) out.push_back({"each", line.each, "--each"});
  std::set<std::string> named;
  const auto add = [&](Result<Override> given) -> Result<void> {
    if (!given) return tl::unexpected(given.error());
    if (!named.insert(given->path).second) {
      return fail(given->option, "is given twice", "give all values at once, or keep one of them");
    }
    out.push_back(std::move(*given));
    return {};
  };
  for (const auto& text : line.grid) {
    if (auto done = add(axis_of(text)); !done) return tl::unexpected(done.error());
  }
  for (const auto& text : line.files) {
    if (auto done = add(file_of(text)); !done) return tl::unexpected(done.error());
  }
  return out;
}

// The keys of a config that belong to one launcher: "mpi", "ssh", "slurm".

/// A word that Slurm takes as it is: no blank, nothing that a shell or a file name would act on.
void check_plain(ConfigReader& in, const std::string& pointer, const std::string& value,
                 const std::string& also) {
  const bool good = !value.starts_with('-') && std::all_of(value.begin(), value.end(), [&](char c) {
    return is_name_char(c) || c == '-' || c == '.' || also.find(c) != std::string::npos;
  });
  if (!good) {
    in.fail_at(pointer, fmt::format("'{}' holds a character that is not allowed here", value),
               fmt::format("letters, digits and _-.{}, not beginning with '-'", also));
  }
}

/// Options by which the launcher gives a trial its shape, its output and its environment.
constexpr std::string_view kSetByLauncher =
    "--nodes --ntasks --ntasks-per-node --job-name --output --error --input --export --mpi "
    "--parsable --open-mode --requeue --no-requeue --array --wrap --chdir --kill-on-bad-exit "
    "--export-file --multi-prog --label --test-only";

/// Options of sbatch and srun. A word that is none would be the script or the program.
void read_slurm_args(ConfigReader& in, const Json& slurm, std::vector<std::string>& args) {
  in.texts(slurm, "/slurm", "args", args);
  for (const std::string& arg : args) {
    const auto name = arg.substr(0, arg.find('='));
    if (!arg.starts_with("--") || name.size() < 3) {
      in.fail_at("/slurm/args", fmt::format("'{}' is no long option", arg),
                 "give each as one word, \"--nodelist=node[1-4]\"");
    } else if (std::ranges::any_of(split(kSetByLauncher, ' '), [&](std::string_view option) {
                 return option.starts_with(name);  // Slurm takes "--outpu" as well
               })) {
      in.fail_at("/slurm/args", fmt::format("'{}' is set by the launcher", name),
                 "shape, output and environment follow from the grid; leave it out");
    }
  }
}

/// Of pyxis, whose lists are separated by commas.
void read_container(ConfigReader& in, const Json& slurm, SlurmOptions::Container& container) {
  const std::string at = "/slurm/container";
  const Json* object = in.section(slurm, "/slurm", "container");
  if (object == nullptr) return;
  in.text(*object, at, "image", container.image);
  in.texts(*object, at, "mounts", container.mounts);
  in.text(*object, at, "workdir", container.workdir);
  for (const std::string& mount : container.mounts) {
    if (mount.find(',') == mount.npos && mount.find(':') != mount.npos) continue;
    in.fail_at(at + "/mounts", fmt::format("'{}' is no SOURCE:TARGET without a comma", mount));
  }
  if (container.image.empty() && !(container.mounts.empty() && container.workdir.empty())) {
    in.fail_at(at, "has no image",
               "name it: \"image\": \"docker://nvcr.io#nvidia/pytorch:25.10-py3\"");
  }
}

void read_slurm(ConfigReader& in, SlurmOptions& options) {
  const std::string at = "/slurm";
  const auto* slurm = in.section(in.root(), "", "slurm");
  if (!slurm) return;
  in.text(*slurm, at, "job", options.job);
  in.integer(*slurm, at, "max_jobs", options.max_jobs);
  const auto plain = [&](const char* key, std::string& value, const char* also) {
    in.text(*slurm, at, key, value);
    check_plain(in, at + "/" + key, value, also);
  };
  plain("account", options.account, "");
  plain("partition", options.partition, ",");
  plain("qos", options.qos, "");
  plain("constraint", options.constraint, "&|[]()*,:!");
  plain("reservation", options.reservation, ",");
  plain("gres", options.gres, ":,={}");
  plain("time_limit", options.time_limit, ":");
  plain("mpi", options.mpi, "");
  in.flag(*slurm, at, "exclusive", options.exclusive);
  if (slurm->value("queue_timeout_s", Json()) != 0) {
    in.seconds(*slurm, at, "queue_timeout_s", options.queue_timeout_s);
  }
  in.seconds(*slurm, at, "controller_timeout_s", options.controller_timeout_s);
  in.integer(*slurm, at, "cpus_per_task", options.cpus_per_task);
  read_slurm_args(in, *slurm, options.args);
  read_container(in, *slurm, options.container);
}

/// Reads them into `config`; what is wrong is an error of the reader.
void read_launcher_options(ConfigReader& in, SweepConfig& config) {
  if (const auto* mpi = in.section(in.root(), "", "mpi")) {
    in.text(*mpi, "/mpi", "implementation", config.mpi.implementation);
    in.text(*mpi, "/mpi", "bind_to", config.mpi.bind_to);
  }
  if (const auto* ssh = in.section(in.root(), "", "ssh")) {
    in.integer(*ssh, "/ssh", "port", config.ssh.port);
    in.text(*ssh, "/ssh", "identity_file", config.ssh.identity_file);
    in.text(*ssh, "/ssh", "config_file", config.ssh.config_file);
  }
  read_slurm(in, config.slurm);
}

/// Writes them into `json`, defaults included.
void add_launcher_options(const SweepConfig& config, Json& json) {
  json["mpi"] = {{"implementation", config.mpi.implementation}, {"bind_to", config.mpi.bind_to}};
  json["ssh"] = {{"port", config.ssh.port},
                 {"identity_file", config.ssh.identity_file},
                 {"config_file", config.ssh.config_file}};
  const auto& slurm = config.slurm;
  json["slurm"] = {{"job", slurm.job},
                   {"max_jobs", slurm.max_jobs},
                   {"account", slurm.account},
                   {"partition", slurm.partition},
                   {"qos", slurm.qos},
                   {"constraint", slurm.constraint},
                   {"reservation", slurm.reservation},
                   {"gres", slurm.gres},
                   {"exclusive", slurm.exclusive},
                   {"time_limit", slurm.time_limit},
                   {"queue_timeout_s", slurm.queue_timeout_s},
                   {"controller_timeout_s", slurm.controller_timeout_s},
                   {"cpus_per_task", slurm.cpus_per_task},
                   {"mpi", slurm.mpi},
                   {"args", slurm.args},
                   {"container",
                    {{"image", slurm.container.image},
                     {"mounts", slurm.container.mounts},
                     {"workdir", slurm.container.workdir}}}};
}

}  // namespace

extern const char* const kSweepSchema;  // configs/schema/sweep.schema.json

namespace {

constexpr std::size_t kLargestMib = 16;  // a grid that lists each of its cells takes less

/// Scalar or list of scalars, as text.
std::optional<std::vector<std::string>> values_of(ConfigReader& in, const Json& value,
                                                  const std::string& at) {
  std::vector<std::string> values;
  const bool list = value.is_array();
  for (std::size_t i = 0; i < (list ? value.size() : 1); ++i) {
    const auto text =
        in.scalar(list ? value[i] : value, list ? child_pointer(at, std::to_string(i)) : at);
    if (!text) return std::nullopt;
    values.push_back(*text);
  }
  return values;
}

void read_grid(ConfigReader& in, const Workload& workload, SweepConfig& config) {
  static const Json kNoAxes = Json::object();
  const bool given = in.root().contains("grid");
  const Json& grid = given ? in.root()["grid"] : kNoAxes;
  if (!grid.is_object() || (!given && !workload.is_command)) {
    in.fail_at("/grid", "a sweep needs a grid, an object of axes",
               R"(as {"topology": ["1n1g"], "model": ["bert-tiny"], ...})");
    return;
  }
  for (const auto& [name, value] : grid.items()) {
    const std::string at = child_pointer("/grid", name);
    const std::string axis = canonical_axis(name);
    if (!in.accepts(at, check_axis_name(axis, workload))) return;
    if (is_secret_name(axis, config.secret)) {
      in.fail_at(at, "is the name of a secret, and the values of an axis stand in every report",
                 "give it in env or args; an axis that is none needs another name");
      return;
    }
    if (config.axis(axis)) {
      in.fail_at(at, fmt::format("axis '{}' is there twice", axis), "keep one spelling");
      return;
    }
    const auto values = values_of(in, value, at);
    if (!values) return;
    if (values->empty()) {
      in.fail_at(at, "an axis needs at least one value", "give a value or remove the axis");
      return;
    }
    for (std::size_t i = 0; i < values->size(); ++i) {
      const auto here = value.is_array() ? child_pointer(at, std::to_string(i)) : at;
      if (!in.accepts(here, check_axis_value(axis, (*values)[i], workload))) return;
    }
    if (workload.is_command &&
        !in.accepts(at, check_axis_is_used(axis, values->size(), workload))) {
      return;
    }
    config.grid.push_back({axis, *values});
  }
  const bool nodes = config.axis("nodes"), gpus = config.axis("gpus_per_node");
  // Of a program that nothing is known of, one process is started, and the rest stays unknown.
  if (workload.is_command && !config.axis("topology") && !nodes && !gpus) {
    config.grid.push_back({"topology", {"1n1g"}});
  }
  if (config.axis("topology") ? nodes || gpus : !nodes || !gpus) {
    in.fail_at("/grid", "needs either topology, or nodes and gpus_per_node");
    return;
  }
  for (const char* needed : {"model", "micro_batch_size", "sequence_length"}) {
    // Of the two that a global batch is divided into, one follows.
    const bool follows = needed == std::string_view("micro_batch_size") &&
                         (config.axis(kGlobalBatch) || phases_give(config, kGlobalBatch));
    if (!config.axis(needed) && !phases_give(config, needed) && !follows && !workload.is_command) {
      in.fail_at("/grid", fmt::format("needs the axis '{}'", needed), "give it one value or more");
      return;
    }
  }
}

void read_zip(ConfigReader& in, SweepConfig& config) {
  if (!in.root().contains("zip")) return;
  const auto& groups = in.root()["zip"];
  if (!groups.is_array()) {
    in.fail_at("/zip", "must be a list of lists of axis names",
               R"(as [["micro_batch_size", "gradient_accumulation_steps"]])");
    return;
  }
  std::set<std::string> used;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string at = child_pointer("/zip", std::to_string(g));
    if (!groups[g].is_array() || groups[g].size() < 2) {
      in.fail_at(at, "must be a list of two or more axis names");
      return;
    }
    std::vector<std::string> group;
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      const std::string here = child_pointer(at, std::to_string(i));
      const auto text = in.scalar(groups[g][i], here);
      if (!text) return;
      const auto name = canonical_axis(*text);
      const Axis* axis = config.axis(name);
      if (!axis) {
        std::vector<std::string> names;
        for (const auto& a : config.grid) names.push_back(a.name);
        in.fail_at(here, fmt::format("'{}' is no axis of the grid", *text),
                   fmt::format("axes: {}", fmt::join(names, ", ")));
        return;
      }
      if (!used.insert(name).second) {
        in.fail_at(here, fmt::format("'{}' is zipped twice", name));
        return;
      }
      if (!group.empty()) {
        const Axis* first = config.axis(group[0]);
        if (first->values.size() != axis->values.size()) {
          in.fail_at(here,
                     fmt::format("zipped axes need equally many values: {} has {}, {} has {}",
                                 first->name, first->values.size(), name, axis->values.size()));
          return;
        }
      }
      group.push_back(name);
    }
    config.zip.push_back(std::move(group));
  }
}

/// A value twice in one axis would be one cell twice; in a zipped axis it is usual.
void check_repeats(ConfigReader& in, const SweepConfig& config) {
  for (const auto& axis : config.grid) {
    const bool zipped = std::any_of(config.zip.begin(), config.zip.end(), [&](const auto& group) {
      return std::find(group.begin(), group.end(), axis.name) != group.end();
    });
    std::set<std::string> seen;
    for (const auto& value : axis.values) {
      if (!zipped && !seen.insert(value).second) {
        in.fail_at(child_pointer("/grid", axis.name), fmt::format("'{}' is there twice", value),
                   "list each value once");
        return;
      }
    }
  }
}

/// Variants that an entry leaves out. The first one stays, as the others are held against it.
bool read_excluded_variants(ConfigReader& in, const Json& value, const std::string& at,
                            const SweepConfig& config, Exclude& exclude) {
  const auto names = values_of(in, value, at);
  if (!names) return false;
  std::vector<std::string> others;
  for (const auto& variant : config.variants | std::views::drop(1)) others.push_back(variant.name);
  for (const auto& name : *names) {
    if (std::ranges::find(others, name) != others.end()) continue;
    const bool first = name == config.variants.front().name;
    in.fail_at(at,
               fmt::format("'{}' is {}", name,
                           first ? "the first variant, which the others are held against"
                                 : "no variant of this sweep"),
               first ? "leave it out with all of its point, by an entry without \"variant\""
                     : fmt::format("those that can be left out: {}", fmt::join(others, ", ")));
    return false;
  }
  exclude[std::string(kVariantAxis)] = *names;
  return true;
}

void read_exclude(ConfigReader& in, const Workload& workload, SweepConfig& config) {
  if (!in.root().contains("exclude")) return;
  const auto& list = in.root()["exclude"];
  if (!list.is_array()) {
    in.fail_at("/exclude", "must be a list of objects",
               R"(as [{"topology": "4n8g", "micro_batch_size": 96}])");
    return;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = child_pointer("/exclude", std::to_string(i));
    if (!list[i].is_object() || list[i].empty()) {
      in.fail_at(at, "must be an object of axes and the values to leave out");
      return;
    }
    Exclude exclude;
    for (const auto& [name, value] : list[i].items()) {
      const std::string here = child_pointer(at, name);
      const auto axis = canonical_axis(name);
      if (axis == kVariantAxis && !config.variants.empty()) {
        if (!read_excluded_variants(in, value, here, config, exclude)) return;
        continue;
      }
      if (!in.accepts(here, check_axis_name(axis, workload))) return;
      const auto& facts = fact_axes();
      if (!config.axis(axis) && std::find(facts.begin(), facts.end(), axis) == facts.end()) {
        in.fail_at(here, fmt::format("'{}' is no axis of the grid, so it excludes nothing", axis));
        return;
      }
      const auto values = values_of(in, value, here);
      if (!values) return;
      exclude[axis] = *values;
    }
    config.exclude.push_back(std::move(exclude));
  }
}

/// Options of bert_train in the list that stands at `list`.
void check_args(ConfigReader& in, const std::string& list, const std::vector<std::string>& args,
                const Workload& workload, const SweepConfig& config) {
  std::vector<std::string> names;
  for (const auto& option : trainer_options()) names.emplace_back(option.name);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto& arg = args[i];
    if (!arg.starts_with("--")) continue;
    const std::string at = child_pointer(list, std::to_string(i));
    const std::string name = arg.substr(2, arg.find('=') - 2);
    const auto* option = find_trainer_option(name);
    if (!option) {
      const auto near = nearest_name(name, names);
      in.fail_at(at, fmt::format("bert_train has no option --{}", name),
                 near.empty() ? "see bert_train --help" : fmt::format("did you mean --{}?", near));
    } else if (option->owner == OptionOwner::grid) {
      in.fail_at(at, fmt::format("--{} is an axis of every cell", name),
                 fmt::format("give it in the grid as {}", axis_name(name)));
    } else if (option->owner == OptionOwner::harness) {
      in.fail_at(at, fmt::format("--{} is set by the harness", name),
                 name == "steps" ? "use the key 'steps'" : "leave it out");
    } else if (config.axis(axis_name(name))) {
      in.fail_at(at, fmt::format("--{} is an axis of this grid as well", name), "keep one of them");
    }
  }
  for (const auto& [name, value] : given_options(args)) {
    in.accepts(list, check_axis_value(name, value, workload));
  }
}

void read_hosts(ConfigReader& in, const std::string& source, SweepConfig& config) {
  if (!in.root().contains("hosts")) return;
  if (in.root()["hosts"].is_string()) {
    const auto named = in.root()["hosts"].get<std::string>();
    const auto path = std::filesystem::path(source).parent_path() / named;
    auto hosts = read_hostfile(path.string());
    if (!hosts) {
      in.fail_at("/hosts", hosts.error().message());
      return;
    }
    config.hosts = std::move(hosts->hosts);
    config.slots = std::move(hosts->slots);
    return;
  }
  std::vector<std::string> given;
  in.texts(in.root(), "", "hosts", given);
  Hostfile hosts;
  for (std::size_t i = 0; i < given.size(); ++i) {
    in.accepts(child_pointer("/hosts", std::to_string(i)), add_host(trim(given[i]), hosts));
  }
  config.hosts = std::move(hosts.hosts);
  config.slots = std::move(hosts.slots);
}

/// "trials": a number, or "auto" with trials_min, trials_max and trials_interval.
void read_trials(ConfigReader& in, SweepConfig& config) {
  const auto& root = in.root();
  config.auto_trials = root.contains("trials") && root["trials"] == "auto";
  std::int64_t trials = config.trials, least = config.trials_min, most = 30;
  if (!config.auto_trials) {
    for (const char* key : {"trials_min", "trials_max", "trials_interval"}) {
      if (root.contains(key)) {
        in.fail_at(child_pointer("", key), "is only for \"trials\": \"auto\"", "remove it");
      }
    }
    in.integer(root, "", "trials", trials);
    config.trials = static_cast<int>(trials);
    return;
  }
  in.integer(root, "", "trials_min", least);
  in.integer(root, "", "trials_max", most);
  if (most < least) in.fail_at("/trials_max", "is less than trials_min", "raise it");
  config.trials_min = static_cast<int>(least);
  config.trials = static_cast<int>(most);
  if (!root.contains("trials_interval")) return;
  const auto& width = root["trials_interval"];
  if (!width.is_number() || !(width.get<double>() > 0) || width.get<double>() >= 1) {
    in.fail_at("/trials_interval", "must be a share of the median between 0 and 1",
               "0.01 asks for an interval no wider than 1 %");
    return;
  }
  config.trials_interval = width.get<double>();
}

/// "seed": a whole number, or "per_trial". One place gives it: here, an axis or "args".
void read_seed(ConfigReader& in, const Workload& workload, SweepConfig& config) {
  if (!in.root().contains("seed")) return;
  const auto text = in.scalar(in.root()["seed"], "/seed");
  if (!text) return;
  const auto number = to_int(*text);
  if (*text != "per_trial" && !(number && *number >= 0)) {
    in.fail_at("/seed", fmt::format("'{}' is no seed", *text),
               "give a whole number of at least 0, or \"per_trial\": trial n then has seed n");
    return;
  }
  config.seed = *text;
  if (config.axis("seed"))
    in.fail_at("/seed", "is an axis of this grid as well", "keep one of them");
  if (!workload.is_bert_train) {
    if (!workload.placeholders.contains("seed")) {
      in.fail_at("/seed", fmt::format("{} has no place for {{seed}}", workload.label()),
                 "put {seed} into its words, or leave the key out");
    }
  } else if (given_options(config.args).contains("seed")) {
    in.fail_at("/seed", "is in args as well", "keep one of them");
  }
}

/// What is measured: bert_train, a template, or the template that the keys of a command make.
Result<Workload> read_workload(ConfigReader& in, SweepConfig& config) {
  const auto& root = in.root();
  if (root.contains("command")) {
    if (root.contains("workload")) {
      in.fail_at("/command", "a sweep has a command or a workload, not both", "remove one of them");
    }
    return config.command.emplace(read_command(in));
  }
  for (const char* key : {"each", "framework", "files", "logs", "format"}) {
    if (!root.contains(key)) continue;
    in.fail_at(child_pointer("", key), "belongs to a command, and this sweep has none",
               "a template has a key of its own for it; bert_train needs none");
  }
  config.workload = "bert_train";
  in.text(root, "", "workload", config.workload);
  return find_workload(config.workload);
}

void read_hooks(ConfigReader& in, SweepConfig& config) {
  auto& hooks = config.hooks;
  const std::pair<const char*, std::vector<std::string>*> all[] = {
      {"setup", &hooks.setup},
      {"cleanup", &hooks.cleanup},
      {"trial_setup", &hooks.trial_setup},
      {"trial_cleanup", &hooks.trial_cleanup}};
  for (const auto& [key, words] : all) {
    in.texts(in.root(), "", key, *words);
    if (words->empty() ? in.root().contains(key) : words->front().empty()) {
      in.fail_at(child_pointer("", key), "names no program", "give its words, or remove the key");
    }
  }
}

void read_scalars(ConfigReader& in, SweepConfig& config) {
  const auto& root = in.root();
  std::int64_t retries = config.retries;
  in.text(root, "", "name", config.name);
  in.texts(root, "", "args", config.args);
  in.variables(root, "", "env", config.env);
  in.texts(root, "", "secret", config.secret);
  read_trials(in, config);
  in.flag(root, "", "record_hostname", config.record_hostname);
  in.flag(root, "", "pty", config.pty);
  in.integer(root, "", "retries", retries);
  in.integer(root, "", "steps", config.steps);
  in.seconds(root, "", "timeout_s", config.timeout_s);
  in.seconds(root, "", "stall_timeout_s", config.stall_timeout_s);
  in.integer(root, "", "log_limit_bytes", config.log_limit_bytes);
  in.text(root, "", "launcher", config.launcher);
  in.text(root, "", "scaling", config.scaling);
  config.retries = static_cast<int>(retries);
  std::string order = "interleaved", window = "auto";
  in.text(root, "", "order", order);
  config.order = order == "sequential" ? Order::sequential : Order::interleaved;
  in.text(root, "", "window", window);
  auto rule = parse_window(window);
  if (!in.accepts("/window", rule)) return;
  config.window = *rule;
  config.window.chosen_by_user = root.contains("window");
  if (rule->kind == WindowRule::Kind::steps && rule->end > config.steps) {
    in.fail_at("/window",
               fmt::format("ends at step {}, but a trial has {} steps", rule->end, config.steps),
               "raise steps or end the window earlier");
  }
}

}  // namespace

std::optional<std::int64_t> SweepConfig::seed_of(int trial) const {
  if (seed_per_trial()) return trial;
  return to_int(seed);
}

bool SweepConfig::searches_batch() const {
  const Axis* batch = axis("micro_batch_size");
  return batch && std::ranges::find(batch->values, kLargestBatch) != batch->values.end();
}

const Axis* SweepConfig::axis(const std::string& wanted) const {
  for (const auto& axis : grid) {
    if (axis.name == wanted) return &axis;
  }
  return nullptr;
}

Result<SweepConfig> parse_config(const std::string& text, const std::string& source,
                                 const std::vector<std::string>& sets, const OneLine& line) {
  static const Json kSchema = Json::parse(kSweepSchema);
  auto reader = ConfigReader::open(text, source, sets, "a sweep", &kSchema);
  if (!reader) return tl::unexpected(reader.error());
  const auto overrides = overrides_of(line);
  if (!overrides) return tl::unexpected(overrides.error());
  for (const auto& given : *overrides) {
    if (auto done = reader->apply(given); !done) return tl::unexpected(done.error());
  }
  SweepConfig config;
  config.source = source;
  reader->check_keys(reader->root(), "");
  if (reader->error()) return tl::unexpected(*reader->error());
  auto workload = read_workload(*reader, config);
  if (reader->accepts("/workload", workload) && !reader->error()) {
    config.name = source.empty() ? workload->name : std::filesystem::path(source).stem().string();
    read_scalars(*reader, config);
    read_hooks(*reader, config);
    read_phases(*reader, *workload, config);
    read_grid(*reader, *workload, config);
    if (!reader->error()) read_seed(*reader, *workload, config);
    if (!reader->error()) read_zip(*reader, config);
    if (!reader->error()) check_scaling(*reader, config);
    if (!reader->error()) check_repeats(*reader, config);
    read_hosts(*reader, source, config);
    read_launcher_options(*reader, config);
    read_variants(*reader, config);
    if (!reader->error()) read_exclude(*reader, *workload, config);
    check_phases(*reader, config);
    if (workload->is_bert_train) {
      check_args(*reader, "/args", config.args, *workload, config);
      for (const auto& variant : config.variants) {
        const auto at = child_pointer("/variants", variant.name);
        check_args(*reader, child_pointer(at, "args"), variant.args, *workload, config);
      }
      for (std::size_t i = 0; i < config.phases.size(); ++i) {
        const auto at = child_pointer(child_pointer("/phases", std::to_string(i)), "args");
        check_args(*reader, at, config.phases[i].args, *workload, config);
      }
    }
  }
  if (reader->error()) return tl::unexpected(*reader->error());
  conceal_secrets(config);
  return config;
}

Result<SweepConfig> load_config(const std::string& path, const std::vector<std::string>& sets,
                                const OneLine& line) {
  const auto text = read_whole_file(
      path, kLargestMib,
      "name a config file, as configs/quickstart.json; a program to measure follows --");
  if (!text) return tl::unexpected(text.error());
  return parse_config(*text, path, sets, line);
}

std::string config_to_json(const SweepConfig& config) {
  Json grid = Json::object(), exclude = Json::array();
  for (const auto& axis : config.grid) {
    grid[axis.name] = Json::array();
    for (const auto& value : axis.values) grid[axis.name].push_back(axis_json(axis.name, value));
  }
  for (const auto& entry : config.exclude) exclude.push_back(entry);
  Json json = {{"name", config.name},
               {"workload", config.workload},
               {"grid", grid},
               {"zip", config.zip},
               {"exclude", exclude},
               {"args", config.args},
               {"env", config.env},
               {"hosts", host_texts({config.hosts, config.slots})},
               {"trials", config.trials},
               {"steps", config.steps},
               {"window", config.window.str()},
               {"launcher", config.launcher},
               {"timeout_s", config.timeout_s},
               {"stall_timeout_s", config.stall_timeout_s},
               {"log_limit_bytes", config.log_limit_bytes},
               {"retries", config.retries},
               {"order", config.order == Order::interleaved ? "interleaved" : "sequential"}};
  if (config.auto_trials) {
    json["trials"] = "auto";
    json["trials_max"] = config.trials;
    if (config.variants.empty()) {  // those of variants end by a rule
      json["trials_min"] = config.trials_min;
      json["trials_interval"] = config.trials_interval;
    }
  }
  if (!config.scaling.empty()) json["scaling"] = config.scaling;
  if (config.record_hostname) json["record_hostname"] = true;
  if (config.pty) json["pty"] = true;
  if (!config.secret.empty()) json["secret"] = config.secret;
  const auto seed = to_int(config.seed);
  if (!config.seed.empty()) json["seed"] = seed ? Json(*seed) : Json(config.seed);
  if (config.command) {
    json.erase("workload");
    write_command(*config.command, json);
  }
  const auto& hooks = config.hooks;
  if (!hooks.setup.empty()) json["setup"] = hooks.setup;
  if (!hooks.cleanup.empty()) json["cleanup"] = hooks.cleanup;
  if (!hooks.trial_setup.empty()) json["trial_setup"] = hooks.trial_setup;
  if (!hooks.trial_cleanup.empty()) json["trial_cleanup"] = hooks.trial_cleanup;
  add_phases(config, json);
  add_variants(config, json);
  add_launcher_options(config, json);
  return json.dump(2) + "\n";
}

}  // namespace bertbench
