// Launcher: from one planned trial to the processes that make it up.
// harness/sweep/launch/launchers/<name>.cpp defines `extern const Launcher entry;` in namespace
// launcher_<name>, and harness/sweep/CMakeLists.txt lists its name; `bertbench list launchers`
// and the messages on a wrong name follow from that list.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/plan/batch_system.h"
#include "harness/sweep/plan/plan.h"
#include "harness/sweep/process/process.h"
#include "parsers/core/error.h"

namespace bertbench {

/// What is only known when a trial is about to start. The same values for every planned trial give
/// the canonical command, by which resume decides whether a finished trial may be reused.
struct LaunchPlace {
  std::string directory;  ///< of the attempt, absolute
  int master_port = 0;    ///< free TCP port; 0 = placeholder
  std::string marker;     ///< value of BERTBENCH_TRIAL in every trainer's environment
};

/// The process that watches a node while a trial runs on it.
struct NodeSampler {
  std::int64_t node = 0;  ///< of the topology: the first that falls on its machine
  ProcessSpec process;
};

/// Which machines the ranks of a launcher run on.
enum class RankHosts {
  this_machine,
  configured,  ///< `hosts` of the configuration, in turn
  allotted,    ///< by a queue: known when a trial has started
};

/// What differs between launchers stands here: no other code asks for one by its name.
struct Launcher {
  std::string_view name{};
  std::string_view title{};  ///< one line: what it runs on
  RankHosts hosts = RankHosts::this_machine;
  std::string_view program{};  ///< what must be on PATH; empty = nothing
  /// Processes that this machine starts. Never a shell: argv arrays.
  Result<std::vector<ProcessSpec>> (*processes)(const Plan&, const PlannedTrial&,
                                                const LaunchPlace&) = nullptr;
  /// What of the config or this machine keeps it from running; before the first launch. A host may
  /// hold any of ".:@[]-%": what its program reads as more than a name is refused here. May be
  /// null.
  Result<void> (*check)(const Plan&) = nullptr;
  /// What an exit status of its own program means, empty when it is the trainer's. May be null.
  std::string (*name_exit)(const ExitStatus&) = nullptr;
  /// The queue that runs trials while the harness only watches. May be null.
  const BatchSystem* batch = nullptr;
  /// Ends what an earlier start of this run left running where signals do not reach. May be null.
  void (*end_leftovers)(const std::string& run_id) = nullptr;
  /// "node host" a line for the nodes of the allocation around the harness. May be null.
  std::string (*nodes)() = nullptr;
  /// How many nodes that allocation has; 0: there is none. May be null.
  std::int64_t (*allocated_nodes)() = nullptr;
  /// Makes later jobs run on other nodes than these. May be null.
  void (*avoid)(SweepConfig&, const std::vector<std::string>& nodes) = nullptr;
  /// For bound_cpus(). May be null.
  std::int64_t (*cpus_per_rank)(const SweepConfig&) = nullptr;
  /// Image of the container that the ranks run in; empty: none. May be null.
  std::string (*image)(const SweepConfig&) = nullptr;
  /// Name in the environment of a result under which the version of `program` stands, the first
  /// line of `program --version`; empty: none.
  std::string_view version_name{};
  /// Ranks run on nodes where `bertbench telemetry` looks on (node_telemetry.h). False: the harness
  /// watches them where all hosts are this machine, and nobody else does.
  bool watches_nodes = false;
  /// The samplers, where they are processes of this machine; null: the ranks bring theirs.
  std::vector<NodeSampler> (*samplers)(const Plan&, const PlannedTrial&,
                                       const LaunchPlace&) = nullptr;

  /// The queue, where it is used here and now.
  [[nodiscard]] const BatchSystem* queue() const {
    return batch && batch->wanted() ? batch : nullptr;
  }
  /// Every rank is a process of this machine, which only the harness itself can watch.
  [[nodiscard]] bool runs_here(const SweepConfig& config) const;
  /// CPUs that it binds each rank to; 0: it leaves them to the harness.
  [[nodiscard]] std::int64_t bound_cpus(const SweepConfig& config) const;
};

/// All launchers, in list order. Generated from harness/sweep/CMakeLists.txt.
std::span<const Launcher* const> all_launchers();
Result<const Launcher*> find_launcher(std::string_view name);

/// Program and arguments of a trial: the same for every rank.
Result<std::vector<std::string>> trainer_words(const Plan& plan, const PlannedTrial& trial,
                                               const LaunchPlace& place, int ranks_per_machine);
/// Folder, in that of a trial, where a phase leaves its checkpoint for the next one.
inline constexpr const char* kPhaseCheckpoint = "checkpoint";
/// The same as a path, of a trial of `cell`; `place` is an attempt of any trial of the sweep.
std::string phase_checkpoint(const Plan& plan, std::size_t cell, int trial,
                             const LaunchPlace& place);
/// Variables set for the trainer in addition to the launcher's: config env, env.NAME axes, template
/// env.
Result<Variables> trainer_env(const Plan& plan, const PlannedTrial& trial,
                              const LaunchPlace& place);
/// `host` of node i: of the config, else "<host1>" ...
std::string host_of(const Plan& plan, std::int64_t node);
int threads_per_rank(const Plan& plan, int ranks_per_machine);
/// One word in single quotes, for any POSIX shell.
std::string single_quoted(std::string_view text);
/// Text that bash and ksh read back as `text`: for messages, never to run a shell here.
std::string shell_quote(std::string_view text);

}  // namespace bertbench
