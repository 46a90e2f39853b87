// Processes of a trial: started as argv arrays in one process group, output straight to a file,
// nothing inherited, waited for without pipes. process.cpp is the only file that includes
// Boost.Process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "harness/sweep/process/descriptor.h"
#include "parsers/core/error.h"

namespace bertbench {

/// Pseudo terminals for trainers that keep their output back when it goes to a file: what they
/// write is copied into the log as it is. The terminals of one group of processes, and the thread
/// that copies from them.
class Terminals {
 public:
  Terminals() = default;
  Terminals(const Terminals&) = delete;
  Terminals& operator=(const Terminals&) = delete;
  ~Terminals() { finish(); }

  /// A new terminal, raw and 200 columns wide, whose output goes to the end of `log_fd`. Gives the
  /// descriptor for the process; the caller lets go of it once that was started.
  Result<Descriptor> add(int log_fd);
  /// Waits until all that the processes wrote is in the logs. None of them may live any more.
  void finish();

 private:
  struct Terminal {
    Descriptor master, log;
    std::string held;  ///< the beginning of a line
  };
  void copy();
  static bool read_from(Terminal& terminal);

  std::vector<Terminal> terminals_;
  std::mutex mutex_;  // of terminals_ while the thread runs
  std::thread thread_;
  Pipe wake_;
  bool ending_ = false;
};

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ProcessSpec {
  std::vector<std::string> argv;   ///< argv[0] is the program, looked up on PATH without a '/'
  Variables set;                   ///< added to (or replacing) the harness's own environment
  std::vector<std::string> unset;  ///< names, or prefixes ending in '*', taken out of it first
  std::string cwd;                 ///< empty: the harness's
  /// Stdin is not /dev/null but a pipe that stays open, and empty, as long as the harness lives.
  /// Its end, which SIGTERM then is (ProcessGroup::signal), is how whoever runs the trainer
  /// elsewhere learns that it is to be ended (launcher ssh).
  bool hold_stdin = false;
  /// Its output goes to a pseudo terminal, from which it is copied into the log.
  bool terminal = false;
  /// Written to the held stdin first, as word_reader() reads it: words that must not stand in argv,
  /// where everybody on the machine may read them. At most 1 MiB.
  std::vector<std::string> input{};
  /// Its stdin, which stays open here as well; below 0: as above.
  int stdin_fd = -1;
  int cpu = -1;  ///< the only one that it may run on; below 0: all of the harness
};

/// A script of POSIX sh that makes the words of ProcessSpec::input its arguments, and leaves the
/// rest of stdin alone.
std::string_view word_reader();

/// How a process ended, decoded from the wait status: exit 9 and SIGKILL are different things.
struct ExitStatus {
  std::optional<int> code;    ///< exit code, when it exited
  std::optional<int> signal;  ///< signal number, when a signal ended it
  [[nodiscard]] bool success() const { return code == 0; }
  [[nodiscard]] std::string str() const;  ///< "exit status 2", "signal 9 (SIGKILL)"
};

/// Names a process for good: a pid is reused, a pid with its start time is not.
struct ProcessId {
  pid_t pid = 0;
  unsigned long long start_time = 0;  ///< /proc/<pid>/stat field 22, clock ticks since boot
  bool operator==(const ProcessId&) const = default;
};
/// Start time of a process now, if it exists and is not a zombie.
std::optional<unsigned long long> start_time_of(pid_t pid);
bool is_alive(const ProcessId& process);

/// The ranks of one trial on this machine. One group at a time: kill_all() takes every younger
/// child of this process for an escaped descendant.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  /// Kills and reaps whatever is left.
  ~ProcessGroup();

  /// Starts one more process of the group; stdin /dev/null, stdout and stderr to `log_fd`. The
  /// process is killed by the kernel when this process dies.
  Result<ProcessId> start(const ProcessSpec& spec, int log_fd);

  /// Starts a process that only looks on, in a group of its own, its stdin held and its output to
  /// `out_fd`. It is no member: neither its end nor its status counts.
  Result<void> start_helper(const ProcessSpec& spec, int out_fd);
  /// Ends the helpers by the end of their stdin; those that run on after `limit` are killed.
  void end_helpers(std::chrono::milliseconds limit);

  /// Waits until a process ends, `timeout` is over or `wake_fd` (if >= 0) is readable; reaps.
  void wait(std::chrono::milliseconds timeout, int wake_fd = -1);

  [[nodiscard]] bool running() const;
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] const std::vector<std::pair<ProcessId, std::optional<ExitStatus>>>& members()
      const {
    return members_;
  }
  /// Of the first process that ended badly, else success when all have ended.
  [[nodiscard]] std::optional<ExitStatus> status() const;

  /// Sends a signal to the whole group. Where stdin is held, SIGTERM is its end instead: the
  /// trainer is elsewhere, and what runs here must stay, to pass on its last output and its status.
  void signal(int number);
  /// Ends what is left for good: SIGKILL to the group, then to every descendant that escaped from
  /// it (they come to this process, which is their subreaper). Where all members have ended by
  /// themselves, descendants have a second to follow them. Returns how many had escaped.
  int kill_all();

 private:
  void reap();
  pid_t group_ = 0;
  std::vector<std::pair<ProcessId, std::optional<ExitStatus>>> members_;
  std::optional<std::size_t> first_failed_;
  std::vector<Descriptor> held_;  // write ends
  struct Helper {
    pid_t pid = 0;
    Descriptor held;
  };
  std::vector<Helper> helpers_;
  Terminals terminals_;
};

/// Makes this process the subreaper of its descendants, opens descriptors 0-2 on /dev/null where
/// they are closed and ignores SIGPIPE. Call once before the first ProcessGroup.
void prepare_to_run_processes();

/// Runs a short helper (nvidia-smi) and gives what it wrote to stdout, or nothing when it is
/// missing, fails, or takes longer than `limit`; `written` gets its output in each case.
std::optional<std::string> capture_output(const std::vector<std::string>& argv,
                                          std::chrono::milliseconds limit,
                                          std::string* written = nullptr);

/// Ends surviving processes of an earlier harness: every process whose environment holds
/// BERTBENCH_TRIAL=<marker prefix>..., each of `known` with its group, and every process that has a
/// log.txt below `run_folder` (empty: none) open for appending. Returns how many were killed. Only
/// processes of this user are seen.
int kill_leftover_processes(const std::string& marker_prefix, const std::vector<ProcessId>& known,
                            const std::string& run_folder = "");

}  // namespace bertbench
