#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Oneflow, ReadsRateFactsAndTheTimeThatDlperfAdded) {
  const auto runs = read_text(
      "batch_size_per_device = 24\ngpu_num_per_node = 8\nnum_nodes = 2\n"
      "step: 19, total_loss: 9.725, mlm_loss: 8.960, nsp_loss: 0.766, throughput: 54.982 "
      "1598056519.8844702\n"
      "step: 119, total_loss: 8.010, mlm_loss: 7.331, nsp_loss: 0.679, throughput: 139.896 "
      "1598056537.0029895\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.facts.sequences_per_micro_step(), 24 * 16);
  EXPECT_EQ(run.records[0].step, 20);
  EXPECT_EQ(run.records[1].iterations, 100);
  EXPECT_NEAR(run.records[1].time_s, 17.1185193, 1e-6);
  EXPECT_EQ(run.records[1].printed_rate, 139.896);
  EXPECT_EQ(run.records[1].loss, 8.010);
}

TEST(Oneflow, TakesSentencesNotBatchesOfTheFirstRevision) {
  const auto runs = read_text(
      "iter 19, total_loss: 10.987, mlm_loss: 10.291, nsp_loss: 0.695, speed: "
      "47.756(sec/batch), 40.204(sentences/sec)\n"
      "iter 39, total_loss: 10.648, mlm_loss: 9.978, nsp_loss: 0.670, speed: 9.822(sec/batch), "
      "195.487(sentences/sec)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 195.487);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
}

TEST(Oneflow, ReadsLibaiWithItsBatchAndItsNan) {
  const auto runs = read_text(
      "[09/19 14:39:40 lb.utils.events]:  eta: 22:07:15  iteration: 87/18660  consumed_samples: "
      "704  total_loss: 10.36  time: 4.2893 s/iter  data_time: 0.0105 s/iter total_throughput: "
      "1.87 samples/s lr: 6.99e-07\n"
      "[09/19 14:39:44 lb.utils.events]:  eta: 22:07:07  iteration: 88/18660  consumed_samples: "
      "712  total_loss: nan  time: 4.2889 s/iter  data_time: 0.0104 s/iter total_throughput: 1.87 "
      "samples/s lr: 7.07e-07\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 8);
  EXPECT_EQ(runs[0].records[1].time_s, 4);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].first_nan_step, 89);
}

TEST(Oneflow, LeavesValidationOut) {
  const auto runs = read_text(
      "[rank:0] [train], epoch: 0/1, iter: 100/625, loss: 0.86, throughput: 1234.50 | 2021-10-12 "
      "10:00:00.000\n"
      "[rank:0] [train], epoch: 0/1, iter: 200/625, loss: 0.85, throughput: 1240.50 | 2021-10-12 "
      "10:00:20.000\n"
      "[rank:0] [eval], epoch: 0/1, iter: 10/50, loss: 0.85, throughput: 4240.50 | 2021-10-12 "
      "10:00:30.000\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].time_s, 20);
}

TEST(Oneflow, NeedsAThroughput) {
  EXPECT_TRUE(read_text("step: 19, total_loss: 9.725, throughput: unknown\n").empty());
  EXPECT_TRUE(read_text("request throughput, throughput: 12.0\n").empty());
}

TEST(Oneflow, ReadsTheCnnScriptWithoutItsValidation) {
  const auto runs = read_text(
      "train: epoch 0, iter 100, loss: 6.993418, top_1: 0.001602, top_k: 0.007422, samples/s: "
      "1307.852 1598860800.5\n"
      "train: epoch 0, iter 200, loss: 6.963418, top_1: 0.001602, top_k: 0.007422, samples/s: "
      "1407.852 1598860890.5\n"
      "validation: epoch 0, iter 195, top_1: 0.001102, top_k: 0.005000, samples/s: 1924.652\n"
      "train: epoch 1, iter 100, loss: 6.013418, top_1: 0.001602, top_k: 0.007422, samples/s: "
      "1408.852 1598861018.5\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 1407.852);
  EXPECT_EQ(runs[0].records[1].time_s - runs[0].records[0].time_s, 90);
  EXPECT_EQ(runs[0].records[2].step, 300);
  EXPECT_EQ(runs[0].records[2].loss, 6.013418);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
}

TEST(Oneflow, TakesLibaisEvaluationsOffTheClock) {
  const auto line = [](const std::string& time, int iteration) {
    return "[09/19 14:" + time +
           " lb.utils.events]:  eta: 1:00:00  iteration: " + std::to_string(iteration) +
           "/18660  consumed_samples: " + std::to_string(8 * (iteration + 1)) +
           "  total_loss: 10.36  time: 0.5000 s/iter  data_time: 0.0011 s/iter "
           "total_throughput: 16.00 samples/s lr: 1.0e-05\n";
  };
  const auto runs = read_text(line("00:10", 19) + line("00:20", 39) +
                              "[09/19 14:00:20 lb.evaluation.evaluator]: Start inference\n" +
                              line("02:30", 59) + line("02:40", 79));
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_NEAR(records[2].time_s - records[1].time_s, 10, 1e-6);
  EXPECT_NEAR(records[3].time_s - records[2].time_s, 10, 1e-6);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_NE(text_of(runs[0].notices[0]).find("evaluations is taken off"), std::string::npos);
}

}  // namespace
}  // namespace bertbench
