#include "reports/stats/change_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace bertbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A normal value by the Box-Muller transform: std::normal_distribution differs between libraries.
double normal(std::mt19937_64& random) {
  const auto uniform = [&] {
    return (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0;
  };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.141592653589793 * uniform());
}

std::vector<double> steady(std::mt19937_64& random, std::size_t n, double cv) {
  std::vector<double> out(n);
  for (double& value : out) value = 1000 * (1 + cv * normal(random));
  return out;
}

TEST(ChangePoints, FindsOneShiftOfFivePercentWhereItIs) {
  std::mt19937_64 random(7);
  auto series = steady(random, 30, 0.005);
  for (std::size_t i = 18; i < series.size(); ++i) series[i] *= 0.95;
  EXPECT_THAT(change_points(series), ElementsAre(18));
}

TEST(ChangePoints, FindsADropAndItsRepair) {
  std::mt19937_64 random(8);
  auto series = steady(random, 40, 0.005);
  for (std::size_t i = 20; i < 26; ++i) series[i] *= 0.93;
  EXPECT_THAT(change_points(series), ElementsAre(20, 26));
}

TEST(ChangePoints, ASegmentHasAtLeastThreeRuns) {
  std::vector<double> series(20, 1000);
  series[19] = series[18] = 900;  // two runs are no level yet
  for (const std::size_t at : change_points(series)) EXPECT_LE(at, 17U);
  series.push_back(900);
  EXPECT_THAT(change_points(series), ElementsAre(18));
}

TEST(ChangePoints, AreNotLookedForInFewerThanTwentyRuns) {
  std::vector<double> series(19, 1000);
  for (std::size_t i = 10; i < 19; ++i) series[i] = 500;
  EXPECT_THAT(change_points(series), IsEmpty());
}

TEST(ChangePoints, SteadySeriesRarelyAlarm) {
  std::mt19937_64 random(9);
  int alarms = 0;
  for (int i = 0; i < 1000; ++i) {
    alarms += change_points(steady(random, 20 + static_cast<std::size_t>(i % 4) * 20, 0.01)).empty()
                  ? 0
                  : 1;
  }
  EXPECT_LE(alarms, 30);
  EXPECT_THAT(change_points(std::vector<double>(50, 123.4)), IsEmpty());
}

// Seen in simulation: one run in fifty that is 3 to 15 % slower made 98 % of steady series of 200
// runs alarm.
TEST(ChangePoints, RunsThatSomethingHitAreNoLevelsWithoutSpikes) {
  std::mt19937_64 random(10);
  int alarms = 0, found = 0;
  constexpr int kSeries = 1000;
  for (int i = 0; i < kSeries; ++i) {
    auto series = steady(random, 20 + static_cast<std::size_t>(i % 4) * 20, 0.003);
    for (double& value : series) {
      if (random() % 50 == 0) value *= 0.85 + 0.12 * static_cast<double>(random() % 1000) / 1000;
    }
    alarms += change_points(without_spikes(series)).empty() ? 0 : 1;
    const std::size_t middle = series.size() / 2;
    for (std::size_t k = middle; k < series.size(); ++k) series[k] *= 0.98;
    for (const std::size_t at : change_points(without_spikes(series))) {
      if (at + 1 >= middle && at <= middle + 1) ++found;
    }
  }
  EXPECT_LE(alarms, kSeries * 3 / 100);
  EXPECT_GE(found, kSeries * 95 / 100);
}

TEST(ChangePoints, ALevelOfThreeRunsIsNoSpike) {
  std::mt19937_64 random(11);
  auto series = steady(random, 30, 0.003);
  for (std::size_t i = 12; i < 15; ++i) series[i] *= 0.9;
  EXPECT_THAT(change_points(without_spikes(series)), ElementsAre(12, 15));
  series[20] *= 0.9;
  series[25] *= 1.1;
  EXPECT_THAT(change_points(without_spikes(series)), ElementsAre(12, 15));
  const std::vector<double> few{1, 2, 3};
  EXPECT_EQ(without_spikes(few), few);
}

// Successive differences of a pattern are nearly all alike: their spread about their own median is
// 0, which is not the noise.
TEST(ChangePoints, APatternIsNoiseAndNoShifts) {
  std::vector<double> series;
  for (int i = 0; i < 24; ++i) series.push_back(100 * (1 + 0.002 * (i * 7 % 5 - 2)));
  EXPECT_THAT(change_points(series), IsEmpty());
  for (std::size_t i = 13; i < series.size(); ++i) series[i] *= 0.95;
  EXPECT_THAT(change_points(series), ElementsAre(13));
}

}  // namespace
}  // namespace bertbench
