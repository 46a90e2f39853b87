// Results and their notices as a terminal shows them.
#include "harness/cli/result_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/reports/samples.h"

namespace bertbench::test {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::HasSubstr;
using testing::Not;

struct Seen {
  std::string out, err;
};

Seen seen(const ResultSet& set, Terminal terminal = {}, const ViewOptions& options = {}) {
  std::ostringstream out, err;
  {
    Console console(out, err, terminal);
    print_results(console, SetSource(set), options);
    print_notices(console, SetSource(set), options);
  }
  return {out.str(), err.str()};
}

TEST(ResultView, EnergyAndPowerStandWhereTheyWereMeasuredOnly) {
  Cell watched = cell(identity(1, 8), {100, 110, 90});
  for (Trial& trial : watched.trials) trial.energy_per_sequence_j = 20;
  const std::string with = seen(result_set({watched, cell(identity(1, 4), {50, 51, 52})})).out;
  EXPECT_THAT(with, HasSubstr("J/sequence"));
  EXPECT_THAT(with, HasSubstr("20.00 J a sequence at 2000.0 W"));
  EXPECT_THAT(seen(result_set({watched})).out, HasSubstr("20.00 J a sequence"));
  const std::string without =
      seen(result_set({cell(identity(1, 8), {100}), cell(identity(1, 4), {50})})).out;
  EXPECT_THAT(without, Not(HasSubstr("J/sequence")));
  EXPECT_THAT(without, Not(HasSubstr("energy")));
}

TEST(ResultView, NoticesOfOneWordingAreOneLineWithWhereTheyStand) {
  Cell noisy = cell(identity(1, 1), {100, 101, 102, 103});
  for (Trial& trial : noisy.trials) {
    trial.log = "trial_" + std::to_string(trial.trial) + "/log.txt";
    trial.notices = {foreign_notice(0, "others took 1." + std::to_string(trial.trial) + " cores")};
  }
  noisy.trials[2].notices.push_back(foreign_notice(7, "odd line"));
  const std::string err = seen(result_set({noisy})).err;
  EXPECT_EQ(err,
            "bertbench: note: 4 trials, such as: others took 1.1 cores\n"
            "bertbench: note: trial_3/log.txt:7: odd line\n");
  EXPECT_THAT(seen(result_set({noisy, cell(identity(1, 2), {190})})).err,
              HasSubstr("note: 1n1g, 4 trials, such as: others"));
  noisy.trials.resize(2);
  EXPECT_THAT(
      seen(result_set({noisy})).err,
      HasSubstr("note: trial_1/log.txt, trial_2/log.txt, such as: others took 1.1 cores\n"));
}

TEST(ResultView, LinesOfOneLogAreCountedAndTheFirstNamed) {
  Cell only = cell(identity(1, 1), {100});
  only.trials[0].log = "a.log";
  only.trials[0].notices = {foreign_notice(3, "took 1 s"), foreign_notice(9, "took 2 s")};
  EXPECT_EQ(seen(result_set({only})).err, "bertbench: note: lines 3, 9, such as: took 1 s\n");
  for (const int line : {20, 30})
    only.trials[0].notices.push_back(foreign_notice(line, "took 1 s"));
  EXPECT_EQ(seen(result_set({only})).err,
            "bertbench: note: 4 lines (3, 9, 20 ...), such as: took 1 s\n");
}

TEST(ResultView, OfACodeWithManyWordingsThreeAreShown) {
  Cell only = cell(identity(1, 1), {100});
  for (const char* text : {"red", "green", "blue", "white", "black"}) {
    only.trials[0].notices.push_back(foreign_notice(1, text));
  }
  const std::string err = seen(result_set({only})).err;
  EXPECT_THAT(err, HasSubstr("blue"));
  EXPECT_THAT(err, Not(HasSubstr("white")));
  EXPECT_THAT(err, HasSubstr("note: 2 notices more, all in the JSON form\n"));
}

TEST(ResultView, ANoteHasAtMost100ColumnsAlsoInAFile) {
  Cell only = cell(identity(1, 1), {100});
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word ";
  only.trials[0].notices = {foreign_notice(1, words)};
  std::istringstream lines(seen(result_set({only})).err);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_EQ(count, 4);
}

Cell unknown_log(const std::string& log) {
  Cell out = cell({}, {100});
  out.trials[0].log = log;
  return out;
}

TEST(ResultView, TheTableNamesTheLogWhereTheKeyDoesNotTell) {
  ResultSet set = result_set({unknown_log("runs/2026-01-02/bert_base_node07/a.log"),
                              unknown_log("runs/2026-01-02/bert_base_node07/b.log"),
                              cell(identity(1, 1), {50, 51, 52})});
  set.cells[0].key = "?.?.s128.b?.a?.?n?g";
  set.cells[1].key = "?.?.s128.b?.a?.?n?g#2";
  EXPECT_THAT(seen(set).out,
              testing::ContainsRegex("g#2 .* runs/2026-01-02/bert_base_node07/b.log\n"));
  const std::string narrow = seen(set, {true, true, false, 80}).out;
  EXPECT_THAT(narrow,
              HasSubstr("?.?.s128.b?.a?.?n?g#2  runs/2026-01-02/bert_base_node07/b.log\n    1"));
  const std::string known =
      seen(result_set({cell(identity(1, 1), {50}), cell(identity(1, 2), {90})})).out;
  EXPECT_THAT(known, Not(testing::ContainsRegex("cv .*log")));
}

TEST(ResultView, ACellOfWhichNothingIsKnownHasTheNameOfItsLog) {
  ResultSet set = result_set({unknown_log("a.log"), unknown_log("b.log"), unknown_log("b.log")});
  set.cells[0].key = "?.?.s?.b?.a?.?n?g";
  set.cells[1].key = "?.?.s?.b?.a?.?n?g#2";
  set.cells[2].key = "?.?.s?.b?.a?.?n?g#3";
  for (Cell& one : set.cells) one.trials[0].format = "tqdm";
  const std::string out = seen(set).out;
  EXPECT_THAT(out, HasSubstr("a.log  (training)\n  format      tqdm\n"));
  EXPECT_THAT(out, HasSubstr("\nb.log#2  (training)\n"));
  EXPECT_THAT(out, testing::ContainsRegex("\nb.log#2 +1 "));
  EXPECT_THAT(out, Not(HasSubstr("?")));
}

TEST(ResultView, TheKindOfWorkIsUnknownWhereNothingShowsIt) {
  Cell unread = unknown_log("a.log");
  Trial& trial = unread.trials[0];
  trial.sequences_per_second.reset();
  trial.iterations = {};
  trial.window.covered = false;
  trial.outcome = {Status::killed, std::nullopt, 4, {log_line("Killed")}};
  for (const char* format : {"unknown", "tqdm"}) {
    trial.format = format;
    const std::string out = seen(result_set({unread})).out;
    EXPECT_THAT(out, HasSubstr("  (kind of work unknown)\n"));
    EXPECT_THAT(out, HasSubstr("  outcome     killed (line 4)\n")) << "not its name twice";
  }
  trial.format = "deepspeed";
  EXPECT_THAT(seen(result_set({unread})).out, HasSubstr("  (training)\n"));
  trial.format = "unknown";
  trial.notices = {make_notice(NoticeCode::near_to_a_rate, 3, "stands alone", "loss 3")};
  EXPECT_THAT(seen(result_set({unread})).out, HasSubstr("  (training)\n"));
}

TEST(ResultView, ThatFewRecordsAreAllUsedStandsNextToTheWindow) {
  Cell only = cell(identity(1, 1), {100});
  only.trials[0].notices = {make_notice(NoticeCode::few_records, 0, "3 records", "")};
  const Seen one = seen(result_set({only}));
  EXPECT_THAT(one.out, HasSubstr(" records, warm-up included\n"));
  EXPECT_EQ(one.err, "");
  only.trials[0].notices = {make_notice(NoticeCode::few_records, 0, "3 records", "; a slow first")};
  EXPECT_THAT(seen(result_set({only})).err, HasSubstr("included; a slow first"));
  Cell two = cell(identity(1, 1), {100, 101});
  for (Trial& trial : two.trials) {
    trial.notices = {make_notice(NoticeCode::few_records, 0, "3 records", "")};
  }
  EXPECT_THAT(seen(result_set({two})).err, HasSubstr("2 trials: only 3 records"));
}

TEST(ResultView, WhatTheLogStatesOfAGpuStandsThere) {
  Cell only = cell(identity(1, 1), {100});
  only.trials[0].stated = {{"tflops_per_gpu", 812.5}, {"watts_per_gpu", 623.1}};
  EXPECT_THAT(
      seen(result_set({only})).out,
      HasSubstr("  stated      812.5 TFLOP/s (computed 6.993), 623.1 W of one GPU, by the log\n"));
}

// Another program's file may hold any values.
TEST(ResultView, AValueOfAnotherKindInANoticeEndsNothing) {
  Cell only = cell(identity(1, 1), {100});
  Notice foreign = make_notice(NoticeCode::few_records, 0, "3 records", "");
  foreign.values[1] = std::int64_t{7};
  only.trials[0].notices = {foreign};
  EXPECT_THAT(seen(result_set({only})).err, HasSubstr("only 3 records"));
}

TEST(ResultView, TheTableNamesTheKindOfWorkWhereSomeIsNoTraining) {
  Cell evaluation = cell(identity(1, 8), {100});
  evaluation.kind = WorkKind::evaluation;
  const std::string mixed = seen(result_set({cell(identity(1, 4), {50}), evaluation})).out;
  EXPECT_THAT(mixed, HasSubstr("cell                             kind        n"));
  EXPECT_THAT(mixed, HasSubstr("  evaluation  1"));
  const std::string training =
      seen(result_set({cell(identity(1, 4), {50}), cell(identity(1, 8), {100})})).out;
  EXPECT_THAT(training, Not(HasSubstr("  kind  ")));
}

TEST(ResultView, WorkOtherThanTrainingIsALineAKindUnlessAskedFor) {
  ViewOptions training;
  training.kinds = {};
  std::vector<Cell> cells;
  for (int i = 0; i < 11; ++i) {
    cells.push_back(cell(identity(1, 8), {100.0 + i}));
    cells.back().kind = WorkKind::evaluation;
    cells.back().trials[0].notices = {foreign_notice(1, "of an evaluation")};
  }
  const Seen none = seen(result_set(cells), {}, training);
  EXPECT_EQ(none.out,
            "no training\n"
            "evaluation: 11 cells, 100.00 to 110.00 sequences/s; --kind evaluation shows them\n");
  EXPECT_EQ(none.err, "");
  cells.push_back(cell(identity(1, 4), {50}));
  const std::string mixed = seen(result_set(cells), {}, training).out;
  EXPECT_THAT(mixed, HasSubstr("\n  throughput  50.00 sequences/s"));
  EXPECT_THAT(mixed, HasSubstr("\n\nevaluation: 11 cells, 100.00 to 110.00 sequences/s; --kind"));
  EXPECT_THAT(mixed, Not(HasSubstr("1n8g")));
  training.kinds = {WorkKind::evaluation};
  const std::string asked = seen(result_set(cells), {}, training).out;
  EXPECT_THAT(asked, HasSubstr("1n8g"));
  EXPECT_THAT(asked,
              HasSubstr("\ntraining: 1 cell, 50.00 sequences/s; --kind training shows it\n"));
}

TEST(ResultView, BenchmarksAreShownWhereThereIsNoTraining) {
  ViewOptions training;
  training.kinds = {};
  ResultSet set = result_set({cell(identity(1, 4), {50}), cell(identity(1, 8), {90})});
  for (Cell& one : set.cells) one.kind = WorkKind::inference;
  const std::string out = seen(set, {}, training).out;
  EXPECT_THAT(out, HasSubstr("1n4g"));
  EXPECT_THAT(out, HasSubstr("1n8g"));
}

TEST(ResultView, ManyCellsOfATrialEachAreRowsOfTheTableAlone) {
  std::vector<Cell> cells;
  for (int i = 1; i <= 13; ++i) cells.push_back(cell(identity(i, 8), {100.0 * i}));
  const std::string rows = seen(result_set(cells)).out;
  EXPECT_THAT(rows, Not(HasSubstr("  throughput  ")));
  EXPECT_EQ(rows.find("cell "), 0U);
  cells.pop_back();
  EXPECT_THAT(seen(result_set(cells)).out, HasSubstr("  throughput  "));
}

TEST(ResultView, TokensStandNextToSequencesOfAKnownLength) {
  EXPECT_THAT(seen(result_set({cell(identity(1, 8), {100})})).out,
              HasSubstr("  throughput  100.00 sequences/s (12800 tokens/s) by "));
}

TEST(ResultView, RunsOfOneLogSayTheSameOnce) {
  ResultSet set = result_set({unknown_log("a.log"), unknown_log("a.log"), unknown_log("b.log")});
  for (Cell& run : set.cells) {
    run.warnings.clear();
    run.trials[0].notices = {foreign_notice(3, "rounded")};
  }
  EXPECT_EQ(seen(set).err, "bertbench: note: a.log:3, b.log:3: rounded\n");
}

TEST(ResultView, WhatCameOverStdinIsNamedSo) {
  ResultSet set = result_set({unknown_log("-")});
  set.cells[0].trials[0].format = "tqdm";
  set.cells[0].trials[0].notices = {foreign_notice(3, "rounded")};
  EXPECT_THAT(seen(set).out, HasSubstr("<stdin>  (training)\n  format      tqdm\n"));
  EXPECT_EQ(seen(set).err, "bertbench: note: line 3: rounded\n");
}

TEST(ResultView, ASingleTrialWithoutANumberIsNotToldTwice) {
  ResultSet set = result_set({cell(identity(1, 1), {100}), cell(identity(1, 2), {100, 101})});
  set.cells[0].warnings = {make_notice(NoticeCode::trials_without_number, 0, 1, 1, "nan x1")};
  set.cells[1].warnings = {make_notice(NoticeCode::trials_without_number, 0, 1, 2, "nan x1")};
  EXPECT_EQ(seen(set).err,
            "bertbench: note: bert-base.fp32.s128.b32.a1.1n2g: 1 of 2 trials give no number "
            "(nan x1)\n");
}

TEST(ResultView, TheGpusOfAJobStandThereWhereOnlyTheirNumberIsKnown) {
  Cell job = unknown_log("a.log");
  job.stated_world_size = 16;
  EXPECT_THAT(seen(result_set({job})).out, HasSubstr("16 GPUs"));
}

TEST(ResultView, FailuresStandInTheTableAlsoWhereAllCellsFailAlike) {
  ResultSet set = result_set({cell(identity(1, 1), {100, 101}), cell(identity(1, 2), {190, 191})});
  EXPECT_THAT(seen(set).out, Not(HasSubstr("failures")));
  for (Cell& one : set.cells) {
    for (Trial& trial : one.trials) trial.outcome = {Status::error, 12, 0, {}};
  }
  const std::string out = seen(set).out;
  EXPECT_THAT(out, HasSubstr("failures"));
  EXPECT_THAT(out, HasSubstr("2 error at step 12"));
}

TEST(ResultView, ATableOfCellsFitsATerminalOf80Columns) {
  const ResultSet set =
      result_set({cell(identity(1, 1), {100, 101, 102}), cell(identity(1, 2), {190, 191, 192})});
  const Seen wide = seen(set, {true, true, false, 160}),
             narrow = seen(set, {true, true, false, 80});
  EXPECT_THAT(wide.out, HasSubstr("bert-base.fp32.s128.b32.a1.1n2g  3"));
  EXPECT_THAT(narrow.out, HasSubstr("bert-base.fp32.s128.b32.a1.1n2g\n    3"));
  std::istringstream lines(narrow.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace bertbench::test
