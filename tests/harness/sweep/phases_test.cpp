// "phases" of a sweep: the parts of one training that each go on from the one before.
#include "harness/sweep/config/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/sweep/plan/launcher.h"
#include "reports/model/result_io.h"
#include "reports/output/phases.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using test::plan_of;
using test::quick;
using test::Recorder;
using test::ScratchFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string config_of(const std::string& more, const std::string& grid = "") {
  return R"({"name": "test", "grid": {"topology": ["1n1g"], "model": ["bert-tiny"])" + grid +
         R"(}, "timeout_s": 60, "stall_timeout_s": 30, "retries": 0, )" + more + "}";
}

constexpr const char* kTwo = R"("phases": [
    {"sequence_length": 64, "micro_batch_size": 4, "steps": 20},
    {"sequence_length": 128, "micro_batch_size": 2, "gradient_accumulation_steps": 2, "steps": 10,
     "args": ["--learning-rate", "4e-3"]}], "trials": 2, "window": "2:8")";

std::string why_not(const std::string& more, const std::string& grid = "") {
  const auto config = parse_config(config_of(more, grid), "test.json");
  return config ? "" : config.error().message();
}

std::string words_of(const Plan& plan, std::size_t trial) {
  const auto words =
      trainer_words(plan, plan.trials[trial], {"/out/cell/trial_1/attempt_2", 1, ""}, 1);
  std::string text;
  for (const auto& word : words.value_or(std::vector<std::string>{})) text += word + " ";
  return text;
}

TEST(Phases, AreCellsOfTheirOwnInTheirOrder) {
  const auto plan = plan_of(config_of(kTwo));
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_EQ(plan.cells[0].key, "bert-tiny.fp32.s64.b4.a1.1n1g+phase=1");
  EXPECT_EQ(plan.cells[1].key, "bert-tiny.fp32.s128.b2.a2.1n1g+learning_rate=0.004+phase=2");
  EXPECT_THAT(plan.cells[1].phases, ElementsAre(plan.cells[0].key, plan.cells[1].key));
  std::vector<std::size_t> cells;
  for (const auto& trial : plan.trials) cells.push_back(trial.cell);
  EXPECT_THAT(cells, ElementsAre(0, 1, 0, 1));
}

TEST(Phases, TheSecondResumesTheFirstAndCountsItsStepsOn) {
  const auto plan = plan_of(config_of(kTwo));
  EXPECT_THAT(words_of(plan, 0),
              AllOf(HasSubstr("--steps 20 "),
                    HasSubstr("--checkpoint /out/" + plan.cells[0].folder + "/trial_1/checkpoint "),
                    Not(HasSubstr("--resume"))));
  EXPECT_THAT(words_of(plan, 1), AllOf(HasSubstr("--steps 30 "), HasSubstr("--learning-rate 4e-3 "),
                                       HasSubstr("--resume /out/" + plan.cells[0].folder +
                                                 "/trial_1/checkpoint --new-phase "),
                                       Not(HasSubstr("--checkpoint "))));
}

TEST(Phases, AreReadAndWrittenBack) {
  const auto config = parse_config(config_of(kTwo), "test.json");
  ASSERT_TRUE(config) << config.error().message();
  const auto json = config_to_json(*config);
  const auto again = parse_config(json, "sweep.json");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(config_to_json(*again), json);
}

TEST(Phases, WhatCannotBeRunIsNamed) {
  const auto with = [](const std::string& second, const std::string& more = "") {
    return R"("phases": [{"sequence_length": 64, "micro_batch_size": 4, "steps": 20}, )" + second +
           "]" + more;
  };
  const std::string good = R"({"sequence_length": 64, "micro_batch_size": 4, "steps": 2})";
  EXPECT_EQ(why_not(with(good)), "");
  EXPECT_THAT(why_not(R"("phases": [)" + good + "]"), HasSubstr("two or more phases"));
  EXPECT_THAT(why_not(with("3")), HasSubstr("must be an object"));
  EXPECT_THAT(why_not(with(R"({"sequence_length": 64, "micro_batch_size": 4})")),
              HasSubstr("needs its number of steps"));
  EXPECT_THAT(why_not(with(R"({"sequence_lenght": 64, "steps": 2})")),
              HasSubstr("did you mean 'sequence_length'?"));
  EXPECT_THAT(why_not(with(R"({"topology": "1n2g", "steps": 2})")),
              HasSubstr("is the same in all phases"));
  EXPECT_THAT(why_not(with(R"({"sequence_length": 64, "steps": 2})")),
              HasSubstr("needs the axis 'micro_batch_size'"));
  EXPECT_THAT(why_not(with(good, R"(, "steps": 9)")), HasSubstr("is given by each phase"));
  EXPECT_THAT(why_not(with(good, R"(, "window": "steps:2:9")")),
              HasSubstr("window: counts the steps of a log"));
  EXPECT_THAT(why_not(with(good, R"(, "trials": "auto")")), HasSubstr("must be a number"));
  EXPECT_THAT(why_not(with(good, R"(, "variants": {"a": {}, "b": {}})")),
              HasSubstr("cannot be measured in variants"));
  EXPECT_THAT(why_not(with(good, R"(, "args": ["--resume", "x"])")),
              HasSubstr("--resume is set by the harness"));
  EXPECT_THAT(why_not(with(good, R"(, "workload": "gluonnlp-bert")")),
              HasSubstr("is not resumed by the harness"));
  EXPECT_THAT(why_not(with(R"({"sequence_length": 64, "micro_batch_size": "max", "steps": 2})")),
              HasSubstr("must be a number"));
}

TEST(Phases, AFailedPhaseLeavesTheLaterOnesOut) {
  const ScratchFolder temp;
  const auto plan = plan_of(config_of(kTwo), {"trials=1", "env.FAKE=exit:1"});
  Recorder seen;
  const auto outcome = run_sweep(plan, quick(temp.path("run")), seen);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 1);
  EXPECT_EQ(seen.started.size(), 1u);
  EXPECT_THAT(seen.notices, ::testing::Contains(HasSubstr("phase 1 failed")));
}

TEST(Phases, APhaseIsRunAnewWithTheOneBeforeIt) {
  const ScratchFolder temp;
  const auto plan = plan_of(config_of(kTwo), {"trials=1"});
  Recorder first, none, second;
  ASSERT_TRUE(run_sweep(plan, quick(temp.path("run")), first));
  ASSERT_EQ(first.started.size(), 2u);
  ASSERT_TRUE(run_sweep(plan, quick(temp.path("run")), none));
  EXPECT_THAT(none.started, IsEmpty());
  std::filesystem::remove_all(temp.path("run/" + plan.cells[0].folder));
  ASSERT_TRUE(run_sweep(plan, quick(temp.path("run")), second));
  EXPECT_EQ(second.started.size(), 2u);
}

// What phase 1 does is part of what phase 2's numbers rest on.
TEST(Phases, AnotherFirstPhaseIsAnotherCommandOfTheSecond) {
  const ScratchFolder temp;
  Recorder first, second;
  ASSERT_TRUE(run_sweep(plan_of(config_of(kTwo), {"trials=1"}), quick(temp.path("run")), first));
  const auto other = plan_of(config_of(kTwo), {"trials=1", R"(phases=[
      {"sequence_length": 64, "micro_batch_size": 4, "steps": 24},
      {"sequence_length": 128, "micro_batch_size": 2, "gradient_accumulation_steps": 2,
       "steps": 6, "args": ["--learning-rate", "4e-3"]}])"});
  ASSERT_TRUE(run_sweep(other, quick(temp.path("run")), second));
  EXPECT_EQ(second.started.size(), 2u);
}

}  // namespace
}  // namespace bertbench
