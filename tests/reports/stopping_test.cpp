#include "reports/stats/stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/gate/paired.h"
#include "reports/stats/normals.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StoppingRule rule_of(int most, int tests = 3) {
  return {.base = "base", .looks = stopping_looks(most), .tests = tests};
}

/// Three cells of two variants, of which `now` is `factor` times `base` in the last, give or take
/// `noise`, as a sweep records them that ends pairs by the rule.
ResultSet run(int pairs, double factor, double noise, const StoppingRule& rule) {
  Normals normal(5);
  std::vector<Cell> out;
  for (int c = 1; c <= 3; ++c) {
    for (const char* name : {"base", "new"}) {
      Identity identity = samples::identity(1, c);
      identity.axes[kVariantAxis] = name;
      const bool slow = c == 3 && std::string_view(name) == "new";
      std::vector<double> rates;
      for (int i = 0; i < pairs; ++i) {
        rates.push_back(100 * (slow ? factor : 1.0) * (1 + noise * normal()));
      }
      out.push_back(samples::cell(identity, rates));
      for (Trial& trial : out.back().trials) trial.block = BlockPlace{1, 1};
      (*out.back().context)[kStoppingKey] = to_json(rule);
    }
  }
  return samples::result_set(std::move(out));
}

GateReport judged(const ResultSet& result) {
  GateOptions options;
  options.floor = kPairedFloor;
  return check_paired(result, "base", options);
}

TEST(StoppingLooks, AreFewAndNoneWhereNothingCouldEnd) {
  EXPECT_THAT(stopping_looks(28), ElementsAre(14, 18, 21, 25, 28));
  EXPECT_THAT(stopping_looks(18), ElementsAre(14, 16, 18));
  EXPECT_THAT(stopping_looks(10), ElementsAre(10));
}

TEST(StoppingLooks, WeightsSumToOneAndTheLastHasMost) {
  for (const int most : {10, 14, 18, 28, 200}) {
    const auto looks = stopping_looks(most);
    double sum = 0;
    for (std::size_t k = 0; k < looks.size(); ++k) sum += look_weight(looks, k);
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_GE(look_weight(looks, looks.size() - 1), 0.9);
  }
}

TEST(StoppingRuleJson, ReadsBackAndRefusesOtherDesigns) {
  const StoppingRule rule = rule_of(28, 24);
  const auto back = stopping_rule(to_json(rule)).value();
  EXPECT_EQ(back.looks, rule.looks);
  EXPECT_EQ(back.tests, 24);
  for (const auto& [key, value] : {std::pair<std::string, nlohmann::ordered_json>{"rule", "x/9"},
                                   {"looks", {14, 14}},
                                   {"looks", nlohmann::ordered_json::array()},
                                   {"looks", {1, 5000}},
                                   {"tests", 0},
                                   {"alpha", "small"},
                                   {"alpha", 0},
                                   {"loss", 2}}) {
    auto json = to_json(rule);
    json[key] = value;
    EXPECT_FALSE(stopping_rule(json)) << key;
  }
  EXPECT_FALSE(stopping_rule("pairs"));
  ResultSet result = run(14, 1, 0.002, rule);
  EXPECT_FALSE(has_unknown_stopping_rule(result));
  for (Cell& cell : result.cells) (*cell.context)[kStoppingKey] = {{"rule", "x/9"}};
  EXPECT_TRUE(has_unknown_stopping_rule(result));
  for (Cell& cell : result.cells) cell.context = {};
  EXPECT_FALSE(has_unknown_stopping_rule(result));
}

// Of 14 pairs that lose a fifth two are faster: too few for an early end.
TEST(StoppedPairs, ALossWithoutSignificanceEndsNothing) {
  const StoppingRule rule = rule_of(28);
  std::vector<double> ratios(14, -0.2);
  ratios[3] = ratios[9] = 0.01;
  const PairTest test = test_pairs(ratios, rule.floor);
  ASSERT_LT(test.change.change, -0.05);
  EXPECT_EQ(outcome_at_look(rule, 0, ratios, test), LookOutcome::goes_on);
}

TEST(StoppedPairs, CellsEndWhenALossIsRefutedAndLaterPairsDoNotCount) {
  const StoppingRule rule = rule_of(28);
  const ResultSet result = run(28, 0.9, 0.003, rule);
  const GateReport report = judged(result);
  EXPECT_EQ(report.cells[0].verdict, Verdict::pass) << reason_text(report.cells[0]);
  EXPECT_EQ(report.cells[0].n_new, 14);
  EXPECT_THAT(reason_text(report.cells[0]),
              HasSubstr("(the floor at an early look), by pairs, after 14 of at most 28, which "
                        "refute a loss"));
  EXPECT_THAT(reason_text(judged(run(10, 1, 0.003, rule_of(10))).cells[0]),
              HasSubstr("(the floor), by pairs, after 10 of at most 10"));
  EXPECT_THAT(reason_text(judged(run(10, 1, 0.003, rule_of(10))).cells[0]),
              testing::Not(HasSubstr("refute")));
  EXPECT_EQ(report.cells[2].verdict, Verdict::regression);
  EXPECT_LT(report.cells[2].n_new, 28);
  EXPECT_EQ(report.exit_status, 1);
}

TEST(StoppedPairs, AnEarlyLookAsksForMoreThanTheFloor) {
  // 2 % exceed the floor of 1.3 % at the last look, and not that of the first, 2.6 %.
  const StoppingRule rule = rule_of(28);
  EXPECT_EQ(judged(run(14, 0.98, 0.002, rule)).cells[2].verdict, Verdict::inconclusive);
  EXPECT_EQ(judged(run(28, 0.98, 0.002, rule)).cells[2].verdict, Verdict::regression);
}

TEST(StoppedPairs, ARunThatWasInterruptedIsNotJudgedByTheTestOfAFixedNumber) {
  const StoppingRule rule = rule_of(28);
  const GateReport report = judged(run(12, 0.95, 0.002, rule));
  EXPECT_EQ(report.exit_status, 3);
  EXPECT_THAT(reason_text(report.cells[2]), HasSubstr("looks next after trial 14"));
  // A part of the cells is judged with the alpha that the rule shares among all.
  EXPECT_THAT(reason_text(judged(run(12, 0.95, 0.002, rule_of(28, 24))).cells[2]),
              HasSubstr("cannot decide 24 cells"));
  ResultSet fixed = run(12, 0.95, 0.002, rule);
  for (Cell& cell : fixed.cells) cell.context = {};
  EXPECT_EQ(judged(fixed).exit_status, 1);
}

TEST(StoppedPairs, ASweepEndsTheCellsThatTheGateSeesEnded) {
  const StoppingRule rule = rule_of(28);
  const ResultSet result = run(14, 0.98, 0.002, rule);
  const auto ended = ended_pairs(result, rule, 1);
  EXPECT_EQ(ended.size(), 2U);  // all but the slower one
  EXPECT_FALSE(ended.contains(result.cells.back().key));
  EXPECT_TRUE(ended_pairs(run(13, 0.98, 0.002, rule), rule, 1).empty());
}

TEST(ConfirmPaired, OnlyWhatTheSecondPairsRepeatIsARegression) {
  GateOptions options;
  options.floor = kPairedFloor;
  ResultSet slow = run(12, 0.97, 0.002, rule_of(12)), usual = run(12, 1, 0.002, rule_of(12));
  const GateReport first = check_paired(slow, "base", options);
  ASSERT_EQ(flagged_cells(first), std::vector<std::string>{first.cells[2].key});
  const GateReport repeated = confirm_paired(first, slow, "base", options);
  EXPECT_EQ(repeated.exit_status, 1);
  EXPECT_EQ(repeated.cells[2].rerun->verdict, Verdict::regression);
  const GateReport cleared = confirm_paired(first, usual, "base", options);
  EXPECT_EQ(cleared.exit_status, 0);
  EXPECT_TRUE(cleared.cells[2].cleared());
  EXPECT_FALSE(cleared.cells[0].rerun);
}

/// As run(), of a fixed number of pairs, with "other" that is as fast as "base" next to "new".
ResultSet three_variants(int pairs) {
  ResultSet out = run(pairs, 0.97, 0.002, rule_of(pairs));
  for (Cell cell : run(pairs, 1, 0.002, rule_of(pairs)).cells) {
    if (cell.identity.axes[kVariantAxis] != "new") continue;
    cell.identity.axes[kVariantAxis] = "other";
    cell.key = cell.identity.key();
    out.cells.push_back(std::move(cell));
  }
  for (Cell& cell : out.cells) cell.context = {};
  return out;
}

TEST(ConfirmPaired, OfThreeVariantsTheFlaggedOneAloneIsJudgedAgain) {
  GateOptions options;
  options.floor = kPairedFloor;
  const GateReport first = check_paired(three_variants(12), "base", options);
  ASSERT_EQ(flagged_cells(first).size(), 1U);
  // Six pairs decide one cell, and not six.
  const GateReport again = confirm_paired(first, three_variants(6), "base", options);
  const auto flagged =
      std::ranges::find_if(again.cells, [](const auto& one) { return one.rerun.has_value(); });
  ASSERT_NE(flagged, again.cells.end());
  EXPECT_EQ(flagged->rerun->verdict, Verdict::regression) << reason_text(*flagged);
}

TEST(StoppingPower, CleanCellsTakeFewerPairsThanAtMost) {
  const StoppingPower quiet = stopping_power(rule_of(28, 24), 0.005, 0, 200);
  EXPECT_LT(quiet.pairs, 16);
  EXPECT_LT(quiet.found, 0.01);
  const StoppingPower slower = stopping_power(rule_of(28, 24), 0.01, 0.02, 200);
  EXPECT_GT(slower.found, 0.95);
  EXPECT_LE(slower.pairs, 28);
}

}  // namespace
}  // namespace bertbench
