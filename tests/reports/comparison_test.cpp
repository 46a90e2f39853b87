#include "reports/gate/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/output/comparison_table.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<double> kFive{100, 100.4, 99.6, 100.2, 99.8};
const std::vector<double> kSlower{95, 95.4, 94.6, 95.2, 94.8};

TEST(Compare, GivesEffectIntervalSizesAndP) {
  const auto rows = compare(result_set({cell(identity(1, 1), kFive)}),
                            result_set({cell(identity(1, 1), kSlower)}));
  ASSERT_EQ(rows.size(), 1U);
  const CellComparison& row = rows[0];
  EXPECT_NEAR(*row.change, -0.05, 0.0005);
  ASSERT_TRUE(row.interval);
  EXPECT_NEAR(row.interval->coverage, 0.968, 0.0005);
  EXPECT_LT(row.interval->high, -0.04);
  EXPECT_NEAR(*row.p, 2.0 / 252, 1e-12);
  EXPECT_TRUE(row.significant);
  EXPECT_EQ(row.n_a, 5);
  EXPECT_EQ(row.median_b, 95.0);
  EXPECT_TRUE(row.notes.empty());
}

TEST(Compare, TheTableNamesTheKindOfWorkWhereSomeIsNoTraining) {
  Cell evaluation = cell(identity(1, 1), kFive);
  evaluation.kind = WorkKind::evaluation;
  const ResultSet training = result_set({cell(identity(1, 1), kFive)});
  const ResultSet both = result_set({cell(identity(1, 1), kFive), evaluation});
  const Table mixed = comparison_table(compare(both, both));
  ASSERT_EQ(mixed.columns[1].heading, "kind");
  EXPECT_EQ(mixed.rows[0][1], "training");
  EXPECT_EQ(mixed.rows[1][1], "evaluation");
  EXPECT_EQ(comparison_table(compare(training, training)).columns[1].heading, "A");
}

TEST(Compare, EqualSamplesAreNotSignificant) {
  const ResultSet same = result_set({cell(identity(1, 1), kFive)});
  const auto rows = compare(same, same);
  EXPECT_EQ(*rows[0].change, 0);
  EXPECT_FALSE(rows[0].significant);
  EXPECT_EQ(*rows[0].p, 1);
}

TEST(Compare, FewTrialsSayHowManyAreNeeded) {
  const ResultSet three = result_set({cell(identity(1, 1), {100, 101, 102})});
  const auto rows = compare(three, result_set({cell(identity(1, 1), {200, 201, 202})}));
  EXPECT_NEAR(*rows[0].p, 0.1, 1e-12);
  EXPECT_FALSE(rows[0].significant);
  EXPECT_FALSE(rows[0].interval);
  EXPECT_THAT(rows[0].notes, ElementsAre("need >= 4 trials a side for an interval",
                                         "need >= 4 trials a side to see a difference at 0.05"));
}

TEST(Compare, CellsOfOneSideOnlyAreListed) {
  const auto rows =
      compare(result_set({cell(identity(1, 1), kFive)}), result_set({cell(identity(1, 2), kFive)}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].notes, ElementsAre("only in A"));
  EXPECT_THAT(rows[1].notes, ElementsAre("only in B"));
  EXPECT_EQ(rows[1].n_a, 0);
  EXPECT_FALSE(rows[1].p);
  EXPECT_NEAR(*rows[1].cv_b, 0.00316, 1e-5);
}

TEST(Compare, CellsWithoutANumberOrInAnotherUnitHaveNoChange) {
  Cell lost = cell(identity(1, 1), kFive);
  for (Trial& trial : lost.trials) trial.window.covered = false;
  Cell steps = cell(identity(1, 1), kFive);
  for (Trial& trial : steps.trials) {
    trial.iterations_per_second = std::exchange(trial.sequences_per_second, std::nullopt);
  }
  const ResultSet good = result_set({cell(identity(1, 1), kFive)}), failed = result_set({lost});
  const ResultSet other = result_set({steps});
  for (const auto& [a, b, note] :
       {std::tuple(&failed, &good, "no number in A"),
        {&good, &failed, "no number in B"},
        {&good, &other, "not comparable: sequences/s and iterations/s"}}) {
    const auto row = compare(*a, *b).at(0);
    EXPECT_THAT(row.notes, ElementsAre(note));
    EXPECT_FALSE(row.change);
    EXPECT_FALSE(row.significant);
  }
  EXPECT_FALSE(compare(failed, result_set({})).at(0).median_a) << "of one side alone";
  const auto single = compare(result_set({cell(identity(1, 1), {100})}), good).at(0);
  EXPECT_FALSE(single.cv_a) << "one trial does not vary";
  EXPECT_THAT(single.notes, testing::Contains("need >= 4 trials a side for an interval"));
  EXPECT_THAT(compare(good, result_set({cell(identity(1, 1), {100})})).at(0).notes,
              testing::Contains("need >= 4 trials a side for an interval"));
}

TEST(Compare, WhatTheNumbersRestOnIsNotedWhereItDiffers) {
  ResultSet a = result_set({cell(identity(1, 1), kFive)}), b = a;
  a.cells[0].memory = MemoryRecord{1 << 30, 0, "log"};
  EXPECT_THAT(compare(a, b)[0].notes, IsEmpty());
  b.cells[0].memory = MemoryRecord{1 << 30, 0, "nvml"};
  *a.cells[0].context = {{"command", {"a.py"}}, {"threads", 1}};
  *b.cells[0].context = {{"command", {"b.py"}}};
  EXPECT_THAT(compare(a, b)[0].notes,
              ElementsAre("source of memory differs: log and nvml",
                          "command differs: a.py and b.py", "threads is known only for A"));
}

TEST(Compare, DifferentWaysOfMeasuringAreNoted) {
  ResultSet other = result_set({cell(identity(1, 1), kFive)});
  for (Trial& trial : other.cells[0].trials) trial.estimator = "printed";
  const auto rows = compare(result_set({cell(identity(1, 1), kFive)}), other);
  EXPECT_THAT(rows[0].notes, ElementsAre("estimator differs: step_time and printed"));
}

TEST(Compare, SignificanceIsAfterHolmOverAllCellsCompared) {
  // p = 2/70 by itself; over two cells 4/70 is above the 0.05 asked for.
  const std::vector<double> four{100, 100.4, 99.6, 100.2}, slower{95, 95.4, 94.6, 95.2};
  const auto rows = compare(result_set({cell(identity(1, 1), four), cell(identity(1, 2), four)}),
                            result_set({cell(identity(1, 1), slower), cell(identity(1, 2), four)}));
  EXPECT_NEAR(*rows[0].p, 2.0 / 70, 1e-12);
  EXPECT_NEAR(*rows[0].p_adjusted, 4.0 / 70, 1e-12);
  EXPECT_FALSE(rows[0].significant);
  EXPECT_THAT(rows[0].notes,
              ElementsAre("need >= 5 trials a side to see a difference at 0.05 over 2 cells"));
  const auto alone =
      compare(result_set({cell(identity(1, 1), four)}), result_set({cell(identity(1, 1), slower)}));
  EXPECT_TRUE(alone[0].significant);
  EXPECT_THAT(alone[0].notes, IsEmpty());
  // Three trials reach 0.1 alone, and 0.05 is what Holm leaves the second of two at 0.1.
  const std::vector<double> three{200, 200.4, 199.6}, fewer{150, 150.4, 149.6};
  const auto both =
      compare(result_set({cell(identity(1, 1), kFive), cell(identity(1, 2), three)}),
              result_set({cell(identity(1, 1), kSlower), cell(identity(1, 2), fewer)}), 0.1);
  EXPECT_TRUE(both[1].significant);
  EXPECT_THAT(both[1].notes, ElementsAre("need >= 4 trials a side for an interval"));
}

TEST(Compare, PValuesAreAlsoGivenAfterHolm) {
  const auto rows =
      compare(result_set({cell(identity(1, 1), kFive), cell(identity(1, 2), kFive)}),
              result_set({cell(identity(1, 1), kSlower), cell(identity(1, 2), kFive)}));
  EXPECT_NEAR(*rows[0].p_adjusted, 4.0 / 252, 1e-12);
  EXPECT_EQ(*rows[1].p_adjusted, 1);
}

}  // namespace
}  // namespace bertbench
