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
}

TEST(Ranks, OneRankAloneHasNobodyToBeComparedWith) {
  RankTimes times;
  times.add(0, "", 1, 10, 0.01);
  times.add(0, "", 11, 20, 0.01);
  EXPECT_FALSE(rank_record(times, {}));
  EXPECT_FALSE(rank_record({}, {}));
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
