// What AdamW and LAMB take the same of every parameter of one update.
//
// With g the gradient times its factor, t the number of the update and all of it per element:
//
//   m = beta1 m + (1 - beta1) g          mhat = m / (1 - beta1^t)
//   v = beta2 v + (1 - beta2) g^2        vhat = v / (1 - beta2^t)
//
// Without bias correction mhat = m and vhat = v.
//
// AdamW (Loshchilov and Hutter 2019, algorithm 2, in the form of torch.optim.AdamW):
//   w = w (1 - lr decay) - lr mhat / (sqrt(vhat) + epsilon)
//
// LAMB (You et al. 2020, algorithm 2, phi = identity), per tensor:
//   u = mhat / (sqrt(vhat) + epsilon) + decay w
//   w = w - lr r u,  r = |w| / |u|, or 1 where either norm is 0
// Tensors without decay (biases, LayerNorm) take r = 1 unless trust_ratio_without_decay (apex
// FusedLAMB use_nvlamb). min_trust and max_trust, where not 0, bound r (DeepSpeed min_coeff,
// max_coeff); where r = 1 is set because the ratio is off, they do not act.
// grad_pre_normalization divides g by the global norm (NVLAMB, NVIDIA 2019, "A guide to optimizer
// implementation for BERT at scale"); gradient_factor is then not used, as any scale of the
// gradient cancels.
#pragma once

#include <cstdint>

namespace bert {

struct OptimizerOptions;

/// Nothing of the standard library: the kernels that are built per instruction set include it.
struct AdamConstants {
  float beta1 = 0, beta2 = 0;
  float one_minus_beta1 = 0, one_minus_beta2 = 0;  ///< rounded once from double
  float gradient_factor = 1;
  float first_correction = 1;        ///< 1 / (1 - beta1^t)
  float second_correction_root = 1;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
};

/// `norm` is that of the gradients in the buffer, before `gradient_factor`.
[[nodiscard]] AdamConstants adam_constants(const OptimizerOptions& options, double gradient_factor,
                                           double norm, std::int64_t update);

}  // namespace bert
