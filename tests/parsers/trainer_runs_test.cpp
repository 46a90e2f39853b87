// Which runs a log of the Hugging Face Trainer holds: tables one after the other, and a banner that
// nothing follows.
#include <gtest/gtest.h>

#include <string>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string table(const std::string& runtime, const std::string& rate) {
  return "***** train metrics *****\n  epoch                    =        2.0\n"
         "  total_flos               =    61234GF\n  train_loss               =     0.3127\n"
         "  train_runtime            = " +
         runtime +
         "\n  train_samples            =      18000\n  train_samples_per_second =     " + rate +
         "\n  train_steps_per_second   =      2.125\n";
}

std::string dict(const std::string& runtime, const std::string& rate) {
  return "{'train_runtime': " + runtime + ", 'train_samples_per_second': " + rate +
         ", 'train_steps_per_second': 2.125, 'train_loss': 0.3127, 'epoch': 2.0}\n";
}

TEST(TrainerRuns, EachTableOfAnotherRuntimeIsARun) {
  const auto runs = read_text(table("0:09:10.25", "65.432") + "next seed\n" +
                              table("0:09:48.50", "61.178") + table("0:05:01.75", "119.3"));
  ASSERT_EQ(runs.size(), 3u);
  const double rates[] = {65.432, 61.178, 119.3}, seconds[] = {550.25, 588.5, 301.75};
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(runs[i].summary) << i;
    EXPECT_EQ(runs[i].summary->value, rates[i]);
    EXPECT_EQ(runs[i].totals.training_s, seconds[i]);
    EXPECT_EQ(runs[i].outcome.status, Status::completed);
  }
}

TEST(TrainerRuns, TheTableOfADictIsNoOtherRun) {
  const auto runs = read_text(dict("550.2468", "65.432") + table("0:09:10.24", "65.432") +
                              dict("601.5", "59.85") + table("0:10:01.50", "59.85"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].totals.training_s, 550.2468);
  EXPECT_EQ(runs[1].summary->value, 59.85);
}

constexpr const char* kBanner =
    "[INFO|trainer.py:1740] 2023-05-02 11:02:10,100 >> ***** Running training *****\n"
    "[INFO|trainer.py:1741] 2023-05-02 11:02:10,100 >>   Num examples = 12,000\n"
    "[INFO|trainer.py:1742] 2023-05-02 11:02:10,100 >>   Num Epochs = 2\n"
    "[INFO|trainer.py:1743] 2023-05-02 11:02:10,100 >>   Instantaneous batch size per device = 8\n"
    "[INFO|trainer.py:1744] 2023-05-02 11:02:10,100 >>   Total train batch size (w. parallel, "
    "distributed & accumulation) = 64\n"
    "[INFO|trainer.py:1745] 2023-05-02 11:02:10,100 >>   Gradient Accumulation steps = 2\n"
    "[INFO|trainer.py:1746] 2023-05-02 11:02:10,100 >>   Total optimization steps = 374\n";

TEST(TrainerRuns, ABannerThatNothingFollowsIsACutLog) {
  for (const char* bar : {"", "\r  0%|          | 0/374 [00:00<?, ?it/s]"}) {
    const auto runs = read_text(std::string(kBanner) + bar);
    ASSERT_EQ(runs.size(), 1u) << bar;
    EXPECT_EQ(runs[0].format, "huggingface") << bar;
    EXPECT_EQ(runs[0].outcome.status, Status::truncated);
    EXPECT_EQ(runs[0].facts.micro_batch_size.value, 8);
    EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 2);
    EXPECT_FALSE(runs[0].summary);
  }
}

TEST(TrainerRuns, TheSameBannerOfPaddleNlpIsNotTheTrainers) {
  const auto runs = read_text(
      "[2023-04-14 20:52:47,097] [    INFO] - ***** Running training *****\n"
      "[2023-04-14 20:52:47,097] [    INFO] -   Instantaneous batch size per device = 12\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "paddlenlp");
  EXPECT_EQ(runs[0].facts.framework.value, "paddle");
}

TEST(TrainerRuns, ABannerWithAFailureBehindItTellsTheFailure) {
  const auto runs = read_text(std::string(kBanner) +
                              "Traceback (most recent call last):\n"
                              "  File \"run.py\", line 3, in <module>\n    main()\n"
                              "RuntimeError: shapes cannot be multiplied (8x7 and 9x7)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "huggingface");
  EXPECT_EQ(runs[0].outcome.status, Status::error);
}

TEST(TrainerRuns, ABannerBehindARunBeginsAnotherOne) {
  const std::string run =
      std::string(kBanner) + "{'loss': 2.5, 'epoch': 0.02}\n" + dict("550.2468", "65.432");
  const auto runs = read_text(run + kBanner + "Killed\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].first_line, 13);
  EXPECT_EQ(runs[1].outcome.status, Status::killed);
  EXPECT_TRUE(runs[1].records.empty());
  const std::string next =
      std::string(kBanner) + "{'loss': 2.25, 'epoch': 0.02}\n" + dict("601.5", "59.85");
  EXPECT_EQ(read_text(run + next).size(), 2u);
}

// Notebooks show the losses elsewhere.
TEST(TrainerRuns, ABannerAndTheLastWordsAreNoCutLog) {
  const auto runs = read_text(std::string(kBanner) +
                              "\n\nTraining completed. Do not forget to share your model on "
                              "huggingface.co/models =)\n\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "huggingface");
  EXPECT_EQ(runs[0].outcome.status, Status::no_data);
}

TEST(TrainerRuns, ABannerInFrontOfStepsChangesNothing) {
  const auto runs = read_text(std::string(kBanner) + "{'loss': 2.5, 'epoch': 0.02}\n" +
                              "{'loss': 2.25, 'epoch': 0.04}\n" + dict("550.2468", "65.432"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].first_line, 8);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

}  // namespace
}  // namespace bertbench
