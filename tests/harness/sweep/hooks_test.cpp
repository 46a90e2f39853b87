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

TEST(Hooks, RunAroundTheSweepAndAroundEachTrial) {
  ScratchFolder temp;
  Recorder seen;
  const auto file = temp.path("notes");
  const auto plan =
      plan_of(small_config(), {note("setup", file, "setup"), note("cleanup", file, "cleanup"),
                               note("trial_setup", file, "before {trial} {micro_batch_size}"),
                               note("trial_cleanup", file, "after {trial}")});
  swept(plan, temp, seen);
  EXPECT_EQ(test::read_file(file), "setup\nbefore 1 4\nafter 1\nbefore 2 4\nafter 2\ncleanup\n");
  EXPECT_TRUE(
      std::filesystem::exists(temp.path("run/bert-tiny.fp32.s64.b4.a1.1n1g/trial_1/setup.log")));
  // Nothing is left to run, so nothing is set up.
  swept(plan, temp, seen);
  EXPECT_EQ(test::count(test::read_file(file), "\n"), 6u);
}

TEST(Hooks, OfATrialThatFailMakeItFailAndStopNoOther) {
  ScratchFolder temp;
  Recorder seen;
  const auto plan = plan_of(
      small_config(), {R"j(trial_setup=["sh", "-c", "echo no disk; exit $(({trial} * 7 - 7))"])j"});
  const SweepOutcome outcome = swept(plan, temp, seen, 1);
  ASSERT_EQ(seen.finished.size(), 2u);
  EXPECT_EQ(seen.finished[0].outcome.status, Status::completed);
  EXPECT_EQ(seen.finished[1].outcome.status, Status::error);
  EXPECT_THAT(detail_text(seen.finished[1].outcome), HasSubstr("setup ended with exit status 7"));
  EXPECT_EQ(test::read_file(temp.path("run/bert-tiny.fp32.s64.b4.a1.1n1g/trial_2/setup.log")),
            "no disk\n");
}

TEST(Hooks, ThatCleanUpAndFailAreNamedAndCostNothing) {
  ScratchFolder temp;
  Recorder seen;
  const auto plan =
      plan_of(small_config(), {R"(trial_cleanup=["false"])", R"(cleanup=["false"])", "trials=1"});
  swept(plan, temp, seen);
  EXPECT_THAT(seen.notices, Contains(HasSubstr("trial 1: cleanup ended with exit status 1")));
  EXPECT_THAT(seen.notices, Contains(testing::StartsWith("cleanup ended with exit status 1")));
}

// Seen: the mounts of trial_setup stayed when the disk was full.
TEST(Hooks, CleanUpAfterAnErrorOfTheHarnessToo) {
  ScratchFolder temp;
  Recorder seen;
  const auto journal = temp.path("run/journal.jsonl"), file = temp.path("notes");
  // The record of the launch finds a journal that somebody else has written to.
  const auto plan =
      plan_of(small_config(), {R"(trial_setup=["sh", "-c", "echo x >>)" + journal + "\"]",
                               note("trial_cleanup", file, "after {trial}")});
  const auto outcome = run_sweep(plan, quick(temp.path("run")), seen);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("was written to by somebody else"));
  EXPECT_EQ(test::read_file(file), "after 1\n");
}

TEST(Hooks, OfASweepThatFailsStartsNothing) {
  ScratchFolder temp;
  Recorder seen;
  const auto outcome = run_sweep(plan_of(small_config(), {R"(setup=["no-such-program"])"}),
                                 quick(temp.path("run")), seen);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(),
              testing::AllOf(HasSubstr("setup of the sweep"), HasSubstr("no-such-program"),
                             HasSubstr("no trial was started")));
  EXPECT_THAT(seen.started, IsEmpty());
}

TEST(Hooks, ThatHangAreEndedAfterTheTimeOfAnAttempt) {
  ScratchFolder temp;
  Recorder seen;
  const SweepOutcome outcome = swept(
      plan_of(small_config(), {R"(trial_setup=["sleep", "1000"])", "timeout_s=0.3", "trials=1"}),
      temp, seen, 1);
  EXPECT_THAT(detail_text(seen.finished.at(0).outcome), HasSubstr("after timeout_s"));
}

TEST(Hooks, OfASweepThatIsStoppedEndItsSetupAndCleanUp) {
  ScratchFolder temp;
  Recorder seen;
  const std::atomic<bool> stop = true;
  auto options = quick(temp.path("run"));
  options.stop = &stop;
  const auto outcome = run_sweep(
      plan_of(small_config(), {R"(setup=["sleep", "1000"])", note("cleanup", temp.path("n"), "c")}),
      options, seen);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 130);
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_EQ(outcome->open_trials, 2);
  EXPECT_EQ(test::read_file(temp.path("n")), "c\n");
}

TEST(Hooks, WithAPlaceholderThatIsNoneAreNotPlanned) {
  const auto config = parse_config(small_config(), "c.json", {R"(trial_setup=["rm", "{dirr}"])"});
  ASSERT_TRUE(config);
  const auto plan = make_plan(*config);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message(), HasSubstr("did you mean {dir}?"));
}

}  // namespace
}  // namespace bertbench
