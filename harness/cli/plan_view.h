// sweep --plan: a forecast for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/cli/console.h"
#include "harness/sweep/plan/forecast.h"

namespace bertbench {

void print_forecast(Console& console, const Plan& plan, const Forecast& forecast);
[[nodiscard]] nlohmann::ordered_json forecast_json(const Plan& plan, const Forecast& forecast);

}  // namespace bertbench
