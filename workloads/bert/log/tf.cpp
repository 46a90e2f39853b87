// tf: the log of a TensorFlow 1.13 TPUEstimator running Google's run_pretraining.py. TensorFlow
// hands every message to two handlers, so each is printed twice: "INFO:tensorflow:..." and absl's
// form with date, thread and source line.
//
// As the originals' hooks do: they fire after the first step and then every --log-every steps, so
// with 10 at 1, 11, 21; the first interval of global_step/sec holds start-up. The step of a loss
// line is the global step after it, as up to TensorFlow 1.13 (later ones print one less).
#include <cmath>

#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

constexpr unsigned long long kThread = 140421898602304;  // pthread_self(); no reader uses it

class TfStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 private:
  void header(Stamp now) override {
    const RunFacts& f = facts_;
    info(now, "estimator.py:201",
         fmt::format("Using config: {{'_model_dir': '{}', '_tf_random_seed': {}, "
                     "'_log_step_count_steps': {}, '_num_worker_replicas': {}, '_is_chief': True}}",
                     f.checkpoint.empty() ? "None" : f.checkpoint, f.seed, f.log_every,
                     f.world_size));
    info(now, "run_pretraining.py:462", "***** Running training *****");
    info(now, "run_pretraining.py:463", fmt::format("  Batch size = {}", f.global_batch_size()));
    info(now, "run_pretraining.py:464", fmt::format("  Num steps = {}", f.steps));
    // Not the original's: from it a reader turns steps into sequences per device.
    info(now, "run_pretraining.py:465", fmt::format("  command = {}", fmt::join(f.command, " ")));
    if (f.simulated_topology.empty()) return;
    info(now, "run_pretraining.py:466", "  Simulated cluster = " + f.simulated_topology);
  }

  [[nodiscard]] bool is_due(std::int64_t step) const override {
    return IntervalStyle::is_due(step - facts_.first_step);
  }

  void every_step(const StepFacts& f, Stamp) override { final_loss_ = f.loss; }

  void line(const StepFacts& f, Stamp now) override {
    const bool first = f.step == facts_.first_step;
    // The first interval counts from the start of the program, as a session's does.
    const double interval_s = first ? now.seconds : seconds(now);
    const double rate = static_cast<double>(interval_.steps) / interval_s;
    info(now, "tpu_estimator.py:2159", "global_step/sec: " + percent_g(rate));
    info(now, "tpu_estimator.py:2160",
         "examples/sec: " + percent_g(rate * static_cast<double>(facts_.global_batch_size())));
    const std::string loss = fmt::format("loss = {}, step = {}", numpy_float32(f.loss), f.step);
    if (first) {
      info(now, "basic_session_run_hooks.py:249", loss);
    } else {
      info(now, "basic_session_run_hooks.py:247", fmt::format("{} ({:.3f} sec)", loss, interval_s));
    }
    if (std::isnan(f.loss)) {
      twice("ERROR", now, "basic_session_run_hooks.py:760", "Model diverged with loss = NaN.");
    }
  }

  void footer(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) {
      info(now, "basic_session_run_hooks.py:606",
           fmt::format("Saving checkpoints for {} into {}.", e.step, e.checkpoint));
    }
    if (e.signal != 0) twice("WARNING", now, "run_pretraining.py:471", interrupted(e) + ".");
    info(now, "estimator.py:359",
         fmt::format("Loss for final step: {}.", numpy_float32(final_loss_)));
    info(now, "error_handling.py:96", "training_loop marked as finished");
  }

  void info(Stamp now, const char* source, const std::string& message) {
    twice("INFO", now, source, message);
  }
  void twice(std::string_view level, Stamp now, const char* source, const std::string& message) {
    print("{}:tensorflow:{}\n{}{}.{:06d} {} {}] {}\n", level, message, level[0],
          utc(now.unix_seconds, "%m%d %H:%M:%S"), fraction(now.unix_seconds, 1e6), kThread, source,
          message);
  }

  double final_loss_ = 0;
};

}  // namespace

extern const LogStyleEntry tf_style{"tf", make_style<TfStyle>};

}  // namespace bert
