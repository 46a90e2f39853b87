#include "harness/sweep/process/trial_processes.h"

#include <algorithm>

#include "harness/sweep/process/proc_fs.h"

namespace bertbench {
namespace {

// A child has its parent's environment until it calls exec, which takes less than this.
constexpr int kLooksAtEnvironment = 5;

}  // namespace

TrialProcesses::TrialProcesses(const std::string& marker) : marker_("BERTBENCH_TRIAL=" + marker) {
  look();
}

TrialProcesses::Seen TrialProcesses::look() {
  auto pids = proc::all_pids();
  std::sort(pids.begin(), pids.end());
  for (auto it = known_.begin(); it != known_.end();) {
    if (std::binary_search(pids.begin(), pids.end(), it->first)) {
      ++it;
      continue;
    }
    // A parent of the trial has waited for it: its time is in the parent's own now.
    const auto parent = known_.find(it->second.parent);
    const bool counted = parent != known_.end() && parent->second.ours;
    if (it->second.ours && !counted) gone_s_ += it->second.cpu_s - it->second.before;
    it = known_.erase(it);
  }
  Seen seen;
  for (const pid_t pid : pids) {
    One& one = known_[pid];
    if (!one.ours && one.looks < kLooksAtEnvironment) {
      ++one.looks;
      one.ours = proc::has_marker(pid, marker_);
    }
    if (!one.ours) continue;
    const auto now = proc::stat(pid);
    if (!now || now->state == 'Z') continue;
    one.parent = now->parent;
    one.cpu_s = now->cpu_s;
    if (first_) one.before = now->cpu_s;
    one.resident_peak = proc::resident_peak(pid);
    ++seen.alive;
    seen.resident_peak += one.resident_peak;
  }
  seen.cpu_s = gone_s_;
  for (const auto& [pid, one] : known_) {
    if (one.ours) seen.cpu_s += one.cpu_s - one.before;
  }
  if (first_) any_at_first_ = seen.alive > 0;
  first_ = false;
  return seen;
}

}  // namespace bertbench
