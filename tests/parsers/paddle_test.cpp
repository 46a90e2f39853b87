#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string step(int n, const std::string& cost, const std::string& ips,
                 const std::string& word = "total") {
  return word + " step: " + std::to_string(n) + ", epoch: 0, batch: " + std::to_string(n - 1) +
         ", loss: 10.812221, avg_reader_cost: 0.00009 sec, avg_batch_cost: " + cost +
         " sec, avg_samples: 96.00000, ips: " + ips + " sequences/sec\n";
}

TEST(Paddle, KeepsTheRateOfOneCardAsStepsOfTheJob) {
  const auto runs =
      read_text("Namespace(adam_epsilon=1e-08, batch_size=96, gradient_merge_steps=88)\n" +
                step(10, "0.20000", "480.0") + step(20, "0.15000", "640.0") +
                "python -m paddle.distributed.launch --log_dir=./mylog --gpus=0,1,2,3,4,5,6,7 "
                "../bert/static/run_pretrain.py --max_predictions_per_seq 80\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.records[1].printed_rate, 640.0 / 96);
  EXPECT_EQ(run.records[1].iterations, 10);
  EXPECT_NEAR(run.records[1].seconds, 1.5, 1e-12);
  EXPECT_EQ(run.rate_unit, RateUnit::iterations_per_second);
  EXPECT_EQ(run.facts.sequences_per_micro_step(), 96 * 8);
  EXPECT_EQ(run.facts.gradient_accumulation_steps.value, 88);
  EXPECT_EQ(run.records[1].loss, 10.812221);
}

TEST(Paddle, ReadsTheMisspeltKeyAndSaysThatTheCardsAreNotTold) {
  const auto runs =
      read_text(step(10, "0.2", "480.0", "tobal") + step(20, "0.2", "480.0", "tobal"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_FALSE(runs[0].facts.world());
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("--gpus-per-node"));
}

// The last batches of a data file are smaller.
TEST(Paddle, TellsWhereStepsHoldOtherThanTheFirstOnesSamples) {
  std::string small = step(30, "0.2", "240.0");
  small.replace(small.find("96.00000"), 8, "48.00000");
  const auto runs = read_text(step(10, "0.2", "480.0") + step(20, "0.2", "480.0") + small);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 96);
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("avg_samples is 80 in the mean"));
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("20 % too many"));
}

TEST(Paddle, TakesAPlainCommandForOneCard) {
  const auto runs = read_text(step(10, "0.2", "480.0") +
                              "python -u ../bert/static/run_pretrain.py --batch_size 96\n");
  EXPECT_EQ(runs.at(0).facts.world(), 1);
}

TEST(Paddle, ARunThatCameToItsLastStepIsWhole) {
  const auto status = [](const char* front, const char* behind) {
    return read_text(front + step(10, "0.2", "480.0") + step(20, "0.2", "480.0") + behind)
        .at(0)
        .outcome.status;
  };
  EXPECT_EQ(status("Namespace(gradient_merge_steps=4, max_steps=20, seed=4)\n", ""),
            Status::completed);
  EXPECT_EQ(status("", "python -u ../bert/run_pretrain.py --max_steps 20 --seed 4\n"),
            Status::completed);
  EXPECT_EQ(status("training_script_args: ['--batch_size', '96', '--max_steps', '20']\n", ""),
            Status::completed);
  EXPECT_EQ(status("Namespace(gradient_merge_steps=4, max_steps=40, seed=4)\n", ""),
            Status::truncated);
  EXPECT_EQ(status("Namespace(gradient_merge_steps=4, max_steps=-1)\n", ""), Status::truncated);
}

TEST(Paddle, NeverMakesSequencesOfWords) {
  const auto runs = read_text(
      "total step: 10, epoch: 0, batch: 9, loss: 1.0, avg_batch_cost: 0.5 sec, avg_samples: "
      "4096.00000, ips: 8192.0 words/sec\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records[0].printed_rate));
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known());
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("8192 a second"));
}

TEST(Paddle, ReadsStepsPerSecond) {
  const auto runs = read_text(
      "\x1b[32m[2023-07-31 12:00:43,467] [    INFO]\x1b[0m - step_idx: 100, epoch: 0, batch: 100, "
      "avg loss: 8.142325, ppl: 1, avg_speed: 6.62 step/s, batch_cost: 0.15108 sec\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[0].printed_rate, 6.62);
  EXPECT_EQ(runs[0].records[0].loss, 8.142325);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
}

std::string gpt(int step, const std::string& cost, const std::string& speed) {
  return "[2022-11-25 23:31:05,459] [    INFO] - global step " + std::to_string(step) +
         ", epoch: 0, batch: " + std::to_string(step - 1) +
         ", loss: 8.085629463, avg_reader_cost: 0.00024 sec, avg_batch_cost: " + cost +
         " sec, speed: " + speed +
         " step/s, ips_total: 11409 tokens/s, ips: 1426 tokens/s, learning rate: 4.6e-05\n";
}

// The first line of a resumed run stands for its own interval, not for all the steps before it.
TEST(Paddle, CountsTheFirstIntervalOfAResumedRunByTheSecond) {
  const auto runs = read_text(gpt(1471, "0.35901", "2.79") + gpt(1481, "0.36", "2.78"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[0].iterations, 10);
  EXPECT_NEAR(runs[0].records[0].seconds, 3.5901, 1e-9);
  EXPECT_EQ(runs[0].records[1].printed_rate, 2.78);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::iterations_per_second);
}

TEST(Paddle, ReadsErnieAndFineTuning) {
  const auto ernie = read_text(
      "epoch: 1, progress: 1/1, step: 30, loss: 10.540648, ppl: 19106.925781, next_sent_acc: "
      "0.625000, speed: 0.849662 steps/s, file: ./data/demo_train_set.gz, mask_type: mask_word\n");
  ASSERT_EQ(ernie.size(), 1u);
  EXPECT_EQ(ernie[0].records[0].printed_rate, 0.849662);
  EXPECT_THAT(text_of(ernie[0].notices.at(0)), testing::HasSubstr("several nodes"));
  const auto glue =
      read_text("global step 100, epoch: 1, batch: 99, loss: 0.5, speed: 2.34 step/s\n");
  ASSERT_EQ(glue.size(), 1u);
  EXPECT_EQ(glue[0].records[0].printed_rate, 2.34);
}

TEST(Paddle, CountsBatchesOverEpochsOfFleetx) {
  std::string text;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const int batch : {9, 19}) {
      text += "[train] epoch: " + std::to_string(epoch) + ", batch: " + std::to_string(batch) +
              ", loss: 1.5, avg_batch_cost: 0.50000 sec, speed: 2.00 step/s, ips_total: 1 "
              "tokens/s, ips: 1 tokens/s, learning rate: 1e-5\n";
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 40);
}

// "0.04 step/s" is anything from 0.035 to 0.045.
TEST(Paddle, TakesNoRateFromASpeedOfTooFewDigits) {
  const auto slow = read_text(
      "global step 10, epoch: 1, loss: 8.8, speed: 0.04 step/s\n"
      "global step 20, epoch: 1, loss: 8.7, speed: 0.04 step/s\n");
  ASSERT_EQ(slow.size(), 1u);
  ASSERT_EQ(slow[0].records.size(), 2u);
  EXPECT_TRUE(std::isnan(slow[0].records[1].printed_rate));
  EXPECT_THAT(text_of(slow[0].notices.at(0)), testing::HasSubstr("few digits"));
  const auto fine = read_text(
      "epoch: 1, progress: 1/1, step: 30, loss: 10.5, speed: 0.049662 steps/s, file: a\n"
      "epoch: 1, progress: 1/1, step: 40, loss: 10.5, speed: 0.049762 steps/s, file: a\n");
  ASSERT_EQ(fine.size(), 1u);
  EXPECT_EQ(fine[0].records.at(1).printed_rate, 0.049762);
}

// Of a run whose steps took 26.28 ms by the loop's own clock.
TEST(Paddle, ReadsTheColonOfNewerReleases) {
  const auto runs = read_text(
      "2026-11-21 20:55:27,391-INFO: global step: 10, epoch: 0, batch: 9, loss: -0.099206, "
      "avg_reader_cost: 0.00004 sec, avg_batch_cost: 0.02628 sec, avg_samples: 8.00000, ips: "
      "304.36221 sequences/sec\n"
      "2026-11-21 20:55:27,654-INFO: global step: 20, epoch: 0, batch: 19, loss: -0.102350, "
      "avg_reader_cost: 0.00004 sec, avg_batch_cost: 0.02631 sec, avg_samples: 8.00000, ips: "
      "304.09873 sequences/sec\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_NEAR(runs[0].records[1].seconds, 0.2631, 1e-9);
  EXPECT_EQ(runs[0].records[1].iterations, 10);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 8);
}

// BERT of December 2020 wrote a blank before the colon.
TEST(Paddle, TellsTheBatchFromTheFirstSpellingOfIps) {
  const auto runs = read_text(
      "global step 200, epoch: 0, batch: 199, loss: 9.971391, speed: 3.11 step/s, ips :99.50 "
      "sequences/s\n"
      "global step 220, epoch: 0, batch: 219, loss: 9.975717, speed: 3.84 step/s, ips :123.00 "
      "sequences/s\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 32);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::micro_step);
}

// It writes to the other stream: steps may stand behind it.
TEST(Paddle, TakesTheWordOfTheLauncherThatAllWentWell) {
  const auto step = [](const std::string& n) {
    return "global step " + n +
           ", epoch: 0, batch: 0, loss: 9.5, speed: 7.50 step/s, ips: 480.00 " + "sequences/s\n";
  };
  const std::string word =
      "INFO 2020-12-18 21:30:11,153 launch.py:238] Local processes completed.\n";
  auto runs = read_text(step("20") + step("40") + word + step("60"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  runs = read_text(step("20") + step("40"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

// PaddleRec on parameter servers: the lines of batches are of one thread, those of epochs of one
// trainer.
TEST(Paddle, TakesTheEpochsOfPaddleRecTimesItsTrainers) {
  const std::string trainers = "I0222 09:10:47.360702 10131 communicator.h:205] trainers: 8\n";
  const std::string batch =
      "2021-02-22 09:13:22,124 - INFO - Epoch: 0, Batch: 100, auc: [0.66], cost: [0.52],  "
      "avg_batch_cost: 1.00782 sec, avg_samples: 1000.00000, ips: 992.24492 example/sec\n";
  const auto epoch = [](const std::string& n) {
    return "2021-02-22 09:17:26,930 - INFO - Epoch: " + n +
           ", using time 340.5 second, ips 15500.5 example/sec.\n";
  };
  auto runs = read_text(trainers + batch + epoch("0") + batch + epoch("1"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 124004);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("8 times"));
  runs = read_text(batch + epoch("0") + batch);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records.at(0).printed_rate)) << "of how many trainers?";
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("15500.5"));
  EXPECT_EQ(runs[0].outcome.status, Status::truncated) << "another epoch began";
  EXPECT_EQ(read_text(trainers + epoch("0") + epoch("1") + epoch("0")).size(), 2u);
}

TEST(Paddle, ReadsKnover) {
  const auto runs = read_text(
      "[train][1] progress: 1/1 step: 100, time: 8.000, speed: 12.500 steps/s\n"
      "\tcurrent lr: 0.0000010\n"
      "\tlm_loss: 3.4719, ppl: 32.1986, loss: 3.4719\n"
      "[train][1] progress: 1/1 step: 200, time: 4.000, queue size: 3, speed: 25.000 steps/s\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].iterations, 100);
  EXPECT_EQ(runs[0].records[0].seconds, 8);
  EXPECT_EQ(runs[0].records[1].printed_rate, 25);
}

TEST(Paddle, ReadsBothReleasesOfPaddleHub) {
  const auto first = read_text(
      "[2020-08-16 12:50:06,106] [   TRAIN] - step 10 / 231: loss=0.82945 f1=0.37425 [step/sec: "
      "4.88]\n"
      "[2020-08-16 12:50:08,067] [   TRAIN] - step 20 / 231: loss=0.51294 f1=0.04651 [step/sec: "
      "5.10]\n"
      "[2020-08-16 12:50:09,067] [    EVAL] - [dev dataset evaluation result] loss=0.5 [step/sec: "
      "20.10]\n");
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(first[0].records.size(), 2u);
  EXPECT_EQ(first[0].records[1].iterations, 10);
  EXPECT_EQ(first[0].records[1].printed_rate, 5.1);
  EXPECT_EQ(first[0].records[1].loss, 0.51294);
  const auto second = read_text(
      "[2021-01-11 17:21:22,101] [   TRAIN] - Epoch=1/3, Step=70/77 loss=1.0124 acc=0.7 "
      "lr=0.000050 step/sec=6.25 | ETA 00:03:46\n"
      "[2021-01-11 17:21:24,101] [   TRAIN] - Epoch=2/3, Step=10/77 loss=0.9 acc=0.7 lr=0.000050 "
      "step/sec=6.19 | ETA 00:03:46\n");
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].records[1].step, 87);
  EXPECT_EQ(second[0].records[1].iterations, 17);
}

// The benchmark callback of PaddleNLP's Trainer.
TEST(Paddle, TakesSamplesForSequences) {
  const auto step = [](int n) {
    return "[2022-09-21 11:48:01,100] [    INFO] - global step " + std::to_string(n) +
           " / 1000, loss: 0.512345, avg_reader_cost: 0.00123 sec, avg_batch_cost: 0.25000 sec, "
           "avg_samples: 32.00000, ips: 128.00000 sample/sec\n";
  };
  const auto runs = read_text(step(20) + step(40));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 4);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 32);
}

TEST(Paddle, ReadsPaddleFleetXWithItsTotals) {
  const auto line = [](int batch) {
    return "[2023-02-01 10:00:00,100] [    INFO] - [train] epoch: [0/1], batch: [" +
           std::to_string(batch) +
           "/500000], loss: 10.899412345, avg_batch_cost: 0.25000 sec, speed: 4.00 step/s, "
           "ips_total: 32768 tokens/s, ips: 4096 tokens/s, learning rate: 1.00000e-05\n";
  };
  const auto runs = read_text(line(10) + line(20) + line(30));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].iterations, 10);
  EXPECT_NEAR(runs[0].records[2].seconds, 2.5, 1e-12);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
}

// Labels of mpirun: a step that four ranks print is one step, of as many iterations as before.
TEST(Paddle, CountsTheStepsOfOneRank) {
  std::string text;
  for (const int n : {100, 200, 300}) {
    for (const char* rank : {"[1,2]<stdout>:", "[1,0]<stdout>:", "[1,1]<stdout>:"}) {
      text += rank + step(n, "0.20000", "480.0");
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  for (const Record& record : runs[0].records) {
    EXPECT_EQ(record.iterations, 100);
    EXPECT_NEAR(record.seconds, 20, 1e-9);
  }
}

}  // namespace
}  // namespace bertbench
