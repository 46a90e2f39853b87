// Known answers of the collected logs: DeepSpeed and Megatron-LM.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> megatron_answers() {
  return {
      {"deepspeed/dschat_step1_opt1.3b.log",
       {{"log_summary (RunningAvg)", log_summary, 171.7425, kDigits},
        {"median CurrSamplesPerSec", median_step_rate, 171.63, 6e-5},
        {"last step", last_counter, 7360, 0}}},
      {"deepspeed/dschat_step2_dpo_opt350m.log",
       {{"log_summary (RunningAvg)", log_summary, 46.5268, kDigits},
        {"median CurrSamplesPerSec", median_step_rate, 46.49, 2e-4},
        {"skipped", [](const RunLog& r) { return double(*r.totals.skipped_steps); }, 21, 0},
        {"last step", last_counter, 2350, 0}}},
      {"deepspeed/dschat_step3_rlhf.log",
       {{"AvgSamplesPerSec (end to end)", log_summary, 16.79, kDigits}}},
      {"megatron/bigscience_meg_base_n4_cancelled.log",
       {{"sequences per iteration", sequences_per_iteration, 4, 0},
        {"median step", median_step_seconds, 1.3806, 1e-4},
        {"first interval", [](const RunLog& r) { return r.records[0].seconds; }, 21.522, 1e-9}}},
      {"megatron/bigscience_meg_perf_n16.log",
       {{"sequences per iteration", sequences_per_iteration, 1024, 0},
        {"median step", median_step_seconds, 129.0288, kDigits}}},
      {"megatron/bigscience_megds3d_old_nccl_info.log",
       {{"samples/sec of step 1", [](const RunLog& r) { return r.records[0].printed_rate; }, 6.805,
         kDigits},
        {"samples/sec of step 2", [](const RunLog& r) { return r.records[1].printed_rate; }, 7.052,
         kDigits}}},
      {"megatron/bigscience_megdszero_killed.log", {{"last step", last_counter, 4, 0}}},
      {"megatron/bigscience_megdszero_nbs48.log",
       {{"median step", median_step_seconds, 123.9078, kDigits},
        {"sequences per iteration", sequences_per_iteration, 768, 0}}},
      {"megatron/lockclock_4runs_concatenated.log",
       {{"sequences per iteration", sequences_per_iteration, 16, 0},
        {"median of run 1", median_step_seconds, 18.20145, kDigits},
        {"last step", last_counter, 50, 0}}},
      {"megatron/lockclock_qwen7b_baseline.log",
       {{"sequences per iteration", sequences_per_iteration, 4, 0},
        {"last printed", [](const RunLog& r) { return r.records.back().printed_rate; }, 0.378,
         kDigits}}},
      {"megatron/lockclock_tp1pp2dp8_oom.log",
       {{"first printed", [](const RunLog& r) { return r.records[0].printed_rate; }, 0.795,
         kDigits},
        {"second printed", [](const RunLog& r) { return r.records[1].printed_rate; }, 0.820,
         kDigits},
        {"third printed", [](const RunLog& r) { return r.records[2].printed_rate; }, 0.770,
         kDigits}}},
      {"megatron/megds_gpt3_0.125b_randomltd.log",
       {{"sequences per iteration", sequences_per_iteration, 256, 0},
        {"last step", last_counter, 470, 0}}},
  };
}

}  // namespace bertbench::corpus
