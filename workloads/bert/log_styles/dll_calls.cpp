#include "workloads/bert/log_styles/dll_calls.h"

#include <fmt/format.h>

#include "workloads/bert/log_styles/interval.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

std::string arguments(const RunFacts& f) {
  return fmt::format(
      "Namespace(allreduce_post_accumulation=True, bf16={}, checkpoint_activations={}, "
      "config_file='{}', do_train=True, fp16={}, gradient_accumulation_steps={}, "
      "learning_rate={}, local_rank=0, log_freq={}, loss_scale=0.0, max_predictions_per_seq={}, "
      "max_seq_length={}, max_steps={}, n_gpu=1, output_dir='{}', phase2=False, seed={}, "
      "steps_this_run={}, train_batch_size={}, warmup_proportion={})",
      f.precision == "bf16" ? "True" : "False", f.activation_checkpointing ? "True" : "False",
      f.model, f.precision == "fp16" ? "True" : "False", f.gradient_accumulation_steps,
      python_float(f.learning_rate), python_float(static_cast<double>(f.log_every)),
      f.masked_per_sequence, f.sequence_length, python_float(static_cast<double>(f.last_step)),
      f.checkpoint, f.seed, f.last_step - f.first_step + 1, f.micro_batch_size,
      python_float(f.last_step > 0
                       ? static_cast<double>(f.warmup_steps) / static_cast<double>(f.last_step)
                       : 0));
}

class DllStyle : public LogStyle {
 public:
  DllStyle(std::ostream& out, std::unique_ptr<DllBackend> backend)
      : out_(out), backend_(std::move(backend)) {}

  void begin(const RunFacts& f, Stamp now) override {
    facts_ = f;
    out_ << command_trace(f);
    // As run_pretraining.sh traces its variables.
    out_ << "+ precision=" << f.precision << "\n+ num_gpus=" << f.world_size << '\n';
    out_ << fmt::format("device: {} n_gpu: 1, distributed training: {}, 16-bits training: {}\n",
                        f.backend_name, f.world_size > 1 ? "True" : "False",
                        f.precision == "fp16" ? "True" : "False");
    parameter({"Config", DllText{arguments(f)}}, now);
    parameter({"SEED", static_cast<std::int64_t>(f.seed)}, now);
    parameter({"train_start", true}, now);
    parameter({"batch_size_per_gpu", f.micro_batch_size}, now);
    parameter({"learning_rate", f.learning_rate}, now);
    out_ << std::flush;
  }

  void step(const StepFacts& f, Stamp now) override {
    interval_.add(f);
    if (f.step == facts_.last_step) {  // the last says its loss and nothing else
      final_loss_ = interval_.mean_loss();
      backend_->log(DllStepKind::iteration, f.step, {{"final_loss", final_loss_, "None"}}, now);
    } else if (f.step % facts_.log_every == 0) {
      backend_->log(DllStepKind::iteration, f.step,
                    {{"average_loss", interval_.mean_loss()},
                     {"learning_rate", f.learning_rate},
                     {"skipped_steps", std::int64_t{0}}},
                    now);
      final_loss_ = interval_.mean_loss();
      interval_ = {};
    }
    out_ << std::flush;
  }

  void end(const RunEnd& e, Stamp now) override {
    if (e.signal != 0) {
      out_ << fmt::format("Training interrupted by signal {} after step {}\n", e.signal, e.step);
      if (interval_.steps() > 0) final_loss_ = interval_.mean_loss();
    }
    if (!e.checkpoint.empty()) parameter({"checkpoint_step", e.step}, now);
    const auto sequences = static_cast<double>(e.steps_done * facts_.global_batch_size());
    backend_->log(DllStepKind::summary, 0,
                  {{"e2e_train_time", now.seconds, "s"},
                   {"training_sequences_per_second",
                    e.training_s > 0 ? sequences / e.training_s : 0.0, "sequences/s"},
                   {"final_loss", final_loss_, "None"},
                   {"raw_train_time", e.training_s, "s"}},
                  now);
    out_ << std::flush;
  }

 private:
  void parameter(DllMetric metric, Stamp now) {
    backend_->log(DllStepKind::parameter, 0, {std::move(metric)}, now);
  }

  std::ostream& out_;
  std::unique_ptr<DllBackend> backend_;
  RunFacts facts_;
  IntervalLosses interval_;
  double final_loss_ = 0;
};

}  // namespace

std::unique_ptr<LogStyle> make_dll_style(std::ostream& out, std::unique_ptr<DllBackend> backend) {
  return std::make_unique<DllStyle>(out, std::move(backend));
}

}  // namespace bert
