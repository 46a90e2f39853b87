#include "harness/sweep/process/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "harness/sweep/process/folder.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process_boost.h"
#include "harness/sweep/process/program.h"

extern char** environ;

namespace bertbench {
namespace {

std::map<std::string, std::string> environment_for(const ProcessSpec& spec) {
  std::map<std::string, std::string> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string name(text.substr(0, equals));
    const bool dropped = std::any_of(spec.unset.begin(), spec.unset.end(), [&](const auto& rule) {
      return rule.ends_with('*') ? name.starts_with(rule.substr(0, rule.size() - 1)) : name == rule;
    });
    if (!dropped) out[name] = std::string(text.substr(equals + 1));
  }
  for (const auto& [name, value] : spec.set) out[name] = value;
  return out;
}

/// "=" begins a word, "+" goes on with its next line, "." ends it, "end" ends all.
constexpr std::string_view kWordReader = R"sh(
set --
word='' break='
'
while IFS= read -r line; do
  case $line in
    =*) word=${line#=} ;;
    +*) word=$word$break${line#+} ;;
    .) set -- "$@" "$word" ;;
    *) break ;;
  esac
done
)sh";

std::string lines_of(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) {
    out += '=';
    for (const char c : word) {
      out += c;
      if (c == '\n') out += '+';
    }
    out += "\n.\n";
  }
  return out + "end\n";
}

/// Into a pipe that nobody reads yet: false where it does not fit.
bool fill_pipe(int fd, std::string_view text) {
  const int room = fcntl(fd, F_GETPIPE_SZ);
  const bool fits = room >= 0 && text.size() <= static_cast<std::size_t>(room);
  return (fits || fcntl(fd, F_SETPIPE_SZ, text.size()) >= 0) && write_all(fd, text);
}

ExitStatus decode(int status) {
  ExitStatus out;
  if (WIFEXITED(status)) out.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
  return out;
}

}  // namespace

std::string_view word_reader() { return kWordReader; }

std::string ExitStatus::str() const {
  if (code) return fmt::format("exit status {}", *code);
  if (!signal) return "still running";
  const char* name = sigabbrev_np(*signal);
  return name ? fmt::format("signal {} (SIG{})", *signal, name) : fmt::format("signal {}", *signal);
}

std::optional<unsigned long long> start_time_of(pid_t pid) {
  const auto info = proc::stat(pid);
  if (!info || info->state == 'Z' || info->state == 'X') return std::nullopt;
  return info->start_time;
}

bool is_alive(const ProcessId& process) { return start_time_of(process.pid) == process.start_time; }

ProcessGroup::~ProcessGroup() { kill_all(); }

Result<ProcessId> ProcessGroup::start(const ProcessSpec& spec, int log_fd) {
  if (spec.argv.empty()) return fail("command", "is empty");
  const auto program = find_program(spec.argv[0]);
  if (program.empty()) {
    return fail(spec.argv[0], "no such program", "install it or give its full path");
  }
  int ends[2] = {-1, -1};
  if (spec.hold_stdin && pipe2(ends, O_CLOEXEC) < 0) {
    return fail(spec.argv[0], "cannot hold its stdin open",
                "raise the limit of open files (ulimit -n)");
  }
  if (!spec.input.empty() && !fill_pipe(ends[1], lines_of(spec.input))) {
    close(ends[0]);
    close(ends[1]);
    return fail(spec.argv[0], "its secret words do not fit into a pipe",
                "they may have 1 MiB in all; pass a file's path in place of its text");
  }
  const auto terminal = spec.terminal ? terminals_.add(log_fd) : Result<int>(log_fd);
  auto pid = terminal ? spawn_process(program, spec.argv, environment_for(spec), spec.cwd,
                                      *terminal, ends[0], group_)
                      : tl::unexpected(terminal.error());
  if (spec.terminal && terminal) close(*terminal);
  if (ends[0] >= 0) close(ends[0]);
  if (ends[1] >= 0) held_.push_back(ends[1]);
  if (!pid) return tl::unexpected(pid.error());
  if (group_ == 0) group_ = *pid;
  // Read before anyone can reap it, so the entry is there even if the process has ended.
  const ProcessId id{*pid, proc::stat(*pid).value_or(proc::Stat{}).start_time};
  members_.emplace_back(id, std::nullopt);
  return id;
}

Result<void> ProcessGroup::start_helper(const ProcessSpec& spec, int out_fd) {
  const auto program = spec.argv.empty() ? "" : find_program(spec.argv[0]);
  int ends[2] = {-1, -1};
  if (program.empty() || pipe2(ends, O_CLOEXEC) < 0) {
    return fail(program, "cannot be started", "check that it runs by hand");
  }
  const auto pid =
      spawn_process(program, spec.argv, environment_for(spec), spec.cwd, out_fd, ends[0], 0);
  close(ends[0]);
  if (!pid) {
    close(ends[1]);
    return tl::unexpected(pid.error());
  }
  helpers_.push_back({*pid, ends[1]});
  return {};
}

void ProcessGroup::end_helpers(std::chrono::milliseconds limit) {
  for (const auto& helper : helpers_) close(helper.held);
  const auto end = std::chrono::steady_clock::now() + limit;
  for (const auto& helper : helpers_) {
    while (waitpid(helper.pid, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() >= end) kill(-helper.pid, SIGKILL);
      poll(nullptr, 0, 2);
    }
  }
  helpers_.clear();
}

void ProcessGroup::reap() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    auto& [id, status] = members_[i];
    if (status) continue;
    int raw = 0;
    const pid_t done = waitpid(id.pid, &raw, WNOHANG);
    if (done == id.pid) {
      status = decode(raw);
    } else if (done < 0 && errno == ECHILD) {
      status = ExitStatus{};  // reaped by someone else: gone, how is unknown
    }
    if (status && !status->success() && !first_failed_) first_failed_ = i;
  }
}

void ProcessGroup::wait(std::chrono::milliseconds timeout, int wake_fd) {
  std::vector<pollfd> watched;
  bool all_watched = true;
  for (const auto& [id, status] : members_) {
    if (status) continue;
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, id.pid, 0));
    if (fd < 0) {
      all_watched = false;
    } else {
      watched.push_back({fd, POLLIN, 0});
    }
  }
  const std::size_t processes = watched.size();
  if (wake_fd >= 0) watched.push_back({wake_fd, POLLIN, 0});
  // Without pidfds (old kernel, no descriptors left) ends are seen at the next short tick.
  const auto limit = all_watched ? timeout : std::min(timeout, std::chrono::milliseconds(5));
  poll(watched.data(), watched.size(), static_cast<int>(limit.count()));
  for (std::size_t i = 0; i < processes; ++i) close(watched[i].fd);
  reap();
}

bool ProcessGroup::running() const {
  return std::any_of(members_.begin(), members_.end(), [](const auto& m) { return !m.second; });
}

std::optional<ExitStatus> ProcessGroup::status() const {
  if (first_failed_) return members_[*first_failed_].second;
  if (running() || members_.empty()) return std::nullopt;
  return members_.front().second;
}

void ProcessGroup::release_stdin() {
  for (const int fd : held_) close(fd);
  held_.clear();
}

void ProcessGroup::signal(int number) {
  if (number == SIGTERM && !held_.empty()) {
    release_stdin();
    return;
  }
  if (group_ > 0 && running()) {
    kill(-group_, number);
    if (number != SIGKILL) kill(-group_, SIGCONT);  // a stopped process cannot act on a signal
  }
}

namespace {

/// Living children of this process that are no older than `begin`; those that ended are reaped.
std::vector<pid_t> younger_children(unsigned long long begin) {
  std::vector<pid_t> out;
  for (const auto& child : proc::children_of(getpid())) {
    if (child.start_time < begin) continue;
    if (child.state != 'Z') out.push_back(child.pid);
    waitpid(child.pid, nullptr, WNOHANG);
  }
  return out;
}

}  // namespace

int ProcessGroup::kill_all() {
  release_stdin();
  end_helpers(std::chrono::milliseconds(0));
  if (members_.empty()) return 0;
  const bool ended = !running();
  // Once every member is reaped the group's number may belong to someone else.
  if (running()) kill(-group_, SIGKILL);
  while (running()) wait(std::chrono::milliseconds(20));
  // Whoever lived on was handed to us when its parent died. Killing one may hand over more.
  const auto begin = members_.front().first.start_time;
  // Launchers (horovodrun) and Python start processes that end when they see their parent gone,
  // some milliseconds after it: those were not left over.
  constexpr auto kEnding = std::chrono::milliseconds(1000);
  const auto deadline = std::chrono::steady_clock::now() + kEnding;
  while (ended && !younger_children(begin).empty() && std::chrono::steady_clock::now() < deadline) {
    poll(nullptr, 0, 2);
  }
  int escaped = 0;
  for (int round = 0; round < 500; ++round) {
    const auto left = younger_children(begin);
    if (left.empty()) break;
    for (const pid_t child : left) {
      if (kill(child, SIGKILL) == 0 && round == 0) ++escaped;
    }
    poll(nullptr, 0, 2);
  }
  terminals_.finish();
  group_ = 0;
  members_.clear();
  first_failed_.reset();
  return escaped;
}

void prepare_to_run_processes() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      // open gives the lowest free descriptor, which is this one.
      const int opened = open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
      (void)opened;
    }
  }
}

std::optional<std::string> capture_output(const std::vector<std::string>& argv,
                                          std::chrono::milliseconds limit, std::string* said) {
  if (argv.empty() || find_program(argv[0]).empty()) return std::nullopt;
  // A memory file, not a pipe: a helper that hangs or floods cannot hold us.
  const int memory = memfd_create("bertbench", MFD_CLOEXEC);
  if (memory < 0) return std::nullopt;
  std::optional<std::string> out;
  ProcessSpec spec;
  spec.argv = argv;
  spec.set = {{"LC_ALL", "C"}};
  {
    ProcessGroup group;
    if (group.start(spec, memory)) {
      const auto deadline = std::chrono::steady_clock::now() + limit;
      while (group.running() && std::chrono::steady_clock::now() < deadline) {
        group.wait(std::chrono::milliseconds(50));
      }
      const auto status = group.status();
      std::string text(1 << 20, '\0');
      const ssize_t got = pread(memory, text.data(), text.size(), 0);
      text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (said) *said = text;
      if (!group.running() && status && status->success()) out = std::move(text);
    }
  }
  close(memory);
  return out;
}

int kill_leftover_processes(const std::string& marker_prefix, const std::vector<ProcessId>& known,
                            const std::string& run_folder) {
  const std::string marker = "BERTBENCH_TRIAL=" + marker_prefix;
  std::set<pid_t> killed;
  // A process may fork between the look and the kill, or end while a child that it forked after
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
