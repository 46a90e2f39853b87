#include <gtest/gtest.h>

#include <random>

#include "reports/stats/window.h"

namespace bertbench {
namespace {

std::vector<double> noise_around(std::size_t n, double level, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<double> out(n);
  for (double& x : out) x = level * noise(random);
  return out;
}

TEST(Mser, CutsAWarmUpOfThirtyStepsWhereItEnds) {
  std::vector<double> series(200);
  for (std::size_t i = 0; i < series.size(); ++i) {
    series[i] = (i < 30 ? 0.15 : 0.1) + (i % 2 == 0 ? 0.001 : -0.001);
  }
  EXPECT_EQ(mser5(series), 30U);
}

TEST(Mser, NoiseMayCutALittleMoreButNeverLess) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    auto series = noise_around(200, 0.1, seed);
    for (std::size_t i = 0; i < 30; ++i) series[i] *= 1.5;
    const auto cut = mser5(series).value();
    EXPECT_GE(cut, 30U) << seed;
    EXPECT_LE(cut, 100U) << seed;
  }
}

TEST(Mser, CutsADecayingWarmUpWithinItsTail) {
  auto series = noise_around(300, 0.1, 2);
  for (std::size_t i = 0; i < series.size(); ++i) {
    series[i] += 0.2 * std::exp(-static_cast<double>(i) / 15);
  }
  const auto cut = mser5(series).value();
  EXPECT_GE(cut, 30U);
  EXPECT_LE(cut, 100U);
}

TEST(Mser, DropsNothingFromAnEvenSeries) { EXPECT_EQ(mser5(std::vector<double>(100, 0.25)), 0U); }

TEST(Mser, SeesAWarmUpInFrontOfAPerfectlyEvenSeries) {
  std::vector<double> series(100, 0.25);
  for (std::size_t i = 0; i < 5; ++i) series[i] = 2.5;
  EXPECT_EQ(mser5(series), 5U);
}

TEST(Mser, OneLateSpikeDoesNotMoveTheCut) {
  auto series = noise_around(200, 0.1, 3);
  for (std::size_t i = 0; i < 20; ++i) series[i] *= 1.5;
  const auto without = mser5(series);
  series[190] = 50;
  EXPECT_EQ(mser5(series), without);
}

TEST(Mser, RejectsACutBeyondHalfOfTheSeries) {
  auto series = noise_around(100, 0.1, 4);
  for (std::size_t i = 0; i < 70; ++i) series[i] *= 2;
  EXPECT_FALSE(mser5(series));
}

}  // namespace
}  // namespace bertbench
