// TrainerCall: what every launcher starts, in its own way: the trainer's words, the
// variables of the cell, and the variables by which a process knows its place in the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/sweep/plan/launcher.h"

namespace bertbench {

struct TrainerCall {
  std::vector<std::string> words;  ///< program, arguments
  Variables env;                   ///< of config, cell and template, and the marker
  std::int64_t nodes = 1;          ///< on which processes are started
  std::int64_t per_node = 1;       ///< processes on each
  bool per_rank = true;            ///< one process is one rank
  std::string port;                ///< "<port>" in a dry run

  [[nodiscard]] std::int64_t processes() const { return nodes * per_node; }
};

/// `nodes_per_machine`: nodes of the topology that fall on one machine, for threads per rank.
/// `full_path`: the program by its full path, as other machines need it.
Result<TrainerCall> trainer_call(const Plan& plan, const PlannedTrial& trial,
                                 const LaunchPlace& place, std::int64_t nodes_per_machine,
                                 bool full_path);

/// The MASTER_ADDR of the configuration, for hosts whose names the others do not know; else `own`.
std::string master_of(const TrainerCall& call, const std::string& own);

/// torchrun's variables of process i, node by node; rank 0's machine is `master`.
Variables place_variables(const TrainerCall& call, std::int64_t process, const std::string& master);

/// Names (or prefixes ending in '*') that give a process its place in a job around the harness, and
/// must not reach a trainer. `further`: those of one launcher.
std::vector<std::string> foreign_place_names(std::vector<std::string> further);

}  // namespace bertbench
