#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string line(const std::string& of, const std::string& elapsed, const std::string& tail = "") {
  return of + " = 1.5%, SPS: 2.3, ELAP: " + elapsed + ", ETA: 1:12:20" + tail + "\n";
}

TEST(Electra, TakesElapForItsClock) {
  const auto runs = read_text("Running training\n" + line("100/300", "43", " - loss: 30.1250") +
                              line("200/300", "1:27", " - loss: 24.5000") +
                              line("300/300", "1 day, 0:02:10", " - loss: 19.2500") +
                              line("300/300", "1 day, 0:02:10"));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(run.clock_resolution_s, 1);
  EXPECT_EQ(run.records[1].time_s - run.records[0].time_s, 44);
  EXPECT_EQ(run.records[2].time_s - run.records[1].time_s, 86400 + 130 - 87);
  EXPECT_EQ(run.records[2].loss, 19.25);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_TRUE(run.notices.empty());
}

TEST(Electra, CountsTheTimeOfTheFirstLineAndTheStepsOfItsSession) {
  const auto fresh =
      read_text(line("100/300", "43", " - loss: 3.5") + line("200/300", "1:27", " - loss: 2.5"));
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].records.at(0).iterations, 100);
  EXPECT_EQ(fresh[0].records.at(0).time_s, 43);
  const auto resumed = read_text(line("5100/5300", "43", " - loss: 3.5") +
                                 line("5200/5300", "1:27", " - loss: 2.5"));
  ASSERT_EQ(resumed.size(), 1u);
  EXPECT_NEAR(static_cast<double>(resumed[0].records.at(0).iterations), 100, 5);
}

TEST(Electra, LeavesEvaluationsOut) {
  const std::string evaluation = line("10/55", "4") + line("20/55", "8") + line("55/55", "20");
  const auto runs =
      read_text(line("100/300", "43", " - loss: 3.5") + line("200/300", "1:27", " - loss: 2.5") +
                evaluation + evaluation + line("300/300", "2:31", " - loss: 2.25"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Electra, AnotherTrialIsAnotherRunAndLinesWithoutALossAreTold) {
  const std::string trial =
      line("100/200", "43", " - loss: 3.5") + line("200/200", "1:27", " - loss: 2.5");
  EXPECT_EQ(read_text(trial + trial).size(), 2u);
  const auto runs = read_text(line("1000/3000", "43") + line("2000/3000", "1:26"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("no loss"));
}

TEST(Electra, IsNotMisledByOtherLines) {
  for (const char* text :
       {"%, SPS: 3, ELAP: 4, ETA: 5\n", "/ = 1%, SPS: 3, ELAP: 4, ETA: 5\n",
        "a/b = 1%, SPS: 3, ELAP: 4, ETA: 5\n", "1/9 = 1%, SPS: 3, ELAP: later, ETA: 5\n",
        "1/9 = 1%, SPS: 3, ELAP: \n", " = %, SPS: "}) {
    EXPECT_TRUE(read_text(text).empty()) << text;
  }
}

}  // namespace
}  // namespace bertbench
