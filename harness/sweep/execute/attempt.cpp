#include "harness/sweep/execute/attempt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "harness/sweep/process/folder.h"
#include "harness/sweep/process/proc_fs.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using Clock = std::chrono::steady_clock;

// Over a connection, from the order to the last word.
constexpr std::chrono::seconds kHelpersEnd{3};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Times the kernel's out-of-memory killer struck since boot.
std::int64_t oom_kills() {
  const std::string text = proc::read_file("/proc/vmstat");
  const auto at = text.find("\noom_kill ");
  if (at == std::string::npos) return 0;
  const auto rest = std::string_view(text).substr(at + 10);
  return to_int(rest.substr(0, rest.find('\n'))).value_or(0);
}

class Watch {
 public:
  Watch(int log_fd, const AttemptLimits& limits, TrialLogs logs, const AttemptHooks& hooks,
        const StopSignals& signals)
      : log_fd_(log_fd), limits_(limits), log_(std::move(logs)), hooks_(hooks), signals_(signals) {}

  Result<AttemptEnd> run(const std::vector<ProcessSpec>& processes) {
    const auto kills_before = oom_kills();
    begin_ = last_output_ = Clock::now();
    if (auto started = start(processes); !started) return tl::unexpected(started.error());
    while (group_.running()) {
      // A trial of a fraction of a second is looked at before it ends; later looks cost less.
      const double share = seconds_since(begin_) < 1 ? 0.25 : 1;
      const double tick = std::clamp(share * limits_.progress_s, 0.01, 0.25);
      group_.wait(std::chrono::milliseconds(static_cast<int>(tick * 1000)), signals_.wake_fd());
      signals_.drain();
      if (log_.follow()) last_output_ = Clock::now();
      judge();
      report();
    }
    end_.exit = group_.status();
    group_.end_helpers(kHelpersEnd);
    end_.seconds = seconds_since(begin_);
    end_.escaped = group_.kill_all();
    if (auto done = close_log(); !done) return tl::unexpected(done.error());
    end_.kernel_oom = oom_kills() > kills_before;
    return std::move(end_);
  }

 private:
  Result<void> start(const std::vector<ProcessSpec>& processes) {
    // One that does not start leaves its reason in its output; the trial does not need it.
    for (const auto& helper : hooks_.helpers) {
      const auto started = group_.start_helper(helper.process, helper.out_fd);
      if (!started) write_all(helper.out_fd, started.error().message());
    }
    std::vector<ProcessId> ids;
    for (const auto& spec : processes) {
      auto id = group_.start(spec, log_fd_);
      if (!id) {
        end_.cause = EndCause::not_started;
        end_.detail = id.error().message();
        group_.kill_all();
        return {};
      }
      ids.push_back(*id);
    }
    if (!hooks_.launched) return {};
    auto told = hooks_.launched(ids);
    if (!told) group_.kill_all();
    return told;
  }

  /// Nobody writes any more: what stands in the log now is what counts, and is synced before the
  /// journal says so.
  Result<void> close_log() {
    // What was written between the limit and the kill is given back to the disk.
    if (log_.printed_size() > limits_.log_bytes && ftruncate(log_fd_, limits_.log_bytes) == 0) {
      end_.cause = EndCause::log_limit;
    }
    log_.read_last(limits_.log_bytes);
    if (fsync(log_fd_) < 0 && errno != EINVAL) {
      return tl::unexpected(file_error("log.txt", "cannot sync the trial's log", errno));
    }
    end_.take(log_);
    return {};
  }

  /// Begins to end the attempt when there is a reason, and sees it through.
  void judge() {
    if (!ending_) {
      const auto stopping = signals_.count() > 0 || (hooks_.stop && hooks_.stop());
      const auto status = group_.status();
      if (stopping) {
        end(EndCause::stopped);
      } else if (seconds_since(begin_) > limits_.timeout_s) {
        end(EndCause::timeout);
      } else if (seconds_since(last_output_) > limits_.stall_timeout_s) {
        end(EndCause::stalled);
      } else if (log_.size() > limits_.log_bytes) {
        end(EndCause::log_limit);
        group_.signal(SIGKILL);  // a flood that gets time to end fills the disk
      } else if (status && !status->success()) {
        // One rank is gone for good. The others get a moment to say why, then they go as well.
        if (!failed_at_) failed_at_ = Clock::now();
        if (seconds_since(*failed_at_) > 2) end(EndCause::exited);
      }
    } else if (seconds_since(*ending_) > limits_.grace_s || signals_.count() > 1) {
      group_.signal(SIGKILL);
    }
  }

  void end(EndCause cause) {
    end_.cause = cause;
    ending_ = Clock::now();
    group_.signal(SIGTERM);
  }

  void report() {
    if (!hooks_.progress || seconds_since(reported_) < limits_.progress_s) return;
    reported_ = Clock::now();
    hooks_.progress(log_.live(), seconds_since(begin_));
  }

  int log_fd_;
  const AttemptLimits& limits_;
  TrialLogs log_;
  const AttemptHooks& hooks_;
  const StopSignals& signals_;
  ProcessGroup group_;
  AttemptEnd end_;
  Clock::time_point begin_, last_output_, reported_{};
  std::optional<Clock::time_point> ending_, failed_at_;
};

}  // namespace

void AttemptEnd::take(TrialLogs& logs) {
  log_bytes = logs.bytes_read();
  log_cuts = logs.cuts();
  own_path = logs.own_path();
  own_bytes = logs.own_bytes();
  auto said_by = logs.finish();
  runs = std::move(said_by.runs);
  own_log = said_by.own;
  said = std::move(said_by.said);
}

Result<AttemptEnd> run_attempt(const std::vector<ProcessSpec>& processes, int log_fd,
                               const AttemptLimits& limits, TrialLogs logs,
                               const AttemptHooks& hooks, const StopSignals& signals) {
  return Watch(log_fd, limits, std::move(logs), hooks, signals).run(processes);
}

}  // namespace bertbench
