// When the pairs of a sweep with "trials": "auto" end (reports/stats/stopping.h).
#pragma once

#include <optional>

#include "harness/sweep/plan/plan.h"
#include "reports/stats/stopping.h"

namespace bertbench {

/// Of a sweep with variants whose trials are "auto": the variant that is named first is the base.
/// Floor and alpha are the defaults of `check --paired`.
[[nodiscard]] std::optional<StoppingRule> stopping_rule_for(const Plan& plan);

}  // namespace bertbench
