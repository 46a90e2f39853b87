// GradientReducer: sums gradients over ranks on a thread of its own while backward still runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "workloads/bert/comm/bucket_planner.h"
#include "workloads/bert/core/communicator.h"

namespace bert {

/// Between begin() and wait() the communicator belongs to the reducer's thread.
class GradientReducer {
 public:
  GradientReducer(Communicator& communicator, std::int64_t bucket_bytes);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Starts a step: `gradients` is the whole buffer of this rank.
  void begin(std::span<float> gradients);
  /// From the thread that computes; returns at once. Order as in GradientReady.
  void ready(std::int64_t offset, std::int64_t size);
  /// Blocks until every bucket is summed. Rethrows what the communicator threw.
  void wait();

  /// Of the last step, seconds: time inside all-reduce, and the part of it spent in wait().
  [[nodiscard]] double busy_seconds() const { return busy_seconds_; }
  [[nodiscard]] double exposed_seconds() const { return exposed_seconds_; }

 private:
  void run();

  Communicator& communicator_;
  std::int64_t bucket_elements_;
  std::span<float> gradients_;
  std::optional<BucketPlanner> planner_;
  double busy_seconds_ = 0;
  double exposed_seconds_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<GradientRange> queue_;
  bool working_ = false;
  bool quit_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace bert
