#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string timer(int second, const std::string& counters, const std::string& rates) {
  return "[2023-04-18 01:46:" + std::to_string(10 + second) + ",250] [INFO] [timer.py:199:stop] " +
         counters + ", " + rates + "\n";
}

TEST(Deepspeed, ReadsGlobalStepsClockAndBothRates) {
  const auto runs = read_text(
      timer(0, "epoch=0/micro_step=20/global_step=10",
            "RunningAvgSamplesPerSec=46.9, CurrSamplesPerSec=50.8, MemAllocated=3.96GB") +
      timer(7, "epoch=0/micro_step=40/global_step=20",
            "RunningAvgSamplesPerSec=46.8, CurrSamplesPerSec=46.3, MemAllocated=3.96GB") +
      timer(14, "epoch=1/micro_step=20/global_step=30",
            "RunningAvgSamplesPerSec=46.5, CurrSamplesPerSec=46.4, MemAllocated=3.96GB") +
      "Grad overflow on iteration 0\nGrad overflow on iteration 0\nGrad overflow on iteration 7\n"
      "[2023-04-18 03:20:47,468] [INFO] [launch.py:460:main] Process 73585 exits successfully.\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.records[2].step, 30);
  EXPECT_EQ(run.records[2].iterations, 10);
  EXPECT_EQ(run.records[2].time_s, 14);
  EXPECT_EQ(run.records[1].printed_rate, 46.3);
  EXPECT_EQ(run.rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(run.iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(run.summary->value, 46.5);
  EXPECT_EQ(run.totals.skipped_steps, 2) << "ranks repeat the notice";
  EXPECT_EQ(run.outcome.status, Status::completed);
}

// Both go to one file: a bar leaves the cursor at its end.
TEST(Deepspeed, ReadsALineThatABarStandsBefore) {
  const std::string bar = " 2%|1         | 10/512 [00:14<15:15,  1.82s/it]";
  const auto runs =
      read_text(timer(0, "epoch=0/micro_step=10/global_step=10",
                      "RunningAvgSamplesPerSec=12.6, CurrSamplesPerSec=8.8, MemAllocated=0.78GB") +
                bar +
                timer(20, "epoch=0/micro_step=20/global_step=20",
                      "RunningAvgSamplesPerSec=8.9, CurrSamplesPerSec=10.0, MemAllocated=0.78GB") +
                bar + bar +
                timer(41, "epoch=0/micro_step=30/global_step=30",
                      "RunningAvgSamplesPerSec=8.2, CurrSamplesPerSec=7.1, MemAllocated=0.78GB"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "deepspeed");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].time_s, 20);
  EXPECT_EQ(runs[0].records[2].time_s, 41);
}

std::string progress(int step, double loss, int batch) {
  return "bing_bert_progress: step=" + std::to_string(step) + ", loss=" + std::to_string(loss) +
         ", lr=1e-05, sample_count=" + std::to_string(step * batch) + "\n";
}

// The example prints the loss between backward and step, the engine its rates in step.
TEST(Deepspeed, TheProgressLineInFrontOfTheTimersHasItsLoss) {
  std::string log;
  for (int step = 1; step <= 13; ++step) {
    log += progress(step, step, 64);
    if (step % 5 != 0) continue;
    log += timer(
        step,
        "epoch=0/micro_step=" + std::to_string(2 * step) + "/global_step=" + std::to_string(step),
        "RunningAvgSamplesPerSec=46.9, CurrSamplesPerSec=50.8");
  }
  log += "Warning: Early training termination due to max steps limit, epoch=1, global_step=13\n";
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].loss, 5);
  EXPECT_EQ(runs[0].records[1].loss, 10);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 64);
  EXPECT_EQ(runs[0].outcome.step, 13) << "behind the last line of the timer";
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  const auto before = read_text(timer(0, "epoch=0/micro_step=4/global_step=2",
                                      "RunningAvgSamplesPerSec=46.9, CurrSamplesPerSec=50.8") +
                                progress(2, 8.5, 64));
  EXPECT_EQ(before.at(0).records.at(0).loss, 8.5) << "as bert_train printed it until 2026-11";
}

// steps_per_print 1000 and a log without stderr: the example's own lines are all there is.
TEST(Deepspeed, ReadsTheExamplesThroughputWhereTheTimerIsSilent) {
  std::string log;
  for (int step = 1; step <= 45; ++step) {
    log += progress(step, 7.5, 8);
    if (step % 20 == 0) {
      log += " At step " + std::to_string(step) + ", the throughput is " +
             (step == 20 ? "6.691626" : "6.668795") + " Samples/s\n";
    }
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 45u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].records[19].printed_rate, 6.691626);
  EXPECT_EQ(runs[0].records[39].printed_rate, 6.668795);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 8);
}

// With its bar, which counts micro-steps, there is a clock as well.
TEST(Deepspeed, TheBarOfTheExampleIsThatOfItsTraining) {
  std::string log = "\n  0%|          | 0/512 [00:00<?, ?it/s]";
  for (int step = 1; step <= 30; ++step) {
    for (int micro = 0; micro < 2; ++micro) {
      if (micro == 1) log += progress(step, 7.5, 16);
      const int done = 2 * (step - 1) + micro + 1;
      if (done == 60) break;  // the loop is left within the last step
      log += "\n  1%|          | " + std::to_string(done) + "/512 [00:" + (done < 20 ? "0" : "") +
             std::to_string(done / 2) + "<10:05,  2.00it/s]";
    }
  }
  log += "\nWarning: Early training termination due to max steps limit, epoch=1, global_step=30\n";
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "tqdm");
  EXPECT_EQ(run.iteration_unit, IterationUnit::micro_step);
  EXPECT_EQ(run.facts.gradient_accumulation_steps.value, 2);
  EXPECT_EQ(run.facts.global_batch_size.value, 16);
  EXPECT_EQ(run.records.back().time_s, 29);
  EXPECT_EQ(run.outcome.step, 60);
}

TEST(Deepspeed, TakesTheEnginesOwnCountOfSkippedSteps) {
  const auto runs = read_text(
      "Grad overflow on iteration 3\n"
      "[2024-01-05 10:00:07,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=7, "
      "lr=[1e-05], mom=[(0.9, 0.95)]\n" +
      timer(7, "epoch=0/micro_step=20/global_step=20",
            "RunningAvgSamplesPerSec=46.8, CurrSamplesPerSec=46.3") +
      timer(14, "epoch=0/micro_step=40/global_step=40",
            "RunningAvgSamplesPerSec=46.5, CurrSamplesPerSec=46.4"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].totals.skipped_steps, 7);
}

TEST(Deepspeed, CountsASkippedStepOnce) {
  const std::string overflow =
      "[2024-01-05 10:00:01,000] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! "
      "Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n";
  const auto runs = read_text(overflow + overflow +
                              timer(7, "epoch=0/micro_step=10/global_step=10",
                                    "RunningAvgSamplesPerSec=46.8, CurrSamplesPerSec=46.3") +
                              timer(14, "epoch=0/micro_step=20/global_step=20",
                                    "RunningAvgSamplesPerSec=46.5, CurrSamplesPerSec=46.4"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].totals.skipped_steps, 2);
}

TEST(Deepspeed, CountsMicroStepsOfOldReleasesOnOverEpochs) {
  const auto runs =
      read_text(timer(0, "0/10", "SamplesPerSec=12.5") + timer(1, "0/20", "SamplesPerSec=12.6") +
                timer(2, "1/10", "SamplesPerSec=12.7"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 30);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::micro_step);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].summary->value, 12.7);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Deepspeed, KeepsTwoEnginesAndTheirEndToEndStepsApart) {
  std::string log;
  for (int i = 1; i <= 3; ++i) {
    const std::string n = std::to_string(10 * i);
    log +=
        "|E2E latency=4.00s |Gather latency=0.00s (0.00%) |Generate time=2.00s (50.00%) "
        "|Training time=1.00s (25.00%) |Others=1.00 (25.00%)|CurSamplesPerSec=8.00 "
        "|AvgSamplesPerSec=8.50\n";
    log += timer(i, "epoch=0/micro_step=" + n + "/global_step=" + n,
                 "RunningAvgSamplesPerSec=80.5, CurrSamplesPerSec=81.5");
    log += timer(i, "epoch=0/micro_step=" + n + "/global_step=" + n,
                 "RunningAvgSamplesPerSec=90.5, CurrSamplesPerSec=91.5");
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].summary->value, 8.5);
  EXPECT_EQ(runs[0].records[1].seconds, 4);
  EXPECT_EQ(runs[1].records.size(), 3u);
  EXPECT_EQ(runs[1].records[2].printed_rate, 81.5);
  EXPECT_EQ(runs[2].records.size(), 3u);
  EXPECT_EQ(runs[2].records[2].printed_rate, 91.5);
  EXPECT_THAT(text_of(runs[1].notices.back()), testing::HasSubstr("do not add up"));
}

TEST(Deepspeed, BeginsAnotherRunWhenTheCounterStartsOver) {
  std::string log;
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i <= 3; ++i) {
      const std::string n = std::to_string(10 * i);
      log += timer(10 * round + i, "epoch=0/micro_step=" + n + "/global_step=" + n,
                   "RunningAvgSamplesPerSec=8" + std::to_string(round) + ".5, CurrSamplesPerSec=8");
    }
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[1].records.size(), 3u);
}

TEST(Deepspeed, IsNotMisledByTheLaunchersLines) {
  EXPECT_TRUE(read_text("[2023-04-18 03:20:47,468] [INFO] [launch.py:460:main] Process 1 exits "
                        "successfully.\nmy SamplesPerSec=3\n")
                  .empty());
}

TEST(Deepspeed, DoesNotTakeChatsRateOfOneGpuForTheJobs) {
  const auto runs = read_text(
      "Model Parameters: 1.316 B, Latency: 0.53s, TFLOPs: 40.20, Samples/sec: 7.55, Time/seq "
      "0.13s, "
      "Batch Size: 4, Sequence Length: 512\n"
      "Model Parameters: 1.316 B, Latency: 0.54s, TFLOPs: 40.20, Samples/sec: 7.41, Time/seq "
      "0.13s, "
      "Batch Size: 4, Sequence Length: 512\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 0.54);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 4);
  EXPECT_EQ(runs[0].facts.sequence_length.value, 512);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("of one GPU"));
}

TEST(Deepspeed, ReadsChatsNewerEndToEndLines) {
  const auto runs = read_text(
      "End-to-End => Latency: 5.26s, TFLOPs: 1.20, Samples/sec: 12.17, Time/seq 0.08s, Batch Size: "
      "64, Total Seq. Length: 512\n"
      "Generation => Latency: 3.26s, Per-token Latency 12.73 ms, TFLOPs: 0.90, BW: 205.10 GB/sec, "
      "Answer Seq. Length: 256\n"
      "End-to-End => Latency: 5.00s, TFLOPs: 1.20, Samples/sec: 0.40, Time/seq 2.50s, Batch Size: "
      "2, Total Seq. Length: 512\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].printed_rate, 12.17);
  EXPECT_TRUE(std::isnan(runs[0].records[1].printed_rate)) << "a batch of 2 is a known mistake";
}

TEST(Deepspeed, CountsAStepOnceThatTheEngineAndChatTell) {
  const std::string engine =
      "|E2E latency=4.78s |Gather latency=0.00s (0.00%) |Generate time=1.74s (36.47%) |Training "
      "time=2.82s (59.05%) |Others=0.21 (4.48%)|CurSamplesPerSec=0.84 |AvgSamplesPerSec=1.03\n";
  const std::string chat =
      "End-to-End => Latency: 2.55s, TFLOPs: 3.29, Samples/sec: 1.57, Time/seq 0.64s, Batch Size: "
      "4, Total Seq. Length: 512\n";
  const auto first = read_text(engine + chat + engine + chat);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(first[0].records.size(), 2u);
  EXPECT_EQ(first[0].records[1].printed_rate, 0.84);
  const auto other = read_text(chat + engine);
  ASSERT_EQ(other.at(0).records.size(), 1u);
  EXPECT_EQ(other[0].records[0].printed_rate, 1.57);
}

TEST(Deepspeed, EndsWhereTheBannersTotalIsReached) {
  const auto log = [](int last) {
    std::string text =
        "  Total optimization steps = 30\n"
        "[2022-03-01 10:00:20,123] [INFO] [config.py:982:print]   bfloat16_enabled ....... False\n";
    for (int step = 10; step <= last; step += 10) {
      text += "[2022-03-01 10:00:" + std::to_string(20 + step) +
              ",123] [INFO] [timer.py:154:stop] 0/" + std::to_string(step) +
              ", SamplesPerSec=512.5\n";
    }
    return read_text(text).at(0);
  };
  EXPECT_EQ(log(30).outcome.status, Status::completed);
  EXPECT_EQ(log(20).outcome.status, Status::truncated);
  // fp16 may be on: its switch is another line.
  EXPECT_FALSE(log(30).facts.precision.known());
}

TEST(Deepspeed, KnowsThatThePipelinesTimerCountsOptimizerSteps) {
  const auto log = [](const std::string& engine) {
    std::string text;
    for (int i = 1; i <= 3; ++i) {
      const std::string step = std::to_string(10 * i);
      text += engine.empty() ? "" : "steps: " + step + engine;
      text += "[2021-03-01 10:00:2" + std::to_string(i) + ",123] [INFO] [timer.py:154:stop] 0/" +
              step + ", SamplesPerSec=512.5\n";
    }
    return read_text(text).at(0);
  };
  EXPECT_EQ(log("").iteration_unit, IterationUnit::micro_step);
  EXPECT_EQ(log(" loss: 1.2 iter time (s): 0.500 samples/sec: 512.000\n").iteration_unit,
            IterationUnit::optimizer_step);
}

TEST(Deepspeed, TellsWhereTheLossOfTheActorIsNotFinite) {
  const auto step = [](int n, const char* loss) {
    return "|E2E latency=4.00s |Gather latency=0.00s (0.00%) |Generate time=3.00s (75.00%) "
           "|Training "
           "time=0.80s (20.00%) |Others=0.20 (5.00%)|CurSamplesPerSec=16.00 "
           "|AvgSamplesPerSec=15.50\n"
           "epoch: 0|step: " +
           std::to_string(n) + "|ppo_ep: 1|act_loss: " + loss +
           "|cri_loss: 0.25|unsuper_loss: 0.0\naverage reward score: 1.5\n";
  };
  auto runs = read_text(step(0, "0.125") + step(1, "0.0625") + step(2, "inf"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].loss, 0.0625);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.step, 3);
  runs = read_text(step(0, "0.125") + step(1, "0.0625"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NE(runs[0].outcome.status, Status::nan);
}

// GPT-NeoX and the pipeline tutorial where nothing else tells the steps.
TEST(Deepspeed, ReadsTheLinesOfThePipelineEngine) {
  const auto step = [](const std::string& n, const std::string& seconds, const std::string& rate) {
    return "steps: " + n + " loss: 2.5000 iter time (s): " + seconds + " samples/sec: " + rate +
           "\n";
  };
  const std::string lines = step("10", "0.800", "80.000") + step("20", "0.500", "128.000") +
                            step("30", "0.400", "160.000");
  auto runs = read_text(lines);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "deepspeed");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].iterations, 10);
  EXPECT_NEAR(runs[0].records[2].seconds, 4, 1e-9);
  EXPECT_EQ(runs[0].records[2].loss, 2.5);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 64);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  const std::string done = "[after training is done] datetime: 2026-03-20 20:58:20 \n";
  runs = read_text(lines + done);
  ASSERT_EQ(runs.size(), 1u) << "of a node without Megatron's last stage";
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(read_text(lines + step("10", "0.5", "128.0")).size(), 2u) << "launched again";
  runs = read_text(lines +
                   "[2023-04-18 01:46:59,171] [INFO] [timer.py:199:stop] "
                   "epoch=0/micro_step=30/global_step=30, RunningAvgSamplesPerSec=150.5, "
                   "CurrSamplesPerSec=160.5, MemAllocated=3.96GB, MaxMemAllocated=22.95GB\n");
  ASSERT_EQ(runs.size(), 1u) << "of the same steps";
  EXPECT_EQ(runs[0].records.size(), 1u);
}

}  // namespace
}  // namespace bertbench
