#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Mindspore, MakesARecordOfEachEpoch) {
  const auto runs = read_text(
      "epoch: 1 step: 173, loss is 0.11066732\n"
      "epoch time: 120480.930 ms, per step time: 696.422 ms\n"
      "epoch: 2 step: 173, loss is 0.08072116\n"
      "Train epoch time: 120437.981 ms, per step time: 696.173 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].step, 346);
  EXPECT_EQ(runs[0].records[1].iterations, 173);
  EXPECT_NEAR(runs[0].records[1].seconds, 120.437981, 1e-9);
  EXPECT_EQ(runs[0].records[1].loss, 0.08072116);
}

// BERT's script counts over all epochs; an epoch is a sink of so many steps.
TEST(Mindspore, KnowsTheCounterOfTheBertScript) {
  const std::string tail =
      ", outputs are (Tensor(shape=[], dtype=Float32, value= 0.7), Tensor())\n";
  const auto runs = read_text("epoch: 0, current epoch percent: 1.000, step: 6094" + tail +
                              "epoch time: 1702423.561 ms, per step time: 279.361 ms\n"
                              "epoch: 1, current epoch percent: 1.000, step: 12188" +
                              tail + "epoch time: 1684662.219 ms, per step time: 276.446 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].step, 12188);
  EXPECT_EQ(runs[0].records[1].iterations, 6094);
}

TEST(Mindspore, CountsTheLinesOfSeveralRanksOnce) {
  std::string text;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (int rank = 0; rank < 4; ++rank) {
      text += "epoch: " + std::to_string(epoch) + " step: 100, loss is 0.5\n" +
              "epoch time: 1000.000 ms, per step time: 10.000 ms\n";
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
}

TEST(Mindspore, SaysThatRanksCannotBeToldWithoutSteps) {
  const auto runs = read_text("epoch time: 1000.000 ms, per step time: 10.000 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_THAT(runs[0].notices.at(0).text, testing::HasSubstr("several ranks"));
}

TEST(Mindspore, ReadsMindformers) {
  const std::string at = "[callback.py:529] - INFO - { Epoch:[  2/  2], step:[";
  const auto runs = read_text("2025-04-07 15:34:27,308 - " + at +
                              "    1/   19], loss: 10.649, per_step_time: 1752ms, lr: "
                              "0.0\n2025-04-07 15:34:31,308 - " +
                              at + "    3/   19], loss: 10.5, per_step_time: 1790ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[0].step, 20);
  EXPECT_EQ(runs[0].records[1].iterations, 2);
  EXPECT_NEAR(runs[0].records[1].seconds, 3.58, 1e-9);
  EXPECT_NEAR(runs[0].records[1].time_s, 4, 1e-6);
}

// Without a data sink both the loss and its mean are printed.
TEST(Mindspore, ReadsTheLossOfMindformersWithoutSink) {
  const std::string at = "2025-04-07 15:34:27,308 - INFO - { Epoch:[  1/  2], step:[    ";
  const auto runs = read_text(
      at +
      "1/   19], loss:[10.600/10.588], per_step_time: 1865ms, lr: 1e-05, overflow cond: False\n" +
      at +
      "2/   19], loss:[  nan/  nan], per_step_time: 1865ms, lr: 1e-05, overflow cond: False\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.at(0).loss, 10.6);
  EXPECT_EQ(runs[0].first_nan_step, 2);
}

TEST(Mindspore, LeavesWholeMillisecondsOfFastStepsToTheClock) {
  const auto runs = read_text(
      "2025-04-07 15:34:27,308 - INFO - { Epoch:[  1/  2], step:[    1/   19], loss: 1.0, "
      "per_step_time: 7ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records[0].seconds));
  EXPECT_THAT(runs[0].notices.at(0).text, testing::HasSubstr("too coarse"));
}

}  // namespace
}  // namespace bertbench
