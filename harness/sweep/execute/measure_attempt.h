// From the log of an attempt to its trial.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/config/secrets.h"
#include "harness/sweep/plan/plan.h"
#include "parsers/reader/log_reader.h"
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

/// `log_path` is as it shall stand in the result: relative to the run folder. `cut_off`: others
/// ended the trainer, so that it might have done more.
MeasuredAttempt measure_attempt(const Plan& plan, const PlannedTrial& planned, int attempt,
                                const std::vector<RunLog>& runs, bool cut_off,
                                const std::string& log_path,
                                IterationsText iterations = IterationsText::yes);

/// Where the log of a trainer that ended by itself counts nothing: `total_time` of the steps that
/// it was asked for over the `seconds` that it ran, with a notice. Never the trial's rate.
void add_steps_over_run_time(const Plan& plan, const PlannedCell& cell, double seconds,
                             Trial& trial);

/// A trainer may name a secret in the message that it ends with: markers take the place of values
/// in outcome and notices.
void conceal_in(Trial& trial, const Secrets& secrets);

/// Facts of a cell as a user would give them: the plan has them, whatever the log states.
Facts facts_of(const PlannedCell& cell);

/// Sequences/s of the whole job now, NaN when unknown.
double live_rate(const LiveView& live, const PlannedCell& cell);

}  // namespace bertbench
