// torchtitan's console.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

const std::string kHead =
    "[titan] 2025-05-20 12:00:00,100 - root - INFO - Building 2-D device mesh with ['dp_shard', "
    "'tp'], [4, 2]\n"
    "[titan] 2025-05-20 12:00:01,100 - root - INFO - Trainer is initialized with local batch size "
    "8, global batch size 64, gradient accumulation steps 2, sequence length 512, total steps 20 "
    "(warmup 2)\n";

std::string step(int number, const std::string& time, const std::string& tps) {
  return "[titan] 2025-05-20 12:00:" + time +
         " - root - INFO - \x1b[31mstep: " + (number < 10 ? " " : "") + std::to_string(number) +
         "  \x1b[32mloss:  8.5000  \x1b[38;2;180;60;0mgrad_norm:  2.5000  \x1b[38;2;54;234;195m"
         "memory:  8.44GiB(13.20%)  \x1b[34mtps: " +
         tps + "  \x1b[36mtflops: 62.26  \x1b[35mmfu: 20.88%\x1b[39m\n";
}

TEST(Torchtitan, TokensOfADeviceBecomeThoseOfTheJob) {
  const auto runs = read_text(kHead + step(1, "10,000", "409") + step(10, "28,000", "2,048") +
                              step(20, "48,000", "2,048"));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "torchtitan");
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(run.rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(run.records[1].printed_rate, 2048 * 8);
  EXPECT_EQ(run.records[1].iterations, 9);
  EXPECT_EQ(run.records[2].time_s - run.records[1].time_s, 20);
  EXPECT_EQ(run.records[2].loss, 8.5);
  EXPECT_EQ(run.facts.world_size.value, 8);
  EXPECT_EQ(run.facts.micro_batch_size.value, 8);
  EXPECT_EQ(run.facts.global_batch_size.value, 64);
  EXPECT_EQ(run.facts.gradient_accumulation_steps.value, 2);
  EXPECT_EQ(run.facts.sequence_length.value, 512);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_TRUE(run.notices.empty());
}

TEST(Torchtitan, ReadsTheMeshOfNewerReleases) {
  const auto world = [](const std::string& mesh) {
    const auto runs = read_text("Building " + mesh + "\n" + step(1, "10,000", "409") +
                                step(10, "28,000", "2,048"));
    return runs.at(0).facts.world_size.value;
  };
  EXPECT_EQ(world("1-D device mesh with ['dp_shard'], [24]"), 24);
  EXPECT_EQ(world("device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=8, "
                  "ep=4, etp=1"),
            64);
  for (const char* mesh :
       {"1-D device mesh with ['dp_shard'], [0]", "1-D device mesh with ['dp_shard'], [8",
        "2-D device mesh with ['a', 'b'], [9999999, 9999999]", "device mesh with parallelism: pp=2",
        "device mesh with nothing"}) {
    EXPECT_NE(world(mesh), 8) << mesh;
    EXPECT_NE(world(mesh), 2) << mesh;
  }
}

TEST(Torchtitan, TakesNoRateOfOneDeviceForThatOfTheJob) {
  const auto runs = read_text(
      "[rank0]:2024-08-11 10:20:30,400 - root - INFO - step:  1  loss: 10.5  memory: "
      "47.9GiB(50.5%)  wps: 1,228  mfu: 7.5%\n"
      "[rank0]:2024-08-11 10:20:39,400 - root - INFO - step: 10  loss: nan  memory: "
      "47.9GiB(50.5%)  wps: 2,228  mfu: 9.5%\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records.at(1).printed_rate));
  EXPECT_EQ(runs[0].records[1].time_s - runs[0].records[0].time_s, 9);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("tps are of one device"));
}

TEST(Torchtitan, LeavesOtherLinesAlone) {
  EXPECT_TRUE(read_text("XPU memory usage for model: 0.26GiB(0.41%)\n"
                        "validate step: 20  loss: 8.1  memory: 8.44GiB(13.20%)  tps: 6,709\n"
                        "step: 20  loss: 8.1  memory: 8.44GiB(13.20%)\n"
                        "step: x  loss: 8.1  memory: 8.44GiB(13.20%)  tps: 6,709\n")
                  .empty());
}

}  // namespace
}  // namespace bertbench
