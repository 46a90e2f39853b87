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
    EXPECT_EQ(name(outcome.status), name(want.status)) << detail_text(outcome);
    EXPECT_THAT(detail_text(outcome), testing::HasSubstr(want.detail));
    if (want.step >= 0) {
      EXPECT_EQ(outcome.step, want.step);
    }
  }
}

}  // namespace
}  // namespace bertbench::corpus
