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
  EXPECT_NE(text_of(runs[0].notices[0]).find("tell no time"), std::string::npos);
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

}  // namespace
}  // namespace bertbench
