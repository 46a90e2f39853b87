// The lines are written by hand in the manner of nanochat's and autoresearch's trainers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string step(const std::string& count, const std::string& ms, const std::string& tokens) {
  return "step " + count + " (50.00%) | loss: 3.1 | lrm: 1.00 | dt: " + ms +
         "ms | tok/sec: " + tokens + " | bf16_mfu: 40.00 | epoch: 1 | total time: 0.89m\n";
}

const std::string kSteps = step("00997/01000", "500.00", "524,288") +
                           step("00998/01000", "501.00", "523,241") +
                           step("00999/01000", "499.00", "525,338");

TEST(Nanochat, TellsTheBatchOfARankAndThatOfTheJob) {
  const auto runs = read_text(
      "Tokens / micro-batch / rank: 16 x 2048 = 32,768\nTokens / micro-batch: 131,072\n"
      "Total batch size 262,144 => gradient accumulation steps: 2\n" +
      kSteps);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 16);
  EXPECT_EQ(runs[0].facts.sequence_length.value, 2048);
  EXPECT_EQ(runs[0].facts.world_size.value, 4);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 128);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Nanochat, EachStageHasItsOwnBatch) {
  const auto runs = read_text(
      "Tokens / micro-batch / rank: 16 x 2048 = 32,768\n"
      "Total batch size 262,144 => gradient accumulation steps: 2\n" +
      kSteps +
      "Total training time: 8.33m\n"
      "Tokens / micro-batch / rank: 8 x 512 = 4,096\n"
      "Total batch size 16,384 => gradient accumulation steps: 3\n" +
      step("00001/00100", "500.00", "32,768") + step("00002/00100", "500.00", "32,768"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].outcome.status, Status::truncated);
  EXPECT_EQ(runs[1].facts.micro_batch_size.value, 8);
  EXPECT_FALSE(runs[1].facts.global_batch_size.known()) << "no whole number of passes";
  EXPECT_FALSE(runs[1].facts.world_size.known());
}

TEST(Nanochat, ItsClosingSummaryEndsTheRun) {
  const auto runs = read_text(kSteps +
                              "Peak memory usage: 75422.52MiB\nTotal training time: 171.99m\n"
                              "Minimum validation bpb: 0.8120\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[0].outcome.step, 999);
}

TEST(Nanochat, AutoresearchEndsByItsTimeBudget) {
  const auto runs =
      read_text("Time budget: 300s\n\r" + step("00000", "15846", "4,135") + "\r" +
                step("00001", "1540", "42,544") + "\r" + step("00002", "1577", "41,545") +
                "---\nval_bpb:          1.451316\ntraining_seconds: 300.8\n"
                "total_seconds:    538.7\nnum_steps:        198\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(read_text("training_seconds: 300.8\n").size(), 0u);
}

}  // namespace
}  // namespace bertbench
