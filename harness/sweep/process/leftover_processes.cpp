#include <signal.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"

namespace bertbench {

std::optional<unsigned long long> start_time_of(pid_t pid) {
  const auto info = proc::stat(pid);
  if (!info || info->state == 'Z' || info->state == 'X') return std::nullopt;
  return info->start_time;
}

bool is_alive(const ProcessId& process) { return start_time_of(process.pid) == process.start_time; }

int kill_leftover_processes(const std::string& marker_prefix, const std::vector<ProcessId>& known,
                            const std::string& run_folder) {
  const std::string marker = "BERTBENCH_TRIAL=" + marker_prefix;
  std::set<pid_t> killed;
  // A process may fork between the look and the kill, or end while a child that it forked behind
  // the look goes on: look until nothing was left twice.
  int empty = 0;
  for (int round = 0; round < 200 && empty < 2; ++round) {
    std::set<pid_t> found;
    for (const auto& process : known) {
      if (!is_alive(process)) continue;
      found.insert(process.pid);
      // Its group is ours to end only while the leader is the process the journal named.
      const auto info = proc::stat(process.pid);
      if (info && info->group == process.pid && info->group != getpgrp()) {
        kill(-info->group, SIGKILL);
      }
    }
    for (const pid_t pid : proc::all_pids()) {
      if (pid == getpid()) continue;
      // A descendant may have cleaned its environment; it still holds the log it was given.
      const bool ours = proc::has_marker(pid, marker) ||
                        (!run_folder.empty() && proc::appends_to_log_below(pid, run_folder));
      if (ours && start_time_of(pid)) found.insert(pid);
    }
    empty = found.empty() ? empty + 1 : 0;
    for (const pid_t pid : found) {
      if (kill(pid, SIGKILL) == 0) killed.insert(pid);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return static_cast<int>(killed.size());
}

}  // namespace bertbench
