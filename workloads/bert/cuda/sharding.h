// ZeRO-1 (Rajbhandari et al. 2020): each rank keeps the moments of a share of the parameters and
// updates that share alone.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/bert/comm/bucket_planner.h"

namespace bert::cuda {

/// Which elements a rank owns: of every bucket of the gradient buffer its rank-th part, so that a
/// bucket can be reduce-scattered as soon as backward has finished it. The buffers are rounded up
/// to a multiple of 8 * world elements; buckets are cut from the end, as BucketPlanner does it.
class ShardPlan {
 public:
  struct Range {
    std::int64_t begin = 0;  ///< in the whole buffer
    std::int64_t size = 0;
    std::int64_t local = 0;  ///< in an array of the share alone
  };

  ShardPlan(std::int64_t total, std::int64_t bucket_elements, int rank, int world);

  /// One rank that owns all, in one range.
  static ShardPlan whole(std::int64_t total) { return {total, total, 0, 1}; }

  [[nodiscard]] static std::int64_t padded(std::int64_t total, int world);
  [[nodiscard]] std::int64_t padded_total() const { return padded_; }
  [[nodiscard]] std::int64_t share() const { return padded_ / world_; }
  [[nodiscard]] std::int64_t bucket_elements() const { return bucket_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int world() const { return world_; }
  /// Buckets and this rank's part of each, by ascending offset.
  [[nodiscard]] const std::vector<GradientRange>& buckets() const { return buckets_; }
  [[nodiscard]] const std::vector<Range>& own() const { return own_; }

 private:
  std::int64_t padded_, bucket_;
  int rank_, world_;
  std::vector<GradientRange> buckets_;
  std::vector<Range> own_;
};

}  // namespace bert::cuda
