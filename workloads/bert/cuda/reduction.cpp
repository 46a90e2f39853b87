#include "workloads/bert/cuda/reduction.h"

#include <algorithm>
#include <stdexcept>

namespace bert::cuda {

Reduction::Reduction(DeviceCommunicator& communicator, const ReductionOptions& options)
    : communicator_(communicator),
      bucket_elements_(options.bucket_bytes / static_cast<std::int64_t>(sizeof(float))) {}

void Reduction::begin(float* gradients, std::int64_t size) {
  gradients_ = gradients;
  planner_.emplace(size, bucket_elements_);
  used_ = 0;
}

void Reduction::ready(std::int64_t offset, std::int64_t size, Stream compute) {
  for (const GradientRange& range : planner_->add(offset, size)) {
    if (used_ == buckets_.size()) buckets_.emplace_back();
    Bucket& bucket = buckets_[used_++];
    bucket.ready.record(compute);
    bucket.ready.wait_on(stream_.get());
    bucket.begun.record(stream_.get());
    communicator_.queue_all_reduce_sum(gradients_ + range.offset, range.size, DeviceType::f32,
                                       stream_.get());
    bucket.done.record(stream_.get());
  }
}

void Reduction::end(Stream compute) {
  if (!planner_->finished()) {
    throw std::logic_error("backward ended before all gradients were reported as ready");
  }
  backward_done_.record(compute);
  if (used_ > 0) buckets_[used_ - 1].done.wait_on(compute);
}

void Reduction::wait(const Event& event) {
  communicator_.wait([&] { return event.reached(); });
}

double Reduction::busy_seconds() const {
  double total = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    total += buckets_[i].done.seconds_since(buckets_[i].begun);
  }
  return total;
}

double Reduction::exposed_seconds() const {
  if (used_ == 0) return 0;
  return std::max(0.0, buckets_[used_ - 1].done.seconds_since(backward_done_));
}

}  // namespace bert::cuda
