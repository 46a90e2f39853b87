// The largest batch that fits: bisection, its memory, the rows of what does not fit.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <set>

#include "harness/sweep/execute/adaptive.h"
#include "harness/sweep/execute/runner.h"
#include "tests/harness/sweep/support.h"

namespace bertbench::test {
namespace {

using testing::HasSubstr;

Probe fits_up_to(std::int64_t limit, std::int64_t batch) {
  return batch <= limit ? Probe{Fit::fits, ""} : Probe{Fit::out_of_memory, "too much"};
}

TEST(SearchBatch, FindsEveryLimitInAboutTwiceItsLogarithm) {
  for (std::int64_t limit = 0; limit <= 300; ++limit) {
    std::set<std::int64_t> asked;
    const auto found = search_batch([&](std::int64_t batch) -> Result<Probe> {
      EXPECT_TRUE(asked.insert(batch).second) << "asked twice: " << batch;
      return fits_up_to(limit, batch);
    });
    ASSERT_TRUE(found);
    EXPECT_EQ(found->fits, limit);
    EXPECT_EQ(found->does_not, limit + 1);
    EXPECT_LE(asked.size(), 2U * 9 + 2) << limit;
  }
}

TEST(SearchBatch, StopsAtTheMostThatItMayTry) {
  const auto found = search_batch(
      [](std::int64_t batch) -> Result<Probe> { return fits_up_to(1 << 20, batch); }, 100);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fits, 100);
  EXPECT_EQ(found->does_not, std::nullopt);
}

TEST(SearchBatch, AProbeThatFailsOtherwiseEndsTheSearchAtWhatIsKnown) {
  const auto found = search_batch([](std::int64_t batch) -> Result<Probe> {
    if (batch == 8) return Probe{Fit::failed, "exit status 3"};
    return fits_up_to(100, batch);
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fits, 4);
  EXPECT_THAT(found->why, HasSubstr("the probe of 8 failed (exit status 3)"));
}

/// A trainer that is out of memory above a limit: the fake trainer, called by a shell script.
std::string trainer_with_limit(const ScratchFolder& folder, int limit) {
  const std::string path = folder.path("trainer");
  write_file(path, fmt::format(R"(#!/bin/sh
b=0
for word in "$@"; do
  [ "$last" = --micro-batch-size ] && b=$word
  last=$word
done
echo "$b" >> {}
if [ "$b" -gt {} ]; then
  echo "bert_train: rank 0: out of memory: it needs $b MiB of memory, {} MiB are available" >&2
  exit 12
fi
exec {} "$@"
)",
                               folder.path("asked"), limit, limit, BB_FAKE_TRAINER));
  chmod(path.c_str(), 0755);
  return path;
}

std::string config_with(const std::string& batches) {
  return R"({"name": "test", "workload": "bert_train",
 "grid": {"topology": ["1n1g"], "model": ["bert-tiny"], "micro_batch_size": )" +
         batches + R"(, "sequence_length": [64]},
 "trials": 2, "steps": 20, "window": "steps:10:20", "timeout_s": 60, "stall_timeout_s": 30,
 "retries": 0})";
}

TEST(BatchSearch, MeasuresTheLargestBatchThatFitsAndDoesNotSearchAgain) {
  const ScratchFolder folder;
  PlanOptions options;
  options.trainer = trainer_with_limit(folder, 37);
  const Plan plan = plan_of(config_with(R"(["max"])"), {}, options);
  Recorder first, again;
  const SweepOutcome outcome = swept(plan, folder, first);
  ASSERT_EQ(outcome.result.cells.size(), 1U);
  const Cell& cell = outcome.result.cells[0];
  EXPECT_EQ(cell.identity.micro_batch_size, 37);
  EXPECT_EQ(cell.throughput.n, 2);
  EXPECT_THAT(texts_of(cell.warnings),
              testing::Contains(HasSubstr("37 by search, 38 is out of memory")));
  const std::size_t launches = count(read_file(folder.path("asked")), "\n");
  EXPECT_GT(launches, 5U);

  const SweepOutcome resumed = swept(plan, folder, again);
  EXPECT_EQ(count(read_file(folder.path("asked")), "\n"), launches) << "a probe was launched again";
  EXPECT_EQ(resumed.result.cells.at(0).identity.micro_batch_size, 37);
}

TEST(BatchSearch, ASearchCutShortGoesOnWhereItWas) {
  const ScratchFolder folder;
  PlanOptions options;
  options.trainer = trainer_with_limit(folder, 37);
  const Plan plan = plan_of(config_with(R"("max")"), {}, options);
  std::atomic<bool> stop = false;
  Recorder stopper;
  stopper.on_record = [&] {
    if (!stopper.notices.empty() && stopper.notices.back().find(": 16 fits") != std::string::npos) {
      stop = true;
    }
  };
  SweepOptions cut = quick(folder.path("run"));
  cut.stop = &stop;
  const auto interrupted = value_of(run_sweep(plan, cut, stopper));
  EXPECT_TRUE(interrupted.interrupted);
  EXPECT_EQ(interrupted.exit_status, 130);
  Recorder rest;
  const SweepOutcome outcome = swept(plan, folder, rest);
  EXPECT_EQ(outcome.result.cells.at(0).identity.micro_batch_size, 37);
  const std::string asked = read_file(folder.path("asked"));
  EXPECT_EQ(count("\n" + asked, "\n16\n"), 1U) << asked;
}

TEST(BatchSearch, ACellThatDoesNotFitIsARowWithItsMemory) {
  const ScratchFolder folder;
  PlanOptions options;
  options.trainer = trainer_with_limit(folder, 37);
  Recorder recorder;
  const SweepOutcome outcome =
      swept(plan_of(config_with("[16, 96]"), {}, options), folder, recorder, 1);
  ASSERT_EQ(outcome.result.cells.size(), 2U);
  const Cell& cell = outcome.result.cells[1];
  EXPECT_EQ(cell.trials.at(0).outcome.status, Status::out_of_memory);
  ASSERT_TRUE(cell.trials.at(0).memory);
  EXPECT_EQ(cell.trials[0].memory->peak_bytes, 96 << 20);
  EXPECT_EQ(cell.trials[0].memory->capacity_bytes, 37 << 20);
}

TEST(BatchSearch, WhereNothingFitsTheReportShowsTheFailureOfOne) {
  const ScratchFolder folder;
  PlanOptions options;
  options.trainer = trainer_with_limit(folder, 0);
  Recorder recorder;
  const SweepOutcome outcome =
      swept(plan_of(config_with(R"("max")"), {}, options), folder, recorder, 1);
  const Cell& cell = outcome.result.cells.at(0);
  EXPECT_EQ(cell.identity.micro_batch_size, 1);
  EXPECT_EQ(cell.trials.at(0).outcome.status, Status::out_of_memory);
}

TEST(BatchSearch, AnAnswerThatTheGridHoldsIsNotMeasuredTwice) {
  const ScratchFolder folder;
  PlanOptions options;
  options.trainer = trainer_with_limit(folder, 4);
  Recorder recorder;
  const SweepOutcome outcome =
      swept(plan_of(config_with(R"([4, "max"])"), {}, options), folder, recorder);
  EXPECT_EQ(outcome.result.cells.size(), 1U);
}

TEST(EnoughTrials, StopsWhenTheIntervalIsNarrowAndNotBefore) {
  const AdaptiveRule rule{6, 30, 0.01};
  const std::vector<double> steady{100, 100.1, 100.2, 99.9, 100, 100.1};
  EXPECT_FALSE(enough_trials(std::span(steady).first(5), 5, false, rule)) << "no interval below 6";
  EXPECT_TRUE(enough_trials(steady, 6, false, rule));
  std::vector<double> noisy{100, 104, 98, 101, 97, 103};
  EXPECT_FALSE(enough_trials(noisy, 6, false, rule));
  EXPECT_TRUE(enough_trials(noisy, 30, false, rule)) << "the most";
  for (int i = 0; i < 20; ++i) noisy.push_back(100 + 0.01 * i);
  EXPECT_TRUE(enough_trials(noisy, 26, false, rule));
}

TEST(EnoughTrials, GivesUpOnACellThatCannotGiveANumber) {
  const AdaptiveRule rule{6, 30, 0.01};
  EXPECT_TRUE(enough_trials({}, 1, true, rule));
  EXPECT_FALSE(enough_trials({}, 5, false, rule));
  EXPECT_TRUE(enough_trials({}, 6, false, rule));
}

std::string auto_config() {
  std::string config = config_with("[4, 96]");
  config.replace(config.find("\"trials\": 2"), 11, "\"trials\": \"auto\", \"trials_max\": 12");
  return config;
}

TEST(TrialsAuto, StopsEachCellOnItsOwnInterleavedAndStaysStoppedOnResume) {
  const ScratchFolder folder;
  PlanOptions options;
  options.trainer = trainer_with_limit(folder, 37);
  const Plan plan = plan_of(auto_config(), {}, options);
  EXPECT_EQ(plan.trials.size(), 24U);
  Recorder first, again;
  const SweepOutcome outcome = swept(plan, folder, first, 1);
  ASSERT_EQ(outcome.result.cells.size(), 2U);
  EXPECT_EQ(outcome.result.cells[0].throughput.n, 6) << "equal rates: as few as allowed";
  EXPECT_EQ(outcome.result.cells[1].trials.size(), 1U) << "out of memory once is enough";
  EXPECT_EQ(outcome.failed_trials, 1);
  ASSERT_GE(first.started.size(), 2U);
  EXPECT_NE(first.started[0], first.started[1]);
  swept(plan, folder, again, 1);
  EXPECT_EQ(again.started.size(), 0U);
  EXPECT_EQ(again.counts.to_run, 0);
}

}  // namespace
}  // namespace bertbench::test
