// Setup and cleanup of a sweep and of its trials.
#include <gmock/gmock.h>

#include <atomic>

#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A hook that adds a line to `path`.
std::string note(const std::string& key, const std::string& path, const std::string& line,
                 int status = 0) {
  return key + R"(=["sh", "-c", "echo )" + line + " >>" + path + "; exit " +
         std::to_string(status) + "\"]";
}

using Hooks = test::SweepTest;

TEST_F(Hooks, RunAroundTheSweepAndAroundEachTrial) {
  const auto file = temp_.path("notes");
  const auto plan =
      plan_of(small_config(), {note("setup", file, "setup"), note("cleanup", file, "cleanup"),
                               note("trial_setup", file, "before {trial} {micro_batch_size}"),
                               note("trial_cleanup", file, "after {trial}")});
  swept(plan, temp_, seen_);
  EXPECT_EQ(test::read_file(file), "setup\nbefore 1 4\nafter 1\nbefore 2 4\nafter 2\ncleanup\n");
  EXPECT_TRUE(
      std::filesystem::exists(temp_.path("run/bert-tiny.fp32.s64.b4.a1.1n1g/trial_1/setup.log")));
  // Nothing is left to run, so nothing is set up.
  swept(plan, temp_, seen_);
  EXPECT_EQ(test::count(test::read_file(file), "\n"), 6u);
}

TEST_F(Hooks, OfATrialThatFailMakeItFailAndStopNoOther) {
  const auto plan = plan_of(
      small_config(), {R"j(trial_setup=["sh", "-c", "echo no disk; exit $(({trial} * 7 - 7))"])j"});
  const SweepOutcome outcome = swept(plan, temp_, seen_, 1);
  ASSERT_EQ(seen_.finished.size(), 2u);
  EXPECT_EQ(seen_.finished[0].outcome.status, Status::completed);
  EXPECT_EQ(seen_.finished[1].outcome.status, Status::error);
  EXPECT_THAT(detail_text(seen_.finished[1].outcome), HasSubstr("setup ended with exit status 7"));
  EXPECT_EQ(test::read_file(temp_.path("run/bert-tiny.fp32.s64.b4.a1.1n1g/trial_2/setup.log")),
            "no disk\n");
}

TEST_F(Hooks, ThatCleanUpAndFailAreNamedAndCostNothing) {
  const auto plan =
      plan_of(small_config(), {R"(trial_cleanup=["false"])", R"(cleanup=["false"])", "trials=1"});
  swept(plan, temp_, seen_);
  EXPECT_THAT(seen_.notices, Contains(HasSubstr("trial 1: cleanup ended with exit status 1")));
  EXPECT_THAT(seen_.notices, Contains(testing::StartsWith("cleanup ended with exit status 1")));
}

// Seen: the mounts of trial_setup stayed when the disk was full.
TEST_F(Hooks, CleanUpAfterAnErrorOfTheHarnessToo) {
  const auto journal = temp_.path("run/journal.jsonl"), file = temp_.path("notes");
  // The record of the launch finds a journal that somebody else has written to.
  const auto plan =
      plan_of(small_config(), {R"(trial_setup=["sh", "-c", "echo x >>)" + journal + "\"]",
                               note("trial_cleanup", file, "after {trial}")});
  const auto outcome = run_sweep(plan, quick(temp_.path("run")), seen_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("was written to by somebody else"));
  EXPECT_EQ(test::read_file(file), "after 1\n");
}

TEST_F(Hooks, OfASweepThatFailsStartsNothing) {
  const auto outcome = run_sweep(plan_of(small_config(), {R"(setup=["no-such-program"])"}),
                                 quick(temp_.path("run")), seen_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(),
              testing::AllOf(HasSubstr("setup of the sweep"), HasSubstr("no-such-program"),
                             HasSubstr("no trial was started")));
  EXPECT_THAT(seen_.started, IsEmpty());
}

TEST_F(Hooks, ThatHangAreEndedAfterTheTimeOfAnAttempt) {
  const SweepOutcome outcome = swept(
      plan_of(small_config(), {R"(trial_setup=["sleep", "1000"])", "timeout_s=0.3", "trials=1"}),
      temp_, seen_, 1);
  EXPECT_THAT(detail_text(seen_.finished.at(0).outcome), HasSubstr("after timeout_s"));
}

TEST_F(Hooks, OfASweepThatIsStoppedEndItsSetupAndCleanUp) {
  const std::atomic<bool> stop = true;
  auto options = quick(temp_.path("run"));
  options.stop = &stop;
  const auto outcome =
      value_of(run_sweep(plan_of(small_config(), {R"(setup=["sleep", "1000"])",
                                                  note("cleanup", temp_.path("n"), "c")}),
                         options, seen_));
  EXPECT_EQ(outcome.exit_status, 130);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.open_trials, 2);
  EXPECT_EQ(test::read_file(temp_.path("n")), "c\n");
}

TEST_F(Hooks, WithAPlaceholderThatIsNoneAreNotPlanned) {
  const auto config =
      value_of(parse_config(small_config(), "c.json", {R"(trial_setup=["rm", "{dirr}"])"}));
  const auto plan = make_plan(config);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message(), HasSubstr("did you mean {dir}?"));
}

}  // namespace
}  // namespace bertbench
