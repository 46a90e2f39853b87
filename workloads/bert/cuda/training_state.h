// Weights, gradients and optimizer state in device memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/bert/backend.h"
#include "workloads/bert/cuda/kernels.h"
#include "workloads/bert/cuda/runtime.h"
#include "workloads/bert/parameters.h"

namespace bert::cuda {

/// fp32 weights, gradients and moments in the layout of the model, and the copy of the weights that
/// products read (the weights themselves for fp32).
class TrainingState {
 public:
  [[nodiscard]] static std::int64_t bytes(const ParameterLayout& layout, DType type,
                                          bool inference);
  TrainingState(const ParameterLayout& layout, DType type, bool inference);

  [[nodiscard]] const float* weights() const { return weights_.as<float>(); }
  [[nodiscard]] float* gradients() const { return gradients_.as<float>(); }
  [[nodiscard]] const std::byte* copy() const {
    return type_ == DType::f32 ? weights_.data() : copy_.data();
  }

  /// Synchronous, through a pinned buffer. Writing weights makes their copy anew.
  void read(StateArray array, std::int64_t offset, std::span<float> out, Stream stream);
  void write(StateArray array, std::int64_t offset, std::span<const float> in, Stream stream);

  void zero_gradients(Stream stream);
  /// Queues the sum of squares of all gradients; norm() is the root once `stream` got there.
  void queue_norm(Stream stream);
  [[nodiscard]] double norm() const;

  /// Queues one update. `norm` is that of the gradients as they lie there (LAMB's
  /// pre-normalization), `factor` what they are multiplied by.
  void queue_update(const OptimizerOptions& options, double learning_rate, double factor,
                    double norm, std::int64_t update, Stream stream);

 private:
  [[nodiscard]] Memory& memory(StateArray array);

  DType type_;
  std::int64_t parameters_;
  Memory weights_, gradients_, first_, second_, copy_;
  std::int64_t chunk_count_;
  Memory chunks_, first_chunk_, decays_;
  Memory partial_;  ///< doubles: two a chunk, then the total
  Memory ratios_;
  Memory total_on_host_, staging_;
};

}  // namespace bert::cuda
