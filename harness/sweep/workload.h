// Workload: how a trainer is called. bert_train is built in; others are templates, data only, in
// workloads/external/<name>.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

struct Workload {
  std::string name;
  std::string title;
  std::string framework;                   ///< of the identity
  std::string program;                     ///< path, or a name looked up on PATH
  std::vector<std::string> args;           ///< with {placeholders}; see docs of the templates
  std::map<std::string, std::string> env;  ///< with {placeholders}
  std::map<std::string, std::vector<std::string>>
      axes;  ///< axis -> args added when it is in the grid
  /// axis -> value -> args, for axes whose values are other words there; "*" is any other value.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> values;
  std::string format = "auto";  ///< format of its log
  bool process_per_gpu = true;  ///< false: one process a node starts its own workers
  bool single_process = false;  ///< one process for the whole job (a launcher of its own)
  bool is_bert_train = false;
};

/// "bert_train" or a template. `trainer`: path of bert_train, or empty to look for it.
Result<Workload> find_workload(const std::string& name, const std::string& trainer = {});
std::vector<std::string> workload_names();
/// An argument or a variable of the template holds {name}.
bool names_placeholder(const Workload& workload, const std::string& name);

/// Full path of an executable: with a '/' checked as it is, else searched on PATH; empty if none.
std::string find_program(const std::string& name);

}  // namespace bertbench
