#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string line(int step, const std::string& seconds, const std::string& rates) {
  return "completed step: " + std::to_string(step) + ", seconds: " + seconds + ", " + rates +
         "loss: 9.875\n";
}

TEST(Maxtext, ALineIsAnOptimizerStepOfTheJob) {
  const std::string rates =
      "TFLOP/s/device: 120.123, Tokens/s/device: 4000.0, total_weights: 65536, ";
  const auto runs = read_text(
      "Config param global_batch_size_to_train_on: 32\nConfig param max_target_length: 2048\n"
      "Config param steps: 3\n" +
      line(0, "21.250", rates) + line(1, "0.500", rates) + line(2, "0.512", rates));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(run.records[2].step, 3);
  EXPECT_EQ(run.records[2].seconds, 0.512);
  EXPECT_EQ(run.records[2].loss, 9.875);
  EXPECT_EQ(run.facts.global_batch_size.value, 32);
  EXPECT_EQ(run.facts.sequence_length.value, 2048);
  EXPECT_EQ(run.outcome.status, Status::completed);
}

TEST(Maxtext, ReadsTheOtherReleases) {
  for (const char* rates : {"TFLOP/s: 120.1, ", "", "TFLOP/s/device: 120.123, ",
                            "TFLOP/s/device: 1.5, Tokens/s/device: 8.5, total_weights: 64, "}) {
    const auto runs = read_text(line(7, "0.500", rates) + line(8, "0.500", rates));
    ASSERT_EQ(runs.size(), 1u) << rates;
    EXPECT_EQ(runs[0].records.at(1).seconds, 0.5) << rates;
  }
}

TEST(Maxtext, LeavesSecondsOfTooFewDigitsOut) {
  const auto runs = read_text(line(0, "0.012", "") + line(1, "0.012", ""));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records.at(1).seconds));
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("three decimals"));
  EXPECT_TRUE(read_text("completed step: load data\ncompleted step: 3, second: 4\n").empty());
}

}  // namespace
}  // namespace bertbench
