// The control groups (cgroups) that this process is in, and what they let it use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bertbench {

/// Of this process's own group and all above it, of version 1 or 2: the least each time.
struct CgroupLimits {
  std::optional<double> cores;  ///< a quota of CPU time, in CPUs
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> stopped_s;  ///< by the quota of the group that has the least, so far
};

/// `root` is put before /proc and /sys.
[[nodiscard]] CgroupLimits cgroup_limits(const std::string& root = "");

}  // namespace bertbench
