#include "reports/stats/steady_state.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace bertbench {
namespace {

std::vector<double> noisy_times(std::size_t n, unsigned seed, double cv = 0.01) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, cv);
  std::vector<double> out(n);
  for (double& x : out) x = 0.1 * noise(random);
  return out;
}

TEST(SteadyState, AnEvenRunIsFlat) {
  EXPECT_EQ(steady_state(std::vector<double>(100, 0.25))->steadiness, Steadiness::flat);
  int flat = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    flat += steady_state(noisy_times(200, seed))->steadiness == Steadiness::flat;
  }
  EXPECT_GE(flat, 98);
}

TEST(SteadyState, ASlowBeginIsAWarmUpAndEndsWhereItEnds) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    auto series = noisy_times(200, seed);
    for (std::size_t i = 0; i < 30; ++i) series[i] *= 1.5;
    const auto found = steady_state(series).value();
    EXPECT_EQ(found.steadiness, Steadiness::warm_up) << seed;
    EXPECT_NEAR(static_cast<double>(found.first), 30, 2) << seed;
    EXPECT_NEAR(found.level, 0.1, 0.001) << seed;
  }
}

TEST(SteadyState, AThermalThrottleIsASlowDown) {
  auto series = noisy_times(200, 3);
  for (std::size_t i = 120; i < 200; ++i) series[i] *= 1.08;
  const auto found = steady_state(series);
  EXPECT_EQ(found->steadiness, Steadiness::slow_down);
  EXPECT_NEAR(static_cast<double>(found->first), 120, 2);
  EXPECT_NEAR(found->level / found->earlier, 1.08, 0.01);
}

TEST(SteadyState, WarmUpThenThrottleIsASlowDown) {
  auto series = noisy_times(300, 4);
  for (std::size_t i = 0; i < 20; ++i) series[i] *= 2;
  for (std::size_t i = 150; i < 300; ++i) series[i] *= 1.05;
  EXPECT_EQ(steady_state(series)->steadiness, Steadiness::slow_down);
}

TEST(SteadyState, AChangeNearTheEndIsNoSteadyState) {
  auto series = noisy_times(200, 5);
  for (std::size_t i = 170; i < 200; ++i) series[i] *= 1.2;
  EXPECT_EQ(steady_state(series)->steadiness, Steadiness::no_steady_state);
}

TEST(SteadyState, ADriftIsNoFlatRun) {
  auto series = noisy_times(400, 6, 0.005);
  for (std::size_t i = 0; i < series.size(); ++i) series[i] *= 1 + 0.0005 * double(i);
  EXPECT_NE(steady_state(series)->steadiness, Steadiness::flat);
}

// Its last level, within 1 % of its end, begins 30 to 110 iterations after the jump.
TEST(SteadyState, AJumpInARunThatDriftsAsWellIsNamedWhereItIs) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    auto series = noisy_times(300, seed);
    for (std::size_t i = 0; i < 300; ++i) {
      series[i] *= (i < 150 ? 1 : 1.08) + 0.0002 * static_cast<double>(i);
    }
    const auto found = steady_state(series).value();
    EXPECT_NEAR(static_cast<double>(found.first), 150, 2) << seed;
    EXPECT_NE(found.steadiness, Steadiness::warm_up) << seed;
  }
}

// The means of 8 neighbours hold the jump within one of them.
TEST(SteadyState, AJumpInALongRunIsNamedToTheIteration) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    auto series = noisy_times(3000, seed);
    for (std::size_t i = 1500; i < 3000; ++i) series[i] *= 1.08;
    EXPECT_NEAR(static_cast<double>(steady_state(series)->first), 1500, 2) << seed;
  }
}

TEST(SteadyState, ShiftsBelowOnePercentAreOneLevel) {
  auto series = noisy_times(400, 7, 0.002);
  for (std::size_t i = 200; i < 400; ++i) series[i] *= 1.005;
  EXPECT_EQ(steady_state(series)->steadiness, Steadiness::flat);
}

TEST(SteadyState, SpikesDoNotChangeTheLevel) {
  auto series = noisy_times(200, 8);
  for (std::size_t i = 25; i < 200; i += 50) series[i] = 5;
  EXPECT_EQ(steady_state(series)->steadiness, Steadiness::flat);
}

TEST(SteadyState, AFewOddIterationsAtTheEndAreNoLevel) {
  auto series = noisy_times(200, 10);
  for (std::size_t i = 195; i < 200; ++i) series[i] *= 1.06;
  EXPECT_EQ(steady_state(series)->steadiness, Steadiness::flat);
}

TEST(SteadyState, AFewQuickIterationsWithinAWarmUpAreNoLevelThatItSlowsDownFrom) {
  auto series = noisy_times(200, 12);
  for (std::size_t i = 0; i < 80; ++i) series[i] *= i >= 40 && i < 45 ? 0.8 : 1.3;
  EXPECT_EQ(steady_state(series)->steadiness, Steadiness::warm_up);
}

TEST(SteadyState, AWarmUpOfThreeIterationsIsSeen) {
  auto series = noisy_times(200, 11);
  for (std::size_t i = 0; i < 3; ++i) series[i] *= 3;
  const auto found = steady_state(series);
  EXPECT_EQ(found->steadiness, Steadiness::warm_up);
  EXPECT_EQ(found->first, 3U);
}

TEST(SteadyState, LongSeriesAreTakenInMeansOfNeighbours) {
  auto series = noisy_times(100'000, 9, 0.05);
  for (std::size_t i = 0; i < 10'000; ++i) series[i] *= 1.5;
  const auto found = steady_state(series);
  EXPECT_EQ(found->steadiness, Steadiness::warm_up);
  EXPECT_NEAR(static_cast<double>(found->first), 10'000, 250);
}

TEST(SteadyState, FewOrUnusableValuesSayNothing) {
  EXPECT_FALSE(steady_state(std::vector<double>(19, 0.1)));
  std::vector<double> series(50, 0.1);
  series[10] = 0;
  EXPECT_FALSE(steady_state(series));
  series[10] = std::nan("");
  EXPECT_FALSE(steady_state(series));
}

}  // namespace
}  // namespace bertbench
