// "phases" of a sweep: the parts of one training that each go on from the one before.
#include "harness/sweep/config/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>

#include "harness/sweep/plan/launcher.h"
#include "reports/cells/summarize.h"
#include "reports/model/cell_source.h"
#include "reports/model/result_io.h"
#include "reports/output/phases.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
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

std::string command_of(const Plan& plan, std::size_t trial) {
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
  EXPECT_THAT(command_of(plan, 0),
              AllOf(HasSubstr("--steps 20 "),
                    HasSubstr("--checkpoint /out/" + plan.cells[0].folder + "/trial_1/checkpoint "),
                    Not(HasSubstr("--resume"))));
  EXPECT_THAT(
      command_of(plan, 1),
      AllOf(HasSubstr("--steps 30 "), HasSubstr("--learning-rate 4e-3 "),
            HasSubstr("--resume /out/" + plan.cells[0].folder + "/trial_1/checkpoint --new-phase "),
            Not(HasSubstr("--checkpoint "))));
}

TEST(Phases, AreReadAndWrittenBack) {
  const auto config = value_of(parse_config(config_of(kTwo), "test.json"));
  const auto json = config_to_json(config);
  const auto again = value_of(parse_config(json, "sweep.json"));
  EXPECT_EQ(config_to_json(again), json);
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

TEST(Phases, AnOptionIsGivenOnce) {
  const auto phases = [](const std::string& of_second) {
    return R"("phases": [{"sequence_length": 64, "micro_batch_size": 4, "steps": 20},
        {"sequence_length": 64, "micro_batch_size": 4, "steps": 2, )" +
           of_second + "}]";
  };
  const std::string rate = R"(, "args": ["--learning-rate", "1e-3"])";
  EXPECT_EQ(why_not(phases(R"("learning_rate": "2e-3")")), "");
  EXPECT_EQ(why_not(phases(R"("args": ["--warmup-steps", "3"])") + rate), "");
  EXPECT_THAT(
      why_not(phases(R"("learning_rate": "2e-3")") + rate),
      AllOf(HasSubstr("test.json"), HasSubstr("phases[1].learning_rate"),
            HasSubstr("is given by the sweep's 'args' as well"), HasSubstr("keep one of them")));
  EXPECT_THAT(why_not(phases(R"("args": ["--learning-rate=2e-3"])") + rate),
              HasSubstr("learning_rate is given by the sweep's 'args' as well"));
  EXPECT_THAT(why_not(phases(R"("learning_rate": "2e-3", "args": ["--learning-rate", "1e-3"])")),
              HasSubstr("learning_rate is an axis of the phase as well"));
  EXPECT_THAT(
      why_not(phases(R"("args": ["--learning-rate", "1e-3"])"), R"(, "learning_rate": ["2e-3"])"),
      HasSubstr("is an axis of this grid as well"));
  EXPECT_THAT(why_not(phases(R"("seed": 3)") + R"(, "seed": 4)"),
              HasSubstr("seed is given by the sweep's 'seed' as well"));
}

TEST(Phases, AreSelectedWithThoseBeforeThem) {
  PlanOptions options;
  const auto cells = [&] {
    std::vector<std::size_t> out;
    for (const auto& trial : plan_of(config_of(kTwo), {}, options).trials) {
      out.push_back(trial.cell);
    }
    return out;
  };
  options.only = {"phase=2"};
  EXPECT_THAT(cells(), ElementsAre(0, 1, 0, 1));
  options.only = {"phase=1"};
  EXPECT_THAT(cells(), ElementsAre(0, 0));
}

TEST(Phases, AFailedPhaseLeavesTheLaterOnesOut) {
  const ScratchFolder temp;
  const auto plan = plan_of(config_of(kTwo), {"trials=1", "env.FAKE=exit:1"});
  Recorder seen;
  swept(plan, temp, seen, 1);
  EXPECT_EQ(seen.started.size(), 1u);
  EXPECT_THAT(seen.notices, ::testing::Contains(HasSubstr("phase 1 failed")));
}

TEST(Phases, APhaseIsRunAnewWithTheOneBeforeIt) {
  const ScratchFolder temp;
  const auto plan = plan_of(config_of(kTwo), {"trials=1"});
  Recorder first, none, second;
  swept(plan, temp, first);
  ASSERT_EQ(first.started.size(), 2u);
  swept(plan, temp, none);
  EXPECT_THAT(none.started, IsEmpty());
  std::filesystem::remove_all(temp.path("run/" + plan.cells[0].folder));
  swept(plan, temp, second);
  EXPECT_EQ(second.started.size(), 2u);
}

TEST(Phases, OfSeveralTrialsNoneIsRunAnew) {
  const ScratchFolder temp;
  const auto plan = plan_of(config_of(kTwo));
  Recorder first, second;
  swept(plan, temp, first);
  ASSERT_EQ(first.started.size(), 4u);
  swept(plan, temp, second);
  EXPECT_THAT(second.started, IsEmpty());
}

/// One trial whose first start hangs in phase 1 when its window is covered, with step 14 of 20.
Plan plan_that_hangs_once(const ScratchFolder& temp, const std::string& mode = "hang") {
  return plan_of(config_of(kTwo), {"trials=1", "env.FAKE=" + mode, "env.FAKE_AT=15",
                                   "env.FAKE_ONCE=" + temp.path("once")});
}

void expect_both_phases_are_run(const Plan& plan, const ScratchFolder& temp) {
  Recorder seen;
  swept(plan, temp, seen);
  EXPECT_THAT(seen.started, ElementsAre(plan.cells[0].key + "#1", plan.cells[1].key + "#1"));
}

// Its checkpoint, if it left one, is of another step than its last.
TEST(Phases, APhaseThatWasInterruptedIsRunAnewThoughItsWindowIsCovered) {
  const ScratchFolder temp;
  const auto plan = plan_that_hangs_once(temp);
  std::atomic<bool> stop{false};
  Recorder first;
  first.on_step = [&](std::int64_t step) {
    if (step >= 14) stop = true;
  };
  auto options = quick(temp.path("run"));
  options.stop = &stop;
  const auto stopped = value_of(run_sweep(plan, options, first));
  EXPECT_TRUE(stopped.interrupted);
  expect_both_phases_are_run(plan, temp);
}

TEST(Phases, APhaseWhoseHarnessWasKilledIsRunAnewThoughItsWindowIsCovered) {
  const ScratchFolder temp;
  const auto plan = plan_that_hangs_once(temp);
  Recorder dies;
  dies.on_step = [](std::int64_t step) {
    if (step >= 14) kill(getpid(), SIGKILL);
  };
  test::run_until_killed(plan, temp.path("run"), dies);
  expect_both_phases_are_run(plan, temp);
}

TEST(Phases, APhaseThatFailsAfterItsWindowIsTriedAgain) {
  const ScratchFolder temp;
  auto plan = plan_that_hangs_once(temp, "exit:1");
  Recorder none, seen;
  swept(plan, temp, none, 1);
  EXPECT_EQ(none.started.size(), 1u) << "no retries";
  expect_both_phases_are_run(plan, temp);
  std::filesystem::remove(temp.path("once"));
  plan.config.retries = 1;
  const auto outcome = value_of(run_sweep(plan, quick(temp.path("again")), seen));
  EXPECT_EQ(seen.started.size(), 3u);
  EXPECT_EQ(outcome.exit_status, 0);
}

TEST(Phases, AfterAPhaseThatIsOutOfMemoryNoneIsRunByALaterStart) {
  const ScratchFolder temp;
  const auto plan = plan_of(config_of(kTwo), {"trials=1", "env.FAKE=oom_exit"});
  Recorder first, second;
  swept(plan, temp, first, 1);
  EXPECT_EQ(first.started.size(), 1u);
  swept(plan, temp, second, 1);
  EXPECT_THAT(second.started, IsEmpty());
}

TEST(Phases, APhaseIsRunAnewWhereTheNextOneNeedsACheckpointThatIsGone) {
  for (const bool gone : {false, true}) {
    const ScratchFolder temp;
    PlanOptions first_alone;
    first_alone.only = {"phase=1"};
    Recorder first, second;
    const auto plan = plan_of(config_of(kTwo), {"trials=1"});
    swept(plan_of(config_of(kTwo), {"trials=1"}, first_alone), temp, first);
    if (gone) {
      std::filesystem::remove_all(
          temp.path("run/" + plan.cells[0].folder + "/trial_1/" + kPhaseCheckpoint));
    }
    swept(plan, temp, second);
    EXPECT_EQ(second.started.size(), gone ? 2u : 1u);
  }
}

// Log and key are the same in both runs.
TEST(Phases, OfTwoRunsAreSummedByRun) {
  const auto plan = plan_of(config_of(kTwo), {"trials=1"});
  ResultSet both;
  for (int run = 0; run < 2; ++run) {
    const ScratchFolder temp;
    Recorder seen;
    const SweepOutcome outcome = swept(plan, temp, seen);
    std::ranges::copy(outcome.result.cells, std::back_inserter(both.cells));
  }
  (void)summarize(both);
  std::vector<std::string> rows;
  for (const auto& row : phases_table(SetSource(both)).rows) {
    rows.push_back(row[1] + " " + row[2] + " " + row[3]);
  }
  const auto &one = plan.cells[0].key, &two = plan.cells[1].key;
  EXPECT_THAT(rows, ElementsAre("1 " + one + " 20", "2 " + two + " 30", "together  50",
                                "1 " + one + "#2 20", "2 " + two + "#2 30", "together  50"));
}

// What phase 1 does is part of what phase 2's numbers rest on.
TEST(Phases, AnotherFirstPhaseIsAnotherCommandOfTheSecond) {
  const ScratchFolder temp;
  Recorder first, second;
  swept(plan_of(config_of(kTwo), {"trials=1"}), temp, first);
  const auto other = plan_of(config_of(kTwo), {"trials=1", R"(phases=[
      {"sequence_length": 64, "micro_batch_size": 4, "steps": 24},
      {"sequence_length": 128, "micro_batch_size": 2, "gradient_accumulation_steps": 2,
       "steps": 6, "args": ["--learning-rate", "4e-3"]}])"});
  swept(other, temp, second);
  EXPECT_EQ(second.started.size(), 2u);
}

}  // namespace
}  // namespace bertbench
