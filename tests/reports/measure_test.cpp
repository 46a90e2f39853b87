#include "reports/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/measure/estimators.h"
#include "reports/stats/window.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::facts;
using samples::log_of_seconds;
using samples::notices;
using samples::published_bar;
using samples::with_window;
using testing::HasSubstr;

TEST(MeasureTrial, StepTimeIsWorkOverTimeOfTheWindowAlone) {
  std::vector<double> seconds(200, 0.1);
  for (std::size_t i = 0; i < 100; ++i) seconds[i] = 0.5;
  const Trial trial =
      measure_trial(log_of_seconds(seconds), facts(8, 1, 1, 2), with_window("100:200"));
  ASSERT_TRUE(trial.sequences_per_second);
  EXPECT_NEAR(*trial.sequences_per_second, 160, 1e-9);
  EXPECT_EQ(trial.estimator, "step_time");
  EXPECT_EQ(trial.iterations.seen, 200);
  EXPECT_EQ(trial.iterations.dropped, 100);
  EXPECT_EQ(trial.iterations.used, 100);
  EXPECT_EQ(trial.window.chosen_by, "user");
  EXPECT_TRUE(trial.counts());
  EXPECT_NEAR(trial.estimators.at("total_time"), 16 / 0.3, 1e-9);
  EXPECT_EQ(notices(trial), "");
}

// A timer that nobody resets adds up: the steps' times are then five times too long, and no step
// takes longer than the clock shows.
TEST(MeasureTrial, StepTimesFarFromTheLogsOwnClockAreTold) {
  RunLog log = log_of_seconds(std::vector<double>(40, 0.5));
  log.clock_resolution_s = 1e-3;
  log.clock_is_wall = true;
  const auto measured = [&](double each) {
    for (std::size_t i = 0; i < log.records.size(); ++i) {
      log.records[i].time_s = each * static_cast<double>(i);
    }
    return measure_trial(log, facts(8, 1, 1, 2), with_window("all"));
  };
  const Trial trial = measured(0.1);
  EXPECT_EQ(trial.estimator, "counter_clock");
  EXPECT_THAT(notices(trial), HasSubstr("5 times as high as by the times"));
  EXPECT_EQ(measured(2).estimator, "step_time");
  // Stamps of lines that came through a pipe together are no clock.
  EXPECT_EQ(measured(0.01).estimator, "step_time");
  EXPECT_THAT(notices(measured(2)), HasSubstr("4 times as low as by the times"));
  EXPECT_THAT(notices(measured(0.55)), testing::Not(HasSubstr("the log's clock")));
  EXPECT_THAT(notices(measured(0.55)), testing::Not(HasSubstr("nobody resets")));
  // Times in another unit than seconds are refuted however far off they are; lines of several
  // processes count as many steps and refute nothing.
  EXPECT_EQ(measured(0.5 / 1000).estimator, "counter_clock");
  log.notices = {make_notice(NoticeCode::rate_of_one_process_left_out, 1)};
  EXPECT_EQ(measured(0.1).estimator, "step_time");
  log.notices.clear();
  // Nor do a clock that is coarse, two steps, or a verdict on three.
  log.clock_resolution_s = 0.2;
  log.records.resize(8);
  EXPECT_EQ(measured(0.1).estimator, "step_time");
  EXPECT_EQ(notices(measured(0.1)).find("the log's clock"), std::string::npos);
  log.clock_resolution_s = 1e-3;
  log.records.resize(3);
  EXPECT_EQ(measured(0.1).estimator, "step_time");
  EXPECT_EQ(notices(measured(2)).find("the log's clock"), std::string::npos);
}

TEST(MeasureTrial, AnUncoveredWindowKeepsItsOutcomeAndGivesNoRate) {
  RunLog log = log_of_seconds(std::vector<double>(150, 0.1));
  log.outcome = {.status = Status::out_of_memory,
                 .step = 150,
                 .line = 150,
                 .details = {log_line("CUDA out of memory")}};
  const Trial trial = measure_trial(log, facts(8, 1, 1, 2), with_window("100:200"));
  EXPECT_FALSE(trial.window.covered);
  EXPECT_FALSE(trial.sequences_per_second);
  EXPECT_EQ(trial.estimator, "");
  EXPECT_EQ(trial.outcome.status, Status::out_of_memory);
  EXPECT_EQ(trial.iterations.used, 0);
  EXPECT_FALSE(trial.counts());
  EXPECT_FALSE(trial.estimators.contains("step_time"));
  EXPECT_FALSE(trial.step_time);
  EXPECT_THAT(notices(trial), HasSubstr("too few for the window 100:200"));
}

TEST(MeasureTrial, ACoveredWindowCountsWhateverTheOutcome) {
  RunLog log = log_of_seconds(std::vector<double>(300, 0.1));
  log.outcome.status = Status::killed;
  const Trial trial = measure_trial(log, facts(8, 1, 1, 2), with_window("100:200"));
  EXPECT_TRUE(trial.counts());
  EXPECT_EQ(trial.outcome.status, Status::killed);
}

TEST(MeasureTrial, ThePublishedBarGivesItsFourRates) {
  const Trial trial = measure_trial(published_bar(), facts(64, 64, 1, 16), with_window("all"));
  EXPECT_NEAR(trial.estimators.at("counter_clock"), 3145.7, 0.05);
  EXPECT_NEAR(trial.estimators.at("printed_last"), 3164.16, 0.005);
  EXPECT_NEAR(trial.estimators.at("printed_first"), 2.73 * 1024, 0.5);
  EXPECT_EQ(trial.estimator, "counter_clock");
  EXPECT_NEAR(trial.resolution.at("counter_clock"), 0.008, 1e-9);
  EXPECT_THAT(notices(trial), testing::Not(HasSubstr("uncertain")));
}

TEST(MeasureTrial, AWholeSecondClockOverAShortWindowIsNotTheDefaultWhenAnotherIsThere) {
  RunLog log = published_bar();
  log.records.resize(2);  // 20 s: two marks, each uniform over a second
  const Trial trial = measure_trial(log, facts(64, 64, 1, 16), with_window("all"));
  EXPECT_NEAR(trial.expected_error.at("counter_clock"), std::sqrt(2.0 / 12) / 20, 1e-6);
  EXPECT_EQ(trial.estimator, "printed_last");
  for (Record& record : log.records) record.printed_rate = record.printed_first = kUnknown;
  const Trial alone = measure_trial(log, facts(64, 64, 1, 16), with_window("all"));
  EXPECT_EQ(alone.estimator, "counter_clock");
  EXPECT_THAT(notices(alone), HasSubstr("uncertain by 2.0 %"));
}

TEST(MeasureTrial, TheRunOfThePublishedNoteReconcilesAsItsAuthorsNumbersSay) {
  RunLog log = published_bar();
  log.totals.wall_s = 149858.594;
  log.totals.optimizer_steps = 7038;
  const Trial trial = measure_trial(log, facts(64, 64, 1, 16), with_window("all"));
  ASSERT_TRUE(trial.reconciliation);
  EXPECT_EQ(trial.reconciliation->sequences, 461242368);
  EXPECT_NEAR(*trial.reconciliation->rate, 3077.85, 0.005);
  EXPECT_NEAR(trial.estimators.at("total_time"), 3077.85, 0.005);
  EXPECT_NEAR(trial.reconciliation->gaps.at("printed_last"), 0.028, 0.0005);
  EXPECT_NEAR(trial.reconciliation->gaps.at("counter_clock"), 0.022, 0.0005);
  EXPECT_FALSE(trial.reconciliation->gaps.contains("total_time"));
  // By iterations where the log states no updates, by sequences where it states these; without a
  // batch no estimate is of sequences.
  log.totals.optimizer_steps.reset();
  log.totals.iterations = 1000;
  EXPECT_EQ(measure_trial(log, facts(64, 64, 1, 16), with_window("all")).reconciliation->sequences,
            1024000);
  log.totals.sequences = 7;
  EXPECT_EQ(measure_trial(log, facts(64, 64, 1, 16), with_window("all")).reconciliation->sequences,
            7);
  EXPECT_TRUE(measure_trial(log, {}, with_window("all")).reconciliation->gaps.empty());
  log.totals.sequences = 0;
  EXPECT_TRUE(
      measure_trial(log, facts(64, 64, 1, 16), with_window("all")).reconciliation->gaps.empty());
  log.totals = {};
  EXPECT_FALSE(measure_trial(log, facts(64, 64, 1, 16), with_window("all")).reconciliation);
  log.totals.wall_s = 0;
  log.totals.sequences = 7;
  EXPECT_FALSE(measure_trial(log, facts(64, 64, 1, 16), with_window("all")).reconciliation);
}

// What a table of cells does not show is left out where it is not asked for.
TEST(MeasureTrial, ASummaryHasNoStepTimesAndNoReconciliation) {
  RunLog log = log_of_seconds(std::vector<double>(400, 0.1));
  log.totals.wall_s = 44;
  log.totals.optimizer_steps = 400;
  MeasureOptions options = with_window("all");
  for (const bool summary : {false, true}) {
    options.summary_only = summary;
    const Trial trial = measure_trial(log, facts(8, 1, 1, 2), options);
    EXPECT_EQ(trial.step_time.has_value(), !summary);
    EXPECT_EQ(trial.reconciliation.has_value(), !summary);
    EXPECT_EQ(trial.rate_interval.has_value(), !summary);
    EXPECT_NEAR(*trial.sequences_per_second, 160, 1e-9);
  }
}

TEST(MeasureTrial, WhatLinesStateCountsWhereTheyStandInTheWindow) {
  RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  for (std::int64_t line = 1; line <= 30; ++line) {
    const double value = line <= 10 ? 7 : line > 20 ? 9 : 500 + static_cast<double>(line);
    log.stated.add({line, StatedValue::watts, value});
    PartTimes parts{.line = line};
    parts.add(StepPart::forward, value / 1000);
    log.parts.add(parts);
  }
  const Trial trial = measure_trial(log, {}, with_window("10:20"));
  EXPECT_EQ(trial.stated, (std::map<std::string, double>{{"watts_per_gpu", 515.5}}));
  ASSERT_EQ(trial.parts.size(), 1U);
  EXPECT_NEAR(trial.parts.at("forward").p50, 0.5155, 1e-6);
  EXPECT_EQ(measure_trial(log, {}, with_window("20:30")).stated.at("watts_per_gpu"), 9);
}

TEST(MeasureTrial, BenchmarksOfAKernelOrACollectiveNeedNoBatchAndNoWarmUp) {
  RunLog log = log_of_seconds(std::vector<double>(5, 0.1));
  EXPECT_THAT(notices(measure_trial(log, {}, {})), HasSubstr("--micro-batch-size"));
  EXPECT_THAT(notices(measure_trial(log, {}, {})), HasSubstr("only 5 records"));
  for (const NoticeCode code : {NoticeCode::kernel_benchmark, NoticeCode::collective_bandwidth}) {
    log.notices = {Notice{code, 0, {}, {}}};
    EXPECT_EQ(measure_trial(log, {}, {}).notices.size(), 1U) << name(code);
  }
  log.notices.clear();
  log.iteration_unit = IterationUnit::epoch;
  EXPECT_EQ(notices(measure_trial(log, {}, {})).find("--micro-batch-size"), std::string::npos);
  log.iteration_unit = IterationUnit::micro_step;
  EXPECT_EQ(notices(measure_trial(log, {}, {})).find("accumulation"), std::string::npos)
      << "a micro-step has none";
}

// `auto` of a run that others ended before half of what was planned is no run.
TEST(MeasureTrial, LessThanHalfOfThePlannedStepsIsNotCovered) {
  const RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  for (const auto& [planned, rule, unit, covered] :
       {std::tuple(60, "auto", IterationUnit::optimizer_step, true),
        {61, "auto", IterationUnit::optimizer_step, false},
        {61, "0:30", IterationUnit::optimizer_step, true},
        {61, "auto", IterationUnit::epoch, true},
        {61, "auto", IterationUnit::sequence, true},
        {61, "auto", IterationUnit::process_sequence, true}}) {
    RunLog one = log;
    one.iteration_unit = unit;
    MeasureOptions options = with_window(rule);
    options.planned_steps = planned;
    EXPECT_EQ(measure_trial(one, {}, options).window.covered, covered) << planned << rule;
  }
}

// Four steps of one second and one of six, of 16 sequences each.
TEST(MeasureTrial, PrintedRatesAreWorkOverTheTimeThatTheyImply) {
  RunLog log = log_of_seconds(std::vector<double>(5, kUnknown));
  log.rate_unit = RateUnit::sequences_per_second;
  for (Record& record : log.records) record.printed_rate = 16;
  log.records[2].printed_rate = 16.0 / 6;
  const Trial trial = measure_trial(log, facts(8, 1, 1, 2), with_window("all"));
  EXPECT_EQ(trial.estimator, "printed");
  EXPECT_NEAR(*trial.sequences_per_second, 5 * 16 / 10.0, 1e-9);
  EXPECT_NEAR(trial.estimators.at("printed_mean"), (4 * 16 + 16.0 / 6) / 5, 1e-9);
  EXPECT_GT(trial.expected_error.at("printed_mean"), 0.6);
  MeasureOptions mean = with_window("all");
  mean.estimator = "printed_mean";
  EXPECT_THAT(notices(measure_trial(log, facts(8, 1, 1, 2), mean)), HasSubstr("rates differ"));
  EXPECT_THAT(notices(trial), testing::Not(HasSubstr("rates differ")));
  // Records of other lengths weigh by their work.
  log.records[2].iterations = 6;
  log.records[2].printed_rate = 16;
  EXPECT_NEAR(*measure_trial(log, facts(8, 1, 1, 2), with_window("all")).sequences_per_second, 16,
              1e-9);
}

TEST(MeasureTrial, ATotalOfAnotherStretchOfTheRunIsLeftOut) {
  RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  log.totals.wall_s = 1000;  // of the whole run, of which this is the tail
  const Trial trial = measure_trial(log, facts(8, 1, 1, 1), with_window("all"));
  EXPECT_FALSE(trial.estimators.contains("total_time"));
  EXPECT_THAT(notices(trial), HasSubstr("total_time is left out"));
}

TEST(MeasureTrial, UnknownBatchStaysInIterationsPerSecondAndSaysWhatToGive) {
  Facts known = facts(8, 1, 1, 2);
  known.micro_batch_size = {};
  const Trial trial =
      measure_trial(log_of_seconds(std::vector<double>(30, 0.1)), known, with_window("all"));
  EXPECT_FALSE(trial.sequences_per_second);
  ASSERT_TRUE(trial.iterations_per_second);
  EXPECT_NEAR(*trial.iterations_per_second, 10, 1e-9);
  EXPECT_NEAR(trial.estimators.at("step_time"), 10, 1e-9);
  EXPECT_THAT(notices(trial), HasSubstr("the sequences of an iteration are unknown"));
  EXPECT_THAT(notices(trial), HasSubstr("--micro-batch-size"));
}

TEST(MeasureTrial, RatesOfTheWrongUnitAreLeftOutAndNamed) {
  RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  log.rate_unit = RateUnit::sequences_per_second;
  for (Record& record : log.records) record.printed_rate = 81;
  const Trial trial = measure_trial(log, Facts{}, with_window("all"));
  EXPECT_EQ(trial.sequences_per_second, 81);
  EXPECT_EQ(trial.estimator, "printed");
  EXPECT_EQ(trial.estimators.size(), 2U) << "with printed_mean";
  EXPECT_THAT(notices(trial), HasSubstr("step_time, total_time"));
}

TEST(MeasureTrial, TokensPerSecondAreSequencesWhereTheirLengthIsKnown) {
  RunLog log = log_of_seconds(std::vector<double>(30, kUnknown));
  log.rate_unit = RateUnit::tokens_per_second;
  for (Record& record : log.records) record.printed_rate = 12800;
  const Trial trial = measure_trial(log, facts(8, 1, 1, 1), with_window("all"));
  EXPECT_EQ(trial.sequences_per_second, 100);
  const Trial unknown = measure_trial(log, Facts{}, with_window("all"));
  EXPECT_FALSE(unknown.sequences_per_second);
  EXPECT_EQ(unknown.tokens_per_second, 12800);
  EXPECT_EQ(unknown.rate(), 12800);
  EXPECT_EQ(unknown.unit(), RateUnit::tokens_per_second);
  EXPECT_THAT(notices(unknown), HasSubstr("rates stay in tokens/s"));
  // Where the clock gives sequences/s, the tokens are what is missing, not the batch.
  log = log_of_seconds(std::vector<double>(30, 0.1));
  log.rate_unit = RateUnit::tokens_per_second;
  for (Record& record : log.records) record.printed_rate = 12800;
  Facts no_length = facts(8, 1, 1, 1);
  no_length.sequence_length = {};
  const Trial clock = measure_trial(log, no_length, with_window("all"));
  EXPECT_NEAR(clock.sequences_per_second.value_or(0), 80, 1e-9);
  EXPECT_THAT(notices(clock), HasSubstr("the tokens of a sequence are unknown: 12800 tokens/s by "
                                        "printed; give --sequence-length"));
  EXPECT_THAT(notices(clock), Not(HasSubstr("sequences per iteration")));
}

TEST(MeasureTrial, TimesAreTokensPerSecondWhereEachLineHasAsMany) {
  std::vector<double> seconds(30, 0.1);
  for (std::size_t i = 0; i < seconds.size(); i += 2) seconds[i] = 0.2;
  RunLog log = log_of_seconds(seconds);
  log.rate_unit = RateUnit::tokens_per_second;
  for (Record& record : log.records) record.printed_rate = 3000 / record.seconds;
  const Trial even = measure_trial(log, Facts{}, with_window("all"));
  EXPECT_NEAR(even.tokens_per_second.value_or(0), 20000, 1e-6);
  EXPECT_NEAR(even.estimators.at("step_time"), 20000, 1e-6);
  EXPECT_FALSE(even.iterations_per_second);
  // Of text with padding each line holds another number.
  for (Record& record : log.records) record.printed_rate = 30000;
  const Trial uneven = measure_trial(log, Facts{}, with_window("all"));
  EXPECT_EQ(uneven.estimator, "printed");
  EXPECT_EQ(uneven.tokens_per_second, 30000);
  EXPECT_FALSE(uneven.estimators.contains("step_time"));
}

TEST(MeasureTrial, AClosingStatementAloneStandsForTheWholeRunOnly) {
  RunLog log;
  log.format = "huggingface";
  log.outcome.status = Status::completed;
  log.summary = Stated{88.9, RateUnit::sequences_per_second, 12};
  const Trial trial = measure_trial(log, Facts{}, MeasureOptions{});
  EXPECT_EQ(trial.sequences_per_second, 88.9);
  EXPECT_EQ(trial.estimator, "log_summary");
  EXPECT_THAT(notices(trial), HasSubstr("stands for the whole run"));
  EXPECT_EQ(trial.notices.size(), 1U);
  const Trial windowed = measure_trial(log, Facts{}, with_window("10:20"));
  EXPECT_FALSE(windowed.window.covered);
  EXPECT_FALSE(windowed.sequences_per_second);
  EXPECT_EQ(windowed.estimators.at("log_summary"), 88.9);
  // Nor for a run that broke early, or whose loss is no number.
  RunLog broken = log;
  broken.first_nan_step = 3;
  EXPECT_FALSE(measure_trial(broken, Facts{}, MeasureOptions{}).window.covered);
  broken.records = log_of_seconds({0.1, 0.1, 0.1, 0.1}).records;
  EXPECT_FALSE(measure_trial(broken, Facts{}, with_window("all")).window.covered);
  broken.first_nan_step.reset();
  broken.outcome = {.status = Status::error, .step = 2, .line = 2, .details = {}};
  EXPECT_FALSE(measure_trial(broken, Facts{}, with_window("all")).window.covered);
  log.summary.reset();
  EXPECT_FALSE(measure_trial(log, Facts{}, MeasureOptions{}).window.covered);
}

TEST(MeasureTrial, AnEstimatorThatTheLogDoesNotAllowIsSaidWithThoseItDoes) {
  MeasureOptions options = with_window("all");
  options.estimator = "printed";
  const Trial trial =
      measure_trial(log_of_seconds(std::vector<double>(30, 0.1)), facts(8, 1, 1, 1), options);
  EXPECT_FALSE(trial.sequences_per_second);
  EXPECT_THAT(notices(trial),
              HasSubstr("does not allow the estimator printed; it allows step_time, total_time"));
  options.estimator = "total_time";
  EXPECT_EQ(measure_trial(log_of_seconds(std::vector<double>(30, 0.1)), facts(8, 1, 1, 1), options)
                .estimator,
            "total_time");
}

TEST(MeasureTrial, PercentilesAreOfOptimizerSteps) {
  std::vector<double> seconds;
  for (int i = 1; i <= 100; ++i) seconds.push_back(0.01 * i);
  const Trial plain = measure_trial(log_of_seconds(seconds), facts(8, 1, 1, 1), with_window("all"));
  ASSERT_TRUE(plain.step_time);
  EXPECT_NEAR(plain.step_time->p50, 0.505, 1e-12);
  EXPECT_NEAR(plain.step_time->p90, 0.901, 1e-12);
  RunLog micro = log_of_seconds(std::vector<double>(100, 0.01));
  micro.iteration_unit = IterationUnit::micro_step;
  const Trial joined = measure_trial(micro, facts(8, 4, 1, 1), with_window("all"));
  ASSERT_TRUE(joined.step_time);
  EXPECT_NEAR(joined.step_time->p50, 0.04, 1e-12);
  for (const IterationUnit unit :
       {IterationUnit::unknown, IterationUnit::sequence, IterationUnit::process_sequence}) {
    micro.iteration_unit = unit;
    EXPECT_FALSE(measure_trial(micro, facts(8, 4, 1, 1), with_window("all")).step_time);
  }
  micro.iteration_unit = IterationUnit::unknown;
  EXPECT_TRUE(measure_trial(micro, facts(8, 1, 1, 1), with_window("all")).step_time);
  EXPECT_FALSE(measure_trial(micro, {}, with_window("all")).step_time);
  // By a clock of milliseconds where the lines state no time, and not by a coarser one.
  RunLog stamped = log_of_seconds(std::vector<double>(30, kUnknown));
  for (Record& record : stamped.records) record.time_s = 0.25 * static_cast<double>(record.step);
  EXPECT_FALSE(measure_trial(stamped, {}, with_window("all")).step_time);
  stamped.clock_resolution_s = 1e-3;
  EXPECT_EQ(measure_trial(stamped, {}, with_window("all")).step_time.value().p90, 0.25);
}

TEST(MeasureTrial, NanLossesAreNotTheFirstOrLastLoss) {
  RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  log.records[0].loss = 11.1;
  log.records[28].loss = 7.3;
  log.records[29].loss = kUnknown;
  const Trial trial = measure_trial(log, facts(8, 1, 1, 1), with_window("0:29"));
  EXPECT_EQ(trial.loss.value().first, 11.1);
  EXPECT_EQ(trial.loss.value().last, 7.3);
}

TEST(MeasureTrial, CompatRoundsTheTrialAsDlperfDoes) {
  MeasureOptions options = with_window("all");
  options.compat_dlperf = true;
  RunLog log = log_of_seconds(std::vector<double>(30, 0.3));
  const Trial trial = measure_trial(log, facts(10, 1, 1, 1), options);
  EXPECT_EQ(trial.sequences_per_second, 33.33);
}

TEST(Estimators, DefaultOrderLeavesOutTheThreeThatMislead) {
  EXPECT_TRUE(chosen_by_default("step_time"));
  EXPECT_TRUE(chosen_by_default("log_summary"));
  EXPECT_FALSE(chosen_by_default("printed_mean"));
  EXPECT_FALSE(chosen_by_default("printed_first"));
  EXPECT_FALSE(chosen_by_default("total_time"));
  EXPECT_EQ(estimator_names().size(), 10U);
}

TEST(MeasureTrial, SkippedUpdatesAreCountedAndTold) {
  RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  EXPECT_FALSE(measure_trial(log, {}, {}).skipped_steps);
  log.totals.skipped_steps = 0;
  EXPECT_FALSE(measure_trial(log, {}, {}).skipped_steps);
  log.totals.skipped_steps = 3;
  const Trial trial = measure_trial(log, {}, {});
  EXPECT_EQ(trial.skipped_steps, 3);
  EXPECT_THAT(notices(trial), HasSubstr("3 optimizer steps skipped after fp16 overflows"));
}

// A clock that begins with the first record holds nothing of the 1000 steps before it.
TEST(Estimators, TotalTimeOfALogThatBeginsInTheMiddle) {
  RunLog log;
  log.clock_resolution_s = 1e-3;
  for (int i = 0; i < 11; ++i) {
    log.records.push_back({.step = 1000 + 50 * i,
                           .iterations = i == 0 ? 1000 : 50,
                           .seconds = i == 0 ? kUnknown : 5,
                           .time_s = 5.0 * i});
  }
  const auto total = [&] {
    return measure_trial(log, {}, with_window("all")).estimators["total_time"];
  };
  EXPECT_DOUBLE_EQ(total(), 10);
  log.records[0].seconds = 50;  // it has its own time: 1500 steps in 100 s
  EXPECT_DOUBLE_EQ(total(), 15);
  log.clock_is_wall = true;  // the time of day holds no first steps
  EXPECT_DOUBLE_EQ(total(), 10);
  // A bar counts and clocks from its own start, of which its first redraw may show a part.
  log.clock_is_wall = false;
  log.records[0].seconds = kUnknown;
  for (Record& record : log.records) record.time_s += 100;
  EXPECT_DOUBLE_EQ(total(), 10) << "1500 steps in 150 s";
  log.records[0].iterations = 50;
  for (Record& record : log.records) record.time_s -= 60;
  EXPECT_DOUBLE_EQ(total(), 10) << "500 steps in 50 s: those before are not in the clock";
  // The time of the whole run with the counter of its last record, unless that did not begin at 0.
  log.totals.wall_s = 100;
  EXPECT_DOUBLE_EQ(total(), 10) << "by the records";
  log.records[0].step = 50;
  for (std::size_t i = 1; i < 11; ++i) log.records[i].step = 50 * static_cast<std::int64_t>(i + 1);
  EXPECT_DOUBLE_EQ(total(), 5.5) << "550 steps";
  for (std::size_t i = 6; i < 11; ++i) {
    log.records[i].step -= 300;
    log.records[i].time_s = 5.0 * static_cast<double>(i - 5);
  }
  EXPECT_DOUBLE_EQ(total(), 550.0 / 90) << "two bars, of 65 and 25 s";
}

// One epoch known by its time alone: 12277 batches of unknown size in 3322.5 s.
TEST(Estimators, ATotalThatNobodyChoseHasNoUnitAndIsNotShown) {
  RunLog log;
  log.iteration_unit = IterationUnit::micro_step;
  log.records.resize(1);
  log.records[0].step = log.records[0].iterations = 12277;
  log.totals.wall_s = 3322.5;
  log.totals.iterations = 12277;
  const Trial unknown = measure_trial(log, {}, {});
  EXPECT_TRUE(unknown.estimators.empty()) << "3.7 iterations/s would stand under sequences/s";
  const Trial known = measure_trial(log, facts(32, 1, 1, 1), {});
  EXPECT_NEAR(known.estimators.at("total_time"), 118.24, 0.01);
  EXPECT_FALSE(known.sequences_per_second);
  EXPECT_THAT(notices(known), HasSubstr("which --estimator total_time takes"));
}

TEST(Estimators, TheClosingTimeOfATrainingIsAStatementWhereNothingElseHasATime) {
  RunLog log;
  log.records.resize(1);
  log.records[0].step = log.records[0].iterations = 100;
  log.totals.training_s = 50;
  const Trial untimed = measure_trial(log, {}, {});
  EXPECT_EQ(untimed.estimator, "log_summary");
  EXPECT_EQ(untimed.iterations_per_second, 2);
  EXPECT_THAT(notices(untimed), HasSubstr("not of the window"));
  log.records[0].seconds = 40;
  const Trial timed = measure_trial(log, {}, {});
  EXPECT_EQ(timed.estimator, "step_time");
  EXPECT_FALSE(timed.estimators.contains("log_summary"));
}

TEST(Estimators, ARatePrintedOnceIsNoRedrawOfABar) {
  RunLog log = log_of_seconds(std::vector<double>(30, 0.1));
  log.rate_unit = RateUnit::sequences_per_second;
  for (Record& record : log.records) record.printed_rate = record.printed_first = 80;
  const auto estimates = estimate_all(log, apply_window(log, samples::window("all")));
  ASSERT_EQ(estimates.size(), 4U);
  EXPECT_EQ(estimates[1].name, "printed");
  EXPECT_EQ(estimates[2].name, "printed_mean");
}

TEST(Estimators, GarbageRatesNeverBecomeAnEstimate) {
  RunLog log = log_of_seconds({-1, 0, kUnknown, 0.1});
  log.rate_unit = RateUnit::sequences_per_second;
  log.records[0].printed_rate = -5;
  log.records[1].printed_rate = 1.0 / 0.0;
  log.summary = Stated{0, RateUnit::sequences_per_second, 1};
  const auto estimates = estimate_all(log, apply_window(log, samples::window("all")));
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(estimates[0].name, "step_time");
  EXPECT_DOUBLE_EQ(estimates[0].rate, 10);
}

}  // namespace
}  // namespace bertbench
