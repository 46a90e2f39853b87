#include "harness/sweep/attempt.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "harness/sweep/proc_fs.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using Clock = std::chrono::steady_clock;

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
  Watch(int log_fd, const AttemptLimits& limits, LogReader reader, const AttemptHooks& hooks,
        const StopSignals& signals)
      : log_fd_(log_fd),
        limits_(limits),
        reader_(std::move(reader)),
        hooks_(hooks),
        signals_(signals) {}

  Result<AttemptEnd> run(const std::vector<ProcessSpec>& processes) {
    const auto kills_before = oom_kills();
    begin_ = last_output_ = Clock::now();
    if (auto started = start(processes); !started) return tl::unexpected(started.error());
    while (group_.running()) {
      const auto tick = std::clamp(limits_.progress_s / 2, 0.01, 0.25);
      group_.wait(std::chrono::milliseconds(static_cast<int>(tick * 1000)), signals_.wake_fd());
      signals_.drain();
      read_log(std::int64_t{8} << 20);
      judge();
      report();
    }
    end_.exit = group_.status();
    end_.escaped = group_.kill_all();
    end_.seconds = seconds_since(begin_);
    read_log(limits_.log_bytes);
    fsync(log_fd_);
    end_.log_bytes = read_;
    end_.kernel_oom = oom_kills() > kills_before;
    end_.runs = reader_.finish();
    return std::move(end_);
  }

 private:
  Result<void> start(const std::vector<ProcessSpec>& processes) {
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

  void read_log(std::int64_t at_most) {
    char block[1 << 16];
    for (std::int64_t done = 0; done < at_most;) {
      const ssize_t got = pread(log_fd_, block, sizeof block, read_);
      if (got <= 0) break;
      reader_.feed({block, static_cast<std::size_t>(got)});
      read_ += got;
      done += got;
      last_output_ = Clock::now();
    }
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
      } else if (file_size() > limits_.log_bytes) {
        end(EndCause::log_limit);
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

  [[nodiscard]] std::int64_t file_size() const {
    struct stat info {};
    return fstat(log_fd_, &info) == 0 ? info.st_size : 0;
  }

  void report() {
    if (!hooks_.progress || seconds_since(reported_) < limits_.progress_s) return;
    reported_ = Clock::now();
    hooks_.progress(reader_.live(), seconds_since(begin_));
  }

  int log_fd_;
  const AttemptLimits& limits_;
  LogReader reader_;
  const AttemptHooks& hooks_;
  const StopSignals& signals_;
  ProcessGroup group_;
  AttemptEnd end_;
  std::int64_t read_ = 0;
  Clock::time_point begin_, last_output_, reported_{};
  std::optional<Clock::time_point> ending_, failed_at_;
};

}  // namespace

Result<AttemptEnd> run_attempt(const std::vector<ProcessSpec>& processes, int log_fd,
                               const AttemptLimits& limits, LogReader reader,
                               const AttemptHooks& hooks, const StopSignals& signals) {
  return Watch(log_fd, limits, std::move(reader), hooks, signals).run(processes);
}

}  // namespace bertbench
