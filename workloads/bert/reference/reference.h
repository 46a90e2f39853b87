// The oracle: one pre-training step in simple loops, in float or double, without any library.
// Slow on purpose; tests compare the real backends with it and it with PyTorch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/bert/core/batch.h"
#include "workloads/bert/core/model_config.h"

namespace bert {

/// Dropout as every backend replays it; see dropout.h.
struct ReferenceDropout {
  bool training = false;
  std::uint64_t seed = 0;
  std::int64_t optimizer_step = 0;
};

template <typename Real>
struct ReferenceStep {
  double masked_lm = 0;
  double next_sentence = 0;
  std::vector<Real> gradients;  ///< of masked_lm + next_sentence, laid out as ParameterLayout
};

/// `weights` are laid out as ParameterLayout states. Instantiated for float and double.
template <typename Real>
ReferenceStep<Real> reference_step(const ModelConfig& model, const Batch& batch,
                                   std::span<const Real> weights, const ReferenceDropout& dropout);

/// Loss alone, for finite differences.
template <typename Real>
double reference_loss(const ModelConfig& model, const Batch& batch, std::span<const Real> weights,
                      const ReferenceDropout& dropout);

}  // namespace bert
