#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/notice_text.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Nanogpt, TakesTheTimeOfOneIterationAndNoneOfThoseThatEvaluate) {
  const auto runs = read_text(
      "step 0: train loss 6.0601, val loss 6.0586\n"
      "iter 0: loss 6.0659, time 254533.85ms, mfu -100.00%\n"
      "iter 10: loss 4.5735 BPC, time 267.36ms, mfu 8.92%\n"
      "step 20: train loss 2.5833, val loss 2.7931\n"
      "iter 20: loss 3.9673, time 35994.07ms, mfu 7.92%\n"
      "iter 30: loss 3.9, time 262.64ms, mfu 7.94%\n");
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_TRUE(std::isnan(records[0].seconds));
  EXPECT_EQ(records[1].seconds, 0.26736);
  EXPECT_EQ(records[1].iterations, 1) << "the time of ten iterations is not told";
  EXPECT_TRUE(std::isnan(records[2].seconds));
  EXPECT_EQ(records[3].step, 30);
}

TEST(Nanogpt, FollowsAClockThatIsSetBackAfterTheFirstSteps) {
  const auto runs = read_text(
      "            print(f'step:{step}/{args.num_iterations} train_time:{t:.0f}ms "
      "step_avg:{a}ms')\n"
      "step:0/14 val_loss:10.9264 train_time:285ms step_avg:nanms\n"
      "step:9/14 train_loss:6.9016 train_time:77462ms step_avg:nanms\n"
      "step:10/14 train_loss:6.7231 train_time:77676ms step_avg:nanms\n"
      "step:11/14 train_loss:6.6933 train_time:214ms step_avg:nanms\n"
      "step:12/14 train_loss:6.6519 train_time:428ms step_avg:nanms\n"
      "step:14/14 train_loss:6.6519 train_time:854ms step_avg:213.44ms\n"
      "step:14/14 val_loss:3.2785 train_time:855ms step_avg:213.44ms\n");
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 5u);
  EXPECT_NEAR(records[0].seconds, 77.177, 1e-9);
  EXPECT_NEAR(records[2].seconds, 0.214, 1e-9);
  EXPECT_NEAR(records[4].seconds, 0.426, 1e-9);
  EXPECT_EQ(records[4].iterations, 2);
  EXPECT_GT(records[2].time_s, records[1].time_s) << "the record's clock never goes back";
  EXPECT_EQ(runs[0].outcome.status, Status::completed) << "a nan of a time is no NaN loss";
}

TEST(Nanogpt, ReadsSecondsAndAWantedEarlyEnd) {
  const auto runs = read_text(
      "train_batch_tokens:524288 train_seq_len:1024 iterations:20000\n"
      "step:125/3040 val_loss:4.51317 train_time:76.628s step_avg:613.02ms\n"
      "step:250/3040 val_loss:4.09994 train_time:119.756s step_avg:479.02ms\n"
      "stopping_early: wallclock_cap train_time:600038ms step:250/3040\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].iterations, 125);
  EXPECT_NEAR(runs[0].records[1].seconds, 43.128, 1e-9);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 512);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Nanogpt, ReadsColumnsOfLlmcAndOthersAndKeepsTokensTokens) {
  const auto llmc = read_text(
      "step    1/2 | loss 11.0 (+nanz)| norm 15.2 (+nanz)| lr 4.29e-07 | 80.50 ms | 40.1% bf16 MFU "
      "| 51020 tok/s\n"
      "step    2/2 | loss 10.9 (+0.1z)| norm 15.1 (-0.1z)| lr 8.57e-07 | 80.25 ms | 40.1% bf16 MFU "
      "| 51021 tok/s\n");
  ASSERT_EQ(llmc.size(), 1u);
  EXPECT_EQ(llmc[0].records[1].seconds, 0.08025);
  EXPECT_EQ(llmc[0].records[1].printed_rate, 51021);
  EXPECT_EQ(llmc[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(llmc[0].outcome.status, Status::completed);
  const auto plain = read_text("5 | loss 8.3733 | lr 2.500000e-06 | 161.82ms\n");
  EXPECT_EQ(plain.at(0).records.at(0).seconds, 0.16182);
}

TEST(Nanogpt, SaysThatLossesAloneGiveNoThroughput) {
  const auto runs = read_text(
      "s:0 tel:11.0092\ns:0 trl:11.0091 lr:0.000001 norm:15.37\n"
      "s:1 trl:10.9598 lr:0.000002 norm:15.24\ns:1 tel:11.00\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("no throughput can be had"));
}

TEST(Nanogpt, IsNotMisledByLinesThatOnlyLookAlike) {
  EXPECT_TRUE(read_text("iter 5: loss 3.2\nstep: loss 4\nEpoch 3: loss 2.2, time 4s\n"
                        "a | loss 3 | 5ms\nmetrics:1 trl:3\n")
                  .empty());
}

TEST(Nanogpt, ReadsDtLinesWithoutTheFirstAndThoseBehindAValidation) {
  const auto runs = read_text(
      "step     0 | loss: 10.955029 | lr 8.3916e-07 | norm: 15.3387 | dt: 19212.40ms | tok/sec: "
      "27289.08\n"
      "step     1 | loss: 10.908110 | lr 1.6783e-06 | norm: 14.9817 | dt: 340.50ms | tok/sec: "
      "1539758.00\n"
      "validation loss: 10.9\n"
      "step     2 | loss: 10.808110 | lr 1.6783e-06 | norm: 14.9817 | dt: 9341.50ms | tok/sec: "
      "56124.00\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_TRUE(std::isnan(runs[0].records[0].seconds)) << "compilation";
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 0.3405);
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 1539758);
  EXPECT_TRUE(std::isnan(runs[0].records[2].seconds)) << "the validation is in it";
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
}

TEST(Nanogpt, ReadsNanochatsGroupedDigits) {
  const auto runs = read_text(
      "step 00000/00002 (0.00%) | loss: 11.09 | lrm: 1.00 | dt: 5014.23ms | tok/sec: 104,560 | "
      "mfu: "
      "8.3\n"
      "step 00001/00002 (50.00%) | loss: 10.09 | lrm: 1.00 | dt: 1014.23ms | tok/sec: 1,516,931 | "
      "mfu: 48.3\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 1516931);
}

TEST(Nanogpt, ReadsTheTimesInBracketsOfLlmc) {
  const auto runs = read_text(
      "step    1/74: train loss 4.367631 (80.639749 ms, 12700 tok/s)\n"
      "step    2/74: train loss 4.367631 (acc 4.367631) (81.639749 ms, 12600 tok/s)\n"
      "step    3/74 | train loss 5.270007 | norm 30.6 | lr 1.00e-04 | (82.12 ms | 12500 tok/s)\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 0.081639749);
  EXPECT_DOUBLE_EQ(runs[0].records[2].printed_rate, 12500);
  const auto cpu = read_text(
      "step 0: train loss 5.356082 (took 1958.5 ms)\n"
      "step 1: train loss 4.301033 (took 1979.2 ms)\n");
  ASSERT_EQ(cpu.size(), 1u);
  EXPECT_DOUBLE_EQ(cpu[0].records[1].seconds, 1.9792);
}

// Of a run of 25 ms a step whose clock was set back in front of step 11.
TEST(Nanogpt, ALogWithoutItsHeadTellsByTheMeanWhatItsClockIsOf) {
  const auto runs = read_text(
      "step:45/100 train_loss:0.1111 train_time:874ms step_avg:24.97ms\n"
      "step:46/100 train_loss:0.1087 train_time:900ms step_avg:25.01ms\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].iterations, 35);
  EXPECT_NEAR(runs[0].records[0].seconds, 0.874, 1e-9);
  EXPECT_EQ(runs[0].records[1].iterations, 1);
  const auto unknown = read_text("step:9/14 train_loss:6.9016 train_time:77462ms step_avg:nanms\n");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_TRUE(std::isnan(unknown[0].records.at(0).seconds));
}

// Only the evaluations' lines: the clock was set back in front of step 11, which no line shows.
TEST(Nanogpt, AClockSetBackBetweenTwoLinesIsOfTheStepsThatTheMeanTells) {
  const auto runs = read_text(
      "step:0/300 val_loss:7.7109 train_time:0ms step_avg:nanms\n"
      "step:125/300 val_loss:4.3719 train_time:28750ms step_avg:250.00ms\n"
      "step:250/300 val_loss:3.9992 train_time:60000ms step_avg:250.00ms\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].iterations, 115);
  EXPECT_NEAR(runs[0].records[0].seconds, 28.75, 1e-9);
  EXPECT_EQ(runs[0].records[1].iterations, 125);
  EXPECT_NEAR(runs[0].records[1].seconds, 31.25, 1e-9);
}

TEST(Nanogpt, TheConfigurationTellsWhereItEnds) {
  const std::string config =
      "Overriding config with config/train_shakespeare_char.py:\n"
      "max_iters = 5000\nlr_decay_iters = 5000 # make equal to max_iters usually\n";
  const std::string lines =
      "iter 0: loss 4.2874, time 1226.01ms, mfu -100.00%\n"
      "iter 100: loss 2.1011, time 24.51ms, mfu 1.20%\n"
      "iter 200: loss 1.8011, time 24.61ms, mfu 1.20%\n";
  EXPECT_EQ(read_text(lines).at(0).outcome.status, Status::truncated);
  EXPECT_EQ(read_text(config + lines).at(0).outcome.status, Status::truncated);
  EXPECT_EQ(read_text(config + "Overriding: max_iters = 250\n" + lines).at(0).outcome.status,
            Status::completed);
}

TEST(Nanogpt, LeavesOutTheEvaluationWithinAnIterationOfLlama2) {
  const auto runs = read_text(
      "490 | loss 5.7543 | lr 4.900000e-05 | 8060.78ms | mfu 0.21%\n"
      "step 500: train loss 5.7373, val loss 5.9544\n"
      "500 | loss 6.0091 | lr 5.000000e-05 | 870067.53ms | mfu 0.19%\n"
      "510 | loss 5.2391 | lr 4.999939e-05 | 8175.64ms | mfu 0.19%\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].seconds, 8.06078);
  EXPECT_TRUE(std::isnan(runs[0].records[1].seconds));
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("those that evaluate"));
}

TEST(Nanogpt, TakesTheBatchAndTheLastWordsOfLlmC) {
  const std::string step =
      "step    1/74 | loss 4.283499 (+nanz)| norm 13.0082 (+nanz)| lr 3.00e-04 | 349.48 ms | "
      "-100.0% bf16 MFU | 11720 tok/s\n";
  const auto runs =
      read_text("batch_size B=4 * seq_len T=1024 * num_processes=2 and total_batch_size=16384\n" +
                step + "total average iteration time: 168.436902 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  const Facts& facts = runs[0].facts;
  EXPECT_EQ(facts.micro_batch_size.value, 4);
  EXPECT_EQ(facts.sequence_length.value, 1024);
  EXPECT_EQ(facts.world_size.value, 2);
  EXPECT_EQ(facts.global_batch_size.value, 16);
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].summary->unit, RateUnit::iterations_per_second);
  EXPECT_NEAR(runs[0].summary->value, 5.93694, 1e-5);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(read_text(step).at(0).outcome.status, Status::truncated);
}

TEST(Nanogpt, TakesTheTokensOfLinesThatTellNoTime) {
  const auto runs = read_text(
      "step   3100 | loss 2.4184 | lr 1.79e-04 | grad 0.075 | 47.5k tok/s | mfu 40.07%\n"
      "step   3110 | loss 2.4084 | lr 1.79e-04 | grad 0.068 | 47.4k tok/s | mfu 40.01%\n"
      "step   3120 | loss 2.3984 | lr 1.79e-04 | grad 0.072 | 1.2M tok/s | mfu 40.00%\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(runs[0].records[1].printed_rate, 47'400);
  EXPECT_EQ(runs[0].records[1].iterations, 10);
  EXPECT_TRUE(std::isnan(runs[0].records[1].seconds));
  EXPECT_EQ(runs[0].records[2].printed_rate, 1'200'000);
}

TEST(Nanogpt, TakesTheBatchOfATrainerForMlx) {
  const auto runs = read_text(
      "iterations:50 train_batch_tokens:16384 grad_accum_steps:4 microbatch_tokens:4096 "
      "microbatch_batch_size:8 val_batch_size:8192 warmup_steps:20\n"
      "step:1/50 train_loss:6.9537 train_time:90ms step_avg:89.50ms tok_s:91729\n"
      "step:2/50 train_loss:6.7944 train_time:368ms step_avg:184.11ms tok_s:29413\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.sequence_length.value, 512);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 8);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 32);
}

TEST(Nanogpt, AccumulationOfAllProcessesIsNotThatOfOne) {
  const auto runs = read_text(
      "+ torchrun --standalone --nproc_per_node=4 train.py --gradient_accumulation_steps=20\n"
      "batch_size = 8\n"
      "block_size = 512\n"
      "gradient_accumulation_steps = 5 * 4\n"
      "Overriding: block_size = 256\n"
      "Overriding: gradient_accumulation_steps = 20\n"
      "tokens per iteration will be: 40,960\n"
      "iter 0: loss 10.9, time 9000.00ms, mfu -100.00%\n"
      "iter 1: loss 10.1, time 200.00ms, mfu 8.92%\n");
  ASSERT_EQ(runs.size(), 1u);
  const Facts& facts = runs[0].facts;
  EXPECT_EQ(facts.sequence_length.value, 256) << "the command line's";
  EXPECT_EQ(facts.sequences_per_optimizer_step(), 160);
  EXPECT_EQ(facts.world(), 4);
  EXPECT_NE(facts.gradient_accumulation_steps.value, 20) << "5 on each of the 4";
}

TEST(Nanogpt, ReadsMinGptsLines) {
  const auto runs = read_text(
      "iter_dt 0.00ms; iter 0: train loss 1.06407\n"
      "iter_dt 18.17ms; iter 100: train loss 0.14712\n"
      "iter_dt 18.70ms; iter 200: train loss 0.05315\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_TRUE(std::isnan(runs[0].records[0].seconds));
  EXPECT_EQ(runs[0].records[1].iterations, 1) << "of a hundred the time is not told";
  EXPECT_NEAR(runs[0].records[2].seconds, 0.0187, 1e-9);
}

// The source stands in front of the lines; its comments say what the settings count.
TEST(Nanogpt, TakesTheBatchFromTheSourceThatIsPrinted) {
  const std::string steps =
      "Running on device_name=NVIDIA H200 with world_size=8\n"
      "step:125/500 val_loss:4.61 train_time:40.000s step_avg:320.00ms\n"
      "step:250/500 val_loss:4.21 train_time:60.000s step_avg:240.00ms\n"
      "step:500/500 val_loss:3.91 train_time:100.000s step_avg:200.00ms\n";
  const auto classed = read_text(
      "class Hyperparameters:\n"
      "    # optimization hyperparams\n"
      "    batch_size : int = 6*32 # batch size, in sequences, across all devices\n"
      "    device_batch_size : int = 32 # batch size, in sequences, per device\n"
      "    sequence_length : int = 2*1024 # sequence length, in tokens\n" +
      steps);
  ASSERT_EQ(classed.size(), 1u);
  EXPECT_EQ(classed[0].facts.sequences_per_optimizer_step(), 192);
  EXPECT_EQ(classed[0].facts.sequence_length.value, 2048);
  EXPECT_EQ(classed[0].facts.world(), 8);
  EXPECT_EQ(classed[0].facts.versions.at("gpu"), "NVIDIA H200");
  EXPECT_THAT(classed[0].notices,
              testing::Contains(NoticeText(testing::HasSubstr("printed in front"))));

  const std::string loader =
      "def distributed_data_generator(filename_pattern: str, batch_size: int, seq_len=1024):\n";
  const auto loaded = read_text(loader + "batch_size = 8 * 64 * 1024\n" + steps);
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].facts.sequences_per_optimizer_step(), 512);
  for (const std::string& other :
       {std::string("batch_size = 8 * 64 * 1024\n"), loader + "batch_size = n * 64 * 1024\n",
        loader + "batch_size = 8 * 64 * 1024 // world\n",
        loader + "batch_size = 99999999999 * 64 * 1024\n",
        std::string("    #batch_size : int = 6*32 # batch size, in sequences, across all devices\n"
                    "    sequence_length : int = 64 # sequence length, in tokens\n"),
        std::string(
            "    batch_size : int = 6*n # batch size, in sequences, across all devices\n")}) {
    const auto runs = read_text(other + steps);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_FALSE(runs[0].facts.sequences_per_optimizer_step().has_value()) << other;
  }
}

// Each process has one sequence a step; the validation's are longer.
TEST(Nanogpt, TakesTheBatchOfOneSequenceForEachProcessFromThePrintedSource) {
  const std::string length =
      "    train_seq_len = 48*1024 # FlexAttention sequence length\n"
      "    val_seq_len = 4*64*1024 # FlexAttention sequence length for validation\n";
  const std::string world = "assert world_size == 4 # this code is designed for 4xH100\n";
  const std::string loader =
      "train_loader = distributed_data_generator(args.train_files, world_size * "
      "args.train_seq_len, rank, world_size)\n";
  const std::string steps =
      "step:1/3 train_time:200ms step_avg:200.00ms\n"
      "step:2/3 train_time:400ms step_avg:200.00ms\n"
      "step:3/3 train_time:600ms step_avg:200.00ms\n";
  const auto told = read_text(length + world + loader + steps);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].facts.sequences_per_optimizer_step(), 4);
  EXPECT_EQ(told[0].facts.sequence_length.value, 48 * 1024);
  EXPECT_EQ(told[0].facts.world(), 4);
  EXPECT_THAT(told[0].notices,
              testing::Contains(NoticeText(testing::HasSubstr("printed in front"))));
  for (const std::string& other :
       {length + loader, world + loader, length + world,
        length + "assert world_size == 0 # none\n" + loader,
        length + "assert world_size == n\n" + loader,
        length + world + "val_loader = f(args.val_files, world_size * args.train_seq_len, 0)\n"}) {
    const auto runs = read_text(other + steps);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_FALSE(runs[0].facts.sequences_per_optimizer_step().has_value()) << other;
  }
}

// A driver prints the evaluations of each run again behind it; the next run has the same seed.
TEST(Nanogpt, EvaluationsToldAgainAreNoRun) {
  const auto timed = [](int step, const std::string& said, int ms) {
    return "step:" + std::to_string(step) + "/4 " + said + "train_time:" + std::to_string(ms) +
           "ms step_avg:" + (step == 0 ? "0.02" : std::to_string(ms / step) + ".00") + "ms\n";
  };
  const auto run = [&](int ms) {
    std::string steps, told = timed(0, "val_loss:10.8260 ", 0);
    for (int step = 1; step <= 4; ++step) {
      steps += timed(step, "", step * ms);
      if (step % 2 != 0) continue;
      const std::string evaluation = timed(step, "val_loss:4.5 ", step * ms + 1);
      steps += evaluation;
      told += evaluation;
    }
    return timed(0, "val_loss:10.8260 ", 0) + steps + "peak memory allocated: 9 MiB\n" + told;
  };
  const auto runs = read_text(run(50) + "PASS 1\n" + run(60) + "PASS 2\n" + run(70));
  ASSERT_EQ(runs.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(runs[i].records.size(), 4u);
    EXPECT_NEAR(runs[i].records[0].seconds, 0.05 + 0.01 * double(i), 1e-9) << "since its step 0";
    EXPECT_EQ(runs[i].outcome.status, Status::completed);
  }
}

// llm.c evaluates at the end, wherever that is; build-nanogpt's file of losses is read by its
// evaluations.
TEST(Nanogpt, AnEvaluationOffTheirDistanceIsTheLast) {
  std::string text = "s:0 tel:11.0\n";
  for (int step = 0; step < 25; ++step) {
    text += "s:" + std::to_string(step) + " trl:9.5 lr:0.0006 norm:0.50\n";
    if (step % 10 == 9) text += "s:" + std::to_string(step + 1) + " tel:9.4\n";
  }
  EXPECT_EQ(read_text(text).at(0).outcome.status, Status::truncated);
  const auto whole = read_text(text + "s:25 tel:9.1\n");
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].records.size(), 25u);
  EXPECT_EQ(whole[0].outcome.status, Status::completed);
  const std::string file = "0 val 10.9\n0 hella 0.2500\n0 train 10.95\n1 train 10.90\n" +
                           std::string("250 val 6.1\n250 hella 0.2520\n250 train 6.05\n");
  EXPECT_EQ(read_text(file).at(0).outcome.status, Status::truncated);
  const auto runs = read_text(file + "499 val 5.5\n499 hella 0.2610\n499 train 5.45\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_TRUE(read_text("I said hella 3 times\n12 hella 4 of them\n").empty());
}

}  // namespace
}  // namespace bertbench
