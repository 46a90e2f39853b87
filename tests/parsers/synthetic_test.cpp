#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string mean(int step, const char* rate, const char* loss = "8.125") {
  return std::to_string(step) + "\timages/sec: " + rate + " +/- 0.1 (jitter = 0.5)\t" + loss + "\n";
}

constexpr const char* kHead =
    "TensorFlow:  1.13\nModel:       resnet50\nMode:        training\nBatch size:  256 global\n"
    "             64 per device\nVariables:   horovod\nStep\tImg/sec\ttotal_loss\n";

// Under horovod every worker prints its own mean, and all the job's total.
TEST(Synthetic, TakesTheTotalOfTheJob) {
  const auto runs =
      read_text(kHead + mean(1, "250.0") + mean(1, "251.0") + mean(10, "248.0") +
                mean(10, "249.0") + "total images/sec: 990.5\n" + "total images/sec: 990.5\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "synthetic");
  EXPECT_EQ(run.kind, WorkKind::training);
  EXPECT_EQ(run.summary->value, 990.5);
  EXPECT_EQ(run.summary->unit, RateUnit::sequences_per_second);
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_TRUE(std::isnan(run.records[1].printed_rate)) << "a worker's, and a mean since step 1";
  EXPECT_EQ(run.facts.micro_batch_size.value, 64);
  EXPECT_EQ(run.facts.global_batch_size.value, 256);
  EXPECT_EQ(run.outcome.status, Status::completed);
}

TEST(Synthetic, TakesTheNewestMeanOfOneProcessThatWasCutShort) {
  auto runs = read_text(mean(1, "205.0") + mean(10, "204.0") + mean(20, "203.5"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].summary->value, 203.5);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  runs = read_text(kHead + mean(1, "205.0") + mean(1, "204.0") + mean(10, "204.0"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].summary) << "one worker's";
}

TEST(Synthetic, TellsWhatIsNoTraining) {
  const auto runs =
      read_text("Mode:        forward-only\n" + mean(10, "805.0") + "total images/sec: 804.5\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].kind, WorkKind::inference);
}

TEST(Synthetic, CountsALossThatIsNotFinite) {
  const auto runs = read_text(mean(1, "205.0") + mean(10, "204.0", "nan"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.step, 10);
}

TEST(Synthetic, MultipliesHorovodsRatesByItsGpus) {
  const std::string rounds =
      "Iter #0: 100.0 img/sec per GPU\nIter #1: 102.0 img/sec per GPU\n"
      "Img/sec per GPU: 101.0 +-2.0\nTotal img/sec on 4 GPU(s): 404.0 +-8.0\n";
  auto runs = read_text("Model: resnet50\nBatch size: 32\nNumber of GPUs: 4\n" + rounds);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 408);
  EXPECT_EQ(runs[0].summary->value, 404);
  EXPECT_EQ(runs[0].facts.world(), 4);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 32);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
  runs = read_text(rounds);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records[0].printed_rate)) << "of one GPU of so many";
  EXPECT_EQ(runs[0].summary->value, 404);
}

// A sweep appended to one file: what one launch says of itself is not the others'.
TEST(Synthetic, EachRunHasTheSettingsInFrontOfIt) {
  const auto launch = [](int gpus, int batch, const char* total) {
    const std::string n = std::to_string(gpus);
    return "Model: resnet50\nBatch size: " + std::to_string(batch) + "\nNumber of GPUs: " + n +
           "\nRunning benchmark...\nIter #0: 100.0 img/sec per GPU\nIter #1: 101.0 img/sec per "
           "GPU\n"
           "Total img/sec on " +
           n + " GPU(s): " + total + " +-1.0\n";
  };
  const auto runs = read_text(launch(1, 32, "100.5") + launch(4, 64, "402.0"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].facts.world_size.value, 1);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 32);
  EXPECT_EQ(runs[1].facts.world_size.value, 4);
  EXPECT_EQ(runs[1].facts.micro_batch_size.value, 64);
}

}  // namespace
}  // namespace bertbench
