#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string settings(const std::string& model, int accumulation) {
  return "[PerfLog] {\"event\": \"SUBMIT_INFO\", \"value\": {\"vendor\": \"nvidia\", \"model\": "
         "\"" +
         model +
         "\", \"config\": {\"name\": \"x\", \"train_batch_size\": 12, \"eval_batch_size\": 16, "
         "\"gradient_accumulation_steps\": " +
         std::to_string(accumulation) +
         ", \"max_seq_length\": 512, \"n_gpu\": 4}}, \"metadata\": {\"file\": \"a.py\", "
         "\"time_ms\": 1000, \"rank\": 0}}\n";
}

std::string step(int number, double rate, int time_ms, int rank = 0,
                 const std::string& loss = "2.5") {
  return "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": " + loss +
         ", \"mlm_acc\": 0.6, \"global_steps\": " + std::to_string(number) +
         ", \"num_trained_samples\": 4800, \"seq/s\": " + std::to_string(rate) +
         "}, \"metadata\": {\"file\": \"a.py\", \"lineno\": 9, \"time_ms\": " +
         std::to_string(time_ms) + ", \"rank\": " + std::to_string(rank) + "}}\n";
}

TEST(Flagperf, ReadsTheStepsOfAllRanksOnceAndTheClosingRate) {
  const auto runs = read_text(
      settings("bert", 2) +
      "[PerfLog] {\"event\": \"TRAIN_START\", \"metadata\": {\"time_ms\": 2000, \"rank\": 0}}\n" +
      step(1, 90, 3000) + step(1, 91, 3001, 1) + step(51, 240, 13000) + step(51, 241, 13002, 1) +
      "[PerfLog] {\"event\": \"EVALUATE\", \"value\": {\"global_steps\": 51, \"eval_loss\": 1.5}, "
      "\"metadata\": {\"time_ms\": 13500, \"rank\": 0}}\n"
      "[PerfLog] {\"event\": \"TRAIN_END\", \"metadata\": {\"time_ms\": 14000, \"rank\": 0}}\n"
      "[PerfLog] {\"event\": \"FINISHED\", \"value\": {\"e2e_time\": 20.5, "
      "\"training_sequences_per_second\": 204.0, \"converged\": false, \"raw_train_time\": 12.0}, "
      "\"metadata\": {\"time_ms\": 14010, \"rank\": 0}}\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "flagperf");
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.records[1].iterations, 50);
  EXPECT_NEAR(run.records[1].time_s, 10, 0.01);
  EXPECT_EQ(run.iteration_unit, IterationUnit::micro_step);
  EXPECT_EQ(run.facts.sequences_per_micro_step(), 48);
  EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 96);
  EXPECT_EQ(run.facts.sequence_length.value, 512);
  ASSERT_TRUE(run.summary);
  EXPECT_EQ(run.summary->value, 204);
  EXPECT_EQ(run.totals.training_s, 12);
  EXPECT_EQ(run.totals.wall_s, 20.5);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_THAT(text_of(run.notices.front()), testing::HasSubstr("one optimizer step"));
}

TEST(Flagperf, TakesTheClosingRateAloneAndSeesNan) {
  const auto end = read_text(
      "[PerfLog] {\"event\": \"FINISHED\", \"value\": {\"e2e_time\": 4895.6, "
      "\"training_samples_per_second\": 494.5}, \"metadata\": {\"rank\": 0}}\n");
  ASSERT_EQ(end.size(), 1u);
  ASSERT_TRUE(end[0].summary);
  EXPECT_EQ(end[0].summary->value, 494.5);
  const auto nan = read_text(settings("glm", 1) + step(1, 90, 3000) + step(2, 90, 3500, 0, "NaN"));
  ASSERT_EQ(nan.size(), 1u);
  EXPECT_EQ(nan[0].first_nan_step, 2);
  EXPECT_EQ(nan[0].iteration_unit, IterationUnit::unknown) << "only BERT's steps are known";
}

}  // namespace
}  // namespace bertbench
