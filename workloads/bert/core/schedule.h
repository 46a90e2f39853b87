// Schedule: the learning rate of each optimizer step.
#pragma once

#include <cstdint>

namespace bert {

/// Linear warm-up, then polynomial decay to zero, as BERT is trained (power 1 in Devlin et al.,
/// 0.5 in NVIDIA's LAMB recipe), or exponential decay (DeepSpeed's bing_bert).
struct Schedule {
  enum class Decay { polynomial, exponential };
  double peak = 1e-4;             ///< learning rate at the end of the warm-up
  std::int64_t warmup_steps = 0;  ///< optimizer steps
  std::int64_t decay_steps = 1;   ///< optimizer steps in all, warm-up included; zero after these
  double power = 1;               ///< 0 = constant after the warm-up
  Decay decay = Decay::polynomial;
  double rate = 0.9;               ///< exponential: factor for each rate_steps
  std::int64_t rate_steps = 1000;  ///< optimizer steps

  /// Learning rate of optimizer step `step`, counted from 1:
  ///   step <= warmup:  peak * step / warmup
  ///   polynomial:      peak * (1 - (step - 1 - warmup) / (decay - warmup)) ^ power, at least 0
  ///   exponential:     peak * rate ^ ((step - warmup) / rate_steps)
  /// The last is warmup_linear_decay_exp of DeepSpeedExamples/bing_bert, whose steps count from 0.
  [[nodiscard]] double learning_rate(std::int64_t step) const;
};

}  // namespace bert
