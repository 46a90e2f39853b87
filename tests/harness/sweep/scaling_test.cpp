// "scaling": weak keeps the sequences of a GPU, strong divides those of the whole job.
#include "harness/sweep/config/scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/sweep/plan/template_call.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string grid_of(const std::string& axes, const std::string& more) {
  return R"({"name": "test", "grid": {"model": ["bert-tiny"], "sequence_length": [64], )" + axes +
         "}, \"steps\": 20, " + more + "}";
}

std::string why_not(const std::string& axes, const std::string& more) {
  const auto config = parse_config(grid_of(axes, more), "test.json");
  if (!config) return config.error().message();
  PlanOptions options;
  options.trainer = BB_FAKE_TRAINER;
  const auto plan = make_plan(*config, options);
  return plan ? "" : plan.error().message();
}

std::vector<std::string> keys(const std::string& axes, const std::string& more) {
  std::vector<std::string> out;
  for (const auto& cell : plan_of(grid_of(axes, more)).cells) out.push_back(cell.key);
  return out;
}

constexpr const char* kThree = R"("topology": ["1n1g", "1n2g", "2n2g"], )";
constexpr const char* kStrong = R"("scaling": "strong")";

TEST(Scaling, StrongDividesTheGlobalBatchIntoMicroSteps) {
  EXPECT_THAT(
      keys(std::string(kThree) + R"("micro_batch_size": 4, "global_batch_size": 16)", kStrong),
      ElementsAre("bert-tiny.fp32.s64.b4.a4.1n1g", "bert-tiny.fp32.s64.b4.a2.1n2g",
                  "bert-tiny.fp32.s64.b4.a1.2n2g"));
}

TEST(Scaling, StrongWithoutAMicroBatchDividesTheGlobalBatchIntoMicroBatches) {
  EXPECT_THAT(
      keys(std::string(kThree) + R"("gradient_accumulation_steps": 2, "global_batch_size": 16)",
           kStrong),
      ElementsAre("bert-tiny.fp32.s64.b8.a2.1n1g", "bert-tiny.fp32.s64.b4.a2.1n2g",
                  "bert-tiny.fp32.s64.b2.a2.2n2g"));
  EXPECT_THAT(keys(R"("topology": "1n2g", "global_batch_size": 16)", kStrong),
              ElementsAre("bert-tiny.fp32.s64.b8.a1.1n2g"));
}

TEST(Scaling, ACommandGetsWhatFollows) {
  const auto plan = plan_of(
      R"({"command": ["t", "{micro_batch_size}", "{gradient_accumulation_steps}", "{global_batch_size}"],
          "scaling": "strong", "grid": {"topology": "1n2g", "micro_batch_size": 2,
          "global_batch_size": 12}})");
  const auto words = template_words(plan, plan.trials.front(), {"/d", 1, ""}, 2);
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, ElementsAre("t", "2", "3", "12"));
}

TEST(Scaling, AnUnevenDivisionIsNamedUnlessItIsExcluded) {
  const std::string axes = std::string(kThree) + R"("micro_batch_size": 4, "global_batch_size": 8)";
  EXPECT_THAT(why_not(axes, kStrong),
              HasSubstr("global_batch_size 8 is no multiple of 4 GPUs x micro_batch_size 4"));
  EXPECT_THAT(keys(axes, std::string(kStrong) + R"(, "exclude": [{"topology": "2n2g"}])"),
              ElementsAre("bert-tiny.fp32.s64.b4.a2.1n1g", "bert-tiny.fp32.s64.b4.a1.1n2g"));
}

TEST(Scaling, AxesThatContradictItAreNamed) {
  const std::string batch = std::string(kThree) + R"("micro_batch_size": 4)";
  EXPECT_THAT(why_not(batch, kStrong), HasSubstr("the grid has none"));
  EXPECT_THAT(why_not(batch + R"(, "global_batch_size": 8)", R"("scaling": "weak")"),
              HasSubstr("is an axis of \"scaling\": \"strong\" alone"));
  EXPECT_THAT(why_not(batch + R"(, "global_batch_size": 8)", R"("trials": 1)"),
              HasSubstr("is an axis of \"scaling\": \"strong\" alone"));
  EXPECT_THAT(
      why_not(batch + R"(, "global_batch_size": 8, "gradient_accumulation_steps": 2)", kStrong),
      HasSubstr("follows from global_batch_size, micro_batch_size and the GPUs"));
  EXPECT_THAT(why_not(batch, R"("scaling": "both")"), HasSubstr("not one of weak, strong"));
  EXPECT_THAT(why_not(batch, R"("scaling": true)"), HasSubstr("scaling: must be text"));
  EXPECT_THAT(why_not(std::string(kThree) + R"("micro_batch_size": "max")", R"("scaling": "weak")"),
              HasSubstr("must be numbers where scaling is weak"));
}

TEST(Scaling, WeakRefusesABatchThatChangesWithTheGpus) {
  const std::string zip = R"("scaling": "weak", "zip": [["topology", "micro_batch_size"]])";
  EXPECT_THAT(why_not(std::string(kThree) + R"("micro_batch_size": [4, 2, 1])", zip),
              HasSubstr("keeps the sequences of one GPU, and micro_batch_size changes"));
  EXPECT_EQ(why_not(std::string(kThree) + R"("micro_batch_size": [4, 4, 4])", zip), "");
  EXPECT_EQ(why_not(std::string(kThree) + R"("micro_batch_size": [4, 2])", R"("scaling": "weak")"),
            "");
}

// Cells of 1 and 2 GPUs at 8 and 16 sequences: the one of 2 GPUs and 16 has a weak base as well.
TEST(Scaling, SpeedupsOfAStrongSweepAreOverTheSameGlobalBatch) {
  for (const bool strong : {true, false}) {
    const auto plan = plan_of(
        grid_of(strong ? R"("topology": ["1n1g", "1n2g"], "micro_batch_size": 4,
                            "global_batch_size": [8, 16])"
                       : R"("topology": ["1n1g", "1n1g", "1n2g"], "micro_batch_size": 4,
                            "gradient_accumulation_steps": [2, 4, 2])",
                strong ? R"("scaling": "strong", "trials": 1, "window": "steps:10:20")"
                       : R"("zip": [["topology", "gradient_accumulation_steps"]], "trials": 1,
                            "window": "steps:10:20")"));
    test::ScratchFolder temp;
    test::Recorder seen;
    const SweepOutcome outcome = swept(plan, temp, seen);
    bool found = false;
    for (const auto& cell : outcome.result.cells) {
      if (cell.key != "bert-tiny.fp32.s64.b4.a2.1n2g") continue;
      found = true;
      EXPECT_EQ(cell.scaling, strong ? "strong" : "weak");
      ASSERT_TRUE(cell.speedup);
      EXPECT_EQ(cell.speedup->base,
                strong ? "bert-tiny.fp32.s64.b4.a4.1n1g" : "bert-tiny.fp32.s64.b4.a2.1n1g");
    }
    EXPECT_TRUE(found);
  }
}

}  // namespace
}  // namespace bertbench
