// megatron: the log of Megatron-LM's pretrain_bert.py (core 0.4 and later: stamps in whole seconds
// before the iteration). A line every --log-every iterations, whose milliseconds and losses are
// means over them, the losses over those with an update. As the original does, it leaves out a loss
// that is not above zero, which NaN is not: "number of nan iterations" counts skipped iterations
// only.
#include <cmath>

#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

class MegatronStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 private:
  void header(Stamp now) override {
    const RunFacts& f = facts_;
    out_ << command_trace(f);
    print(
        "using world size: {0}, data-parallel-size: {0}, context-parallel size: 1, "
        "tensor-model-parallel size: 1, pipeline-model-parallel size: 1 \n",
        f.world_size);
    out_ << "------------------------ arguments ------------------------\n";
    const auto argument = [&](const std::string& name, const auto& value) {
      print("  {} {} {}\n", name, std::string(48 - name.size(), '.'), value);
    };
    argument("global_batch_size", f.global_batch_size());
    argument("log_interval", f.log_every);
    argument("lr", python_float(f.schedule.peak));
    argument("micro_batch_size", f.micro_batch_size);
    argument("optimizer", f.optimizer_name());
    argument("params_dtype", f.precision == "fp16"   ? "torch.float16"
                             : f.precision == "bf16" ? "torch.bfloat16"
                                                     : "torch.float32");
    argument("seed", f.seed);
    argument("seq_length", f.sequence_length);
    argument("train_iters", f.steps);
    argument("world_size", f.world_size);
    out_ << "-------------------- end of arguments ---------------------\n";
    print("setting number of micro-batches to constant {}\n", f.gradient_accumulation_steps);
    out_ << "training ...\n";
    datetime("before the start of training step", now);
  }

  void every_step(const StepFacts& f, Stamp) override {
    if (!f.skipped) return updated_.add(f);
    ++skipped_;
    nan_ += std::isnan(f.loss) ? 1 : 0;
  }

  void line(const StepFacts& f, Stamp now) override {
    print(
        " [{}] iteration {:8d}/{:8d} | consumed samples: {:12d} | elapsed time per iteration (ms): "
        "{:.1f} | learning rate: {:.6E} | global batch size: {:5d} |",
        utc(now.unix_seconds), f.step, facts_.steps, f.step * facts_.global_batch_size(),
        seconds(now) / static_cast<double>(interval_.steps) * 1000, f.learning_rate,
        facts_.global_batch_size());
    if (updated_.steps > 0) {
      loss("lm loss", updated_.masked_lm());
      loss("sop loss", updated_.next_sentence());
    }
    print(" loss scale: {:.1f} |", f.loss_scale > 0 ? f.next_loss_scale : 1.0);
    if (!f.skipped) print(" grad norm: {:.3f} |", f.gradient_norm);
    print(" number of skipped iterations: {:3d} | number of nan iterations: {:3d} |\n", skipped_,
          nan_);
    updated_ = {};
    skipped_ = nan_ = 0;
  }

  void footer(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) {
      print("saving checkpoint at iteration {:7d} to {} in torch format\n", e.step, e.checkpoint);
    }
    if (e.signal != 0) out_ << interrupted(e) << '\n';
    datetime(e.signal != 0 ? "exiting program after receiving SIGTERM." : "after training is done",
             now);
  }

  void datetime(std::string_view what, Stamp now) {
    print("[{}] datetime: {} \n", what, utc(now.unix_seconds));
  }
  void loss(std::string_view name, double mean) {
    if (mean > 0) print(" {}: {:.6E} |", name, mean);
  }

  // Since the last line.
  MeanLosses updated_;
  std::int64_t skipped_ = 0, nan_ = 0;
};

}  // namespace

extern const LogStyleEntry megatron_style{"megatron", make_style<MegatronStyle>};

}  // namespace bert
