// SweepConfig: one JSON file that describes what to run. No process is started and no run folder is
// touched here; everything that can be wrong with the text is found here and named by file and
// line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/config/phases.h"
#include "harness/sweep/config/secrets.h"
#include "harness/sweep/config/variants.h"
#include "harness/sweep/config/workload.h"
#include "parsers/core/error.h"
#include "parsers/core/window_rule.h"

namespace bertbench {

/// One axis of the grid. Values are kept as text, as they appear in keys and on command lines:
/// "64", "bf16", "true".
struct Axis {
  std::string name;  ///< "topology", "micro_batch_size", "env.NCCL_P2P_DISABLE", "optimizer" ...
  std::vector<std::string> values;
};

/// A cell is left out when every axis named here has one of the values given.
using Exclude = std::map<std::string, std::vector<std::string>>;

enum class Order {
  interleaved,  ///< trial 1 of every cell, then trial 2 of every cell ...: drift hits all alike
  sequential    ///< all trials of the first cell, then of the second ...
};

/// "mpi": how mpirun is called.
struct MpiOptions {
  std::string implementation = "auto";  ///< auto (asks mpirun), openmpi, mpich
  std::string bind_to = "none";         ///< none, core, hwthread, socket, numa
};

/// "ssh": how hosts are reached. Data only; what else ssh can do belongs into a config file of ssh.
struct SshOptions {
  std::int64_t port = 0;      ///< 0 = ssh's own choice
  std::string identity_file;  ///< -i
  std::string config_file;    ///< -F
};

/// "slurm": what is asked of Slurm. Inside an allocation only `mpi` and `cpus_per_task` matter.
struct SlurmOptions {
  std::string job = "cell";   ///< what one job holds: all trials of a cell, of all cells of one
                              ///< number of nodes ("nodes"), or one trial ("trial")
  std::int64_t max_jobs = 8;  ///< of this sweep in the queue at once
  std::string account, partition, qos, constraint, reservation;  ///< empty: not asked for
  std::string gres;                   ///< "{gpus_per_node}" stands for the cell's number
  bool exclusive = true;              ///< nodes to ourselves: others would be in the measurement
  std::string time_limit;             ///< of a job, "[days-]hours:minutes:seconds"
  double queue_timeout_s = 0;         ///< of a job that does not start; 0 = none
  double controller_timeout_s = 600;  ///< of a controller that does not answer
  std::int64_t cpus_per_task = 0;     ///< 0: not asked for, threads by this machine's cores
  std::string mpi = "none";           ///< srun --mpi
  std::vector<std::string> args;      ///< further options of sbatch and srun, as they are
  /// What srun's plug-in pyxis runs the ranks in; no image: on the node itself.
  struct Container {
    std::string image;                ///< a file, or "docker://..."
    std::vector<std::string> mounts;  ///< "SOURCE:TARGET[:FLAGS]"
    std::string workdir;              ///< in the container; empty: the image's own
  } container;
};

/// Commands around the measured ones, as argv arrays; empty: none. Not part of any identity.
struct Hooks {
  std::vector<std::string> setup, cleanup;              ///< of a start of the sweep, words as given
  std::vector<std::string> trial_setup, trial_cleanup;  ///< of each attempt, with {placeholders}
};

struct SweepConfig {
  std::string source;    ///< path of the file, for messages and to find a hostfile next to it
  std::string name;      ///< title of the report
  std::string workload;  ///< "bert_train" or the name of a template in workloads/external/
  std::optional<Workload> command;  ///< "command": the template that it makes, in place of workload
  Hooks hooks;
  std::vector<Axis> grid;                     ///< in the order of the file
  std::vector<std::vector<std::string>> zip;  ///< groups of axes that advance together
  std::vector<Exclude> exclude;
  std::string scaling;                     ///< "weak", "strong" or empty: not stated (scaling.h)
  std::vector<std::string> args;           ///< appended to every command line as they are
  std::map<std::string, std::string> env;  ///< set for every trainer
  std::vector<std::string> secret;         ///< names whose values are secrets, besides those known
  Secrets secrets;                         ///< what the markers in env, args and so on stand for
  std::vector<std::string> hosts;          ///< of the list or of the hostfile
  std::map<std::string, std::int64_t> slots;  ///< of hosts, as the hostfile states
  int trials = 5;                             ///< launches of each cell; at most, when auto_trials
  bool auto_trials = false;                   ///< "trials": "auto": stop a cell when it is narrow
  int trials_min = 6;                         ///< with auto_trials; 6 is where the interval begins
  double trials_interval = 0.01;  ///< with auto_trials: width asked for, over the median
  bool pty = false;               ///< trainers write to a pseudo terminal
  bool record_hostname = false;   ///< names this machine in the environment
  std::int64_t steps = 60;        ///< optimizer steps of a trial; of a phase its own
  /// "seed": empty, a whole number for every trial, or "per_trial": trial n has seed n.
  std::string seed;
  WindowRule window;  ///< what of a trial is measured
  std::string launcher = "local";
  double timeout_s = 3600;       ///< of one attempt
  double stall_timeout_s = 300;  ///< without a byte of output, start-up included
  std::int64_t log_limit_bytes = std::int64_t{1}
                                 << 30;  ///< a trial whose log grows beyond is ended
  int retries = 1;                       ///< further attempts of a trial that failed
  MpiOptions mpi;
  SshOptions ssh;
  SlurmOptions slurm;
  Order order = Order::interleaved;
  std::vector<Variant> variants;  ///< each cell runs all of them in turn; empty: there is one
  std::vector<Phase> phases;      ///< each trial runs all of them in order; empty: there is one
  std::int64_t order_seed = 1;    ///< of the order of variants in each block
  /// The variants of a block run at the same time and take turns of so long; 0: one after the
  /// other.
  double turn_s = 0;

  /// The trainer was asked for `steps`; a command without {steps} decides by itself.
  [[nodiscard]] bool asks_for_steps() const {
    return !command || command->placeholders.contains("steps");
  }
  [[nodiscard]] bool seed_per_trial() const { return seed == "per_trial"; }
  /// Of that trial, where the configuration gives one.
  [[nodiscard]] std::optional<std::int64_t> seed_of(int trial) const;
  [[nodiscard]] const Axis* axis(const std::string& name) const;
  /// The grid asks for the largest batch that fits.
  [[nodiscard]] bool searches_batch() const;
};

/// The one-line form of a sweep, `bertbench sweep --grid AXIS=V1,V2 --each gpu --file NAME=PATH --
/// PROGRAM ARG...`, as members of a configuration: above those of a file, or without one.
struct OneLine {
  std::vector<std::string> grid;     ///< "AXIS=V1,V2": takes the place of that axis
  std::vector<std::string> files;    ///< "NAME=PATH"; PATH is read now
  std::string each;                  ///< gpu, node, job; empty: not given
  std::vector<std::string> command;  ///< PROGRAM ARG...; empty: not given
};

/// Reads and checks a config. `sets` are `--set` arguments, "trials=3", "grid.topology=[\"1n1g\"]",
/// "env.NAME=1": the value is JSON when it parses as JSON, else text; `line` is above them. Errors
/// name "<file>:<line>" or the option, the JSON path, the rule that was broken and the nearest
/// known key.
Result<SweepConfig> load_config(const std::string& path, const std::vector<std::string>& sets = {},
                                const OneLine& line = {});

/// The same from text; `source` stands in messages, empty where there is no file.
Result<SweepConfig> parse_config(const std::string& text, const std::string& source,
                                 const std::vector<std::string>& sets = {},
                                 const OneLine& line = {});

/// The resolved config as JSON text (what <out>/sweep.json holds); parse_config reads it back.
std::string config_to_json(const SweepConfig& config);

}  // namespace bertbench
