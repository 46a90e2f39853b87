#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string said(const std::string& time, const std::string& what,
                 const std::string& name = "resnet") {
  return ":::NVLOGv0.2.3 " + name + " " + time + " (benchmark_hooks.py:59) " + what + "\n";
}

TEST(Nvlog, ReadsTheImagesOfAllGpusOfResnet) {
  const auto runs = read_text(
      said("1621936399.9", "Num GPUs: 8", "None") +
      said("1621936399.9", "Per-GPU Batch Size: 128") + said("1621936510.75", "iteration: 200") +
      said("1621936510.752", "total_ips: 8687.9344") + said("1621936511.93", "iteration: 210") +
      said("1621936511.932", "total_ips: 8746.1584") +
      said("1621936546.95", "Average total_ips: 8701.8928") +
      said("1621936547.39", "Ending Model Training ...", "None"));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.records[1].step, 210);
  EXPECT_EQ(run.records[1].iterations, 10);
  EXPECT_EQ(run.records[1].printed_rate, 8746.1584);
  EXPECT_NEAR(run.records[1].time_s, 1.18, 1e-5);
  EXPECT_EQ(run.rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(run.summary->value, 8701.8928);
  EXPECT_EQ(run.facts.sequences_per_micro_step(), 1024);
  EXPECT_EQ(run.facts.framework.value, "tensorflow");
  EXPECT_EQ(run.outcome.status, Status::completed);
}

// Items are frames: no rate is made of them.
TEST(Nvlog, CountsTacotronsIterationsOverEpochs) {
  std::string text = said("10.0", "args: {\"epochs\": 2, \"batch_size\": 72, \"world_size\": 1}");
  for (const int epoch : {0, 1}) {
    text += said("20.0", "train_epoch_start: " + std::to_string(epoch));
    for (const int n : {0, 1, 2}) {
      const std::string time = std::to_string(21 + 10 * epoch + 3 * n) + ".0";
      text += said(time, "train_iter_start: " + std::to_string(n)) +
              said(time, "train_iter_stop: " + std::to_string(n)) +
              said(time, "train_iter_items/sec: 8574.28") + said(time, "iter_time: 3.0") +
              said(time, "train_iteration_loss: 47.5");
    }
  }
  for (const char* items : {"12997.5", "20468.25"}) {
    text += said("49.0", std::string("train_epoch_avg_items/sec: ") + items);
  }
  const auto runs = read_text(text + said("50.0", "run_stop"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), ::testing::HasSubstr(" 20468.25 items/s"));
  ASSERT_EQ(runs[0].records.size(), 6u);
  EXPECT_EQ(runs[0].records.back().step, 6);
  EXPECT_EQ(runs[0].records.back().seconds, 3);
  EXPECT_EQ(runs[0].records.back().loss, 47.5);
  EXPECT_TRUE(std::isnan(runs[0].records.back().printed_rate));
  EXPECT_EQ(runs[0].facts.sequences_per_micro_step(), 72);
}

TEST(Nvlog, TakesTheTrainingThroughputOfNcfAndNotThatOfItsEvaluation) {
  const auto runs = read_text(
      said("10.0", "args: {\"batch_size\": 720000, \"world_size\": 1}") +
      said("11.0", "train_epoch_start: 0") + said("24.0", "train_throughput: 7465549.5") +
      said("25.0", "eval_throughput: 21611266.5") + said("26.0", "train_epoch_start: 1") +
      said("39.0", "train_throughput: 7534442.5") + said("40.0", "eval_throughput: 21539841.1") +
      said("41.0", "best_train_throughput: 7534442.5") +
      said("41.0", "best_eval_throughput: 21611266.5") +
      said("42.0", "run_stop: {\"success\": false}"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 7534442.5);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].summary->value, 7534442.5);
}

}  // namespace
}  // namespace bertbench
