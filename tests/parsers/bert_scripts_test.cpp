#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// Steps from first to last, one every 0.3 s from 11:39:03.8 on, `late_ms` later.
std::string stamped(int first, int last, int late_ms) {
  std::string text;
  for (int step = first; step <= last; ++step) {
    const int stamp_ms = 3800 + 300 * step + late_ms;
    char line[160];
    std::snprintf(line, sizeof line,
                  "2021-08-05 11:39:%02d,%03d - INFO - main.py - train - 52 - 【train】 epoch:%d "
                  "%d/20 loss:%.4f\n",
                  stamp_ms / 1000, stamp_ms % 1000, step / 10, step, 3.6 - 0.1 * step);
    text += line;
  }
  return text;
}

TEST(BertScripts, StampedLinesAreTimedWithoutTheEvaluations) {
  const auto runs = read_text(
      "2021-08-05 11:39:03,407 - INFO - main.py - <module> - 178 - Namespace(dropout_prob=0.1, "
      "max_seq_len=150, train_batch_size=32, train_epochs=2)\n"
      "2021-08-05 11:39:03,500 - INFO - trainUtils.py - load_model_and_parallel - 97 - Use single "
      "gpu in: ['0']\n" +
      stamped(0, 9, 0) +
      "2021-08-05 11:39:12,000 - INFO - main.py - train - 68 - [eval] loss:12.1 "
      "precision=0.8 recall=0.7 f1_score=0.75\n" +
      stamped(10, 19, 5000));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "bert-scripts");
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::micro_step);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 32);
  EXPECT_EQ(runs[0].facts.world_size.value, 1);
  ASSERT_EQ(runs[0].records.size(), 20u);
  EXPECT_EQ(runs[0].records[0].step, 1);
  EXPECT_EQ(runs[0].records[3].loss, 3.3);
  EXPECT_NEAR(runs[0].records[19].time_s - runs[0].records[0].time_s, 19 * 0.3, 1e-6);
}

TEST(BertScripts, AStampedCounterThatGoesBackIsAnotherRun) {
  const auto runs = read_text(stamped(0, 9, 0) + stamped(0, 5, 30000));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 10u);
  ASSERT_EQ(runs[1].records.size(), 6u);
  EXPECT_NEAR(runs[1].records[5].time_s - runs[1].records[0].time_s, 1.5, 1e-6);
}

TEST(BertScripts, StampedCountersBeginAtZeroOrOne) {
  const auto zero = read_text(stamped(0, 19, 0)), one = read_text(stamped(1, 20, 0));
  ASSERT_EQ(zero.size(), 1u);
  ASSERT_EQ(one.size(), 1u);
  for (const RunLog& run : {zero[0], one[0]}) {
    ASSERT_EQ(run.records.size(), 20u);
    EXPECT_EQ(run.records[0].step, 1);
    EXPECT_EQ(run.records[19].step, 20);
    EXPECT_EQ(run.records[19].iterations, 1);
    EXPECT_EQ(run.outcome.status, Status::completed);
  }
}

TEST(BertScripts, ACopyOfAStampedLineIsNoBatch) {
  std::string text;
  for (int step = 0; step < 20; ++step) text += stamped(step, step, 0) + stamped(step, step, 1);
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 20u);
}

TEST(BertScripts, BracketedLinesComeInManySpellings) {
  const auto runs = read_text(
      "【train】 epoch：0/3 step：0/300 loss：1.5\n【train】 epoch:0 step:1/300 loss: nan\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].loss, 1.5);
  EXPECT_TRUE(std::isnan(runs[0].records[0].time_s)) << "no stamp";
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.step, 2);
  for (const char* other : {"【train】 epoch:0 loss:1.5\n", "【train】 epoch:0 7/5 loss:1.5\n",
                            "【train】 epoch:0 -1/5 loss:1.5\n", "【train】 epoch:0 1/5 acc:1.5\n",
                            "【train】 epoch 0 1/5 loss:1.5\n", "【train】 epoch:0/ 1/5 loss:1.5\n",
                            "【dev】 loss:1.5 accuracy:0.5\n"}) {
    EXPECT_TRUE(read_text(other).empty()) << other;
  }
}

// One line a 100 batches, of 0.3 s each, from the first on.
std::string counted(int lines, int late_s, const char* days = "") {
  std::string text = "180000it [00:21, 8557.04it/s]\nTime usage: 0:00:23\nEpoch [1/3]\n";
  for (int i = 0; i < lines; ++i) {
    const int since_s = 6 + 30 * i + late_s;
    char line[160];
    std::snprintf(line, sizeof line,
                  "Iter: %6d,  Train Loss: %5.2f,  Train Acc: 90.62%%,  Val Loss:  0.34,  Val Acc: "
                  "89.74%%,  Time: %s%d:%02d:%02d *\n",
                  i * 100, 2.4 / (i + 1), days, since_s / 3600, since_s / 60 % 60, since_s % 60);
    text += line;
  }
  return text;
}

TEST(BertScripts, TextClassificationCountsTheTimeSinceTheStart) {
  const auto runs = read_text(counted(39, 0) +
                              "No optimization for a long time, auto-stopping...\n"
                              "Test Loss:  0.18,  Test Acc: 94.45%\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "bert-scripts");
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::optimizer_step);
  EXPECT_FALSE(runs[0].facts.framework.known()) << "of TensorFlow or PyTorch";
  EXPECT_FALSE(runs[0].facts.world_size.known());
  EXPECT_EQ(runs[0].clock_resolution_s, 1);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  ASSERT_EQ(runs[0].records.size(), 39u);
  EXPECT_EQ(runs[0].records[0].step, 1);
  EXPECT_EQ(runs[0].records[0].iterations, 1);
  EXPECT_EQ(runs[0].records[1].iterations, 100);
  EXPECT_EQ(runs[0].records[1].loss, 1.2);
  EXPECT_EQ(runs[0].records[38].time_s - runs[0].records[0].time_s, 38 * 30);
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_NE(text_of(runs[0].notices[0]).find("evaluation in front of every line"),
            std::string::npos);
}

TEST(BertScripts, TextClassificationMayBeCutOrStartedAgain) {
  const auto runs = read_text(counted(5, 0) + counted(4, 7, "1 day, "));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  ASSERT_EQ(runs[1].records.size(), 4u);
  EXPECT_EQ(runs[1].records[3].time_s - runs[1].records[0].time_s, 90);
  const auto narrow = read_text(
      "Iter:   2800, Train Loss:  0.005, Train Acc: 100.00%, Val Loss:   0.28, Time: 23:59:35\n"
      "Iter:   2900, Train Loss:    nan, Train Acc: 100.00%, Val Loss:   0.28, Time: 1 day, "
      "0:00:05\n");
  ASSERT_EQ(narrow.size(), 1u);
  ASSERT_EQ(narrow[0].records.size(), 2u);
  EXPECT_EQ(narrow[0].records[1].iterations, 100);
  EXPECT_EQ(narrow[0].records[1].time_s - narrow[0].records[0].time_s, 30);
  EXPECT_EQ(narrow[0].outcome.status, Status::nan);
  for (const char* other :
       {"Iter: 100,  Train Loss: 0.4,  Train Acc: 86.72%\n",
        "Iter: 100,  Train Loss: 0.4,  Time:\n",
        "Iter: 100/200,  Train Loss: 0.4,  Time: 0:00:37\n",
        "Iter: 7, Train Loss: , Time: 0:00:37\n", "Iter: -1,  Train Loss: 0.4,  Time: 0:00:37\n",
        "Iter: 1, Train Loss: 0.4, Time: 3 days 0:00:01\n",
        "Test Loss: 0.18, Test Acc: 94.45%\n"}) {
    EXPECT_TRUE(read_text(other).empty()) << other;
  }
}

}  // namespace
}  // namespace bertbench
