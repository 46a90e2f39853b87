#include "harness/sweep/plan/pair_stopping.h"

#include <algorithm>
#include <set>

#include "reports/gate/paired.h"

namespace bertbench {

std::optional<StoppingRule> stopping_rule_for(const Plan& plan) {
  const SweepConfig& config = plan.config;
  if (!config.auto_trials || config.variants.empty()) return std::nullopt;
  const std::string& base = config.variants.front().name;
  std::set<std::size_t> others;  // cells that are held against the base
  for (const auto& trial : plan.trials) {
    if (plan.cells[trial.cell].identity.axes.at(kVariantAxis) != base) others.insert(trial.cell);
  }
  return StoppingRule{.base = base,
                      .looks = stopping_looks(config.trials),
                      .tests = std::max(1, static_cast<int>(others.size())),
                      .alpha = GateOptions{}.alpha,
                      .floor = kPairedFloor};
}

}  // namespace bertbench
