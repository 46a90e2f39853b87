// Sums gradients over ranks on a stream of its own while backward goes on.
#pragma once

#include <optional>
#include <vector>

#include "workloads/bert/backend.h"
#include "workloads/bert/comm/bucket_planner.h"
#include "workloads/bert/comm/device_communicator.h"
#include "workloads/bert/cuda/runtime.h"

namespace bert::cuda {

class Reduction {
 public:
  Reduction(DeviceCommunicator& communicator, const ReductionOptions& options);

  /// Of one step: begin(), ready() for each range from the end of the buffer to its start, end().
  void begin(float* gradients, std::int64_t size);
  /// What was queued on `compute` before completes the range.
  void ready(std::int64_t offset, std::int64_t size, Stream compute);
  /// Work queued on `compute` from now on waits for the sums.
  void end(Stream compute);

  /// Blocks the host until `event`, which may stand behind collectives; throws on a dead peer.
  void wait(const Event& event);

  /// Of the last step, once it is done: seconds inside collectives, and after backward's end.
  [[nodiscard]] double busy_seconds() const;
  [[nodiscard]] double exposed_seconds() const;

 private:
  struct Bucket {
    Event ready{true}, begun{true}, done{true};
  };
  DeviceCommunicator& communicator_;
  std::int64_t bucket_elements_;
  OwnedStream stream_{true};
  float* gradients_ = nullptr;
  std::optional<BucketPlanner> planner_;
  std::vector<Bucket> buckets_;  ///< made once, used in every step
  std::size_t used_ = 0;
  Event backward_done_{true};
};

}  // namespace bert::cuda
