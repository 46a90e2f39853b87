// Moments of which every rank holds a share, as one array.
#pragma once

#include <functional>
#include <span>

#include "workloads/bert/cuda/reduction.h"
#include "workloads/bert/cuda/training_state.h"

namespace bert::cuda {

/// Collective: fills `out` with elements offset .. of the whole array on every rank. `wait` blocks
/// until the device has done what is queued, collectives included.
void read_sharded(TrainingState& state, Reduction& reduction, StateArray array, std::int64_t offset,
                  std::span<float> out, Stream stream, const std::function<void()>& wait);

/// Keeps what is this rank's of elements offset .. of the whole array.
void write_sharded(TrainingState& state, const ShardPlan& plan, StateArray array,
                   std::int64_t offset, std::span<const float> in, Stream stream);

}  // namespace bert::cuda
