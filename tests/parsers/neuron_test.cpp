#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Neuron, ReadsTheStepsOfBertAndWhatTheyAreOf) {
  const auto runs = read_text(
      "Namespace(batch_size=16, data_dir='x', grad_accum_usteps=32, max_steps=28125, seq_len=128, "
      "steps_this_run=3, warmup_steps=2000)\n"
      "LOG Fri Jun  2 05:59:58 2023 - (0, 1) step_loss : 11.2500 learning_rate : 2.00e-07 "
      "throughput "
      ": 800.25 \n"
      "LOG Fri Jun  2 06:00:08 2023 - (0, 2) step_loss : 11.1250 learning_rate : 4.00e-07 "
      "throughput "
      ": 1600.50 grad-norm : 1.5\n"
      "LOG Fri Jun  2 06:00:18 2023 - (0, 3) step_loss : nan learning_rate : 6.00e-07 throughput : "
      "1620.50 grad-norm : 1.5\n"
      "Epoch 0 step 3 file index 1 end Fri Jun  2 06:00:18 2023 loss 11.0 perf 1620.5 seq/sec (at "
      "train microstep 96 time 1685685618.5 from beginning time 1685685578.0)\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "neuron");
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.records[1].printed_rate, 1600.5);
  EXPECT_EQ(run.records[2].time_s, 20);
  EXPECT_EQ(run.first_nan_step, 3);
  EXPECT_EQ(run.rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(run.facts.micro_batch_size.value, 16);
  EXPECT_EQ(run.facts.gradient_accumulation_steps.value, 32);
  EXPECT_EQ(run.facts.sequence_length.value, 128);
  EXPECT_EQ(run.totals.training_s, 40.5);
}

TEST(Neuron, TellsTheAccumulationByItsMicroSteps) {
  const auto runs = read_text(
      "LOG Thu Jun 29 05:44:10 2023 - (0, 10) step_loss : 9.5 learning_rate : 2.0e-06 throughput : "
      "1234.50 \n"
      "LOG bad stamp - (0, 11) step_loss : 9.5 learning_rate : 2.0e-06 throughput : 1234.50 \n"
      "Epoch 0 step 11 file index 1 end Thu Jun 29 05:45:00 2023 loss 8.1 perf 1236.2 seq/sec (at "
      "train microstep 88 time 110.0 from beginning time 10.0)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 8);
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known());
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

}  // namespace
}  // namespace bertbench
