// What most log styles print of losses: their means over the steps since the last line.
#pragma once

#include <cstdint>

#include "workloads/bert/log_styles/log_style.h"

namespace bert {

/// Sums of the steps since the last line. Means of no step are not defined.
class IntervalLosses {
 public:
  void add(const StepFacts& facts) {
    ++steps_;
    loss_ += facts.loss;
    masked_lm_ += facts.masked_lm;
    next_sentence_ += facts.next_sentence;
  }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] double mean_loss() const { return loss_ / static_cast<double>(steps_); }
  [[nodiscard]] double mean_masked_lm() const { return masked_lm_ / static_cast<double>(steps_); }
  [[nodiscard]] double mean_next_sentence() const {
    return next_sentence_ / static_cast<double>(steps_);
  }

 private:
  std::int64_t steps_ = 0;
  double loss_ = 0, masked_lm_ = 0, next_sentence_ = 0;
};

}  // namespace bert
