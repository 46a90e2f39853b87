#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "reports/measure/series_shape.h"

namespace bertbench {
namespace {

struct Series {
  std::vector<std::int64_t> counters;
  std::vector<double> seconds;
};

Series noisy(std::size_t n, unsigned seed, std::int64_t first = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  Series out;
  for (std::size_t i = 0; i < n; ++i) {
    out.counters.push_back(first + static_cast<std::int64_t>(i));
    out.seconds.push_back(0.1 * noise(random));
  }
  return out;
}

TEST(PeriodicWork, FindsACheckpointEveryFiftySteps) {
  auto series = noisy(300, 1);
  for (std::size_t i = 0; i < 300; ++i) {
    if (series.counters[i] % 50 == 0) series.seconds[i] += 2;
  }
  const auto found = periodic_work(series.counters, series.seconds).value();
  EXPECT_EQ(found.work.period, 50);
  EXPECT_EQ(found.work.phase, 0);
  EXPECT_EQ(found.work.count, 6);
  EXPECT_NEAR(found.work.extra_s, 2, 0.01);
  EXPECT_EQ(found.left_without, 294U);
  EXPECT_NEAR(found.seconds_without / 294, 0.1, 0.001);
  EXPECT_NEAR(found.work.share, 12.0 / 42.0, 0.005);
}

TEST(PeriodicWork, FindsTheAccumulationBoundaryOfMicroSteps) {
  auto series = noisy(64, 2, 17);
  for (std::size_t i = 0; i < 64; ++i) {
    if (series.counters[i] % 4 == 3) series.seconds[i] *= 1.5;
  }
  const auto found = periodic_work(series.counters, series.seconds).value();
  EXPECT_EQ(found.work.period, 4);
  EXPECT_EQ(found.work.phase, 3);
}

TEST(PeriodicWork, OneMissedAndOneStraySpikeDoNotHideIt) {
  auto series = noisy(400, 3);
  for (std::size_t i = 0; i < 400; ++i) {
    if (series.counters[i] % 25 == 1) series.seconds[i] *= 3;
  }
  series.seconds[25] = 0.1;
  series.seconds[333] = 0.9;
  const auto found = periodic_work(series.counters, series.seconds).value();
  EXPECT_EQ(found.work.period, 25);
  EXPECT_EQ(found.work.count, 15);
}

TEST(PeriodicWork, NoiseAndRandomSpikesAreNotPeriodic) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    auto series = noisy(300, seed);
    std::mt19937 random(seed);
    for (int i = 0; i < 8; ++i) series.seconds[random() % 300] *= 2;
    EXPECT_FALSE(periodic_work(series.counters, series.seconds)) << seed;
  }
}

TEST(PeriodicWork, FewValuesSayNothing) {
  const auto series = noisy(11, 4);
  EXPECT_FALSE(periodic_work(series.counters, series.seconds));
}

}  // namespace
}  // namespace bertbench
