// gluonnlp: the log of MXNet gluon-nlp's scripts/bert/run_pretraining.py. A line every --log-every
// steps, whose counter is the step's index (the first step is 0), with the mean losses and the time
// of the interval. Accuracies, which bert_train does not measure, are nan as MXNet's metrics are
// without data. Tokens are those of full sequences.
#include <fmt/format.h>

#include <ostream>

#include "workloads/bert/log_styles/interval.h"
#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

class GluonnlpStyle : public LogStyle {
 public:
  explicit GluonnlpStyle(std::ostream& out) : out_(out) {}

  void begin(const RunFacts& f, Stamp now) override {
    facts_ = f;
    started_ = last_ = now;
    std::string gpus;
    for (int i = 0; i < f.world_size; ++i) gpus += (i > 0 ? "," : "") + std::to_string(i);
    out_ << command_trace(f);
    out_ << fmt::format(
        "INFO:root:Namespace(accumulate={}, batch_size={}, ckpt_dir='{}', ckpt_interval={}, "
        "data='{}', dtype='{}', gpus='{}', kvstore='device_sync', log_interval={}, lr={}, "
        "max_seq_length={}, model='{}', num_steps={}, optimizer='{}', seed={}, start_step={}, "
        "warmup_ratio={})\n",
        f.gradient_accumulation_steps, f.micro_batch_size, f.checkpoint, f.last_step, f.data,
        f.precision == "fp32"   ? "float32"
        : f.precision == "fp16" ? "float16"
                                : f.precision,
        gpus, f.log_every, python_float(f.learning_rate), f.sequence_length, f.model, f.last_step,
        f.optimizer, f.seed, f.first_step - 1,
        python_float(f.last_step > 0
                         ? static_cast<double>(f.warmup_steps) / static_cast<double>(f.last_step)
                         : 0));
    out_ << std::flush;
  }

  void step(const StepFacts& f, Stamp now) override {
    interval_.add(f);
    if (f.step % facts_.log_every != 0) return;
    const auto steps = static_cast<double>(interval_.steps());
    const double seconds = now.seconds - last_.seconds;
    const double tokens =
        steps * static_cast<double>(facts_.global_batch_size() * facts_.sequence_length);
    out_ << fmt::format(
                "INFO:root:[step {}]\tmlm_loss={:.5f}\tmlm_acc=nan\tnsp_loss={:.5f}\tnsp_acc=nan\t"
                "throughput={:.1f}K tks/s\tlr={:.7f} time={:.2f}\n",
                f.step - 1, interval_.mean_masked_lm(), interval_.mean_next_sentence(),
                tokens / seconds / 1000, f.learning_rate, seconds)
         << std::flush;
    interval_ = {};
    last_ = now;
  }

  void end(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) {
      out_ << fmt::format("INFO:root:[step {}] Saving checkpoints to {}.\n", e.step - 1,
                          e.checkpoint);
    }
    if (e.signal != 0) {
      out_ << fmt::format("INFO:root:Training interrupted by signal {} after step {}\n", e.signal,
                          e.step);
    }
    out_ << fmt::format("INFO:root:Train cost={:.1f}s\n", now.seconds - started_.seconds)
         << std::flush;
  }

 private:
  std::ostream& out_;
  RunFacts facts_;
  Stamp started_, last_;
  IntervalLosses interval_;
};

}  // namespace

std::unique_ptr<LogStyle> make_gluonnlp_style(std::ostream& out) {
  return std::make_unique<GluonnlpStyle>(out);
}

}  // namespace bert
