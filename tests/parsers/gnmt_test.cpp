#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string train(int rank, int epoch, int batch, const std::string& time) {
  return std::to_string(rank) + ": TRAIN [" + std::to_string(epoch) + "][" + std::to_string(batch) +
         "/21]\tTime " + time +
         "\tData 2.35e-04 (2.70e-04)\tTok/s 34950 (34830)\tLoss/tok 9.5480 (10.1499)\tLR 2e-05\n";
}

TEST(Gnmt, ClocksByTheMeanSinceTheSecondIterationAndTakesRanksOnce) {
  std::string text;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int rank = 0; rank < 2; ++rank) text += train(rank, epoch, 0, "2.000 (0.000)");
    for (int rank = 0; rank < 2; ++rank) text += train(rank, epoch, 10, "0.500 (0.500)");
    for (int rank = 0; rank < 2; ++rank) text += train(rank, epoch, 20, "0.500 (0.500)");
    text += "0: VALIDATION [" + std::to_string(epoch) +
            "][0/50]\tTime 0.1 (0.1)\tTok/s 1 (1)\tLoss/tok 9 (9)\n";
  }
  text += "0: Performance: Epoch: 1\tTraining: 72059 Tok/s\tValidation: 132104 Tok/s\n";
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 6u);
  EXPECT_EQ(run.records[5].step, 42);
  // 10 s of the first epoch, 2 s of the second's first iteration, 10 s of the others
  EXPECT_NEAR(run.records[5].time_s, 22, 1e-9);
  EXPECT_EQ(run.summary->value, 72059);
  EXPECT_EQ(run.summary->unit, RateUnit::tokens_per_second);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_EQ(run.facts.world_size.value, 2) << "every rank prints";
}

// A fuzzer's find: damaged numbers became a time without end.
TEST(Gnmt, ATimeThatIsNoneIsUnknown) {
  const std::string line = "Transformer | epoch 0 | step 10 |avg loss 9.1 |tokens/s 900 |walltime ";
  const auto runs = read_text(line + "1e300 |\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE(std::isnan(runs[0].records.at(0).time_s));
  const auto long_steps = read_text(
      "| epoch   1 step       10 | batches    10 / 99 | lr 1e-3 | ms/batch 1e305 | tok/s 9 | loss "
      "9.1\n| epoch   1 step 1000000000 | batches 99 / 99 | lr 1e-3 | ms/batch 1e305 | tok/s 9 | "
      "loss 9.1\n");
  ASSERT_EQ(long_steps.size(), 1U);
  for (const Record& record : long_steps[0].records) EXPECT_TRUE(std::isnan(record.seconds));
}

TEST(Gnmt, TakesTheAccumulationFromTheArguments) {
  const auto runs =
      read_text("0: Run arguments: Namespace(train_batch_size=64, train_iter_size=2)\n" +
                train(0, 0, 0, "2.000 (0.000)") + train(0, 0, 10, "0.5 (0.5)"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 2);
  EXPECT_FALSE(runs[0].facts.world_size.known()) << "rank 0 alone may print for all";
}

TEST(Gnmt, TakesThePrecisionFromTheArguments) {
  const auto precision = [](const std::string& math) {
    return read_text("0: Run arguments: Namespace(" + math + "train_iter_size=1)\n" +
                     train(0, 0, 0, "2.000 (0.000)") + train(0, 0, 10, "0.5 (0.5)"))
        .at(0)
        .facts.precision;
  };
  EXPECT_EQ(precision("math='fp16', ").value, "fp16");
  EXPECT_EQ(precision("math='manual_fp16', ").value, "fp16");
  EXPECT_EQ(precision("math='tf32', ").value, "tf32");
  EXPECT_FALSE(precision("math='int4', ").known());
  EXPECT_FALSE(precision("").known());
}

TEST(Gnmt, ASingleRankThatPrintsIsTheWholeJobWhereAllDo) {
  const std::string lines =
      "0: Run arguments: Namespace(log_all_ranks=True, train_batch_size=64, "
      "train_iter_size=1)\n" +
      train(0, 0, 0, "2.000 (0.000)") + train(0, 0, 10, "0.5 (0.5)");
  const auto runs = read_text(lines + "0: Performance: Epoch: 0\tTraining: 34840 Tok/s\tx\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.world_size.value, 1);
  const auto cut = read_text(lines + "0: Performance: Epoch: 0\tTraining: 69600 Tok/s\tx\n");
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_FALSE(cut[0].facts.world_size.known()) << "of rank 0 alone were the lines kept";
}

TEST(Gnmt, ClocksTheBatchesBehindTheLastLineOfAnEpoch) {
  const std::string tail = "\tTok/s 34950 (34950)\tLoss/tok 10.5 (10.5)\tLR 2.0e-05\n";
  const auto runs =
      read_text("0: TRAIN [0][0/112]\tTime 1.500 (1.500)\tData 2e-04 (2e-04)" + tail +
                "0: TRAIN [0][100/112]\tTime 0.503 (0.500)\tData 2e-04 (2e-04)" + tail +
                "0: Performance: Epoch: 0\tTraining: 72059 Tok/s\n"
                "0: TRAIN [1][0/112]\tTime 1.500 (1.500)\tData 2e-04 (2e-04)" +
                tail);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 113);
  EXPECT_NEAR(runs[0].records[2].time_s - runs[0].records[1].time_s, 11 * 0.5 + 1.5, 1e-9);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated) << "an epoch ended, then another began";
}

TEST(Gnmt, HasNoClockWhereEpochsShowTheirFirstIterationAlone) {
  const std::string tail = "\tTok/s 37161 (0)\tLoss/tok 9.4 (9.4)\tLR 5.0e-04\n";
  std::string text;
  for (const char* epoch : {"0", "1"}) {
    text += std::string("0: TRAIN [") + epoch +
            "][0/3]\tTime 2.222 (0.000)\tData 2.04e+00 (0.00e+00)" + tail;
    text += std::string("0: Performance: Epoch: ") + epoch + "\tTraining: 400000 Tok/s\n";
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].iterations, 3);
  EXPECT_TRUE(std::isnan(runs[0].records[1].time_s)) << "three iterations, the time of one";
  EXPECT_TRUE(std::isnan(runs[0].records[1].seconds));
  EXPECT_EQ(runs[0].summary->value, 400000);
}

TEST(Gnmt, ReadsTransformerAndItsNan) {
  const auto runs = read_text(
      "Transformer | epoch 0 | step 10 |avg loss 16.122 |avg tokens 4746.000 |tokens/s 34029.263 "
      "|walltime 9.759 |\n"
      "Transformer | epoch 0 | step 20 |avg loss nan |avg tokens 4684.900 |tokens/s 29965.130 "
      "|walltime 11.323 |\n"
      "| Translated 3000 sentences (603000 tokens) in 146.8s (20.43 sentences/s, 4106.78 "
      "tokens/s)\n"
      "| done training in 4560.1 seconds\n"
      "Transformer | epoch 0 | step () |avg loss nan |walltime 4568.648 |\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_NEAR(runs[0].records[1].time_s, 1.564, 1e-9);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
}

TEST(Gnmt, ReadsTransformerXl) {
  const auto runs = read_text(
      "| epoch   1 step       10 | batches     10 / 2000 | lr 5.000e-05 | ms/batch 1016.5 | tok/s "
      "  22661 | loss 10.10 | ppl 24343.01\n"
      "| epoch   1 step       20 | batches     20 / 2000 | lr 5.000e-05 | ms/batch 500.0 | tok/s "
      "  45000 | loss 9.10 | ppl 9000.01\n"
      "| Eval   1 at step       20 | time:  1.5s | valid loss  9.10 | valid ppl   9000.1\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_NEAR(runs[0].records[1].seconds, 5, 1e-9);
  EXPECT_EQ(runs[0].records[1].printed_rate, 45000);
}

// With or without --local_batch_size the arguments show the batch of all GPUs.
TEST(Gnmt, TakesTheBatchOfTransformerXlFromItsArguments) {
  const std::string arguments =
      "Experiment dir : LM-TFM\n"
      "    - batch_size : 64\n"
      "    - local_batch_size : None\n"
      "    - batch_chunk : 2\n"
      "    - tgt_len : 256\n"
      "    - eval_tgt_len : 128\n"
      "    - eval_batch_size : 16\n";
  const auto runs = read_text(
      arguments +
      "| epoch   1 step       10 | batches     10 / 6301 | lr 0.000e+00 | ms/batch 1862.3 | tok/s  "
      " "
      "20914 | loss 12.73 | ppl 337768.13\n"
      "| epoch   1 step       20 | batches     20 / 6301 | lr 0.000e+00 | ms/batch 306.4 | tok/s   "
      "53476 | loss 12.73 | ppl 337805.18\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 64);
  EXPECT_EQ(runs[0].facts.sequence_length.value, 256);
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 2);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::optimizer_step);

  const auto failed = read_text(arguments + "RuntimeError: CUDA out of memory.\n");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].facts.global_batch_size.value, 64);
  EXPECT_EQ(failed[0].facts.sequence_length.value, 256);

  // Without its data it ends in front of the list.
  const auto early = read_text(
      "Experiment dir : LM-TFM\n"
      "Namespace(work_dir='LM-TFM', fp16=True, batch_size=96, local_batch_size=None, "
      "batch_chunk=2, tgt_len=160, eval_tgt_len=128, eval_batch_size=16, local_rank=0)\n"
      "world size: 2\nAssertionError\n");
  ASSERT_EQ(early.size(), 1u);
  EXPECT_EQ(early[0].facts.global_batch_size.value, 96);
  EXPECT_EQ(early[0].facts.sequence_length.value, 160);
  EXPECT_EQ(early[0].facts.gradient_accumulation_steps.value, 2);
}

// Of the epochs that a log lacks, the clock knows nothing.
TEST(Gnmt, PartsTheRunWhereEpochsAreMissing) {
  const auto runs = read_text(train(0, 0, 0, "2.000 (0.000)") + train(0, 0, 10, "0.500 (0.500)") +
                              train(0, 3, 10, "0.500 (0.500)") + train(0, 3, 20, "0.500 (0.500)"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_NEAR(runs[1].records[1].time_s - runs[1].records[0].time_s, 5, 1e-9);
}

TEST(Gnmt, LeavesOtherLanguageModelsAlone) {
  const auto runs = read_text(
      "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.31 | loss  7.63 | ppl  "
      "2065.01\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "pytorch-examples");
}

}  // namespace
}  // namespace bertbench
