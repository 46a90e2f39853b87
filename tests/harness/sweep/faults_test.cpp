// Trainers that misbehave: each outcome is named, nothing is left running, the sweep goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "harness/sweep/journal/journal.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::HasSubstr;

void expect_nothing_left_running() {
  for (const auto& child : proc::children_of(getpid())) {
    EXPECT_FALSE(proc::has_marker(child.pid, "BERTBENCH_TRIAL=")) << child.pid;
  }
}

/// One trial with FAKE=mode; gives its trial as the result set holds it.
Trial trial_of(const std::string& mode, std::vector<std::string> sets = {},
               SweepOptions options = {}, int* exit_status = nullptr) {
  ScratchFolder temp;
  Recorder seen;
  sets.insert(sets.end(), {"trials=1", "env.FAKE=" + mode});
  options = quick("");
  options.out = temp.path("run");
  const auto outcome = run_sweep(plan_of(small_config(), sets), options, seen);
  EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message());
  expect_nothing_left_running();
  if (!outcome || outcome->result.cells.empty()) return {};
  if (exit_status) *exit_status = outcome->exit_status;
  return outcome->result.cells[0].trials.back();
}

TEST(SweepFaults, TellOutOfMemoryFromACrash) {
  int status = 0;
  const auto text = trial_of("oom_text", {}, {}, &status);
  EXPECT_EQ(text.outcome.status, Status::out_of_memory);
  EXPECT_FALSE(text.sequences_per_second);
  EXPECT_EQ(status, 1);
  const auto code = trial_of("oom_exit");
  EXPECT_EQ(code.outcome.status, Status::out_of_memory);
  EXPECT_EQ(detail_text(code.outcome), "exit status 12");
  const auto crash = trial_of("exit:1");
  EXPECT_EQ(crash.outcome.status, Status::error);
  EXPECT_THAT(detail_text(crash.outcome), HasSubstr("exit status 1"));
  EXPECT_EQ(trial_of("signal:11").outcome.status, Status::error);
  EXPECT_THAT(detail_text(trial_of("signal:11").outcome), HasSubstr("SIGSEGV"));
}

TEST(SweepFaults, NameEverySignalThatSomeoneSent) {
  for (const int number : {SIGKILL, SIGTERM, SIGINT, SIGHUP}) {
    const auto trial = trial_of("signal:" + std::to_string(number));
    EXPECT_EQ(trial.outcome.status, Status::killed) << number;
    EXPECT_THAT(detail_text(trial.outcome), HasSubstr("signal " + std::to_string(number)));
  }
}

TEST(SweepFaults, EndATrialThatPrintsNothingMore) {
  const auto trial = trial_of("hang", {"stall_timeout_s=0.3"});
  EXPECT_EQ(trial.outcome.status, Status::stalled);
  EXPECT_THAT(detail_text(trial.outcome), HasSubstr("no output for 0.3 s"));
  EXPECT_EQ(trial_of("hang", {"stall_timeout_s=0.3", "env.FAKE_AT=0"}).outcome.status,
            Status::stalled);
}

TEST(SweepFaults, EndATrialAtItsTimeLimit) {
  const auto trial = trial_of("hang", {"timeout_s=0.3"});
  EXPECT_EQ(trial.outcome.status, Status::timeout);
  EXPECT_THAT(detail_text(trial.outcome), HasSubstr("ran longer than 0.3 s"));
}

// As under Ctrl-Z, or on a machine that is suspended: the end is found after the limit.
TEST(SweepFaults, CallNoTrialTooLongThatEndedWhileTheHarnessStoodStill) {
  using Clock = std::chrono::steady_clock;
  ScratchFolder temp;
  Recorder seen;
  seen.on_step = [&, begin = Clock::now()](std::int64_t step) {
    if (step == 0 || std::filesystem::exists(temp.path("go"))) return;
    temp.put("go", "");
    const pid_t trainer = std::stoi(test::read_file(temp.path("note")).substr(4));  // "0 1 PID"
    while (proc::stat(trainer).value().state != 'Z' ||
           Clock::now() < begin + std::chrono::seconds(5)) {
      usleep(10000);
    }
  };
  const auto plan =
      plan_of(small_config(), {"trials=1", "timeout_s=4", "env.FAKE_UNTIL=" + temp.path("go"),
                               "env.FAKE_NOTE=" + temp.path("note")});
  swept(plan, temp, seen);
  EXPECT_EQ(seen.finished.at(0).outcome.status, Status::completed);
}

TEST(SweepFaults, KillATrainerThatIgnoresSigtermOrIsStopped) {
  EXPECT_EQ(trial_of("ignore_term", {"stall_timeout_s=0.3"}).outcome.status, Status::stalled);
  EXPECT_EQ(trial_of("stopped", {"stall_timeout_s=0.3"}).outcome.status, Status::stalled);
}

TEST(SweepFaults, EndTheOtherRanksWhenOneIsGone) {
  const auto trial =
      trial_of("exit:3", {"grid.topology=1n3g", "env.FAKE_RANK=1", "env.FAKE_DELAY_MS=200",
                          "steps=1000", "window=steps:10:1000"});
  EXPECT_EQ(trial.outcome.status, Status::error);
  EXPECT_THAT(detail_text(trial.outcome), HasSubstr("exit status 3"));
}

TEST(SweepFaults, EndProcessesThatTheTrainerLeavesBehind) {
  for (const char* mode : {"leave_child", "hold_log"}) {
    const auto trial = trial_of(mode);
    EXPECT_EQ(trial.outcome.status, Status::completed) << mode;
    ASSERT_TRUE(trial.sequences_per_second) << mode;
    bool said = false;
    for (const auto& notice : trial.notices) {
      said = said || notice.code == NoticeCode::processes_left_behind;
    }
    EXPECT_TRUE(said) << mode;
  }
}

TEST(SweepFaults, CountNoNumberFromALogWithoutData) {
  const auto trial = trial_of("silent", {"env.FAKE_AT=0"});
  EXPECT_EQ(trial.outcome.status, Status::no_data);
  EXPECT_FALSE(trial.window.covered);
  EXPECT_FALSE(trial.sequences_per_second);
}

TEST(SweepFaults, NeverAverageATruncatedTrialAsZero) {
  const auto trial = trial_of("exit:0", {"env.FAKE_AT=15"});
  EXPECT_NE(trial.outcome.status, Status::completed);
  EXPECT_FALSE(trial.window.covered);
  EXPECT_FALSE(trial.sequences_per_second);
}

TEST(SweepFaults, NameALossThatBecameNaN) {
  const auto before = trial_of("nan", {"env.FAKE_AT=12"});
  EXPECT_EQ(before.outcome.status, Status::nan);
  EXPECT_EQ(before.outcome.step, 12);
  EXPECT_FALSE(before.window.covered);
}

TEST(SweepFaults, EndATrainerThatFloodsItsLog) {
  const auto trial = trial_of("flood", {"log_limit_bytes=4194304", "retries=2"});
  EXPECT_EQ(trial.outcome.status, Status::error);
  EXPECT_EQ(detail_text(trial.outcome),
            "its log grew beyond the 4194304 bytes allowed (log_limit_bytes) and was cut there");
  EXPECT_EQ(trial.attempt, 1) << "a second flood would be as long";
  for (const auto& notice : trial.notices) {
    EXPECT_NE(notice.code, NoticeCode::log_cut_while_running) << "the harness cut it itself";
  }
}

TEST(SweepFaults, TryAgainInAFolderOfItsOwnAndCountTheTrialOnce) {
  ScratchFolder temp;
  Recorder seen;
  const auto plan = plan_of(small_config(), {"trials=1", "retries=2", "env.FAKE=fail_once",
                                             "env.FAKE_MARKER=" + temp.path("marker")});
  const SweepOutcome outcome = swept(plan, temp, seen);
  ASSERT_EQ(outcome.result.cells[0].trials.size(), 1u);
  const auto& trial = outcome.result.cells[0].trials[0];
  EXPECT_EQ(trial.attempt, 2);
  const std::filesystem::path log(trial.log);
  EXPECT_THAT(trial.log, ::testing::EndsWith("/trial_1/attempt_2/log.txt"));
  EXPECT_EQ(seen.started.size(), 2u);
  EXPECT_THAT(test::read_file(
                  temp.path("run/" + (log.parent_path().parent_path() / "outcome.json").string())),
              HasSubstr("\"error\""));
}

TEST(SweepFaults, DoNotRetryWhatWouldEndTheSame) {
  for (const char* mode : {"oom_exit", "exit:2", "nan"}) {
    ScratchFolder temp;
    Recorder seen;
    const auto plan =
        plan_of(small_config(), {"trials=1", "retries=3", std::string("env.FAKE=") + mode});
    swept(plan, temp, seen, 1);
    EXPECT_EQ(seen.started.size(), 1u) << mode;
  }
}

TEST(SweepFaults, GoOnWithTheOtherCells) {
  ScratchFolder temp;
  Recorder seen;
  const auto plan = plan_of(small_config(), {"grid.env.FAKE=[\"exit:1\",\"ok\"]"});
  const SweepOutcome outcome = swept(plan, temp, seen, 1);
  EXPECT_EQ(outcome.failed_trials, 2);
  int measured = 0;
  for (const auto& cell : outcome.result.cells) measured += cell.throughput.n;
  EXPECT_EQ(measured, 2);
}

}  // namespace
}  // namespace bertbench
