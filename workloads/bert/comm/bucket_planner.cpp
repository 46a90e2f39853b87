#include "workloads/bert/comm/bucket_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace bert {

BucketPlanner::BucketPlanner(std::int64_t total_elements, std::int64_t bucket_elements)
    : bucket_(std::max<std::int64_t>(1, bucket_elements)),
      ready_(total_elements),
      sent_(total_elements) {}

std::vector<GradientRange> BucketPlanner::add(std::int64_t offset, std::int64_t size) {
  if (offset < 0 || size < 0 || offset + size != ready_) {
    throw std::logic_error(
        fmt::format("gradient range [{}, {}) does not join the one before, which began at {}",
                    offset, offset + size, ready_));
  }
  ready_ = offset;
  std::vector<GradientRange> buckets;
  while (sent_ - ready_ >= bucket_) {
    sent_ -= bucket_;
    buckets.push_back({sent_, bucket_});
  }
  if (ready_ == 0 && sent_ > 0) {
    buckets.push_back({0, sent_});
    sent_ = 0;
  }
  return buckets;
}

}  // namespace bert
