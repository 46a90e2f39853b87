// BucketPlanner: turns gradient ranges, as backward finishes them, into buckets for all-reduce.
#pragma once

#include <cstdint>
#include <vector>

namespace bert {

struct GradientRange {
  std::int64_t offset = 0;  ///< elements
  std::int64_t size = 0;    ///< elements
  friend bool operator==(const GradientRange&, const GradientRange&) = default;
};

/// Ranges arrive from the end of the buffer towards its start and join without gaps. Every bucket
/// but the last holds exactly bucket_elements, so where buckets begin depends on the size of the
/// model alone: all ranks agree on them whatever the grain of their backward pass.
class BucketPlanner {
 public:
  BucketPlanner(std::int64_t total_elements, std::int64_t bucket_elements);
  /// Buckets that are complete now. The range that reaches offset 0 also yields the rest.
  /// Throws std::logic_error when the range does not join the one before.
  [[nodiscard]] std::vector<GradientRange> add(std::int64_t offset, std::int64_t size);
  [[nodiscard]] bool finished() const { return sent_ == 0; }

 private:
  std::int64_t bucket_;
  std::int64_t ready_;  ///< everything from here to the end of the buffer is final
  std::int64_t sent_;   ///< everything from here on has been handed out
};

}  // namespace bert
