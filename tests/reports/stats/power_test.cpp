#include "reports/stats/power.h"

#include <gtest/gtest.h>

#include "reports/stats/rank_test.h"

namespace bertbench {
namespace {

TEST(UDistribution, EqualsTheEnumerationOfTheTest) {
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

TEST(GateNoise, IsTheSpreadOfAFewRunsAndTheStepsOfALongHistory) {
  const std::vector<double> trials{99, 100, 101};
  // 3 x 1.4826 x 1 %.
  EXPECT_NEAR(gate_noise(trials, std::vector<double>{100, 100}).share, 0.044478, 1e-6);
  const GateNoise few = gate_noise(trials, std::vector<double>{97, 100, 103});
  EXPECT_NEAR(few.share, 0.09, 1e-12);
  EXPECT_EQ(few.steps, 0U);
  // From the fourth run on each is 2 % from the median of those before it, 100.
  std::vector<double> history{100, 100, 100, 102, 98, 102, 98, 102};
  const GateNoise steps = gate_noise(trials, history);
  EXPECT_NEAR(steps.share, 0.06, 1e-12);
  EXPECT_EQ(steps.steps, 5U);
  history.pop_back();
  EXPECT_EQ(gate_noise(trials, history).steps, 0U);
}

TEST(GateNoise, AProgramThatBecameFasterLeavesNoNoise) {
  // Six steps of 1 %, then a gain of a half: three steps of about 50 % until the median follows.
  const std::vector<double> history{100, 100, 100, 101, 99,    101, 99,   101,
                                    99,  150, 150, 150, 151.5, 150, 148.5};
  const GateNoise noise = gate_noise(history, history);
  EXPECT_EQ(noise.steps, 9U);
  EXPECT_NEAR(noise.share, 0.033, 1e-3);
}

TEST(SmallestLoss, IsTheLossAtWhichThePowerIsReached) {
  GateModel gate;
  gate.trials = gate.base_trials = 7;
  gate.base_runs = 5;
  gate.cells = 24;
  gate.noise = 0.01;
  gate.run_noise = 0.005;
  const auto loss = smallest_loss(gate, 0.9).value();
  EXPECT_GE(detection_power(gate, loss, 2000), 0.9);
  EXPECT_LT(detection_power(gate, loss - 0.0005, 2000), 0.9);
}

TEST(SmallestLoss, IsNoneWhereTheGridCannotDecideAndTrialsNeededSaysHowMany) {
  GateModel gate;
  gate.trials = gate.base_trials = 5;
  gate.cells = 36;
  gate.noise = 0.005;
  EXPECT_EQ(smallest_loss(gate), std::nullopt);
  gate.cells = 1;
  gate.noise = 0.6;
  EXPECT_EQ(smallest_loss(gate), std::nullopt) << "half of the rate is lost in the noise";
  gate.cells = 36;
  gate.noise = 0.005;
  const auto trials = trials_for_loss(gate, 0.05).value();
  EXPECT_GE(trials, trials_needed(0.05 / 36));
  gate.trials = gate.base_trials = trials;
  EXPECT_GE(detection_power(gate, 0.05, 2000), 0.9);
}

}  // namespace
}  // namespace bertbench
