// BatchSystem: a queue that starts jobs when it chooses. The harness hands in jobs, each a list of
// trials; the job runs them by itself and leaves marks in their folders, so that it needs no
// harness while it runs, and the harness needs no controller to know what has ended.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/plan/plan.h"
#include "parsers/core/error.h"
#include "parsers/core/outcome.h"

namespace bertbench {

// Marks in the folder of an attempt, each whole or not there:
//   job          name of the job that runs it; written by the harness before the job is handed in
//   launch.env, launch.argv   what to run, NUL-ended words; by the harness
//   nodes        "node host cpus" a line: where it runs; by the job
//   started      "job-id restarts uptime"; by the job, once per start
//   ended        "status begin end cause", cause exited, timeout or cancelled; by the job
//   cancel       by the harness: end this attempt
// and in the folder of a job, <out>/jobs/<name>:
//   trials       folders of its attempts, NUL-ended; by the harness
//   script.sh    what runs; the same text for all
//   void         by the harness: whatever comes of this job no longer counts
//   closed       by the harness: all its attempts are measured

struct BatchJob {
  std::string name;    ///< unique; what the queue is asked for, as it may forget an id
  std::string folder;  ///< absolute
  std::int64_t nodes = 1, processes_per_node = 1, gpus_per_node = 1;
  double timeout_s = 0;  ///< of one attempt, for the job to enforce
};

enum class QueueState { waiting, held, running, ended };

struct QueueEntry {
  QueueState state = QueueState::waiting;
  std::string id;
  std::string word;                ///< the queue's own name of the state: "PENDING"
  std::string reason;              ///< why it waits or ended
  bool reason_is_usual = true;     ///< its turn, its resources: waiting helps
  bool launch_failed = false;      ///< held as the queue could not start it, by nobody's wish
  Status outcome = Status::error;  ///< of attempts that the end of the job cut off
};

struct BatchSystem {
  std::string_view title;  ///< "Slurm"
  /// False where the harness runs inside an allocation and starts processes itself.
  bool (*wanted)();
  std::string_view script;
  /// The command that hands in script.sh of the job's folder.
  std::vector<std::string> (*submit_command)(const Plan&, const BatchJob&);
  /// What the queue reports of these names; a name that is missing is unknown to it. Nothing when
  /// it does not answer within ten seconds.
  std::optional<std::map<std::string, QueueEntry>> (*query)(const std::vector<std::string>& names);
  void (*cancel)(const std::vector<std::string>& names);
  /// Several of its nodes are one machine: jobs side by side would disturb each other.
  bool (*nodes_share_machines)();
};

}  // namespace bertbench
