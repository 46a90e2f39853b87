#include "workloads/bert/log/dll_calls.h"

#include "workloads/bert/log/text.h"

namespace bert {
namespace {

/// 0 = dynamic, as in the script's help.
double static_loss_scale(const RunFacts& f) {
  return f.precision == "fp16" && f.loss_scale.growth_interval == 0 ? f.loss_scale.initial : 0;
}

std::string arguments(const RunFacts& f) {
  return fmt::format(
      "Namespace(allreduce_post_accumulation=True, bf16={}, checkpoint_activations={}, "
      "config_file='{}', do_train=True, fp16={}, gradient_accumulation_steps={}, "
      "learning_rate={}, local_rank=0, log_freq={}, loss_scale={}, max_predictions_per_seq={}, "
      "max_seq_length={}, max_steps={}, n_gpu=1, output_dir='{}', phase2=False, seed={}, "
      "steps_this_run={}, train_batch_size={}, warmup_proportion={})",
      python_bool(f.precision == "bf16"), python_bool(f.activation_checkpointing), f.model,
      python_bool(f.precision == "fp16"), f.gradient_accumulation_steps,
      python_float(f.schedule.peak), python_float(static_cast<double>(f.log_every)),
      python_float(static_loss_scale(f)), f.masked_per_sequence, f.sequence_length,
      python_float(static_cast<double>(f.steps)), f.checkpoint, f.seed, f.steps - f.first_step + 1,
      f.micro_batch_size, python_float(warmup_share(f)));
}

}  // namespace

void DllStyle::header(Stamp now) {
  const RunFacts& f = facts_;
  out_ << command_trace(f);
  // As run_pretraining.sh traces its variables.
  print("+ precision={}\n+ num_gpus={}\n", f.precision, f.world_size);
  print("device: {} n_gpu: 1, distributed training: {}, 16-bits training: {}\n", f.backend,
        python_bool(f.world_size > 1), python_bool(f.precision == "fp16"));
  parameter({"Config", DllText{arguments(f)}}, now);
  parameter({"SEED", static_cast<std::int64_t>(f.seed)}, now);
  parameter({"train_start", true}, now);
  parameter({"batch_size_per_gpu", f.micro_batch_size}, now);
  parameter({"learning_rate", f.schedule.peak}, now);
}

bool DllStyle::is_due(std::int64_t step) const {
  return step == facts_.steps || IntervalStyle::is_due(step);
}

void DllStyle::line(const StepFacts& f, Stamp now) {
  final_loss_ = interval_.loss();
  if (f.step == facts_.steps) {  // of which the script logs the loss and nothing else
    return log(DllStepKind::iteration, f.step, {{"final_loss", final_loss_, "None"}}, now);
  }
  log(DllStepKind::iteration, f.step,
      {{"average_loss", final_loss_},
       {"learning_rate", f.learning_rate},
       {"skipped_steps", skipped_steps_}},
      now);
}

void DllStyle::footer(const RunEnd& e, Stamp now) {
  if (e.signal != 0) {
    out_ << interrupted(e) << '\n';
    if (interval_.steps > 0) final_loss_ = interval_.loss();
  }
  if (!e.checkpoint.empty()) parameter({"checkpoint_step", e.step}, now);
  const auto sequences = static_cast<double>(e.steps_done * facts_.global_batch_size());
  if (facts_.inference) {  // as run_squad.py, which has no percentiles
    std::vector<DllMetric> metrics = {
        {"e2e_inference_time", e.training_s, "s"},
        {"inference_sequences_per_second", e.training_s > 0 ? sequences / e.training_s : 0.0,
         "sequences/s"}};
    static constexpr std::array kNames = {"latency_50_ms", "latency_90_ms", "latency_95_ms",
                                          "latency_99_ms"};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      metrics.push_back({kNames[i], e.latency.percentile_s[i] * 1e3, "ms"});
    }
    return log(DllStepKind::summary, 0, metrics, now);
  }
  log(DllStepKind::summary, 0,
      {{"e2e_train_time", now.seconds, "s"},
       {"training_sequences_per_second", e.training_s > 0 ? sequences / e.training_s : 0.0,
        "sequences/s"},
       {"final_loss", final_loss_, "None"},
       {"raw_train_time", e.training_s, "s"}},
      now);
}

void DllStyle::parameter(DllMetric metric, Stamp now) {
  log(DllStepKind::parameter, 0, {std::move(metric)}, now);
}

}  // namespace bert
