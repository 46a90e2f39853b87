// Telemetry of trials whose ranks run elsewhere: `bertbench telemetry` on every node (one a node,
// not one a rank), what it prints, and how the reports of the nodes become the telemetry of one
// trial.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/process/folder.h"

namespace bertbench {

/// Full path of the program that watches a node: this one. BERTBENCH_SAMPLER names another one,
/// "off" watches no node. Empty: none (the harness is called as a library).
std::string sampler_program();

/// POSIX sh, run on a node. $1: sampler_program() as it is called here; then its arguments. Where
/// that path is no program, the one of PATH is taken.
std::string_view sampler_script();

/// Arguments of the program: the trial's ranks carry `marker` and a '#'. `gpus` of the node that
/// the trial uses, `training`: a file that is there once steps are logged.
std::vector<std::string> sampler_arguments(const std::string& marker, std::int64_t gpus,
                                           const std::string& training);

/// What the sampler of a node reported.
struct NodeTelemetry {
  std::int64_t node = 0;
  std::string text;  ///< the JSON; else the reason why there is none
};

/// One telemetry for a trial, null without any node's. Nodes that are one machine count once. Sums
/// over the nodes, the memory of the fullest one, GPUs and marks with their "node", and "nodes":
/// each node's own figures, or why they are missing.
nlohmann::ordered_json join_nodes(const std::vector<NodeTelemetry>& nodes);

/// Reads and removes telemetry.<node>.json of these nodes in the folder of an attempt.
std::vector<NodeTelemetry> take_node_telemetry(const Folder& attempt,
                                               const std::vector<std::int64_t>& nodes);

/// What stands for this machine in the text of its sampler.
std::string this_machine();
/// The machine of a node; empty: not known.
std::string machine_of(const NodeTelemetry& node);

std::string node_file(std::int64_t node);
/// The file whose existence means to the samplers that steps are logged.
inline constexpr const char* kTrainingMark = "training";

}  // namespace bertbench
