#include "harness/sweep/observe/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/sweep/observe/cgroup.h"
#include "harness/sweep/observe/nvml.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

/// "key : value" of the first line that begins with `key`.
std::string field(const std::string& text, std::string_view key) {
  for (const auto line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find_first_of(":=");
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    auto value = trim(line.substr(colon + 1));
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return {};
}

std::optional<std::int64_t> kilobytes(const std::string& text, std::string_view key) {
  const auto value = field(text, key);
  const auto number = to_int(std::string_view(value).substr(0, value.find(' ')));
  return number ? std::optional(*number * 1024) : std::nullopt;
}

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  return std::max(1, CPU_COUNT(&set));
}

std::string container_of(const std::string& root) {
  if (access((root + "/.dockerenv").c_str(), F_OK) == 0) return "docker";
  if (access((root + "/run/.containerenv").c_str(), F_OK) == 0) return "podman";
  const auto groups = proc::read_file(root + "/proc/1/cgroup");
  for (const char* name : {"kubepods", "docker", "containerd", "lxc", "machine.slice"}) {
    if (groups.find(name) != std::string::npos) return name;
  }
  return {};
}

void read_cpu(Machine& machine, const std::string& root) {
  const auto text = proc::read_file(root + "/proc/cpuinfo");
  machine.cpu = field(text, "model name");
  std::set<std::string> sockets;
  for (const auto line : split(text, '\n')) {
    if (line.starts_with("processor")) ++machine.cores_online;
    if (line.starts_with("physical id")) sockets.emplace(line);
  }
  if (!sockets.empty()) machine.sockets = static_cast<int>(sockets.size());
  const auto siblings = to_int(field(text, "siblings")), cores = to_int(field(text, "cpu cores"));
  if (siblings && cores && *cores > 0) {
    machine.threads_per_core = static_cast<int>(*siblings / *cores);
  }
  auto flags = field(text, "flags");
  if (flags.empty()) flags = field(text, "Features");
  for (const char* name : {"avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve"}) {
    if ((" " + flags + " ").find(fmt::format(" {} ", name)) != std::string::npos) {
      machine.isa.emplace_back(name);
    }
  }
  if ((" " + flags + " ").find(" hypervisor ") != std::string::npos) {
    const auto vendor = proc::read_value(root + "/sys/class/dmi/id/sys_vendor");
    machine.virtualization = vendor.empty() ? "hypervisor" : vendor;
  }
}

std::optional<bool> turbo_of(const std::string& root) {
  const auto intel = proc::read_value(root + "/sys/devices/system/cpu/intel_pstate/no_turbo");
  if (!intel.empty()) return intel == "0";
  const auto boost = proc::read_value(root + "/sys/devices/system/cpu/cpufreq/boost");
  if (!boost.empty()) return boost == "1";
  return std::nullopt;
}

bool ask_nvml(Machine& machine) {
  const auto nvml = Nvml::open();
  if (!nvml) return false;
  machine.cuda_driver = nvml->cuda_driver();
  for (const GpuInfo& info : nvml->gpus()) {
    const GpuSample now = nvml->sample(info.index);
    Gpu gpu;
    gpu.name = info.name;
    gpu.driver = nvml->driver();
    gpu.memory_bytes = info.memory_bytes;
    gpu.used_bytes = now.used_bytes;
    if (now.utilization) gpu.utilisation = 100 * *now.utilization;
    gpu.throttled = fmt::format("{}", fmt::join(now.throttle, ", "));
    machine.gpus.push_back(std::move(gpu));
  }
  return true;
}

std::vector<Gpu> ask_nvidia_smi() {
  std::vector<Gpu> gpus;
  const auto text = capture_output(
      {"nvidia-smi", "--query-gpu=name,driver_version,memory.total,memory.used,utilization.gpu",
       "--format=csv,noheader,nounits"},
      std::chrono::seconds(10));
  if (!text) return gpus;
  for (const auto line : split(*text, '\n')) {
    const auto fields = split(line, ',');
    if (fields.size() < 5) continue;
    Gpu gpu;
    gpu.name = trim(fields[0]);
    gpu.driver = trim(fields[1]);
    constexpr std::int64_t kMiB = 1 << 20;
    if (const auto mib = to_int(trim(fields[2]))) gpu.memory_bytes = *mib * kMiB;
    if (const auto mib = to_int(trim(fields[3]))) gpu.used_bytes = *mib * kMiB;
    gpu.utilisation = to_double(trim(fields[4]));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace

Machine look_at_machine(const std::string& root, bool with_gpus) {
  Machine machine;
  read_cpu(machine, root);
  machine.cores_usable = affinity_cores();
  const CgroupLimits limits = cgroup_limits(root);
  if (limits.cores) {
    machine.cores_usable =
        std::clamp(static_cast<int>(std::ceil(*limits.cores)), 1, machine.cores_usable);
  }
  const auto memory = proc::read_file(root + "/proc/meminfo");
  machine.memory_bytes = kilobytes(memory, "MemTotal");
  machine.memory_available_bytes = kilobytes(memory, "MemAvailable");
  machine.memory_limit_bytes = limits.memory_bytes;
  utsname names{};
  if (uname(&names) == 0) machine.kernel = fmt::format("{} {}", names.sysname, names.release);
  machine.os = field(proc::read_file(root + "/etc/os-release"), "PRETTY_NAME");
  machine.governor =
      proc::read_value(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  machine.turbo = turbo_of(root);
  machine.clock_source =
      proc::read_value(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const auto load = proc::read_file(root + "/proc/loadavg");
  machine.load_1min = to_double(std::string_view(load).substr(0, load.find(' ')));
  machine.container = container_of(root);
  if (with_gpus && !ask_nvml(machine)) machine.gpus = ask_nvidia_smi();
  return machine;
}

}  // namespace bertbench
