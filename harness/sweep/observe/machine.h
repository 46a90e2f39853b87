// Facts of this machine, each read from where Linux keeps it. Paths are under a root, so that tests
// lay out their own /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bertbench {

struct Gpu {
  std::string name, driver;
  std::optional<std::int64_t> memory_bytes, used_bytes;
  std::optional<double> utilisation;  ///< percent, now
  std::string throttled;              ///< reasons that hold its clocks down now, joined by ", "
};

struct Machine {
  std::string cpu;       ///< model name
  int cores_online = 0;  ///< logical CPUs of the machine
  int cores_usable = 1;  ///< affinity mask and cgroup quota, at least 1
  std::optional<int> sockets, threads_per_core;
  std::vector<std::string> isa;  ///< of avx2, avx512f, avx512_bf16, amx_bf16, neon ...
  std::optional<std::int64_t> memory_bytes, memory_available_bytes;
  std::optional<std::int64_t> memory_limit_bytes;  ///< of the cgroup
  /// The less of the machine's memory and the limit.
  [[nodiscard]] std::optional<std::int64_t> usable_memory() const {
    return memory_limit_bytes && memory_limit_bytes < memory_bytes ? memory_limit_bytes
                                                                   : memory_bytes;
  }
  std::string kernel, os;
  std::string governor;       ///< of cpu0; empty = the kernel does not state it
  std::optional<bool> turbo;  ///< boost clocks allowed
  std::string clock_source;
  std::optional<double> load_1min;
  std::string container;       ///< "docker", "lxc" ...; empty = none seen
  std::string virtualization;  ///< "kvm", "hypervisor"; empty = none seen
  std::vector<Gpu> gpus;
  std::string cuda_driver;  ///< newest CUDA that the driver runs, "13.0"
};

/// `root` is put before /proc, /sys and /etc. GPUs are asked of NVML, else of nvidia-smi, when
/// `with_gpus`.
Machine look_at_machine(const std::string& root = "", bool with_gpus = true);

}  // namespace bertbench
