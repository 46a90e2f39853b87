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

// ms-swift's: the speed is the step over the seconds that it tells cut off.
std::string swift(int step, const char* elapsed, const char* speed, const char* loss = "1.5") {
  return std::string("{'loss': ") + loss + ", 'epoch': 0." + std::to_string(step) + ", " +
         "'global_step/max_steps': '" + std::to_string(step) + "/60', 'percentage': '1.0%', " +
         "'elapsed_time': '" + elapsed + "', 'remaining_time': '2m 1s', " +
         "'train_speed(iter/s)': " + speed + "}\n";
}

std::string as_json(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  return text;
}

TEST(TrainerRuns, TheLinesOfSwiftTellStepAndClock) {
  // 12.5 s and 65.25 s; the last speed is another's than the time says.
  const std::string text = swift(5, "12s", "0.4") + swift(5, "12s", "0.4") +
                           swift(25, "1m 5s", "0.383142") + swift(30, "1h 1m 20s", "0.5");
  for (const std::string& form : {text, as_json(text)}) {
    const auto runs = read_text(form);
    ASSERT_EQ(runs.size(), 1u) << form;
    EXPECT_EQ(runs[0].format, "huggingface");
    EXPECT_EQ(runs[0].outcome.status, Status::truncated);
    ASSERT_EQ(runs[0].records.size(), 3u);
    EXPECT_EQ(runs[0].records[1].step, 25);
    EXPECT_EQ(runs[0].records[1].iterations, 20);
    EXPECT_NEAR(runs[0].records[1].time_s, 52.75, 1e-3);
    EXPECT_NEAR(runs[0].records[2].time_s, 3680 - 12.5, 1e-3);
    EXPECT_EQ(runs[0].clock_resolution_s, 1);
    EXPECT_TRUE(runs[0].notices.empty());
  }
}

TEST(TrainerRuns, AnEvaluationOfSwiftLiesInItsTimes) {
  const auto evaluation = [](int step, const char* elapsed) {
    return "{'eval_loss': 1.25, 'eval_runtime': 20.5, 'eval_samples_per_second': 8.0, " +
           swift(step, elapsed, "0.1").substr(14);
  };
  const std::string text = swift(10, "20s", "0.5") + swift(20, "40s", "0.5") +
                           evaluation(20, "1m 0s") + swift(30, "1m 20s", "0.375") +
                           swift(60, "2m 20s", "0.428571") + evaluation(60, "2m 40s") +
                           "{'train_runtime': 161.0, 'train_samples_per_second': 2.98, "
                           "'train_steps_per_second': 0.373, " +
                           swift(60, "2m 41s", "0.372671").substr(14);
  for (const std::string& form : {text, as_json(text)}) {
    const auto runs = read_text(form);
    ASSERT_EQ(runs.size(), 2u) << form;
    EXPECT_EQ(runs[0].outcome.status, Status::completed);
    EXPECT_EQ(runs[0].records.size(), 4u);
    ASSERT_TRUE(runs[0].summary);
    EXPECT_EQ(runs[0].summary->value, 2.98);
    ASSERT_FALSE(runs[0].notices.empty());
    EXPECT_EQ(text_of(runs[0].notices[0]),
              "the times between the steps hold 1 evaluation, of 20.5 s");
    EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
    EXPECT_EQ(runs[1].records.size(), 2u);
  }
}

TEST(TrainerRuns, TheLogOfLlamaFactoryTellsStepAndClock) {
  const auto line = [](int step, const char* elapsed, const char* rest) {
    return R"({"current_steps": )" + std::to_string(step) + R"(, "total_steps": 40, )" + rest +
           R"("epoch": 0.5, "percentage": 2.0, "elapsed_time": ")" + elapsed +
           R"(", "remaining_time": "0:00:30"})" + "\n";
  };
  const char* loss = R"("loss": 2.5, "eval_loss": null, "lr": 1e-05, )";
  const std::string begun = line(10, "0:00:12", loss) + line(20, "23:59:12", loss);
  const auto runs = read_text(begun + line(20, "23:59:20", R"("eval_loss": 1.5, )") +
                              line(30, "1 day, 0:00:12", loss) + line(40, "1 day, 0:00:22", "") +
                              "{\"current_steps\": 1}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].time_s, 86400);
  EXPECT_EQ(runs[0].clock_resolution_s, 1);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_EQ(text_of(runs[0].notices[0]), "the times between the steps hold 1 evaluation");

  // From a checkpoint on: the clock begins anew, the steps do not.
  const auto two = read_text(begun + line(30, "0:00:11", loss));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].records.size(), 2u);
  EXPECT_EQ(two[1].records.size(), 1u);
}

}  // namespace
}  // namespace bertbench
