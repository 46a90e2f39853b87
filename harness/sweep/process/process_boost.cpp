#include "harness/sweep/process/process_boost.h"

// Of Boost.Process this uses version 1, which 1.74 and 1.83 both have.

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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
#include <csignal>
#include <cstdio>

namespace bertbench {
namespace bp = boost::process;

namespace {

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

  ChildSetup(pid_t g, pid_t p, int in) : group(g), parent(p), stdin_fd(in) {}

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
    close_on_exec_from(3);
  }
};

}  // namespace

Result<pid_t> spawn_process(const std::string& program, const std::vector<std::string>& argv,
                            const std::map<std::string, std::string>& environment,
                            const std::string& cwd, int log_fd, int stdin_fd, pid_t group) {
  const int copy = fcntl(log_fd, F_DUPFD_CLOEXEC, 3);
  std::FILE* log = copy < 0 ? nullptr : fdopen(copy, "a");
  if (!log) {
    if (copy >= 0) close(copy);
    return fail(program, "cannot pass the log on", "raise the limit of open files (ulimit -n)");
  }
  bp::environment variables;
  for (const auto& [name, value] : environment) variables[name] = value;
  const std::vector<std::string> args(argv.begin() + 1, argv.end());
  std::error_code ec;
  bp::child child(bp::exe = program, bp::args = args, variables,
                  bp::start_dir = cwd.empty() ? std::string(".") : cwd,
                  bp::std_in<bp::null, (bp::std_out & bp::std_err)> log,
                  ChildSetup(group, getpid(), stdin_fd), ec);
  std::fclose(log);
  if (ec) {
    return fail(program, "cannot be started: " + ec.message(), "check that it runs by hand");
  }
  const pid_t pid = child.id();
  child.detach();  // waiting is ours: Boost's child cannot distinguish a signal from an exit code
  return pid;
}

}  // namespace bertbench
