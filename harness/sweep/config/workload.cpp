#include "harness/sweep/config/workload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/sweep/config/placeholders.h"
#include "harness/sweep/process/program.h"
#include "parsers/core/config_reader.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"

namespace bertbench {

extern const char* const kTemplateSchema;  // configs/schema/template.schema.json

std::string locate_trainer() {
  const auto sibling = std::filesystem::path(own_program()).replace_filename("bert_train");
  if (sibling.is_absolute() && access(sibling.c_str(), X_OK) == 0) return sibling.string();
  const auto found = find_program("bert_train");
  return found.empty() ? "bert_train" : found;
}

namespace {

Workload bert_train(const std::string& trainer) {
  Workload workload;
  workload.name = "bert_train";
  workload.title = "the embedded BERT pre-training step";
  workload.framework = "bert_train";
  LaunchWay way;
  way.name = "bert_train";
  way.words = {trainer.empty() ? locate_trainer() : trainer};
  workload.launch.push_back(std::move(way));
  workload.is_bert_train = true;
  return workload;
}

/// Where a trainer may write: below the folder of its attempt, which is fresh for each.
bool is_below_attempt(const std::string& pattern) {
  if (!pattern.starts_with("{dir}/") && !pattern.starts_with("{output}/")) return false;
  return ("/" + pattern + "/").find("/../") == std::string::npos;
}

/// Names that may stand in the folder `files` of an attempt.
bool is_file_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name[0] != '-' &&
         std::ranges::all_of(name, [](char c) { return is_name_char(c) || c == '.' || c == '-'; });
}

/// Placeholders in the strings of a JSON value.
std::set<std::string> placeholders_of_strings(const Json& value) {
  if (value.is_string()) return placeholders_in(value.get_ref<const std::string&>());
  std::set<std::string> names;
  if (!value.is_structured()) return names;
  for (const auto& member : value) names.merge(placeholders_of_strings(member));
  return names;
}

class TemplateReader {
 public:
  TemplateReader(ConfigReader& in, Workload& out) : in_(in), root_(in.root()), out_(out) {}

  void read() {
    if (root_.contains("processes")) {
      in_.fail_at("/processes", "is spelled 'each' now",
                  "per_gpu is \"each\": \"gpu\", per_node \"node\", one \"job\"");
      return;
    }
    in_.check_keys(root_, "");
    in_.text(root_, "", "title", out_.title);
    in_.text(root_, "", "framework", out_.framework);
    in_.texts(root_, "", "args", out_.args);
    in_.variables(root_, "", "env", out_.env);
    read_launch();
    for_members("axes", [&](const std::string& axis, const Json&, const std::string&) {
      in_.texts(root_["axes"], "/axes", axis.c_str(), out_.axes[axis]);
    });
    for_members("values", [&](const std::string& axis, const Json& words, const std::string& at) {
      for (const auto& [value, args] : object(words, at).items()) {
        in_.texts(words, at, value.c_str(), out_.values[axis][value]);
      }
    });
    for_members("defaults", [&](const std::string& axis, const Json& value, const std::string& at) {
      if (auto text = in_.scalar(value, at)) out_.defaults[axis] = *text;
    });
    for_members("define", [&](const std::string& name, const Json& value, const std::string& at) {
      read_definition(name, value, at);
    });
    read_files_and_logs();
    for_members("needs", [&](const std::string& option, const Json& value, const std::string& at) {
      read_need(option, value, at);
    });
    check_programs("/launch");
    if (out_.framework.empty()) in_.fail_at("/framework", "a template needs a framework");
  }

  /// The same of a sweep's own keys: its "args" and "env" are above those of any template.
  void read_command() {
    LaunchWay way;
    way.name = "command";
    in_.texts(root_, "", "command", way.words);
    way.each = read_each(root_, "");
    in_.text(root_, "", "framework", out_.framework);
    if (in_.error()) return;
    if (way.words.empty() || way.words.front().empty()) {
      in_.fail_at("/command", "names no program", R"(as ["python3", "train.py", "{steps}"])");
      return;
    }
    // The title of a report: the words that every trial shares at the beginning.
    for (const auto& word : way.words) {
      if (word.starts_with("-") || word.find('{') != word.npos) break;
      out_.name += (out_.name.empty() ? "" : " ") + word;
    }
    out_.launch.push_back(std::move(way));
    check_programs("/command");
    read_files_and_logs();
  }

 private:
  void read_files_and_logs() {
    in_.text(root_, "", "format", out_.format);
    for_members("files", [&](const std::string& name, const Json& value, const std::string& at) {
      read_file(name, value, at);
    });
    in_.texts(root_, "", "logs", out_.logs);
    for (std::size_t i = 0; i < out_.logs.size(); ++i) {
      if (is_below_attempt(out_.logs[i])) continue;
      in_.fail_at(child_pointer("/logs", std::to_string(i)),
                  "must begin with {output}/ or {dir}/ and stay below it",
                  "let the trainer write there: no other folder is fresh for each attempt");
    }
  }

  void check_programs(const std::string& at) {
    for (const auto& way : out_.launch) {
      if (!way.words.empty() && way.words.front().find('{') != std::string::npos) {
        in_.fail_at(at, fmt::format("the program '{}' holds a placeholder", way.words[0]),
                    way.words[0].find(' ') != std::string::npos
                        ? "give each word by itself: no shell splits them"
                        : "name the program; give what differs as its arguments");
      }
    }
  }

  template <class Read>
  void for_members(const char* key, Read read) {
    if (!root_.contains(key)) return;
    const std::string at = child_pointer("", key);
    for (const auto& [name, value] : object(root_[key], at).items()) {
      if (in_.error()) return;
      read(name, value, child_pointer(at, name));
    }
  }

  /// The value itself, or nothing (and an error) when it is no object.
  const Json& object(const Json& value, const std::string& at) {
    static const Json kNothing = Json::object();
    if (value.is_object()) return value;
    in_.fail_at(at, "must be an object");
    return kNothing;
  }

  Each read_each(const Json& from, const std::string& at) {
    std::string each = "gpu";
    in_.text(from, at, "each", each);
    return each == "node" ? Each::node : each == "job" ? Each::job : Each::gpu;
  }

  std::optional<bool> read_many(const Json& from, const std::string& at, const char* key) {
    if (!from.contains(key)) return std::nullopt;
    std::string word;
    in_.text(from, at, key, word);
    return word == "many";
  }

  void read_launch() {
    if (!root_.contains("launch")) {
      std::string program;
      in_.text(root_, "", "program", program);
      if (program.empty()) {
        in_.fail_at("/program", "a template needs a program, or ways to start it in 'launch'");
      }
      LaunchWay way;
      way.name = program;
      way.each = read_each(root_, "");
      way.words = {program};
      out_.launch.push_back(std::move(way));
      return;
    }
    for (const char* key : {"program", "each"}) {
      if (root_.contains(key)) {
        in_.fail_at(child_pointer("", key), "belongs into the ways of 'launch'", "remove it here");
      }
    }
    const auto& list = root_["launch"];
    if (!list.is_array() || list.empty()) {
      in_.fail_at("/launch", "must be a list of ways to start the trainer",
                  R"(as [{"name": "python", "each": "gpu", "words": ["python3"]}])");
      return;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string at = child_pointer("/launch", std::to_string(i));
      const auto& one = object(list[i], at);
      in_.check_keys(one, at);
      LaunchWay way;
      in_.text(one, at, "name", way.name);
      way.each = read_each(one, at);
      in_.texts(one, at, "words", way.words);
      in_.variables(one, at, "env", way.env);
      way.many_gpus = read_many(one, at, "gpus");
      way.many_nodes = read_many(one, at, "nodes");
      in_.texts(one, at, "under", way.under);
      if (way.name.empty()) in_.fail_at(at, "a way to start the trainer needs a name");
      if (way.words.empty()) in_.fail_at(at, "needs 'words', the program first");
      out_.launch.push_back(std::move(way));
    }
  }

  void read_definition(const std::string& name, const Json& value, const std::string& at) {
    const auto& by_axis = object(value, at);
    if (by_axis.size() != 1) {
      in_.fail_at(at, "follows from one axis",
                  R"(as {"precision": {"fp16": "true", "*": "false"}})");
      return;
    }
    auto& definition = out_.define[name];
    definition.axis = by_axis.begin().key();
    const auto here = child_pointer(at, definition.axis);
    for (const auto& [word, text] : object(by_axis.begin().value(), here).items()) {
      definition.values[word] = text.dump();
    }
  }

  void read_file(const std::string& name, const Json& value, const std::string& at) {
    if (!is_file_name(name)) {
      in_.fail_at(at, fmt::format("'{}' cannot name a file of a trial", name),
                  "use letters, digits, '.', '_' and '-'");
      return;
    }
    auto& file = out_.files[name];
    if (value.is_object()) {
      file = {value.dump(), true};
    } else if (value.is_array()) {
      std::vector<std::string> lines;
      in_.texts(root_["files"], "/files", name.c_str(), lines);
      for (const auto& line : lines) file.text += line + "\n";
    } else if (value.is_string()) {
      file.text = value.get<std::string>();
    } else {
      in_.fail_at(at, "must be text, a list of lines, or an object (a JSON file)");
    }
  }

  void read_need(const std::string& option, const Json& value, const std::string& at) {
    Need need;
    need.option = option;
    if (value.is_string()) {
      need.what = value.get<std::string>();
    } else {
      const auto& one = object(value, at);
      in_.check_keys(one, at);
      in_.text(one, at, "what", need.what);
      if (one.contains("where")) {
        const auto here = child_pointer(at, "where");
        for (const auto& [axis, values] : object(one["where"], here).items()) {
          in_.texts(one["where"], here, axis.c_str(), need.where[axis]);
        }
      }
    }
    if (need.what.empty()) in_.fail_at(at, "needs a line that describes it");
    out_.needs.push_back(std::move(need));
  }

  ConfigReader& in_;
  const Json& root_;
  Workload& out_;
};

}  // namespace

Result<Workload> parse_workload(const std::string& name, const std::string& text,
                                const std::string& source) {
  static const Json kSchema = Json::parse(kTemplateSchema);
  auto in = ConfigReader::open(text, source, {}, "a template", &kSchema);
  if (!in) return tl::unexpected(in.error());
  Workload workload;
  workload.name = name;
  workload.placeholders = placeholders_in(text);
  TemplateReader(*in, workload).read();
  if (in->error()) return tl::unexpected(*in->error());
  return workload;
}

Workload read_command(ConfigReader& sweep) {
  Workload workload;
  workload.is_command = true;
  TemplateReader(sweep, workload).read_command();
  for (const char* key : {"command", "files", "logs"}) {
    if (sweep.root().contains(key))
      workload.placeholders.merge(placeholders_of_strings(sweep.root()[key]));
  }
  const auto& root = sweep.root();
  const auto in_words =
      root.contains("command") ? placeholders_of_strings(root["command"]) : std::set<std::string>();
  for (const auto& [name, file] : workload.files) {
    if (in_words.contains("file:" + name)) continue;
    sweep.fail_at(child_pointer("/files", name),
                  fmt::format("no word of the command holds {{file:{}}}", name),
                  "write it there: it is the path of the file in a trial");
  }
  return workload;
}

void write_command(const Workload& workload, Json& sweep) {
  constexpr const char* kEach[] = {"gpu", "node", "job"};
  const auto& way = workload.launch.front();
  sweep["command"] = way.words;
  sweep["each"] = kEach[static_cast<std::size_t>(way.each)];
  if (!workload.framework.empty()) sweep["framework"] = workload.framework;
  for (const auto& [name, file] : workload.files) {
    sweep["files"][name] = file.json ? Json::parse(file.text) : Json(file.text);
  }
  if (!workload.logs.empty()) sweep["logs"] = workload.logs;
  if (workload.format != "auto") sweep["format"] = workload.format;
}

std::string Workload::label() const { return is_command ? "the command" : "template " + name; }

std::vector<std::string> Workload::own_axes() const {
  std::set<std::string> names;
  for (const auto& [axis, words] : axes) names.insert(axis);
  for (const auto& [axis, words] : values) names.insert(axis);
  for (const auto& [axis, value] : defaults) names.insert(axis);
  for (const auto& [placeholder, definition] : define) names.insert(definition.axis);
  if (launch.size() > 1) names.insert("launch");
  for (const auto& placeholder : placeholders) {
    // Notes of a template and the text of its files may hold other words in braces.
    const bool free = !is_known_placeholder(placeholder) && !define.contains(placeholder);
    if (free && is_variable_name(placeholder)) names.insert(placeholder);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> Workload::values_of(const std::string& axis) const {
  std::set<std::string> allowed;
  if (axis == "launch" && launch.size() > 1) {
    for (const auto& way : launch) allowed.insert(way.name);
    return {allowed.begin(), allowed.end()};
  }
  bool any = true;
  const auto narrow = [&](const auto& words) {
    if (words.contains("*")) return;
    std::set<std::string> here;
    for (const auto& [word, text] : words) {
      if (any || allowed.contains(word)) here.insert(word);
    }
    allowed = std::move(here);
    any = false;
  };
  if (const auto it = values.find(axis); it != values.end()) narrow(it->second);
  for (const auto& [placeholder, definition] : define) {
    // A definition without a value for it is an error only where the placeholder is used.
    if (definition.axis == axis && !values.contains(axis)) narrow(definition.values);
  }
  return {allowed.begin(), allowed.end()};
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names{"bert_train"};
  for (const auto& entry : builtin_templates()) names.emplace_back(entry.name);
  return names;
}

Result<Workload> find_workload(const std::string& name, const std::string& trainer) {
  if (name == "bert_train") return bert_train(trainer);
  for (const auto& entry : builtin_templates()) {
    if (entry.name == name) {
      return parse_workload(name, std::string(entry.text),
                            fmt::format("workloads/external/{}.json", name));
    }
  }
  if (name.find('/') != std::string::npos) {
    constexpr std::size_t kLargestMib = 1;
    const auto text = read_whole_file(name, kLargestMib, "");
    if (!text) return fail("", fmt::format("cannot read the template {}", text.error().message()));
    auto workload = parse_workload(std::filesystem::path(name).stem().string(), *text, name);
    if (!workload) return fail("", workload.error().message());
    return workload;
  }
  return fail(
      "", fmt::format("unknown workload '{}'", name),
      name_hint(name, workload_names(), "known: ", "; a path with a '/' is a template of yours"));
}

}  // namespace bertbench
