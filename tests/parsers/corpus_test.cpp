// Logs of other people's runs against the answers that their publishers gave. The logs are not part
// of this repository: BB_CORPUS names their folder (default ../shared/corpus beside the checkout);
// where it is missing the tests are skipped.
//
// An answer is compared to its printed digits. Where the log's own number is not the rate of the
// run, the test wants our number as well, and the notice that says so.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string corpus() {
  const char* given = std::getenv("BB_CORPUS");
  return given != nullptr ? given : std::string(BB_SOURCE_DIR) + "/../shared/corpus";
}

/// Ways to one number of a run log, named as the estimators.
double log_summary(const RunLog& run) { return run.summary ? run.summary->value : kUnknown; }
double printed(const RunLog& run) {
  double sum = 0, n = 0;
  for (const Record& record : run.records) {
    if (std::isnan(record.printed_rate)) continue;
    sum += record.printed_rate;
    n += 1;
  }
  return sum / n;
}
double printed_without_first(const RunLog& run, int n) {
  RunLog rest = run;
  rest.records.erase(rest.records.begin(), rest.records.begin() + n);
  return printed(rest);
}
double printed_without_first_10(const RunLog& run) { return printed_without_first(run, 10); }
double last_counter(const RunLog& run) {
  return run.records.empty() ? kUnknown : static_cast<double>(run.records.back().step);
}
double sequences_per_iteration(const RunLog& run) {
  const auto n = run.iteration_unit == IterationUnit::optimizer_step
                     ? run.facts.sequences_per_optimizer_step()
                     : run.facts.sequences_per_micro_step();
  return n ? static_cast<double>(*n) : kUnknown;
}
double counter_clock(const RunLog& run) {
  return last_counter(run) * sequences_per_iteration(run) / run.records.back().time_s;
}
double iterations_per_second(const RunLog& run) {
  return last_counter(run) / run.records.back().time_s;
}
double median_step_rate(const RunLog& run) {
  std::vector<double> rates;
  for (const Record& record : run.records) rates.push_back(record.printed_rate);
  std::ranges::nth_element(rates, rates.begin() + static_cast<long>(rates.size() / 2));
  return rates[rates.size() / 2];
}

double step_time(const RunLog& run) {
  double iterations = 0, seconds = 0;
  for (const Record& record : run.records) {
    if (std::isnan(record.seconds)) continue;
    iterations += static_cast<double>(record.iterations);
    seconds += record.seconds;
  }
  return iterations / seconds * sequences_per_iteration(run);
}
double median_step_seconds(const RunLog& run) {
  std::vector<double> seconds;
  for (const Record& record : run.records) {
    if (!std::isnan(record.seconds)) {
      seconds.push_back(record.seconds / static_cast<double>(record.iterations));
    }
  }
  std::ranges::sort(seconds);
  return (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
}

double seconds_per_step(const RunLog& run, std::int64_t after_step) {
  double seconds = 0, steps = 0;
  for (const Record& record : run.records) {
    if (record.step <= after_step || std::isnan(record.seconds)) continue;
    seconds += record.seconds;
    steps += static_cast<double>(record.iterations);
  }
  return seconds / steps;
}
double training_seconds(const RunLog& run) { return run.totals.training_s.value_or(kUnknown); }

struct Answer {
  const char* what;
  std::function<double(const RunLog&)> ours;
  double answer;
  double tolerance;  ///< relative; half a unit of the printed digit, or the clock's resolution
};

struct Expected {
  const char* file;
  const char* format;
  std::int64_t records;
  Status outcome;
  std::vector<Answer> answers;
  const char* notice;     ///< part of a notice that must be there; empty = none about the rate
  double evaluation = 0;  ///< summary of the evaluation run, 0 = there is none
  std::vector<double> further = {};  ///< summaries of further training runs, NaN = none stated
};

const std::vector<Expected>& expected() {
  constexpr double kDigits = 1e-6;
  static const std::vector<Expected> list = {
      {"nvidia-dle-pytorch/lambda_1080ti_squad_base_fp32.log",
       "tqdm",
       104,
       Status::completed,
       {{"log_summary", log_summary, 28, kDigits},
        {"total_time", [](const RunLog& r) { return 104 * 10 / *r.totals.training_s; },
         104 * 10 / 45.35, 1e-9},
        {"counter_clock", counter_clock, 22.93, 1.0 / 45}},
       "above counter over clock"},
      {"nvidia-dle-pytorch/lambda_4x2080ti_squad_large_fp16.log",
       "tqdm",
       1001,
       Status::completed,
       {{"log_summary", log_summary, 6.19963, kDigits},
        {"counter_clock", counter_clock, 6.29, 0.01}},
       ""},
      {"nvidia-dle-pytorch/lambda_8x2080ti_squad_base_fp16.log",
       "tqdm",
       14,
       Status::completed,
       {{"log_summary", log_summary, 368.421, kDigits},
        {"sequences per iteration", sequences_per_iteration, 160, 0}},
       ""},
      {"nvidia-dle-pytorch/lambda_8xa4000_squad_large_fp32.log",
       "tqdm",
       2501,
       Status::completed,
       {{"log_summary", log_summary, 54.3396, kDigits},
        {"counter_clock", counter_clock, 54.3396, 0.002}},
       ""},
      {"nvidia-dle-pytorch/lambda_a4000_squad_base_fp16.log",
       "tqdm",
       1001,
       Status::completed,
       {{"log_summary", log_summary, 102.099, 5e-6},
        {"counter_clock", counter_clock, 102.099, 0.004}},
       ""},
      {"nvidia-dle-pytorch/lambda_gh200_squad_base_fp16_segv.log",
       "tqdm",
       101,
       Status::error,
       {{"log_summary", log_summary, 811.596, kDigits},
        {"counter_clock", counter_clock, 811.596 * 101 / 100, 1.0 / 39}},
       ""},
      {"nvidia-dle-pytorch/paddleperf_v100_fp16_gpu32_mpirun.log",
       "tqdm",
       782,
       Status::completed,
       {{"log_summary", log_summary, 16610.596, kDigits},
        {"raw_train_time", [](const RunLog& r) { return *r.totals.training_s; }, 569.622, kDigits},
        {"counter", last_counter, 782, 0}},
       ""},
      {"huggingface/bigscience_hf_ds_base_n16.log",
       "tqdm",
       4,
       Status::completed,
       {{"log_summary", log_summary, 1.147, kDigits},
        {"counter_clock", counter_clock, 4 * 256 / 871.7, 0.002},
        {"sequences per iteration", sequences_per_iteration, 256, 0}},
       "below counter over clock"},
      {"huggingface/korquad_autotrain_aborted.log",
       "tqdm",
       4,
       Status::truncated,
       {{"counter", last_counter, 99, 0},
        {"s/it", [](const RunLog& r) { return 1 / median_step_rate(r); }, 10.98, 0.001}},
       ""},
      {"huggingface/trl_reward_crash_in_eval.log",
       "tqdm",
       51,
       Status::error,
       {{"counter", last_counter, 500, 0},
        {"it/s by clock", iterations_per_second, 500.0 / 154.5, 0.007}},
       ""},
      {"huggingface/trl_sge_stderr.log",
       "tqdm",
       260,
       Status::error,
       {{"counter", last_counter, 260, 0},
        {"s/it by clock", [](const RunLog& r) { return 1 / iterations_per_second(r); }, 717.5 / 260,
         0.002}},
       "unnamed bars"},
      {"pytorch-plain/kaggle_deberta_elapsed_remain.log",
       "tqdm",
       0,
       Status::no_data,
       {},
       "none was taken"},
      {"nvidia-dle-tensorflow/paddleperf_a100_fp16_gpu1.log",
       "tf",
       50,
       Status::completed,
       {{"printed (README)", printed, 981.301, kDigits},
        {"log_summary", log_summary, 862.99, kDigits},
        {"sequences per iteration", sequences_per_iteration, 128 * 528, 0}},
       "below counter over clock",
       759.08},
      {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu32_mpirun.log",
       "tf",
       36,
       Status::truncated,
       {{"printed, first 10 dropped (README)", printed_without_first_10, 16142.922, kDigits}},
       ""},
      {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu8.log",
       "tf",
       53,
       Status::completed,
       {{"printed (README)", printed, 4042.83, 2e-6},
        {"log_summary", log_summary, 3353.67, kDigits},
        {"sequences per iteration", sequences_per_iteration, 96 * 88 * 8, 0}},
       "below counter over clock",
       765.95},
      {"nvidia-dle-tensorflow/paddleperf_v100_fp32_gpu8.log",
       "tf",
       45,
       Status::completed,
       {{"printed (README)", printed, 1218.31, 5e-6},
        {"log_summary", log_summary, 1238.02, kDigits}},
       "",
       354.07},
      {"nvidia-dle-tensorflow/resnet50_v100_amp_gpu8.log",
       "tf",
       0,
       Status::completed,
       {{"log_summary", log_summary, 9421.358, kDigits}},
       ""},
      {"tensorflow/google_bert_ch_ner_nohup.log",
       "tf",
       688,
       Status::completed,
       {{"steps x batch over stamps",
         [](const RunLog& r) {
           return (last_counter(r) - 1) * static_cast<double>(*r.facts.micro_batch_size.value) /
                  r.records.back().time_s;
         },
         687 * 32 / 391.77443, 1e-5},
        {"steps", last_counter, 688, 0}},
       ""},
      // dllogger: NVIDIA BERT for PyTorch. README answers are the closing statement.
      {"nvidia-dle-pytorch/paddleperf_a100_fp16_gpu1.log",
       "dllogger",
       32,
       Status::completed,
       {{"log_summary (README)", log_summary, 1542.297, kDigits},
        {"step_time", step_time, 1542.297, 0.02},
        {"raw_train_time", [](const RunLog& r) { return *r.totals.training_s; }, 1401.919643, 1e-6},
        {"sequences per iteration", sequences_per_iteration, 128 * 528, 0}},
       ""},
      {"nvidia-dle-pytorch/paddleperf_v100_fp16_gpu8.log",
       "dllogger",
       30,
       Status::completed,
       {{"log_summary (README)", log_summary, 5055.566, kDigits},
        {"step_time", step_time, 5055.566, 0.01},
        {"skipped", [](const RunLog& r) { return double(*r.totals.skipped_steps); }, 10, 0},
        {"sequences per iteration", sequences_per_iteration, 96 * 88 * 8, 0}},
       ""},
      {"nvidia-dle-pytorch/paddleperf_v100_fp32_gpu1.log",
       "dllogger",
       20,
       Status::completed,
       {{"log_summary (README)", log_summary, 158.611, 2e-6},
        {"step_time", step_time, 158.6, 0.01}},
       ""},
      {"nvidia-dle-pytorch/paddleperf_v100_fp32_gpu8.log",
       "dllogger",
       20,
       Status::completed,
       {{"log_summary (README)", log_summary, 1232.11, 2e-6},
        {"step_time", step_time, 1232.11, 0.01}},
       ""},
      {"nvidia-dle-pytorch/resnet50_v100_amp_gpu8.log",
       "dllogger",
       63,
       Status::completed,
       {{"log_summary (total_ips)", log_summary, 5793.51, kDigits}},
       "two rates"},
      {"nvidia-dle-pytorch/eventbert_nohup_crash.log",
       "dllogger",
       0,
       Status::out_of_memory,
       {},
       ""},
      {"nvidia-dle-pytorch/eventbert_dllogger.json.log",
       "dllogger-json",
       1573,
       Status::completed,
       {{"log_summary", log_summary, 128.2778, kDigits},
        {"median step", median_step_seconds, 79.744, 1e-5},
        {"raw_train_time", [](const RunLog& r) { return *r.totals.training_s; }, 125567.504, 1e-6},
        {"e2e_train_time", [](const RunLog& r) { return *r.totals.wall_s; }, 125578.67, 1e-6},
        {"last step", last_counter, 1572, 0}},
       ""},
      {"huggingface/tunbert_train_results.json",
       "huggingface",
       0,
       Status::completed,
       {{"log_summary (steps, not samples)", log_summary, 979.773, kDigits}},
       "is no rate of samples"},
      {"huggingface/tunbert_trainer_state.json",
       "huggingface",
       5855,
       Status::completed,
       {{"log_summary (steps, not samples)", log_summary, 979.773, kDigits}},
       "585540 steps / 597.6283 s"},
      {"huggingface/dnabert2_trainer_state.json",
       "huggingface",
       22,
       Status::truncated,
       {{"rates stated", [](const RunLog& r) { return 1.0 + (r.summary ? 1 : 0); }, 1, 0},
        {"last step", last_counter, 2200, 0}},
       "no clock"},
      {"mxnet/gluonnlp_bert_base_pretrain.log",
       "gluonnlp",
       3989,
       Status::completed,
       {{"first tks/s", [](const RunLog& r) { return r.records[0].printed_rate; }, 122000, kDigits},
        {"last tks/s", [](const RunLog& r) { return r.records.back().printed_rate; }, 133000,
         kDigits},
        {"sequences per iteration", sequences_per_iteration, 256, 0}},
       "without padding"},
      {"mxnet/gluonnlp_mrpc.log", "gluonnlp", 53, Status::completed, {}, "", 431.65},
      {"mxnet/gluonnlp_squad_large.log",
       "gluonnlp",
       146,
       Status::completed,
       {{"first samples/s", [](const RunLog& r) { return r.records[0].printed_rate; }, 14.33,
         kDigits},
        {"300 batches of 4 over 83.7 s",
         [](const RunLog& r) {
           return 4 * static_cast<double>(r.records[0].iterations) / r.records[0].seconds;
         },
         14.33, 5e-4}},
       "",
       60.01},
      {"mxnet/gluonnlp_transformer_ende.log",
       "gluonnlp",
       1680,
       Status::truncated,
       {},
       "no rate of"},
      {"mxnet/gluonnlp_xlnet_sst.log", "gluonnlp", 1000, Status::completed, {}, "", 92.93},
      {"mxnet/gluoncv_icnet_nan_loss.log", "gluonnlp", 1080, Status::nan, {}, "losses only"},
      {"mxnet/gluoncv_deeplab_nan_restart.log",
       "gluonnlp",
       2,
       Status::nan,
       {},
       "losses only",
       0,
       {kUnknown, kUnknown, kUnknown}},
      {"paddle/bert_v100_fp16_gpu32.log",
       "paddle",
       50,
       Status::truncated,
       {{"printed of 32 cards, first 10 dropped (README)",
         [](const RunLog& r) { return 32 * 96 * printed_without_first_10(r); }, 20054.43, kDigits}},
       "of one card"},
      {"paddle/bert_v100_fp16_n1c8.log",
       "paddle",
       50,
       Status::truncated,
       {{"printed of 8 cards, first 5 dropped",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         8 * 656.60, 1e-5},
        {"README, its rule is unknown",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         5355.659, 0.03}},
       ""},
      {"paddle/bert_a100_fp16_n1c1.log",
       "paddle",
       50,
       Status::truncated,
       {{"printed, first 5 dropped",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         1458.2, 5e-5},
        {"README, its rule is unknown",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         1462.928, 0.03}},
       ""},
      {"paddle/bert_v100_fp16_n1c1.log",
       "paddle",
       50,
       Status::truncated,
       {{"printed, first 5 dropped",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         664.85, 1e-5}},
       ""},
      {"paddle/bert_v100_fp32_n1c1.log",
       "paddle",
       50,
       Status::truncated,
       {{"printed, first 8 dropped",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 8); },
         164.875, 1e-5}},
       ""},
      {"paddle/word2vec_32node_nan.log",
       "paddle",
       0,
       Status::completed,
       {},
       "words of one trainer"},
      {"nanogpt/bob_llama_stopiteration.log",
       "nanogpt",
       623,
       Status::error,
       {{"last step", last_counter, 622, 0}},
       ""},
      {"nanogpt/llmc_main.log", "nanogpt", 19560, Status::truncated, {}, "no throughput"},
      {"nanogpt/modded_adamw.log", "nanogpt", 9536, Status::truncated, {}, "no throughput"},
      {"nanogpt/modded_muon.log",
       "nanogpt",
       6200,
       Status::completed,
       {{"step_avg behind step 10", [](const RunLog& r) { return seconds_per_step(r, 10); },
         0.21633, 3e-5}},
       ""},
      {"nanogpt/modded_soda_fade.log",
       "nanogpt",
       28,
       Status::completed,
       {{"step_avg", [](const RunLog& r) { return seconds_per_step(r, 0); }, 0.35588, 3e-5}},
       ""},
      {"nanogpt/nanogpt_5000iter.log",
       "nanogpt",
       501,
       Status::truncated,
       {{"last step", last_counter, 5000, 0}},
       "its own iteration only"},
      {"nanogpt/paramgolf_naive_baseline.log",
       "nanogpt",
       286,
       Status::completed,
       {{"step_avg", [](const RunLog& r) { return seconds_per_step(r, 0); }, 0.04354, 3e-4},
        {"sequences per iteration", sequences_per_iteration, 512, 0}},
       ""},
      {"deepspeed/dschat_step1_opt1.3b.log",
       "deepspeed",
       736,
       Status::completed,
       {{"log_summary (RunningAvg)", log_summary, 171.7425, kDigits},
        {"median CurrSamplesPerSec", median_step_rate, 171.63, 6e-5},
        {"last step", last_counter, 7360, 0}},
       ""},
      {"deepspeed/dschat_step2_dpo_opt350m.log",
       "deepspeed",
       235,
       Status::completed,
       {{"log_summary (RunningAvg)", log_summary, 46.5268, kDigits},
        {"median CurrSamplesPerSec", median_step_rate, 46.49, 2e-4},
        {"skipped", [](const RunLog& r) { return double(*r.totals.skipped_steps); }, 21, 0},
        {"last step", last_counter, 2350, 0}},
       ""},
      {"deepspeed/dschat_step3_rlhf.log",
       "deepspeed",
       476,
       Status::completed,
       {{"AvgSamplesPerSec (end to end)", log_summary, 16.79, kDigits}},
       "generation included",
       0,
       {88.2685}},
      {"megatron/bigscience_meg_base_n4_cancelled.log",
       "megatron",
       20,
       Status::killed,
       {{"sequences per iteration", sequences_per_iteration, 4, 0},
        {"median step", median_step_seconds, 1.3806, 1e-4},
        {"first interval", [](const RunLog& r) { return r.records[0].seconds; }, 21.522, 1e-9}},
       "several GPUs"},
      {"megatron/bigscience_meg_perf_n16.log",
       "megatron",
       3,
       Status::truncated,
       {{"sequences per iteration", sequences_per_iteration, 1024, 0},
        {"median step", median_step_seconds, 129.0288, kDigits}},
       "several GPUs"},
      {"megatron/bigscience_megds3d_old_nccl_info.log",
       "megatron",
       2,
       Status::truncated,
       {{"samples/sec of step 1", [](const RunLog& r) { return r.records[0].printed_rate; }, 6.805,
         kDigits},
        {"samples/sec of step 2", [](const RunLog& r) { return r.records[1].printed_rate; }, 7.052,
         kDigits}},
       ""},
      {"megatron/bigscience_megdszero_killed.log",
       "megatron",
       4,
       Status::timeout,
       {{"last step", last_counter, 4, 0}},
       ""},
      {"megatron/bigscience_megdszero_nbs48.log",
       "megatron",
       3,
       Status::truncated,
       {{"median step", median_step_seconds, 123.9078, kDigits},
        {"sequences per iteration", sequences_per_iteration, 768, 0}},
       ""},
      {"megatron/lockclock_4runs_concatenated.log",
       "megatron",
       50,
       Status::completed,
       {{"sequences per iteration", sequences_per_iteration, 16, 0},
        {"median of run 1", median_step_seconds, 18.20145, kDigits},
        {"last step", last_counter, 50, 0}},
       "",
       0,
       {kUnknown, kUnknown, kUnknown}},
      {"megatron/lockclock_nccl_watchdog_timeout.log", "megatron", 0, Status::error, {}, ""},
      {"megatron/lockclock_qwen7b_baseline.log",
       "megatron",
       20,
       Status::completed,
       {{"sequences per iteration", sequences_per_iteration, 4, 0},
        {"last printed", [](const RunLog& r) { return r.records.back().printed_rate; }, 0.378,
         kDigits}},
       ""},
      {"megatron/lockclock_tp1pp2dp8_oom.log",
       "megatron",
       5,
       Status::out_of_memory,
       {{"first printed", [](const RunLog& r) { return r.records[0].printed_rate; }, 0.795,
         kDigits},
        {"second printed", [](const RunLog& r) { return r.records[1].printed_rate; }, 0.820,
         kDigits},
        {"third printed", [](const RunLog& r) { return r.records[2].printed_rate; }, 0.770,
         kDigits}},
       ""},
      {"megatron/lumi_srun_barrier_timeout.log", "megatron", 0, Status::error, {}, ""},
      {"megatron/megds_gpt3_0.125b_randomltd.log",
       "megatron",
       47,
       Status::killed,
       {{"sequences per iteration", sequences_per_iteration, 256, 0},
        {"last step", last_counter, 470, 0}},
       ""},
      {"mlperf/v0.7_google_tpu8192_jax_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 23.931, kDigits},
        {"rates stated", [](const RunLog& r) { return 1.0 + (r.summary ? 1 : 0); }, 1, 0}},
       "no throughput"},
      {"mlperf/v0.7_google_v100_tf2_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 11720.669, kDigits},
        {"rates stated", [](const RunLog& r) { return 1.0 + (r.summary ? 1 : 0); }, 1, 0}},
       "no throughput"},
      {"mlperf/v0.7_nvidia_dgx2h_aborted.log",
       "mlperf",
       0,
       Status::error,
       {{"run_stop - run_start", training_seconds, 3038.978, kDigits},
        {"rates stated", [](const RunLog& r) { return 1.0 + (r.summary ? 1 : 0); }, 1, 0}},
       "did not reach its target"},
      {"mlperf/v0.7_nvidia_dgx2h_n32_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 228.873, kDigits},
        {"log_summary", log_summary, 24039.323118061107, kDigits}},
       "stated at the end"},
      {"mlperf/v1.0_graphcore_pod16_popart_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 1872.369, kDigits},
        {"log_summary", log_summary, 1309.2, 5e-5}},
       "last evaluation"},
      {"mlperf/v1.0_nvidia_dgxa100_n8_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 195.521, kDigits},
        {"log_summary", log_summary, 16120.375816408468, 5e-5}},
       ""},
      {"mlperf/v2.0_azure_nd96_n8_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 186.903, kDigits},
        {"log_summary", log_summary, 16863.7, 5e-6}},
       ""},
      {"mlperf/v2.1_habana_gaudi2_tf_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 976.389, kDigits},
        {"log_summary", log_summary, 2613.1, 5e-5}},
       ""},
      {"mlperf/v2.1_intel_spr16_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 2846.287, kDigits},
        {"log_summary", log_summary, 1045.8, 5e-5}},
       ""},
      {"mlperf/v2.1_mosaicml_methods_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 450.668, kDigits},
        {"rates stated", [](const RunLog& r) { return 1.0 + (r.summary ? 1 : 0); }, 1, 0}},
       "no throughput"},
      {"mlperf/v3.1_clemson_16xr750_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 553.313, kDigits},
        {"log_summary", log_summary, 6641.99, 5e-5}},
       ""},
      {"mlperf/v3.1_nvidia_eos_n434_result1.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 7.537, kDigits},
        {"log_summary", log_summary, 756964.4, kDigits}},
       ""},
      {"mlperf/v5.0_cisco_hpf_n8_result0.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 52.69, kDigits},
        {"log_summary", log_summary, 53163.17, kDigits}},
       ""},
      {"mlperf/v5.0_tinycorp_mi300x_result0.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 6658.465, kDigits},
        {"log_summary", log_summary, 494.0, 1e-4}},
       ""},
      {"mlperf/v2.0_azure_maskrcnn_tqdm_nonutf8.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 2647.335, kDigits},
        {"last tracked_stats", log_summary, 625.75, 1e-5}},
       "samples of the benchmark maskrcnn"},
      {"fairseq/mlperf_v0.7_dell_c4140_transformer.log",
       "mlperf",
       0,
       Status::completed,
       {{"run_stop - run_start", training_seconds, 2115.576, kDigits}},
       "no throughput"},
  };
  return list;
}

class Corpus : public testing::TestWithParam<Expected> {};

TEST_P(Corpus, GivesTheKnownAnswers) {
  const Expected& want = GetParam();
  const std::string path = corpus() + "/" + want.file;
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not here: BB_CORPUS names the folder of collected logs";
  }
  const auto runs = read_log(path, {});
  ASSERT_TRUE(runs) << runs.error().message();
  const RunLog& run = runs->front();
  EXPECT_EQ(run.kind, WorkKind::training);
  EXPECT_EQ(run.format, want.format);
  EXPECT_EQ(static_cast<std::int64_t>(run.records.size()), want.records);
  EXPECT_EQ(name(run.outcome.status), name(want.outcome)) << run.outcome.detail;
  for (const Answer& answer : want.answers) {
    const double ours = answer.ours(run);
    const double gap = ours / answer.answer - 1;
    fmt::print("{:<62} {:<5} {:<10} {:<34} {:>12.6g} {:>12.6g} {:>+9.3f} %\n", want.file,
               run.format, name(run.outcome.status), answer.what, answer.answer, ours, 100 * gap);
    EXPECT_LE(std::abs(gap), answer.tolerance) << answer.what << ": " << ours;
  }
  std::string notices;
  for (const Notice& notice : run.notices) notices += notice.text + "\n";
  if (*want.notice != '\0') {
    EXPECT_THAT(notices, testing::HasSubstr(want.notice));
  } else {
    EXPECT_EQ(notices.find("closing statement"), std::string::npos) << notices;
  }
  if (want.evaluation > 0) {
    ASSERT_EQ(runs->size(), 2u);
    EXPECT_NE(runs->back().kind, WorkKind::training);
    EXPECT_EQ(log_summary(runs->back()), want.evaluation);
  } else {
    ASSERT_EQ(runs->size(), 1 + want.further.size());
  }
  for (std::size_t i = 0; i < want.further.size(); ++i) {
    const double summary = log_summary((*runs)[1 + i]);
    if (std::isnan(want.further[i])) {
      EXPECT_TRUE(std::isnan(summary));
    } else {
      EXPECT_NEAR(summary / want.further[i], 1, 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, Corpus, testing::ValuesIn(expected()), [](const auto& of) {
  std::string out;
  for (const char c : std::string(of.param.file)) {
    out.push_back((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c
                                                                                             : '_');
  }
  return out;
});

// Logs of formats that are not read yet must not be taken for something else: no record, or none
// read.
TEST(Corpus, GivesNoTrainingRecordFromLogsOfOtherFormats) {
  if (!std::filesystem::exists(corpus())) {
    GTEST_SKIP() << corpus() << " is not here: BB_CORPUS names the folder of collected logs";
  }
  int others = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus())) {
    // The corpus describes itself in .md and .tsv files, with sample lines.
    const auto ending = entry.path().extension();
    if (!entry.is_regular_file() || ending == ".md" || ending == ".tsv") continue;
    const std::string path = entry.path().string();
    const bool listed = std::ranges::any_of(
        expected(), [&](const Expected& want) { return path.ends_with(want.file); });
    if (listed) continue;
    ++others;
    const auto runs = read_log(path, {});
    if (!runs) continue;
    for (const RunLog& run : *runs) {
      EXPECT_TRUE(run.records.empty()) << path << ": " << run.records.size() << " records of "
                                       << run.format << " from line " << run.first_line;
    }
  }
  EXPECT_GT(others, 5);
}

// Damage never crashes, and what stands in front of a cut stays as it was.
TEST(Corpus, SurvivesCutsAndGarbage) {
  if (!std::filesystem::exists(corpus())) {
    GTEST_SKIP() << corpus() << " is not here: BB_CORPUS names the folder of collected logs";
  }
  for (const Expected& want : expected()) {
    const std::string text = slurp(corpus() + "/" + want.file);
    for (int part = 1; part < 8; ++part) {
      std::string damaged = text.substr(0, text.size() * static_cast<std::size_t>(part) / 8);
      for (std::size_t at = static_cast<std::size_t>(part); at < damaged.size(); at += 997) {
        damaged[at] = static_cast<char>(at * 31);
      }
      for (const RunLog& run : read_text(damaged))
        EXPECT_LE(run.records.size(), std::size_t{1} << 20);
    }
  }
}

}  // namespace
}  // namespace bertbench
