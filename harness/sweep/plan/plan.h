// Plan: the cells of a grid and the order in which their trials are launched. Pure: needs neither
// the trainer, the launcher's program, the hosts nor the run folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/sweep/config/config.h"
#include "harness/sweep/config/workload.h"
#include "parsers/core/topology.h"
#include "reports/model/identity.h"

namespace bertbench {

struct PlannedCell {
  Identity identity;
  std::string key;  ///< identity.key()
  std::string
      folder;  ///< safe name of its folder below <out>: no '/', no leading '.', <= 120 bytes
  std::map<std::string, std::string> point;  ///< axis -> value, topology always included
  std::size_t grid_point = 0;  ///< of the grid, from 0; variants or phases of one point share it
  /// Of a phase: its number from 1. The cell before this one in the plan is the phase before it.
  int phase = 0;
  /// Keys of all phases of its point, where it is one: the context key "phases" of the result.
  std::vector<std::string> phases;
  /// True where another phase goes on from the checkpoint of this one.
  [[nodiscard]] bool has_later_phase() const {
    return static_cast<std::size_t>(phase) < phases.size();
  }
  std::int64_t steps = 0;         ///< where the trainer is to end, those of earlier phases included
  std::vector<std::string> args;  ///< of the configuration and of the variant
  std::map<std::string, std::string> env;  ///< the same
  std::string trainer;  ///< of the variant: a program in place of the first word; or empty
  /// What the variant has of its own, "NAME=VALUE" and words, where it is one: the context key
  /// "variant" of the result.
  std::optional<std::vector<std::string>> variant;
  Topology topology;      ///< of the processes that run; a simulated cell's own is in its identity
  std::size_t way = 0;    ///< in which it is started: index into Workload::launch
  bool emulated = false;  ///< nodes or GPUs are stand-ins on this machine
  bool cpu_stands_in = false;  ///< a CPU rank stands in for a GPU
  /// The command of a foreign trainer as its template and configuration write it, placeholders not
  /// replaced: the context key "command" of the result. Empty for bert_train, whose options are in
  /// the identity.
  std::vector<std::string> command;
  std::string threads;  ///< of a rank of bert_train as they were chosen, "auto" = cores / ranks
  std::vector<Notice> warnings;  ///< "nodes are emulated: ..." and the like, for the report
};

struct PlannedTrial {
  std::size_t cell = 0;  ///< index into Plan::cells
  int trial = 1;         ///< 1-based
  int position = 0;      ///< of a variant in its block, from 1; 0: there are no variants
  bool operator==(const PlannedTrial&) const = default;
};

struct PlanOptions {
  std::vector<std::string> only;  ///< "key=v1,v2", ANDed; keys: axes, nodes, gpus_per_node, key
  int trials = 0;                 ///< > 0 overrides the config
  std::string launcher;           ///< overrides the config
  std::string trainer;            ///< path of bert_train; empty: next to bertbench, else on PATH
  int cores = 0;                  ///< of this machine; 0 = look
};

struct Launcher;

struct Plan {
  SweepConfig config;                  ///< with the overrides applied
  const Launcher* launcher = nullptr;  ///< that the config names
  Workload workload;
  std::vector<PlannedCell> cells;    ///< the whole grid, --only or not
  std::vector<PlannedTrial> trials;  ///< what --only leaves, in order of launch
  std::vector<std::string> notices;  ///< for stderr
  /// Options that the template needs and nobody gave: nothing is started before they are there.
  std::vector<Need> missing;
  int cores = 1;  ///< of this machine, for threads per rank
};

/// Product of the axes, first axis slowest, zipped groups as one axis at the place of their first
/// member; then excludes, then --only, which keeps the phases before each one that it names.
/// Errors: unknown launcher or template, an --only that names no axis or matches no cell, a grid
/// that is empty after excludes.
Result<Plan> make_plan(const SweepConfig& config, const PlanOptions& options = {});

/// True where one of `keys` is that of the cell, or of a later phase, which goes on from the
/// checkpoint of the cell.
bool needed_for(const PlannedCell& cell, const std::set<std::string>& keys);

/// Gives the cell another micro batch: its identity, key, folder and point. The key must stay
/// unique in the plan.
void set_micro_batch(Plan& plan, std::size_t cell, std::int64_t micro_batch_size);

/// The job of a trial in a queue, as the config groups them: trials of equal text share one.
/// Variants of one point share one always: what nodes do must be part of both halves of a pair.
std::string batch_group(const Plan& plan, const PlannedTrial& trial);

/// One line a trial, for --dry-run: key, trial, world_size= and the exact command. `out` is the run
/// folder as given, or empty.
Result<std::vector<std::string>> dry_run(const Plan& plan, const std::string& out);

}  // namespace bertbench
