// gluonnlp: the log of MXNet gluon-nlp's scripts/bert/run_pretraining.py. A line every --log-every
// steps, whose counter is the step's index (the first step is 0), with the mean losses and the time
// of the interval. Accuracies, which bert_train does not measure, are nan as MXNet's metrics are
// without data. Tokens are those of full sequences.
#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

class GluonnlpStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 private:
  void header(Stamp) override {
    const RunFacts& f = facts_;
    std::string gpus;
    for (int i = 0; i < f.world_size; ++i) gpus += (i > 0 ? "," : "") + std::to_string(i);
    out_ << command_trace(f);
    print(
        "INFO:root:Namespace(accumulate={}, batch_size={}, ckpt_dir='{}', ckpt_interval={}, "
        "data='{}', dtype='{}', gpus='{}', kvstore='device_sync', log_interval={}, lr={}, "
        "max_seq_length={}, model='{}', num_steps={}, optimizer='{}', seed={}, start_step={}, "
        "warmup_ratio={})\n",
        f.gradient_accumulation_steps, f.micro_batch_size, f.checkpoint, f.steps,
        f.data_description,
        f.precision == "fp32"   ? "float32"
        : f.precision == "fp16" ? "float16"
                                : f.precision,
        gpus, f.log_every, python_float(f.schedule.peak), f.sequence_length, f.model, f.steps,
        f.optimizer_name(), f.seed, f.first_step - 1, python_float(warmup_share(f)));
  }

  void every_step(const StepFacts& f, Stamp) override {
    if (f.skipped) {
      print("INFO:root:DynamicLossScaler: overflow detected. set loss_scale = {}\n",
            python_float(f.next_loss_scale));
    }
  }

  void line(const StepFacts& f, Stamp now) override {
    print(
        "INFO:root:[step {}]\tmlm_loss={:.5f}\tmlm_acc=nan\tnsp_loss={:.5f}\tnsp_acc=nan\t"
        "throughput={:.1f}K tks/s\tlr={:.7f} time={:.2f}\n",
        f.step - 1, interval_.masked_lm(), interval_.next_sentence(),
        sequences() * static_cast<double>(facts_.sequence_length) / seconds(now) / 1000,
        f.learning_rate, seconds(now));
  }

  void footer(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) {
      print("INFO:root:[step {}] Saving checkpoints to {}.\n", e.step - 1, e.checkpoint);
    }
    if (e.signal != 0) print("INFO:root:{}\n", interrupted(e));
    print("INFO:root:Train cost={:.1f}s\n", now.seconds - started_.seconds);
  }
};

}  // namespace

extern const LogStyleEntry gluonnlp_style{"gluonnlp", make_style<GluonnlpStyle>};

}  // namespace bert
