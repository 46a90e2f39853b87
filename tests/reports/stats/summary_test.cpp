#include "reports/stats/summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bertbench {
namespace {

TEST(Summary, MeanMedianAndDeviationOfAHandCountedSample) {
  const std::vector<double> x{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(mean(x), 5);
  EXPECT_DOUBLE_EQ(median(x), 4.5);
  EXPECT_NEAR(standard_deviation(x), std::sqrt(32.0 / 7), 1e-15);
  EXPECT_DOUBLE_EQ(median_absolute_deviation(x), 0.5);
}

TEST(Summary, TwoPassDeviationSurvivesALargeOffset) {
  const std::vector<double> x{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
  EXPECT_NEAR(standard_deviation(x), std::sqrt(30.0), 1e-9);
}

TEST(Summary, EqualValuesHaveNoDeviation) {
  EXPECT_EQ(standard_deviation(std::vector<double>(12, 10.9609)), 0);
}

TEST(Summary, QuantilesInterpolateAsNumpyDoes) {
  const std::vector<double> x{15, 20, 35, 40, 50};
  EXPECT_DOUBLE_EQ(quantile(x, 0.4), 29);
  EXPECT_DOUBLE_EQ(quantile(x, 0), 15);
  EXPECT_DOUBLE_EQ(quantile(x, 1), 50);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{3}, 0.99), 3);
}

// Three published Paddle cells are wrong by correct decimal rounding and right by numpy's.
TEST(Summary, RoundsAsThePublishedPaddleTablesWereRounded) {
  EXPECT_EQ(round_dlperf(441.745), 441.74);
  EXPECT_EQ(round_dlperf(761.225), 761.22);
  EXPECT_EQ(round_dlperf(2725.415), 2725.42);
  EXPECT_EQ(round_dlperf(137.295), 137.29);
}

TEST(Summary, MedianIntervalNeedsSixTrialsAndCoversWhatTheBinomialSays) {
  EXPECT_FALSE(median_interval_ranks(0));
  for (std::size_t n = 1; n <= 5; ++n) EXPECT_FALSE(median_interval_ranks(n)) << n;
  const auto six = median_interval_ranks(6).value();
  EXPECT_EQ(six.low, 1U);
  EXPECT_EQ(six.high, 6U);
  EXPECT_NEAR(six.coverage, 1 - 2.0 / 64, 1e-12);
  const auto seven = median_interval_ranks(7).value();
  EXPECT_EQ(seven.high, 7U);
  EXPECT_NEAR(seven.coverage, 0.984375, 1e-12);
  const auto ten = median_interval_ranks(10);  // ranks 2 and 9: 1 - 2 * 11/1024
  ASSERT_TRUE(ten);
  EXPECT_EQ(ten->low, 2U);
  EXPECT_EQ(ten->high, 9U);
  EXPECT_NEAR(ten->coverage, 1 - 22.0 / 1024, 1e-12);
}

TEST(Summary, BinomialCoverageOfMinimumToMaximumIsAsPublished) {
  const std::vector<std::pair<std::size_t, double>> published{{3, 0.75},  {4, 0.875}, {5, 0.9375},
                                                              {6, 0.969}, {7, 0.984}, {10, 0.998}};
  for (const auto& [n, coverage] : published) {
    const auto ranks = median_interval_ranks(n, coverage - 0.001).value();
    EXPECT_EQ(ranks.low, 1U) << n;
    EXPECT_NEAR(ranks.coverage, coverage, 0.0005) << n;
  }
}

TEST(Summary, TIntervalOfTheMeanIsStudents) {
  const std::vector<double> x{1, 2, 3, 4, 5};
  const auto interval = mean_interval(x).value();
  const double half = 2.7764451051977987 * std::sqrt(2.5) / std::sqrt(5.0);  // t(0.975, 4)
  EXPECT_NEAR(interval.low, 3 - half, 1e-12);
  EXPECT_NEAR(interval.high, 3 + half, 1e-12);
  EXPECT_FALSE(mean_interval(std::vector<double>{1}));
}

TEST(Summary, OneTrialHasNoSpreadAndNoneHasNoMean) {
  const auto one = summarize_sample(std::vector<double>{150});
  EXPECT_EQ(one.n, 1);
  EXPECT_EQ(one.mean, 150);
  EXPECT_FALSE(one.stddev);
  EXPECT_FALSE(one.median_interval);
  const auto none = summarize_sample({});
  EXPECT_EQ(none.n, 0);
  EXPECT_FALSE(none.mean);
}

}  // namespace
}  // namespace bertbench
