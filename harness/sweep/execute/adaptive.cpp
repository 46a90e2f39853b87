#include "harness/sweep/execute/adaptive.h"

#include "reports/stats/summary.h"

namespace bertbench {

bool repeats_if_launched_again(Status status) {
  return status == Status::out_of_memory || status == Status::nan;
}

bool begins_hopeless(const std::function<const Trial*(int)>& decided) {
  for (int number = 1;; ++number) {
    const Trial* trial = decided(number);
    if (trial == nullptr || trial->window.covered) return false;
    if (repeats_if_launched_again(trial->outcome.status)) return true;
  }
}

bool enough_trials(std::span<const double> rates, int launches, bool hopeless,
                   const AdaptiveRule& rule) {
  if (launches >= rule.most) return true;
  if (hopeless && rates.empty()) return true;
  if (rates.empty()) return launches >= rule.least;
  if (static_cast<int>(rates.size()) < rule.least) return false;
  const auto interval = median_interval(rates);
  return interval && interval->high - interval->low <= rule.interval * median(rates);
}

}  // namespace bertbench
