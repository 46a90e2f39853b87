#include "reports/measure/series_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "reports/measure/measure.h"
#include "tests/notice_text.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

// 4 sequences a step of 0.1 s: 40 sequences/s.
RunLog run(std::size_t n) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<double> seconds(n);
  for (double& s : seconds) s = 0.1 * noise(random);
  return samples::log_of_seconds(seconds);
}

Trial measured(const RunLog& log, const char* window) {
  MeasureOptions options;
  options.window = samples::window(window);
  return measure_trial(log, samples::facts(4, 1, 1, 1), options);
}

const auto says = [](const char* text) { return Contains(NoticeText(HasSubstr(text))); };

TEST(SeriesShape, AFlatRunHasAnIntervalAroundItsRateAndNoNotice) {
  const Trial trial = measured(run(400), "all");
  ASSERT_TRUE(trial.steady_state && trial.rate_interval);
  EXPECT_EQ(trial.steady_state->state, Steadiness::flat);
  EXPECT_LT(trial.rate_interval->low, *trial.sequences_per_second);
  EXPECT_GT(trial.rate_interval->high, *trial.sequences_per_second);
  // 1.96 x 1 % / sqrt(400) = 0.098 % each side.
  EXPECT_NEAR((trial.rate_interval->high - trial.rate_interval->low) / 40, 0.00196, 0.0006);
  EXPECT_FALSE(trial.periodic);
  EXPECT_FALSE(trial.steady_state->first_step);
  // Only times have one, not printed rates, nor a clock that is coarser than a step.
  RunLog log = run(400);
  log.rate_unit = RateUnit::sequences_per_second;
  for (Record& record : log.records) record.printed_rate = 4 / record.seconds;
  MeasureOptions options;
  options.window = samples::window("all");
  options.estimator = "printed";
  EXPECT_FALSE(measure_trial(log, samples::facts(4, 1, 1, 1), options).rate_interval);
  RunLog stamped = run(400);
  for (Record& record : stamped.records) {
    record.seconds = kUnknown;
    record.time_s = 2.0 * static_cast<double>(record.step);
  }
  stamped.clock_resolution_s = 1;
  EXPECT_FALSE(measured(stamped, "all").rate_interval);
  stamped.clock_resolution_s = 1e-3;
  EXPECT_TRUE(measured(stamped, "all").rate_interval);
  EXPECT_FALSE(measure_trial(stamped, {}, options).rate_interval) << "of unknown sequences";
  // Records of unequal work are not compared.
  stamped.records[7].iterations = 2;
  EXPECT_FALSE(measured(stamped, "all").rate_interval);
  stamped.records[7] = {.step = 8, .time_s = 16, .merged = 2};
  EXPECT_FALSE(measured(stamped, "all").rate_interval);
}

// 2.25 s a record: 2, 4, 6, 9, 11, 13, 15, 18 ...
TEST(SeriesShape, TheBeatOfACoarseClockIsNoPeriod) {
  RunLog log;
  log.format = "generic";
  log.clock_resolution_s = 1;
  for (int i = 1; i <= 40; ++i) {
    const double shown = std::floor(2.25 * i);
    log.records.push_back(
        {.step = 100 * i, .iterations = 100, .time_s = shown, .first_time_s = shown, .line = i});
  }
  EXPECT_FALSE(measured(log, "all").periodic);
  // An evaluation each fourth record.
  for (std::size_t i = 0; i < 40; ++i) log.records[i].time_s += 5 * std::floor(double(i + 1) / 4);
  EXPECT_TRUE(measured(log, "all").periodic);
}

TEST(SeriesShape, AWindowInTheWarmUpIsSaid) {
  RunLog log = run(200);
  for (std::size_t i = 0; i < 60; ++i) log.records[i].seconds *= 1.5;
  const Trial early = measured(log, "0:100");
  EXPECT_EQ(early.steady_state->state, Steadiness::warm_up);
  EXPECT_THAT(early.notices, says("the window begins in the warm-up"));
  EXPECT_THAT(early.notices, says("after step 60"));
  EXPECT_THAT(measured(log, "100:200").notices, Not(says("warm-up")));
  EXPECT_THAT(measured(log, "59:200").notices, Not(says("warm-up"))) << "one of 141 is no matter";
  for (std::size_t i = 0; i < 60; ++i) log.records[i].seconds /= 1.5;
  for (std::size_t i = 180; i < 200; ++i) log.records[i].seconds *= 1.2;
  EXPECT_EQ(measured(log, "all").steady_state->state, Steadiness::no_steady_state);
  EXPECT_THAT(measured(log, "all").notices,
              Contains(Field(&Notice::code, NoticeCode::rate_changes_late)));
}

TEST(SeriesShape, ASlowDownInsideTheWindowIsSaid) {
  RunLog log = run(200);
  for (std::size_t i = 100; i < 200; ++i) log.records[i].seconds *= 1.1;
  const Trial trial = measured(log, "20:200");
  EXPECT_THAT(trial.notices, says("the run slows down: iterations take "));
  EXPECT_NEAR(*trial.steady_state->change, 0.1, 0.004);
  EXPECT_THAT(measured(log, "20:90").notices, Not(says("slows down")));
}

TEST(SeriesShape, ASlowDownOfARunThatDriftsOnIsNamedWhereItWas) {
  RunLog log = run(300);
  for (std::size_t i = 0; i < 300; ++i) {
    log.records[i].seconds *= (i < 150 ? 1 : 1.08) + 0.0001 * static_cast<double>(i);
  }
  EXPECT_THAT(measured(log, "20:300").notices, says("longer after step 150 than at their fastest"));
}

// The mean of all before, 1.13 times a fast iteration, is slower than the end.
TEST(SeriesShape, ASlowDownIsMeasuredFromTheFastestLevelNotFromTheWarmUp) {
  RunLog log = run(200);
  for (std::size_t i = 0; i < 20; ++i) log.records[i].seconds *= 2;
  for (std::size_t i = 150; i < 200; ++i) log.records[i].seconds *= 1.1;
  const Trial trial = measured(log, "20:200");
  EXPECT_THAT(trial.notices, says("longer after step 150 than at their fastest before"));
  EXPECT_NEAR(*trial.steady_state->change, 0.1, 0.004);
}

TEST(SeriesShape, PeriodicWorkIsToldWithTheRateWithoutIt) {
  RunLog log = run(200);
  for (std::size_t i = 19; i < 200; i += 20) log.records[i].seconds += 0.4;
  const Trial trial = measured(log, "all");
  ASSERT_TRUE(trial.periodic);
  EXPECT_EQ(trial.periodic->work.period, 20);
  EXPECT_EQ(trial.periodic->work.phase, 0);
  EXPECT_EQ(trial.periodic->work.count, 10);
  EXPECT_NEAR(trial.periodic->work.extra_s, 0.4, 0.005);
  EXPECT_NEAR(trial.periodic->work.share, 4.0 / 24, 0.002);
  EXPECT_NEAR(*trial.sequences_per_second, 800 / 24.0, 0.1);
  EXPECT_NEAR(*trial.periodic->sequences_per_second_without, 40, 0.1);
  EXPECT_THAT(trial.notices, says("an iteration in 20 takes 0.4 s longer, 16.7 % of the window"));
  // Where the batch is not known the rate without it is one of iterations.
  MeasureOptions options;
  options.window = samples::window("all");
  const Trial bare = measure_trial(log, Facts(), options);
  ASSERT_TRUE(bare.periodic && bare.iterations_per_second);
  EXPECT_FALSE(bare.periodic->sequences_per_second_without);
  EXPECT_THAT(bare.notices, says(" iterations/s without"));
  log.clock_resolution_s = 1;  // the lines' own times are finer
  EXPECT_TRUE(measured(log, "all").periodic);
  options.estimator = "printed";  // which this log does not allow: there is no rate
  const Trial no_rate = measure_trial(log, Facts(), options);
  EXPECT_TRUE(no_rate.periodic);
  EXPECT_THAT(no_rate.notices, Not(says(" without")));
}

// A trainer whose printed rates are of its iterations alone, and one that divides by all the time.
TEST(SeriesShape, PeriodicWorkThatPrintedRatesLeaveOutDoesNotRaiseThem) {
  const auto trial = [](double held, const char* estimator = "printed") {
    RunLog log = run(200);
    log.rate_unit = RateUnit::sequences_per_second;
    for (std::size_t i = 0; i < 200; ++i) {
      const double pause = i % 20 == 19 ? 0.4 : 0;
      log.records[i].printed_rate = 4 / (log.records[i].seconds + held * pause);
      log.records[i].seconds += pause;
    }
    MeasureOptions options;
    options.window = samples::window("all");
    options.estimator = estimator;
    return measure_trial(log, samples::facts(4, 1, 1, 1), options);
  };
  EXPECT_THAT(trial(0, "step_time").notices, says(" sequences/s without"));
  const Trial out = trial(0);
  EXPECT_THAT(out.notices, says("the printed rates leave it out"));
  ASSERT_TRUE(out.periodic && out.sequences_per_second);
  EXPECT_EQ(out.periodic->sequences_per_second_without, out.sequences_per_second);
  const Trial in = trial(1);
  EXPECT_THAT(in.notices, says(" sequences/s without"));
  EXPECT_GT(*in.periodic->sequences_per_second_without, 1.1 * *in.sequences_per_second);
}

TEST(SeriesShape, OfFewRecordsNoneAreAPeriod) {
  for (const std::size_t n : {11U, 12U}) {
    RunLog log = run(n);
    for (std::size_t i = 2; i < n; i += 3) log.records[i].seconds *= 3;
    EXPECT_EQ(measured(log, "all").periodic.has_value(), n == 12);
  }
}

TEST(SeriesShape, PeriodicWorkIsNoChangeOfLevel) {
  RunLog log = run(60);
  for (std::size_t i = 9; i < 60; i += 10) log.records[i].seconds *= 3;
  const Trial trial = measured(log, "all");
  ASSERT_TRUE(trial.steady_state);
  EXPECT_EQ(trial.steady_state->state, Steadiness::flat);
  for (std::size_t i = 0; i < 20; ++i) log.records[i].seconds *= 1.06;
  const Trial warm = measured(log, "10:60");
  EXPECT_EQ(warm.steady_state->state, Steadiness::warm_up);
  EXPECT_EQ(warm.steady_state->first_step, 20) << "counted with the slow iterations";
  EXPECT_THAT(warm.notices, says("the window begins in the warm-up"));
}

TEST(SeriesShape, TheSmoothedRatesOfABarSayNothing) {
  RunLog log = run(200);
  log.rate_unit = RateUnit::iterations_per_second;
  for (Record& record : log.records) {
    record.printed_rate = record.printed_first = 1 / record.seconds;
    record.seconds = kUnknown;
  }
  const Trial trial = measured(log, "all");
  EXPECT_FALSE(trial.steady_state);
  EXPECT_FALSE(trial.rate_interval);
}

TEST(SeriesShape, WhatComesAfterAFailureIsNotLookedAt) {
  RunLog log = run(200);
  for (std::size_t i = 100; i < 200; ++i) log.records[i].seconds *= 2;
  log.outcome.status = Status::error;
  log.outcome.line = 101;
  const Trial trial = measured(log, "20:90");
  EXPECT_EQ(trial.steady_state->state, Steadiness::flat);
}

// Too few for a period, but a line names what comes before the slow record.
TEST(SeriesShape, ARecordBehindAnEvaluationIsTold) {
  RunLog log = run(40);
  for (std::size_t i = 0; i < log.records.size(); ++i)
    log.records[i].line = 10 * std::int64_t(i + 1);
  log.records[20].seconds *= 5;
  EXPECT_THAT(measured(log, "all").notices, Not(says("evaluation")));
  log.marks = {
      {MarkKind::checkpoint, 105}, {MarkKind::evaluation, 205}, {MarkKind::checkpoint, 395}};
  EXPECT_THAT(measured(log, "all").notices,
              says("within 1 of the window's 40 records, 9.1 % of its time; 40."));
  log.records[20].seconds /= 5;
  EXPECT_THAT(measured(log, "all").notices, Not(says("evaluation"))) << "it took no longer";
}

}  // namespace
}  // namespace bertbench
