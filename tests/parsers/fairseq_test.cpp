// The lines are written after what fairseq prints; the sample is a run of fairseq 0.12.2.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Fairseq, TakesSentencesPerSecondFromTheExactFieldsNotFromUps) {
  const auto runs = read_text(
      "2023-06-13 17:30:00 | INFO | fairseq_cli.train | training on 8 devices (GPUs/TPUs)\n"
      "2023-06-13 17:31:08 | INFO | train_inner | epoch 143:     85 / 282 loss=3.147, "
      "nll_loss=1.236, ppl=8.86, wps=72384.3, ups=1.21, wpb=59997.9, bsz=2186.3, "
      "num_updates=40100, lr=0.000157917, gnorm=0.489, clip=0, train_wall=48, wall=0\n"
      "2023-06-13 17:31:54 | INFO | train_inner | epoch 143:    185 / 282 loss=3.153, "
      "nll_loss=1.243, ppl=8.89, wps=132390, ups=2.2, wpb=60140, bsz=2100, num_updates=40200, "
      "lr=0.0001, gnorm=0.489, clip=0, train_wall=45, wall=0\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "fairseq");
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_DOUBLE_EQ(run.records[0].printed_rate, 2186.3 * 72384.3 / 59997.9);
  EXPECT_EQ(run.records[0].iterations, 85) << "a resumed run: not 40100";
  EXPECT_EQ(run.records[1].iterations, 100);
  EXPECT_DOUBLE_EQ(run.records[1].time_s, 46);
  EXPECT_DOUBLE_EQ(run.records[0].loss, 3.147) << "not nll_loss";
  EXPECT_EQ(run.facts.world_size.value, 8);
  EXPECT_FALSE(run.facts.global_batch_size.known()) << "bsz changes: batches of tokens";
}

TEST(Fairseq, ReadsJsonWhoseNumbersAreStringsAndLeavesValidationOut) {
  const auto runs = read_text(
      "[2022-04-08 18:48:05,372][train_inner][INFO] - {\"epoch\": 1, \"update\": 0.4, \"loss\": "
      "\"9.2\", \"wps\": \"58000\", \"ups\": \"0.5\", \"wpb\": \"116000\", \"bsz\": \"336\", "
      "\"num_updates\": \"200\", \"train_wall\": \"404\", \"wall\": \"425\"}\n"
      "[2022-04-08 18:54:45,372][train_inner][INFO] - {\"epoch\": 1, \"update\": 0.8, \"loss\": "
      "\"7.2\", \"wps\": \"58000\", \"ups\": \"0.5\", \"wpb\": \"116000\", \"bsz\": \"336\", "
      "\"num_updates\": \"400\", \"train_wall\": \"404\", \"wall\": \"825\"}\n"
      "[2022-04-08 18:55:00,000][valid][INFO] - {\"epoch\": 1, \"valid_loss\": \"6\", "
      "\"valid_wps\": \"900000\", \"valid_wpb\": \"3000\", \"valid_bsz\": \"10\", "
      "\"valid_num_updates\": \"400\"}\n"
      "[2022-04-08 18:55:01,000][train][INFO] - {\"epoch\": 1, \"train_loss\": \"8\", "
      "\"train_wps\": \"54000\", \"train_ups\": \"0.47\", \"train_wpb\": \"116000\", "
      "\"train_bsz\": \"336\", \"train_num_updates\": \"400\", \"train_wall\": \"830\"}\n"
      "[2022-04-08 18:55:02,000][fairseq_cli.train][INFO] - done training in 826.5 seconds\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 2u) << "the epoch's mean is no record beside inner lines";
  EXPECT_DOUBLE_EQ(runs[0].records[1].time_s, 400);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 336);
  EXPECT_EQ(runs[0].totals.training_s, 826.5);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_DOUBLE_EQ(runs[1].records[0].printed_rate, 3000);
}

TEST(Fairseq, TakesTheMeansOfEpochsWhereNothingElseIsPrinted) {
  const auto runs = read_text(
      "2020-04-22 07:41:21 | INFO | train | epoch 001 | loss 1.603 | wps 7000 | ups 2.01 | wpb "
      "3500 "
      "| bsz 90 | num_updates 52 | lr 1e-07 | train_wall 25 | wall 32\n"
      "2020-04-22 07:41:51 | INFO | train | epoch 002 | loss 1.503 | wps 7070 | ups 2.02 | wpb "
      "3500 "
      "| bsz 90 | num_updates 104 | lr 1e-07 | train_wall 25 | wall 62\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].printed_rate, 180);
  EXPECT_EQ(runs[0].records[1].iterations, 52);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("one mean an epoch"));
}

TEST(Fairseq, BeginsARunWhereTheUpdatesStartOver) {
  const std::string line =
      "| epoch 001:   1000 / 2184 loss=81194.557, nll_loss=0.000, ppl=1.00, wps=176776, ups=3.1, "
      "wpb=56091, bsz=485, num_updates=997, lr=0.000985036, clip=100%, oom=0, wall=323\n";
  const auto runs =
      read_text(line +
                "| epoch 001:   2000 / 2184 loss=7.5, wps=176938, ups=3.1, wpb=56076, bsz=487, "
                "num_updates=1995, oom=0, wall=639\n" +
                line);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].time_s, 323) << "wall counts from the start";
  EXPECT_DOUBLE_EQ(runs[0].records[1].time_s, 639);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated) << "oom=0 is no out of memory";
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("before 0.9"));
}

TEST(Fairseq, KnowsUpdatesPerSecondOnlyWhereTheBatchIsNotPrinted) {
  const auto runs = read_text(
      "2021-01-01 00:00:10 | INFO | train_inner | epoch 001:     10 / 100 loss=3, wps=1000, "
      "ups=0.5, "
      "wpb=2000, num_updates=10, lr=1\n"
      "2021-01-01 00:00:30 | INFO | train_inner | epoch 001:     20 / 100 loss=3, wps=1000, "
      "ups=0.5, "
      "wpb=2000, num_updates=20, lr=1\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::iterations_per_second);
  EXPECT_DOUBLE_EQ(runs[0].records[0].printed_rate, 0.5);
}

TEST(Fairseq, ReadsItsTqdmBars) {
  const auto bar = [](int updates) {
    return "\repoch 001:  10%|#         | " + std::to_string(updates + 2) +
           "/1000 [00:50<07:30,  2.00it/s, loss=8.2, nll_loss=7.0, ppl=132, wps=58000, ups=2, "
           "wpb=29000, bsz=512, num_updates=" +
           std::to_string(updates) +
           ", lr=0.0001, gnorm=1.8, train_wall=50, wall=" + std::to_string(updates / 2) + "]";
  };
  const auto runs = read_text("epoch 001:   0%|          | 0/1000 [00:00<?, ?it/s]" + bar(100) +
                              bar(100) + bar(200) + bar(300) + "\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "fairseq");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 300);
  EXPECT_EQ(runs[0].records[2].time_s, 150);
  EXPECT_EQ(runs[0].records[2].printed_rate, 1024);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 512);
}

TEST(Fairseq, TakesNoRateFromLinesThatCountOneUpdate) {
  const auto line = [](const char* time, const char* wps, const char* wpb, int updates) {
    return fmt::format(
        "2020-07-17 07:{} | INFO | train_inner | epoch 001:   {} / 160368 loss=9.3, wps={}, "
        "ups=0.04, wpb={}, bsz=80, num_updates={}, lr=3e-05, train_wall=13\n",
        time, updates, wps, wpb, updates);
  };
  const auto tpu =
      read_text(line("11:02", "57.3", "1613", 2800) + line("11:31", "53.5", "1504", 2900) +
                line("12:00", "16.2", "469", 3000));
  ASSERT_EQ(tpu.size(), 1u);
  EXPECT_EQ(tpu[0].rate_unit, RateUnit::unknown);
  EXPECT_EQ(tpu[0].records[2].time_s, 58);
  EXPECT_EQ(tpu[0].records[2].iterations, 100);
  EXPECT_THAT(text_of(tpu[0].notices.at(0)), testing::HasSubstr("one update a line"));

  const auto gpu =
      read_text(line("11:02", "5730", "1613", 2800) + line("11:31", "5350", "1504", 2900));
  ASSERT_EQ(gpu.size(), 1u);
  EXPECT_EQ(gpu[0].rate_unit, RateUnit::sequences_per_second);
}

TEST(Fairseq, ReadsTheLinesOf2017) {
  const auto runs = read_text(
      "| epoch 002  2000 / 8223 loss=1.27 (1.50), wps=962, wpb=908, bsz=32, lr=0.001, clip=100%\n"
      "| epoch 002  3000 / 8223 loss=1.28 (1.49), wps=962, wpb=908, bsz=32, lr=0.001, clip=100%\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 8223 + 3000);
  EXPECT_NEAR(runs[0].records[1].printed_rate, 32.0 * 962 / 908, 1e-9);
}

// 30 batches of 8 GPUs with 240 sentences in all; one of 10 examples is too long and left out.
TEST(Fairseq, TakesABatchOfOneGpuTimesTheGpusWhereTheExamplesOfAnEpochSayIt) {
  const auto log = [](int examples, const char* bsz, int gpus) {
    const std::string mllog = R"(:::MLLOG {"namespace": "", "time_ms": )";
    return fmt::format("| training on {} GPUs\n", gpus) + mllog +
           R"(1000, "key": "run_start", "value": null})"
           "\n" +
           mllog + fmt::format(R"(1010, "key": "train_samples", "value": {}}})", examples) + "\n" +
           mllog + R"(1020, "key": "eval_samples", "value": 3003})" + "\n" +
           fmt::format(
               "| epoch 001:     20 / 30 loss=8.1, wps=64000, ups=10.0, wpb=6400, bsz={}, "
               "num_updates=18, wall=3\n",
               bsz) +
           fmt::format(
               "| epoch 001 | loss 8.1 | wps 64000 | ups 10.0 | wpb 6400 | bsz {} | "
               "num_updates 28 | wall 4\n",
               bsz) +
           mllog + R"(5000, "key": "run_stop", "value": null, "metadata": {"status": "success"}})" +
           "\n";
  };
  ReadOptions of_fairseq;
  of_fairseq.format = "fairseq";
  const auto one = read_text(log(8000, "30", 8), of_fairseq);
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(one[0].records.size(), 1u);
  EXPECT_DOUBLE_EQ(one[0].records[0].printed_rate, 8 * 30 * 10);
  EXPECT_EQ(one[0].facts.global_batch_size.value, 240);
  EXPECT_THAT(text_of(one[0].notices.at(1)), testing::HasSubstr("taken 8 times"));

  const auto all = read_text(log(8000, "240", 8), of_fairseq);
  EXPECT_DOUBLE_EQ(all.at(0).records.at(0).printed_rate, 240 * 10);
  const auto neither = read_text(log(8000, "90", 8), of_fairseq);
  EXPECT_DOUBLE_EQ(neither.at(0).records.at(0).printed_rate, 90 * 10);
}

// A run of many GPUs shows its epochs only: the updates of one are its batches.
TEST(Fairseq, KnowsTheBatchesOfAnEpochByItsUpdates) {
  std::string text =
      "| training on 160 GPUs\n"
      R"(:::MLLOG {"namespace": "", "time_ms": 1010, "key": "train_samples", "value": 4500000})"
      "\n";
  for (int epoch = 1; epoch <= 3; ++epoch) {
    text += fmt::format(
        "| epoch {:03} | loss 20176.4 | nll_loss 0.0 | wps 1.2e+07 | ups 16.9 | wpb 600000 | bsz "
        "{} | num_updates {} | wall {}\n",
        epoch, 139 + epoch, 195 * epoch, 20 + 12 * epoch);
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_DOUBLE_EQ(runs[0].records[2].printed_rate, 142 * 160 * 20);
}

}  // namespace
}  // namespace bertbench
