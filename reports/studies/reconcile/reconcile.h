// Reconciliation: every throughput that a run's logs allow, next to all its work over all its time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/facts.h"
#include "parsers/core/notice.h"
#include "parsers/core/outcome.h"
#include "parsers/core/run_log.h"
#include "parsers/core/window_rule.h"
#include "reports/measure/restarts.h"
#include "reports/measure/time_parts.h"

namespace bertbench {

struct ReconcileOptions {
  Facts given;        ///< trusted above the logs and their paths
  WindowRule window;  ///< of the windowed estimators, within each log
  /// What the logs do not state, of all of them together: applied updates, sequences, whole time.
  std::optional<std::int64_t> optimizer_steps, sequences;
  std::optional<double> seconds;
};

/// One log of the run: a start, or a restart from a checkpoint.
struct RunPart {
  std::string log;
  /// Optimizer steps first < n <= last; of several logs that do not number those, iterations by the
  /// counter of their lines.
  std::optional<std::int64_t> first_step, last_step;
  std::int64_t redone_steps = 0;    ///< of those, steps that an earlier part had done already
  std::optional<double> sequences;  ///< of all its steps, redone ones included
  std::optional<double> seconds;
  std::string clock;  ///< what `seconds` is: "process", "training", "to the last record"
  Outcome outcome;
};

struct ReconciledEstimate {
  std::string name;                  ///< as in estimators.h; never total_time
  double rate = 0;                   ///< in ReconciledRun::unit; of several logs: work over time
  std::optional<double> gap;         ///< rate / total rate - 1
  std::optional<double> explains_s;  ///< time that all the work takes at this rate
  double resolution = 0;             ///< relative error that the log's clock allows
  std::size_t logs = 0;              ///< logs that allow it
};

/// Where the number comes from that the log states itself.
struct ScriptNumber {
  Stated stated;  ///< in the unit of the run's rates, where the batch is known
  std::string log;
  std::optional<double> gap;  ///< to the total, when in the same unit
  /// "first redraw of the last step: 2.66 iterations/s x 1024 sequences"; empty = none fits.
  std::string taken;
  std::vector<std::string> also;  ///< other readings that fit the printed digits as well
};

struct ReconciledRun {
  std::string unit;            ///< of every rate: name(RateUnit)
  std::optional<double> work;  ///< sequences (iterations), each counted once
  std::string work_source;     ///< "7038 optimizer steps x 65536 sequences (stated by the user)"
  std::optional<double> seconds;
  std::string seconds_source;
  std::optional<double> rate;  ///< work / seconds
  std::vector<RunPart> parts;
  std::vector<ReconciledEstimate> estimates;  ///< in the order of estimator_names()
  std::vector<ScriptNumber> scripts;          ///< closing statements, at most one a log
  /// Where the time of the logs went, summed; absent unless each of them has time stamps. Spans
  /// only for a single log.
  std::optional<TimeParts> time;
  std::vector<Notice> notices;
};

/// The logs of one run in the order of its restarts; only runs of the kind of the first one count,
/// training before others. Error when there is no run.
[[nodiscard]] Result<ReconciledRun> reconcile_run(std::span<const RunLog> logs,
                                                  const ReconcileOptions& options);

// Training plan: the time that follows from steps, accumulation and a steady rate, next to the
// measured one.

/// One phase as planned. Counts are >= 1, the rate > 0.
struct PlanPhase {
  std::string name;
  std::int64_t steps = 0;  ///< optimizer steps
  std::int64_t gradient_accumulation_steps = 1;
  double iterations_per_second = 0;              ///< micro-steps/s of the whole job, steady
  std::optional<std::int64_t> micro_batch_size;  ///< sequences per GPU and micro-step
  std::optional<std::int64_t> world_size;
  std::optional<double> measured_s;  ///< whole time of the phase, if a run of it was clocked
};

/// Nothing is rounded: a factor taken from rounded seconds is off in the seventh digit.
struct PhaseReckoning {
  PlanPhase phase;
  double calculated_s = 0;          ///< steps x accumulation / rate
  std::optional<double> overhead;   ///< measured / calculated - 1
  double expected_s = 0;            ///< measured, else calculated x the plan's overhead factor
  bool corrected = false;           ///< expected_s is such a product
  std::optional<double> sequences;  ///< steps x micro batch x world x accumulation
  std::optional<double> global_batch_size;
  double share_of_time = 0;                  ///< of the expected seconds of all phases
  std::optional<double> share_of_sequences;  ///< where every phase knows its sequences
};

struct PlanReckoning {
  std::vector<PhaseReckoning> phases;
  double calculated_s = 0, expected_s = 0;  ///< of all phases
  /// Measured over calculated, minus 1, of the measured phases together; the correction of others.
  std::optional<double> overhead;
  std::optional<double> overhead_of_measured;  ///< the same difference as a share of the measured
  std::optional<double> sequences;
};

[[nodiscard]] PlanReckoning reckon(const std::vector<PlanPhase>& phases);

/// {"phases": [{"name": "", "steps": 1, "gradient_accumulation_steps": 1,
///   "iterations_per_second": 1.0, "micro_batch_size": 1, "world_size": 1, "measured_s": 1.0}]}
/// The last three may be absent. Comments are allowed, unknown keys are errors.
[[nodiscard]] Result<std::vector<PlanPhase>> plan_from_json(std::string_view text,
                                                            const std::string& where);
[[nodiscard]] Result<std::vector<PlanPhase>> read_plan(const std::string& path);

}  // namespace bertbench
