// The convergence study of the DGX-2 note (seed 000), and scores out of logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "reports/studies/convergence/study_report.h"
#include "tests/golden.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Study published(const std::map<std::int64_t, double>& seconds = {}) {
  Study study;
  const auto read =
      read_study(BB_SOURCE_DIR "/tests/data/published/seed000_dgx2_tensorflow_pytorch.csv", study);
  EXPECT_TRUE(read) << read.error().message();
  derive(study, seconds);
  return study;
}

std::vector<std::pair<double, double>> points(const plot::Series& series) {
  std::vector<std::pair<double, double>> out;
  for (const plot::Point& point : series.points) out.emplace_back(point.x, point.y);
  return out;
}

TEST(Convergence, ReadsTheSeventeenCheckpointsOfThePublishedTable) {
  const Study study = published();
  ASSERT_THAT(study.checkpoints, SizeIs(17));
  const Checkpoint& last = study.checkpoints.back();
  EXPECT_EQ(last.step, 8601);
  EXPECT_EQ(last.phase, 2);
  EXPECT_EQ(last.sequence_length, 512);
  EXPECT_EQ(last.from_step, 7038);
  EXPECT_EQ(last.hours, 24.70);
  EXPECT_EQ(last.exact_match, 81.07);
  EXPECT_EQ(last.f1, 88.45);
}

// The note as it lies: Markdown in a .txt file, a heading over two rows, blank rows between groups.
TEST(Convergence, ThePageAsItLiesGivesTheSameCheckpoints) {
  const std::string path = BB_SOURCE_DIR "/../shared/seeds/000_3474513dc4720f47.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the third-party page is not here: " << path;
  Study study;
  const auto read = read_study(path, study);
  ASSERT_TRUE(read) << read.error().message();
  derive(study, {});
  const Study copied = published();
  ASSERT_THAT(study.checkpoints, SizeIs(17));
  for (std::size_t i = 0; i < 17; ++i) {
    const Checkpoint &a = study.checkpoints[i], &b = copied.checkpoints[i];
    EXPECT_EQ(
        std::tie(a.step, a.sequence_length, a.phase, a.from_step, a.hours, a.exact_match, a.f1),
        std::tie(b.step, b.sequence_length, b.phase, b.from_step, b.hours, b.exact_match, b.f1))
        << a.source;
  }
  EXPECT_TRUE(study.checkpoints[0].source.ends_with(":163")) << study.checkpoints[0].source;
}

TEST(Convergence, ATablePastedWithBlanksOrOneCellALineIsRead) {
  for (const char* text : {"Scores\n\nstepping last seq len exact match f1\n4981 128 72.39 81.29\n",
                           "step  seq_len  exact_match  f1\n4981  128      72.39        81.29\n",
                           "stepping\nlast seq len\nexact match\nf1\n4981\n128\n72.39\n81.29\n"}) {
    Study study;
    const auto found = read_study_tables(text, "page.txt", study);
    ASSERT_TRUE(found) << text;
    ASSERT_TRUE(*found) << text;
    ASSERT_THAT(study.checkpoints, SizeIs(1)) << text;
    EXPECT_EQ(study.checkpoints[0].step, 4981);
    EXPECT_EQ(study.checkpoints[0].sequence_length, 128);
    EXPECT_EQ(study.checkpoints[0].f1, 81.29);
  }
}

// Hours are steps times seconds a step: 8.19 s in phase 1, 19.93 to 20.02 s in phase 2, in every
// row (also in that of step 8186, which looks like a slip for 8168 and is none).
TEST(Convergence, EveryRowImpliesTheSameSecondsAStep) {
  for (const Checkpoint& row : published().checkpoints) {
    ASSERT_TRUE(row.seconds_per_step) << *row.step;
    if (row.phase == 1) {
      EXPECT_NEAR(*row.seconds_per_step, 8.19, 0.005) << *row.step;
    } else {
      EXPECT_GE(*row.seconds_per_step, 19.92) << *row.step;
      EXPECT_LE(*row.seconds_per_step, 20.03) << *row.step;
    }
  }
}

// The other way round: from steps and two rates all printed hours come out within 0.06 h, the
// phase-1 ones within 0.01 h. No pair of rates gives all to the digit: 16.02 h for 7038 steps needs
// at least 8.1917 s a step, 13.60 h for 5981 at most 8.1889.
TEST(Convergence, HoursAreCalculatedFromStepsWhereATableHasNone) {
  Study study = published();
  const Study printed = study;
  study.stability.clear();
  for (Checkpoint& row : study.checkpoints) {
    row.hours.reset();
    row.seconds_per_step.reset();
  }
  derive(study, {{128, 8.19}, {512, 19.97}});
  for (std::size_t i = 0; i < study.checkpoints.size(); ++i) {
    const Checkpoint& row = study.checkpoints[i];
    ASSERT_TRUE(row.hours);
    EXPECT_TRUE(row.hours_calculated);
    EXPECT_NEAR(*row.hours, *printed.checkpoints[i].hours, row.phase == 1 ? 0.012 : 0.06)
        << *row.step;
  }
}

TEST(Convergence, ThePlotsAreThoseOfTheNote) {
  const auto figures = study_figures(published());
  ASSERT_THAT(figures, SizeIs(3));
  EXPECT_EQ(figures[0].id, "phase1");
  ASSERT_THAT(figures[0].series, SizeIs(1));
  EXPECT_THAT(points(figures[0].series[0]),
              ElementsAre(std::pair{4981.0, 72.39}, std::pair{5981.0, 73.42},
                          std::pair{6976.0, 73.57}, std::pair{7038.0, 74.26}));
  EXPECT_EQ(figures[1].id, "phase2");
  ASSERT_THAT(figures[1].series, SizeIs(4));
  EXPECT_EQ(figures[1].series[3].name, "from step 7038");
  EXPECT_THAT(points(figures[1].series[3]),
              ElementsAre(std::pair{7528.0, 80.55}, std::pair{8028.0, 80.78},
                          std::pair{8528.0, 81.41}, std::pair{8601.0, 81.07}));
  EXPECT_EQ(figures[2].id, "hours");
  std::size_t all = 0;
  for (const plot::Series& series : figures[2].series) all += series.points.size();
  EXPECT_EQ(all, 17U);
}

TEST(Convergence, ItsReportsAreAsStored) {
  Study study = published();
  for (const char* seed : {"7", "8"}) {  // the last row was fine-tuned twice more
    study.checkpoints.push_back(study.checkpoints.back());
    study.checkpoints.back().seed = seed;
    *study.checkpoints.back().exact_match += 0.5;
  }
  for (Checkpoint& row : study.checkpoints) row.source = "table.csv";
  study.checkpoints[3].hours.reset();
  study.checkpoints[3].seconds_per_step.reset();
  derive(study, {{512, 19.97}});
  const std::string stored = "tests/golden/reports/convergence.";
  test::expect_golden(stored + "html", test::page_body(study_html(study, "T"), "<footer>"));
  test::expect_golden(stored + "md", study_markdown(study, "T", "my study"));
  test::expect_golden(stored + "csv", study_csv(study));
  test::expect_golden(stored + "json", study_json(study).dump(1));
}

// "nearly equal total pre training times but with different phase 1 seeds [have] almost identical
// exact match": 17.94 to 18.04 h give 80.38 to 80.67.
TEST(Convergence, EqualHoursGiveNearlyEqualScoresWhateverThePhaseOneCheckpoint) {
  double low = 100, high = 0;
  for (const Checkpoint& row : published().checkpoints) {
    if (row.phase != 2 || std::abs(*row.hours - 18.0) > 0.1) continue;
    low = std::min(low, *row.exact_match);
    high = std::max(high, *row.exact_match);
  }
  EXPECT_EQ(low, 80.38);
  EXPECT_EQ(high, 80.67);
}

TEST(Convergence, EpochsOfFineTuningMakeAPlotOfTheirOwn) {
  Study study;
  ASSERT_TRUE(read_study_tables("step,epochs,exact_match\n8601,1,80.1\n8601,2,81.07\n8601,4,79.9\n",
                                "e.csv", study));
  derive(study, {});
  const auto figures = study_figures(study);
  ASSERT_THAT(figures, SizeIs(1));
  EXPECT_EQ(figures[0].id, "epochs");
  EXPECT_THAT(points(figures[0].series[0]),
              ElementsAre(std::pair{1.0, 80.1}, std::pair{2.0, 81.07}, std::pair{4.0, 79.9}));
}

TEST(Convergence, SeedsGiveMeanAndStandardDeviation) {
  Study study;
  ASSERT_TRUE(
      read_study_tables("step,seed,exact_match,f1\n1,a,83.6,90.5\n1,b,84.0,90.7\n1,c,84.4,90.9\n"
                        "2,a,1,2\n",
                        "s.csv", study));
  derive(study, {});
  ASSERT_THAT(study.stability, SizeIs(1));
  EXPECT_EQ(study.stability[0].n, 3);
  EXPECT_NEAR(*study.stability[0].exact_match_mean, 84.0, 1e-12);
  EXPECT_NEAR(*study.stability[0].exact_match_stddev, 0.4, 1e-12);
  EXPECT_NEAR(*study.stability[0].f1_stddev, 0.2, 1e-12);
}

TEST(Convergence, RowsOfOneSeedAreOneAndCheckpointsOfDifferentParentsTwo) {
  Study study;
  ASSERT_TRUE(read_study_tables(
      "step,phase,from_step,seed,exact_match\n9,2,5,a,80\n9,2,5,a,82\n9,2,5,b,83\n"
      "9,2,6,a,50\n8,1,,a,70\n8,1,,a,71\n",
      "s.csv", study));
  derive(study, {});
  ASSERT_THAT(study.stability, SizeIs(1)) << "one seed has no spread";
  EXPECT_EQ(study.stability[0].n, 2);
  EXPECT_EQ(study.stability[0].exact_match_mean, 82);
  EXPECT_THAT(study.notices, SizeIs(2));
  EXPECT_EQ(study.notices[0].code, NoticeCode::seed_stands_twice);
}

TEST(Convergence, SeedsAreOnePointOfAPlotWithTheirRange) {
  Study study;
  ASSERT_TRUE(read_study_tables(
      "step,seed,exact_match\n1000,a,70\n1000,b,72\n1000,c,77\n2000,a,75\n", "s.csv", study));
  derive(study, {});
  const auto figures = study_figures(study);
  ASSERT_THAT(figures, SizeIs(1));
  ASSERT_THAT(points(figures[0].series[0]),
              ElementsAre(std::pair{1000.0, 73.0}, std::pair{2000.0, 75.0}));
  EXPECT_EQ(figures[0].series[0].points[0].interval, (std::pair{70.0, 77.0}));
}

TEST(Convergence, HoursThatCannotBeCalculatedAreNamed) {
  for (const char* later : {"100,1000", "100,", "1100,1000"}) {
    Study study;
    ASSERT_TRUE(read_study_tables("phase,step,from_step,sequence_length,f1\n1,1000,,128,85\n2," +
                                      std::string(later) + ",512,88\n",
                                  "s.csv", study));
    derive(study, {{128, 3.6}, {512, 36}});
    EXPECT_EQ(study.checkpoints[0].hours, 1);
    const bool known = later[1] == '1';
    EXPECT_EQ(study.checkpoints[1].hours, known ? std::optional(2.0) : std::nullopt) << later;
    EXPECT_THAT(study.notices, SizeIs(known ? 0 : 1)) << later;
  }
}

// NGC card (seed 001), five seeds of SQuAD fine-tuning: the printed EM mean 83.961 and standard
// deviation 0.266, F1 90.683 and 0.160.
TEST(Convergence, ScoresOfEveryWayOfWriting) {
  const auto score = [](std::string_view text) {
    const SquadScore out = squad_score(text);
    return std::pair{out.exact_match.value_or(-1), out.f1.value_or(-1)};
  };
  const std::pair expected{84.47492904446547, 90.96846445339581};
  EXPECT_EQ(score(R"({"exact_match": 84.47492904446547, "f1": 90.96846445339581})"), expected);
  EXPECT_EQ(score("INFO:gluonnlp:{'exact_match': 84.47492904446547, 'f1': 90.96846445339581}\n"),
            expected);
  EXPECT_EQ(
      score("  eval_exact_match        =    84.47492904446547\n  eval_f1 = 90.96846445339581\n"),
      expected);
  EXPECT_EQ(score("DLL 2020 - exact_match : 84.47492904446547  F1 : 90.96846445339581 "), expected);
  EXPECT_EQ(score("{\"exact\": 70.5, \"f1\": 75.5}\n{\"exact\": 84.47492904446547, \"f1\": "
                  "90.96846445339581}"),
            expected);
  EXPECT_EQ(score("{\"exact_match\": 0.845, \"f1\": 0.91}").first, 84.5);
  EXPECT_EQ(score("inexact_match: 3, the f10: 12, exact: maybe"), (std::pair{-1.0, -1.0}));
}

TEST(Convergence, ALogTellsItsCheckpointByItsPath) {
  const test::ScratchFolder folder;
  const std::string log = "phase2_ckpt_8574_seed42_epochs2.log";
  Study study;
  ASSERT_TRUE(read_study(
      folder.put(log, "{\"exact_match\": 84.47492904446547, \"f1\": 90.96846445339581}"), study));
  EXPECT_EQ(study.checkpoints[0].step, 8574);
  EXPECT_EQ(study.checkpoints[0].phase, 2);
  EXPECT_EQ(study.checkpoints[0].seed, "42");
  EXPECT_EQ(study.checkpoints[0].epochs, 2.0);
  ASSERT_TRUE(read_study(folder.put("study.csv", "step,log\n8574," + log + "\n"), study));
  EXPECT_EQ(study.checkpoints[1].f1, 90.96846445339581);
  EXPECT_THAT(read_study(folder.put("a.csv", "epochs,f1\n1,80\n"), study).error().message(),
              HasSubstr("holds no table with a column step"));
  EXPECT_THAT(read_study(folder.put("empty.log", "no scores"), study).error().message(),
              HasSubstr("no exact match"));
}

TEST(Convergence, WhatIsWrongInATableIsNamedWithItsLine) {
  Study study;
  const auto message = [&](std::string_view text) {
    const auto read = read_study_tables(text, "t.csv", study);
    return read ? std::string("no error") : read.error().message();
  };
  EXPECT_THAT(message("step,f1\n12,x\n"), HasSubstr("t.csv:2: 'x' in column f1"));
  EXPECT_THAT(message("step,f1\n1.5,80\n"), HasSubstr("no whole number"));
  EXPECT_THAT(message("step,phase,f1\n1,0,80\n"),
              HasSubstr("'0' in column phase is no whole number"));
  EXPECT_THAT(message("step,hours,f1\n1,-1,80\n"), HasSubstr("no number of at least 0"));
  EXPECT_THAT(message("step,f1\n1,101\n"), HasSubstr("no number from 0 to 100"));
  EXPECT_EQ(*read_study_tables("a,b\n1,2\n", "t.csv", study), false);
  study = {};
  EXPECT_EQ(message("step,exact_match,f1\n1,0.81,0.88\n2,81,80\n"), "no error");
  EXPECT_EQ(study.checkpoints[0].f1, 88);
  derive(study, {});
  EXPECT_THAT(texts_of(study.notices),
              ElementsAre("t.csv:2: scores up to 1 are fractions: multiplied by 100",
                          "t.csv:3: the exact match, 81, is above F1, 80, which it cannot be"));
}

}  // namespace
}  // namespace bertbench
