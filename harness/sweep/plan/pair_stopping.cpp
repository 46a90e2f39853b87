#include "harness/sweep/plan/pair_stopping.h"

#include <set>

#include "reports/gate/paired.h"

namespace bertbench {

std::optional<StoppingRule> stopping_rule_for(const Plan& plan) {
  const SweepConfig& config = plan.config;
  if (!config.auto_trials || config.variants.empty()) return std::nullopt;
  std::set<std::size_t> points;
  for (const auto& trial : plan.trials) points.insert(plan.cells[trial.cell].grid_point);
  return StoppingRule{.rule = kStoppingRule,
                      .base = config.variants.front().name,
                      .looks = stopping_looks(config.trials),
                      .tests = static_cast<int>(points.size() * (config.variants.size() - 1)),
                      .alpha = GateOptions{}.alpha,
                      .floor = kPairedFloor,
                      .loss = 0.02};
}

}  // namespace bertbench
