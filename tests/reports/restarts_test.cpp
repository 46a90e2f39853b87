#include "reports/measure/restarts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::notices;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Optimizer steps first < n <= last, printed every `every`, two seconds each, by a bar's clock.
RunLog part(const char* path, std::int64_t first, std::int64_t last, std::int64_t every = 10) {
  RunLog log;
  log.path = path;
  log.format = "megatron";
  log.iteration_unit = IterationUnit::optimizer_step;
  log.outcome.status = Status::killed;
  for (std::int64_t step = first + every; step <= last; step += every) {
    log.records.push_back(
        {.step = step,
         .iterations = log.records.empty() ? step : every,  // a parser knows no other
         .seconds = 2.0 * static_cast<double>(every),
         .time_s = 2.0 * static_cast<double>(step - first),
         .line = step});
  }
  log.records_seen = static_cast<std::int64_t>(log.records.size());
  return log;
}

RestartChains chains_of(const std::vector<RunLog>& logs) {
  std::vector<RunSpan> spans;
  for (const RunLog& log : logs) spans.push_back(span_of(log, ""));
  return find_restarts(spans);
}

TEST(Restarts, AreFoundWhateverTheOrderOfTheLogs) {
  const auto found = chains_of({part("c", 180, 300), part("a", 0, 100), part("b", 80, 200)});
  EXPECT_THAT(found.chains, ElementsAre(ElementsAre(1, 2, 0)));
  EXPECT_THAT(found.doubts, IsEmpty());
  // Where two runs could be continued, the one that began last is.
  EXPECT_THAT(chains_of({part("a", 0, 190), part("b", 80, 200), part("c", 180, 300)}).chains,
              ElementsAre(ElementsAre(0, 1, 2)));
  // No run of evaluations is a restart, nor one whose counter goes back.
  RunLog evaluation = part("b", 80, 200);
  evaluation.kind = WorkKind::evaluation;
  RunLog back = part("b", 80, 200);
  back.records[5].step = 90;
  for (const RunLog& other : {evaluation, back}) {
    EXPECT_THAT(chains_of({part("a", 0, 100), other}).chains, IsEmpty());
  }
}

TEST(Restarts, TrialsThatBeginAtTheSameStepAreNotRestartsOfEachOther) {
  EXPECT_THAT(chains_of({part("a", 0, 100), part("b", 0, 100), part("c", 0, 200)}).chains,
              IsEmpty());
  EXPECT_THAT(chains_of({part("a", 500, 600), part("b", 500, 700)}).chains, IsEmpty());
}

TEST(Restarts, AmbiguousOnesAreLeftApart) {
  const auto two_before = chains_of({part("a", 0, 100), part("b", 0, 100), part("c", 80, 200)});
  EXPECT_THAT(two_before.chains, IsEmpty());
  ASSERT_THAT(two_before.doubts, SizeIs(1));
  EXPECT_EQ(two_before.doubts[0].run, 2u);
  EXPECT_THAT(two_before.doubts[0].may_continue, testing::UnorderedElementsAre(0, 1));
  const auto two_after = chains_of({part("a", 0, 100), part("b", 80, 200), part("c", 80, 220)});
  EXPECT_THAT(two_after.chains, IsEmpty());
  EXPECT_THAT(two_after.doubts, SizeIs(2));
}

TEST(Restarts, AGapBeyondOneIntervalAndOtherFactsAreAnotherRun) {
  EXPECT_THAT(chains_of({part("a", 0, 100), part("b", 110, 200)}).chains, SizeIs(1));
  EXPECT_THAT(chains_of({part("a", 0, 100), part("b", 130, 200)}).chains, IsEmpty());
  EXPECT_THAT(chains_of({part("a", 0, 100), part("b", 20, 90)}).chains, IsEmpty()) << "no progress";
  const RunSpan spans[] = {span_of(part("a", 0, 100), "x"), span_of(part("b", 80, 200), "y")};
  EXPECT_THAT(find_restarts(spans).chains, IsEmpty());
}

TEST(Restarts, EachStepCountsOnceAndLostTimeStays) {
  RunLog second = part("b.log", 80, 200);
  second.outcome.status = Status::completed;
  const RunLog run = join_restarts({part("a.log", 0, 100), second});
  EXPECT_EQ(run.path, "a.log");
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_EQ(run.totals.optimizer_steps, 200);
  ASSERT_THAT(run.records, SizeIs(8 + 12));
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    EXPECT_EQ(run.records[i].step, 10 * static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(run.records[i].iterations, 10);
    EXPECT_DOUBLE_EQ(run.records[i].seconds, 20);
  }
  EXPECT_DOUBLE_EQ(run.records[7].time_s, 160);
  EXPECT_DOUBLE_EQ(run.records[8].time_s, 200 + 20) << "the 20 lost steps took 40 seconds";
  EXPECT_DOUBLE_EQ(run.records.back().time_s, 200 + 240);
  EXPECT_THAT(notices(run), HasSubstr("joined with its restarts: a.log (steps 1 to 100, killed)"
                                      ", b.log (steps 81 to 200, completed)"));
  EXPECT_THAT(notices(run), HasSubstr("20 steps were lost and done again by b.log"));
}

// NVIDIA's BERT for TensorFlow prints 46 after update 45; its checkpoint was made after 30.
TEST(Restarts, ALogThatNumbersItsLinesOneAheadLosesNoUpdate) {
  const auto ahead = [](RunLog log, std::int64_t first, std::int64_t last) {
    for (Record& record : log.records) ++record.step;
    log.records.front().iterations = 1;
    log.totals.first_optimizer_step = first;
    log.totals.last_optimizer_step = last;
    return log;
  };
  const RunLog joined =
      join_restarts({ahead(part("a", 0, 45, 1), 0, 45), ahead(part("b", 30, 60, 1), 30, 60)});
  ASSERT_THAT(joined.records, SizeIs(60));
  for (std::size_t i = 0; i < joined.records.size(); ++i) {
    EXPECT_EQ(joined.records[i].step, static_cast<std::int64_t>(i) + 2);
    EXPECT_EQ(joined.records[i].iterations, 1);
  }
  EXPECT_EQ(joined.totals.last_optimizer_step, 60);
  EXPECT_THAT(notices(joined), HasSubstr("15 steps were lost"));
}

TEST(Restarts, StepsThatNoLogTellsOfAreNamed) {
  const RunLog run = join_restarts({part("a", 0, 100), part("b", 110, 200)});
  EXPECT_THAT(notices(run), HasSubstr("no log has the steps 101 to 110"));
}

TEST(Restarts, TotalsAddUpOnlyWhereEveryPartStatesThem) {
  RunLog a = part("a", 0, 100), b = part("b", 80, 200);
  a.totals.wall_s = 300;
  b.totals.wall_s = 400;
  a.totals.sequences = 1000;
  b.totals.sequences = 1200;
  a.totals.training_s = 250;
  a.summary = Stated{5, RateUnit::sequences_per_second, 44};
  const RunLog run = join_restarts({a, b});
  EXPECT_EQ(run.totals.wall_s, 700);
  EXPECT_FALSE(run.totals.training_s);
  EXPECT_EQ(run.totals.sequences, 1000 + 1000) << "100 of b's 120 steps are new";
  EXPECT_FALSE(run.summary);
  EXPECT_THAT(notices(run), HasSubstr("closing rates are of one part each"));
}

TEST(Restarts, WhatTheLogsStateOfTheWholeRunIsJoined) {
  RunLog a = part("a", 0, 100), b = part("b", 80, 200), c = part("c", 200, 300);
  a.memory = {.peak_bytes = 5, .capacity_bytes = 9};
  b.memory = {.peak_bytes = 7, .capacity_bytes = 9};
  c.memory = {.peak_bytes = 6, .capacity_bytes = 9};
  b.first_nan_step = 90;
  c.first_nan_step = 250;
  b.summary = Stated{5, RateUnit::sequences_per_second, 44};
  a.notices = {foreign_notice(44, "of a")};
  b.notices = {foreign_notice(44, "of the closing rate"), foreign_notice(45, "of b")};
  RunLog run = join_restarts({a, b, c});
  EXPECT_EQ(run.memory->peak_bytes, 7);
  EXPECT_FALSE(run.first_nan_step) << "the run went on with another loss";
  EXPECT_THAT(notices(run), HasSubstr("of a\n"));
  EXPECT_THAT(notices(run), HasSubstr("of b\n"));
  EXPECT_THAT(notices(run), testing::Not(HasSubstr("of the closing rate")));
  c.outcome.status = Status::nan;
  EXPECT_EQ(join_restarts({a, b, c}).first_nan_step, 90);
  b.first_nan_step.reset();
  EXPECT_EQ(join_restarts({a, b, c}).first_nan_step, 250);
  c.outcome.status = Status::killed;
  c.records[3].loss = std::numeric_limits<double>::infinity();
  EXPECT_EQ(join_restarts({a, b, c}).first_nan_step, 250);
  a.summary = b.summary;
  EXPECT_THAT(notices(join_restarts({a, b})), testing::Not(HasSubstr("of a\n")));
  EXPECT_EQ(join_restarts({part("a", 0, 100), b}).memory->peak_bytes, 7);
}

// Stamps begin with the first record: its own time is to be added, or that of the second.
TEST(Restarts, TheClockOfTheDayGoesOnWithTheFirstStepOfARestart) {
  RunLog logs[2] = {part("a", 0, 100), part("b", 100, 200)};
  for (RunLog& log : logs) {
    log.clock_is_wall = true;
    for (Record& record : log.records) record.time_s -= 20;
  }
  logs[1].records[0].seconds = 30;
  EXPECT_DOUBLE_EQ(join_restarts({logs[0], logs[1]}).records[10].time_s, 180 + 30);
  logs[1].records[0].iterations = 10;
  for (Record& record : logs[1].records) record.seconds = kUnknown;
  EXPECT_DOUBLE_EQ(join_restarts({logs[0], logs[1]}).records[10].time_s, 180 + 20);
  logs[1].records.resize(1);
  EXPECT_DOUBLE_EQ(join_restarts({logs[0], logs[1]}).records[10].time_s, 180);
}

RunLog with_rank_times(RunLog log, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first + 1; step <= last; step += 10) {
    for (const std::int64_t rank : {0, 1}) log.rank_times.add(rank, "n", step, step + 9, 0.5);
  }
  return log;
}

TEST(Restarts, TimesOfRanksGoOnWithTheSteps) {
  const RunLog run = join_restarts(
      {with_rank_times(part("a", 0, 100), 0, 100), with_rank_times(part("b", 80, 200), 80, 200)});
  ASSERT_THAT(run.rank_times.rows(), SizeIs(2));
  const auto& row = run.rank_times.rows().at(1);
  EXPECT_EQ(row.last_step, 200);
  ASSERT_THAT(row.columns, SizeIs(20));
  for (const auto& column : row.columns) EXPECT_EQ(column.steps, 10) << "each step once";
}

TEST(Restarts, TimesOfRanksThatAreNumberedAnewAreLeftOut) {
  const RunLog run = join_restarts(
      {with_rank_times(part("a", 0, 100), 0, 100), with_rank_times(part("b", 80, 200), 0, 120)});
  EXPECT_EQ(run.rank_times.rows().at(0).last_step, 100);
}

TEST(Restarts, ARestartAloneMayStateTheTimesOfItsRanks) {
  const RunLog run =
      join_restarts({part("a", 0, 100), with_rank_times(part("b", 80, 200), 80, 200)});
  EXPECT_EQ(run.rank_times.first_step(0), 81);
  EXPECT_EQ(run.rank_times.rows().at(0).last_step, 200);
}

// NVIDIA's bars count micro-steps from 0 in each log; the optimizer steps go on.
TEST(Restarts, MicroStepsGoOnWhereTheCheckpointWas) {
  RunLog logs[2];
  for (int i = 0; i < 2; ++i) {
    logs[i].path = i == 0 ? "a" : "b";
    logs[i].iteration_unit = IterationUnit::micro_step;
    logs[i].totals.first_optimizer_step = 20 * i;
    logs[i].totals.last_optimizer_step = 25 + 25 * i;
    for (int step = 1; step <= (i == 0 ? 25 : 30); ++step) {
      logs[i].records.push_back({.step = 4 * step, .iterations = 4, .time_s = 1.0 * step});
    }
    logs[i].totals.iterations = logs[i].records.back().step;
  }
  const RunLog run = join_restarts({logs[0], logs[1]});
  ASSERT_THAT(run.records, SizeIs(20 + 30));
  EXPECT_EQ(run.records[19].step, 80);
  EXPECT_EQ(run.records[20].step, 84);
  EXPECT_EQ(run.records.back().step, 200);
  EXPECT_DOUBLE_EQ(run.records[20].time_s, 25 + 1);
  EXPECT_EQ(run.totals.optimizer_steps, 50);
  EXPECT_EQ(run.totals.iterations, 200);
}

}  // namespace
}  // namespace bertbench
