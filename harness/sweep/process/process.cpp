#include "harness/sweep/process/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/io.hpp>
#include <boost/process/start_dir.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "harness/sweep/process/folder.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/program.h"
#include "parsers/core/error.h"

extern char** environ;

namespace bertbench {
namespace {

// Ranks share a log: a line is written as one piece where it comes within this time, and no longer
// held where it is longer than this.
constexpr int kLineComesWithin_ms = 100;
constexpr std::size_t kLongestHeld = 4096;  // bytes; what a terminal takes at once
constexpr unsigned short kColumns = 200;    // bars fill the width

}  // namespace

Result<Descriptor> Terminals::add(int log_fd) {
  Terminal terminal;
  terminal.master = Descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[64];
  const bool made = terminal.master >= 0 && grantpt(terminal.master) == 0 &&
                    unlockpt(terminal.master) == 0 &&
                    ptsname_r(terminal.master, name, sizeof name) == 0;
  Descriptor slave(made ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1);
  terminal.log = Descriptor(fcntl(log_fd, F_DUPFD_CLOEXEC, 3));
  termios settings{};
  const bool good = slave >= 0 && terminal.log >= 0 && tcgetattr(slave, &settings) == 0;
  if (good) {
    cfmakeraw(&settings);  // no line feed becomes two characters, nothing is echoed
    tcsetattr(slave, TCSANOW, &settings);
    winsize size{};
    size.ws_row = 50;
    size.ws_col = kColumns;
    ioctl(slave, TIOCSWINSZ, &size);
  }
  if (!good || (wake_.read < 0 && !wake_.open())) {
    return tl::unexpected(file_error("/dev/ptmx", "gives no terminal", errno));
  }
  {
    const std::lock_guard lock(mutex_);
    terminals_.push_back(std::move(terminal));
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { copy(); });
  } else {
    (void)!write(wake_.write, "", 1);
  }
  return slave;
}

/// False at the end: every process has closed the terminal.
bool Terminals::read_from(Terminal& terminal) {
  char block[1 << 14];
  const ssize_t got = read(terminal.master, block, sizeof block);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got > 0) terminal.held.append(block, static_cast<std::size_t>(got));
  auto whole = terminal.held.find_last_of("\r\n") + 1;  // 0 where there is none
  if (got <= 0 || terminal.held.size() - whole > kLongestHeld) whole = terminal.held.size();
  // On a full disk the trainer runs on, and the log lacks the rest, as it would without a terminal.
  (void)write_all(terminal.log, std::string_view(terminal.held).substr(0, whole));
  terminal.held.erase(0, whole);
  return got > 0;
}

void Terminals::copy() {
  for (int ready = 1;;) {
    std::vector<pollfd> watched{{wake_.read, POLLIN, 0}};
    bool waits = false;  // for the rest of a line, or for the last that there is
    {
      const std::lock_guard lock(mutex_);
      // What dead processes wrote is there to be read at once.
      if (ending_ && ready == 0) return;
      waits = ending_;
      for (const auto& one : terminals_) {
        watched.push_back({one.master, POLLIN, 0});
        waits = waits || !one.held.empty();
      }
      const auto closed = [](const Terminal& one) { return one.master < 0; };
      if (ending_ && std::ranges::all_of(terminals_, closed)) return;
    }
    ready =
        poll(watched.data(), static_cast<nfds_t>(watched.size()), waits ? kLineComesWithin_ms : -1);
    if (watched[0].revents != 0) {
      char bytes[64];
      (void)!read(wake_.read, bytes, sizeof bytes);
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i + 1 < watched.size(); ++i) {
      auto& one = terminals_[i];
      if (ready == 0 && !one.held.empty()) {
        (void)write_all(one.log, one.held);
        one.held.clear();
      }
      if (watched[i + 1].revents == 0 || read_from(one)) continue;
      one.master = Descriptor();
      one.log = Descriptor();
    }
  }
}

void Terminals::finish() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    (void)!write(wake_.write, "", 1);
    thread_.join();
  }
  wake_ = Pipe();
  terminals_.clear();
  ending_ = false;
}

namespace {

// How process.cpp starts a process. The body is the only file that includes Boost.Process, which
// takes long to compile.

// Of Boost.Process this uses version 1, which 1.74 and 1.83 both have.
namespace bp = boost::process;

/// Sets close-on-exec on every descriptor from `first` on. Async-signal-safe.
void close_on_exec_from(int first) {
#ifdef SYS_close_range
  constexpr unsigned kCloexec = 1U << 2;  // CLOSE_RANGE_CLOEXEC
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, kCloexec) == 0) return;
#endif
  const long limit = std::min(sysconf(_SC_OPEN_MAX), 65536L);
  for (int fd = first; fd < limit; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0) fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
}

/// Runs in the child between fork and exec: async-signal-safe calls only.
struct ChildSetup : bp::extend::handler {
  pid_t group;  // 0: lead a new one
  pid_t parent;
  int stdin_fd;  // -1: as Boost has set it
  int cpu;       // -1: as the harness has them

  ChildSetup(pid_t g, pid_t p, int in, int c) : group(g), parent(p), stdin_fd(in), cpu(c) {}

  template <class Executor>
  void on_exec_setup(Executor&) const {
    setpgid(0, group);
    // The trainer dies with the harness, however that ends; resume has less to clean up.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    // Blocked and ignored signals pass through exec; a trainer starts with the defaults.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD})
      signal(number, SIG_DFL);
    if (stdin_fd >= 0) dup2(stdin_fd, 0);
    if (cpu >= 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<std::size_t>(cpu), &one);
      sched_setaffinity(0, sizeof one, &one);  // where that is refused, it runs as without
    }
    close_on_exec_from(3);
  }

  /// In the harness. Whether exec succeeded comes through a pipe, and where that cannot be read the
  /// program may run: nobody would wait for it or end it.
  template <class Executor>
  void on_error(Executor& executor, const std::error_code&) const {
    if (executor.pid <= 0) return;
    kill(executor.pid, SIGKILL);
    waitpid(executor.pid, nullptr, 0);
  }
};

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

/// Starts the program of this path as `spec` has it, as a member of process group `group` (0: the
/// leader of a new one). Returns after exec succeeded. `stdin_fd` < 0: /dev/null.
Result<pid_t> spawn_process(const std::string& program, const ProcessSpec& spec, int log_fd,
                            int stdin_fd, pid_t group) {
  const int copy = fcntl(log_fd, F_DUPFD_CLOEXEC, 3);
  std::FILE* log = copy < 0 ? nullptr : fdopen(copy, "a");
  if (!log) {
    if (copy >= 0) close(copy);
    return fail(program, "cannot pass the log on", "raise the limit of open files (ulimit -n)");
  }
  bp::environment variables;
  for (const auto& [name, value] : environment_for(spec)) variables[name] = value;
  const std::vector<std::string> args(spec.argv.begin() + 1, spec.argv.end());
  std::error_code ec;
  bp::child child(bp::exe = program, bp::args = args, variables,
                  bp::start_dir = spec.cwd.empty() ? std::string(".") : spec.cwd,
                  bp::std_in<bp::null, (bp::std_out & bp::std_err)> log,
                  ChildSetup(group, getpid(), stdin_fd, spec.cpu), ec);
  std::fclose(log);
  if (ec) {
    return fail(program, "cannot be started: " + ec.message(), "check that it runs by hand");
  }
  const pid_t pid = child.id();
  child.detach();  // waiting is ours: Boost's child cannot distinguish a signal from an exit code
  return pid;
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
  Pipe input;
  if (spec.hold_stdin && !input.open()) {
    return fail(spec.argv[0], "cannot hold its stdin open",
                "raise the limit of open files (ulimit -n)");
  }
  if (!spec.input.empty() && !fill_pipe(input.write, lines_of(spec.input))) {
    return fail(spec.argv[0], "its secret words do not fit into a pipe",
                "they may have 1 MiB in all; pass a file's path in place of its text");
  }
  Result<Descriptor> terminal;
  if (spec.terminal) terminal = terminals_.add(log_fd);
  if (!terminal) return tl::unexpected(terminal.error());
  const auto pid = spawn_process(program, spec, spec.terminal ? *terminal : log_fd,
                                 spec.stdin_fd >= 0 ? spec.stdin_fd : input.read, group_);
  if (!pid) return tl::unexpected(pid.error());
  if (input.write >= 0) held_.push_back(std::move(input.write));
  if (group_ == 0) group_ = *pid;
  // Read before anyone can reap it, so the entry is there even if the process has ended.
  const ProcessId id{*pid, proc::stat(*pid).value_or(proc::Stat{}).start_time};
  members_.emplace_back(id, std::nullopt);
  return id;
}

Result<void> ProcessGroup::start_helper(const ProcessSpec& spec, int out_fd) {
  const auto program = spec.argv.empty() ? "" : find_program(spec.argv[0]);
  Pipe input;
  if (program.empty() || !input.open()) {
    return fail(program, "cannot be started", "check that it runs by hand");
  }
  const auto pid = spawn_process(program, spec, out_fd, input.read, 0);
  if (!pid) return tl::unexpected(pid.error());
  helpers_.push_back({*pid, std::move(input.write)});
  return {};
}

void ProcessGroup::end_helpers(std::chrono::milliseconds limit) {
  for (auto& helper : helpers_) helper.held = Descriptor();
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

void ProcessGroup::signal(int number) {
  if (number == SIGTERM && !held_.empty()) {
    held_.clear();
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
  held_.clear();
  end_helpers(std::chrono::milliseconds(0));
  if (members_.empty()) return 0;
  const bool ended = !running();
  // Once every member is reaped the group's number may belong to someone else.
  if (running()) kill(-group_, SIGKILL);
  while (running()) wait(std::chrono::milliseconds(20));
  // Whoever lived on was handed to us when its parent died. Killing one may hand over more.
  const auto begin = members_.front().first.start_time;
  // Launchers (horovodrun) and Python start processes that end when their parent is gone,
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
                                          std::chrono::milliseconds limit, std::string* written) {
  if (argv.empty() || find_program(argv[0]).empty()) return std::nullopt;
  // A memory file, not a pipe: a helper that hangs or floods cannot hold us.
  const Descriptor memory(memfd_create("bertbench", MFD_CLOEXEC));
  if (memory < 0) return std::nullopt;
  ProcessSpec spec;
  spec.argv = argv;
  spec.set = {{"LC_ALL", "C"}};
  ProcessGroup group;
  if (!group.start(spec, memory)) return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (group.running() && std::chrono::steady_clock::now() < deadline) {
    group.wait(std::chrono::milliseconds(50));
  }
  const auto status = group.status();
  std::string text(1 << 20, '\0');
  const ssize_t got = pread(memory, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (written) *written = text;
  if (group.running() || !status || !status->success()) return std::nullopt;
  return text;
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
