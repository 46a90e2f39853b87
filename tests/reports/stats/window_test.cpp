#include "reports/stats/window.h"

#include <gtest/gtest.h>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::log_of_counters;
using samples::log_of_seconds;
using samples::notices;

Window apply(const RunLog& log, const std::string& rule) {
  return apply_window(log, samples::window(rule));
}

TEST(Window, ADropsTheFirstRecordsAndUsesThoseUpToTheBth) {
  const RunLog log = log_of_seconds(std::vector<double>(200, 0.1));
  const Window window = apply(log, "100:200");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.first, 100U);
  EXPECT_EQ(window.last, 200U);
  EXPECT_EQ(window.first_step, 100);
  EXPECT_EQ(window.last_step, 200);
  EXPECT_EQ(window.rule, "100:200");
}

TEST(Window, OneRecordTooFewIsNotCovered) {
  const RunLog log = log_of_seconds(std::vector<double>(199, 0.1));
  const Window window = apply(log, "100:200");
  EXPECT_FALSE(window.covered);
  EXPECT_EQ(notices(window), "the log has 199 records, too few for the window 100:200\n");
}

TEST(Window, LastTakesTheLastAndNeedsThemAll) {
  const RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  EXPECT_EQ(apply(log, "last:15").first, 15U);
  EXPECT_TRUE(apply(log, "last:30").covered);
  EXPECT_FALSE(apply(log, "last:31").covered);
  EXPECT_EQ(notices(apply(log, "last:31")),
            "the log has 30 records, too few for the window last:31\n");
}

TEST(Window, StepsCountByTheLogsOwnNumberAndNotByRecords) {
  RunLog log = log_of_seconds(std::vector<double>(50, 0.1));
  for (Record& record : log.records) record.step += 1000;  // a resumed run
  const Window window = apply(log, "steps:1010:1040");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.size(), 30U);
  EXPECT_EQ(window.first_step, 1010);
  EXPECT_EQ(window.last_step, 1040);
  EXPECT_FALSE(apply(log, "steps:10:40").covered);
  EXPECT_FALSE(apply(log, "steps:900:1040").covered) << "steps before the first counter";
  EXPECT_EQ(apply(log, "steps:900:1040").notices.at(0).code, NoticeCode::window_not_covered);
}

TEST(Window, StepsOfExactCountersAreUsedWithoutANotice) {
  const Window window = apply(log_of_counters(10, 200), "steps:20:120");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.size(), 10U);
  EXPECT_EQ(window.first_step, 20);
  EXPECT_EQ(window.last_step, 120);
  EXPECT_EQ(notices(window), "");
}

TEST(Window, StepsBetweenCountersUseTheNearestInsideAndSayWhich) {
  const Window window = apply(log_of_counters(10, 200), "steps:25:118");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.first_step, 30);
  EXPECT_EQ(window.last_step, 110);
  EXPECT_EQ(notices(window),
            "the nearest printed counters inside steps:25:118 are used: steps 30 < n <= 110\n");
  for (const char* one_bound : {"steps:25:120", "steps:20:118"}) {
    EXPECT_EQ(apply(log_of_counters(10, 200), one_bound).notices.size(), 1U) << one_bound;
  }
}

// A bar drawn ten times a second, at 110 steps/s: 59, 71, 82, 93 ...
TEST(Window, StepsCoverABoundInAnIntervalThatIsOneStepLongerThanTheNext) {
  RunLog log = log_of_counters(11, 330);
  for (Record& record : log.records) record.step += 16;
  for (std::size_t i = 0; i < 4; ++i) --log.records[i].step;  // 26, 37, 48, 59, 71, 82 ...
  log.records[4].iterations = 12;
  const Window window = apply(log, "steps:60:300");
  EXPECT_TRUE(window.covered) << notices(window);
  EXPECT_EQ(window.first_step, 71);
  // Lines are missing in an interval that is twice as long as the next.
  log.records.erase(log.records.begin() + 4);
  EXPECT_FALSE(apply(log, "steps:60:300").covered);
}

TEST(Window, ACompletedRunCoversABoundThatItsNextCounterWouldHavePassed) {
  RunLog log = log_of_counters(30, 180);  // of 200 steps, printed every 30
  EXPECT_TRUE(apply(log, "steps:30:200").covered);
  log.outcome.status = Status::killed;
  EXPECT_FALSE(apply(log, "steps:30:200").covered) << "it may have died at step 181";
  EXPECT_TRUE(apply(log, "steps:30:180").covered);
}

TEST(Window, ALogWithoutRecordsCoversNothing) {
  RunLog log;
  for (const char* rule : {"auto", "all", "0:1", "last:1", "steps:0:1"}) {
    const Window window = apply(log, rule);
    EXPECT_FALSE(window.covered) << rule;
    EXPECT_EQ(window.size(), 0U) << rule;
    EXPECT_FALSE(window.first_step) << rule;
  }
  EXPECT_EQ(notices(apply(log, "auto")), "");
}

// What has no time at all is not measured; what has one of another kind than its own seconds is.
TEST(Window, BeginsWithTheFirstRecordThatHasATime) {
  struct Case {
    double rate, time_s, others_s;
    std::int64_t first_step;
  };
  for (const Case& one : {Case{kUnknown, kUnknown, 0.1, 1}, Case{5, kUnknown, 0.1, 0},
                          Case{kUnknown, 5, 0.1, 0}, Case{kUnknown, kUnknown, kUnknown, 0}}) {
    RunLog log = log_of_seconds(std::vector<double>(5, one.others_s));
    log.records[0].seconds = kUnknown;
    log.records[0].printed_rate = one.rate;
    log.records[0].time_s = one.time_s;
    for (std::size_t i = 1; i < 5; ++i) log.records[i].time_s = 5.0 * static_cast<double>(i);
    EXPECT_EQ(apply(log, "all").first_step, one.first_step) << one.rate << one.time_s;
  }
}

TEST(Window, AutoUsesAllOfRecordsWithoutATime) {
  const Window window = apply(log_of_seconds(std::vector<double>(30, kUnknown)), "auto");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.rule, "auto (all)");
}

// Of several ways to time an iteration a fine clock is better than rates that a bar smooths.
TEST(Window, TimesAreThoseOfAFineClockBeforePrintedRates) {
  RunLog log = log_of_seconds(std::vector<double>(5, kUnknown));
  log.clock_resolution_s = 1e-3;
  for (std::size_t i = 0; i < 5; ++i) log.records[i].time_s = 2.0 * static_cast<double>(i);
  for (Record& record : log.records) record.printed_rate = 4;
  EXPECT_EQ(iteration_times(log)[3], 2);
  log.clock_resolution_s = 1;
  EXPECT_EQ(iteration_times(log)[3], 0.25);
}

TEST(Window, AutoUsesAllOfFewRecordsWithANotice) {
  const Window window = apply(log_of_seconds(std::vector<double>(19, 0.1)), "auto");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.size(), 19U);
  EXPECT_EQ(window.rule, "auto (all)");
  EXPECT_NE(notices(window).find("only 19 records"), std::string::npos);
}

TEST(Window, AutoTellsHowMuchSlowerTheFirstOfFewRecordsIs) {
  std::vector<double> seconds{2.0, 1.8, 2.0, 2.0, 2.2};
  EXPECT_EQ(notices(apply(log_of_seconds(seconds), "auto")).find("median"), std::string::npos);
  seconds.front() = 4.5;  // perhaps it holds a compilation
  EXPECT_NE(notices(apply(log_of_seconds(seconds), "auto"))
                .find("an iteration of the first takes 2.25 times as long as the median of the "
                      "others: without it, as by --window 1:5, the rate is 25 % higher"),
            std::string::npos);
  EXPECT_NE(notices(apply(log_of_seconds({1.5, 1, 1, 1, 4}), "auto"))
                .find("1.50 times as long as the median of the others: without it, as by --window "
                      "1:5, the rate is 2.9 % lower"),
            std::string::npos)
      << "a pause later on weighs more than the first";
}

// Building the graph is no training, and of a short run it is most of the time.
TEST(Window, AutoLeavesOutAFirstRecordThatHoldsTheStartOfTheRun) {
  std::vector<double> seconds{2.7, 0.09, 0.07, 0.08, 0.07, 0.08, 0.07};
  const Window few = apply(log_of_seconds(seconds), "auto");
  EXPECT_EQ(few.first, 1U);
  EXPECT_TRUE(few.covered);
  EXPECT_EQ(few.rule, "auto (start-up left out: 1:7)");
  EXPECT_NE(notices(few).find("the first holds the start of the run, an iteration of it takes 34 "
                              "times as long"),
            std::string::npos)
      << notices(few);
  EXPECT_EQ(apply(log_of_seconds(seconds), "all").first, 0U);
  // Others as slow are no start.
  seconds[3] = 2.5;
  EXPECT_EQ(apply(log_of_seconds(seconds), "auto").first, 0U);
  // Two to four others must be far below, by more than they differ.
  EXPECT_EQ(apply(log_of_seconds({2.7, 0.09, 0.07, 0.08}), "auto").first, 1U);
  EXPECT_EQ(apply(log_of_seconds({0.25, 0.09, 0.07, 0.08}), "auto").first, 0U);
  EXPECT_EQ(apply(log_of_seconds({0.32, 0.09, 0.05, 0.08}), "auto").first, 0U);
  EXPECT_EQ(apply(log_of_seconds({2.7, 0.09, 0.05, 0.08}), "auto").first, 1U);
  EXPECT_EQ(apply(log_of_seconds({2.7, 0.09, 0.08}), "auto").first, 1U);
  EXPECT_EQ(apply(log_of_seconds({0.3, 0.09, 0.05}), "auto").first, 0U);
  // One other takes at most half, and not so little that it may only have sent its work.
  EXPECT_EQ(apply(log_of_seconds({0.9, 0.4}), "auto").first, 1U);
  EXPECT_EQ(apply(log_of_seconds({0.7, 0.4}), "auto").first, 0U);
  EXPECT_EQ(apply(log_of_seconds({2.7, 0.09}), "auto").first, 0U);
  EXPECT_EQ(apply(log_of_seconds({40, 0.9, 0.08}), "auto").first, 1U) << "the second is no start";
  EXPECT_EQ(apply(log_of_seconds({1, 0, 0, 0, 0}), "auto").first, 0U) << "nothing has a time";
  // Megatron-LM's first 400 iterations of a BERT: three records that agree within 0.3 %, and the
  // first.
  EXPECT_EQ(apply(log_of_seconds({1456.7, 819.8, 822.4, 820.9}), "auto").first, 1U);
  EXPECT_EQ(apply(log_of_seconds({1456.7, 819.8, 880.4, 820.9}), "auto").first, 0U);
  EXPECT_EQ(apply(log_of_seconds({1456.7, 819.8, 820.9}), "auto").first, 0U);
  EXPECT_EQ(apply(log_of_seconds({1.3, 1, 1, 1}), "auto").first, 0U) << "rounded values";
  // The start of one that takes a thousandth of the time is no matter.
  EXPECT_EQ(apply(log_of_seconds({0.1002, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}), "auto").first, 0U);
}

// A first step that only sends its work to a device takes less than those that wait for it.
TEST(Window, AutoLeavesOutAFirstRecordThatTakesNoTime) {
  EXPECT_EQ(apply(log_of_seconds({0.6, 10.2, 10.3}), "auto").first, 1U);
  EXPECT_EQ(apply(log_of_seconds({4.0, 10.2, 10.3}), "auto").first, 0U);
  const Window uneven = apply(log_of_seconds({0.6, 10.2, 20.3}), "auto");
  EXPECT_EQ(uneven.first, 0U);
  EXPECT_EQ(notices(uneven).find("times as long"), std::string::npos) << notices(uneven);
  EXPECT_EQ(apply(log_of_seconds({0.6, 10.2}), "auto").first, 0U);
}

// JAX compiles in its first step and only sends the work of the second (MaxText's log).
TEST(Window, AutoLeavesOutWhatIsOnlySentAfterTheStart) {
  const Window window = apply(log_of_seconds({44.9, 0.32, 5.66, 5.4, 5.67, 5.67}), "auto");
  EXPECT_EQ(window.rule, "auto (start-up left out: 2:6)");
  EXPECT_EQ(apply(log_of_seconds({44.9, 2.1, 5.66, 5.4, 5.67, 5.67}), "auto").first, 1U);
  EXPECT_EQ(apply(log_of_seconds({kUnknown, 44.9, 0.32, 5.66, 5.4, 5.67, 5.67}), "auto").first, 2U)
      << "two records at most";
}

// A clock that counts from the start of the run holds the time of its first record.
TEST(Window, AutoLeavesOutAStartThatTheClockOfTheRunShows) {
  RunLog log = log_of_seconds(std::vector<double>(5, kUnknown));
  for (std::size_t i = 0; i < log.records.size(); ++i) {
    log.records[i].time_s = 40 + 2 * static_cast<double>(i);
  }
  EXPECT_EQ(apply(log, "auto").first, 1U);
  for (Record& record : log.records) record.step += 100;  // of a log that begins later
  EXPECT_EQ(apply(log, "auto").first, 0U);
}

// The last step of an epoch may hold a part of an accumulation.
TEST(Window, AutoLeavesOutALastOfFewRecordsThatIsMuchShorter) {
  const Window window = apply(log_of_seconds({0.52, 0.53, 0.52, 0.13}), "auto");
  EXPECT_EQ(window.last, 3U);
  EXPECT_EQ(window.rule, "auto (short end left out: 0:3)");
  ASSERT_EQ(window.notices.size(), 1U);
  EXPECT_EQ(window.notices[0].code, NoticeCode::short_end_left_out);
  EXPECT_EQ(notices(window).find("all used"), std::string::npos) << notices(window);
  EXPECT_EQ(apply(log_of_seconds({0.52, 0.53, 0.52, 0.26}), "auto").last, 4U);
  EXPECT_EQ(apply(log_of_seconds({0.52, 0.9, 0.52, 0.13}), "auto").last, 4U);
}

// A warm-up is slower than what follows it: MSER-5 would leave out the fast half.
TEST(Window, AutoKeepsAFastFront) {
  std::vector<double> seconds(24, 0.16);
  for (std::size_t i = 10; i < seconds.size(); ++i) seconds[i] = i % 2 == 0 ? 0.24 : 0.26;
  const Window window = apply(log_of_seconds(seconds), "auto");
  EXPECT_EQ(window.rule, "auto (all)");
  EXPECT_EQ(window.first, 0U);
  ASSERT_EQ(window.notices.size(), 1U);
  EXPECT_EQ(window.notices[0].code, NoticeCode::fast_start_in_window);
  EXPECT_NE(notices(window).find("after the first 10 records takes 1.56 times as long"),
            std::string::npos)
      << notices(window);
}

// TensorFlow's step 0 is one iteration without a time, the compilation is in the hundred after it.
TEST(Window, AutoCountsARecordWithoutATimeToTheSlowFirst) {
  RunLog log = log_of_seconds({kUnknown, 600, 400, 400, 400});
  log.records[0].iterations = 1;
  for (std::size_t i = 1; i < 5; ++i) log.records[i].iterations = 100;
  EXPECT_NE(notices(apply(log, "auto"))
                .find("an iteration of the first takes 1.50 times as long as the median of the "
                      "others: without it, as by --window 2:5, the rate is 13 % higher"),
            std::string::npos)
      << notices(apply(log, "auto"));
}

TEST(Window, AutoNamesTheCutThatItFound) {
  std::vector<double> seconds(200, 0.1);
  for (std::size_t i = 0; i < 30; ++i) seconds[i] = 0.3;
  const Window window = apply(log_of_seconds(seconds), "auto");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.first, 30U);
  EXPECT_EQ(window.rule, "auto (mser-5: 30:200)");
  EXPECT_EQ(notices(window), "");
}

// Pauses here and there hide the first record from MSER-5.
// The clock begins with the first record; only its rate shows that it held a compilation.
TEST(Window, AutoLeavesOutAFirstRecordThatIsSlowByItsPrintedRateAlone) {
  RunLog log = log_of_seconds(std::vector<double>(60, 0.1));
  log.records.front().seconds = kUnknown;
  for (Record& record : log.records) record.printed_rate = 640;
  EXPECT_EQ(apply(log, "auto").first, 0U);
  log.records.front().printed_rate = 48;
  EXPECT_EQ(apply(log, "auto").first, 5U);
  log.records.front().printed_rate = 590;
  EXPECT_EQ(apply(log, "auto").first, 0U) << "8 % are no warm-up";
  log.records.front().printed_rate = 0;
  EXPECT_EQ(apply(log, "auto").first, 0U) << "a rate of 0 says nothing";
}

TEST(Window, AutoTellsASlowFirstRecordThatItKeeps) {
  std::vector<double> seconds(25, 0.1);
  for (const std::size_t slow : {6, 13, 19, 23}) seconds[slow] = 0.2;
  EXPECT_EQ(notices(apply(log_of_seconds(seconds), "auto")), "");
  seconds.front() = 0.12;
  EXPECT_EQ(notices(apply(log_of_seconds(seconds), "auto")), "") << "a hundredth of the time";
  seconds.front() = 0.25;
  const Window window = apply(log_of_seconds(seconds), "auto");
  EXPECT_EQ(window.first, 0U);
  EXPECT_NE(notices(window).find("takes 2.50 times as long as the median of the others, 5 % of"),
            std::string::npos)
      << notices(window);
}

TEST(Window, AutoWithoutASteadyStateUsesAllAndSaysSo) {
  std::vector<double> seconds(100, 0.1);
  for (std::size_t i = 0; i < 70; ++i) seconds[i] = 0.3;
  const Window window = apply(log_of_seconds(seconds), "auto");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.size(), 100U);
  EXPECT_NE(notices(window).find("no steady state"), std::string::npos);
}

TEST(Window, CountsWhenTheLossBecomesNanAfterIt) {
  RunLog log = log_of_seconds(std::vector<double>(300, 0.1));
  log.outcome.status = Status::nan;
  log.first_nan_step = 250;
  for (std::size_t i = 249; i < 300; ++i) log.records[i].loss = kUnknown;
  EXPECT_EQ(usable_records(log), 249U);
  EXPECT_TRUE(apply(log, "100:200").covered);
  EXPECT_TRUE(apply(log, "100:249").covered);
  EXPECT_FALSE(apply(log, "100:250").covered);
  EXPECT_FALSE(apply(log, "all").covered);
  const Window window = apply(log, "steps:200:300");
  EXPECT_FALSE(window.covered);
  EXPECT_NE(notices(window).find("NaN or infinite from step 250"), std::string::npos);
}

TEST(Window, AutoChoosesAmongWhatStandsInFrontOfANanLoss) {
  std::vector<double> seconds(300, 0.1);
  for (std::size_t i = 0; i < 5; ++i) seconds[i] = 2;
  RunLog log = log_of_seconds(seconds);
  log.outcome.status = Status::nan;
  log.first_nan_step = 250;
  for (std::size_t i = 249; i < 300; ++i) {
    log.records[i].loss = kUnknown;
    log.records[i].seconds = 0.01;
  }
  const Window window = apply(log, "auto");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.first, 5U);
  EXPECT_EQ(window.last, 249U);
  EXPECT_NE(notices(window).find("of 300 records the first 249 are used"), std::string::npos);
  // One that broke early has no number.
  log.first_nan_step = 20;
  EXPECT_FALSE(apply(log, "auto").covered);
  log.first_nan_step = 21;
  EXPECT_TRUE(apply(log, "auto").covered);
  // One whose last loss alone is NaN has.
  log.records.resize(10);
  log.first_nan_step = 10;
  EXPECT_TRUE(apply(log, "auto").covered);
  EXPECT_EQ(apply(log, "auto").last, 9U);
  EXPECT_EQ(apply(log, "5:20").notices.size(), 1U) << "too few, and not broken as well";
}

TEST(Window, AnUnknownLossIsNotANanLoss) {
  RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  for (Record& record : log.records) record.loss = kUnknown;
  EXPECT_EQ(usable_records(log), 30U);
}

TEST(Window, RecordsAfterTheLineOfAFailureDoNotCount) {
  RunLog log = log_of_seconds(std::vector<double>(100, 0.1));
  log.outcome = {.status = Status::out_of_memory, .step = 60, .line = 60, .details = {}};
  EXPECT_EQ(usable_records(log), 60U);
  EXPECT_TRUE(apply(log, "10:60").covered);
  EXPECT_FALSE(apply(log, "10:61").covered);
}

TEST(Window, AKilledRunKeepsTheWindowThatItCovered) {
  RunLog log = log_of_seconds(std::vector<double>(150, 0.1));
  log.outcome.status = Status::killed;
  EXPECT_TRUE(apply(log, "50:150").covered);
  EXPECT_TRUE(apply(log, "all").covered);
  EXPECT_FALSE(apply(log, "100:200").covered);
  log.outcome.line = 120;
  EXPECT_TRUE(apply(log, "all").covered) << "it went on until the signal took it";
}

TEST(Window, MergedRecordsKeepTheirPlaceInTheCount) {
  RunLog log = log_of_seconds(std::vector<double>(100, 0.1));
  for (std::size_t i = 50; i < 100; ++i) {  // 50 records that stand for 100 of the log
    log.records[i].merged = 2;
    log.records[i].iterations = 2;
  }
  const Window window = apply(log, "10:150");
  EXPECT_TRUE(window.covered);
  EXPECT_EQ(window.first, 10U);
  EXPECT_EQ(window.last, 100U);
  EXPECT_FALSE(apply(log, "10:151").covered);
  EXPECT_EQ(apply(log, "last:20").size(), 10U);
}

}  // namespace
}  // namespace bertbench
