// Weights, gradients and optimizer state in device memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/cuda/kernels/kernels.h"
#include "workloads/bert/cuda/reduction.h"
#include "workloads/bert/cuda/sharding.h"
#include "workloads/bert/model/parameters.h"

namespace bert::cuda {

/// Sums doubles in device memory over the ranks that share the parameters among them; empty: alone.
using SumOverRanks = std::function<void(double* values, std::int64_t count)>;

/// fp32 weights, gradients and moments in the layout of the model, and the copy of the weights that
/// products read (the weights themselves for fp32). Under ZeRO-1 the moments are those of a share.
class TrainingState {
 public:
  [[nodiscard]] static std::int64_t bytes(const ParameterLayout& layout, DType type, bool inference,
                                          int shares);
  /// `shares`: ranks that the moments are divided among.
  TrainingState(const ParameterLayout& layout, DType type, bool inference, int shares);
  /// Before the first update, when there are shares: which of them is this rank's. Alone: all.
  void take_share(const ParameterLayout& layout, const ShardPlan& plan);

  [[nodiscard]] float* weights() const { return weights_.as<float>(); }
  [[nodiscard]] float* gradients() const { return gradients_.as<float>(); }
  [[nodiscard]] const std::byte* copy() const {
    return type_ == DType::f32 ? weights_.data() : copy_.data();
  }

  /// Synchronous, through a pinned buffer. Writing weights makes their copy anew. Offsets into
  /// moments are those of the share.
  void read(StateArray array, std::int64_t offset, std::span<float> out, Stream stream);
  void read(const float* from, std::span<float> out, Stream stream);
  void write(StateArray array, std::int64_t offset, std::span<const float> in, Stream stream);
  /// Moments of which every rank has a share, as one array. Collective: fills `out` with elements
  /// offset .. of the whole on every rank; `wait` blocks until the device has done what is queued,
  /// collectives included.
  void read_shared(Reduction& reduction, StateArray array, std::int64_t offset,
                   std::span<float> out, Stream stream, const std::function<void()>& wait);
  /// Keeps what is this rank's of elements offset .. of the whole.
  void write_shared(const ShardPlan& plan, StateArray array, std::int64_t offset,
                    std::span<const float> in, Stream stream);
  /// The copy that products read, of all weights.
  void queue_copy(std::int64_t elements, Stream stream);

  void zero_gradients(Stream stream);
  /// Queues the sum of squares of all gradients; norm() is the root once `stream` got there.
  void queue_norm(const SumOverRanks& sum, Stream stream);
  [[nodiscard]] double norm() const;

  /// Queues one update. `norm` is that of the gradients as they lie there (LAMB's
  /// pre-normalization), `factor` what they are multiplied by.
  void queue_update(const OptimizerOptions& options, double learning_rate, double factor,
                    double norm, std::int64_t update, const SumOverRanks& sum, Stream stream);

 private:
  [[nodiscard]] Memory& memory(StateArray array);

  DType type_;
  std::int64_t parameters_;
  Memory weights_, gradients_, first_, second_, copy_;
  std::int64_t chunk_count_ = 0;
  Memory chunks_, first_chunk_, decays_;
  Memory partial_;  ///< doubles: two a chunk, then the total
  Memory ratios_, parameter_sums_;
  Memory total_on_host_, staging_;
};

}  // namespace bert::cuda
