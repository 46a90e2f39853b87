// The lines are written by hand in the manner of nanotron's train_step_logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/notice_text.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string step(int n, const std::string& clock, const std::string& ms,
                 const std::string& batch = "96") {
  return "04/02/2025 09:15:" + clock +
         " [INFO|DP=0|PP=0|TP=0|node-3]: iteration: " + std::to_string(n) +
         " / 22 | consumed_tokens: 12.6M | elapsed_time_per_iteration_ms: " + ms +
         " | tokens_per_sec: 57.8K | tokens_per_sec_per_gpu: 14.5K | global_batch_size: " + batch +
         " | lm_loss: 4.02 | lr: 0.0003 | model_tflops_per_gpu: 241 | grad_norm: 0.7\n";
}

TEST(Nanotron, ReadsTimesWithSuffixesAndTheBatchOfTheJob) {
  const auto runs =
      read_text(step(20, "07", "3.41K") + step(21, "10", "3.4K") + step(22, "14", "987"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "nanotron");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].seconds, 3.41);
  EXPECT_DOUBLE_EQ(runs[0].records[2].seconds, 0.987);
  EXPECT_DOUBLE_EQ(runs[0].records[2].time_s, 7);
  EXPECT_DOUBLE_EQ(runs[0].records[1].loss, 4.02);
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 57'800);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 96);
  EXPECT_EQ(runs[0].facts.world_size.value, 4);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_THAT(runs[0].notices, testing::Contains(NoticeText(testing::HasSubstr("three digits"))));
}

TEST(Nanotron, TakesNoBatchThatIsRounded) {
  const auto runs = read_text(step(20, "07", "3.41K", "1.02K"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].facts.global_batch_size.known());
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

}  // namespace
}  // namespace bertbench
