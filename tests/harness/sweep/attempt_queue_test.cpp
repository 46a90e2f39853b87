// The order of attempts, and how long what waits will take.
#include "harness/sweep/execute/attempt_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace bertbench {
namespace {
using ::testing::ElementsAre;

WantedAttempt wanted(std::size_t cell, int trial) {
  WantedAttempt out;
  out.trial = {cell, trial};
  return out;
}

AttemptQueue queue_of(const std::vector<PlannedTrial>& trials) {
  AttemptQueue queue;
  for (const auto& trial : trials) queue.add(wanted(trial.cell, trial.trial));
  return queue;
}

TEST(AttemptQueue, RetriesATrialBeforeTheNextOneAndUnderItsPosition) {
  auto queue = queue_of({{0, 1}, {1, 1}});
  auto first = queue.take();
  ++first.attempt;
  queue.put_first(first);
  const auto again = queue.take();
  EXPECT_EQ(again.trial, (PlannedTrial{0, 1}));
  EXPECT_EQ(again.attempt, 2);
  EXPECT_EQ(again.position, 1);
  EXPECT_EQ(queue.take().position, 2);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.trials(), 2);
}

TEST(AttemptQueue, TakesAGroupInItsOrderAndLeavesTheOthersInTheirs) {
  auto queue = queue_of({{0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 1}});
  const auto by_cell = [](const WantedAttempt& one) { return std::to_string(one.trial.cell); };
  std::vector<int> trials, positions;
  for (const auto& one : queue.take_group(by_cell)) {
    EXPECT_EQ(one.trial.cell, 0u);
    trials.push_back(one.trial.trial);
    positions.push_back(one.position);
  }
  EXPECT_THAT(trials, ElementsAre(1, 2));
  EXPECT_THAT(positions, ElementsAre(1, 2));
  EXPECT_EQ(queue.take().trial, (PlannedTrial{1, 1}));
  EXPECT_EQ(queue.take().trial, (PlannedTrial{1, 2}));
  EXPECT_EQ(queue.take().trial, (PlannedTrial{2, 1}));
}

TEST(AttemptQueue, CountsTrialsOfADroppedCellAsPassed) {
  auto queue = queue_of({{0, 1}, {1, 1}, {0, 2}, {0, 3}});
  EXPECT_EQ(queue.take().position, 1);
  queue.drop(0);
  EXPECT_EQ(queue.take().position, 4);
  EXPECT_TRUE(queue.empty());
}

TEST(AttemptQueue, CountsADroppedTrialThatWaitsForAnotherAttemptOnce) {
  auto queue = queue_of({{0, 1}, {0, 2}});
  queue.put_first(queue.take());
  queue.drop(0);
  auto running = wanted(1, 1);
  queue.add_running(running);
  EXPECT_EQ(running.position, 3);
  EXPECT_EQ(queue.trials(), 3);
}

TEST(AttemptQueue, CountsATrialThatAnEarlierStartRuns) {
  auto queue = queue_of({{0, 1}});
  auto running = wanted(0, 2);
  queue.add_running(running);
  EXPECT_EQ(queue.trials(), 2);
  EXPECT_EQ(running.position, 1);
  EXPECT_EQ(queue.take().position, 2);
}

TEST(AttemptQueue, EstimatesByWhatTheSameCellTookElseByAll) {
  auto known = queue_of({{0, 1}, {0, 2}, {1, 1}});
  EXPECT_TRUE(std::isnan(known.eta(0, 5)));  // nothing has been measured
  known.take();
  known.took(0, 10);
  EXPECT_DOUBLE_EQ(known.eta(0, 5), 10 + 10 + 5) << "as soon as something has";

  auto queue = queue_of({{0, 2}, {1, 1}});
  queue.took(0, 10);
  queue.took(0, 20);
  // 15 s for the second trial of cell 0, and for cell 1, of which nothing is known, as well.
  EXPECT_DOUBLE_EQ(queue.eta(0, 4), 15 + 15 + 4);

  auto last = queue_of({});
  last.took(3, 7);
  EXPECT_DOUBLE_EQ(last.eta(3, std::nan("")), 7);
  EXPECT_TRUE(std::isnan(last.eta(4, std::nan(""))));
}

}  // namespace
}  // namespace bertbench
