#include "harness/sweep/observe/cgroup.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "harness/sweep/process/proc_fs.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

/// The value of a line "key value".
std::optional<double> value_of(const std::string& text, std::string_view key) {
  for (const auto line : split(text, '\n')) {
    const auto space = line.find(' ');
    if (line.substr(0, space) == key) return to_double(trim(line.substr(space)));
  }
  return std::nullopt;
}

/// Folders below `mount`: of the group `path`, then of each above it. In a container the files of a
/// group lie in the mount's own folder while its path is that of the host.
std::vector<std::string> folders_of(const std::string& mount, std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty() && path != "/") {
    out.push_back(mount + std::string(path));
    path = path.substr(0, path.rfind('/'));
  }
  out.push_back(mount);
  return out;
}

class Reader {
 public:
  void read_v2(const std::string& folder) {
    const std::string text = proc::read_value(folder + "/cpu.max");
    const auto space = text.find(' ');
    if (space != std::string::npos) {
      take_quota(to_double(text.substr(0, space)), to_double(text.substr(space + 1)), folder,
                 "throttled_usec", 1e-6);
    }
    take_memory(to_int(proc::read_value(folder + "/memory.max")));
  }
  void read_v1_cpu(const std::string& folder) {
    take_quota(to_double(proc::read_value(folder + "/cpu.cfs_quota_us")),
               to_double(proc::read_value(folder + "/cpu.cfs_period_us")), folder, "throttled_time",
               1e-9);
  }
  void read_v1_memory(const std::string& folder) {
    constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // bytes: the kernel's "none" is above
    const auto limit = to_int(proc::read_value(folder + "/memory.limit_in_bytes"));
    if (limit && *limit < kNoLimit) take_memory(limit);
  }
  [[nodiscard]] const CgroupLimits& limits() const { return limits_; }

 private:
  void take_quota(std::optional<double> quota, std::optional<double> period,
                  const std::string& folder, std::string_view stopped, double unit_s) {
    if (!quota || !period || !(*quota > 0) || !(*period > 0)) return;
    if (limits_.cores && *limits_.cores <= *quota / *period) return;
    limits_.cores = *quota / *period;
    const auto time = value_of(proc::read_file(folder + "/cpu.stat"), stopped);
    limits_.stopped_s = time ? std::optional(*time * unit_s) : std::nullopt;
  }
  void take_memory(std::optional<std::int64_t> bytes) {
    if (!bytes) return;
    limits_.memory_bytes = std::min(*bytes, limits_.memory_bytes.value_or(*bytes));
  }

  CgroupLimits limits_;
};

}  // namespace

CgroupLimits cgroup_limits(const std::string& root) {
  Reader reader;
  const std::string mount = root + "/sys/fs/cgroup";
  // "0::/user.slice/job" of version 2; "4:cpu,cpuacct:/job" of version 1.
  std::string_view unified, cpu, memory;
  const std::string groups = proc::read_file(root + "/proc/self/cgroup");
  for (const auto line : split(groups, '\n')) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const auto path = line.substr(second + 1);
    const auto controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) unified = path;
    for (const auto controller : split(controllers, ',')) {
      if (controller == "cpu") cpu = path;
      if (controller == "memory") memory = path;
    }
  }
  for (const auto& folder : folders_of(mount, unified)) reader.read_v2(folder);
  for (const auto& folder : folders_of(mount + "/cpu", cpu)) reader.read_v1_cpu(folder);
  for (const auto& folder : folders_of(mount + "/memory", memory)) reader.read_v1_memory(folder);
  return reader.limits();
}

}  // namespace bertbench
