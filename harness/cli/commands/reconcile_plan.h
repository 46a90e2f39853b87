// The answer of `reconcile --plan`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reports/studies/reconcile/training_plan.h"

namespace bertbench {

class Console;

[[nodiscard]] nlohmann::ordered_json plan_to_json(const PlanReckoning& plan);
void print_plan(Console& console, const PlanReckoning& plan);

}  // namespace bertbench
