#include "harness/sweep/execute/hooks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>

#include "harness/sweep/execute/attempt_runner.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/process.h"

namespace bertbench {
namespace {

using Clock = std::chrono::steady_clock;

std::string run_words(const OpenSweep& sweep, const Folder& folder, Hook hook,
                      const std::vector<std::string>& words, const std::string& marker) {
  const std::string name = hook == Hook::setup ? "setup" : "cleanup";
  const auto log = folder.create_log(name + ".log");
  if (!log) return fmt::format("{}: {}", name, log.error().message());
  ProcessSpec spec;
  spec.argv = words;
  // By this a resume finds what a killed harness left running.
  spec.set = {{"BERTBENCH_TRIAL", marker}};
  ProcessGroup group;
  const auto begin = Clock::now();
  const double limit_s = sweep.plan.config.timeout_s;
  std::optional<Clock::time_point> ending;
  const char* ended_for = "";
  const auto started = group.start(sweep.plan.config.secrets.reveal(spec), *log);
  const auto log_is_full = [&] {
    struct stat info {};
    return fstat(*log, &info) == 0 && info.st_size > sweep.plan.config.log_limit_bytes;
  };
  if (!started) {
    return fmt::format("{}: {}", name, started.error().message());
  }
  while (group.running()) {
    group.wait(std::chrono::milliseconds(250), sweep.signals.wake_fd());
    sweep.signals.drain();
    const bool stop = hook == Hook::setup ? sweep.stopping() : sweep.signals.count() > 1;
    const bool late = group.running() && seconds_since(begin) > limit_s;
    if (ending) {
      if (seconds_since(*ending) > sweep.options.grace_s) group.signal(SIGKILL);
    } else if (const bool full = log_is_full(); stop || full || late) {
      ended_for = stop   ? ", as the sweep was to stop"
                  : full ? ", after log_limit_bytes"
                         : ", after timeout_s";
      ending = Clock::now();
      group.signal(SIGTERM);
    }
  }
  const auto status = group.status().value_or(ExitStatus{});
  group.kill_all();
  if (status.success() && !ending) return {};
  return fmt::format("{} ended with {}{} ({}.log in {})", name, status.str(), ended_for, name,
                     folder.path());
}

}  // namespace

std::string run_hook(const OpenSweep& sweep, Hook hook) {
  const auto& hooks = sweep.plan.config.hooks;
  const auto& words = hook == Hook::setup ? hooks.setup : hooks.cleanup;
  if (words.empty()) return {};
  return run_words(sweep, sweep.root, hook, words, sweep.earlier.run_id + ":hook");
}

std::string run_hook(const OpenSweep& sweep, const OpenAttempt& open, Hook hook) {
  const auto& hooks = sweep.plan.config.hooks;
  const auto& raw = hook == Hook::setup ? hooks.trial_setup : hooks.trial_cleanup;
  if (raw.empty()) return {};
  const auto words = hook_words(sweep.plan, open.wanted.trial, open.place, raw);
  if (!words) return words.error().message();
  return run_words(sweep, open.folder, hook, *words, open.place.marker);
}

}  // namespace bertbench
