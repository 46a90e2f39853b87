// No run of Colossal-AI was made here (it needs a GPU): the lines are written by hand after the
// print statements of examples/language/gpt/gemini/train_gpt_demo.py and performance_evaluator.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Colossalai, ReadsStepTimesWithoutGuessingTheBatch) {
  const auto runs = read_text(
      "                    INFO     colossalai - colossalai - INFO: [1/2] Loss:11.010, Step time: "
      "5.341s, TFLOPS: 12.342, FWD time: 4.012s, BWD time: 0.712s, OPTIM time: 0.617s\n"
      "                    INFO     colossalai - colossalai - INFO: [2/2] Loss:10.910, Step time: "
      "0.641s, TFLOPS: 102.842, FWD time: 0.112s, BWD time: 0.312s, OPTIM time: 0.217s\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "colossalai");
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 0.641);
  EXPECT_DOUBLE_EQ(runs[0].records[1].loss, 10.91);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Colossalai, ReadsStepsThatRichHasWrapped) {
  const std::string front = "                    INFO     colossalai - colossalai - INFO: ";
  const std::string indent(29, ' ');
  const auto runs = read_text(
      "[02/10/23 10:11:12] INFO     colossalai - colossalai - INFO: [1/120] Loss:11.0, \n" +
      indent + "Step time: 5.341s, TFLOPS: 12.342, FWD time:       \n" + indent +
      "4.012s, BWD time: 0.712s, OPTIM time: 0.617s       \n" + front + "[119/120]          \n" +
      indent + "Loss:10.910, Step time: 0.641s, TFLOPS: 102.842,   \n" + indent +
      "FWD time: 0.112s, BWD time: 0.312s, OPTIM time:    \n" + indent + "0.217s\n" + front +
      "[120/120]          \nother\n" + indent + "Loss:10.910, Step time: 0.7s, TFLOPS: 102.842,\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "colossalai");
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].seconds, 5.341);
  EXPECT_DOUBLE_EQ(runs[0].records[0].loss, 11.0);
  EXPECT_EQ(runs[0].records[1].step, 119);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 0.641);
}

TEST(Colossalai, TakesTheEvaluatorsThroughputWithAllItsDigits) {
  const auto runs = read_text(
      "num_samples: 24, dp_world_size: 8, flop_megatron: 6.1e+15, flop: 5.9e+15, avg_duration: "
      "12.5, avg_throughput: 15.363\n"
      "Throughput: 15.36 samples/sec, TFLOPS per GPU by Megatron: 101.20, TFLOPS per GPU: 99.80\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].summary->value, 15.363);
  EXPECT_EQ(runs[0].summary->unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].totals.sequences, 192);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("warm-up"));
}

// The examples draw a bar of their steps and let the evaluator have the last word.
TEST(Colossalai, TheEvaluatorBehindABarTellsTheRateOfTheJob) {
  const auto runs = read_text(
      "Step:  50%|#####     | 1/2 [00:22<00:22, 22.90s/it]\n"
      "Step: 100%|##########| 2/2 [00:42<00:00, 21.03s/it]\n"
      "num_samples: 24, dp_world_size: 8, flop_megatron: 6.1e+15, flop: 5.9e+15, avg_duration: "
      "12.5, avg_throughput: 15.363\n"
      "Throughput: 15.36 samples/sec, TFLOPS per GPU by Megatron: 101.20, TFLOPS per GPU: 99.80\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "tqdm");
  ASSERT_TRUE(runs[0].summary);
  EXPECT_DOUBLE_EQ(runs[0].summary->value, 15.363);
  EXPECT_FALSE(runs[0].totals.training_s) << "the evaluator's time is not that of the bar's steps";
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Colossalai, TheTrainersEpochsTellTheSamplesOfTheJob) {
  const std::string head = "[01/10/23 10:00:00] INFO     colossalai - colossalai - INFO: ";
  const auto runs =
      read_text(head + "[Epoch 0 / Train]: Loss = 2.1 | LR = 0.1 | Throughput = 611.02\n" + head +
                "[Epoch 0 / Test]: Loss = 1.9 | Accuracy = 0.31\n" + head +
                "[Epoch 1 / Train]: Loss = 1.7 |\n"
                "                             LR = 0.1 | Throughput = 640.5\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 640.5);
  EXPECT_EQ(runs[0].records[1].loss, 1.7);
}

}  // namespace
}  // namespace bertbench
