// Slurm's side of launcher slurm: jobs handed in by sbatch, looked up by name, cancelled by name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "harness/sweep/plan/batch_system.h"

namespace bertbench {

extern const BatchSystem slurm_batch;

/// "bb-<run id>" of a marker "[job:]<run id>:<path>", then the suffix: letters, digits and '-'.
std::string slurm_name(std::string_view marker, std::string_view suffix);

/// Output of squeue in kSlurmFormat: one entry a name, a live job before one that has ended.
std::map<std::string, QueueEntry> parse_squeue(std::string_view text);

/// Cancels the steps "bb-<run id>" of the allocation around the harness.
void end_slurm_steps(const std::string& run_id);

/// Nodes of the allocation around the harness, "node host cpus" a line.
std::string read_slurm_nodes();

}  // namespace bertbench
