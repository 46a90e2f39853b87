#include "parsers/rules/rank_time_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace bertbench {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// The rules with a count of their lines.
struct RankLog {
  RankTimeRules rules;
  std::int64_t line = 0;

  void add_line(std::int64_t rank, std::int64_t first, std::int64_t last,
                const std::string& own_s) {
    const auto text =
        fmt::format("rank_time rank={} steps={}:{} own_s={}", rank, first, last, own_s);
    Line out;
    out.text = text;
    out.number = ++line;
    rules.see(out);
  }
  /// Two ranks, steps first .. last in stretches of one.
  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t step = first; step <= last; ++step) {
      for (const std::int64_t rank : {0, 1}) add_line(rank, step, step, "0.5");
    }
  }
};

/// First and last step that a rank has a time of; {0, 0}: none.
std::pair<std::int64_t, std::int64_t> steps_of(const RankTimes& times, std::int64_t rank) {
  const auto row = times.rows().find(rank);
  if (row == times.rows().end() || row->second.columns.empty()) return {0, 0};
  return {times.first_step(0), times.last_step(row->second.columns.size() - 1)};
}

using Steps = std::pair<std::int64_t, std::int64_t>;

TEST(RankTimeRules, ATimeThatNoStepTakesIsADamagedNumber) {
  RankLog log;
  for (const char* own_s : {"1e-305", "1e-10", "1e7", "-1", "nan", "inf"})
    log.add_line(0, 1, 1, own_s);
  EXPECT_TRUE(log.rules.of(0, kEnd).empty());
  log.add_line(0, 1, 1, "0");
  log.add_line(0, 2, 2, "1e-9");
  log.add_line(0, 3, 3, "1e6");
  EXPECT_EQ(steps_of(log.rules.of(0, kEnd), 0), (Steps{1, 3}));
}

TEST(RankTimeRules, ARunThatGoesOnInTheSameLogHasItsOwnStretches) {
  RankLog log;
  log.run(1, 10);
  const std::int64_t resumed = log.line + 1;
  log.run(11, 20);
  for (const std::int64_t rank : {0, 1}) {
    EXPECT_EQ(steps_of(log.rules.of(0, resumed), rank), (Steps{1, 10}));
    EXPECT_EQ(steps_of(log.rules.of(resumed, kEnd), rank), (Steps{11, 20}));
    EXPECT_EQ(steps_of(log.rules.of(0, kEnd), rank), (Steps{1, 20}));
  }
  EXPECT_TRUE(log.rules.of(kEnd - 1, kEnd).empty());
}

TEST(RankTimeRules, StretchesThatWereJoinedStayWithTheirRun) {
  RankLog log;
  log.run(1, 96);
  const std::int64_t resumed = log.line + 1;
  log.run(97, 200);  // columns of four steps by now
  EXPECT_EQ(steps_of(log.rules.of(0, resumed), 1), (Steps{1, 96}));
  EXPECT_EQ(steps_of(log.rules.of(resumed, kEnd), 1), (Steps{97, 200}));
}

TEST(RankTimeRules, StepsThatGoBackAreOfAnotherRun) {
  RankLog log;
  log.run(1, 10);
  const std::int64_t again = log.line + 1;
  log.run(1, 5);
  EXPECT_EQ(steps_of(log.rules.of(0, again), 0), (Steps{1, 10}));
  EXPECT_EQ(steps_of(log.rules.of(again, kEnd), 0), (Steps{1, 5}));
  // The next run's first line may stand before what begins it.
  EXPECT_EQ(steps_of(log.rules.of(0, again + 1), 0), (Steps{1, 10}));
}

TEST(RankTimeRules, RanksBeyondTheBoundAreLeftOutAndTheOthersGoOn) {
  RankLog log;
  const auto most = static_cast<std::int64_t>(RankTimes::kMostRanks);
  for (std::int64_t step = 1; step <= 3; ++step) {
    for (std::int64_t rank = 0; rank < most + 10; ++rank) log.add_line(rank, step, step, "0.5");
  }
  const RankTimes times = log.rules.of(0, kEnd);
  EXPECT_EQ(times.rows().size(), RankTimes::kMostRanks);
  for (const std::int64_t rank : {std::int64_t{0}, most - 1}) {
    EXPECT_EQ(steps_of(times, rank), (Steps{1, 3})) << rank;
  }
  // Nor is a run that found no place taken for the one before it.
  for (std::int64_t step = 1; step <= 5; ++step) log.add_line(0, step, step, "0.5");
  EXPECT_EQ(steps_of(log.rules.of(0, kEnd), 0), (Steps{1, 3}));
}

}  // namespace
}  // namespace bertbench
