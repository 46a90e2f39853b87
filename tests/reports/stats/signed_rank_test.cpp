#include "reports/stats/signed_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace bertbench {
namespace {

// Mean rank of each magnitude among all, 0 for a zero difference (Pratt).
std::vector<double> ranks_of(const std::vector<double>& x) {
  std::vector<double> out;
  for (const double a : x) {
    double below = 0, equal = 0;
    for (const double b : x) {
      below += std::abs(b) < std::abs(a) ? 1 : 0;
      equal += std::abs(b) == std::abs(a) ? 1 : 0;
    }
    out.push_back(a == 0 ? 0 : below + (equal + 1) / 2);
  }
  return out;
}

struct EnumeratedSigns {
  double w = 0, less = 0, greater = 0;
};

// All 2^n signs, by brute force.
EnumeratedSigns enumerate(const std::vector<double>& x) {
  const auto ranks = ranks_of(x);
  EnumeratedSigns out;
  for (std::size_t i = 0; i < x.size(); ++i) out.w += x[i] > 0 ? ranks[i] : 0;
  const unsigned all = 1U << x.size();
  for (unsigned signs = 0; signs < all; ++signs) {
    double w = 0;
    for (std::size_t i = 0; i < x.size(); ++i) w += (signs >> i & 1U) != 0 ? ranks[i] : 0;
    out.less += w <= out.w ? 1 : 0;
    out.greater += w >= out.w ? 1 : 0;
  }
  out.less /= all;
  out.greater /= all;
  return out;
}

TEST(SignedRank, EqualsEnumerationWithTiesAndZeros) {
  std::mt19937 random(3);
  for (const int levels : {1, 2, 4, 1000000}) {
    for (std::size_t n = 1; n <= 11; ++n) {
      std::vector<double> x;
      for (std::size_t i = 0; i < n; ++i) {
        x.push_back(static_cast<double>(static_cast<int>(random() % (2U * levels + 1U)) - levels));
      }
      const auto expected = enumerate(x);
      const SignedRank got = signed_rank(x);
      EXPECT_TRUE(got.exact);
      EXPECT_DOUBLE_EQ(got.w, expected.w);
      EXPECT_NEAR(got.p_less, expected.less, 1e-12) << levels << " " << n;
      EXPECT_NEAR(got.p_greater, expected.greater, 1e-12) << levels << " " << n;
    }
  }
}

TEST(SignedRank, DarwinsMaize) {
  // Darwin's 15 pairs of cross- and self-fertilised maize, in eighths of an inch (Fisher 1935): two
  // of them negative, whose ranks add up to 24.
  const std::vector<double> maize{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
  const SignedRank got = signed_rank(maize);
  EXPECT_EQ(got.n, 15U);
  EXPECT_DOUBLE_EQ(120 - got.w, 24);
  EXPECT_NEAR(got.p_greater, 0.0206, 0.0001);
  EXPECT_NEAR(got.p_two_sided, 0.0413, 0.0001);
}

// One-sided critical values, the largest w with P(W <= w) at most the level: Wilcoxon and Wilcox
// 1964, as every textbook prints them.
TEST(SignedRank, CriticalValuesAreThoseOfTheTables) {
  struct Row {
    std::size_t n;
    int w[4];  // 0.05, 0.025, 0.01, 0.005; -1: none
  };
  constexpr Row kTable[] = {
      {5, {0, -1, -1, -1}},       {6, {2, 0, -1, -1}},       {7, {3, 2, 0, -1}},
      {8, {5, 3, 1, 0}},          {9, {8, 5, 3, 1}},         {10, {10, 8, 5, 3}},
      {11, {13, 10, 7, 5}},       {12, {17, 13, 9, 7}},      {13, {21, 17, 12, 9}},
      {14, {25, 21, 15, 12}},     {15, {30, 25, 19, 15}},    {16, {35, 29, 23, 19}},
      {17, {41, 34, 27, 23}},     {18, {47, 40, 32, 27}},    {19, {53, 46, 37, 32}},
      {20, {60, 52, 43, 37}},     {21, {67, 58, 49, 42}},    {22, {75, 65, 55, 48}},
      {23, {83, 73, 62, 54}},     {24, {91, 81, 69, 61}},    {25, {100, 89, 76, 68}},
      {26, {110, 98, 84, 75}},    {27, {119, 107, 92, 83}},  {28, {130, 116, 101, 91}},
      {29, {140, 126, 110, 100}}, {30, {151, 137, 120, 109}}};
  constexpr double kLevels[] = {0.05, 0.025, 0.01, 0.005};
  for (const Row& row : kTable) {
    for (std::size_t i = 0; i < 4; ++i) {
      const auto w = critical_signed_rank(row.n, kLevels[i]);
      EXPECT_EQ(w ? static_cast<int>(*w) : -1, row.w[i]) << row.n << " at " << kLevels[i];
    }
  }
}

TEST(SignedRank, AgreesWithItsNormalApproximationForManyPairs) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0.05, 1);
  std::vector<double> many;
  for (int i = 0; i < 401; ++i) many.push_back(normal(random));
  const SignedRank approximate = signed_rank(many);
  EXPECT_FALSE(approximate.exact);
  many.pop_back();
  const SignedRank exact = signed_rank(many);
  EXPECT_TRUE(exact.exact);
  EXPECT_NEAR(exact.p_greater, approximate.p_greater, 0.02);
  EXPECT_NEAR(exact.p_less + exact.p_greater, 1, 1e-3);
}

TEST(SignedRank, NoDifferenceDecidesNothing) {
  EXPECT_EQ(signed_rank(std::vector<double>{0, 0, 0}).p_less, 1);
  EXPECT_EQ(signed_rank(std::vector<double>{}).p_two_sided, 1);
  EXPECT_EQ(pairs_needed(0.05), 5U);
  EXPECT_EQ(pairs_needed(0.05 / 24), 9U);
  EXPECT_EQ(pairs_needed(0.05 / 10000), 18U);
  EXPECT_DOUBLE_EQ(smallest_paired_p(10), 1.0 / 1024);
}

// Hollander and Wolfe, Nonparametric Statistical Methods, table 3.1 (Hamilton depression scale of
// nine patients before and after a tranquillizer): estimate -0.46, interval -0.786 to -0.010 with
// 96.1 %, W+ = 5 with a one-sided p of 0.020.
TEST(HodgesLehmann, EstimateAndIntervalAreThoseOfTheTextbook) {
  const std::vector<double> before{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> after{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  std::vector<double> change;
  for (std::size_t i = 0; i < before.size(); ++i) change.push_back(after[i] - before[i]);
  const SignedRank ranks = signed_rank(change);
  EXPECT_DOUBLE_EQ(ranks.w, 5);
  EXPECT_NEAR(ranks.p_less, 0.0195, 0.0001);
  EXPECT_NEAR(hodges_lehmann(change), -0.46, 0.0005);
  const PairedChange log_scale = paired_change(change);
  EXPECT_NEAR(std::log1p(log_scale.change), -0.46, 0.0005);
  ASSERT_TRUE(log_scale.interval);
  EXPECT_NEAR(std::log1p(log_scale.interval->low), -0.786, 0.0005);
  EXPECT_NEAR(std::log1p(log_scale.interval->high), -0.010, 0.0005);
  EXPECT_NEAR(log_scale.interval->coverage, 0.961, 0.0005);
}

TEST(HodgesLehmann, FivePairsHaveNoIntervalAndSixHave) {
  EXPECT_FALSE(paired_change(std::vector<double>(5, 0.1)).interval);
  const auto six = paired_change(std::vector<double>{0, 0.01, 0.02, 0.03, 0.04, 0.05});
  ASSERT_TRUE(six.interval);
  EXPECT_DOUBLE_EQ(std::log1p(six.interval->low), 0);
  EXPECT_NEAR(std::log1p(six.interval->high), 0.05, 1e-12);
}

}  // namespace
}  // namespace bertbench
