// How the collected logs end, and what they say about the machine, by hand: FORMATS.md of the
// collection names the failures, each fact was looked up in the log itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/parsers/run_log_text.h"

namespace bertbench::corpus {
namespace {

std::string folder() {
  const char* given = std::getenv("BB_CORPUS");
  return given != nullptr ? given : std::string(BB_SOURCE_DIR) + "/../shared/corpus";
}

struct Ending {
  const char* file;
  Status status;
  const char* detail;  ///< part of it
  std::int64_t step = -1;
  std::size_t run = 0;  ///< of several training runs in the file
};

const Ending kEndings[] = {
    {"nvidia-dle-pytorch/eventbert_nohup_crash.log", Status::out_of_memory, "CUDA out of memory"},
    {"megatron/lockclock_tp1pp2dp8_oom.log", Status::out_of_memory, "CUDA out of memory", 5},
    {"megatron/lockclock_nccl_watchdog_timeout.log", Status::error, "collective operation timeout"},
    {"megatron/lumi_srun_barrier_timeout.log", Status::error,
     "Timed out initializing process group"},
    {"megatron/bigscience_meg_base_n4_cancelled.log", Status::killed, "CANCELLED", 200},
    {"megatron/bigscience_megdszero_killed.log", Status::timeout, "DUE TO TIME LIMIT", 4},
    {"megatron/megds_gpt3_0.125b_randomltd.log", Status::killed, "KeyboardInterrupt", 470},
    {"mxnet/gluoncv_icnet_nan_loss.log", Status::nan, "not finite", 2183},
    {"mxnet/gluoncv_deeplab_nan_restart.log", Status::nan, "not finite", 20},
    {"nanogpt/modded_muon.log", Status::completed, "", 6200},  // a nan of a time
    {"nanogpt/bob_llama_stopiteration.log", Status::error, "StopIteration", 622},
    {"paddle/word2vec_32node_nan.log", Status::completed, ""},  // nan of a printed tensor
    {"nvidia-dle-pytorch/lambda_gh200_squad_base_fp16_segv.log", Status::error,
     "Segmentation fault", 101},
    {"huggingface/trl_reward_crash_in_eval.log", Status::error, "ValueError: operands", 500},
    {"huggingface/trl_sge_stderr.log", Status::error, "SafetensorError", 260},
    {"huggingface/korquad_autotrain_aborted.log", Status::truncated, ""},
    {"huggingface/dnabert2_trainer_state.json", Status::truncated, "", 2200},
    {"mlperf/v0.7_nvidia_dgx2h_aborted.log", Status::error, "aborted"},
    {"megatron/lockclock_4runs_concatenated.log", Status::completed, "", 50, 0},
    {"megatron/lockclock_4runs_concatenated.log", Status::completed, "", 50, 3},
    {"megatron/lockclock_qwen7b_baseline.log", Status::completed, "", 20},
};

struct Said {
  const char* file;
  const char* fact;   ///< of versions or axes, or "precision"
  const char* value;  ///< "" = the log does not say, and so must we not
};

const Said kSaid[] = {
    {"megatron/bigscience_megds3d_old_nccl_info.log", "nccl", "2.7.8"},
    {"megatron/lockclock_qwen7b_baseline.log", "nccl", "2.27.5"},
    {"megatron/lockclock_qwen7b_baseline.log", "deepspeed", "0.14.0"},
    {"megatron/lockclock_qwen7b_baseline.log", "gradient_clipping", "1"},
    {"megatron/lockclock_qwen7b_baseline.log", "precision", "bf16"},
    {"megatron/lockclock_4runs_concatenated.log", "optimizer", "adam"},
    {"megatron/lockclock_4runs_concatenated.log", "precision", "bf16"},
    {"megatron/bigscience_meg_base_n4_cancelled.log", "precision", "fp16"},
    {"megatron/bigscience_meg_base_n4_cancelled.log", "gpu", "Tesla V100-SXM2"},
    {"megatron/bigscience_meg_base_n4_cancelled.log", "cuda_driver", "11.2"},
    {"megatron/bigscience_meg_base_n4_cancelled.log", "nccl", ""},
    {"megatron/megds_gpt3_0.125b_randomltd.log", "nccl", "2.10.3"},
    {"mlperf/v2.0_azure_nd96_n8_result1.log", "nccl", "2.12.10"},
    {"mlperf/v2.0_azure_maskrcnn_tqdm_nonutf8.log", "gpu", "NVIDIA A100-SXM4-80GB"},
    {"mlperf/v2.0_azure_maskrcnn_tqdm_nonutf8.log", "cuda", "11.6.124"},
    {"paddle/bert_v100_fp16_gpu32.log", "nccl", "2.8.4"},
    {"paddle/bert_v100_fp16_gpu32.log", "gradient_clipping", "1"},
    {"paddle/bert_v100_fp16_gpu32.log", "gpu", ""},
    {"nanogpt/modded_muon.log", "gpu", "NVIDIA H100 80GB HBM3"},
    {"nanogpt/modded_muon.log", "cuda_driver", "12.2"},
    {"nanogpt/modded_muon.log", "cuda", ""},
    {"nvidia-dle-tensorflow/paddleperf_a100_fp16_gpu1.log", "gpu", "NVIDIA A100-SXM4-40GB"},
    {"nvidia-dle-tensorflow/paddleperf_a100_fp16_gpu1.log", "cudnn", "8"},
    {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu8.log", "xla", "true"},
    {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu8.log", "optimizer", "lamb"},
    {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu8.log", "gpu", "Tesla V100-SXM2-32GB"},
    {"nvidia-dle-pytorch/resnet50_v100_amp_gpu8.log", "optimizer", "sgd"},
    {"tensorflow/google_bert_ch_ner_nohup.log", "cudnn", "7"},
    {"tensorflow/google_bert_ch_ner_nohup.log", "gpu", "Tesla V100-SXM2-32GB"},
    {"huggingface/bigscience_hf_ds_base_n16.log", "gradient_clipping", "1"},
    {"huggingface/korquad_autotrain_aborted.log", "gpu", ""},
    {"mlperf/v5.0_cisco_hpf_n8_result0.log", "optimizer", ""},  // a sentence about optimizers
    {"deepspeed/dschat_step2_dpo_opt350m.log", "gradient_clipping", "1"},
    {"mxnet/gluonnlp_bert_base_pretrain.log", "nccl", ""},
};

class CollectedLogs : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder())) {
      GTEST_SKIP() << folder() << " is not here: BB_CORPUS names the folder of collected logs";
    }
  }
};

TEST_F(CollectedLogs, EndAsTheirContentSays) {
  for (const Ending& want : kEndings) {
    SCOPED_TRACE(want.file);
    const auto runs = read_log(folder() + "/" + want.file, {});
    ASSERT_TRUE(runs) << runs.error().message();
    std::vector<const RunLog*> training;
    for (const RunLog& run : *runs) {
      if (run.kind == WorkKind::training) training.push_back(&run);
    }
    ASSERT_GT(training.size(), want.run);
    const Outcome& outcome = training[want.run]->outcome;
    EXPECT_EQ(name(outcome.status), name(want.status)) << outcome.detail;
    EXPECT_THAT(outcome.detail, testing::HasSubstr(want.detail));
    if (want.step >= 0) {
      EXPECT_EQ(outcome.step, want.step);
    }
  }
}

std::string fact_of(const Facts& facts, const std::string& name) {
  if (name == "precision") return facts.precision.value.value_or("");
  if (const auto at = facts.versions.find(name); at != facts.versions.end()) return at->second;
  if (const auto at = facts.axes.find(name); at != facts.axes.end()) return at->second;
  return "";
}

TEST_F(CollectedLogs, GiveTheFactsThatTheyStateAndNoOther) {
  for (const Said& said : kSaid) {
    const auto runs = read_log(folder() + "/" + said.file, {});
    ASSERT_TRUE(runs) << runs.error().message();
    EXPECT_EQ(fact_of(runs->front().facts, said.fact), said.value)
        << said.file << ": " << said.fact;
  }
}

}  // namespace
}  // namespace bertbench::corpus
