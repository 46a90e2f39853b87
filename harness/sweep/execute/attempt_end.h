// How an attempt ended: what the harness observed, the outcome that follows from this and the log,
// and the record of it in the attempt's folder and in the journal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/execute/measure_attempt.h"
#include "harness/sweep/execute/open_attempt.h"

namespace bertbench {

/// Why the attempt ended, as the harness observed it; the log may explain more.
enum class EndCause { exited, timeout, stalled, log_limit, stopped, not_started, lost };

struct AttemptEnd {
  EndCause cause = EndCause::exited;
  std::optional<ExitStatus> exit;  ///< of the first rank that ended badly, else of rank 0
  std::string detail;              ///< of a start that failed, or of how it was lost
  Status lost_as = Status::error;  ///< outcome of EndCause::lost: a queue ended it, not itself
  bool kernel_oom = false;         ///< the kernel's out-of-memory killer was at work meanwhile
  double seconds = 0;              ///< by the monotonic clock
  std::int64_t log_bytes = 0;
  int log_cuts = 0;          ///< times somebody made the log shorter meanwhile
  int escaped = 0;           ///< processes the trainer left running, ended by the harness
  std::vector<RunLog> runs;  ///< of its log
  bool own_log = false;      ///< `runs` are of the log that the trainer wrote itself
  std::optional<Outcome> printed_failure;  ///< of log.txt, where `own_log`
  std::string own_path;  ///< of the trainer's own log, and the bytes of it that count
  std::int64_t own_bytes = 0;

  /// Takes what the logs hold now that nobody writes any more.
  void take(TrialLogs& logs);
  [[nodiscard]] std::optional<std::int64_t> last_step() const;
};

struct EndedAttempt {
  std::unique_ptr<OpenAttempt> open;
  AttemptEnd end;
};

/// The log's outcome and the exit status made one. Exit 12 and the kernel's out-of-memory killer
/// are out_of_memory; limits and signals of the harness are named with their cause. `steps`: where
/// the trainer was to end, where it was asked for steps.
Outcome join_outcomes(const std::optional<Outcome>& log, const AttemptEnd& end,
                      const SweepConfig& config, std::int64_t steps,
                      std::optional<std::int64_t> last_step);

/// True where another attempt may end differently: not after out of memory, NaN or a refused
/// command line.
bool worth_retrying(const Outcome& outcome, const std::optional<ExitStatus>& exit);

/// The trial of an ended attempt, with the joined outcome and notices of what happened to its log.
/// Makes log.txt and trainer.log whole again where something took them away.
Result<MeasuredAttempt> measure_ended(const OpenSweep& sweep, const EndedAttempt& ended);

/// Writes the files of an ended attempt, and "finished" into the journal.
Result<void> record_end(OpenSweep& sweep, const EndedAttempt& ended,
                        const MeasuredAttempt& measured);

}  // namespace bertbench
