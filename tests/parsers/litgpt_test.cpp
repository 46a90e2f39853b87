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

// Iterations from 0, and the step in front of the update.
TEST(Litgpt, CountsTheIterationsOfAnUpdateByTwoOfThem) {
  const auto runs = read_text(
      "{'eval_interval': 10000, 'devices': 2, 'batch_size': 16, 'micro_batch_size': 1, "
      "'gradient_accumulation_iters': 16, 'max_iters': 200}\n"
      "iter 31 step 1: loss 2.4069, perp 11.0996, iter time: 2000.00ms (optimizer.step)\n"
      "Validating ...\n"
      "step 31: val loss 2.2874, val perp 9.8491, val time: 79658.99ms\n"
      "iter 47 step 2: loss 2.3069, perp 10.0996, iter time: 2000.00ms (optimizer.step)\n"
      "iter 63 step 3: loss 2.2069, perp 9.0996, iter time: 2000.00ms (optimizer.step)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 16);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 1);
  EXPECT_EQ(runs[0].facts.gpus_per_node.value, 2);
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("only of those that step"));
}

TEST(Litgpt, ReadsIterationsWithoutSteps) {
  const auto runs = read_text(
      "iter 65496: loss 1.2029, time: 101.50ms\n"
      "iter 65497: loss 1.5817, time: 184.24ms\n"
      "RuntimeError: CUDA out of memory.\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "litgpt");
  EXPECT_EQ(runs[0].records[0].seconds, 0.1015);
  EXPECT_EQ(runs[0].outcome.status, Status::out_of_memory);
  EXPECT_FALSE(runs[0].facts.gradient_accumulation_steps.known());
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
