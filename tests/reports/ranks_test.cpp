#include "reports/measure/ranks.h"

#include <gmock/gmock.h>

namespace bertbench {
namespace {

using ::testing::ElementsAre;

/// Steps 1 .. 60 in stretches of two, of four ranks on two nodes; rank 3 takes `slow` times as
/// long.
RankTimes four_ranks(double slow) {
  RankTimes times;
  for (std::int64_t step = 1; step <= 60; step += 2) {
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      times.add(rank, rank < 2 ? "0:a" : "1:b", step, step + 1, rank == 3 ? 0.01 * slow : 0.01);
    }
  }
  return times;
}

WindowUsed window(std::int64_t first, std::int64_t last) {
  WindowUsed out;
  out.covered = true;
  out.first_step = first;
  out.last_step = last;
  return out;
}

std::vector<NoticeCode> codes(const Trial& trial) {
  std::vector<NoticeCode> out;
  for (const Notice& notice : trial.notices) out.push_back(notice.code);
  return out;
}

TEST(Ranks, TheSlowRankItsNodeAndTheTimesOfAllNodes) {
  const auto record = rank_record(four_ranks(1.5), window(20, 60)).value();
  EXPECT_EQ(record.ranks, 4);
  EXPECT_EQ(record.first_step, 21);
  EXPECT_EQ(record.last_step, 60);
  EXPECT_EQ(record.slowest.rank, 3);
  EXPECT_EQ(record.slowest.node, "1:b");
  EXPECT_NEAR(record.slowest.ratio, 1.5, 1e-9);
  EXPECT_NEAR(record.spread, 0.5, 1e-9);
  ASSERT_EQ(record.stragglers.size(), 1u);
  EXPECT_EQ(record.stragglers[0].slow, record.stragglers[0].windows);
  ASSERT_EQ(record.nodes.size(), 2u);
  EXPECT_EQ(record.nodes[0].node, "1:b");  // the slowest median first
  EXPECT_NEAR(record.nodes[0].min_s, 0.01, 1e-12);
  EXPECT_NEAR(record.nodes[0].median_s, 0.0125, 1e-12);
  EXPECT_NEAR(record.nodes[0].max_s, 0.015, 1e-12);
  EXPECT_EQ(record.nodes[1].ranks, 2);
  ASSERT_EQ(record.steps.size(), 30u);
  EXPECT_EQ(record.steps.front(), 2);
  ASSERT_EQ(record.rows.size(), 4u);
  EXPECT_EQ(record.rows[0].rank, 3);
  EXPECT_EQ(record.rows[0].ratio.size(), 30u);
  EXPECT_NEAR(record.rows[0].ratio[5], 1.5, 1e-9);
}

TEST(Ranks, ARunWithoutAWindowIsJudgedAfterItsFirstStretch) {
  const auto record = rank_record(four_ranks(1), {}).value();
  EXPECT_EQ(record.first_step, 3);
  EXPECT_TRUE(record.stragglers.empty());
  // One that is not covered is none, and one that no stretch lies in shows nothing.
  WindowUsed uncovered = window(20, 60);
  uncovered.covered = false;
  EXPECT_EQ(rank_record(four_ranks(1), uncovered)->first_step, 3);
  EXPECT_FALSE(rank_record(four_ranks(1), window(59, 60)));
}

TEST(Ranks, OneRankAloneHasNobodyToBeComparedWith) {
  RankTimes times;
  times.add(0, "", 1, 10, 0.01);
  times.add(0, "", 11, 20, 0.01);
  EXPECT_FALSE(rank_record(times, {}));
  EXPECT_FALSE(rank_record({}, {}));
  times.add(1, "", 1, 10, 0.01);  // a second one that has none of the later stretches
  EXPECT_FALSE(rank_record(times, {}));
}

TEST(Ranks, AStragglerIsANoticeAndSoAreRanksThatShareTheirStepTimes) {
  RunLog log;
  log.rank_times = four_ranks(1.5);
  Trial trial;
  describe_ranks(log, trial);
  EXPECT_THAT(codes(trial), ElementsAre(NoticeCode::straggler));
  EXPECT_TRUE(trial.ranks);

  RunLog shared;
  shared.records.resize(2);
  shared.records[1].rank_spread = 0.01;
  Trial other;
  describe_ranks(shared, other);
  EXPECT_THAT(codes(other), ElementsAre(NoticeCode::ranks_share_step_time));
  EXPECT_FALSE(other.ranks);

  Trial silent;
  describe_ranks(RunLog{}, silent);
  EXPECT_TRUE(silent.notices.empty());
}

/// Steps 1 to 4 of a rank, of these seconds each.
RunLog rank_log(const char* path, std::vector<double> seconds) {
  RunLog log;
  log.path = path;
  for (const double one : seconds) {
    log.records.push_back(
        {.step = static_cast<std::int64_t>(log.records.size()) + 1, .seconds = one});
  }
  return log;
}

TEST(RankLogs, BecomeTheRunOfTheLogWithMostStepsAndTheMediansOfAll) {
  RunLog few = rank_log("few", {1, 1}), most = rank_log("most", {4, 4, 4, kUnknown});
  RunLog other = rank_log("other", {7, 7, 0}), evaluation = rank_log("eval", {9, 9, 9, 9, 9});
  evaluation.kind = WorkKind::evaluation;
  other.records[1].iterations = 2;
  few.outcome.status = Status::killed;
  few.outcome.line = 7;
  most.outcome.status = Status::truncated;
  other.outcome = {.status = Status::out_of_memory, .step = {}, .line = 8, .details = {}};
  few.memory = {.peak_bytes = 3, .capacity_bytes = 9};
  other.memory = {.peak_bytes = 5, .capacity_bytes = 9};
  few.planned = 40;
  few.summary = Stated{5, RateUnit::sequences_per_second, 44};
  other.summary = Stated{6, RateUnit::sequences_per_second, 44};
  few.first_nan_step = 4;
  other.first_nan_step = 3;
  most.notices = {make_notice(NoticeCode::arrival_in_bursts, 0, 1.0)};
  other.notices = {make_notice(NoticeCode::arrival_in_bursts, 0, 2.0), foreign_notice(3, "odd")};
  RankLogJoiner joiner;
  joiner.add(2, {other});
  joiner.add(1, {most, evaluation});
  joiner.add(0, {few});
  const auto runs = joiner.take();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_TRUE(joiner.empty());
  const RunLog& run = runs[0];
  EXPECT_EQ(run.path, "most");
  ASSERT_EQ(run.records.size(), 4U);
  EXPECT_EQ(run.records[0].seconds, 4) << "of 1, 4 and 7";
  EXPECT_EQ(run.records[0].rank_spread, 1.5);
  EXPECT_EQ(run.records[1].seconds, 2.5) << "the third counts two iterations";
  EXPECT_EQ(run.records[2].seconds, 4) << "no other one has a third";
  EXPECT_TRUE(std::isnan(run.records[2].rank_spread));
  EXPECT_TRUE(std::isnan(run.records[3].seconds));
  EXPECT_EQ(run.outcome.status, Status::out_of_memory);
  EXPECT_EQ(run.outcome.line, 0) << "of another log";
  EXPECT_EQ(run.memory->peak_bytes, 5);
  EXPECT_EQ(run.planned, 40);
  EXPECT_EQ(run.summary->value, 6);
  EXPECT_EQ(run.first_nan_step, 3);
  std::vector<NoticeCode> found;
  for (const Notice& notice : run.notices) found.push_back(notice.code);
  EXPECT_THAT(found, ElementsAre(NoticeCode::joined_ranks, NoticeCode::arrival_in_bursts,
                                 NoticeCode::outcome_of_rank, NoticeCode::foreign));
  EXPECT_EQ(runs[1].records.size(), 5U) << "an evaluation is no run of the others";
  // What the run with the steps states stands, and one log alone has no ranks.
  most.outcome.status = Status::completed;
  most.planned = 30;
  most.summary = Stated{4, RateUnit::sequences_per_second, 44};
  most.memory = {.peak_bytes = 8, .capacity_bytes = 9};
  joiner.add(1, {most, rank_log("second", {4, 4})});
  joiner.add(0, {few});
  const auto two = joiner.take();
  EXPECT_EQ(two.at(1).records[0].seconds, 4) << "no other log has a second training";
  const RunLog& stands = two[0];
  EXPECT_EQ(stands.outcome.status, Status::completed);
  EXPECT_EQ(stands.planned, 30);
  EXPECT_EQ(stands.summary->value, 4);
  EXPECT_EQ(stands.memory->peak_bytes, 8);
  joiner.add(0, {few});
  EXPECT_TRUE(joiner.take().at(0).notices.empty());
}

TEST(RankTimes, StaysWithinItsBounds) {
  RankTimes times;
  for (std::int64_t step = 1; step <= 100'000; ++step) times.add(7, "n", step, step, 0.5);
  const auto& row = times.rows().at(7);
  EXPECT_LE(row.columns.size(), RankTimes::kMostColumns);
  EXPECT_GT(row.columns.size(), RankTimes::kMostColumns / 2 - 1);
  EXPECT_DOUBLE_EQ(row.columns.front().value(), 0.5);
  double steps = 0;
  for (const auto& column : row.columns) steps += column.steps;
  EXPECT_EQ(steps, 100'000);
  times.add(7, "n", 1'000'000'000'000, 1'000'000'000'000, 0.5);
  EXPECT_LE(times.rows().at(7).columns.size(), RankTimes::kMostColumns);
  for (std::int64_t rank = 0; rank < 20'000; ++rank) times.add(rank, "", 1, 1, 0.5);
  EXPECT_LE(times.rows().size(), RankTimes::kMostRanks);
}

TEST(RankTimes, AStepThatGoesBackOrLiesBeforeTheFirstIsLeftOut) {
  RankTimes times;
  times.add(0, "", 11, 20, 0.5);
  times.add(0, "", 11, 20, 9);
  times.add(1, "", 1, 10, 9);
  EXPECT_EQ(times.rows().size(), 1u);
  EXPECT_DOUBLE_EQ(times.rows().at(0).columns.at(0).value(), 0.5);
}

}  // namespace
}  // namespace bertbench
