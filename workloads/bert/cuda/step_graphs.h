// The work of micro-steps as CUDA graphs: one launch each for forward and backward, where the host
// else makes hundreds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "workloads/bert/cuda/device/runtime.h"

namespace bert::cuda {

class StepGraphs {
 public:
  /// Micro-steps of one kind queue the same work with the same arguments, but for what kernels find
  /// in StepValues.
  struct Kind {
    const void* batch = nullptr;  ///< where it lies: in one of two places
    std::int64_t sequences = 0, length = 0, masked_rows = 0;
    bool training = false, accumulate = false, casts_weights = false;
    // Of a library's attention; the kernels do with the lengths.
    bool padded = false;
    const void* scratch = nullptr;
    auto operator<=>(const Kind&) const = default;
  };
  /// Queues a micro-step, and calls its argument between forward and backward.
  using Queue = std::function<void(const std::function<void()>& forward_done)>;

  /// Queues a micro-step. The first of its kind comes call by call, which chooses algorithms, loads
  /// kernels and gets libraries their memory; the second is recorded, and like all later ones comes
  /// as two graphs. True: it came without a call of `queue`.
  bool run(const Kind& kind, Stream stream, const Queue& queue,
           const std::function<void()>& forward_done);

  /// Addresses have changed.
  void clear() { graphs_.clear(); }

 private:
  struct Graphs {
    bool recorded = false;
    Graph forward, backward;
  };
  static void record(Graphs& graphs, Stream stream, const Queue& queue);

  std::map<Kind, Graphs> graphs_;
};

}  // namespace bert::cuda
