// What the iteration times of one run look like: steady state, periodic work, how well the run's
// own scatter fixes its rate. Fills Trial::steady_state, periodic, rate_interval and
// time_parts.
#pragma once

#include "parsers/core/run_log.h"
#include "reports/model/result_set.h"
#include "reports/stats/window.h"

namespace bertbench {

/// Call when the trial's rate and estimator are set. The smoothed rates of a bar do not show how
/// steady a run was, so a log with no other times is left out. Adds notices where the window's mean
/// lies more than 1 % off the steady level, where the run slows down, and where it has no steady
/// state. `notices_only`: leaves out time_parts and rate_interval, which no notice needs.
void describe_series(const RunLog& log, const Window& window, Trial& trial,
                     bool notices_only = false);

}  // namespace bertbench
