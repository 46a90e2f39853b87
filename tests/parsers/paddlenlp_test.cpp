#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

constexpr const char* kBatch =
    "[2022-08-31 16:19:13,748] [    INFO] -   Total train batch size (w. parallel, distributed & "
    "accumulation) = 8\n";

std::string interval(int step, const std::string& seconds, const std::string& samples,
                     const std::string& steps) {
  return "[2022-08-31 16:19:" + std::to_string(10 + step) +
         ",008] [    INFO] - loss: 3.25, learning_rate: 2.9e-05, global_step: " +
         std::to_string(step) + ", interval_runtime: " + seconds +
         ", interval_samples_per_second: " + samples + ", interval_steps_per_second: " + steps +
         ", epoch: 0.1\n";
}

// Ten steps of 8 in 2.2591 s are 35.4 samples/s; the release divided 8 by the time.
TEST(Paddlenlp, CorrectsTheSamplesOfOldReleases) {
  const auto runs = read_text(kBatch + interval(10, "2.2591", "3.541", "4.427") +
                              interval(20, "1.5474", "5.17", "6.462"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(runs[0].records[0].printed_rate, 80 / 2.2591, 1e-9);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 8);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("old releases"));
}

TEST(Paddlenlp, ReadsABatchWithGroupedDigits) {
  std::string batch = kBatch;
  batch.replace(batch.find("= 8"), 3, "= 1,024");
  const auto runs = read_text(batch + interval(10, "10.0", "1024.0", "1.0"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 1024);
  EXPECT_EQ(runs[0].records.at(0).printed_rate, 1024);
  EXPECT_TRUE(runs[0].notices.empty());
}

TEST(Paddlenlp, TakesNoPartOfAGroupedNumberForTheNumber) {
  EXPECT_TRUE(read_text(kBatch + interval(10, "1,002.5", "1024.0", "1.0")).empty())
      << "1 s is not the time";
}

TEST(Paddlenlp, SaysNothingWhereTheSamplesAreRight) {
  const auto runs = read_text(kBatch + interval(10, "2.2591", "35.4123", "4.427"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0].notices.empty());
}

TEST(Paddlenlp, StaysInStepsWithoutTheBatch) {
  const auto runs = read_text(interval(10, "2.2591", "3.541", "4.427"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::iterations_per_second);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("steps/s"));
}

TEST(Paddlenlp, CountsTheStepsOfAResumedRunByItsRate) {
  const auto runs = read_text(kBatch + interval(1010, "2.2591", "35.4123", "4.427"));
  EXPECT_EQ(runs.at(0).records.at(0).iterations, 10);
}

TEST(Paddlenlp, KeepsEvaluationApart) {
  const auto runs = read_text(
      kBatch + interval(10, "2.2591", "35.4123", "4.427") +
      "[2022-08-31 16:20:00,000] [    INFO] - eval_loss: 0.1, eval_runtime: 0.5, "
      "eval_samples_per_second: 200.0, eval_steps_per_second: 25.0, epoch: 0.1\n"
      "[2022-08-31 16:21:00,000] [    INFO] - train_runtime: 10.0, train_samples_per_second: "
      "8.0, train_steps_per_second: 1.0, train_loss: 1.5, epoch: 1.0\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].summary->value, 8);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[1].summary->value, 200);
}

std::string evaluation(const std::string& seconds) {
  return "[2022-08-31 16:20:00,000] [    INFO] - eval_loss: 0.1, eval_runtime: " + seconds +
         ", eval_samples_per_second: 200.0, eval_steps_per_second: 25.0, epoch: 0.1\n";
}

// An evaluation of 2 s and a checkpoint of 5 s within an interval whose steps took 1 s.
TEST(Paddlenlp, LeavesOutAnIntervalThatHoldsAnEvaluation) {
  const auto runs =
      read_text(kBatch + interval(10, "1.0", "80.0", "10.0") + interval(20, "1.0", "80.0", "10.0") +
                evaluation("2.0") + interval(30, "8.0", "10.0", "1.25") +
                interval(40, "1.0", "80.0", "10.0"));
  const auto& run = runs.at(0);
  ASSERT_EQ(run.records.size(), 4u);
  EXPECT_TRUE(std::isnan(run.records[2].seconds));
  EXPECT_TRUE(std::isnan(run.records[2].printed_rate));
  EXPECT_EQ(run.records[2].iterations, 10);
  EXPECT_EQ(run.records[3].printed_rate, 80);
  ASSERT_EQ(run.notices.size(), 1u);
  EXPECT_EQ(text_of(run.notices[0]),
            "1 of 4 interval lines holds an evaluation: it is left out of the rate");
}

TEST(Paddlenlp, TakesEvaluationsOffWhereEachIntervalHoldsOne) {
  const auto runs = read_text(kBatch + interval(10, "1.0", "80.0", "10.0") + evaluation("2.0") +
                              interval(20, "3.0", "26.667", "3.333") + evaluation("2.0") +
                              interval(30, "3.5", "22.857", "2.857"));
  const auto& run = runs.at(0);
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.records[1].seconds, 1);
  EXPECT_NEAR(run.records[1].printed_rate, 80, 1e-9);
  EXPECT_EQ(run.records[2].seconds, 1.5);
  ASSERT_EQ(run.notices.size(), 1u);
  EXPECT_THAT(text_of(run.notices[0]), testing::HasSubstr("its eval_runtime is taken off"));
}

// Every fifth line of a log: the counter runs on, the time is that of ten steps.
TEST(Paddlenlp, ThinnedLinesDoNotCountStepsWhoseTimeIsNotTold) {
  const auto runs = read_text(
      "[2022-08-31 16:19:13,747] [    INFO] -   Total train batch size (w. parallel, distributed & "
      "accumulation) = 8\n"
      "[2022-08-31 16:19:20,652] [    INFO] - loss: 2.4, learning_rate: 3e-05, global_step: 40, "
      "interval_runtime: 1.5467, interval_samples_per_second: 5.172, interval_steps_per_second: "
      "6.465, epoch: 0.1058\n"
      "[2022-08-31 16:19:28,405] [    INFO] - loss: 2.3, learning_rate: 3e-05, global_step: 90, "
      "interval_runtime: 1.5503, interval_samples_per_second: 5.16, interval_steps_per_second: "
      "6.45, epoch: 0.2381\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.at(1).step, 90);
  EXPECT_EQ(runs[0].records[1].iterations, 10);
  EXPECT_NEAR(runs[0].records[1].printed_rate, 80 / 1.5503, 1e-6);
}

constexpr const char* kBanner =
    "[2023-04-14 20:52:47,097] [    INFO] - ***** Running training *****\n"
    "[2023-04-14 20:52:47,097] [    INFO] -   Instantaneous batch size per device = 12\n"
    "[2023-04-14 20:52:47,098] [    INFO] -   Gradient Accumulation steps = 2\n";

TEST(Paddlenlp, ABannerThatNothingFollowsIsACutLog) {
  const auto cut = read_text(kBanner);
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].format, "paddlenlp");
  EXPECT_EQ(cut[0].outcome.status, Status::truncated);
  EXPECT_EQ(cut[0].facts.micro_batch_size.value, 12);
  const auto failed = read_text(std::string(kBanner) +
                                "Traceback (most recent call last):\n"
                                "  File \"run.py\", line 7, in <module>\n    main()\n"
                                "ValueError: (InvalidArgument) shapes differ\n");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].outcome.status, Status::error);
  EXPECT_EQ(read_text(std::string(kBanner) + interval(10, "2.0", "40.0", "5.0")).size(), 1u);
}

TEST(Paddlenlp, ABannerAndTheClosingLineAreAWholeRun) {
  const auto runs = read_text(
      std::string(kBanner) +
      "[2023-04-14 20:54:27,098] [    INFO] - train_runtime: 100.0, train_samples_per_second: "
      "48.0, train_steps_per_second: 2.0, train_loss: 0.5\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[0].summary->value, 48);
}

// Keys that old releases do not know tell that the samples are those of all steps.
TEST(Paddlenlp, TakesTheBatchFromTheRatesOfNewReleases) {
  const auto line = [](int step, const std::string& samples, const std::string& steps) {
    return "[2024-10-25 10:00:00,100] [    INFO] - loss: 3.25, learning_rate: 2.9e-05, "
           "global_step: " +
           std::to_string(step) +
           ", interval_runtime: 10.0, interval_samples_per_second: " + samples +
           ", interval_tokens_per_second_per_device: 4096.0, " +
           "interval_steps_per_second: " + steps + ", progress_or_epoch: 0.1\n";
  };
  const auto runs = read_text(line(20, "16.0", "2.0") + line(40, "16.0", "2.0"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 8);
  EXPECT_EQ(runs[0].records.at(1).printed_rate, 16);
  EXPECT_TRUE(runs[0].notices.empty());
  // Too few digits for one batch: the samples are taken, and no batch.
  const auto slow = read_text(line(1, "25.6123", "0.0125") + line(2, "25.6123", "0.0125"));
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_FALSE(slow[0].facts.global_batch_size.known());
  EXPECT_EQ(slow[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(slow[0].records.at(1).printed_rate, 25.6123);
}

}  // namespace
}  // namespace bertbench
