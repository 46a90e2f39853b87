#include "reports/stats/rank_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace bertbench {
namespace {

// All C(n+m, n) splits of the pooled values, by brute force.
struct Enumerated {
  double less = 0, greater = 0;
};

double pairs_below(const std::vector<double>& a, const std::vector<double>& b) {
  double u = 0;
  for (const double x : a) {
    for (const double y : b) u += x < y ? 1 : (x == y ? 0.5 : 0);
  }
  return u;
}

Enumerated enumerate(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> pooled = a;
  pooled.insert(pooled.end(), b.begin(), b.end());
  const double observed = pairs_below(a, b);
  std::vector<int> pick(pooled.size(), 0);
  std::fill(pick.begin(), pick.begin() + static_cast<std::ptrdiff_t>(a.size()), 1);
  double all = 0;
  Enumerated out;
  do {
    std::vector<double> x;
    std::vector<double> y;
    for (std::size_t i = 0; i < pooled.size(); ++i) (pick[i] == 1 ? x : y).push_back(pooled[i]);
    const double u = pairs_below(x, y);
    all += 1;
    out.less += u <= observed ? 1 : 0;
    out.greater += u >= observed ? 1 : 0;
  } while (std::prev_permutation(pick.begin(), pick.end()));
  out.less /= all;
  out.greater /= all;
  return out;
}

TEST(MannWhitney, EqualsEnumerationWithAndWithoutTies) {
  std::mt19937 random(7);
  for (const int levels : {2, 3, 5, 1000000}) {
    std::uniform_int_distribution<int> value(1, levels);
    for (std::size_t n = 1; n <= 5; ++n) {
      for (std::size_t m = 1; m <= 6; ++m) {
        std::vector<double> a(n);
        std::vector<double> b(m);
        for (double& x : a) x = value(random);
        for (double& x : b) x = value(random);
        const auto expected = enumerate(a, b);
        const auto test = mann_whitney(a, b);
        EXPECT_TRUE(test.exact);
        EXPECT_DOUBLE_EQ(test.u, pairs_below(a, b));
        EXPECT_NEAR(test.p_less, expected.less, 1e-12) << levels << " " << n << " " << m;
        EXPECT_NEAR(test.p_greater, expected.greater, 1e-12) << levels << " " << n << " " << m;
      }
    }
  }
}

// Mann and Whitney 1947, table for n = m = 5: P(U <= 2) = 0.016, P(U <= 4) = 0.048.
TEST(MannWhitney, AgreesWithThePublishedTable) {
  const std::vector<double> a{6, 7, 8, 9, 10};
  EXPECT_NEAR(mann_whitney(a, std::vector<double>{1, 2, 3, 4, 5}).p_less, 1.0 / 252, 1e-12);
  const std::vector<double> b{1, 2, 3, 4, 7.5};  // 6 and 7 lie below 7.5: U = 2
  const auto two = mann_whitney(a, b);
  EXPECT_DOUBLE_EQ(two.u, 2);
  EXPECT_NEAR(two.p_less, 4.0 / 252, 1e-12);
  const std::vector<double> c{1, 2, 3, 4, 9.5};
  EXPECT_NEAR(mann_whitney(a, c).p_less, 12.0 / 252, 1e-12);  // 0.048
}

TEST(MannWhitney, EqualSamplesSayNothing) {
  const std::vector<double> same{5, 5, 5, 5, 5};
  const auto test = mann_whitney(same, same);
  EXPECT_DOUBLE_EQ(test.p_less, 1);
  EXPECT_DOUBLE_EQ(test.p_greater, 1);
  EXPECT_DOUBLE_EQ(test.p_two_sided, 1);
}

TEST(MannWhitney, PooledBaselinesOfUnequalSizeStayExact) {
  std::vector<double> base(35);
  for (std::size_t i = 0; i < base.size(); ++i) base[i] = 100 + static_cast<double>(i);
  const std::vector<double> now{1, 2, 3, 4, 5, 6, 7};
  const auto test = mann_whitney(now, base);
  EXPECT_TRUE(test.exact);
  EXPECT_NEAR(test.p_greater * 26978328, 1, 1e-6);  // C(42, 7)
  EXPECT_DOUBLE_EQ(mann_whitney(base, now).p_less, test.p_greater);
}

TEST(MannWhitney, LargeSamplesUseTheNormalApproximationAndSaySo) {
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 150; ++i) {
    a.push_back(i);
    b.push_back(i + 0.5);
  }
  const auto test = mann_whitney(a, b);
  EXPECT_FALSE(test.exact);
  EXPECT_GT(test.p_greater, 0.4);
  EXPECT_LT(test.p_greater, 0.6);
}

TEST(SmallestP, IsThatOfThePublishedTableWithTheCellsHolmCanPass) {
  struct Row {
    std::size_t n;
    double p;
    int cells;
  };
  for (const Row& row : {Row{3, 0.0500, 1}, Row{4, 0.0143, 3}, Row{5, 0.00397, 12},
                         Row{6, 0.00108, 46}, Row{7, 0.00029, 171}, Row{10, 5.4e-6, 9237}}) {
    const double p = smallest_p(row.n, row.n);
    EXPECT_NEAR(p / row.p, 1, 0.02) << row.n;
    EXPECT_EQ(static_cast<int>(0.05 / p + 1e-9), row.cells) << row.n;
  }
  EXPECT_EQ(smallest_p(0, 5), 1);
  EXPECT_EQ(smallest_p(5, 0), 1);
  EXPECT_NEAR(smallest_p(40, 40) * 1.0750720873333e23, 1, 1e-9);  // C(80, 40)
  EXPECT_EQ(smallest_p(5000, 5000), 0);
}

TEST(TrialsNeeded, SixForThirtySixCellsAsTheIssueSays) {
  EXPECT_EQ(trials_needed(0.05 / 36), 6U);
  EXPECT_EQ(trials_needed(0.05 / 12), 5U);
  EXPECT_EQ(trials_needed(0.05 / 13), 6U);
  EXPECT_EQ(trials_needed(0.05 / 4, 3), 6U);  // C(9, 3) = 84
  EXPECT_EQ(trials_needed(0.0), 0U);
}

TEST(HodgesLehmann, IntervalRanksAreThoseOfThePublishedTable) {
  struct Row {
    std::size_t n, low, high;
    double coverage;
  };
  for (const Row& row : {Row{4, 1, 16, 0.971}, Row{5, 3, 23, 0.968}, Row{6, 6, 31, 0.959},
                         Row{7, 9, 41, 0.962}, Row{10, 24, 77, 0.957}}) {
    const auto ranks = shift_ranks(row.n, row.n);
    ASSERT_TRUE(ranks) << row.n;
    EXPECT_EQ(ranks->low, row.low) << row.n;
    EXPECT_EQ(ranks->high, row.high) << row.n;
    EXPECT_NEAR(ranks->coverage, row.coverage, 0.0005) << row.n;
  }
  EXPECT_FALSE(shift_ranks(3, 3)) << "no 95 % interval exists for three trials a side";
  EXPECT_FALSE(shift_ranks(0, 3) || shift_ranks(3, 0));
  // 60 against 60 by the normal approximation: 1800 - 1.959964 sqrt(60 60 121 / 12) = 1426.6; the
  // exact rank is 1427.
  const auto many = shift_ranks(60, 60).value();
  EXPECT_EQ(many.low, 1426U);
  EXPECT_EQ(many.high, 2175U);
  EXPECT_FALSE(shift_ranks(1, 8000)) << "its low end is below 0";
}

TEST(HodgesLehmann, AFactorOfAllValuesIsTheShift) {
  const std::vector<double> base{100, 101, 99, 100.5, 99.5};
  std::vector<double> slower;
  for (const double x : base) slower.push_back(x * 0.9);
  const Shift shift = relative_shift(base, slower);
  EXPECT_NEAR(shift.change, -0.1, 1e-12);
  ASSERT_TRUE(shift.interval);
  EXPECT_LT(shift.interval->low, -0.1);
  EXPECT_GT(shift.interval->high, -0.1);
  EXPECT_LT(shift.interval->high, -0.08);
  EXPECT_NEAR(relative_shift(base, base).change, 0, 1e-15);
}

TEST(HodgesLehmann, IntervalCoversTheTrueShiftAsOftenAsItSays) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise(0, 0.01);
  int covered = 0;
  constexpr int kSets = 2000;
  for (int set = 0; set < kSets; ++set) {
    std::vector<double> a(5);
    std::vector<double> b(5);
    for (double& x : a) x = 100 * std::exp(noise(random));
    for (double& x : b) x = 95 * std::exp(noise(random));
    const auto interval = relative_shift(a, b).interval.value();
    covered += interval.low <= -0.05 && -0.05 <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kSets, 0.968, 0.015);
}

}  // namespace
}  // namespace bertbench
