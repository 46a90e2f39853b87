// Dynamic loss scaling of fp16.
#pragma once

#include "workloads/bert/core/backend.h"

namespace bert {

/// See LossScaleOptions. Without fp16 the scale is 1 and never moves.
class LossScaler {
 public:
  LossScaler(const LossScaleOptions& options, bool on);
  [[nodiscard]] bool on() const { return on_; }
  [[nodiscard]] double scale() const { return scale_; }
  /// A step ended. `finite`: its gradients were; if not, the step is to be skipped.
  void step(bool finite);

  [[nodiscard]] ScalarState state() const;
  void restore(const ScalarState& state);

 private:
  LossScaleOptions options_;
  bool on_;
  double scale_;
  std::int64_t good_steps_ = 0;
};

}  // namespace bert
