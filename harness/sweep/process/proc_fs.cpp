#include "harness/sweep/process/proc_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "harness/sweep/process/folder.h"
#include "parsers/core/text.h"

namespace bertbench::proc {
namespace {

std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> numbers;
  DIR* folder = opendir(path.c_str());
  if (!folder) return numbers;
  while (const dirent* entry = readdir(folder)) {
    const auto number = to_int(entry->d_name);
    if (number && *number > 0) numbers.push_back(static_cast<pid_t>(*number));
  }
  closedir(folder);
  return numbers;
}

}  // namespace

std::string read_file(const std::string& path) { return read_text(path).value_or(""); }
std::string read_value(const std::string& path) { return std::string(trim(read_file(path))); }

std::optional<Stat> stat(pid_t pid) {
  const std::string text = read_file(fmt::format("/proc/{}/stat", pid));
  // "pid (name) state ppid ...": the name may hold spaces and brackets, so start at the last one.
  const auto close = text.rfind(')');
  if (close == std::string::npos || close + 2 > text.size()) return std::nullopt;
  const auto fields = split(std::string_view(text).substr(close + 2), ' ');
  if (fields.size() < 20 || fields[0].empty()) return std::nullopt;
  Stat out;
  out.pid = pid;
  out.state = fields[0][0];
  out.parent = static_cast<pid_t>(to_int(fields[1]).value_or(0));
  out.group = static_cast<pid_t>(to_int(fields[2]).value_or(0));
  out.start_time = static_cast<unsigned long long>(to_int(fields[19]).value_or(0));
  std::int64_t ticks = 0;  // utime stime cutime cstime
  for (std::size_t i = 11; i <= 14; ++i) ticks += to_int(fields[i]).value_or(0);
  out.cpu_s = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return out;
}

std::int64_t resident_peak(pid_t pid) {
  const std::string text = read_file(fmt::format("/proc/{}/status", pid));
  const std::string_view key = "VmHWM:";  // "VmHWM:    123 kB"
  const auto at = text.find(key);
  if (at == std::string::npos) return 0;
  const auto begin = at + key.size();
  const auto rest = trim(std::string_view(text).substr(begin, text.find('\n', at) - begin));
  return to_int(rest.substr(0, rest.find(' '))).value_or(0) * 1024;
}

std::vector<pid_t> all_pids() { return numbers_in("/proc"); }

std::vector<Stat> children_of(pid_t parent) {
  std::vector<Stat> out;
  // The kernel's own list is quick; without it (CONFIG_PROC_CHILDREN) every process is looked at.
  const std::string tasks = fmt::format("/proc/{}/task", parent);
  const auto threads = numbers_in(tasks);
  bool listed = threads.empty();  // it is gone, and its children are somebody else's
  for (const pid_t task : threads) {
    const std::string path = fmt::format("{}/{}/children", tasks, task);
    if (access(path.c_str(), R_OK) != 0) continue;
    listed = true;
    const std::string text = read_file(path);
    for (const auto word : split(text, ' ')) {
      const auto pid = to_int(trim(word));
      if (!pid) continue;
      if (const auto info = stat(static_cast<pid_t>(*pid))) out.push_back(*info);
    }
  }
  if (listed) return out;
  for (const pid_t pid : all_pids()) {
    if (const auto info = stat(pid); info && info->parent == parent) out.push_back(*info);
  }
  return out;
}

bool has_marker(pid_t pid, std::string_view marker) {
  const std::string text = read_file(fmt::format("/proc/{}/environ", pid));
  for (const auto entry : split(text, '\0')) {
    if (entry.starts_with(marker)) return true;
  }
  return false;
}

bool appends_to_log_below(pid_t pid, const std::string& folder) {
  const std::string fds = fmt::format("/proc/{}/fd", pid);
  for (const int fd : numbers_in(fds)) {  // all but 0, which is nobody's log
    char text[4096];
    const auto path = fmt::format("{}/{}", fds, fd);
    const ssize_t length = readlink(path.c_str(), text, sizeof text);
    if (length <= 0) continue;
    std::string_view target(text, static_cast<std::size_t>(length));
    if (target.ends_with(" (deleted)")) target.remove_suffix(10);
    if (!target.starts_with(folder + "/") || !target.ends_with("/log.txt")) continue;
    // Somebody who reads along (tail -f, an editor) is left alone.
    const std::string info = read_file(fmt::format("/proc/{}/fdinfo/{}", pid, fd));
    const auto at = info.find("flags:");
    if (at == std::string::npos) continue;
    const auto flags = std::strtol(info.c_str() + at + 6, nullptr, 8);
    if ((flags & O_APPEND) != 0 && (flags & O_ACCMODE) != O_RDONLY) return true;
  }
  return false;
}

namespace {

// A child has its parent's environment until it calls exec, which takes less than this.
constexpr int kLooksAtEnvironment = 5;

}  // namespace

TrialProcesses::TrialProcesses(const std::string& marker) : marker_("BERTBENCH_TRIAL=" + marker) {
  look();
}

TrialProcesses::Seen TrialProcesses::look() {
  auto pids = all_pids();
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
      one.ours = has_marker(pid, marker_);
    }
    if (!one.ours) continue;
    const auto now = stat(pid);
    if (!now || now->state == 'Z') continue;
    one.parent = now->parent;
    one.cpu_s = now->cpu_s;
    if (first_) one.before = now->cpu_s;
    one.resident_peak = resident_peak(pid);
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

}  // namespace bertbench::proc
