// Sums gradients over ranks on a stream of its own while backward goes on: all-reduces, or with
// shares (ZeRO-1) reduce-scatters, after which a rank has the sums of its share alone.
#pragma once

#include <optional>
#include <vector>

#include "workloads/bert/comm/bucket_planner.h"
#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/device_communicator.h"
#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/cuda/sharding.h"

namespace bert::cuda {

class Reduction {
 public:
  /// `plan` of one rank: nothing is shared out.
  Reduction(DeviceCommunicator& communicator, const ReductionOptions& options, ShardPlan plan);

  [[nodiscard]] const ShardPlan& plan() const { return plan_; }

  /// Of one step: begin(), ready() for each range from the end of the buffer to its start, end().
  /// `size` is that of the model; the buffer is as long as the plan.
  void begin(float* gradients, std::int64_t size);
  /// What was queued on `compute` before completes the range.
  void ready(std::int64_t offset, std::int64_t size, Stream compute);
  /// Work queued on `compute` from now on waits for the sums.
  void end(Stream compute);

  /// Queues on `compute`: sums over ranks, one array out of all ranks' shares, and that of weights
  /// of which each rank has updated its own.
  void sum(double* values, std::int64_t count, Stream compute);
  void gather(const float* own, float* whole, std::int64_t count, Stream compute);
  void gather_weights(float* weights, Stream compute);

  /// Blocks the host until `event`, which may stand after collectives; throws on a dead peer.
  void wait(const Event& event);

  /// Of the last step, once it is done: seconds inside collectives, and those of them during which
  /// nothing else ran: after backward's end, and of gather_weights().
  [[nodiscard]] double busy_seconds() const;
  [[nodiscard]] double exposed_seconds() const;

 private:
  [[nodiscard]] double gather_seconds() const;

  struct Bucket {
    Event ready{true}, begun{true}, done{true};
  };
  DeviceCommunicator& communicator_;
  ShardPlan plan_;
  std::int64_t bucket_elements_;
  OwnedStream stream_{true};
  float* gradients_ = nullptr;
  std::optional<BucketPlanner> planner_;
  std::vector<Bucket> buckets_;  ///< made once, used in every step
  std::size_t used_ = 0;
  Event backward_done_{true};
  Event gather_begun_{true}, gather_done_{true};
  bool gathered_ = false;
};

}  // namespace bert::cuda
