// Batches on their way to the device.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/cuda/step.h"

namespace bert::cuda {

/// DeviceRuns on the host. Targets ascend; sources of one run ascend. So the device adds up rows
/// without atomics.
struct RowRuns {
  std::vector<std::int32_t> targets, starts, sources;
};

/// Row r goes to target keys[r], 0 <= key < keys_end. Linear time (counting sort). Up to `runs`
/// runs of no rows, whose targets are keys that no row has, make that many runs of fewer.
[[nodiscard]] RowRuns runs_by_key(std::span<const std::int32_t> keys, std::int64_t keys_end,
                                  std::int64_t runs = 0);

/// Rows that unpadded activations have for `tokens` of a batch that has room for `capacity`: up to
/// the next of about 16 sizes, so that products have few shapes to search algorithms for.
[[nodiscard]] std::int64_t unpadded_rows(std::int64_t tokens, std::int64_t capacity);

/// Two slots of pinned and of device memory in turn, and a stream for copies: one batch is packed
/// and copied while the device computes on the other. Work on a batch, as far as it was queued, is
/// to be done before this goes away.
class BatchUpload {
 public:
  /// Device memory for both slots, row lists included.
  [[nodiscard]] static std::int64_t bytes(const BackendOptions& options,
                                          std::int64_t masked_per_sequence);
  /// `one_shape`: lists of equally many runs for all batches of the same shape, without --unpadded,
  /// so that their addresses and the kernels' grids are the same.
  BatchUpload(const BackendOptions& options, std::int64_t masked_per_sequence,
              bool one_shape = false);
  ~BatchUpload();
  BatchUpload(const BatchUpload&) = delete;
  BatchUpload& operator=(const BatchUpload&) = delete;

  /// Packs the batch that upload() will be called with and queues its copy while other work runs.
  /// Throws std::invalid_argument when, unpadded, a masked position is padding.
  void prefetch(const Batch& batch, const ModelConfig& model);

  /// The batch for work queued on `stream` from here on to the next call, which is to be of the
  /// same stream. Of a batch that was not the last one prefetched, prefetch() comes first.
  [[nodiscard]] DeviceBatch upload(const Batch& batch, const ModelConfig& model, Stream stream);

 private:
  struct Slot {
    Memory host, device;
    Event copied;    ///< of the copy into `device`
    Event released;  ///< of the last work on what was in `device`
    bool used = false, lent = false;
    DeviceBatch batch;
  };
  [[nodiscard]] const Batch& without_padding(const Batch& batch, DeviceBatch& out);
  /// Bytes packed into slot.host; slot.batch points to where they will be on the device.
  std::int64_t pack(const Batch& batch, const ModelConfig& model, Slot& slot);

  OwnedStream copies_;
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;               ///< the slot of the next batch
  const Batch* prefetched_ = nullptr;  ///< what is in it already
  bool unpadded_, one_shape_;
  std::int64_t capacity_;  ///< rows
  Batch packed_;
  std::vector<std::int32_t> places_;
};

}  // namespace bert::cuda
