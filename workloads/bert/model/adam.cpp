#include "workloads/bert/model/adam.h"

#include <cmath>

#include "workloads/bert/core/backend.h"

namespace bert {

AdamConstants adam_constants(const OptimizerOptions& options, double gradient_factor, double norm,
                             std::int64_t update) {
  AdamConstants adam;
  adam.beta1 = static_cast<float>(options.beta1);
  adam.beta2 = static_cast<float>(options.beta2);
  adam.one_minus_beta1 = static_cast<float>(1 - options.beta1);
  adam.one_minus_beta2 = static_cast<float>(1 - options.beta2);
  adam.epsilon = static_cast<float>(options.epsilon);
  const bool normalize =
      options.kind == OptimizerOptions::Kind::lamb && options.grad_pre_normalization;
  const double factor = normalize ? (norm > 0 ? 1 / norm : 1) : gradient_factor;
  adam.gradient_factor = static_cast<float>(factor);
  if (options.bias_correction) {
    const auto t = static_cast<double>(update);
    adam.first_correction = static_cast<float>(1 / (1 - std::pow(options.beta1, t)));
    adam.second_correction_root = static_cast<float>(1 / std::sqrt(1 - std::pow(options.beta2, t)));
  }
  return adam;
}

}  // namespace bert
