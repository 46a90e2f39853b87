// Workload: how a trainer is called. bert_train is built in; others are templates, data only, in
// workloads/external/<name>.json (schema: configs/schema/template.schema.json), or the "command" of
// a sweep, which is a template without a file.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

class ConfigReader;

/// How many processes the harness starts of a trainer: one a GPU, one a node (which starts its own
/// workers), or one for the whole job (a launcher of its own).
enum class Each { gpu, node, job };

/// One way to start the trainer. The first one whose conditions hold is used.
struct LaunchWay {
  std::string name;                ///< value of the axis `launch`, by which a grid asks for it
  Each each = Each::gpu;           ///< processes that the harness starts
  std::vector<std::string> words;  ///< the program and what stands before the template's args
  std::map<std::string, std::string> env;  ///< of this way only, with {placeholders}
  std::optional<bool> many_gpus;           ///< only for cells of more than one GPU; or of one
  std::optional<bool> many_nodes;          ///< only for cells of more than one node; or of one
  std::vector<std::string> under;          ///< only under these launchers; empty: under all
};

/// A placeholder that follows from the value of an axis.
struct Definition {
  std::string axis;
  /// Value of the axis ("*": any other, or none) -> JSON text. A string is used as it is; anything
  /// else is for `json` files only.
  std::map<std::string, std::string> values;
};

/// A file that is written for each trial before it starts.
struct FileText {
  std::string text;   ///< with {placeholders}
  bool json = false;  ///< `text` is JSON, whose strings hold the placeholders
};

/// An option that only the user can give.
struct Need {
  std::string option;                                     ///< "--data_eval"; others after '|'
  std::string what;                                       ///< one line for the user
  std::map<std::string, std::vector<std::string>> where;  ///< only for cells of these axis values
};

struct Workload {
  std::string name;
  std::string title;
  std::string framework;                   ///< of the identity; empty: unknown
  std::vector<LaunchWay> launch;           ///< at least one
  std::vector<std::string> args;           ///< with {placeholders}; see docs/templates.md
  std::map<std::string, std::string> env;  ///< with {placeholders}
  std::map<std::string, std::vector<std::string>>
      axes;  ///< axis -> args added when it is in the grid
  /// axis -> value -> args, for axes whose values are other words there; "*" is any other value.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> values;
  std::map<std::string, std::string> defaults;  ///< axis -> its value where no grid has it
  std::map<std::string, Definition> define;     ///< placeholder -> how it follows
  std::map<std::string, FileText> files;        ///< name -> text, written per trial
  std::vector<std::string> logs;                ///< files that the trainer writes, see own_logs.h
  std::vector<Need> needs;
  std::string format = "auto";  ///< format of its log
  /// Names in braces anywhere in its text: with "trial" or "seed", trials of a cell differ.
  std::set<std::string> placeholders;
  bool is_bert_train = false;
  bool is_command = false;  ///< of a sweep's "command"

  /// For errors: "template NAME", "the command".
  [[nodiscard]] std::string label() const;
  /// Axes that the template itself knows, in alphabetical order: those that it names, and each
  /// placeholder that nothing else gives.
  [[nodiscard]] std::vector<std::string> own_axes() const;
  /// Values that the axis may have; empty: any.
  [[nodiscard]] std::vector<std::string> values_of(const std::string& axis) const;
};

/// The bert_train built with this harness lies next to it; else PATH decides, and its bare name
/// stands for one that is nowhere.
[[nodiscard]] std::string locate_trainer();

/// "bert_train" or a template. `trainer`: path of bert_train, or empty to look for it.
Result<Workload> find_workload(const std::string& name, const std::string& trainer = {});
/// A template from its text; `source` stands in messages.
Result<Workload> parse_workload(const std::string& name, const std::string& text,
                                const std::string& source);
/// The template that the keys "command", "each", "framework", "files", "logs" and "format" of a
/// sweep make; what is wrong is an error of the reader.
Workload read_command(ConfigReader& sweep);
/// Writes those keys, from which read_command() makes the same workload.
void write_command(const Workload& workload, nlohmann::ordered_json& sweep);
std::vector<std::string> workload_names();

/// A launch template of workloads/external, built into the program so that it needs no data folder
/// at run time.
struct BuiltinTemplate {
  std::string_view name;
  std::string_view text;  ///< JSON with comments
};
/// Generated from the files.
std::span<const BuiltinTemplate> builtin_templates();

}  // namespace bertbench
