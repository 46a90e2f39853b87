#include "reports/stats/pairs.h"

#include <gtest/gtest.h>

#include <vector>

#include "reports/stats/normals.h"

namespace bertbench {
namespace {

LogPairs steady(std::size_t n, double noise = 0.005) {
  Normals normal(4);
  LogPairs out;
  for (std::size_t i = 0; i < n; ++i) {
    out.base.push_back(noise * normal());
    out.now.push_back(-0.02 + noise * normal());
  }
  return out;
}

std::size_t hits(const LogPairs& pairs, std::vector<double> shared = {}) {
  shared.resize(pairs.size());
  const auto hit = hit_pairs(pairs, shared);
  return static_cast<std::size_t>(std::count(hit.begin(), hit.end(), true));
}

TEST(HitPairs, AHalfFarBelowItsVariantsMedianIsNamed) {
  LogPairs pairs = steady(10);
  EXPECT_EQ(hits(pairs), 0U);
  pairs.base[3] -= 0.08;
  const auto hit = hit_pairs(pairs, std::vector<double>(10));
  EXPECT_TRUE(hit[3]);
  EXPECT_EQ(hits(pairs), 1U);
  pairs.now[7] -= 0.08;
  EXPECT_EQ(hits(pairs), 2U);
}

TEST(HitPairs, AFastHalfAndADifferenceOfTheVariantsAreNoHits) {
  LogPairs pairs = steady(10);
  for (double& x : pairs.now) x -= 0.5;
  EXPECT_EQ(hits(pairs), 0U);
  pairs.now[2] += 0.08;
  EXPECT_EQ(hits(pairs), 0U);
}

TEST(HitPairs, WhatHappensInMoreThanAThirdIsNoAccident) {
  LogPairs pairs = steady(12);
  for (const std::size_t i : {1U, 4U}) pairs.now[i] -= 0.1;
  for (const std::size_t i : {2U, 8U}) pairs.base[i] -= 0.1;
  EXPECT_EQ(hits(pairs), 4U);
  pairs.base[6] -= 0.1;
  EXPECT_EQ(hits(pairs), 0U);
}

// Six of one variant and none of the other: p = 2 / 2^6 by the sign test; of five and one 0.22.
TEST(HitPairs, WhatHitsOneVariantAloneIsNoAccident) {
  LogPairs pairs = steady(30);
  for (const std::size_t i : {1U, 4U, 9U, 13U, 20U}) pairs.now[i] -= 0.1;
  EXPECT_EQ(hits(pairs), 5U);
  LogPairs sixth = pairs;
  sixth.now[25] -= 0.1;
  EXPECT_EQ(hits(sixth), 0U);
  pairs.base[25] -= 0.1;
  EXPECT_EQ(hits(pairs), 6U);
}

TEST(HitPairs, WhatAllCellsSharedInABlockIsTakenOff) {
  LogPairs pairs = steady(10);
  std::vector<double> shared(10);
  shared[5] = -0.1;
  pairs.base[5] -= 0.1;
  pairs.now[5] -= 0.1;
  EXPECT_EQ(hits(pairs), 1U);
  EXPECT_EQ(hits(pairs, shared), 0U);
}

TEST(HitPairs, EqualHalvesHaveNoHits) {
  LogPairs pairs{std::vector<double>(10, 1.0), std::vector<double>(10, 1.0)};
  pairs.now[0] = 0.9;
  EXPECT_EQ(hits(pairs), 0U);
}

TEST(TestPairs, ACellThatNoSignsCouldFailIsKnown) {
  const std::vector<double> small{0.004,  -0.006, 0.002, -0.001, 0.003,
                                  -0.009, 0.004,  0.006, -0.002};
  EXPECT_FALSE(test_pairs(small, 0.013).could_lose);
  EXPECT_FALSE(test_pairs(small, 0.013).could_gain);
  EXPECT_TRUE(test_pairs(small, 0.001).could_lose);
  std::vector<double> slow = small;
  for (double& x : slow) x -= 0.02;
  const PairTest test = test_pairs(slow, 0.013);
  EXPECT_TRUE(test.could_lose);
  EXPECT_DOUBLE_EQ(test.p_slower, 1.0 / 512);
  EXPECT_NEAR(test.change.change, -0.0198, 0.001);
}

TEST(TestPairs, ACellTooNoisyForItsFloorIsTestedAtAFifthOfAlpha) {
  Normals normal(6);
  std::vector<double> noisy;
  for (int i = 0; i < 28; ++i) noisy.push_back(0.06 * normal());
  EXPECT_FALSE(test_pairs(noisy, 0.013).guarded);
  EXPECT_EQ(share_of_alpha(test_pairs(noisy, 0.013)), 0.2);
  EXPECT_TRUE(test_pairs(noisy, 0.1).guarded);
  for (double& x : noisy) x /= 6;
  EXPECT_TRUE(test_pairs(noisy, 0.013).guarded);
  EXPECT_FALSE(test_pairs(std::vector<double>(4, 0.0), 0.013).guarded);  // no interval
  // All that five pairs span is an interval of 93.75 %.
  EXPECT_TRUE(test_pairs(std::vector{-0.05, -0.051, -0.049, -0.052, -0.05}, 0.013).guarded);
  EXPECT_FALSE(test_pairs(std::vector{-0.05, -0.08, -0.02, -0.01, -0.06}, 0.013).guarded);
}

// The figures that docs/gate.md promises: normal halves, 24 cells.
TEST(PairedPower, TheFewestPairsThatFindTwoPercent) {
  const auto pairs = [](double noise) {
    return pairs_for_loss({.cells = 24, .noise = noise}, 0.02).value_or(0);
  };
  EXPECT_EQ(pairs(0.003), 9U);  // what 24 cells need at all
  EXPECT_LE(pairs(0.005), 10U);
  EXPECT_LE(pairs(0.010), 18U);
  EXPECT_LE(pairs(0.014), 28U);
  EXPECT_FALSE(pairs_for_loss({.cells = 24, .noise = 0.01}, 0.01, 0.95, 60));  // below the floor
}

}  // namespace
}  // namespace bertbench
