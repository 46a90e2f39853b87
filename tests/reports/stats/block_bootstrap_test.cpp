#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "reports/measure/series_shape.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

// The series of the reference values below: an integer generator, so that any language can make it.
std::vector<double> autoregressive(double phi, std::size_t n, std::uint64_t seed) {
  std::vector<double> y(n);
  std::uint64_t x = seed;
  double before = 0;
  for (double& value : y) {
    x = (x * 1103515245 + 12345) % 2147483648;
    before = phi * before + static_cast<double>(x) / 2147483648.0 - 0.5;
    value = before;
  }
  for (double& value : y) value += 10;
  return y;
}

// "circular" of arch.bootstrap.optimal_block_length (Python package arch) next to each. It takes
// the first insignificant lag for the paper's m, which is the last significant one: up to one
// longer.
TEST(BlockLength, IsThatOfPolitisAndWhite) {
  EXPECT_EQ(block_length(autoregressive(0.0, 400, 1)), 2U);    // 1.958
  EXPECT_EQ(block_length(autoregressive(0.5, 400, 2)), 8U);    // 8.599
  EXPECT_EQ(block_length(autoregressive(0.7, 400, 3)), 13U);   // 12.402
  EXPECT_EQ(block_length(autoregressive(0.9, 1000, 4)), 37U);  // 36.515
  EXPECT_EQ(block_length(autoregressive(0.3, 100, 5)), 4U);    // 4.546
}

TEST(BlockLength, OfAConstantSeriesIsOne) {
  EXPECT_EQ(block_length(std::vector<double>(100, 0.25)), 1U);
}

double coverage(double phi, std::size_t n) {
  std::normal_distribution<double> noise(0, 1);
  int covered = 0;
  constexpr int kSeries = 300;
  for (int i = 0; i < kSeries; ++i) {
    std::mt19937_64 random(1000 + i);
    std::vector<double> y(n);
    double before = noise(random) / std::sqrt(1 - phi * phi);
    for (double& value : y) {
      before = phi * before + noise(random);
      value = 100 + before;
    }
    const auto found = bootstrap_mean(y, 0.95, 400);
    covered += found->interval.low <= 100 && 100 <= found->interval.high;
  }
  return static_cast<double>(covered) / kSeries;
}

TEST(BootstrapMean, CoversTheTrueMeanOfIndependentValues) { EXPECT_GT(coverage(0, 200), 0.90); }

// An interval that ignores the correlation of 0.7 covers about 0.6 of the time.
TEST(BootstrapMean, CoversTheTrueMeanOfCorrelatedValues) { EXPECT_GT(coverage(0.7, 400), 0.86); }

TEST(BootstrapMean, IsTheSameEachTime) {
  const auto y = autoregressive(0.5, 500, 7);
  const auto a = bootstrap_mean(y);
  const auto b = bootstrap_mean(y);
  EXPECT_EQ(a->interval.low, b->interval.low);
  EXPECT_EQ(a->interval.high, b->interval.high);
  EXPECT_LT(a->interval.low, mean(y));
  EXPECT_GT(a->interval.high, mean(y));
}

TEST(BootstrapMean, OfAMillionValuesIsAsNarrowAsTheory) {
  const auto y = autoregressive(0, 1'000'000, 9);
  const auto found = bootstrap_mean(y);
  // Uniform of variance 1/12: 1.96 sqrt(1/12 / 1e6) = 0.000566.
  const double half = (found->interval.high - found->interval.low) / 2;
  EXPECT_NEAR(half, 0.000566, 0.0001);
}

TEST(BootstrapMean, SaysNothingOfAShortSeries) {
  EXPECT_FALSE(bootstrap_mean(std::vector<double>(kLeastForBootstrap - 1, 1.0)));
}

}  // namespace
}  // namespace bertbench
