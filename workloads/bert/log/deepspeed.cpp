// deepspeed: DeepSpeed 0.9 running its bing_bert example: the engine's log_dist and throughput
// timer (deepspeed/utils/timer.py) every --log-every steps, the example's progress line with the
// loss, the launcher's first and last lines.
//
// The timer starts with the third step; CurrSamplesPerSec is the last step's, RunningAvg that of
// all steps since. It times what lies between forward and step, which is everything here.
#include <cmath>

#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

constexpr std::int64_t kStartStep = 2;  // ThroughputTimer's start_step
constexpr int kProcess = 4711;          // of the worker; no reader uses it

class DeepspeedStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 private:
  void header(Stamp now) override {
    last_step_s_ = now.seconds;
    out_ << command_trace(facts_);
    message(now, "runner.py:540:main", fmt::format("cmd = {}", fmt::join(facts_.command, " ")));
    setting(now, "gradient_accumulation_steps", facts_.gradient_accumulation_steps);
    setting(now, "steps_per_print", facts_.log_every);
    setting(now, "train_batch_size", facts_.global_batch_size());
    setting(now, "train_micro_batch_size_per_gpu", facts_.micro_batch_size);
    setting(now, "world_size", facts_.world_size);
  }

  void every_step(const StepFacts& f, Stamp now) override {
    if (f.skipped) {
      message(
          now, "loss_scaler.py:181:update_scale",
          fmt::format("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {:.0f}, "
                      "reducing to {:.0f}",
                      f.loss_scale, f.next_loss_scale));
    }
    step_s_ = now.seconds - std::exchange(last_step_s_, now.seconds);
    if (run_.steps > kStartStep) timed_s_ += step_s_;
  }

  void line(const StepFacts& f, Stamp now) override {
    // The example prints it between backward and step, the engine its lines at the end of step.
    print("bing_bert_progress: step={}, loss={}, lr={}, sample_count={}\n", f.step,
          python_float(f.loss), python_float(f.learning_rate), f.step * facts_.global_batch_size());
    message(now, "logging.py:96:log_dist",
            fmt::format("[Rank 0] step={}, skipped={}, lr=[{}], mom=[(0.9, 0.999)]", f.step,
                        skipped_steps_, python_float(f.learning_rate)));
    if (run_.steps <= kStartStep) return;
    const auto batch = static_cast<double>(facts_.global_batch_size());
    const double average = batch * static_cast<double>(run_.steps - kStartStep) / timed_s_;
    const double bytes = static_cast<double>(facts_.planned_bytes);
    const std::string gigabytes = python_float(std::round(bytes / 1073741824.0 * 100) / 100);
    message(now, "timer.py:199:stop",
            fmt::format("epoch=0/micro_step={}/global_step={}, RunningAvgSamplesPerSec={}, "
                        "CurrSamplesPerSec={}, MemAllocated={}GB, MaxMemAllocated={}GB",
                        f.step * facts_.gradient_accumulation_steps, f.step, python_float(average),
                        python_float(batch / step_s_), gigabytes, gigabytes));
  }

  void footer(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) {
      message(now, "logging.py:96:log_dist", "[Rank 0] Saving model checkpoint: " + e.checkpoint);
    }
    if (e.signal == 0) {
      return message(now, "launch.py:460:main",
                     fmt::format("Process {} exits successfully.", kProcess));
    }
    message(now, "launch.py:315:sigkill_handler", fmt::format("Killing subprocess {}", kProcess));
    message(now, "launch.py:324:sigkill_handler",
            fmt::format("Main process received {}, exiting", e.signal == 2 ? "SIGINT" : "SIGTERM"));
  }

  void setting(Stamp now, std::string_view name, std::int64_t value) {
    message(now, "config.py:957:print",
            fmt::format("  {} {} {}", name,
                        std::string(29 - std::min<std::size_t>(26, name.size()), '.'), value));
  }
  // Python's logging: "[%(asctime)s] [%(levelname)s] [%(filename)s:%(lineno)d:%(funcName)s] ...".
  void message(Stamp now, const char* source, const std::string& text) {
    print("[{},{:03d}] [INFO] [{}] {}\n", utc(now.unix_seconds), fraction(now.unix_seconds, 1e3),
          source, text);
  }

  double step_s_ = 0, timed_s_ = 0, last_step_s_ = 0;
};

}  // namespace

extern const LogStyleEntry deepspeed_style{"deepspeed", make_style<DeepspeedStyle>};

}  // namespace bert
