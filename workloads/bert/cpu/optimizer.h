// AdamW and LAMB over flat buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cpu/kernels.h"

namespace bert {

/// The formulas are those of model/adam.h.
class Optimizer {
 public:
  /// Of `shares` ranks that share the moments, the rank-th; whole tensors are not kept together.
  Optimizer(const std::vector<Parameter>& parameters, const Kernels& kernels, int threads,
            int rank = 0, int shares = 1);

  /// The part of the flat buffers that a rank updates, and that its moments are of.
  struct Share {
    std::int64_t begin = 0, size = 0;
  };
  [[nodiscard]] Share share(int rank) const;
  [[nodiscard]] Share share() const { return share(rank_); }  ///< this rank's

  /// Adds up over all ranks, in place; not called where one rank has all.
  using Sum = std::function<void(std::span<double>)>;

  /// Flat buffers of the same layout, `first` and `second` from the share's begin on. Updates the
  /// share. `norm` is the L2 norm of `gradients` as they lie there. `rounded`, or null: gets the
  /// new weights as bf16 numbers while they are in the cache.
  void step(const OptimizerOptions& options, double learning_rate, double gradient_factor,
            double norm, std::int64_t update, const float* gradients, float* weights, float* first,
            float* second, std::uint16_t* rounded, const Sum& sum);

  /// L2 norm of the whole buffer, summed chunk by chunk in a fixed order.
  [[nodiscard]] double norm(const float* values);

 private:
  struct Chunk {
    std::size_t parameter;
    std::int64_t begin, size;
  };
  /// First chunk of the rank, and the one after its last.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> chunks_of(int rank) const;

  std::vector<Parameter> parameters_;
  std::vector<Chunk> chunks_;
  const Kernels& kernels_;
  int threads_, rank_, shares_;
  std::vector<double> squares_;           ///< of a chunk each
  std::vector<LambSums> partial_, sums_;  ///< of a chunk, of a parameter each
};

}  // namespace bert
