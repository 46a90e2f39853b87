// Rates of one log that contradict one another are reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/measure/measure.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::facts;
using samples::log_of_seconds;
using samples::notices;
using samples::with_window;
using testing::HasSubstr;

// The lines print the rate of their own steps; the clock between them holds a validation.
TEST(MeasureTrial, RatesAboveWhatTheClockGivesAreTold) {
  RunLog log;
  log.clock_resolution_s = 1e-6;
  log.rate_unit = RateUnit::iterations_per_second;
  for (int i = 1; i <= 8; ++i) {
    const double validation_s = i > 4 ? 20 : 0;
    log.records.push_back(
        {.step = 10 * i, .iterations = 10, .time_s = 10 * i + validation_s, .printed_rate = 1});
  }
  const Trial trial = measure_trial(log, {}, with_window("all"));
  EXPECT_EQ(trial.estimator, "counter_clock");
  EXPECT_THAT(notices(trial), HasSubstr("the printed rates are 29 % higher than the counter over "
                                        "the clock (1 iterations/s)"));
  log.records.resize(3);
  log.records[2].time_s += 20;
  EXPECT_THAT(notices(measure_trial(log, {}, with_window("all"))),
              testing::Not(HasSubstr("the printed rates are")))
      << "of three records, single steps make the difference";
  for (Record& record : log.records) record.printed_rate = 0.8;
  EXPECT_THAT(notices(measure_trial(log, {}, with_window("all"))),
              testing::Not(HasSubstr("the printed rates are")));
}

// Seen: 1.7e11 sequences/s with no word but "only 1 record".
TEST(MeasureTrial, ARateThatNoMachineHasIsTold) {
  RunLog log = log_of_seconds(std::vector<double>(25, 1e-10));
  EXPECT_THAT(notices(measure_trial(log, facts(32, 1, 1, 1), with_window("all"))),
              HasSubstr("is more than any machine does"));
  log = log_of_seconds(std::vector<double>(25, 1e-6));
  EXPECT_THAT(notices(measure_trial(log, facts(32, 1, 1, 1), with_window("all"))),
              testing::Not(HasSubstr("any machine")));
}

TEST(MeasureTrial, RatesEndlesslyFarApartHaveANumberAllTheSame) {
  RunLog log = log_of_seconds(std::vector<double>(25, 40.0));
  log.rate_unit = RateUnit::iterations_per_second;
  for (Record& record : log.records) record.printed_rate = 1e-310;
  const auto said = notices(measure_trial(log, {}, with_window("all")));
  EXPECT_THAT(said, HasSubstr("1e+09 times as little"));
  EXPECT_THAT(said, testing::Not(HasSubstr("inf")));
}

// The counter jumps over what a part of the log that is not there held: the times of the steps
// count it, the printed rates do not.
TEST(MeasureTrial, PrintedRatesFarFromTheTimesOfTheStepsAreTold) {
  RunLog log = log_of_seconds(std::vector<double>(25, 40.0));
  log.rate_unit = RateUnit::iterations_per_second;
  for (std::size_t i = 0; i < log.records.size(); ++i) {
    Record& record = log.records[i];
    record.iterations = 100;
    record.step = 100 * (static_cast<std::int64_t>(i) + 1);
    record.printed_rate = 2.5;
  }
  EXPECT_THAT(notices(measure_trial(log, {}, with_window("all"))),
              testing::Not(HasSubstr("mean of the printed rates")));
  log.records.back().iterations = 50100;
  log.records.back().step += 50000;
  const Trial trial = measure_trial(log, {}, with_window("all"));
  EXPECT_EQ(trial.estimator, "step_time");
  EXPECT_THAT(notices(trial), HasSubstr("the mean of the printed rates, 2.5 iterations/s, is 21 "
                                        "times as little as the times of the steps give"));
}

// From a run of tqdm that redrew every 50 steps and became twice as slow: a callback counted 11.9
// steps/s, the bar's clock of whole seconds 10.0, and the mean of its rates was 14.3.
TEST(MeasureTrial, ACoarseClockIsTakenWhereItRulesOutThePrintedRates) {
  RunLog log;
  log.clock_resolution_s = 1;
  log.rate_unit = RateUnit::iterations_per_second;
  for (int i = 1; i <= 6; ++i) {
    const double rate = i < 4 ? 16.5 : 12;
    log.records.push_back({.step = 50 * i,
                           .iterations = 50,
                           .time_s = 5.0 * i,
                           .printed_rate = rate,
                           .printed_first = rate});
  }
  const Trial trial = measure_trial(log, {}, with_window("all"));
  EXPECT_EQ(trial.estimator, "counter_clock");
  EXPECT_THAT(notices(trial), HasSubstr("the bar's printed rates, smoothed over its newest steps, "
                                        "are 41 % higher than the counter over its clock"));
  // Within its resolution it rules out nothing; asked for, the rates are reported next to it.
  for (Record& record : log.records) record.printed_rate = 9.8;
  EXPECT_EQ(measure_trial(log, {}, with_window("all")).estimator, "printed_last");
  for (Record& record : log.records) record.printed_rate = 14;
  MeasureOptions asked = with_window("all");
  asked.estimator = "printed_last";
  EXPECT_THAT(notices(measure_trial(log, {}, asked)),
              HasSubstr("the counter over the log's clock is 30 % lower"));
  for (Record& record : log.records) record.printed_rate = 10.2;
  EXPECT_THAT(notices(measure_trial(log, {}, asked)),
              testing::Not(HasSubstr("the log's clock is")));
  asked.estimator = "counter_clock";
  EXPECT_THAT(notices(measure_trial(log, {}, asked)),
              testing::Not(HasSubstr("the bar's printed rates")));
}

TEST(MeasureTrial, AClosingRateFarFromThePrintedOnesIsToldBesideThem) {
  RunLog log = log_of_seconds(std::vector<double>(30, kUnknown));
  log.rate_unit = RateUnit::sequences_per_second;
  for (Record& record : log.records) record.printed_rate = 85.84;
  const auto notice_of = [&](double closing) {
    log.summary = Stated{closing, RateUnit::sequences_per_second, 0};
    return notices(measure_trial(log, {}, with_window("all")));
  };
  EXPECT_NE(notice_of(81.295).find(
                "closing rate, not of the window alone, is 5 % lower than the printed"),
            std::string::npos);
  EXPECT_EQ(notice_of(84).find("closing rate"), std::string::npos);
  log.notices = {make_notice(NoticeCode::closing_rate_contradicted, 7, 81.295, 5.0, "below",
                             "the clock", 85.84)};
  EXPECT_EQ(notice_of(81.295).find("of the window alone"), std::string::npos) << "reported once";
}

// 30 steps of 0.1 s and 2 GPUs of 8 sequences: 160 a second.
TEST(MeasureTrial, AClosingRateThatNeedsAnotherBatchThanTheFactsIsTold) {
  RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  const auto notice_of = [&](double closing) {
    log.summary = Stated{closing, RateUnit::sequences_per_second, 0};
    const Trial trial = measure_trial(log, facts(8, 1, 1, 2), with_window("all"));
    EXPECT_EQ(trial.estimator, "step_time");
    return notices(trial);
  };
  EXPECT_THAT(notice_of(20), HasSubstr("is 20 sequences/s, 8 times as little as step_time gives"));
  EXPECT_THAT(notice_of(320), HasSubstr("2 times as much"));
  EXPECT_THAT(notice_of(120), testing::Not(HasSubstr("closing rate"))) << "evaluation and saving";
}

}  // namespace
}  // namespace bertbench
