// AdamW and LAMB over flat buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cpu/kernels.h"

namespace bert {

/// The formulas are those of model/adam.h.
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
