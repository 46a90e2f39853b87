// Batches on their way to the device.
#pragma once

#include <array>

#include "workloads/bert/backend.h"
#include "workloads/bert/cuda/runtime.h"
#include "workloads/bert/cuda/step.h"

namespace bert::cuda {

/// Two pinned buffers in turn, so that the host fills one while the other is copied. Grows for
/// batches with more masked positions than planned.
class BatchUpload {
 public:
  /// Bytes of one batch, its row lists included.
  [[nodiscard]] static std::int64_t bytes(const BackendOptions& options,
                                          std::int64_t masked_per_sequence);
  BatchUpload(const BackendOptions& options, std::int64_t masked_per_sequence);

  /// Queues the copy. The device side is valid for work queued on the stream until the next call.
  [[nodiscard]] DeviceBatch upload(const Batch& batch, const ModelConfig& model, Stream stream);

 private:
  struct Slot {
    Memory host;
    Event copied;
    bool used = false;
  };
  std::array<Slot, 2> slots_;
  Memory device_;
  std::size_t next_ = 0;
};

}  // namespace bert::cuda
