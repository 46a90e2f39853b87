// Known answers of the collected logs: Hugging Face Trainer: bars, console, JSON files.

#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> huggingface_answers() {
  return {
      {"huggingface/bigscience_hf_ds_base_n16.log",
       {{"log_summary", log_summary, 1.147, kDigits},
        {"counter_clock", counter_clock, 4 * 256 / 871.7, 0.002},
        {"sequences per iteration", sequences_per_iteration, 256, 0}}},
      {"huggingface/korquad_autotrain_aborted.log",
       {{"counter", last_counter, 99, 0},
        {"s/it", [](const RunLog& r) { return 1 / median_step_rate(r); }, 10.98, 0.001}}},
      {"huggingface/trl_reward_crash_in_eval.log",
       {{"counter", last_counter, 500, 0},
        {"it/s by clock", iterations_per_second, 500.0 / 154.5, 0.007}}},
      {"huggingface/trl_sge_stderr.log",
       {{"counter", last_counter, 260, 0},
        {"s/it by clock", [](const RunLog& r) { return 1 / iterations_per_second(r); }, 717.5 / 260,
         0.002}}},
      {"huggingface/tunbert_train_results.json",
       {{"log_summary (steps, not samples)", log_summary, 979.773, kDigits}}},
      {"huggingface/tunbert_trainer_state.json",
       {{"log_summary (steps, not samples)", log_summary, 979.773, kDigits}}},
      {"huggingface/dnabert2_trainer_state.json",
       {{"rates stated", [](const RunLog& r) { return 1.0 + (r.summary ? 1 : 0); }, 1, 0},
        {"last step", last_counter, 2200, 0}}},
  };
}

}  // namespace bertbench::corpus
