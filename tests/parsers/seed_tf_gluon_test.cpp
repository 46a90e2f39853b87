// The logs that the original programs of gluon-nlp and of DeepLearningExamples' TensorFlow BERT
// wrote on a CPU, each with a clock of its own (../shared/corpus/seed-systems, see its INDEX.tsv).
// They are not part of this repository; where they are missing the tests are skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string folder() {
  const char* given = std::getenv("BB_CORPUS");
  return (given != nullptr ? given : std::string(BB_SOURCE_DIR) + "/../shared/corpus") +
         "/seed-systems/";
}

struct Expected {
  const char* name;
  std::int64_t updates, batch, accumulation, micro_batch, world;
  const char* optimizer;
};

class SeedTensorflow : public testing::TestWithParam<Expected> {};

// Facts that the log implies, and counter over clock of its stamps against the independent clock.
TEST_P(SeedTensorflow, GivesItsFactsAndItsClock) {
  const Expected& want = GetParam();
  const std::string path = folder() + want.name;
  if (!std::filesystem::exists(path + ".log")) GTEST_SKIP() << path << ".log is not here";
  const auto runs = read_log(path + ".log", {});
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 1u);
  const RunLog& run = runs->front();
  EXPECT_EQ(run.kind, WorkKind::training);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_EQ(run.outcome.step, want.updates);
  EXPECT_EQ(static_cast<std::int64_t>(run.records.size()), want.updates);
  EXPECT_EQ(run.totals.iterations, want.updates);
  EXPECT_EQ(run.totals.first_optimizer_step, 0);
  EXPECT_EQ(run.totals.sequences, want.updates * want.batch);
  EXPECT_EQ(run.facts.global_batch_size.value, want.batch);
  EXPECT_EQ(run.facts.micro_batch_size.value, want.micro_batch);
  const std::int64_t known = run.facts.gradient_accumulation_steps.value.value_or(
      want.batch / want.micro_batch / run.facts.world().value_or(1));
  EXPECT_EQ(known, want.accumulation);
  EXPECT_EQ(run.facts.world().value_or(want.batch / want.micro_batch / known), want.world);
  EXPECT_EQ(run.facts.sequence_length.value, 32);
  EXPECT_EQ(run.facts.precision.value, "fp32");
  EXPECT_EQ(run.facts.axes.at("optimizer"), want.optimizer);
  std::ifstream file(path + ".clock.json");
  const auto clock = nlohmann::json::parse(file);
  const auto ends = clock["ends"].get<std::vector<double>>();
  ASSERT_EQ(ends.size(), run.records.size());
  for (const std::size_t from : {std::size_t{1}, std::size_t{5}, run.records.size() / 2}) {
    const double ours = run.records.back().time_s - run.records[from].time_s;
    const double theirs = ends.back() - ends[from];
    EXPECT_NEAR(ours / theirs, 1, 1e-3) << "updates behind " << from;
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, SeedTensorflow,
                         testing::Values(Expected{"nvidia_tf_adam", 60, 4, 1, 4, 1, "adam"},
                                         Expected{"nvidia_tf_amp", 60, 4, 1, 4, 1, "lamb"},
                                         Expected{"nvidia_tf_hvd2-plain", 60, 8, 1, 4, 2, "lamb"},
                                         Expected{"nvidia_tf_accum4adam", 30, 16, 4, 4, 1, "adam"}),
                         [](const auto& of) {
                           std::string name = of.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(SeedGluonnlp, EvaluationsAreEvaluationsAndTheTrainingIsOne) {
  const std::string path = folder() + "gluonnlp_eval_inside_accum2.log";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto runs = read_log(path, {});
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 2u);
  const RunLog& run = runs->front();
  EXPECT_EQ(run.kind, WorkKind::training);
  ASSERT_EQ(run.records.size(), 9u);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_EQ(run.outcome.step, 10);
  double all = 0, behind_first = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    EXPECT_EQ(run.records[i].iterations, 1);
    all += run.records[i].seconds;
    if (i > 0) behind_first += run.records[i].seconds;
  }
  EXPECT_NEAR(9 * 8 / all, 1.789, 5e-4) << "INDEX.tsv: updates 1 to end";
  EXPECT_NEAR(8 * 8 / behind_first, 1.936, 5e-4) << "INDEX.tsv: without the first";
  EXPECT_EQ(run.facts.model.value, "bert-base");
  EXPECT_EQ(run.facts.world(), 1);
  EXPECT_EQ(run.facts.global_batch_size.value, 8);
  EXPECT_EQ(run.facts.gradient_accumulation_steps.value, 2);
  EXPECT_EQ(run.facts.precision.value, "fp32");
  EXPECT_EQ(run.facts.axes.at("optimizer"), "bertadam");
  EXPECT_EQ(runs->back().kind, WorkKind::evaluation);
  EXPECT_EQ(runs->back().records.size(), 8u);
}

}  // namespace
}  // namespace bertbench
