#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/gate/paired.h"
#include "reports/gate/verdicts.h"
#include "reports/output/cell_table.h"
#include "reports/stats/normals.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::identity;
using samples::result_set;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kStep = 0.1;  // seconds

/// What a program's steps are made of: of 0.1 s, give or take 0.2 % of each part.
struct Program {
  double optimizer = 1;  ///< times its usual 10 % of the step
  double backward = 1;   ///< times its usual 60 %
  double data = 0;       ///< seconds
  double machine = 1;    ///< times everything
};

void fill(Trial& trial, const Program& program, Normals& normal) {
  const auto noisy = [&](double seconds) {
    return program.machine * seconds * (1 + 0.002 * normal());
  };
  trial.parts["forward"] = {noisy(0.3 * kStep)};
  trial.parts["backward"] = {noisy(0.6 * kStep * program.backward)};
  trial.parts["optimizer"] = {noisy(0.1 * kStep * program.optimizer)};
  if (program.data > 0) trial.parts["data"] = {noisy(program.data)};
  double step = 0;
  for (const auto& [part, record] : trial.parts) step += record.p50;
  trial.step_time = StepTimes{step, step, step};
  trial.sequences_per_second = 8 / step;
}

ResultSet measured_run(std::size_t trials, const Program& program, std::uint64_t seed,
                       int cells = 4) {
  Normals normal(seed);
  std::vector<Cell> out;
  for (int c = 1; c <= cells; ++c) {
    out.push_back(samples::cell(identity(1, c), std::vector<double>(trials, 1.0)));
    const Program own = c == cells ? program : Program{.machine = program.machine};
    for (Trial& trial : out.back().trials) fill(trial, own, normal);
  }
  return result_set(std::move(out));
}

std::vector<ResultSet> store() {
  std::vector<ResultSet> out;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) out.push_back(measured_run(7, {}, seed));
  return out;
}

/// `now` next to `base`, pair by pair.
ResultSet pairs(std::size_t count, const Program& program) {
  ResultSet out = measured_run(count, {}, 11);
  const ResultSet now = measured_run(count, program, 12);
  for (Cell& cell : out.cells) cell.identity.axes[kVariantAxis] = "base";
  for (Cell cell : now.cells) {
    cell.identity.axes[kVariantAxis] = "new";
    out.cells.push_back(cell);
  }
  for (Cell& cell : out.cells) {
    cell.key = cell.identity.key();
    for (Trial& trial : cell.trials) trial.block = BlockPlace{1, 1};
  }
  return out;
}

GateReport judged_pairs(const ResultSet& result) {
  GateOptions options;
  options.floor = kPairedFloor;
  return check_paired(result, "base", options);
}

const PartVerdict& part(const CellVerdict& cell, std::string_view name) {
  const auto found = std::ranges::find(cell.parts, name, &PartVerdict::part);
  if (found == cell.parts.end()) throw std::runtime_error("no such part");
  return *found;
}

TEST(PartsGate, FivePercentOfTheOptimizerAreFoundInHalfAPercentOfTheStep) {
  const auto runs = store();
  const GateReport report = check(measured_run(7, {.optimizer = 1.05}, 9), runs);
  EXPECT_EQ(report.exit_status, 1);
  const CellVerdict& cell = report.cells.back();
  EXPECT_EQ(cell.verdict, Verdict::regression);
  EXPECT_EQ(cell.speed, Verdict::pass);
  EXPECT_EQ(part(cell, "optimizer").verdict, Verdict::regression);
  EXPECT_NEAR(part(cell, "optimizer").change, 0.05, 0.003);
  EXPECT_EQ(part(cell, "forward").verdict, Verdict::pass);
  EXPECT_THAT(reason_text(cell), HasSubstr("optimizer: 5."));
  EXPECT_EQ(cell.reasons.front().code, NoticeCode::part_longer);
  EXPECT_EQ(report.cells.front().verdict, Verdict::pass);
}

TEST(PartsGate, PairsFindThemToo) {
  const GateReport report = judged_pairs(pairs(16, {.optimizer = 1.05}));
  EXPECT_EQ(report.exit_status, 1);
  const CellVerdict& cell = report.cells.back();
  EXPECT_EQ(cell.speed, Verdict::pass);
  EXPECT_EQ(part(cell, "optimizer").verdict, Verdict::regression);
  EXPECT_EQ(part(cell, "backward").verdict, Verdict::pass);
}

TEST(PartsGate, TwoPercentOfAPartAreBelowTheFloor) {
  const auto runs = store();
  EXPECT_EQ(check(measured_run(7, {.optimizer = 1.02}, 9), runs).exit_status, 0);
  GateOptions lower;
  lower.part_floor = 0.01;
  EXPECT_EQ(check(measured_run(7, {.optimizer = 1.02}, 9), runs, lower).exit_status, 1);
}

TEST(PartsGate, AFasterPartIsAnImprovementThatFailsNothing) {
  const auto runs = store();
  const GateReport report = check(measured_run(7, {.optimizer = 0.9}, 9), runs);
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_EQ(part(report.cells.back(), "optimizer").verdict, Verdict::improvement);
}

// The optimizer inside backward, say, or a step that no longer waits for its data.
TEST(PartsGate, InAFasterStepTimeThatMovedFailsNothingAndIsNamed) {
  const auto runs = store();
  const GateReport report = check(measured_run(7, {.optimizer = 1.2, .backward = 0.8}, 9), runs);
  EXPECT_EQ(report.exit_status, 0);
  const CellVerdict& cell = report.cells.back();
  EXPECT_EQ(cell.verdict, Verdict::improvement);
  EXPECT_FALSE(cell.flagged());
  EXPECT_EQ(part(cell, "optimizer").verdict, Verdict::regression);
  EXPECT_EQ(cell.reasons.back().code, NoticeCode::part_longer);
}

TEST(PartsGate, TooFewTrialsForThePartsFailNothing) {
  // 10 pairs decide four cells, and not twelve parts at a fifth of alpha.
  const GateReport report = judged_pairs(pairs(10, {.optimizer = 1.05}));
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_EQ(part(report.cells.back(), "optimizer").verdict, Verdict::inconclusive);
  EXPECT_EQ(part(report.cells.back(), "optimizer").reason.code, NoticeCode::part_undecided);
}

TEST(PartsGate, WhatIsLessThanAPercentOfTheStepIsNotJudged) {
  std::vector<ResultSet> runs;
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    runs.push_back(measured_run(7, {.data = 0.0003}, seed));
  EXPECT_EQ(check(measured_run(7, {.data = 0.0006}, 9), runs).exit_status, 0);
  // A loader that begins to take 5 % of the step is.
  const GateReport report = check(measured_run(7, {.data = 0.005}, 9), runs);
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(part(report.cells.back(), "data").verdict, Verdict::regression);
  // Nor by pairs. One that no longer takes it is.
  EXPECT_EQ(judged_pairs(pairs(16, {.data = 0.0003})).cells.back().parts.size(), 3U);
  ResultSet both = pairs(16, {.data = 0.0003});
  for (Trial& trial : both.cells[3].trials) trial.parts["data"] = {0.0003};
  EXPECT_EQ(judged_pairs(both).cells.back().parts.size(), 3U);
  const std::vector<ResultSet> slow(5, measured_run(7, {.data = 0.005}, 31));
  EXPECT_EQ(part(check(measured_run(7, {.data = 0.0003}, 9), slow).cells.back(), "data").verdict,
            Verdict::improvement);
  // The whole step is what its time says, of which the parts may be a few.
  const auto with_long_steps = [](ResultSet set) {
    for (Cell& cell : set.cells) {
      for (Trial& trial : cell.trials) trial.step_time = StepTimes{10, 10, 10};
    }
    return set;
  };
  std::vector<ResultSet> stored = store();
  for (ResultSet& one : stored) one = with_long_steps(one);
  EXPECT_THAT(check(with_long_steps(measured_run(7, {}, 9)), stored).cells.back().parts, IsEmpty());
  // Of stored runs without parts nothing is judged.
  for (ResultSet& one : stored) {
    for (Cell& cell : one.cells) {
      for (Trial& trial : cell.trials) trial.parts.clear();
    }
  }
  EXPECT_THAT(check(measured_run(7, {}, 9), stored).cells.back().parts, IsEmpty());
}

TEST(PartsGate, TheLastFiveRunsAreTheBaselineOfAPartTheOthersItsHistory) {
  std::vector<ResultSet> runs = store();
  for (std::uint64_t seed = 41; seed <= 43; ++seed) {
    runs.insert(runs.begin(), measured_run(7, {.optimizer = 2}, seed));
  }
  const GateReport report = check(measured_run(7, {.optimizer = 1}, 9), runs);
  EXPECT_EQ(part(report.cells.back(), "optimizer").n_base, 35);
  EXPECT_NEAR(part(report.cells.back(), "optimizer").change, 0, 0.01);
}

TEST(PartsGate, WhatTheMachineLostIsNoPartsOwn) {
  auto runs = store();
  ResultSet now = measured_run(7, {.machine = 1.06}, 9);
  const auto probe = [](ResultSet& set, double speed) {
    for (Cell& cell : set.cells) {
      *cell.trials[0].telemetry = {{"probe", {{"before", {{"gflops", speed}}}}}};
    }
  };
  for (ResultSet& one : runs) probe(one, 50);
  probe(now, 50 / 1.06);
  const GateReport report = check(now, runs);
  EXPECT_EQ(report.exit_status, 3) << reason_text(report.cells.back());
  EXPECT_EQ(part(report.cells.back(), "backward").verdict, Verdict::inconclusive);
  EXPECT_EQ(part(report.cells.back(), "backward").reason.code,
            NoticeCode::part_slower_with_the_machine);
}

/// `set` on a machine whose probe reads `speed`.
ResultSet probed(ResultSet set, double speed) {
  for (Cell& cell : set.cells) {
    *cell.trials[0].telemetry = {{"probe", {{"before", {{"gflops", speed}}}}}};
  }
  return set;
}

// The machine lost 1.5 %, within the tolerance of a cell. Of the 4 % of an optimizer 2.5 % are
// left.
TEST(PartsGate, APartThatMayBeTheMachinesWaitsForARerun) {
  std::vector<ResultSet> runs = store();
  for (ResultSet& one : runs) one = probed(one, 50);
  const Program slower{.optimizer = 1.025, .machine = 1.015};
  const GateReport first = check(probed(measured_run(7, slower, 9), 50 / 1.015), runs);
  const CellVerdict& cell = first.cells.back();
  EXPECT_EQ(cell.speed, Verdict::pass);
  EXPECT_EQ(cell.verdict, Verdict::inconclusive) << reason_text(cell);
  EXPECT_EQ(cell.reasons.front().code, NoticeCode::part_slower_with_the_machine);
  EXPECT_EQ(first.exit_status, 3);
  ASSERT_EQ(flagged_cells(first), std::vector<std::string>{cell.key});

  const GateReport cleared = confirm(first, probed(measured_run(7, {}, 21), 50), runs);
  EXPECT_EQ(cleared.exit_status, 0) << reason_text(cleared.cells.back());
  EXPECT_TRUE(cleared.cells.back().cleared());
  const GateReport repeated =
      confirm(first, probed(measured_run(7, {.optimizer = 1.05}, 22), 50), runs);
  EXPECT_EQ(repeated.exit_status, 1) << reason_text(repeated.cells.back());
  EXPECT_EQ(repeated.cells.back().verdict, Verdict::regression);
}

TEST(PartsGate, ARerunClearsAPartThatItDoesNotRepeat) {
  const auto runs = store();
  const GateReport first = check(measured_run(7, {.optimizer = 1.05}, 9), runs);
  ASSERT_EQ(flagged_cells(first), std::vector<std::string>{first.cells.back().key});
  const GateReport cleared = confirm(first, measured_run(7, {}, 21), runs);
  EXPECT_EQ(cleared.exit_status, 0);
  EXPECT_TRUE(cleared.cells.back().cleared());
  EXPECT_EQ(cleared.cells.back().reasons.front().code, NoticeCode::rerun_clears);
  EXPECT_EQ(part(cleared.cells.back(), "forward").reason.code, NoticeCode::part_unchanged)
      << "no other part was measured again";
  EXPECT_EQ(cleared.cells.front().reasons, first.cells.front().reasons);
  const GateReport repeated = confirm(first, measured_run(7, {.optimizer = 1.05}, 22), runs);
  EXPECT_EQ(repeated.exit_status, 1);
  EXPECT_EQ(repeated.cells.back().reasons.back().code, NoticeCode::rerun_confirms);
}

TEST(PartsGate, ARerunThatCannotTellOfAPartSaysSo) {
  const auto runs = store();
  const GateReport first = check(measured_run(7, {.optimizer = 1.05}, 9), runs);
  const GateReport absent = confirm(first, result_set({}), runs);
  EXPECT_EQ(absent.exit_status, 1);
  EXPECT_EQ(absent.cells.back().reasons.back().code, NoticeCode::rerun_missing);
  EXPECT_FALSE(absent.cells.back().rerun);
  ResultSet without = measured_run(7, {}, 21);
  for (Cell& cell : without.cells) {
    for (Trial& trial : cell.trials) trial.parts.clear();
  }
  for (const ResultSet& rerun : {without, measured_run(1, {.optimizer = 1.05}, 22)}) {
    const GateReport again = confirm(first, rerun, runs);
    EXPECT_EQ(again.exit_status, 1);
    const auto& reasons = again.cells.back().reasons;
    EXPECT_NE(std::ranges::find(reasons, NoticeCode::rerun_undecided, &Notice::code), reasons.end())
        << reason_text(again.cells.back());
  }
}

TEST(PartsTable, HasAColumnForEachPartWithItsShare) {
  const ResultSet set = measured_run(3, {.data = 0.002}, 1, 2);
  const Table table = parts_table(set);
  ASSERT_EQ(table.columns.size(), 5U);
  EXPECT_EQ(table.columns[3].heading, "optimizer");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0][3], HasSubstr("ms (10 %)"));
  EXPECT_EQ(table.rows[0][4], "");  // the last cell alone loads data
  EXPECT_THAT(parts_table(result_set({samples::cell(identity(1, 1), {1, 2})})).rows, IsEmpty());
}

}  // namespace
}  // namespace bertbench
