// tf: the log of a TensorFlow 1.13 TPUEstimator running Google's run_pretraining.py. TensorFlow
// hands every message to two handlers, so each stands twice: "INFO:tensorflow:..." and absl's form
// with date, thread and source line.
//
// As the originals' hooks do: they fire after the first step and then every --log-every steps, so
// with 10 at 1, 11, 21; the first interval of global_step/sec holds start-up. The step of a loss
// line is the global step after it, as up to TensorFlow 1.13 (later ones print one less).
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <ostream>

#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

constexpr unsigned long long kThread = 140421898602304;  // pthread_self(), nobody reads it

class TfStyle : public LogStyle {
 public:
  explicit TfStyle(std::ostream& out) : out_(out) {}

  void begin(const RunFacts& f, Stamp now) override {
    facts_ = f;
    say(now, "estimator.py:201",
        fmt::format("Using config: {{'_model_dir': '{}', '_tf_random_seed': {}, "
                    "'_log_step_count_steps': {}, '_num_worker_replicas': {}, '_is_chief': True}}",
                    f.checkpoint.empty() ? "None" : f.checkpoint, f.seed, f.log_every,
                    f.world_size));
    say(now, "run_pretraining.py:462", "***** Running training *****");
    say(now, "run_pretraining.py:463", fmt::format("  Batch size = {}", f.global_batch_size()));
    say(now, "run_pretraining.py:464", fmt::format("  Num steps = {}", f.last_step));
    // Not the original's: what a reader needs to turn steps into sequences per device.
    say(now, "run_pretraining.py:465", fmt::format("  command = {}", fmt::join(f.command, " ")));
    if (!f.simulated_topology.empty()) {
      say(now, "run_pretraining.py:466",
          fmt::format("  Simulated cluster = {}", f.simulated_topology));
    }
  }

  void step(const StepFacts& f, Stamp now) override {
    final_loss_ = f.loss;
    const std::int64_t from_start = f.step - facts_.first_step;
    if (from_start % facts_.log_every != 0) {
      return;
    }
    const bool first = from_start == 0;
    // Seconds of the first interval count from the start of the program, as a session's do.
    const double seconds = now.seconds - (first ? 0 : last_.seconds);
    const double rate = (first ? 1.0 : static_cast<double>(facts_.log_every)) / seconds;
    say(now, "tpu_estimator.py:2159", "global_step/sec: " + percent_g(rate));
    say(now, "tpu_estimator.py:2160",
        "examples/sec: " + percent_g(rate * static_cast<double>(facts_.global_batch_size())));
    const std::string loss = fmt::format("loss = {}, step = {}", numpy_float32(f.loss), f.step);
    if (first) {
      say(now, "basic_session_run_hooks.py:249", loss);
    } else {
      say(now, "basic_session_run_hooks.py:247", fmt::format("{} ({:.3f} sec)", loss, seconds));
    }
    if (std::isnan(f.loss)) {
      twice('E', "ERROR", now, "basic_session_run_hooks.py:760", "Model diverged with loss = NaN.");
    }
    out_ << std::flush;
    last_ = now;
  }

  void end(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) {
      say(now, "basic_session_run_hooks.py:606",
          fmt::format("Saving checkpoints for {} into {}.", e.step, e.checkpoint));
    }
    if (e.signal != 0) {
      twice('W', "WARNING", now, "run_pretraining.py:471",
            fmt::format("Training interrupted by signal {} after step {}.", e.signal, e.step));
    }
    say(now, "estimator.py:359",
        fmt::format("Loss for final step: {}.", numpy_float32(final_loss_)));
    say(now, "error_handling.py:96", "training_loop marked as finished");
    out_ << std::flush;
  }

 private:
  void say(Stamp now, const char* source, const std::string& message) {
    twice('I', "INFO", now, source, message);
  }
  void twice(char level, const char* name, Stamp now, const char* source,
             const std::string& message) {
    const double whole = std::floor(now.unix_seconds);
    out_ << fmt::format("{}:tensorflow:{}\n{}{}.{:06d} {} {}] {}\n", name, message, level,
                        utc(now.unix_seconds, "%m%d %H:%M:%S"),
                        static_cast<int>((now.unix_seconds - whole) * 1e6), kThread, source,
                        message);
  }

  std::ostream& out_;
  RunFacts facts_;
  Stamp last_;
  double final_loss_ = 0;
};

}  // namespace

std::unique_ptr<LogStyle> make_tf_style(std::ostream& out) {
  return std::make_unique<TfStyle>(out);
}

}  // namespace bert
