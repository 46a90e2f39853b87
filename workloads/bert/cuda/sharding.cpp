#include "workloads/bert/cuda/sharding.h"

#include <algorithm>

namespace bert::cuda {
namespace {

std::int64_t up(std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; }

}  // namespace

std::int64_t ShardPlan::padded(std::int64_t total, int world) {
  return world == 1 ? total : up(total, std::int64_t{8} * world);
}

ShardPlan::ShardPlan(std::int64_t total, std::int64_t bucket_elements, int rank, int world)
    : padded_(padded(total, world)),
      bucket_(up(std::max<std::int64_t>(1, bucket_elements), world == 1 ? 1 : 8 * world)),
      rank_(rank),
      world_(world) {
  for (std::int64_t end = padded_; end > 0; end -= bucket_) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - bucket_);
    buckets_.push_back({begin, end - begin});
  }
  std::reverse(buckets_.begin(), buckets_.end());
  std::int64_t local = 0;
  for (const GradientRange& bucket : buckets_) {
    const std::int64_t size = bucket.size / world;
    own_.push_back({bucket.offset + rank * size, size, local});
    local += size;
  }
}

}  // namespace bert::cuda
