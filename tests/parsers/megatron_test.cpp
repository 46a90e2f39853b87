#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string iteration(int step, const std::string& ms, const std::string& more = "",
                      int batch = 1024, int planned = 1000) {
  return " iteration " + std::to_string(step) + "/ " + std::to_string(planned) +
         " | consumed samples:         2048 | elapsed time per iteration (ms): " + ms +
         " | learning rate: 0.000E+00 | global batch size:  " + std::to_string(batch) + " | " +
         more +
         "loss scale: 1.0 | number of skipped iterations:   1 | number of nan iterations:   "
         "0 |\n";
}

TEST(Megatron, TakesTheMeanMillisecondsOfALogInterval) {
  const auto runs =
      read_text(iteration(10, "2000.0") + iteration(20, "1000.0", "lm loss: 1.2E+01 | ") +
                iteration(30, "1500.0", "lm-loss: 1.1E+01 | "));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.records[0].iterations, 10);
  EXPECT_EQ(run.records[0].seconds, 20);
  EXPECT_EQ(run.records[1].seconds, 10);
  EXPECT_EQ(run.records[2].seconds, 15);
  EXPECT_TRUE(std::isnan(run.records[0].loss));
  EXPECT_EQ(run.records[1].loss, 12);
  EXPECT_EQ(run.records[2].loss, 11);
  EXPECT_EQ(run.facts.global_batch_size.value, 1024);
  EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 1024);
  EXPECT_EQ(run.totals.skipped_steps, 3);
  EXPECT_EQ(run.outcome.status, Status::truncated) << "'number of nan iterations: 0' is no NaN";
}

TEST(Megatron, CountsTheFirstLineOfAResumedRunAsOneInterval) {
  const auto runs = read_text(iteration(5010, "2000.0") + iteration(5020, "1000.0"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[0].iterations, 10);
}

TEST(Megatron, CountsAStepThatTwoKindsOfLinesTellOnce) {
  const auto runs = read_text("steps: 1 loss: 12.67 iter time (s): 20.110 samples/sec: 0.796\n" +
                              iteration(1, "20125.7") +
                              "steps: 2 loss: 12.66 iter time (s): 19.515 samples/sec: 0.820\n" +
                              iteration(2, "19520.0", "samples per second: 0.821 | "));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].printed_rate, 0.796);
  EXPECT_EQ(runs[0].records[1].printed_rate, 0.821) << "the iteration line's own";
}

// Jobs of clusters with a time limit end so, and go on in the next.
TEST(Megatron, ARunThatWasToldWhenToExitIsComplete) {
  std::string log;
  for (int i = 1; i <= 4; ++i) log += iteration(i, "1000.0", "", 16, 100);
  const std::string when = "] datetime: 2026-03-15 21:27:19 \n";
  for (const char* said :
       {"[default0]:[exiting program after 690.0159 minutes", "[exiting program at iteration 4"}) {
    const auto runs = read_text(log + said + when);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].outcome.status, Status::completed) << said;
    EXPECT_EQ(runs[0].outcome.line, 5) << said;
  }
  EXPECT_EQ(read_text(log + "[exiting program after receiving SIGTERM." + when)[0].outcome.status,
            Status::killed);
}

TEST(Megatron, SeparatesRunsOfOneFileAndReadsLabels) {
  std::string log;
  for (int run = 0; run < 3; ++run) {
    log +=
        "sd-1: using world size: 16, data-parallel-size: 4, tensor-model-parallel size: 4, "
        "pipeline-model-parallel size: 1 \n";
    if (run != 1) log += "sd-1: setting number of micro-batches to constant 8\n";
    for (int i = 1; i <= 4; ++i) log += "sd-2: " + iteration(i, "1000.0", "", 16, 4);
    log += "sd-1: [after training is done] datetime: 2026-03-15 21:27:19 \n";
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 3u);
  for (const RunLog& run : runs) {
    EXPECT_EQ(run.records.size(), 4u);
    EXPECT_EQ(run.outcome.status, Status::completed);
    EXPECT_EQ(run.facts.world_size.value, 16);
    EXPECT_EQ(run.facts.axes.at("data_parallel"), "4");
  }
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 8);
  EXPECT_FALSE(runs[1].facts.gradient_accumulation_steps.known()) << "it said nothing";
}

TEST(Megatron, DoesNotTakeMicroBatchTimesGpusForTheGlobalBatchOfASplitModel) {
  const auto runs = read_text(
      "using world size: 16, data-parallel-size: 1, tensor-model-parallel size: 4, "
      "pipeline-model-parallel size: 4 \n"
      "  micro_batch_size ................................ 1\n"
      "  seq_length ...................................... 1024\n"
      "  decoder_seq_length ..............................  512\n"
      "[INFO] [config.py:752:print]   train_micro_batch_size_per_gpu  1\n"
      "[INFO] [config.py:752:print]   gradient_accumulation_steps .. 4\n" +
      iteration(1, "1000.0", "", 4) + iteration(2, "1000.0", "", 4));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 4);
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known());
  EXPECT_EQ(runs[0].facts.sequence_length.value, 1024);
}

TEST(Megatron, GivesNoSequencesPerIterationWhileTheBatchGrows) {
  const auto runs = read_text(iteration(1, "1000.0", "", 16) + iteration(2, "1000.0", "", 16) +
                              iteration(3, "1000.0", "", 32) + iteration(4, "1000.0", "", 48));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].facts.global_batch_size.known());
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("changes from 16 to 32"));
}

TEST(Megatron, TellsANanLoss) {
  const auto runs = read_text(iteration(1, "1000.0", "lm loss: 1.2E+01 | ") +
                              iteration(2, "1000.0", "lm loss: nan | "));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.step, 2);
}

TEST(Megatron, RecognisesALaunchThatFailsBeforeItsFirstIteration) {
  const auto runs = read_text(
      "using world size: 256, data-parallel-size: 32, tensor-model-parallel "
      "size: 2, pipeline-model-parallel size: 4 \n"
      "RuntimeError: CUDA error: out of memory\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::out_of_memory);
}

TEST(Megatron, ReadsTheStampAndTheThroughputOfNewerReleases) {
  const auto runs = read_text(
      " [2024-09-03 15:54:54] iteration       10/      20 | consumed samples:        10240 | "
      "elapsed "
      "time per iteration (ms): 13035.3 | throughput per GPU (TFLOP/s/GPU): 812.5 | learning rate: "
      "0.000000E+00 | global batch size:  1024 | loss scale: 8388608.0 | number of skipped "
      "iterations:  10 | number of nan iterations:   0 |\n"
      " [2024-09-03 15:57:00] iteration       20/      20 | consumed samples:        20480 | "
      "elapsed "
      "time per iteration (ms): 12600.0/12817.7 | throughput per GPU (TFLOP/s/GPU): 840.6/826.5 | "
      "learning rate: 1.0E-05 | global batch size:  1024 | lm loss: 1.144240E+01 | loss scale: 1.0 "
      "| number of skipped iterations:   0 | number of nan iterations:   0 |\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_NEAR(runs[0].records[0].seconds, 130.353, 1e-9);
  EXPECT_NEAR(runs[0].records[1].seconds, 126, 1e-9) << "not the mean behind the slash";
  EXPECT_DOUBLE_EQ(runs[0].records[1].time_s, 126);
  EXPECT_TRUE(runs[0].clock_is_wall);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 1024);
}

TEST(Megatron, ReadsTheLossWithoutAColonOf2019) {
  const auto runs = read_text(
      " iteration      100/ 1000000 | elapsed time per iteration (ms): 512.3 | learning rate "
      "9.000E-07 | lm loss 1.034567E+01 | nsp loss 7.012345E-01 | loss scale 65536.0 |\n"
      " iteration      200/ 1000000 | elapsed time per iteration (ms): 402.3 | learning rate "
      "1.900E-06 | lm loss NAN | nsp loss NAN | loss scale 65536.0 |\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].records.at(0).loss, 10.34567);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
}

TEST(Megatron, ReadsTheReplicasOfNewerReleases) {
  const auto runs = read_text(
      "using world size: 16, data-parallel size: 16, context-parallel size: 1, hierarchical "
      "context-parallel sizes: None, tensor-model-parallel size: 1, pipeline-model-parallel size: "
      "1\n"
      "  micro_batch_size ................................ 4\n"
      " [2025-06-03 15:54:54.123456] iteration       10/  500000 | consumed samples:         2560 "
      "| elapsed time per iteration (ms): 1300.0 | learning rate: 1.000000E-06 | global batch "
      "size: "
      "  256 | lm loss: 1.1E+01 |\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.world_size.value, 16);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 4);
}

TEST(Megatron, ReadsSecondsWhereBigScienceTellsThem) {
  const auto runs = read_text(
      "[default7]: iteration       10/     200 | consumed samples:        20480 | consumed tokens: "
      " "
      "   41943040 | elapsed time per iteration (s): 105.22 | learning rate: 5.969E-05 | global "
      "batch size:  2048 | lm loss: 2.463556E+00 | grad norm: 0.174 | num zeros: 0.0 | number of "
      "skipped iterations:   0 | number of nan iterations:   0 | samples per second: 19.463 | "
      "TFLOPs: 149.02 |\n"
      "[default7]: iteration       20/     200 | consumed samples:        40960 | consumed tokens: "
      " "
      "   83886080 | elapsed time per iteration (s): 104.00 | learning rate: 5.969E-05 | global "
      "batch size:  2048 | lm loss: 2.453556E+00 | grad norm: 0.174 | num zeros: 0.0 | number of "
      "skipped iterations:   0 | number of nan iterations:   0 | samples per second: 19.692 | "
      "TFLOPs: 149.02 |\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "megatron");
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].iterations, 10);
  EXPECT_NEAR(runs[0].records[1].seconds, 1040, 1e-9);
  EXPECT_EQ(runs[0].records[1].printed_rate, 19.692);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 2048);
}

TEST(Megatron, ReadsGptNeoX) {
  const auto runs = read_text(
      " samples/sec: 98.461 | iteration       10/  320000 | elapsed time per iteration (ms): "
      "1300.0 "
      "| learning rate: 6.000E-07 | approx flops per GPU: 29.1TFLOPS | lm_loss: 1.066E+01 | loss "
      "scale: 65536.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
      " samples/sec: 106.667 | iteration       20/  320000 | elapsed time per iteration (ms): "
      "1200.0 "
      "| learning rate: 1.200E-06 | approx flops per GPU: 31.5TFLOPS | lm_loss: 1.009E+01 | loss "
      "scale: 65536.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_NEAR(runs[0].records[1].seconds, 12, 1e-9);
  EXPECT_EQ(runs[0].records[1].printed_rate, 106.667);
  EXPECT_EQ(runs[0].records[1].loss, 10.09);
}

// Megatron-DeepSpeed: the engine's timer stands beside each iteration line.
TEST(Megatron, SpeaksForALogThatDeepSpeedTimesAsWell) {
  std::string log;
  for (int i = 1; i <= 3; ++i) {
    const std::string step = std::to_string(10 * i);
    log += "[2023-03-01 10:00:2" + std::to_string(i) + ",123] [INFO] [timer.py:207:stop] 0/" +
           step +
           ", RunningAvgSamplesPerSec=16.1, CurrSamplesPerSec=16.0, MemAllocated=3.1GB, "
           "MaxMemAllocated=20.0GB\n iteration       " +
           step +
           "/     500 | elapsed time per iteration (ms): 2000.0 | global batch size:   256 | lm "
           "loss: 7.1E+00 | number of skipped iterations:   0 |\n";
  }
  log +=
      "[2023-03-01 10:00:25,123] [INFO] [timer.py:207:stop] 0/40, RunningAvgSamplesPerSec=16.1, "
      "CurrSamplesPerSec=16.0, MemAllocated=3.1GB, MaxMemAllocated=20.0GB\n";
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "megatron");
  EXPECT_EQ(runs[0].records.size(), 3u);
}

// Argonne's fork. The timer beside it is of one micro-step, and would tell five times the rate.
TEST(Megatron, ReadsKeysWithEqualsSigns) {
  std::string log;
  for (int i = 1; i <= 3; ++i) {
    const std::string step = std::to_string(i), stamp = "[2024-05-02 10:00:1" + step;
    log += stamp + ",250] [INFO] [timer.py:260:stop] epoch=0/micro_step=" + step +
           "/global_step=" + step +
           ", RunningAvgSamplesPerSec=160.5, CurrSamplesPerSec=160.5, MemAllocated=4.5GB\n" +
           stamp + "][INFO][training:1251] -  iteration=       " + step +
           "/  120000 | consumed_samples=         128 | elapsed_time_per_iteration_ms=4000.0 | "
           "learning_rate=0.000000 | global_batch_size=  128 | lm loss=11.125 | loss_scale=65536.0 "
           "| number_of_skipped_iterations=  1 | number_of_nan_iterations=  0 | "
           "samples_per_second=32.000 | TFLOPs=120.5 |\n";
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "megatron");
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 128);
  EXPECT_EQ(runs[0].totals.skipped_steps, 3);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_NEAR(runs[0].records[2].seconds, 4, 1e-9);
  EXPECT_EQ(runs[0].records[2].printed_rate, 32);
  EXPECT_EQ(runs[0].records[2].loss, 11.125);
  EXPECT_NEAR(runs[0].records[2].time_s - runs[0].records[1].time_s, 1, 1e-9);
}

// ModelLink writes the key so.
TEST(Megatron, ReadsTheMisspeltGlobalBatch) {
  const auto runs = read_text(
      " iteration  11/ 500 | consumed samples: 2816 | elapsed time per iteration (ms):  5120.0 | "
      "learning rate: 1.5E-05 | gloabl batch size:  256 | lm loss:  1.25E+01 | loss scale:  "
      "65536.0 "
      "|\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 256);
}

TEST(Megatron, TellsANaNByTheGradientWhereNoLineHasALoss) {
  const auto log = [](const std::string& norm, const std::string& skipped) {
    return read_text(
               " iteration     5426/  250000 | consumed samples:        43408 | elapsed time "
               "per iteration (ms): 4247.9 | learning rate: 2.999E-04 | global batch size:   "
               "  8 | loss scale: 1.0 | grad norm: " +
               norm + " | number of skipped iterations:   " + skipped +
               " | number of nan iterations:   0 |\n")
        .at(0);
  };
  EXPECT_EQ(log("nan", "0").outcome.status, Status::nan);
  EXPECT_EQ(log("nan", "1").outcome.status, Status::truncated);
  EXPECT_EQ(log("1.250", "0").outcome.status, Status::truncated);
}

}  // namespace
}  // namespace bertbench
