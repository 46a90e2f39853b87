// Reconciliation: every throughput that a run's logs allow, next to all its work over all its time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  std::optional<std::int64_t> first_step, last_step;  ///< optimizer steps first < n <= last
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
  Stated stated;
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

}  // namespace bertbench
