// LocalAttempts: attempts whose processes this machine starts, one after the other.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/sweep/execute/attempt_end.h"
#include "harness/sweep/execute/attempt_runner.h"
#include "harness/sweep/observe/nvml.h"
#include "harness/sweep/observe/speed_probe.h"

namespace bertbench {

class LocalAttempts final : public AttemptRunner {
 public:
  LocalAttempts(OpenSweep& sweep, AttemptQueue& queue, PlacementLabels& placement);
  ~LocalAttempts() override;

  [[nodiscard]] bool idle() const override { return !running_; }
  Result<void> start() override;
  Result<std::vector<EndedAttempt>> poll() override;
  Result<std::vector<EndedAttempt>> stop() override;
  Result<void> drop(std::size_t) override { return {}; }
  void close() override {}

 private:
  struct Running;
  Result<void> start_samplers(Running& now);
  Result<void> start_ranks(Running& now);
  /// The machine's own speed now; null where it is not looked at.
  nlohmann::ordered_json probe();
  /// Waits for a moment, reads what the trainer printed meanwhile, and ends it when a limit is
  /// reached.
  void watch(Running& now);
  /// Every process has ended: what the logs hold now is what counts.
  Result<std::vector<EndedAttempt>> conclude();

  std::unique_ptr<Nvml> nvml_;                // null where there is no GPU
  std::optional<std::int64_t> memory_bytes_;  // of this machine or our cgroup
  std::unique_ptr<Running> running_;
  SpeedProbe speed_probe_;
  nlohmann::ordered_json last_probe_;  // null: none
  std::chrono::steady_clock::time_point last_probe_at_;
};

}  // namespace bertbench
