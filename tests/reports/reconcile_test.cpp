#include "reports/studies/reconcile/reconcile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::facts;
using samples::log_of_counters;
using samples::log_of_seconds;
using samples::notices;
using testing::HasSubstr;
using testing::IsEmpty;

// The published run: 7038 applied steps of 65536 sequences, of which the log's tail shows seven.
RunLog published_run() {
  RunLog log = samples::published_bar();
  log.path = "bert_16gpu_phase1_pyt.log";
  log.records[0].iterations = 661;  // the parser cannot know where the tail was cut
  log.totals.wall_s = 149858.59364962578;
  log.totals.optimizer_steps = 7;
  log.totals.first_optimizer_step = 7031;
  log.totals.last_optimizer_step = 7038;
  log.summary = Stated{2723.84, RateUnit::sequences_per_second, 17};
  return log;
}

ReconcileOptions given(const Facts& facts) {
  ReconcileOptions options;
  options.given = facts;
  options.window = samples::window("all");
  return options;
}

ReconciledRun reconciled(const std::vector<RunLog>& logs, const ReconcileOptions& options) {
  return reconcile_run(logs, options).value();
}

const ReconciledEstimate& estimate(const ReconciledRun& run, const std::string& name) {
  for (const ReconciledEstimate& estimate : run.estimates) {
    if (estimate.name == name) return estimate;
  }
  throw std::runtime_error("no estimate " + name);
}

TEST(Reconcile, GivesThePublishedRunsGapsAndTheReadingItsScriptTook) {
  ReconcileOptions options = given(facts(64, 64, 1, 16));
  options.optimizer_steps = 7038;
  const ReconciledRun run = reconciled({published_run()}, options);
  EXPECT_EQ(run.work, 461242368);
  EXPECT_NEAR(*run.rate, 3077.85, 0.005);
  EXPECT_NEAR(estimate(run, "printed_last").rate, 3164.16, 0.005);
  EXPECT_NEAR(*estimate(run, "printed_last").gap, 0.028, 0.0005);
  EXPECT_NEAR(estimate(run, "counter_clock").rate, 3145.7, 0.05);
  EXPECT_NEAR(*estimate(run, "counter_clock").gap, 0.022, 0.0005);
  ASSERT_EQ(run.scripts.size(), 1U);
  EXPECT_NEAR(*run.scripts[0].gap, -0.115, 0.0005);
  EXPECT_EQ(run.scripts[0].taken,
            "first redraw of the last step: 2.66 iterations/s x 1024 sequences");
  EXPECT_THAT(run.scripts[0].also, IsEmpty());
}

TEST(Reconcile, WithTheAttemptedStepsGivesTheOtherPublishedTotal) {
  ReconcileOptions options = given(facts(64, 64, 1, 16));
  options.optimizer_steps = 7048;
  EXPECT_NEAR(*reconciled({published_run()}, options).rate, 3082.22, 0.005);
}

TEST(Reconcile, NamesNoTotalForATailWhoseTimeIsThatOfTheWholeRun) {
  const ReconciledRun run = reconciled({published_run()}, given(facts(64, 64, 1, 16)));
  EXPECT_FALSE(run.rate);
  EXPECT_FALSE(estimate(run, "printed_last").gap);
  EXPECT_THAT(notices(run), HasSubstr("begins after step 7031"));
  EXPECT_THAT(notices(run), HasSubstr("not of the same stretch"));
  EXPECT_THAT(run.scripts[0].taken, HasSubstr("2.66"));  // needs no total
}

TEST(Reconcile, TellsAScriptThatMultipliesOrForgetsTheAccumulation) {
  ReconcileOptions options = given(facts(64, 64, 1, 16));
  options.optimizer_steps = 7038;
  RunLog log = published_run();
  log.summary->value = 3.09 * 1024 / 64;
  EXPECT_THAT(reconciled({log}, options).scripts[0].taken,
              HasSubstr("last redraw of the last step: 3.09 iterations/s x 1024 sequences, without "
                        "the gradient accumulation steps (64)"));
  log.summary->value = 3164.16 * 64;
  EXPECT_THAT(reconciled({log}, options).scripts[0].taken, HasSubstr("once too often (64)"));
  log.summary->value = 3077.85;
  EXPECT_EQ(reconciled({log}, options).scripts[0].taken, "total work over total time");
  log.summary->value = 2999.9;
  EXPECT_EQ(reconciled({log}, options).scripts[0].taken, "");
}

// "finished 1200 steps in 795.5s" next to rates in sequences/s.
TEST(Reconcile, AStatementInIterationsIsOfTheUnitOfTheTable) {
  RunLog log = log_of_seconds(std::vector<double>(1200, 0.64));
  log.rate_unit = RateUnit::sequences_per_second;
  for (Record& record : log.records) record.printed_rate = 800;
  log.totals.training_s = 795.5;
  log.totals.iterations = 1200;
  log.summary = Stated{1200 / 795.5, RateUnit::iterations_per_second, 63};
  const ReconciledRun run = reconciled({log}, given(facts(64, 1, 1, 8)));
  ASSERT_EQ(run.scripts.size(), 1U);
  EXPECT_EQ(run.scripts[0].taken, "total work over total time");
  EXPECT_EQ(run.scripts[0].stated.unit, RateUnit::sequences_per_second);
  EXPECT_NEAR(run.scripts[0].stated.value, 1200 * 512 / 795.5, 1e-9);
  EXPECT_NEAR(*run.scripts[0].gap, 0, 1e-12);
}

TEST(Reconcile, WithoutABatchStaysInIterationsPerSecond) {
  RunLog log = published_run();
  log.totals = {};
  log.totals.wall_s = 400;
  log.totals.iterations = 1045;
  log.summary.reset();
  const ReconciledRun run = reconciled({log}, given({}));
  EXPECT_EQ(run.unit, "iterations/s");
  EXPECT_NEAR(*run.rate, 1045 / 400.0, 1e-12);
  EXPECT_NEAR(estimate(run, "printed_last").rate, 3.09, 1e-12);
  EXPECT_THAT(notices(run), HasSubstr("--micro-batch-size"));
}

// Stamps begin after the first ten iterations, which count as work.
TEST(Reconcile, TheFirstIntervalOfStampsTakesAsLongAsTheOthers) {
  RunLog log;
  log.path = "train.log";
  log.clock_is_wall = true;
  for (std::int64_t i = 1; i <= 4; ++i) {
    log.records.push_back({.step = 10 * i, .iterations = 10, .time_s = 10.0 * double(i - 1)});
  }
  const ReconciledRun run = reconciled({log}, given({}));
  EXPECT_NEAR(*run.rate, 1, 1e-9);
}

TEST(Reconcile, JoinsRestartsAndCountsRedoneStepsOnce) {
  // Killed at step 50; restarted from the checkpoint of step 40 and run to 100.
  RunLog first = log_of_counters(10, 50);
  first.path = "start.log";
  first.outcome.status = Status::killed;
  first.totals.wall_s = 10;
  RunLog second = log_of_counters(10, 100);
  second.path = "restart.log";
  second.records.erase(second.records.begin(), second.records.begin() + 4);
  second.records.front().iterations = 50;  // as parsers hand it on
  second.totals.wall_s = 12;
  const ReconciledRun run = reconciled({first, second}, given(facts(8, 1, 1, 2)));
  ASSERT_EQ(run.parts.size(), 2U);
  EXPECT_EQ(run.parts[1].first_step, 40);
  EXPECT_EQ(run.parts[1].last_step, 100);
  EXPECT_EQ(run.parts[1].redone_steps, 10);
  EXPECT_EQ(run.work, 100 * 16);
  EXPECT_EQ(run.seconds, 22);
  EXPECT_THAT(run.work_source, HasSubstr("100 optimizer steps"));
}

TEST(Reconcile, AnEstimateOfSeveralLogsIsTheirWorkOverItsTime) {
  // 100 steps at 0.1 s, then 100 at 0.3 s: 200 steps in 40 s, not the mean of 10 and 3.33.
  RunLog fast = log_of_seconds(std::vector<double>(100, 0.1));
  RunLog slow = log_of_seconds(std::vector<double>(100, 0.3));
  for (Record& record : slow.records) record.step += 100;
  const ReconciledRun run = reconciled({fast, slow}, given(facts(8, 1, 1, 2)));
  EXPECT_EQ(run.work, 200 * 16);
  EXPECT_NEAR(estimate(run, "step_time").rate, 5 * 16, 1e-9);
  EXPECT_NEAR(*run.seconds, 40, 1e-9);
  EXPECT_NEAR(*estimate(run, "step_time").gap, 0, 1e-12);
  EXPECT_THAT(notices(run), HasSubstr("the clock is that of the records"));
}

// Logs that the generic reader takes: what their counter counts is unknown.
TEST(Reconcile, JoinsRestartsByTheCounterOfTheirLines) {
  const auto log_of = [](std::int64_t first, std::int64_t last) {
    RunLog log = log_of_seconds(std::vector<double>(static_cast<std::size_t>(last - first), 0.5));
    log.iteration_unit = IterationUnit::unknown;
    for (Record& record : log.records) record.step += first;
    return log;
  };
  const RunLog first = log_of(0, 130), second = log_of(100, 300);
  const ReconciledRun counted = reconciled({first, second}, given({}));
  EXPECT_EQ(counted.unit, "iterations/s");
  EXPECT_EQ(counted.parts[1].redone_steps, 30);
  EXPECT_EQ(counted.work, 300);
  EXPECT_EQ(counted.work_source, "300 iterations by the logs' own numbers");
  // The batch is that of an iteration, as one micro-step makes an optimizer step.
  const ReconciledRun batched = reconciled({first, second}, given(facts(4, 1, 1, 1)));
  EXPECT_EQ(batched.unit, "sequences/s");
  EXPECT_EQ(batched.work, 300 * 4);
  EXPECT_NEAR(estimate(batched, "step_time").rate, 2 * 4, 1e-9);
  EXPECT_EQ(reconciled({first}, given(facts(4, 1, 1, 1))).work, 130 * 4);
  // A counter that begins at 0 again may be of new steps.
  const ReconciledRun anew = reconciled({first, log_of(0, 200)}, given({}));
  EXPECT_EQ(anew.work, 330);
  EXPECT_THAT(notices(anew), HasSubstr("cannot be found"));
  // A rate in sequences/s without a batch: work is unknown, the rates are not.
  RunLog printed = first, more = second;
  for (RunLog* log : {&printed, &more}) {
    log->rate_unit = RateUnit::sequences_per_second;
    for (Record& record : log->records) record.printed_rate = 8, record.seconds = kUnknown;
  }
  const ReconciledRun unknown = reconciled({printed, more}, given({}));
  EXPECT_FALSE(unknown.work);
  EXPECT_NEAR(estimate(unknown, "printed").rate, 8, 1e-9);
}

TEST(Reconcile, PartsOfTheTimeAreAllOfIt) {
  RunLog log = log_of_seconds(std::vector<double>(40, 0.5));
  log.clock_is_wall = true;
  for (std::size_t i = 0; i < log.records.size(); ++i) {
    log.records[i].time_s = 0.5 * static_cast<double>(i);  // stamps, the first one 0
  }
  const ReconciledRun run = reconciled({log}, given(facts(8, 1, 1, 2)));
  ASSERT_TRUE(run.time);
  EXPECT_NEAR(*run.seconds, 20, 1e-9);
  EXPECT_NEAR(run.time->total_s, *run.seconds, 1e-9);
}

TEST(Reconcile, NamesStepsThatNoLogTellsOf) {
  RunLog late = log_of_counters(10, 100);
  late.records.erase(late.records.begin(), late.records.begin() + 6);
  const ReconciledRun run = reconciled({log_of_counters(10, 50), late}, given(facts(8, 1, 1, 2)));
  EXPECT_THAT(notices(run), HasSubstr("no log has the steps 51 to 60"));
}

TEST(Reconcile, LeavesEvaluationOut) {
  RunLog evaluation = log_of_counters(10, 50);
  evaluation.kind = WorkKind::evaluation;
  const ReconciledRun run =
      reconciled({evaluation, log_of_counters(10, 50)}, given(facts(8, 1, 1, 2)));
  EXPECT_EQ(run.parts.size(), 1U);
  EXPECT_THAT(notices(run), HasSubstr("1 run of another kind"));
  EXPECT_FALSE(reconcile_run({}, {}));
}

}  // namespace
}  // namespace bertbench
