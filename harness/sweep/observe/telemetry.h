// Telemetry: what the machine did while a trial ran. A trial whose GPU was throttled, or that had
// to share the machine, is a bad measurement even when its log looks good.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/observe/nvml.h"
#include "harness/sweep/process/proc_fs.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct TelemetryOptions {
  double interval_s = 1;
  int cores = 1;                             ///< usable here
  const Nvml* nvml = nullptr;                ///< null: no GPUs are watched
  std::vector<int> gpus;                     ///< of nvml that the trial uses
  std::optional<std::int64_t> memory_bytes;  ///< what the trainers could have: machine or cgroup
  /// Not empty: the trainers are no children of this process, but those whose variable
  /// BERTBENCH_TRIAL begins so.
  std::string marker;
  bool on_cpu = false;  ///< the trial is known to use no GPU: its energy is that of the CPUs
  /// Where the kernel has the energy counters of the CPU packages (RAPL), read where it lets us.
  std::string powercap = "/sys/class/powercap";
};

/// GPUs that a trial of so many on this machine uses: those CUDA_VISIBLE_DEVICES names by number,
/// else the first ones.
[[nodiscard]] std::vector<int> gpus_in_use(const Nvml& nvml, std::int64_t gpus_per_node,
                                           const std::string& visible);

/// Follows one attempt. All from one thread; sample() may be called at any rate.
class Telemetry {
 public:
  /// Call before the trainer starts: what runs now is somebody else's.
  explicit Telemetry(TelemetryOptions options);
  void watch(std::vector<pid_t> ranks) { ranks_ = std::move(ranks); }
  /// Does nothing until the interval is over. `training`: steps have been logged.
  void sample(bool training);
  /// Call when every process of the attempt has been waited for.
  [[nodiscard]] nlohmann::ordered_json finish();

 private:
  struct Gpu;
  struct Packages;
  struct Cpu {
    double busy_s = 0, steal_s = 0;   ///< of all cores, since boot
    double reaped_s = 0, self_s = 0;  ///< of this process's ended children, and its own
    double quota_s = 0;               ///< stopped by the cgroup's quota
    std::int64_t overheated = 0;      ///< times a core slowed down
  };
  static Cpu look_at_cpu();
  void look(bool training);
  [[nodiscard]] nlohmann::ordered_json summarize_cpu(double seconds,
                                                     nlohmann::ordered_json& marks) const;
  [[nodiscard]] nlohmann::ordered_json summarize_gpu(Gpu& gpu, double seconds,
                                                     nlohmann::ordered_json& marks) const;

  TelemetryOptions options_;
  std::vector<pid_t> ranks_;
  std::chrono::steady_clock::time_point begin_, last_;
  std::chrono::steady_clock::time_point looked_;  ///< at the last look; before the first: begin_
  Cpu cpu_;
  std::optional<proc::TrialProcesses> elsewhere_;
  std::optional<Cpu> last_cpu_;  // when the trainers elsewhere were last seen
  std::chrono::steady_clock::time_point last_cpu_at_;
  int samples_ = 0;
  std::int64_t resident_peak_ = 0;
  std::vector<Gpu> gpus_;
  std::unique_ptr<Packages> packages_;

 public:
  ~Telemetry();
};

/// Puts what finish() gave into the trial: telemetry, memory (where the log does not state it),
/// energy, and a notice for each mark.
void apply_telemetry(Trial& trial, const nlohmann::ordered_json& telemetry);

}  // namespace bertbench
