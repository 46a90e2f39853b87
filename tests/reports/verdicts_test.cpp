#include "reports/gate/verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::HasSubstr;

const std::vector<double> kFive{100, 100.4, 99.6, 100.2, 99.8};

std::vector<double> times(const std::vector<double>& values, double factor) {
  std::vector<double> out;
  for (const double x : values) out.push_back(x * factor);
  return out;
}

// The quickstart grid: four cells of five trials; `factor` scales the last one.
ResultSet grid(double factor = 1, int cells = 4) {
  std::vector<Cell> out;
  for (int i = 1; i <= cells; ++i) {
    out.push_back(cell(identity(1, i), times(kFive, i * (i == cells ? factor : 1.0))));
  }
  return result_set(std::move(out));
}

const CellVerdict& last(const GateReport& report) { return report.cells.back(); }

TEST(Check, ARunAgainstItselfPasses) {
  const ResultSet run = grid();
  const GateReport report = check(run, run);
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_EQ(report.compared, 4);
  ASSERT_EQ(report.cells.size(), 4U);
  for (const CellVerdict& cell : report.cells) {
    EXPECT_EQ(cell.verdict, Verdict::pass) << reason_text(cell);
    EXPECT_EQ(cell.change, 0.0);
    EXPECT_EQ(cell.n_new, 5);
  }
  EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("no change"));
  ASSERT_EQ(report.notices.size(), 1U)
      << "it shows no loss, and a gate that does so each day is none";
  EXPECT_EQ(report.notices[0].code, NoticeCode::held_against_itself);
  EXPECT_TRUE(check(grid(), run).notices.empty());
  // Neither a set without a time, nor one of the same second with other rates or none is itself.
  ResultSet timeless = run, other = run, failed = run;
  timeless.created.clear();
  other.cells[3].trials[0].sequences_per_second = 400.1;
  for (Cell& cell : failed.cells) {
    for (Trial& trial : cell.trials) trial.window.covered = false;
  }
  EXPECT_TRUE(check(timeless, timeless).notices.empty());
  EXPECT_TRUE(check(other, run).notices.empty());
  EXPECT_NE(check(failed, failed).notices.at(0).code, NoticeCode::held_against_itself);
}

// 3 x 1.4826 MAD of a baseline of two runs at two speeds is more than a program can lose.
TEST(Check, ABaselineThatWouldLetEveryLossPassDecidesNothing) {
  const std::vector<double> fast = times(kFive, 4);
  const ResultSet runs[] = {result_set({cell(identity(1, 1), kFive)}),
                            result_set({cell(identity(1, 1), fast)})};
  const ResultSet slow = result_set({cell(identity(1, 1), times(kFive, 0.1))});
  const GateReport report = check(slow, runs);
  EXPECT_EQ(report.exit_status, 3);
  EXPECT_EQ(last(report).verdict, Verdict::inconclusive) << reason_text(last(report));
  EXPECT_THAT(reason_text(last(report)), HasSubstr("no loss could fail"));
  GateOptions wide;
  wide.floor = 5;
  EXPECT_EQ(check(slow, runs, wide).exit_status, 0) << "asked for";
  const ResultSet quick = result_set({cell(identity(1, 1), times(kFive, 20))});
  EXPECT_EQ(last(check(quick, runs)).verdict, Verdict::improvement) << "a gain can be beyond it";
}

// Holm leaves the second cell all of alpha once the first is significant: 1/35 is below 0.05,
// though not below half of it.
TEST(Check, WhatHolmFindsIsNoMatterOfTooFewTrials) {
  const ResultSet base =
      result_set({cell(identity(1, 1), {100, 100.1, 100.2, 99.9, 99.8, 100.3, 99.7}),
                  cell(identity(1, 2), {200, 200.3, 199.7})});
  const ResultSet now =
      result_set({cell(identity(1, 1), {98.6, 98.7, 98.8, 98.5, 98.4, 98.9, 98.3}),
                  cell(identity(1, 2), {160, 160.2, 159.8, 160.1})});
  const GateReport report = check(now, base);
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(report.cells[0].verdict, Verdict::pass) << "within the tolerance";
  EXPECT_EQ(last(report).verdict, Verdict::regression) << reason_text(last(report));
  EXPECT_NEAR(last(report).p_adjusted, 1.0 / 35, 1e-12);
}

TEST(Check, SlowRatesKeepTheirDigitsInTheReason) {
  const GateReport report = check(result_set({cell(identity(1, 1), times(kFive, 0.000222))}),
                                  result_set({cell(identity(1, 1), times(kFive, 0.000235))}));
  EXPECT_THAT(reason_text(last(report)), HasSubstr("0.02220 against 0.02350"));
}

TEST(Check, AgainstACopyWithOneCellTenPercentFasterItFailsWithStatus1) {
  const GateReport report = check(grid(), grid(1.1));
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(report.cells[2].verdict, Verdict::pass);
  const CellVerdict& cell = last(report);
  EXPECT_EQ(cell.verdict, Verdict::regression);
  EXPECT_NEAR(*cell.change, -1 + 1 / 1.1, 1e-12);
  EXPECT_NEAR(cell.p, 1.0 / 252, 1e-12);
  EXPECT_NEAR(cell.p_adjusted, 4.0 / 252, 1e-12);
  EXPECT_NEAR(cell.tolerance, 0.02, 1e-12);
  EXPECT_LT(cell.interval.high, -0.08);
  EXPECT_EQ(cell.reasons.front().code, NoticeCode::slower_beyond_tolerance);
  EXPECT_THAT(reason_text(cell),
              HasSubstr("9.1 % slower: 400.00 against 440.00 sequences/s, 96.8 % interval"));
  EXPECT_THAT(
      reason_text(cell),
      HasSubstr("n = 5 against 5, p = 0.004, 0.016 after Holm, tolerance 2.0 % (the floor"));
}

TEST(Check, TenPercentFasterIsAnImprovementAndNoFailure) {
  const GateReport report = check(grid(1.1), grid());
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_EQ(last(report).verdict, Verdict::improvement);
  EXPECT_THAT(reason_text(last(report)), HasSubstr("10.0 % faster"));
}

Cell simulated(Cell cell) {
  cell.identity.axes["simulated"] = "true";
  cell.key = cell.identity.key();
  return cell;
}

// Seen: 32 simulated GPUs were held against one that was measured, and found 68 % slower.
TEST(Check, WhatWasSimulatedIsNeverComparedWithWhatWasMeasured) {
  const ResultSet measured = result_set({cell(identity(1, 1), kFive)});
  for (const auto& gpus : {std::pair(1, 1), std::pair(4, 8)}) {
    const ResultSet sim =
        result_set({simulated(cell(identity(gpus.first, gpus.second), times(kFive, 0.3)))});
    for (const auto& [now, base] : {std::pair(&sim, &measured), std::pair(&measured, &sim)}) {
      const GateReport report = check(*now, *base);
      EXPECT_EQ(report.exit_status, 4);
      EXPECT_EQ(report.compared, 0);
      ASSERT_EQ(report.cells.size(), 1U);
      EXPECT_EQ(report.cells[0].verdict, Verdict::not_comparable);
      EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("a simulation is never compared"));
      EXPECT_FALSE(report.cells[0].change);
    }
  }
  const ResultSet sim = result_set({simulated(cell(identity(1, 1), kFive))});
  EXPECT_THAT(last(check(sim, sim)).key, HasSubstr("+simulated"));
  EXPECT_EQ(check(sim, sim).exit_status, 0) << "simulations of one cluster compare";
  const std::vector<ResultSet> runs{measured, measured, sim};
  EXPECT_EQ(check(measured, runs).cells.at(0).n_base, 10) << "stored simulations are no baseline";
}

TEST(Check, CellsOfAnotherCommandAreNotComparable) {
  const auto with = [](std::vector<std::string> words) {
    Cell out = cell(identity(1, 1), kFive);
    *out.context = {{"command", words}};
    return result_set({out});
  };
  const ResultSet base = with({"python3", "train.py", "--fp16", "--lr", "0.1"});
  EXPECT_EQ(check(base, base).exit_status, 0);
  const GateReport report = check(with({"python3", "train.py", "--lr", "0.2", "--fp16"}), base);
  EXPECT_EQ(report.exit_status, 4);
  EXPECT_EQ(last(report).verdict, Verdict::not_comparable);
  EXPECT_EQ(reason_text(last(report)),
            "command differs: 0.2 now, 0.1 in the baseline (--allow-context command)");
  EXPECT_TRUE(report.notices.empty());
  EXPECT_THAT(reason_text(last(check(with({"python3", "train.py", "--lr", "0.1"}), base))),
              HasSubstr("none now, --fp16 in the baseline"));
  EXPECT_THAT(
      reason_text(last(check(with({"python3", "train.py", "--lr", "--fp16", "0.1"}), base))),
      HasSubstr("command differs: ["))
      << "the order of words may matter";
  GateOptions allowed;
  allowed.allow_context = {"command"};
  EXPECT_EQ(check(with({"python3", "other.py"}), base, allowed).exit_status, 0);
}

TEST(Check, AContextThatOnlyOneSideKnowsIsANotice) {
  ResultSet now = grid();
  EXPECT_TRUE(check(now, grid()).notices.empty()) << "known on neither side";
  *now.environment = {{"driver", "550.54"}};
  for (Cell& cell : now.cells) *cell.context = {{"threads", "1"}};
  const GateReport report = check(now, grid());
  EXPECT_EQ(report.exit_status, 0);
  ASSERT_EQ(report.notices.size(), 2U) << "once, not for each cell";
  EXPECT_EQ(text_of(report.notices[0]), "driver is known only for the result");
  EXPECT_EQ(text_of(report.notices[1]), "threads is known only for the result");
  const GateReport turned = check(grid(), now);
  ASSERT_EQ(turned.notices.size(), 2U);
  EXPECT_EQ(text_of(turned.notices[0]), "driver is known only for the baseline");
  EXPECT_EQ(text_of(turned.notices[1]), "threads is known only for the baseline");
}

TEST(Check, AnotherGpuOrUnitIsNotComparableAndAnotherVersionIsNamed) {
  const auto on = [](const char* gpu) {
    ResultSet out = result_set({cell(identity(1, 1), kFive)});
    out.cells[0].gpu = gpu;
    return out;
  };
  EXPECT_EQ(check(on("NVIDIA A100"), on("NVIDIA H100")).exit_status, 4);
  EXPECT_THAT(reason_text(last(check(on("NVIDIA A100"), on("NVIDIA H100")))),
              HasSubstr("gpu differs: NVIDIA A100 now, NVIDIA H100 in the baseline"));
  EXPECT_EQ(check(on("NVIDIA A100"), on("")).exit_status, 0);
  EXPECT_EQ(check(on(""), on("NVIDIA A100")).exit_status, 0);

  ResultSet steps = on("");
  for (Trial& trial : steps.cells[0].trials) {
    trial.iterations_per_second = trial.sequences_per_second;
    trial.sequences_per_second.reset();
  }
  EXPECT_EQ(check(steps, on("")).exit_status, 4);
  EXPECT_EQ(last(check(steps, on(""))).reasons.at(0).code, NoticeCode::unit_differs);
  EXPECT_EQ(check(steps, steps).cells[0].unit, "iterations/s");
  ResultSet lost = steps;
  for (Trial& trial : lost.cells[0].trials) trial.window.covered = false;
  EXPECT_EQ(last(check(lost, steps)).unit, "iterations/s");

  ResultSet newer = on("");
  newer.tool.version = "0.2.0";
  EXPECT_EQ(check(newer, on("")).notices.at(0).code, NoticeCode::tool_version_differs);
}

TEST(Check, ARunThatWasMeasuredInAnotherWayThanTheNewestIsLeftOutOfTheBaseline) {
  const ResultSet usual = result_set({cell(identity(1, 1), kFive)});
  ResultSet printed = result_set({cell(identity(1, 1), times(kFive, 2))});
  for (Trial& trial : printed.cells[0].trials) trial.estimator = "printed";
  const std::vector<ResultSet> older{printed, usual}, newest{usual, printed};
  EXPECT_EQ(last(check(grid(1, 1), older)).n_base, 5);
  EXPECT_EQ(check(grid(1, 1), older).exit_status, 0);
  EXPECT_EQ(check(grid(1, 1), newest).exit_status, 4);
}

TEST(Check, ALossWithinTheFloorPassesHoweverSignificant) {
  const std::vector<double> tight{100, 100.01, 100.02, 99.99, 99.98};
  const GateReport report = check(result_set({cell(identity(1, 1), times(tight, 0.985))}),
                                  result_set({cell(identity(1, 1), tight)}));
  EXPECT_EQ(last(report).verdict, Verdict::pass);
  EXPECT_LT(last(report).p_adjusted, 0.05);
  GateOptions strict;
  strict.floor = 0.01;
  EXPECT_EQ(last(check(result_set({cell(identity(1, 1), times(tight, 0.985))}),
                       result_set({cell(identity(1, 1), tight)}), strict))
                .verdict,
            Verdict::regression);
}

TEST(Check, ALargeLossThatTheRanksDoNotSupportPasses) {
  const ResultSet base = result_set({cell(identity(1, 1), {100, 100.1, 100.2, 100.3, 90})});
  const ResultSet now = result_set({cell(identity(1, 1), {91, 92, 95, 101, 102})});
  const GateReport report = check(now, base);
  EXPECT_EQ(last(report).verdict, Verdict::pass);
  EXPECT_EQ(last(report).reasons.front().code, NoticeCode::not_significant);
  EXPECT_THAT(reason_text(last(report)), HasSubstr("but not significant, beyond the tolerance"));
}

TEST(Check, NoiseOfTheBaselineWidensTheToleranceAndSaysByWhichRule) {
  const std::vector<double> noisy{100, 97, 103, 98, 102};  // MAD 2: 3 x 1.4826 x 2 % = 8.9 %
  const GateReport report = check(result_set({cell(identity(1, 1), times(noisy, 0.93))}),
                                  result_set({cell(identity(1, 1), noisy)}));
  EXPECT_NEAR(last(report).tolerance, 0.0889560, 1e-6);
  EXPECT_EQ(last(report).verdict, Verdict::pass);
  EXPECT_THAT(
      reason_text(last(report)),
      HasSubstr(
          "8.9 % (3 x 1.4826 MAD of the baseline's 5 trials, as it holds fewer than 3 runs)"));
}

TEST(Check, TooFewTrialsAreInconclusiveWithTheNumberThatWouldDo) {
  const ResultSet three =
      result_set({cell(identity(1, 1), {100, 101, 99}), cell(identity(1, 2), {200, 201, 199})});
  const GateReport report = check(three, three);
  EXPECT_EQ(report.exit_status, 3);
  EXPECT_EQ(last(report).verdict, Verdict::inconclusive);
  EXPECT_THAT(
      reason_text(last(report)),
      HasSubstr(
          "3 against 3 trials cannot decide 2 cells: the smallest p is 0.05, the level 0.025; "
          "need 4 trials a side, or 5 now against the 3 of the baseline; so far no change: 200.00 "
          "against 200.00 sequences/s, n = 3 against 3"));
  GateOptions accept;
  accept.accept_inconclusive = true;
  EXPECT_EQ(check(three, three, accept).exit_status, 0);
}

TEST(Check, FiveTrialsCannotDecide36CellsAndSixCan) {
  const GateReport report = check(grid(1, 36), grid(1, 36));
  EXPECT_EQ(report.exit_status, 3);
  EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("cannot decide 36 cells"));
  EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("need 6 trials a side"));
  EXPECT_EQ(check(grid(1, 12), grid(1, 12)).exit_status, 0);
  EXPECT_EQ(check(grid(1, 13), grid(1, 13)).exit_status, 3);
}

TEST(Check, AMissingCellFailsUnlessAllowed) {
  const GateReport report = check(grid(1, 3), grid(1, 4));
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(last(report).verdict, Verdict::missing);
  EXPECT_EQ(last(report).n_base, 5);
  EXPECT_EQ(last(report).reference, 400);
  ResultSet failed = grid(1, 4);
  for (Trial& trial : failed.cells[3].trials) trial.window.covered = false;
  EXPECT_FALSE(last(check(grid(1, 3), failed)).reference);
  GateOptions options;
  options.allow_missing = true;
  EXPECT_EQ(check(grid(1, 3), grid(1, 4), options).exit_status, 0);
}

TEST(Check, ANewCellIsToldAndPasses) {
  const GateReport report = check(grid(1, 4), grid(1, 3));
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_EQ(last(report).verdict, Verdict::new_cell);
  EXPECT_EQ(name(last(report).verdict), "new");
  EXPECT_EQ(report.compared, 3);
}

TEST(Check, NothingComparedIsStatus4EvenWithMissingCellsAndSaysWhy) {
  const ResultSet one = result_set({cell(identity(1, 1), kFive)});
  const ResultSet other = result_set({cell(identity(1, 2), kFive)}), empty = result_set({});
  const ResultSet sim = result_set({simulated(cell(identity(1, 1), kFive))});
  ResultSet failed = one;
  failed.created = "earlier";
  for (Trial& trial : failed.cells[0].trials) trial.window.covered = false;
  for (const auto& [now, base, why] : {std::tuple(&empty, &one, "the result holds no cells"),
                                       {&one, &empty, "the baseline holds no cells"},
                                       {&sim, &one, "was simulated and the result measured"},
                                       {&one, &other, "no cell of the result is in the baseline"},
                                       {&one, &failed, "no cell has a number on both sides"}}) {
    const GateReport report = check(*now, *base);
    EXPECT_EQ(report.exit_status, 4) << why;
    EXPECT_THAT(text_of(report.notices.back()), HasSubstr(why));
  }
  EXPECT_EQ(check(grid(), std::span<const ResultSet>{}).exit_status, 4);
}

TEST(Check, ACellThatGivesNoNumberAnyMoreIsARegression) {
  ResultSet now = grid();
  for (Trial& trial : now.cells[3].trials) {
    trial.window.covered = false;
    trial.sequences_per_second.reset();
    trial.outcome.status = Status::out_of_memory;
  }
  const GateReport report = check(now, grid());
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(last(report).verdict, Verdict::regression);
  EXPECT_THAT(reason_text(last(report)),
              HasSubstr("no trial gives a number any more (out_of_memory x5)"));
  const GateReport both = check(now, now);
  EXPECT_EQ(both.exit_status, 0);
  EXPECT_THAT(reason_text(last(both)), HasSubstr("no number on either side"));
}

/// The first `count` trials of the last cell crash after their window: their rates stay.
ResultSet with_crashes(std::size_t count, Status status = Status::error) {
  ResultSet out = grid();
  for (std::size_t i = 0; i < count; ++i) {
    Trial& trial = out.cells[3].trials[i];
    trial.outcome = {status, 12, 40, {}};
    trial.log = "cell/trial_" + std::to_string(i + 1) + "/log.txt";
  }
  return out;
}

TEST(Check, ATrialThatFailsWhereNoneDidIsARegressionWhateverItsRate) {
  for (const Status status : {Status::error, Status::killed, Status::out_of_memory, Status::nan,
                              Status::stalled, Status::timeout}) {
    const GateReport report = check(with_crashes(1, status), grid());
    EXPECT_EQ(report.exit_status, 1) << name(status);
    const CellVerdict& cell = last(report);
    EXPECT_EQ(cell.verdict, Verdict::regression);
    EXPECT_EQ(cell.speed, Verdict::pass);
    EXPECT_EQ(cell.reasons.front().code, NoticeCode::more_trials_failed);
    EXPECT_THAT(reason_text(cell), HasSubstr("1 of 5 trials failed (" + std::string(name(status)) +
                                             " x1), 0 of 5 in the baseline"));
    EXPECT_THAT(reason_text(cell), HasSubstr("trial 1: see cell/trial_1/log.txt, line 40"));
    EXPECT_EQ(report.cells[0].verdict, Verdict::pass);
  }
}

TEST(Check, ALogThatIsCutOrEmptyIsNoFailureByItself) {
  for (const Status status : {Status::truncated, Status::no_data}) {
    const GateReport report = check(with_crashes(5, status), grid());
    EXPECT_EQ(report.exit_status, 0) << name(status);
    EXPECT_FALSE(last(report).outcomes);
  }
}

TEST(Check, EqualSharesOfFailedTrialsAreNoNewsAndAreNamed) {
  for (const std::size_t failed : {1U, 5U}) {
    const GateReport report = check(with_crashes(failed), with_crashes(failed));
    EXPECT_EQ(report.exit_status, 0);
    EXPECT_EQ(last(report).verdict, Verdict::pass);
    EXPECT_EQ(last(report).outcomes->reason.code, NoticeCode::trials_failed_as_before);
    EXPECT_EQ(last(report).reasons.back().code, NoticeCode::trials_failed_as_before);
  }
  const GateReport mended = check(grid(), with_crashes(5));
  EXPECT_EQ(mended.exit_status, 0) << "a trainer that was mended";
  EXPECT_EQ(last(mended).outcomes.value().failed_base, 5);
  EXPECT_EQ(last(mended).reasons.size(), 1U) << "no failure to name";
}

TEST(Check, AClearlyLargerShareOfFailedTrialsIsARegression) {
  EXPECT_EQ(check(with_crashes(2), with_crashes(1)).exit_status, 0) << "chance";
  EXPECT_EQ(check(with_crashes(5), with_crashes(4)).exit_status, 1) << "none runs through";
  // 4 of 5 against 5 of 25: Fisher's p is 0.018.
  const std::vector<ResultSet> runs(5, with_crashes(1));
  EXPECT_EQ(check(with_crashes(4), runs).exit_status, 1);
  EXPECT_EQ(check(with_crashes(2), runs).exit_status, 0);
  // Cells that failed on one side alone take no share of alpha.
  for (const bool now : {true, false}) {
    ResultSet result = with_crashes(4);
    std::vector<ResultSet> stored = runs;
    for (std::size_t i = 0; i < 3; ++i) {
      for (ResultSet& run : stored) {
        Cell& one = now ? result.cells[i] : run.cells[i];
        one.trials[0].outcome.status = Status::error;
      }
    }
    EXPECT_EQ(last(check(result, stored)).outcomes->verdict, Verdict::regression) << now;
  }
}

TEST(Check, FailedTrialsOfANewCellAreNotHeldAgainstAnything) {
  ResultSet base = grid();
  base.cells.pop_back();
  const GateReport report = check(with_crashes(5), base);
  EXPECT_EQ(last(report).verdict, Verdict::new_cell);
  EXPECT_EQ(report.exit_status, 0);
}

TEST(Check, AWaiverOfSpeedLetsNoFailurePass) {
  GateReport report = check(with_crashes(5), grid(1.1));
  const Waiver waiver{last(report).key, WorkKind::training, "speed", 0.5, "known", "2027-01-31"};
  apply_waivers(report, std::span(&waiver, 1), "2026-01-01", {});
  EXPECT_EQ(report.exit_status, 1);
}

TEST(Check, AWideToleranceSaysWhichMedianWouldHaveFailed) {
  const ResultSet noisy = result_set({cell(identity(1, 1), {90, 95, 100, 105, 110})});
  const GateReport report = check(noisy, noisy);
  EXPECT_THAT(reason_text(last(report)), HasSubstr("so that only a median below 77.76 could fail"));
}

TEST(Check, DifferentHardwareIsNotComparableUnlessAllowed) {
  ResultSet now = grid();
  ResultSet base = grid(1.1);
  *now.environment = {
      {"cpu", {{"model", "A"}, {"mhz", 2100}}}, {"compiler", "gcc 12"}, {"load", 0.1}};
  *base.environment = {
      {"cpu", {{"mhz", 3000}, {"model", "B"}}}, {"compiler", "gcc 13"}, {"load", 7}};
  const GateReport report = check(now, base);
  EXPECT_EQ(report.exit_status, 4);
  EXPECT_EQ(last(report).verdict, Verdict::not_comparable);
  EXPECT_THAT(reason_text(last(report)), HasSubstr("--allow-context cpu"));
  GateOptions options;
  options.allow_context = {"cpu"};
  const GateReport allowed = check(now, base, options);
  EXPECT_EQ(allowed.exit_status, 1);
  EXPECT_EQ(allowed.notices.size(), 2U) << "cpu and compiler, but not the load";
}

TEST(Check, FrequenciesAndLoadsDoNotMakeTheSameMachineAnother) {
  ResultSet now = grid();
  ResultSet base = grid();
  *now.environment = {{"cpu", {{"model", "A"}, {"mhz", 2100}}}, {"load", 0.1}};
  *base.environment = {{"load", 5}, {"cpu", {{"mhz", 3000}, {"model", "A"}}}};
  EXPECT_TRUE(check(now, base).notices.empty());
}

TEST(Check, AnotherCommitOrLoadOfTheSameMachineIsNoNotice) {
  ResultSet now = grid();
  ResultSet base = grid();
  *now.environment = {{"load_1min", 0.1}, {"bertbench", {{"commit", "a"}, {"compiler", "gcc 12"}}}};
  *base.environment = {{"load_1min", 3}, {"bertbench", {{"commit", "b"}, {"compiler", "gcc 12"}}}};
  EXPECT_TRUE(check(now, base).notices.empty());
  (*base.environment)["bertbench"]["compiler"] = "gcc 13";
  EXPECT_EQ(check(now, base).notices.size(), 1U);
  (*base.environment)["cores_usable"] = 1;
  (*now.environment)["cores_usable"] = 2;
  EXPECT_EQ(check(now, base).exit_status, 4);
}

TEST(Check, WhatACheckBeforeTheSweepFoundIsNoOtherMachine) {
  ResultSet now = grid(), base = grid();
  *now.environment = {{"preflight", {{"created", "2026-01-02"}, {"outliers", {"a"}}}}};
  *base.environment = {{"preflight", {{"created", "2026-01-01"}, {"outliers", {}}}}};
  EXPECT_TRUE(check(now, base).notices.empty());
}

TEST(Check, AnotherRuleForTheNumberOfTrialsIsNoOtherContext) {
  ResultSet now = grid(), base = grid();
  for (Cell& one : now.cells) *one.context = {{"stopping", {{"tests", 4}}}};
  EXPECT_TRUE(check(now, base).notices.empty());
  for (Cell& one : base.cells) *one.context = {{"stopping", {{"tests", 8}}}};
  EXPECT_EQ(check(now, base).exit_status, 0);
}

TEST(Check, AnotherEstimatorOrWindowIsNotComparable) {
  ResultSet now = grid();
  for (Trial& trial : now.cells[0].trials) trial.estimator = "printed";
  for (Trial& trial : now.cells[1].trials) trial.window.rule = "auto (mser-5: 30:200)";
  const GateReport report = check(now, grid());
  EXPECT_EQ(report.exit_status, 4);
  EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("estimator differs: printed now, step_time"));
  EXPECT_THAT(reason_text(report.cells[1]), HasSubstr("window differs: auto now, 100:200"));
  EXPECT_EQ(report.cells[2].verdict, Verdict::pass);
  GateOptions options;
  options.allow_context = {"all"};
  EXPECT_EQ(check(now, grid(), options).exit_status, 0);
}

TEST(Check, CutsThatAutoFoundAreNoDifferenceOfWindow) {
  ResultSet now = grid();
  ResultSet base = grid();
  for (Cell& cell : now.cells) {
    for (Trial& trial : cell.trials) trial.window.rule = "auto (mser-5: 30:200)";
  }
  for (Cell& cell : base.cells) {
    for (Trial& trial : cell.trials) trial.window.rule = "auto (mser-5: 25:200)";
  }
  EXPECT_EQ(check(now, base).exit_status, 0);
}

TEST(Check, ARegressionOutranksACellThatIsNotComparable) {
  ResultSet now = grid();
  for (Trial& trial : now.cells[0].trials) trial.estimator = "printed";
  EXPECT_EQ(check(now, grid(1.1)).exit_status, 1);
}

TEST(Check, CellsMatchByIdentityAndNotByTheNumberInTheirKey) {
  Identity mxnet = identity(1, 1);
  Identity paddle = identity(1, 1);
  paddle.framework = "paddle";
  const ResultSet now = result_set({cell(mxnet, kFive), cell(paddle, times(kFive, 2))});
  const ResultSet base = result_set({cell(paddle, times(kFive, 2)), cell(mxnet, kFive)});
  EXPECT_EQ(now.cells[1].key, base.cells[1].key);
  const GateReport report = check(now, base);
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_EQ(report.cells[1].change, 0.0);
}

TEST(Check, ThreeStoredRunsGiveTheNoiseBetweenRuns) {
  const std::vector<ResultSet> runs{result_set({cell(identity(1, 1), times(kFive, 0.97))}),
                                    result_set({cell(identity(1, 1), kFive)}),
                                    result_set({cell(identity(1, 1), times(kFive, 1.03))})};
  const GateReport report = check(result_set({cell(identity(1, 1), times(kFive, 0.93))}), runs);
  EXPECT_NEAR(last(report).tolerance, 0.09, 1e-9);  // 3 sd of 97, 100, 103
  EXPECT_EQ(last(report).n_base, 15);
  EXPECT_EQ(last(report).verdict, Verdict::pass);
  EXPECT_THAT(reason_text(last(report)), HasSubstr("3 sd of the medians of 3 runs"));
  EXPECT_EQ(last(check(result_set({cell(identity(1, 1), times(kFive, 0.89))}), runs)).verdict,
            Verdict::regression);
}

TEST(Check, RunsOfACellThatAgreeByChanceMakeItNoQuieterThanTheGrid) {
  // The runs of three cells differ by 3 %, those of the fourth do not.
  const auto run = [](double shift, int cells, double factor = 1) {
    std::vector<Cell> out;
    for (int i = 1; i < cells; ++i) out.push_back(cell(identity(1, i), times(kFive, shift)));
    out.push_back(cell(identity(1, 9), times(kFive, factor)));
    return result_set(std::move(out));
  };
  const std::vector<ResultSet> runs{run(0.97, 4), run(1, 4), run(1.03, 4)};
  const GateReport report = check(run(1, 4, 0.93), runs);
  EXPECT_NEAR(last(report).tolerance, 0.09, 1e-9);
  EXPECT_EQ(last(report).verdict, Verdict::pass);
  EXPECT_THAT(reason_text(last(report)),
              HasSubstr("3 sd of the medians of 3 runs, of the grid's median cell"));
  EXPECT_EQ(last(check(run(1, 4, 0.89), runs)).verdict, Verdict::regression);
  // A cell of fewer runs keeps its own tolerance.
  std::vector<ResultSet> with_new = runs;
  ResultSet now = run(1, 4);
  for (ResultSet* set : {&with_new.back(), &now}) {
    set->cells.push_back(cell(identity(1, 20), kFive));
    *set = result_set(set->cells);
  }
  EXPECT_NEAR(last(check(now, with_new)).tolerance, 0.02, 1e-9);
  // Three cells are no grid.
  const std::vector<ResultSet> few{run(0.97, 3), run(1, 3), run(1.03, 3)};
  EXPECT_EQ(last(check(run(1, 3, 0.93), few)).verdict, Verdict::regression);
}

TEST(Check, ALongHistoryGivesTheNoiseAndTheLastFiveRunsTheReference) {
  std::vector<ResultSet> runs;
  for (const double level : {1.0, 1.0, 1.0, 1.06, 0.94, 1.06, 0.94, 1.0, 1.0, 1.0, 1.0, 1.0}) {
    runs.push_back(result_set({cell(identity(1, 1), times(kFive, level))}));
  }
  const ResultSet now = result_set({cell(identity(1, 1), times(kFive, 0.93))});
  const GateReport report = check(now, runs);
  EXPECT_NEAR(last(report).tolerance, 0.12, 1e-9);  // four steps of 6 % and five of none
  EXPECT_EQ(last(report).n_base, 25);
  EXPECT_EQ(last(report).verdict, Verdict::pass);
  EXPECT_THAT(reason_text(last(report)),
              HasSubstr("3 sd of how far 9 runs were from those before each"));
  EXPECT_EQ(last(check(now, std::span(runs).last(5))).verdict, Verdict::regression);
}

TEST(Check, ACellThatTheBaselineLacksIsNewWhateverOlderRunsHold) {
  std::vector<ResultSet> runs(2, result_set({cell(identity(1, 2), kFive)}));
  for (int i = 0; i < 5; ++i) runs.push_back(result_set({cell(identity(1, 1), kFive)}));
  const ResultSet now =
      result_set({cell(identity(1, 1), kFive), cell(identity(1, 2), times(kFive, 0.5))});
  EXPECT_EQ(last(check(now, runs)).verdict, Verdict::new_cell);
}

TEST(Check, OnlyTheLastFiveStoredRunsOfTheSameMachineCount) {
  std::vector<ResultSet> runs;
  for (int i = 0; i < 8; ++i) {
    runs.push_back(result_set({cell(identity(1, 1), kFive)}));
    *runs.back().environment = {{"cpu", i == 6 ? "other" : "this"}};
  }
  ResultSet now = result_set({cell(identity(1, 1), kFive)});
  *now.environment = {{"cpu", "this"}};
  const GateReport report = check(now, runs);
  EXPECT_EQ(last(report).n_base, 25);
  ASSERT_EQ(report.notices.size(), 1U);
  EXPECT_THAT(text_of(report.notices[0]), HasSubstr("1 stored run of another machine"));
}

TEST(Check, CleanGridsSeldomFailAndSlowdownsAreFound) {
  std::mt19937 random(5);
  const auto draw = [&](double slow) {
    std::vector<Cell> cells;
    for (int i = 1; i <= 24; ++i) {
      std::normal_distribution<double> noise(1, 0.007);
      std::vector<double> rates(7);
      for (double& x : rates) x = 100.0 * i * noise(random) * (i == 24 ? slow : 1);
      cells.push_back(cell(identity(1, i), rates));
    }
    return result_set(std::move(cells));
  };
  int failed = 0;
  int found = 0;
  constexpr int kGrids = 60;
  for (int i = 0; i < kGrids; ++i) {
    failed += check(draw(1), draw(1)).exit_status == 1 ? 1 : 0;
    found += last(check(draw(0.93), draw(1))).verdict == Verdict::regression ? 1 : 0;
  }
  EXPECT_LE(failed, 1);
  EXPECT_GE(found, kGrids * 9 / 10);
}

}  // namespace
}  // namespace bertbench
