// From the end of an attempt to a trial: what the log says, what the exit status says, one outcome.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/execute/attempt.h"
#include "harness/sweep/plan/plan.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct MeasuredAttempt {
  Trial trial;
  WorkKind kind = WorkKind::training;
  std::map<std::string, std::string> versions;  ///< of libraries, as the log names them
  std::string iterations_csv;                   ///< text of iterations.csv
};

/// Whether measure_attempt makes MeasuredAttempt::iterations_csv, which may be long.
enum class IterationsText { no, yes };

/// `log_path` is as it shall stand in the result: relative to the run folder.
MeasuredAttempt measure_attempt(const Plan& plan, const PlannedTrial& planned, int attempt,
                                const std::vector<RunLog>& runs, const std::string& log_path,
                                IterationsText iterations = IterationsText::yes);

/// The log's outcome and the exit status made one. Exit 12 and the kernel's out-of-memory killer
/// are out_of_memory; limits and signals of the harness are named with their cause.
Outcome join_outcomes(const std::optional<Outcome>& log, const AttemptEnd& end,
                      const SweepConfig& config, std::optional<std::int64_t> last_step);

/// Facts of a cell as a user would give them: the plan knows, the log need not say.
Facts facts_of(const PlannedCell& cell);

/// May another attempt end differently? Not after out of memory, NaN or a refused command line.
bool worth_retrying(const Outcome& outcome, const std::optional<ExitStatus>& exit);

/// Sequences/s of the whole job now, NaN when unknown.
double live_rate(const LiveView& live, const PlannedCell& cell);

}  // namespace bertbench
