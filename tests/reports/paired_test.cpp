#include "reports/gate/paired.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "reports/stats/normals.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::identity;
using samples::result_set;
using testing::ElementsAre;
using testing::HasSubstr;

Identity variant(Identity of, const std::string& name) {
  of.axes[kVariantAxis] = name;
  return of;
}

/// Both variants of cells whose trials rise by 1 % from block to block, which their pairs share;
/// `now` is `factor` times `base`, give or take 0.2 %.
ResultSet run(std::size_t pairs, double factor, int cells = 3) {
  std::vector<Cell> out;
  Normals normal(9);
  for (int c = 1; c <= cells; ++c) {
    std::vector<double> base, now;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double rate = 100 * c * (1 + 0.01 * static_cast<double>(i));
      base.push_back(rate * (1 + 0.002 * normal()));
      now.push_back(rate * (c == cells ? factor : 1.0) * (1 + 0.002 * normal()));
    }
    out.push_back(samples::cell(variant(identity(1, c), "base"), base));
    out.push_back(samples::cell(variant(identity(1, c), "new"), now));
    for (std::size_t side = out.size() - 2; side < out.size(); ++side) {
      for (Trial& trial : out[side].trials) trial.block = BlockPlace{1, 1};
    }
  }
  return result_set(std::move(out));
}

GateReport judged(const ResultSet& result, const std::string& base = "base") {
  GateOptions options;
  options.floor = kPairedFloor;
  return check_paired(result, base, options);
}

const CellVerdict& last(const GateReport& report) { return report.cells.back(); }

TEST(CheckPaired, FindsTwoPercentUnderADriftOfTenPercent) {
  const GateReport report = judged(run(10, 0.98));
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(report.compared, 3);
  EXPECT_EQ(report.paired, "base");
  ASSERT_EQ(report.cells.size(), 3U);
  EXPECT_EQ(report.cells[0].verdict, Verdict::pass) << reason_text(report.cells[0]);
  const CellVerdict& cell = last(report);
  EXPECT_EQ(cell.verdict, Verdict::regression) << reason_text(cell);
  EXPECT_EQ(cell.key, "bert-base.fp32.s128.b32.a1.1n3g+variant=new");
  EXPECT_EQ(cell.variant, "new");
  EXPECT_EQ(cell.n_new, 10);
  EXPECT_EQ(cell.n_base, 10);
  EXPECT_NEAR(*cell.change, -0.02, 0.003);
  EXPECT_LT(cell.interval.low, -0.02);
  EXPECT_GT(cell.interval.high, -0.02);
  EXPECT_DOUBLE_EQ(cell.p, 1.0 / 1024);
  EXPECT_THAT(reason_text(cell), HasSubstr("by pairs"));
}

TEST(CheckPaired, AnEqualRunPassesAndAGainIsAnImprovement) {
  EXPECT_EQ(judged(run(10, 1)).exit_status, 0);
  EXPECT_EQ(last(judged(run(10, 1.03))).verdict, Verdict::improvement);
  // Held against "new", "base" is the slower one.
  EXPECT_EQ(last(judged(run(10, 1.03), "new")).verdict, Verdict::regression);
}

TEST(CheckPaired, ALossBelowTheFloorPasses) {
  const GateReport report = judged(run(10, 0.99));
  EXPECT_EQ(last(report).verdict, Verdict::pass);
  EXPECT_EQ(last(report).reasons.front().code, NoticeCode::within_tolerance);
}

TEST(CheckPaired, TooFewPairsAreInconclusiveAndSayHowManyWouldDo) {
  const GateReport report = judged(run(5, 0.9));
  EXPECT_EQ(report.exit_status, 3);
  EXPECT_EQ(last(report).verdict, Verdict::inconclusive);
  EXPECT_THAT(reason_text(last(report)), HasSubstr("need 6 pairs"));  // 2^-6 <= 0.05 / 3
  EXPECT_EQ(judged(run(6, 0.9)).exit_status, 1);
}

TEST(CheckPaired, APairWithAHitHalfIsLeftOut) {
  ResultSet result = run(10, 0.98);
  *result.cells[4].trials[3].sequences_per_second *= 0.9;  // base of the slowed cell
  const GateReport report = judged(result);
  EXPECT_EQ(last(report).verdict, Verdict::regression) << reason_text(last(report));
  EXPECT_EQ(last(report).pairs_left_out, 1);
  EXPECT_EQ(last(report).n_new, 9);
  EXPECT_THAT(reason_text(last(report)), HasSubstr("1 pair left out"));
}

TEST(CheckPaired, ANoisyCellNeedsMorePairs) {
  // Eight pairs decide three quiet cells at 0.05, but not noisy ones at a fifth of it.
  ResultSet result = run(8, 0.7);
  Normals normal(5);
  for (Trial& trial : result.cells[5].trials) *trial.sequences_per_second *= 1 + 0.05 * normal();
  const GateReport report = judged(result);
  EXPECT_EQ(report.cells[0].verdict, Verdict::pass);
  EXPECT_EQ(last(report).verdict, Verdict::regression) << reason_text(last(report));
  EXPECT_THAT(reason_text(last(report)), HasSubstr("by pairs at 0.01"));
  result = run(6, 0.7);
  for (Trial& trial : result.cells[5].trials) *trial.sequences_per_second *= 1 + 0.05 * normal();
  EXPECT_EQ(last(judged(result)).verdict, Verdict::inconclusive);
  EXPECT_THAT(reason_text(last(judged(result))), HasSubstr("need 7 pairs"));
}

/// run() with halves that take turns in running first; the second of a pair is 3 % slower.
ResultSet with_slower_seconds(std::size_t pairs, double factor, int cells) {
  ResultSet result = run(pairs, factor, cells);
  for (std::size_t c = 0; c < result.cells.size(); ++c) {
    for (Trial& trial : result.cells[c].trials) {
      trial.block->position = 1 + (static_cast<int>(c) + trial.trial) % 2;
      if (trial.block->position == 2) *trial.sequences_per_second *= 0.97;
    }
  }
  return result;
}

TEST(CheckPaired, WhatRunningSecondCostsIsTakenOff) {
  const GateReport report = judged(with_slower_seconds(10, 0.98, 4));
  EXPECT_EQ(report.cells[0].verdict, Verdict::pass);
  const CellVerdict& slower = last(report);
  EXPECT_EQ(slower.verdict, Verdict::regression) << reason_text(slower);
  EXPECT_NEAR(*slower.change, -0.02, 0.003);
  EXPECT_LT(slower.interval.high - slower.interval.low, 0.01);

  // Without positions what running second costs is unknown, and of three cells it is noise.
  ResultSet unknown = with_slower_seconds(10, 0.98, 4);
  for (Cell& cell : unknown.cells) {
    for (Trial& trial : cell.trials) trial.block->position = 1;
  }
  for (const ResultSet& result : {unknown, with_slower_seconds(10, 0.98, 3)}) {
    EXPECT_EQ(last(judged(result)).verdict, Verdict::pass);
    EXPECT_GT(last(judged(result)).interval.high - last(judged(result)).interval.low, 0.03);
  }
}

TEST(CheckPaired, ALossOfAllCellsIsNoCostOfRunningSecond) {
  ResultSet result = with_slower_seconds(9, 1, 6);  // five of nine pairs in one order
  for (std::size_t c = 1; c < result.cells.size(); c += 2) {
    for (Trial& trial : result.cells[c].trials) *trial.sequences_per_second *= 0.9;
  }
  for (const CellVerdict& cell : judged(result).cells) {
    EXPECT_EQ(cell.verdict, Verdict::regression) << reason_text(cell);
    EXPECT_NEAR(*cell.change, -0.1, 0.005);
  }
}

TEST(CheckPaired, HalvesOfTwoSessionsAreNoPair) {
  ResultSet result = run(7, 1);
  for (int i = 0; i < 3; ++i) result.cells[1].trials[i].block->session = 2;
  const GateReport report = judged(result);
  EXPECT_EQ(report.cells[0].n_new, 4);
  EXPECT_EQ(report.cells[0].verdict, Verdict::inconclusive);
  EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("6 trials without a partner"));
  EXPECT_EQ(report.cells[1].verdict, Verdict::pass);
}

// Halves that Slurm tried again, each in a job of its own, are of no block: no allocation is theirs
// alike. Others have no rate, or one in another unit.
TEST(CheckPaired, HalvesOfNoBlockOrWithoutARateAreNoPair) {
  const std::pair<const char*, void (*)(Trial&)> damages[] = {
      {"no block", [](Trial& trial) { trial.block.reset(); }},
      {"not covered", [](Trial& trial) { trial.window.covered = false; }},
      {"no rate", [](Trial& trial) { trial.sequences_per_second.reset(); }},
      {"another unit", [](Trial& trial) {
         trial.iterations_per_second = std::exchange(trial.sequences_per_second, std::nullopt);
       }}};
  for (const auto& [why, damage] : damages) {
    ResultSet result = run(7, 1, 1);
    for (int i = 0; i < 3; ++i) damage(result.cells[1].trials[i]);
    EXPECT_EQ(judged(result).cells[0].n_new, 4) << why;
  }
}

TEST(CheckPaired, ACellWithoutAnyPairIsInconclusive) {
  ResultSet result = run(7, 1, 1);
  for (Trial& trial : result.cells[1].trials) trial.block->session = 2;
  const GateReport report = judged(result);
  EXPECT_EQ(report.exit_status, 3);
  EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("need 5 pairs"));
}

TEST(CheckPaired, FivePairsOfAQuietCellDecide) {
  EXPECT_EQ(judged(run(4, 0.95, 1)).exit_status, 3);
  const GateReport report = judged(run(5, 0.95, 1));
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(report.cells[0].level, 0.05);
  EXPECT_NEAR(report.cells[0].p, 1.0 / 32, 1e-12);
}

TEST(CheckPaired, ALostCellIsARegressionAndAMissingOneIsNamed) {
  ResultSet result = run(7, 1);
  for (Trial& trial : result.cells[1].trials) {
    trial.window.covered = false;
    trial.outcome.status = Status::out_of_memory;
  }
  result.cells.pop_back();
  const GateReport report = judged(result);
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(report.cells[0].verdict, Verdict::regression);
  EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("out_of_memory x7"));
  EXPECT_EQ(last(report).verdict, Verdict::missing);
  EXPECT_EQ(last(report).key, "bert-base.fp32.s128.b32.a1.1n3g+variant=new");
}

TEST(CheckPaired, WithoutANumberOfTheBaseAVariantsCellIsNew) {
  const auto lose = [](Cell& cell) {
    for (Trial& trial : cell.trials) trial.window.covered = false;
  };
  ResultSet result = run(7, 1);
  lose(result.cells[0]);
  lose(result.cells[2]);
  lose(result.cells[3]);
  result.cells.erase(result.cells.begin() + 4);
  const GateReport report = judged(result);
  EXPECT_EQ(report.cells.at(0).verdict, Verdict::new_cell);
  EXPECT_EQ(report.cells.at(1).verdict, Verdict::pass);
  EXPECT_EQ(report.cells.at(1).reasons.at(0).code, NoticeCode::number_on_neither_side);
  EXPECT_EQ(report.cells.at(2).verdict, Verdict::new_cell);
  EXPECT_EQ(report.cells.at(2).reasons.at(0).code, NoticeCode::not_in_baseline);
  EXPECT_EQ(report.exit_status, 4);
}

TEST(CheckPaired, AVariantThatFailsWhereTheBaseDoesNotIsARegression) {
  ResultSet result = run(7, 1);
  for (Trial& trial : result.cells[1].trials) trial.outcome.status = Status::error;
  const GateReport report = judged(result);
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(report.cells[0].speed, Verdict::pass);
  EXPECT_EQ(report.cells[0].verdict, Verdict::regression);
  EXPECT_EQ(report.cells[0].reasons.front().code, NoticeCode::more_trials_failed);
  for (Trial& trial : result.cells[0].trials) trial.outcome.status = Status::error;
  EXPECT_EQ(judged(result).exit_status, 0);
}

TEST(CheckPaired, TheLevelOfACellIsThatOfItsTest) {
  const GateReport quiet = judged(run(10, 1));
  EXPECT_DOUBLE_EQ(quiet.cells[0].level, 0.05);
  ResultSet noisy = run(10, 1);
  Normals normal(3);
  for (Cell& cell : noisy.cells) {
    for (Trial& trial : cell.trials) *trial.sequences_per_second *= 1 + 0.05 * normal();
  }
  EXPECT_DOUBLE_EQ(judged(noisy).cells[0].level, 0.01);
}

TEST(CheckPaired, WhatWasMeasuredInAnotherWayIsNotComparable) {
  ResultSet result = run(7, 1);
  for (Trial& trial : result.cells[1].trials) trial.estimator = "arrival";
  EXPECT_EQ(judged(result).cells[0].verdict, Verdict::not_comparable);
  EXPECT_EQ(judged(result).exit_status, 4);
}

TEST(CheckPaired, WithoutVariantsNothingIsCompared) {
  const ResultSet plain = result_set({samples::cell(identity(1, 1), {1, 2, 3})});
  EXPECT_TRUE(variants_of(plain).empty());
  EXPECT_EQ(judged(plain).exit_status, 4);
  EXPECT_TRUE(judged(plain).cells.empty());
  EXPECT_EQ(judged(plain).notices.at(0).code, NoticeCode::nothing_compared);
  ResultSet some = run(7, 1);
  some.cells.push_back(plain.cells[0]);
  EXPECT_EQ(judged(some).cells.size(), 3U) << "a cell without a variant is none of theirs";
  EXPECT_THAT(variants_of(run(1, 1)), ElementsAre("base", "new"));
}

TEST(CheckPaired, EachVariantIsJudged) {
  ResultSet result = run(8, 0.9);
  for (std::size_t i = 0; i < 3; ++i) {
    result.cells.push_back(result.cells[2 * i]);
    result.cells.back().identity.axes[kVariantAxis] = "third";
  }
  const GateReport report = judged(result);
  ASSERT_EQ(report.cells.size(), 6U);
  EXPECT_EQ(report.cells[2].verdict, Verdict::regression);
  EXPECT_EQ(report.cells[5].verdict, Verdict::pass);
  EXPECT_EQ(report.cells[5].variant, "third");
  // What one variant alone measured is missing in no other.
  result.cells.back().identity = variant(identity(1, 8), "third");
  const auto verdicts = judged(result).cells;
  EXPECT_EQ(verdicts.size(), 7U);
  EXPECT_EQ(std::ranges::count(verdicts, Verdict::missing, &CellVerdict::verdict), 1);
}

TEST(CheckPaired, TenThousandCellsWithTies) {
  ResultSet result;
  Normals normal(2);
  for (int c = 0; c < 10000; ++c) {
    for (const char* name : {"base", "new"}) {
      std::vector<double> rates;
      // Two decimals, as logs print rates: ratios are tied.
      for (int i = 0; i < 20; ++i) rates.push_back(std::round(5000 + 50 * normal()) / 100);
      Cell& cell =
          result.cells.emplace_back(samples::cell(variant(identity(1, 1, c + 1), name), rates));
      cell.key = cell.identity.key();
      for (Trial& trial : cell.trials) trial.block = BlockPlace{1, 1};
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const GateReport report = judged(result);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("10,000 cells of 20 pairs judged in %.2f s\n", seconds);
  EXPECT_EQ(report.compared, 10000);
  EXPECT_EQ(report.exit_status, 0);
}

}  // namespace
}  // namespace bertbench
