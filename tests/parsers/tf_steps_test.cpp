#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// Both loggers hand each line on, or one of them twice.
TEST(TfSteps, CountsAStepOfSlimOnce) {
  const auto runs = read_text(
      "INFO:tensorflow:global step 1: loss = 79.5 (57.125 sec/step)\n"
      "INFO:tensorflow:global step 1: loss = 79.5 (57.125 sec/step)\n"
      "INFO:tensorflow:global step 2: loss = 72.5 (16.000 sec/step)\n"
      "INFO:tensorflow:global step 2: loss = 72.5 (16.000 sec/step)\n"
      "INFO:tensorflow:global_step/sec: 0.0339311\n"
      "INFO:tensorflow:global_step/sec: 0.0339311\n"
      "INFO:tensorflow:global step 3: loss = 67.5 (8.000 sec/step)\n"
      "INFO:tensorflow:global step 3: loss = 67.5 (8.000 sec/step)\n"
      "INFO:tensorflow:Finished training! Saving model to disk.\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "tf-steps");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].seconds, 16);
  EXPECT_EQ(runs[0].records[2].seconds, 8);
  EXPECT_EQ(runs[0].records[2].loss, 67.5);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

// The time is that of one step: what lies between two lines is told by absl's stamps alone.
TEST(TfSteps, TakesTheClockOfTheObjectDetectionApi) {
  const auto line = [](const std::string& time, const std::string& step, const std::string& loss) {
    const std::string said = "Step " + step + " per-step time 0.500s" + loss;
    return "INFO:tensorflow:" + said + "\nI0301 10:" + time + " 1397 model_lib_v2.py:652] " + said +
           "\n";
  };
  auto runs = read_text(line("00:00.000000", "100", " loss=1.5") +
                        line("01:00.000000", "200", " loss=1.25") +
                        line("02:00.000000", "300", " loss=1.125"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].iterations, 100);
  EXPECT_TRUE(std::isnan(runs[0].records[2].seconds));
  EXPECT_NEAR(runs[0].records[2].time_s - runs[0].records[1].time_s, 60, 1e-6);
  EXPECT_EQ(runs[0].records[2].printed_rate, 2);
  EXPECT_EQ(runs[0].records[2].loss, 1.125);
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("one step in front of it"));
  runs = read_text(line("00:00.000000", "100", "") + line("01:00.000000", "200", ""));
  ASSERT_EQ(runs.size(), 1u) << "later releases tell the losses on other lines";
  EXPECT_EQ(runs[0].records.size(), 2u);
}

TEST(TfSteps, ReadsTheTutorials) {
  const auto runs = read_text(
      "2017-03-01 14:51:00.500000: step 660, loss = 2.85 (640.0 examples/sec; 0.200 sec/batch)\n"
      "2017-03-01 14:51:02.500000: step 670, loss = nan (640.0 examples/sec; 0.200 sec/batch)\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 640);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_NEAR(runs[0].records[1].time_s - runs[0].records[0].time_s, 2, 1e-6);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.step, 670);
}

TEST(TfSteps, LeavesOtherSteps) {
  EXPECT_TRUE(read_text("INFO:tensorflow:Step by step, per-step time 1s\n").empty());
  EXPECT_TRUE(read_text("INFO:tensorflow:global step 5: loss = 1.5 (-1 sec/step)\n").empty());
}

TEST(TfSteps, ReadsTheAlbertOfAwsSamples) {
  const auto runs = read_text(
      "[1,0]<stdout>:2020-12-23 23:10:47,361 __main__    : INFO     Train step 1390 -- Loss: "
      "11.177, "
      "MLM: 10.474, SOP_acc: 0.502 -- It/s: 1.70\n"
      "[1,0]<stdout>:2020-12-23 23:10:53,361 __main__    : INFO     Train step 1400 -- Loss: "
      "11.125, "
      "MLM: 10.475, SOP_acc: 0.529 -- It/s: 1.69\n"
      "[1,0]<stdout>:2020-12-23 23:10:54,000 __main__    : INFO     Validation step 1400 -- Loss: "
      "11.0\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].iterations, 10);
  EXPECT_EQ(runs[0].records[1].printed_rate, 1.69);
  EXPECT_EQ(runs[0].records[1].loss, 11.125);
  EXPECT_EQ(runs[0].records[1].time_s, 6);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::iterations_per_second);
  EXPECT_TRUE(runs[0].notices.empty());
}

// XLNet tells no time: absl's stamp is the clock.
TEST(TfSteps, ReadsXlnet) {
  const auto line = [](const std::string& time, const std::string& step) {
    const std::string said =
        "[" + step + "] | gnorm 0.53 lr 0.000010 | loss 7.12 | pplx 1240.11, bpc 10.2724";
    return "INFO:tensorflow:" + said + "\nI0301 10:" + time + " 1397 train_gpu.py:319] " + said +
           "\n";
  };
  const auto runs = read_text(line("00:00.000000", "500") + line("01:40.000000", "1000"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].iterations, 500);
  EXPECT_NEAR(runs[0].records[1].time_s - runs[0].records[0].time_s, 100, 1e-6);
  EXPECT_EQ(runs[0].records[1].loss, 7.12);
  EXPECT_TRUE(runs[0].notices.empty());
}

}  // namespace
}  // namespace bertbench
