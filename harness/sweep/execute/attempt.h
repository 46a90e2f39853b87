// Attempt: one launch of one trial, from the first rank's start to the last process's end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/execute/log_watch.h"
#include "harness/sweep/process/process.h"
#include "harness/sweep/process/stop_signals.h"
#include "parsers/core/error.h"
#include "parsers/core/run_log.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {

/// Why the attempt ended, as the harness saw it; the log has its own word on it.
enum class EndCause { exited, timeout, stalled, log_limit, stopped, not_started, lost };

struct AttemptEnd {
  EndCause cause = EndCause::exited;
  std::optional<ExitStatus> exit;  ///< of the first rank that ended badly, else of rank 0
  std::string detail;              ///< of a start that failed, or of how it was lost
  Status lost_as = Status::error;  ///< outcome of EndCause::lost: a queue ended it, not itself
  bool kernel_oom = false;         ///< the kernel's out-of-memory killer was at work meanwhile
  double seconds = 0;              ///< by the monotonic clock
  std::int64_t log_bytes = 0;
  int log_cuts = 0;             ///< times somebody made the log shorter meanwhile
  int escaped = 0;              ///< processes the trainer left behind, ended by the harness
  std::vector<RunLog> runs;     ///< what its log said
  bool own_log = false;         ///< `runs` are of the log that the trainer wrote itself
  std::optional<Outcome> said;  ///< a failure that log.txt names, where `own_log`
  std::string own_path;         ///< of the trainer's own log, and the bytes of it that count
  std::int64_t own_bytes = 0;

  /// Takes what the logs say now that nobody writes any more.
  void take(TrialLogs& logs);
};

struct AttemptLimits {
  double timeout_s = 0, stall_timeout_s = 0, grace_s = 10;
  std::int64_t log_bytes = 0;
  double progress_s = 0.25;
};

/// A process that looks on while the ranks run.
struct AttemptHelper {
  ProcessSpec process;
  int out_fd = -1;  ///< of the caller
};

/// What the attempt needs of the world around it.
struct AttemptHooks {
  std::vector<AttemptHelper> helpers;  ///< started before the first rank, ended after the last
  std::function<Result<void>(const std::vector<ProcessId>&)> launched;  ///< all ranks run
  std::function<void(const LiveView&, double elapsed_s)> progress;
  std::function<bool()> stop;  ///< asked for from elsewhere
};

/// Runs the processes with their output in `log_fd` (readable, O_APPEND), which `logs` watches. An
/// Error is one of hooks.launched or a log that cannot be synced; everything that happens to the
/// trainer is in the AttemptEnd.
Result<AttemptEnd> run_attempt(const std::vector<ProcessSpec>& processes, int log_fd,
                               const AttemptLimits& limits, TrialLogs logs,
                               const AttemptHooks& hooks, const StopSignals& signals);

}  // namespace bertbench
