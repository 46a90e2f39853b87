#include "workloads/bert/model/loss_scaler.h"

#include <algorithm>

namespace bert {

LossScaler::LossScaler(const LossScaleOptions& options, bool on)
    : options_(options), on_(on), scale_(on ? options.initial : 1) {}

void LossScaler::step(bool finite) {
  if (!on_ || options_.growth_interval == 0) return;
  if (!finite) {
    scale_ = std::max(options_.minimum, scale_ * options_.backoff);
    good_steps_ = 0;
    return;
  }
  if (++good_steps_ == options_.growth_interval) {
    scale_ *= options_.growth;
    good_steps_ = 0;
  }
}

ScalarState LossScaler::state() const {
  ScalarState state;
  state.loss_scale = on_ ? scale_ : 0;
  state.good_steps = good_steps_;
  return state;
}

void LossScaler::restore(const ScalarState& state) {
  if (!on_ || state.loss_scale <= 0) return;  // written by a run without a scale
  scale_ = state.loss_scale;
  good_steps_ = state.good_steps;
}

}  // namespace bert
