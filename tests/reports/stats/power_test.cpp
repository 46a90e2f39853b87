#include "reports/stats/power.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "reports/stats/rank_test.h"

namespace bertbench {
namespace {

double phi(double x) { return boost::math::cdf(boost::math::normal(), x); }
double density(double x) { return boost::math::pdf(boost::math::normal(), x); }

/// P(every one of n values, lower by `shift`, is below every one of m others), by quadrature:
/// the largest of the n has density n f(x + shift) F(x + shift)^(n-1).
double all_below(int n, int m, double shift) {
  constexpr double kStep = 1e-3;
  double sum = 0;
  for (double x = -12; x < 12; x += kStep) {
    sum += n * density(x + shift) * std::pow(phi(x + shift), n - 1) * std::pow(1 - phi(x), m);
  }
  return sum * kStep;
}

TEST(UDistribution, EqualsTheEnumerationBehindTheTest) {
  // Samples without ties whose U is u, for n = 3, m = 4: p_less of mann_whitney enumerates splits.
  const std::vector<double> base{10, 20, 30, 40};
  const auto cdf = u_distribution(3, 4);
  ASSERT_EQ(cdf.size(), 13U);
  for (const std::vector<double>& now :
       {std::vector<double>{1, 2, 3}, {1, 2, 11}, {11, 12, 21}, {21, 31, 41}, {41, 42, 43}}) {
    std::size_t wins = 0;
    for (const double x : now) {
      for (const double y : base) wins += x > y ? 1 : 0;
    }
    EXPECT_NEAR(cdf[wins], mann_whitney(now, base).p_greater, 1e-12) << wins;
  }
}

TEST(UDistribution, GivesTheCriticalValuesOfThePublishedTables) {
  // Mann-Whitney tables, one-sided, equal sizes: largest u with P(U <= u) <= level.
  const auto critical = [](std::size_t n, double level) {
    const auto cdf = u_distribution(n, n);
    int u = -1;
    while (cdf[static_cast<std::size_t>(u + 1)] <= level) ++u;
    return u;
  };
  EXPECT_EQ(critical(5, 0.05), 4);
  EXPECT_EQ(critical(6, 0.05), 7);
  EXPECT_EQ(critical(7, 0.05), 11);
  EXPECT_EQ(critical(10, 0.05), 27);
  EXPECT_EQ(critical(5, 0.01), 1);
  EXPECT_EQ(critical(7, 0.01), 6);
  EXPECT_EQ(critical(10, 0.01), 19);
  EXPECT_EQ(critical(20, 0.05), 138);
}

TEST(RankPower, EqualsTheIntegralWhereOnlyCompleteSeparationPasses) {
  constexpr int kDraws = 40000;
  for (const auto& [n, m] : {std::pair{3, 3}, {4, 4}, {5, 7}}) {
    const double level = 1.5 * smallest_p(static_cast<std::size_t>(n), static_cast<std::size_t>(m));
    for (const double shift : {0.0, 1.0, 2.5}) {
      const double exact = all_below(n, m, shift);
      const double error = std::sqrt(exact * (1 - exact) / kDraws);
      EXPECT_NEAR(rank_power(static_cast<std::size_t>(n), static_cast<std::size_t>(m), shift, level,
                             kDraws),
                  exact, 4 * error + 1e-9)
          << n << " " << m << " " << shift;
    }
  }
}

TEST(RankPower, IsTheAttainedLevelWithoutAShift) {
  constexpr int kDraws = 40000;
  const double attained = u_distribution(7, 7)[11];
  EXPECT_NEAR(rank_power(7, 7, 0, 0.05, kDraws), attained, 4 * std::sqrt(0.05 / kDraws));
}

TEST(RankPower, AgreesWithNoethersSampleSize) {
  // Noether 1987: N = (z_alpha + z_power)^2 / (12 c (1 - c) (p'' - 1/2)^2), p'' = P(X < Y), for
  // small shifts. Half an sd: p'' = phi(0.5 / sqrt 2); alpha 0.05, power 0.9 one-sided, equal
  // sizes.
  const double p = phi(0.5 / std::sqrt(2.0));
  const double z = 1.6449 + 1.2816;
  const double total = z * z / (12 * 0.25 * (p - 0.5) * (p - 0.5));
  const auto side = static_cast<std::size_t>(std::ceil(total / 2));
  EXPECT_EQ(side, 75U);
  EXPECT_NEAR(rank_power(side, side, 0.5, 0.05, 10000), 0.9, 0.015);
}

TEST(RankPower, IsZeroWhereTheTrialsCannotReachTheLevel) {
  EXPECT_EQ(rank_power(3, 3, 100, 0.01), 0);
  EXPECT_EQ(rank_power(5, 5, 100, 0.05 / 24), 0) << "252 orders of 5 + 5, 1/252 > 0.05/24";
  EXPECT_GT(rank_power(7, 35, 100, 0.05 / 24), 0.999);
}

TEST(DetectionPower, GrowsWithTheLossAndWithTheTrials) {
  GateModel gate;
  gate.trials = gate.base_trials = 7;
  gate.noise = 0.01;
  double before = 0;
  for (const double loss : {0.0, 0.02, 0.04, 0.06, 0.1}) {
    const double power = detection_power(gate, loss);
    EXPECT_GE(power, before) << loss;
    before = power;
  }
  EXPECT_GT(before, 0.99);
  EXPECT_LT(detection_power(gate, 0.0), 0.01);
}

TEST(DetectionPower, ALossBelowTheToleranceIsNotFoundHoweverManyTrials) {
  GateModel gate;
  gate.trials = gate.base_trials = 50;
  gate.noise = 0.001;
  EXPECT_EQ(detection_power(gate, 0.019), 0);
  EXPECT_GT(detection_power(gate, 0.021), 0.99);
  EXPECT_EQ(trials_for_loss(gate, 0.019, 0.9, 20), std::nullopt);
}

TEST(SmallestLoss, IsTheLossAtWhichThePowerIsReached) {
  GateModel gate;
  gate.trials = gate.base_trials = 7;
  gate.base_runs = 5;
  gate.cells = 24;
  gate.noise = 0.01;
  gate.run_noise = 0.005;
  const auto loss = smallest_loss(gate, 0.9);
  ASSERT_TRUE(loss);
  EXPECT_GE(detection_power(gate, *loss, 2000), 0.9);
  EXPECT_LT(detection_power(gate, *loss - 0.0005, 2000), 0.9);
}

TEST(SmallestLoss, IsNoneWhereTheGridCannotDecideAndTrialsNeededSaysHowMany) {
  GateModel gate;
  gate.trials = gate.base_trials = 5;
  gate.cells = 36;
  gate.noise = 0.005;
  EXPECT_EQ(smallest_loss(gate), std::nullopt);
  const auto trials = trials_for_loss(gate, 0.05);
  ASSERT_TRUE(trials);
  EXPECT_GE(*trials, trials_needed(0.05 / 36));
  gate.trials = gate.base_trials = *trials;
  EXPECT_GE(detection_power(gate, 0.05, 2000), 0.9);
}

}  // namespace
}  // namespace bertbench
