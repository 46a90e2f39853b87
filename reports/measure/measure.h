// Measuring: run log -> trial. Pure functions on values; nothing is printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/facts.h"
#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"
#include "parsers/core/window_rule.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// Memory in the words of a trainer that ran out of it.
/// What was wanted and what there was, as the line of an out-of-memory failure states it:
///   bert_train  "... needs 4096 MiB of memory, 1024 MiB are available"
///   PyTorch     "Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 13.40 GiB already
///               allocated ..." and "... GPU 0 has a total capacity of 79.15 GiB ... this process
///               has 77.90 GiB memory in use"; the peak is what was held plus what was asked for
/// None when the text holds no such numbers.
[[nodiscard]] std::optional<MemoryRecord> memory_of_failure(std::string_view text);

struct MeasureOptions {
  Facts given;        ///< facts of the command line, trusted above the log's and the path's
  WindowRule window;  ///< default `auto`
  /// Of a trial that others ended before it had done these: `auto` is not covered by less than
  /// half. 0: any log is taken.
  std::int64_t planned_steps = 0;
  std::string estimator;  ///< name of an estimator; empty = the default order of estimators.h
  std::vector<std::string> windows_of;  ///< other tools, of window_tools(): a notice of each
  bool compat_dlperf = false;           ///< round as the published DLPerf tables were rounded
  /// Leaves out of a trial what a table of cells does not show and no notice follows from: step
  /// times, parts of the time, the rate's interval, reconciliation.
  bool summary_only = false;
  std::string
      base;  ///< base of speedups: a cell's key or a topology ("1n8g"); empty = world size 1
  /// The base has the same global batch (a sweep of strong scaling), even where the grid also holds
  /// one with the same sequences a GPU.
  bool strong_scaling = false;
  std::string flops_formula;  ///< a key of flops_formulas() (stats/flops.h); empty = the default
};

/// One run log under one window. `merged` are the facts that hold for the run (given > log > path).
/// Never fails: what the log does not allow is absent, with a notice of the reason.
[[nodiscard]] Trial measure_trial(const RunLog& log, const Facts& merged,
                                  const MeasureOptions& options);

}  // namespace bertbench
