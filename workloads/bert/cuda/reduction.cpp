#include "workloads/bert/cuda/reduction.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bert::cuda {

Reduction::Reduction(DeviceCommunicator& communicator, const ReductionOptions& options,
                     ShardPlan plan)
    : communicator_(communicator),
      plan_(std::move(plan)),
      bucket_elements_(plan_.world() > 1
                           ? plan_.bucket_elements()
                           : options.bucket_bytes / static_cast<std::int64_t>(sizeof(float))) {}

void Reduction::begin(float* gradients, std::int64_t size) {
  gradients_ = gradients;
  planner_.emplace(plan_.padded_total(), bucket_elements_);
  used_ = 0;
  gathered_ = false;
  // What rounds the buffer up is zeros, and ready; less than a bucket, so none comes of it.
  static_cast<void>(planner_->add(size, plan_.padded_total() - size));
}

void Reduction::ready(std::int64_t offset, std::int64_t size, Stream compute) {
  for (const GradientRange& range : planner_->add(offset, size)) {
    if (used_ == buckets_.size()) buckets_.emplace_back();
    Bucket& bucket = buckets_[used_++];
    bucket.ready.record(compute);
    bucket.ready.wait_on(stream_.get());
    bucket.begun.record(stream_.get());
    float* values = gradients_ + range.offset;
    if (plan_.world() > 1) {
      const std::int64_t own = range.size / plan_.world();
      communicator_.queue_reduce_scatter_sum(values, values + plan_.rank() * own, own,
                                             DeviceType::f32, stream_.get());
    } else {
      communicator_.queue_all_reduce_sum(values, range.size, DeviceType::f32, stream_.get());
    }
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

void Reduction::sum(double* values, std::int64_t count, Stream compute) {
  communicator_.queue_all_reduce_sum(values, count, DeviceType::f64, compute);
}

void Reduction::gather(const float* own, float* whole, std::int64_t count, Stream compute) {
  communicator_.queue_all_gather(own, whole, count, DeviceType::f32, compute);
}

void Reduction::gather_weights(float* weights, Stream compute) {
  gather_begun_.record(compute);
  for (std::size_t i = 0; i < plan_.buckets().size(); ++i) {
    const ShardPlan::Range& own = plan_.own()[i];
    gather(weights + own.begin, weights + plan_.buckets()[i].offset, own.size, compute);
  }
  gather_done_.record(compute);
  gathered_ = true;
}

void Reduction::wait(const Event& event) {
  communicator_.wait([&] { return event.reached(); });
}

double Reduction::gather_seconds() const {
  return gathered_ ? gather_done_.seconds_since(gather_begun_) : 0;
}

double Reduction::busy_seconds() const {
  double total = gather_seconds();
  for (std::size_t i = 0; i < used_; ++i) {
    total += buckets_[i].done.seconds_since(buckets_[i].begun);
  }
  return total;
}

double Reduction::exposed_seconds() const {
  if (used_ == 0) return 0;
  return std::max(0.0, buckets_[used_ - 1].done.seconds_since(backward_done_)) + gather_seconds();
}

}  // namespace bert::cuda
