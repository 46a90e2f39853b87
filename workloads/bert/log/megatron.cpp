// megatron: the log of Megatron-LM's pretrain_bert.py (core 0.4 and later: stamps in whole seconds
// before the iteration). A line every --log-every iterations, whose milliseconds and losses are
// means over them. As the original does, it leaves out a loss that is not above zero, which NaN
// is not: "number of nan iterations" counts skipped iterations only.
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

  void line(const StepFacts& f, Stamp now) override {
    print(
        " [{}] iteration {:8d}/{:8d} | consumed samples: {:12d} | elapsed time per iteration (ms): "
        "{:.1f} | learning rate: {:.6E} | global batch size: {:5d} |",
        utc(now.unix_seconds), f.step, facts_.steps, f.step * facts_.global_batch_size(),
        seconds(now) / static_cast<double>(interval_.steps) * 1000, f.learning_rate,
        facts_.global_batch_size());
    loss("lm loss", interval_.masked_lm());
    loss("sop loss", interval_.next_sentence());
    print(
        " loss scale: 1.0 | grad norm: {:.3f} | number of skipped iterations:   0 | number of nan "
        "iterations:   0 |\n",
        f.gradient_norm);
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
};

}  // namespace

extern const LogStyleEntry megatron_style{"megatron", make_style<MegatronStyle>};

}  // namespace bert
