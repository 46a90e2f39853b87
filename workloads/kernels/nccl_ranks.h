// All-reduces by NCCL over the GPUs of this machine, for benchmarks: a rank a GPU, a thread a rank.
#pragma once

#include <barrier>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "workloads/bert/core/launch_environment.h"
#include "workloads/bert/core/module.h"

namespace bert::bench {

class NcclRanks {
 public:
  /// Ranks 0 to `count` - 1, of which the calling thread is the first; it alone makes later calls.
  /// bert_nccl.so and NCCL are loaded as bert_train does it. Throws with the reason where a rank
  /// has no GPU, where there is no NCCL, or where the ranks do not meet.
  NcclRanks(int count, std::int64_t most_bytes);
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  [[nodiscard]] int count() const { return count_; }
  /// Seconds of one all-reduce of fp32 in place, of several that follow each other on a stream of
  /// high priority, as a step's buckets do: by events of rank 0.
  [[nodiscard]] double seconds_of(std::int64_t bytes);

 private:
  class Rank;
  [[nodiscard]] std::unique_ptr<Rank> make(int number);
  void serve(int number);
  /// Of the ranks that had one; of others than rank 0 first, which may only have waited for them.
  void rethrow();

  const Module* module_ = nullptr;
  int count_;
  std::int64_t most_bytes_;
  int port_ = 0;  ///< where the ranks meet
  // Between two turns of the barrier each rank does what these ask for.
  std::int64_t bytes_ = 0;
  bool ends_ = false;
  bool failed_ = false;  ///< then no rank may wait for the others
  std::barrier<> turn_;
  std::vector<std::exception_ptr> errors_;
  std::unique_ptr<Rank> own_;
  std::vector<std::thread> others_;
};

}  // namespace bert::bench
