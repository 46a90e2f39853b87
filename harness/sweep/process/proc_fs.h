// What /proc shows about processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
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
/// The same without blanks around it: a file of one value.
[[nodiscard]] std::string read_value(const std::string& path);

/// TrialProcesses: the processes of a trial on a machine where they are nobody's children that we
/// could wait for, found by the variable that every rank carries.
class TrialProcesses {
 public:
  /// Those whose environment holds BERTBENCH_TRIAL=<marker>... What they used before this call is
  /// not counted.
  explicit TrialProcesses(const std::string& marker);

  struct Seen {
    int alive = 0;
    double cpu_s = 0;                ///< since the first call, of all that were ever seen
    std::int64_t resident_peak = 0;  ///< sum of the peaks of those alive
  };
  /// Costs one listing of /proc, and one read of each process that is new or the trial's.
  Seen look();
  [[nodiscard]] bool any_at_first() const { return any_at_first_; }

 private:
  struct One {
    bool ours = false;
    int looks = 0;  // at its environment, while it may still be before its exec
    pid_t parent = 0;
    double before = 0;  // CPU seconds it had used when we began
    double cpu_s = 0;   // as last seen, of children that it waited for as well
    std::int64_t resident_peak = 0;
  };
  std::string marker_;
  std::map<pid_t, One> known_;
  double gone_s_ = 0;  // used by those that are gone
  bool first_ = true, any_at_first_ = false;
};

}  // namespace bertbench::proc
