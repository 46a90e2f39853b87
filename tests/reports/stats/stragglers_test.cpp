#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reports/measure/ranks.h"

namespace bertbench {
namespace {

using Times = std::vector<std::vector<double>>;

std::vector<std::size_t> named(const Times& own) {
  std::vector<std::size_t> out;
  const auto speeds = rank_speeds(own);
  for (std::size_t r = 0; r < speeds.size(); ++r) {
    if (speeds[r].straggler) out.push_back(r);
  }
  return out;
}

/// Runs of `ranks` alike of `windows` stretches: log-normal times, of which the logarithms have the
/// standard deviation `spread` and the correlation `rho` from one stretch to the next.
int runs_that_name(int runs, std::size_t ranks, std::size_t windows, double spread, double rho) {
  std::mt19937 bits(20261127);
  std::normal_distribution<double> normal;
  int out = 0;
  for (int i = 0; i < runs; ++i) {
    Times own(ranks);
    for (auto& row : own) {
      double at = normal(bits);
      for (std::size_t w = 0; w < windows; ++w) {
        row.push_back(0.01 * std::exp(spread * at));
        at = rho * at + std::sqrt(1 - rho * rho) * normal(bits);
      }
    }
    out += named(own).empty() ? 0 : 1;
  }
  return out;
}

TEST(Stragglers, TheSignTestIsExact) {
  EXPECT_DOUBLE_EQ(half_binomial_tail(10, 10), 1.0 / 1024);
  EXPECT_DOUBLE_EQ(half_binomial_tail(10, 8), 56.0 / 1024);
  EXPECT_DOUBLE_EQ(half_binomial_tail(3, 0), 1);
  EXPECT_EQ(fewest_windows(2), 9u);  // 2 / 2^9 = 0.0039
  EXPECT_EQ(fewest_windows(4), 10u);
  EXPECT_EQ(fewest_windows(1024), 18u);
}

TEST(Stragglers, ARankThatStaysSlowIsNamed) {
  Times own(4, std::vector<double>(32, 0.01));
  for (double& each : own[2]) each = 0.0115;
  own[2][7] = 0.009;  // one stretch in which it was not
  EXPECT_EQ(named(own), std::vector<std::size_t>{2});
  const RankSpeed speed = rank_speeds(own)[2];
  EXPECT_EQ(speed.windows, 15u);
  EXPECT_EQ(speed.slow, 14u);
  EXPECT_EQ(speed.slowest, 15u);  // joined with the next one it is 2.5 % above the others
  EXPECT_NEAR(speed.ratio, 1.15, 1e-9);
  EXPECT_NEAR(speed.own_s, 0.0115, 1e-9);
}

TEST(Stragglers, AllRanksOfASlowNodeAreNamed) {
  Times own(16, std::vector<double>(24, 0.02));
  for (std::size_t r = 8; r < 16; ++r) own[r].assign(24, 0.03);
  EXPECT_EQ(named(own), (std::vector<std::size_t>{8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(Stragglers, WhatIsSlowForAWhileOrByLessThanTheFloorIsNot) {
  Times own(4, std::vector<double>(32, 0.01));
  for (std::size_t w = 0; w < 26; ++w) own[1][w] = 0.02;
  for (double& each : own[3]) each = 0.0109;
  EXPECT_TRUE(named(own).empty());
}

TEST(Stragglers, FewStretchesNameNobodyAndUnknownOnesDoNotCount) {
  Times few(4, std::vector<double>(9, 0.01));
  few[0].assign(9, 0.05);
  EXPECT_TRUE(named(few).empty());
  Times own(3, std::vector<double>(12, 0.01));
  own[0].assign(12, 0.05);
  own[0][0] = own[1][1] = own[2][1] = std::nan("");
  const RankSpeed speed = rank_speeds(own)[0];
  EXPECT_EQ(speed.windows, 10u);  // it is alone in the second stretch
  EXPECT_TRUE(speed.straggler);
  EXPECT_TRUE(rank_speeds({}).empty());
}

// What is stated of false alarms: at most 2 of 200 undisturbed runs. Of 1,000 at most 10.
TEST(Stragglers, OfUndisturbedRunsAtMostOneInAHundredNamesARank) {
  for (const std::size_t ranks : {2U, 4U, 32U}) {
    for (const double spread : {0.05, 0.15, 0.3}) {
      EXPECT_LE(runs_that_name(1000, ranks, 30, spread, 0), 10) << ranks << " " << spread;
      EXPECT_LE(runs_that_name(1000, ranks, 60, spread, 0.5), 10) << ranks << " " << spread;
    }
    EXPECT_LE(runs_that_name(1000, ranks, 60, 0.05, 0.9), 10) << ranks;
  }
}

}  // namespace
}  // namespace bertbench
