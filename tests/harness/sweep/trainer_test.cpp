// With the real trainer: the option list and a sweep of one and two ranks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/sweep/process/process.h"
#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {

// The identity of a sweep leaves out what is at its default, so both programs must mean the same.
TEST(TrainerOptions, AreWhatBertTrainDescribes) {
  prepare_to_run_processes();
  const auto printed =
      capture_output({BB_BERT_TRAIN, "--describe-options"}, std::chrono::seconds(60));
  ASSERT_TRUE(printed);
  std::string known;
  for (const auto& option : trainer_options()) {
    known += fmt::format("{{\"{}\", \"{}\", \"{}\"}},\n", option.name, option.usual, option.values);
  }
  EXPECT_EQ(known, *printed)
      << "bert_train --describe-options > parsers/core/trainer_options.inc makes them equal";
}

TEST(TrainerSweep, MeasuresTheRealTrainerOnOneAndTwoRanks) {
  test::ScratchFolder temp;
  test::Recorder seen;
  PlanOptions options;
  options.trainer = BB_BERT_TRAIN;
  options.cores = 2;
  const auto plan = test::plan_of(R"({"grid": {"topology": ["1n1g", "1n2g"], "model": "bert-tiny",
      "micro_batch_size": 2, "sequence_length": 16}, "trials": 1, "steps": 6, "window": "steps:2:6",
      "timeout_s": 500, "stall_timeout_s": 400, "retries": 0})",
                                  {}, options);
  const SweepOutcome outcome = swept(plan, temp, seen);
  ASSERT_EQ(outcome.result.cells.size(), 2u);
  for (const auto& cell : outcome.result.cells) {
    ASSERT_EQ(cell.trials.size(), 1u);
    EXPECT_EQ(cell.trials[0].outcome.status, Status::completed)
        << detail_text(cell.trials[0].outcome);
    EXPECT_EQ(cell.throughput.n, 1);
    EXPECT_GT(cell.throughput.median.value_or(0), 0);
    // The log states the same facts as the plan: no notice that they disagree.
    for (const auto& notice : cell.trials[0].notices) {
      EXPECT_EQ(text_of(notice).find("disagree"), std::string::npos) << text_of(notice);
    }
  }
  const auto folder = temp.path("run/bert-tiny.fp32.s16.b2.a1.1n2g/trial_1/");
  EXPECT_EQ(test::count(test::read_file(folder + "timings.jsonl"), "\n"), 6u);
}

TEST(TrainerSweep, FindsTheLargestBatchOfTheRealTrainerUnderAMemoryLimit) {
  test::ScratchFolder temp;
  test::Recorder seen, again;
  PlanOptions options;
  options.trainer = BB_BERT_TRAIN;
  options.cores = 1;
  const auto plan = test::plan_of(R"({"grid": {"topology": "1n1g", "model": "bert-tiny",
      "micro_batch_size": ["max", 512], "sequence_length": 16}, "trials": 1, "steps": 4,
      "window": "all", "args": ["--memory-limit-mb", "160"], "timeout_s": 500,
      "stall_timeout_s": 400, "retries": 0})",
                                  {}, options);
  const SweepOutcome outcome = swept(plan, temp, seen, 1);
  ASSERT_EQ(outcome.result.cells.size(), 2u);
  const Cell& found = outcome.result.cells[0];
  EXPECT_GT(found.identity.micro_batch_size.value_or(0), 4);
  EXPECT_LT(found.identity.micro_batch_size.value_or(0), 512);
  EXPECT_EQ(found.throughput.n, 1);
  const Trial& too_large = outcome.result.cells[1].trials.at(0);
  EXPECT_EQ(too_large.outcome.status, Status::out_of_memory);
  ASSERT_TRUE(too_large.memory);
  EXPECT_EQ(too_large.memory->capacity_bytes, 160 << 20);
  EXPECT_GT(too_large.memory->peak_bytes, too_large.memory->capacity_bytes);
  // The plan that fits is just below the limit: one more sequence was refused.
  EXPECT_THAT(texts_of(found.warnings),
              testing::Contains(testing::HasSubstr("160 MiB are available")));
  swept(plan, temp, again, 1);
  EXPECT_TRUE(again.started.empty());
}

}  // namespace
}  // namespace bertbench
