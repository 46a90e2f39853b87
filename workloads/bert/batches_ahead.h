// The batches of a rank, one of them made before it is asked for.
#pragma once

#include <array>
#include <cstdint>

#include "workloads/bert/backend.h"
#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/nvtx.h"

namespace bert {

/// Micro-steps are numbered from 0 over the whole training; micro-step m of rank r of W reads the
/// sequences from (m * W + r) * B on, B being the micro-batch's size.
class BatchesAhead {
 public:
  BatchesAhead(const SequenceSource& source, const DataOptions& data, std::int64_t size,
               std::int64_t rank, std::int64_t world)
      : source_(source), data_(data), size_(size), rank_(rank), world_(world) {}

  /// Valid until the next call but one of either function.
  const Batch& of(std::int64_t number) {
    if (ahead_ != number) make(number);
    ahead_ = kNone;
    return at(number);
  }

  /// To be called while a device computes or gradients travel: the host makes the batch, and a
  /// device backend brings it to its device.
  void make_ahead(std::int64_t number, Backend& backend) {
    make(number);
    ahead_ = number;
    backend.prefetch(at(number));
  }

 private:
  Batch& at(std::int64_t number) { return batches_[static_cast<std::size_t>(number % 2)]; }
  void make(std::int64_t number) {
    const NvtxRange range("data");
    fill_batch(source_, data_, (number * world_ + rank_) * size_, size_, at(number));
  }

  static constexpr std::int64_t kNone = -1;
  const SequenceSource& source_;
  const DataOptions& data_;
  std::int64_t size_, rank_, world_;
  std::array<Batch, 2> batches_;  ///< of even and of odd micro-steps
  std::int64_t ahead_ = kNone;
};

}  // namespace bert
