// AdamW and LAMB over flat buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/bert/backend.h"
#include "workloads/bert/cpu/kernels.h"

namespace bert {

/// What is the same for every range of one step; `norm` is that of the gradients as they lie there.
[[nodiscard]] AdamRange adam_constants(const OptimizerOptions& options, double gradient_factor,
                                       double norm, std::int64_t update);

/// With g the gradient times its factor, t the update and all of it per element:
///
///   m = beta1 m + (1 - beta1) g          mhat = m / (1 - beta1^t)
///   v = beta2 v + (1 - beta2) g^2        vhat = v / (1 - beta2^t)
///
/// Without bias correction mhat = m and vhat = v.
///
/// AdamW (Loshchilov and Hutter 2019, algorithm 2, in the form of torch.optim.AdamW):
///   w = w (1 - lr decay) - lr mhat / (sqrt(vhat) + epsilon)
///
/// LAMB (You et al. 2020, algorithm 2, phi = identity), per tensor:
///   u = mhat / (sqrt(vhat) + epsilon) + decay w
///   w = w - lr r u,  r = |w| / |u|, or 1 where either norm is 0
/// Tensors without decay (biases, LayerNorm) take r = 1 unless trust_ratio_without_decay (apex
/// FusedLAMB use_nvlamb). min_trust and max_trust, where not 0, bound r (DeepSpeed min_coeff,
/// max_coeff); where r = 1 is set because the ratio is off, they do not act.
/// grad_pre_normalization divides g by the global norm (NVLAMB, NVIDIA 2019, "A guide to
/// optimizer implementation for BERT at scale"); gradient_factor is then not used, as any scale
/// of the gradient cancels.
class Optimizer {
 public:
  Optimizer(const std::vector<Parameter>& parameters, const Kernels& kernels, int threads);

  /// Flat buffers of the same layout. `norm` is the L2 norm of `gradients` as they lie there.
  void step(const OptimizerOptions& options, double learning_rate, double gradient_factor,
            double norm, std::int64_t update, const float* gradients, float* weights, float* first,
            float* second) const;

  /// L2 norm of the whole buffer, summed chunk by chunk in a fixed order.
  [[nodiscard]] double norm(const float* values) const;

 private:
  struct Chunk {
    std::size_t parameter;
    std::int64_t begin, size;
  };
  std::vector<Parameter> parameters_;
  std::vector<Chunk> chunks_;
  const Kernels& kernels_;
  int threads_;
};

}  // namespace bert
