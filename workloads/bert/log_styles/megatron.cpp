// megatron: the log of Megatron-LM's pretrain_bert.py (core 0.4 and later: stamps in whole seconds
// in front of the iteration). A line every --log-every iterations, whose milliseconds and losses
// are means over them. As the original does, it leaves out a loss that is not above zero, which NaN
// is not: "number of nan iterations" counts skipped iterations only.
#include <fmt/format.h>

#include <ostream>

#include "workloads/bert/log_styles/interval.h"
#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

class MegatronStyle : public LogStyle {
 public:
  explicit MegatronStyle(std::ostream& out) : out_(out) {}

  void begin(const RunFacts& f, Stamp now) override {
    facts_ = f;
    last_ = now;
    out_ << command_trace(f);
    out_ << fmt::format(
        "using world size: {0}, data-parallel-size: {0}, context-parallel size: 1, "
        "tensor-model-parallel size: 1, pipeline-model-parallel size: 1 \n",
        f.world_size);
    out_ << "------------------------ arguments ------------------------\n";
    argument("global_batch_size", std::to_string(f.global_batch_size()));
    argument("log_interval", std::to_string(f.log_every));
    argument("lr", python_float(f.learning_rate));
    argument("micro_batch_size", std::to_string(f.micro_batch_size));
    argument("optimizer", f.optimizer);
    argument("params_dtype", f.precision == "fp16"   ? "torch.float16"
                             : f.precision == "bf16" ? "torch.bfloat16"
                                                     : "torch.float32");
    argument("seed", std::to_string(f.seed));
    argument("seq_length", std::to_string(f.sequence_length));
    argument("train_iters", std::to_string(f.last_step));
    argument("world_size", std::to_string(f.world_size));
    out_ << "-------------------- end of arguments ---------------------\n";
    out_ << fmt::format("setting number of micro-batches to constant {}\n",
                        f.gradient_accumulation_steps);
    out_ << "training ...\n";
    datetime("before the start of training step", now);
    out_ << std::flush;
  }

  void step(const StepFacts& f, Stamp now) override {
    interval_.add(f);
    if (f.step % facts_.log_every != 0) return;
    const auto steps = static_cast<double>(interval_.steps());
    out_ << fmt::format(
        " [{}] iteration {:8d}/{:8d} | consumed samples: {:12d} | elapsed time per iteration (ms): "
        "{:.1f} | learning rate: {:.6E} | global batch size: {:5d} |",
        utc(now.unix_seconds, "%Y-%m-%d %H:%M:%S"), f.step, facts_.last_step,
        f.step * facts_.global_batch_size(), (now.seconds - last_.seconds) / steps * 1000,
        f.learning_rate, facts_.global_batch_size());
    loss("lm loss", interval_.mean_masked_lm());
    loss("sop loss", interval_.mean_next_sentence());
    out_ << fmt::format(
                " loss scale: 1.0 | grad norm: {:.3f} | number of skipped iterations:   0 | number "
                "of nan iterations:   0 |\n",
                f.gradient_norm)
         << std::flush;
    interval_ = {};
    last_ = now;
  }

  void end(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) {
      out_ << fmt::format("saving checkpoint at iteration {:7d} to {} in torch format\n", e.step,
                          e.checkpoint);
    }
    if (e.signal != 0) {
      out_ << fmt::format("Training interrupted by signal {} after step {}\n", e.signal, e.step);
      datetime("exiting program after receiving SIGTERM.", now);
    } else {
      datetime("after training is done", now);
    }
    out_ << std::flush;
  }

 private:
  void argument(const std::string& name, const std::string& value) {
    out_ << fmt::format("  {} {} {}\n", name, std::string(48 - name.size(), '.'), value);
  }
  void datetime(std::string_view what, Stamp now) {
    out_ << fmt::format("[{}] datetime: {} \n", what, utc(now.unix_seconds, "%Y-%m-%d %H:%M:%S"));
  }
  void loss(std::string_view name, double mean) {
    if (mean > 0) out_ << fmt::format(" {}: {:.6E} |", name, mean);
  }

  std::ostream& out_;
  RunFacts facts_;
  Stamp last_;
  IntervalLosses interval_;
};

}  // namespace

std::unique_ptr<LogStyle> make_megatron_style(std::ostream& out) {
  return std::make_unique<MegatronStyle>(out);
}

}  // namespace bert
