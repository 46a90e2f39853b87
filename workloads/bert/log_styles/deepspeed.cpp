// deepspeed: DeepSpeed 0.9 running its bing_bert example: the engine's log_dist and throughput
// timer (deepspeed/utils/timer.py) every --log-every steps, the example's progress line with the
// loss, the launcher's first and last words.
//
// The timer starts with the third step; CurrSamplesPerSec is the last step's, RunningAvg that of
// all steps since. It times what lies between forward and step, which is everything here.
#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

constexpr std::int64_t kStartStep = 2;  // ThroughputTimer's start_step
constexpr int kProcess = 4711;          // of the worker, nobody reads it

class DeepspeedStyle : public LogStyle {
 public:
  explicit DeepspeedStyle(std::ostream& out) : out_(out) {}

  void begin(const RunFacts& f, Stamp now) override {
    facts_ = f;
    last_ = now;
    out_ << command_trace(f);
    say(now, "runner.py:540:main", fmt::format("cmd = {}", fmt::join(f.command, " ")));
    setting(now, "gradient_accumulation_steps", f.gradient_accumulation_steps);
    setting(now, "steps_per_print", f.log_every);
    setting(now, "train_batch_size", f.global_batch_size());
    setting(now, "train_micro_batch_size_per_gpu", f.micro_batch_size);
    setting(now, "world_size", f.world_size);
    out_ << std::flush;
  }

  void step(const StepFacts& f, Stamp now) override {
    const double seconds = now.seconds - last_.seconds;
    last_ = now;
    ++steps_;
    if (steps_ > kStartStep) timed_s_ += seconds;
    if (f.step % facts_.log_every != 0) return;
    // The example prints it between backward and step, the engine its lines at the end of step.
    out_ << fmt::format("bing_bert_progress: step={}, loss={}, lr={}, sample_count={}\n", f.step,
                        python_float(f.loss), python_float(f.learning_rate),
                        f.step * facts_.global_batch_size());
    say(now, "logging.py:96:log_dist",
        fmt::format("[Rank 0] step={}, skipped=0, lr=[{}], mom=[(0.9, 0.999)]", f.step,
                    python_float(f.learning_rate)));
    const auto batch = static_cast<double>(facts_.global_batch_size());
    if (steps_ > kStartStep) {
      const double average = batch * static_cast<double>(steps_ - kStartStep) / timed_s_;
      say(now, "timer.py:199:stop",
          fmt::format("epoch=0/micro_step={}/global_step={}, RunningAvgSamplesPerSec={}, "
                      "CurrSamplesPerSec={}, MemAllocated={}GB, MaxMemAllocated={}GB",
                      f.step * facts_.gradient_accumulation_steps, f.step, python_float(average),
                      python_float(batch / seconds), gigabytes(facts_.planned_bytes),
                      gigabytes(facts_.planned_bytes)));
    }
    out_ << std::flush;
  }

  void end(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) {
      say(now, "logging.py:96:log_dist",
          fmt::format("[Rank 0] Saving model checkpoint: {}", e.checkpoint));
    }
    if (e.signal != 0) {
      say(now, "launch.py:315:sigkill_handler", fmt::format("Killing subprocess {}", kProcess));
      say(now, "launch.py:324:sigkill_handler",
          fmt::format("Main process received {}, exiting", e.signal == 2 ? "SIGINT" : "SIGTERM"));
    } else {
      say(now, "launch.py:460:main", fmt::format("Process {} exits successfully.", kProcess));
    }
    out_ << std::flush;
  }

 private:
  static std::string gigabytes(std::int64_t bytes) {
    return python_float(std::round(static_cast<double>(bytes) / 1073741824.0 * 100) / 100);
  }
  void setting(Stamp now, std::string_view name, std::int64_t value) {
    say(now, "config.py:957:print",
        fmt::format("  {} {} {}", name,
                    std::string(29 - std::min<std::size_t>(26, name.size()), '.'), value));
  }
  // Python's logging: "[%(asctime)s] [%(levelname)s] [%(filename)s:%(lineno)d:%(funcName)s] ...".
  void say(Stamp now, const char* source, const std::string& message) {
    const double whole = std::floor(now.unix_seconds);
    out_ << fmt::format("[{},{:03d}] [INFO] [{}] {}\n", utc(now.unix_seconds, "%Y-%m-%d %H:%M:%S"),
                        static_cast<int>((now.unix_seconds - whole) * 1e3), source, message);
  }

  std::ostream& out_;
  RunFacts facts_;
  Stamp last_;
  std::int64_t steps_ = 0;
  double timed_s_ = 0;
};

}  // namespace

std::unique_ptr<LogStyle> make_deepspeed_style(std::ostream& out) {
  return std::make_unique<DeepspeedStyle>(out);
}

}  // namespace bert
