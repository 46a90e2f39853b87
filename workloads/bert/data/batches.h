// Batches made of the sequences of a source.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/data/sequence_source.h"

namespace bert {

/// Lays out `count` sequences from `first_sequence` on and masks them as Devlin et al. 2018: of
/// the masked positions 80 % become [MASK], 10 % a random token, 10 % stay. With next_word there is
/// only text and its labels. Reuses `batch`.
void fill_batch(const SequenceSource& source, const DataOptions& options,
                std::int64_t first_sequence, std::int64_t count, Batch& batch);

/// The batches of a rank, the next one made before it is needed. Micro-steps are numbered from 0
/// over the whole training; micro-step m of rank r of W reads the sequences from (m * W + r) * B
/// on, B being the micro-batch's size.
class BatchesAhead {
 public:
  BatchesAhead(const SequenceSource& source, const DataOptions& data, std::int64_t size,
               std::int64_t rank, std::int64_t world)
      : source_(source), data_(data), size_(size), rank_(rank), world_(world) {}

  /// Valid until the next call but one of either function.
  const Batch& of(std::int64_t number);

  /// To be called while a device computes or gradients are sent: the host makes the batch, and a
  /// device backend copies it to its device.
  void make_ahead(std::int64_t number, Backend& backend);

  /// Seconds that batches took to make since the last call.
  [[nodiscard]] double take_seconds() { return std::exchange(seconds_, 0.0); }

 private:
  static constexpr std::int64_t kNone = -1;
  Batch& make(std::int64_t number);

  const SequenceSource& source_;
  const DataOptions& data_;
  std::int64_t size_, rank_, world_;
  std::array<Batch, 2> batches_;  ///< of even and of odd micro-steps
  std::int64_t ahead_ = kNone;
  double seconds_ = 0;
};

}  // namespace bert
