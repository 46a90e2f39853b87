#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Litgpt, ReadsTheMicroStepsOf2023) {
  const auto runs = read_text(
      "iter 5 step 2: loss 10.5000, iter time: 197.50ms\n"
      "iter 6 step 3: loss 10.2500, iter time: 214.40ms (optimizer.step)\n"
      "iter 7 step 3: loss 10.1000, iter time: 198.00ms\n"
      "iter 8 step 4: loss 10.0000, iter time: 215.31ms (optimizer.step)\n"
      "Training time: 120.50s\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "litgpt");
  ASSERT_EQ(run.records.size(), 4u);
  EXPECT_EQ(run.records[0].seconds, 0.1975);
  EXPECT_EQ(run.iteration_unit, IterationUnit::micro_step);
  EXPECT_EQ(run.facts.gradient_accumulation_steps.value, 2);
  EXPECT_EQ(run.totals.training_s, 120.5);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_TRUE(run.notices.empty());
}

// Counted from 0, and a first update that would tell two lengths.
TEST(Litgpt, CountsTheIterationsOfAnUpdateFromNought) {
  const auto runs = read_text(
      "iter 3 step 1: loss 4.5000, iter time: 200.00ms (optimizer.step)\n"
      "iter 7 step 2: loss 4.2500, iter time: 200.00ms (optimizer.step)\n"
      "iter 11 step 3: loss 4.1000, iter time: 200.00ms (optimizer.step)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 4);
  EXPECT_THAT(runs[0].notices.back().text, testing::HasSubstr("only of those that step"));
}

TEST(Litgpt, ReadsTheColumnsSince2024) {
  const auto runs = read_text(
      "Ep 1 | iter 3 | stEp 0: loss train (curr): 1.610, val (prev val iter): None | iter time: "
      "106.92 ms\n"
      "Ep 1 | iter 4 | step 1: loss train (curr): 1.585, val (prev val iter): None | iter time: "
      "181.34 ms (opt.step)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 0.18134);
  EXPECT_EQ(runs[0].records[1].loss, 1.585);
  const auto pretrain = read_text(
      "Epoch 3 | iter 3050700 step 610140 | loss train: 2.846, val: 2.861 | iter time: 112.20 ms "
      "(step) remaining time: 0:01:54\n"
      "Epoch 3 | iter 3050750 step 610150 | loss train: 2.750, val: 2.861 | iter time: 111.35 ms "
      "(step) remaining time: 0:01:49\n");
  ASSERT_EQ(pretrain.size(), 1u);
  EXPECT_EQ(pretrain[0].records[1].step, 3050750);
  EXPECT_EQ(pretrain[0].records[1].loss, 2.75);
  EXPECT_EQ(pretrain[0].facts.gradient_accumulation_steps.value, 5);
}

}  // namespace
}  // namespace bertbench
