// `extract --compat dlperf`: a log's number as DLPerf's own script for its framework takes it.
#pragma once

#include <optional>
#include <string>

#include "parsers/core/window_rule.h"
#include "reports/measure/measure.h"

namespace bertbench {

/// Reads the log of each trial again, by the rules of the script (reports/output/dlperf_scripts.h),
/// sets rate, estimator and window to the script's, and summarizes anew. A window "A:B" of the user
/// stands for --warmup_batches and --train_batches. Every defect of a script that changes a number
/// is a notice with the right value; where the script gives none, the trial has none. Formats
/// without such a script, and logs whose place names no topology and batch, keep their number, with
/// a notice.
void apply_dlperf(ResultSet& results, const std::optional<WindowRule>& window,
                  const std::string& base);

}  // namespace bertbench
