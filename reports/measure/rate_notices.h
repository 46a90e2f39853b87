// What the other estimates of a log say against the one that is used.
#pragma once

#include <cstddef>
#include <span>

#include "reports/measure/estimators.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// Adds notices to `trial` where the log's clock or its own closing rate is far from `chosen`,
/// which is one of `estimates` (all in one unit). `records`: in the window.
void say_other_rates(std::span<const Estimate> estimates, const Estimate& chosen,
                     std::size_t records, Trial& trial);

/// Adds a notice where counter_clock leaves out a jump of the clock.
void report_clock_jump(const RunLog& log, const Window& window, Trial& trial);

}  // namespace bertbench
