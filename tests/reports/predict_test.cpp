// The published DLPerf MXNet tables: 16 GPUs and fewer predict 32.
#include "reports/studies/predict/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

const std::map<std::int64_t, std::vector<double>> kFp32{
    {64, {156.76, 295.42, 587.71, 1153.08, 2172.62, 4340.89}},
    {48, {153.75, 287.77, 572.64, 1127.41, 2067.72, 4105.29}},
    {32, {150.11, 270.28, 538.5, 1058.6, 1845.65, 3671.45}}};
const std::map<std::int64_t, std::vector<double>> kFp16{
    {64, {473.76, 811.6, 1623.56, 3107.1, 5723.26, 11269.14}},
    {96, {516.54, 925.52, 1837.08, 3579.0, 6684.57, 13376.76}},
    {128, {544.31, 1000.15, 1970.59, 3825.21, 7327.5, 14822.31}}};
const Topology kMeasured[] = {{1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 8}, {4, 8}};

ResultSet published(const std::map<std::int64_t, std::vector<double>>& table,
                    const std::string& precision, std::size_t topologies = 6) {
  std::vector<Cell> cells;
  for (const auto& [micro, rates] : table) {
    for (std::size_t i = 0; i < topologies; ++i) {
      cells.push_back(samples::cell(
          samples::identity(kMeasured[i].nodes, kMeasured[i].gpus_per_node, micro, precision),
          {rates[i]}));
    }
  }
  return samples::result_set(std::move(cells));
}

class Published : public testing::TestWithParam<bool> {
 protected:
  const std::map<std::int64_t, std::vector<double>>& table = GetParam() ? kFp16 : kFp32;
  std::string precision = GetParam() ? "fp16" : "fp32";
};

TEST_P(Published, IsFittedWithAMeanErrorOfAtMostOneAndAHalfPercent) {
  const auto groups = predict(published(table, precision), {{8, 8}});
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_TRUE(groups[0].fit);
  EXPECT_EQ(groups[0].fit->chosen.form->name, "flat");
  EXPECT_LE(groups[0].fit->chosen.mean_error, 0.015);
  EXPECT_LE(*groups[0].fit->held_out_error, 0.02);
  EXPECT_EQ(groups[0].cells.size(), 3U);
}

TEST_P(Published, SixteenGpusPredictThirtyTwoWithinTwoPercentAndTheInterval) {
  const auto groups = predict(published(table, precision, 5), {{4, 8}});
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].cells.size(), 3U);
  for (const PredictedCell& cell : groups[0].cells) {
    const double measured = table.at(*cell.identity.micro_batch_size)[5];
    EXPECT_NEAR(cell.sequences_per_second / measured, 1, 0.02) << cell.identity.key();
    EXPECT_LT(cell.interval.low, measured);
    EXPECT_GT(cell.interval.high, measured);
    EXPECT_FALSE(cell.measured);
    EXPECT_NEAR(*cell.scaling_efficiency,
                cell.sequences_per_second / 32 / table.at(*cell.identity.micro_batch_size)[0],
                1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Dlperf, Published, testing::Bool());

TEST(ScalingModel, FindsTheCoefficientsThatMadeTheData) {
  std::vector<ScalingCell> cells;
  for (const double base : {0.1, 0.2, 0.4}) {
    for (const Topology& topology : kMeasured) {
      const double many = topology.world_size() > 1 ? 0.020 : 0;
      cells.push_back({topology, base * 100, base + many + (topology.nodes > 1 ? 0.050 : 0), base});
    }
  }
  const auto fit = fit_scaling(cells).value();
  EXPECT_EQ(fit.chosen.form->name, "flat");
  EXPECT_NEAR(fit.chosen.coefficients[0], 0.020, 1e-9);
  EXPECT_NEAR(fit.chosen.coefficients[1], 0.050, 1e-9);
  const auto predicted = predict_step(fit, {{64, 8}, 10, 0, 0.3});
  EXPECT_NEAR(predicted->step_s, 0.37, 1e-9);
  EXPECT_FALSE(predict_step(fit, {{64, 8}, 10, 0, {}}));
}

/// One micro batch of 32 on kMeasured, its step in ms by `of` the number of GPUs.
std::vector<ScalingCell> measured_by(double (*of)(double gpus)) {
  std::vector<ScalingCell> cells;
  for (std::size_t i = 0; i < std::size(kMeasured); ++i) {
    const auto gpus = static_cast<double>(kMeasured[i].world_size());
    const double noise = i % 2 == 0 ? 1.001 : 0.999;
    cells.push_back({kMeasured[i], 32, of(gpus) * noise / 1e3, of(1) * 1.001 / 1e3});
  }
  return cells;
}

// Of T1 + a + b + c log2 n noise makes a and b negative; they are zero then, and log2 n stays.
TEST(ScalingModel, ATermThatComesOutNegativeIsZero) {
  const auto fit =
      fit_scaling(measured_by([](double n) { return 200 + 10 * std::log2(n); })).value();
  EXPECT_EQ(fit.chosen.form->name, "tree");
  EXPECT_NEAR(predict_step(fit, {{64, 8}, 32, 0, 0.2})->step_s, 0.290, 0.003);
}

TEST(ScalingModel, StepsThatGrowWithTheGpusAreALine) {
  const auto fit = fit_scaling(measured_by([](double n) { return 200 + 2 * n; })).value();
  EXPECT_EQ(fit.chosen.form->name, "line");
  EXPECT_NEAR(predict_step(fit, {{8, 8}, 32, 0, 0.202})->step_s, 0.328, 0.003);
}

// No form has a square: what the largest cells show of that, the interval shows.
TEST(ScalingModel, TheIntervalIsAtLeastAsWideAsTheErrorOfTheLargestJobs) {
  const auto fit = fit_scaling(measured_by([](double n) { return 200 + 0.1 * n * n; })).value();
  ASSERT_GT(fit.held_out_error, 0.1);
  const auto predicted = predict_step(fit, {{8, 8}, 32, 0, 0.2}).value();
  EXPECT_GE(predicted.high_s, (1 + *fit.held_out_error) * predicted.step_s * (1 - 1e-12));
}

TEST(ScalingModel, StrongScalingThatHalvesTheMicroBatchIsFollowedBelowIt) {
  std::vector<Cell> cells;
  for (const Topology& topology : kMeasured) {
    const std::int64_t micro = 256 / topology.world_size();
    cells.push_back(samples::cell(samples::identity(topology.nodes, topology.gpus_per_node, micro),
                                  {256 / (0.005 * static_cast<double>(micro) + 0.030)}));
  }
  const auto groups = predict(samples::result_set(std::move(cells)), {{8, 8}, {3, 8}});
  ASSERT_EQ(groups[0].cells.size(), 1U);
  EXPECT_EQ(groups[0].cells[0].identity.micro_batch_size, 4);
  EXPECT_NEAR(groups[0].cells[0].sequences_per_second, 256 / 0.050, 0.1);
}

TEST(ScalingModel, StrongScalingWithoutOneGpuKeepsTheGlobalBatch) {
  std::vector<Cell> cells;
  for (const std::int64_t nodes : {1, 2, 4, 8}) {  // 500 sequences/s a GPU and 25 ms a step
    Identity identity = samples::identity(nodes, 8, 64);
    identity.gradient_accumulation_steps = 65536 / (nodes * 8 * 64);
    const double step = 65536.0 / static_cast<double>(nodes * 8) / 500 + 0.025;
    cells.push_back(samples::cell(identity, {65536 / step}));
  }
  const auto groups = predict(samples::result_set(std::move(cells)), {{16, 8}, {3, 8}});
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].cells.size(), 1U);  // 65536 cannot be shared by 24
  EXPECT_EQ(groups[0].fit->chosen.form->name, "linear");
  EXPECT_EQ(*groups[0].cells[0].identity.global_batch_size(), 65536);
  EXPECT_NEAR(groups[0].cells[0].sequences_per_second, 65536 / (65536.0 / 128 / 500 + 0.025), 1e-3);
}

TEST(ScalingModel, WhatNoCellKnowsDoesNotHinder) {
  ResultSet set = published(kFp32, "fp32");
  for (Cell& cell : set.cells) cell.identity.sequence_length.reset();
  const auto groups = predict(set, {{8, 8}});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].name, "bert-base.fp32.s? (mxnet)");
  EXPECT_EQ(groups[0].cells.size(), 3U);
  for (Cell& cell : set.cells) cell.identity.micro_batch_size.reset();
  EXPECT_TRUE(predict(set, {{8, 8}}).empty());
}

// Six cells, but two points of the way from 1 GPU to 2 alone.
TEST(ScalingModel, TwoTopologiesDetermineNoModelHoweverManyCellsTheyHave) {
  const auto groups = predict(published(kFp32, "fp32", 2), {{4, 8}});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_FALSE(groups[0].fit);
  EXPECT_EQ(groups[0].reason, "6 cells of 2 topologies do not determine a model");
}

TEST(ScalingModel, TooFewCellsGiveAReasonAndNoNumber) {
  const auto groups = predict(published(kFp32, "fp32", 1), {{4, 8}});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_FALSE(groups[0].fit);
  EXPECT_THAT(groups[0].reason, testing::HasSubstr("do not determine"));
}

}  // namespace
}  // namespace bertbench
