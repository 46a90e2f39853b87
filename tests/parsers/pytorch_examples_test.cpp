#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// Of a run of 3 epochs of 221 batches, one every 25 ms or so, with --log-interval 110.
constexpr const char* kLanguageModel =
    "| epoch   1 |   110/  220 batches | lr 20.00 | ms/batch 25.50 | loss  2.38 | ppl    10.82\n"
    "| epoch   1 |   220/  220 batches | lr 20.00 | ms/batch 25.10 | loss  1.56 | ppl     4.77\n"
    "-----------------------------------------------------------------------------------------\n"
    "| end of epoch   1 | time:  6.60s | valid loss  4.20 | valid ppl    66.70\n"
    "-----------------------------------------------------------------------------------------\n"
    "| epoch   2 |   110/  220 batches | lr 20.00 | ms/batch 25.30 | loss  2.38 | ppl    10.82\n";

TEST(PytorchExamples, TheFirstLineOfAnEpochHoldsOneBatchMore) {
  const auto runs = read_text(std::string(kLanguageModel) +
                              "| End of training | test loss  4.10 | test ppl    60.30\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "pytorch-examples");
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::micro_step);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[0].iterations, 111) << "batches 0 to 110";
  EXPECT_NEAR(runs[0].records[0].seconds, 110 * 0.0255, 1e-9);
  EXPECT_EQ(runs[0].records[1].iterations, 110);
  EXPECT_NEAR(runs[0].records[1].seconds, 110 * 0.0251, 1e-9);
  EXPECT_EQ(runs[0].records[2].iterations, 111);
  EXPECT_EQ(runs[0].records[2].step, 330);
  EXPECT_EQ(runs[0].records[2].loss, 2.38);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(PytorchExamples, AnEpochThatEndedIsNoEndOfTheRun) {
  const auto runs = read_text(kLanguageModel);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(PytorchExamples, ALogWithoutItsHeadBeginsWithAnyLine) {
  const auto runs = read_text(
      "| epoch   1 |   600/  900 batches | lr 20.00 | ms/batch 25.50 | loss  2.38 | ppl    10.82\n"
      "| epoch   1 |   800/  900 batches | lr 20.00 | ms/batch 25.10 | loss  1.56 | ppl     4.77\n"
      "| epoch   2 |   200/  900 batches | lr 20.00 | ms/batch 25.30 | loss  2.38 | ppl    "
      "10.82\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[0].iterations, 200);
  EXPECT_NEAR(runs[0].records[0].seconds, 5.1, 1e-9);
  EXPECT_EQ(runs[0].records[2].iterations, 201);
  EXPECT_NEAR(runs[0].records[2].seconds, 5.06, 1e-9);
  const auto late = read_text(
      "| epoch   1 |   800/  900 batches | lr 20.00 | ms/batch 25.10 | loss  1.56 | ppl     4.77\n"
      "| epoch   2 |   200/  900 batches | lr 20.00 | ms/batch 25.30 | loss  2.38 | ppl    "
      "10.82\n");
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].records.at(0).iterations, 200);
  EXPECT_EQ(late[0].records.at(1).iterations, 201);
}

TEST(PytorchExamples, ReadsALogger) {
  const auto runs = read_text(
      "2024-05-01 10:00:00,123 - INFO - | epoch   1 |   200/ 2983 batches | lr 0.00010 | ms/batch "
      "12.50 | loss  7.63 | ppl  2065.01 | bpc   11.012\n"
      "2024-05-01 10:00:02,623 - INFO - | epoch   1 |   400/ 2983 batches | lr 0.00010 | ms/batch "
      "12.50 | loss   nan | ppl      nan | bpc     nan\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(runs[0].records[1].seconds, 2.5, 1e-9);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
}

TEST(PytorchExamples, MnistTellsNoTime) {
  const auto runs = read_text(
      "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.300825\n"
      "Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.148580\n"
      "\nTest set: Average loss: 0.0500, Accuracy: 9800/10000 (98%)\n\n"
      "Train Epoch: 2 [0/60000 (0%)]\tLoss: 0.300825\n"
      "Train Epoch: 2 [640/60000 (1%)]\tLoss: 0.148580\n"
      "\nTest set: Average loss: 0.0400, Accuracy: 9850/10000 (98%)\n\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[3].step, 60640);
  EXPECT_EQ(runs[0].records[3].loss, 0.14858);
  for (const Record& record : runs[0].records) {
    EXPECT_TRUE(std::isnan(record.seconds) && std::isnan(record.time_s) &&
                std::isnan(record.printed_rate));
  }
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_NE(runs[0].notices[0].text.find("tell no time"), std::string::npos);
}

TEST(PytorchExamples, ACounterThatGoesBackIsAnotherRun) {
  const auto runs = read_text(std::string(kLanguageModel) + kLanguageModel);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].records[0].iterations, 111);
}

// An epoch has 34 batches; a record's are those up to its counter.
TEST(PytorchExamples, SampleFollowsTheLoopsClock) {
  const std::string folder = std::string(BB_SOURCE_DIR) + "/parsers/samples/pytorch-examples/";
  const auto runs = read_text(slurp(folder + "sample.log"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 6u);
  std::istringstream in(slurp(folder + "timings.jsonl"));
  std::vector<double> end;
  for (std::string line; std::getline(in, line);) {
    end.push_back(nlohmann::json::parse(line)["end"].get<double>());
  }
  ASSERT_EQ(end.size(), 68u);
  for (std::size_t i = 0; i < 6; ++i) {
    if (i % 3 == 0) continue;  // the clock of an epoch's begin is not known
    const std::size_t last = i / 3 * 34 + (i % 3 + 1) * 10;
    EXPECT_NEAR(runs[0].records[i].seconds, end[last] - end[last - 10], 2e-3) << i;
    EXPECT_EQ(runs[0].records[i].iterations, 10);
  }
}

TEST(PytorchExamples, OpenClipsLinesTellTheSamplesOfTheJob) {
  const std::string head = "2023-04-01,10:00:0";
  const auto runs = read_text(
      head +
      "1 | INFO | Train Epoch: 0 [   3072/307200 (1%)] Data (t): 0.010 Batch (t): 1.500, "
      "2048.00/s, 512.000/s/gpu LR: 0.000001 Logit Scale: 14.286 Loss: 8.1 (8.1)\n" +
      head +
      "7 | INFO | Train Epoch: 0 [  33792/307200 (11%)] Data (t): 0.001 Batch (t): 0.600, "
      "5120.00/s, 1280.00/s/gpu LR: 0.000011 Logit Scale: 14.286 Loss: 7.9 (8.0)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 33792);
  EXPECT_EQ(runs[0].records[1].printed_rate, 5120);
  EXPECT_EQ(runs[0].records[1].loss, 7.9);
  const auto first = read_text(
      "Train Epoch: 0 [51200/307200 (17%)]\tLoss: 6.900000\tData (t) 0.001\tBatch (t) 0.500\tLR: "
      "0.000010\tlogit_scale 14.286\n");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].records[0].seconds, 0.5);
  EXPECT_EQ(first[0].records[0].iterations, 1);
}

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

TEST(PytorchExamples, StampedLinesAreTimedWithoutTheEvaluations) {
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
  EXPECT_EQ(runs[0].format, "pytorch-examples");
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::micro_step);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 32);
  EXPECT_EQ(runs[0].facts.world_size.value, 1);
  ASSERT_EQ(runs[0].records.size(), 20u);
  EXPECT_EQ(runs[0].records[0].step, 1);
  EXPECT_EQ(runs[0].records[3].loss, 3.3);
  EXPECT_NEAR(runs[0].records[19].time_s - runs[0].records[0].time_s, 19 * 0.3, 1e-6);
}

TEST(PytorchExamples, AStampedCounterThatGoesBackIsAnotherRun) {
  const auto runs = read_text(stamped(0, 9, 0) + stamped(0, 5, 30000));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 10u);
  ASSERT_EQ(runs[1].records.size(), 6u);
  EXPECT_NEAR(runs[1].records[5].time_s - runs[1].records[0].time_s, 1.5, 1e-6);
}

TEST(PytorchExamples, StampedCountersBeginAtZeroOrOne) {
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

TEST(PytorchExamples, ACopyOfAStampedLineIsNoBatch) {
  std::string text;
  for (int step = 0; step < 20; ++step) text += stamped(step, step, 0) + stamped(step, step, 1);
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 20u);
}

TEST(PytorchExamples, BracketedLinesComeInManySpellings) {
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

TEST(PytorchExamples, TextClassificationCountsTheTimeSinceTheStart) {
  const auto runs = read_text(counted(39, 0) +
                              "No optimization for a long time, auto-stopping...\n"
                              "Test Loss:  0.18,  Test Acc: 94.45%\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "pytorch-examples");
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
  EXPECT_NE(runs[0].notices[0].text.find("evaluation in front of every line"), std::string::npos);
}

TEST(PytorchExamples, TextClassificationMayBeCutOrStartedAgain) {
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
        "Iter: 1, Train Loss: 0.4, Time: 0:60:00\n",
        "Iter: 1, Train Loss: 0.4, Time: 3 days 0:00:01\n",
        "Test Loss: 0.18, Test Acc: 94.45%\n"}) {
    EXPECT_TRUE(read_text(other).empty()) << other;
  }
}

}  // namespace
}  // namespace bertbench
