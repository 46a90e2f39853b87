// What /proc shows about processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench::proc {

struct Stat {
  pid_t pid = 0, parent = 0, group = 0;
  char state = '?';
  unsigned long long start_time = 0;  ///< field 22, clock ticks since boot
  double cpu_s = 0;                   ///< its own and that of children it has waited for
};

std::optional<Stat> stat(pid_t pid);
std::vector<pid_t> all_pids();
/// Highest resident memory of a process so far, in bytes; 0 unknown.
std::int64_t resident_peak(pid_t pid);
std::vector<Stat> children_of(pid_t parent);
/// The environment the process was started with has a variable that begins so ("NAME=value").
bool has_marker(pid_t pid, std::string_view marker);
/// The process has a log.txt below `folder` (a real path) open for appending.
bool appends_to_log_below(pid_t pid, const std::string& folder);
/// Whole small file, empty when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace bertbench::proc
