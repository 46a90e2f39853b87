// Batches on their way to the device.
#pragma once

#include <array>
#include <vector>

#include "workloads/bert/backend.h"
#include "workloads/bert/cuda/runtime.h"
#include "workloads/bert/cuda/step.h"

namespace bert::cuda {

/// Rows that unpadded activations have for `tokens` of a batch that has room for `capacity`: up to
/// the next of about 16 sizes, so that products have few shapes to search algorithms for.
[[nodiscard]] std::int64_t unpadded_rows(std::int64_t tokens, std::int64_t capacity);

/// Two pinned buffers in turn, so that the host fills one while the other is copied. Grows for
/// batches with more masked positions than planned.
class BatchUpload {
 public:
  /// Bytes of one batch, its row lists included.
  [[nodiscard]] static std::int64_t bytes(const BackendOptions& options,
                                          std::int64_t masked_per_sequence);
  BatchUpload(const BackendOptions& options, std::int64_t masked_per_sequence);

  /// Queues the copy. Throws std::invalid_argument when, unpadded, a masked position is padding.
  /// The device side is valid for work queued on the stream until the next call.
  [[nodiscard]] DeviceBatch upload(const Batch& batch, const ModelConfig& model, Stream stream);

 private:
  [[nodiscard]] const Batch& without_padding(const Batch& batch, DeviceBatch& out);

  struct Slot {
    Memory host;
    Event copied;
    bool used = false;
  };
  std::array<Slot, 2> slots_;
  Memory device_;
  std::size_t next_ = 0;
  bool unpadded_;
  std::int64_t capacity_;  ///< rows
  Batch packed_;
  std::vector<std::int32_t> places_;
};

}  // namespace bert::cuda
