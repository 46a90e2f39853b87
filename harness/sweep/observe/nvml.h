// GPUs through NVIDIA's management library, found at run time: bertbench links no CUDA.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bertbench {

/// One look at one GPU. What the device or driver does not report is absent.
struct GpuSample {
  std::optional<double> utilization;       ///< 0 to 1: share of time with a kernel running
  std::optional<std::int64_t> used_bytes;  ///< of every process
  std::optional<double> power_w, temperature_c, sm_clock_mhz, memory_clock_mhz;
  std::optional<double> energy_j;  ///< since the driver was loaded
  /// What slows it down: "power_cap", "hw_thermal" ... Empty where it is idle or runs at clocks
  /// that somebody chose.
  std::vector<std::string> throttle;
};

struct GpuInfo {
  int index = 0;
  std::string name;
  std::optional<std::int64_t> memory_bytes;
};

class Nvml {
 public:
  /// Null where there is no library, no driver or no GPU. The library is libnvidia-ml.so.1, or
  /// what BERTBENCH_NVML names (a full path; "off" = do not look).
  static std::unique_ptr<Nvml> open();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] const std::vector<GpuInfo>& gpus() const;
  [[nodiscard]] const std::string& driver() const;       ///< "580.65.06"
  [[nodiscard]] const std::string& cuda_driver() const;  ///< "13.0": newest CUDA it runs
  [[nodiscard]] GpuSample sample(int index) const;
  /// Processes that compute on it now.
  [[nodiscard]] std::optional<int> processes(int index) const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace bertbench
