#include "workloads/bert/core/train_options.h"

#include <algorithm>
#include <cmath>

namespace bert {

double Schedule::learning_rate(std::int64_t step) const {
  if (step <= warmup_steps) {
    return peak * static_cast<double>(step) / static_cast<double>(warmup_steps);
  }
  if (decay == Decay::exponential) {
    return peak * std::pow(rate, static_cast<double>(step - warmup_steps) /
                                     static_cast<double>(rate_steps));
  }
  const double span = static_cast<double>(std::max<std::int64_t>(1, decay_steps - warmup_steps));
  const double done = static_cast<double>(step - 1 - warmup_steps);
  return peak * std::pow(std::max(0.0, 1 - done / span), power);
}

}  // namespace bert
