#include "reports/measure/time_parts.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

// A step of 1 s each, on a clock that starts 30 s before the first step; line = step.
RunLog stamped(std::size_t n, double start_up = 30) {
  RunLog log = samples::log_of_seconds(std::vector<double>(n, 1.0));
  double clock = start_up;
  for (Record& record : log.records) record.time_s = clock += 1;
  log.clock_is_wall = true;
  log.clock_resolution_s = 1e-3;
  return log;
}

void delay(RunLog& log, std::size_t from, double seconds) {
  for (std::size_t i = from; i < log.records.size(); ++i) log.records[i].time_s += seconds;
}

TEST(TimeParts, AnEvenRunIsStartUpAndSteadyTraining) {
  const auto parts = time_parts(stamped(100)).value();
  EXPECT_NEAR(parts.of(TimePart::start_up), 30, 1e-9);
  EXPECT_NEAR(parts.of(TimePart::steady), 100, 1e-9);
  EXPECT_NEAR(parts.total_s, 130, 1e-9);
  ASSERT_EQ(parts.spans.size(), 2U);
  EXPECT_NEAR(parts.spans[1].begin_s, 30, 1e-9);
}

TEST(TimeParts, EvaluationCheckpointAndStallAreToldApartByTheLogsOwnWords) {
  RunLog log = stamped(200);
  delay(log, 50, 20);   // before the line of step 51
  delay(log, 100, 8);   // step 101
  delay(log, 150, 40);  // step 151: no line gives the reason
  log.marks = {{MarkKind::evaluation, 51}, {MarkKind::checkpoint, 101}};
  log.totals.wall_s = 30 + 200 + 68 + 12;
  const auto parts = time_parts(log).value();
  EXPECT_NEAR(parts.of(TimePart::evaluation), 20, 1e-9);
  EXPECT_NEAR(parts.of(TimePart::checkpoint), 8, 1e-9);
  EXPECT_NEAR(parts.of(TimePart::stall), 40, 1e-9);
  EXPECT_NEAR(parts.of(TimePart::tail), 12, 1e-9);
  EXPECT_NEAR(parts.of(TimePart::steady), 200, 1e-9);
  EXPECT_NEAR(parts.total_s, *log.totals.wall_s, 1e-9);
}

TEST(TimeParts, AnEvaluationThatTheClockLeavesOutStandsWhereTheLogHasIt) {
  RunLog log = stamped(200);
  log.leave_out(101, 20);
  log.totals.wall_s = 30 + 200 + 20 + 12;
  const auto parts = time_parts(log).value();
  EXPECT_NEAR(parts.total_s, *log.totals.wall_s, 1e-9);
  EXPECT_NEAR(parts.of(TimePart::tail), 12, 1e-9);
  ASSERT_EQ(parts.spans.size(), 5U);
  EXPECT_EQ(parts.spans[2].part, TimePart::evaluation);
  EXPECT_NEAR(parts.spans[2].begin_s, 30 + 100, 1e-9);
  EXPECT_NEAR(parts.spans[2].end_s, 30 + 120, 1e-9);
}

TEST(TimeParts, TheSumOfThePartsIsTheTotalAndTheSpansHaveNoGaps) {
  RunLog log = stamped(300);
  for (std::size_t i = 0; i < 40; ++i) log.records[i].seconds = 2;
  double clock = 5;
  for (Record& record : log.records) record.time_s = clock += record.seconds;
  delay(log, 120, 15);
  const auto parts = time_parts(log).value();
  EXPECT_NEAR(parts.of(TimePart::warm_up), 80, 1e-9);
  EXPECT_NEAR(std::accumulate(parts.seconds.begin(), parts.seconds.end(), 0.0), parts.total_s,
              1e-9);
  double at = 0;
  for (const TimeSpan& span : parts.spans) {
    EXPECT_EQ(span.begin_s, at);
    at = span.end_s;
  }
  EXPECT_EQ(at, parts.total_s);
}

TEST(TimeParts, AnOverlongTimelineKeepsItsLongestStretchesAndAllSums) {
  RunLog log = stamped(2000);
  for (std::size_t i = 10; i < 2000; i += 10) delay(log, i, 3 + 0.01 * double(i));
  const auto parts = time_parts(log).value();
  EXPECT_LE(parts.spans.size(), kMostSpans);
  EXPECT_GT(parts.of(TimePart::stall), 199 * 3);
  EXPECT_EQ(parts.spans.back().end_s, parts.total_s);
}

TEST(TimeParts, WithoutTimeStampsOrWithFewRecordsThereIsNothingToTell) {
  RunLog log = stamped(100);
  log.clock_is_wall = false;
  EXPECT_FALSE(time_parts(log));
  EXPECT_FALSE(time_parts(stamped(19)));
  RunLog back = stamped(100);
  back.records[50].time_s = 0;
  EXPECT_FALSE(time_parts(back));
}

TEST(TimeParts, NamesAreThoseOfTheSchema) {
  EXPECT_EQ(name(TimePart::start_up), "start_up");
  EXPECT_EQ(name(TimePart::tail), "tail");
}

}  // namespace
}  // namespace bertbench
