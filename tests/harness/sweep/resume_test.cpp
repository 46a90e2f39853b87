// Stopping, dying and going on: nothing finished is lost, nothing is counted twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;

/// Every file of the trials, by path.
Files trial_files(const std::string& run) {
  Files out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
    const auto path = entry.path().string();
    if (entry.is_regular_file() && path.find("/trial_") != std::string::npos) {
      out[path] = test::read_file(path);
    }
  }
  return out;
}

std::vector<std::string> four_trials() { return {"grid.model=[\"bert-tiny\",\"bert-mini\"]"}; }

using SweepResume = test::SweepTest;

TEST_F(SweepResume, LaunchesNothingWhenAllIsDone) {
  Recorder first, second;
  const auto plan = plan_of(small_config(), four_trials());
  swept(plan, temp_, first);
  const auto before = trial_files(temp_.path("run"));
  const SweepOutcome outcome = swept(plan, temp_, second);
  EXPECT_EQ(first.started.size(), 4u);
  EXPECT_TRUE(second.started.empty());
  EXPECT_EQ(second.counts.reused, 4);
  EXPECT_EQ(trial_files(temp_.path("run")), before);
  EXPECT_EQ(outcome.result.cells.size(), 2u);
  EXPECT_EQ(outcome.result.cells[0].throughput.n, 2);
}

TEST_F(SweepResume, JudgesATrialByItsLogNotByItsFiles) {
  Recorder first, second;
  const auto plan = plan_of(small_config(), four_trials());
  swept(plan, temp_, first);
  // One log loses its end, another one all of it.
  const auto cut = temp_.path("run/bert-tiny.fp32.s64.b4.a1.1n1g/trial_1/log.txt");
  const auto text = test::read_file(cut);
  test::write_file(cut, text.substr(0, text.find("\"step\":15,")));
  std::filesystem::remove(temp_.path("run/bert-mini.fp32.s64.b4.a1.1n1g/trial_2/log.txt"));
  const SweepOutcome outcome = swept(plan, temp_, second);
  EXPECT_THAT(second.started, ::testing::ElementsAre("bert-tiny.fp32.s64.b4.a1.1n1g#1",
                                                     "bert-mini.fp32.s64.b4.a1.1n1g#2"));
  for (const auto& cell : outcome.result.cells) {
    EXPECT_EQ(cell.trials.size(), 2u);
    EXPECT_EQ(cell.throughput.n, 2);
  }
}

TEST_F(SweepResume, DoesNotMeasureAnewWhereTheJournalOfASweepIsLost) {
  Recorder first, second;
  const auto plan = plan_of(small_config());
  swept(plan, temp_, first);
  const auto before = trial_files(temp_.path("run"));
  std::filesystem::remove(temp_.path("run/journal.jsonl"));
  const auto outcome = run_sweep(plan, quick(temp_.path("run")), second);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("is missing or empty, though the folder holds"));
  EXPECT_EQ(trial_files(temp_.path("run")), before);
}

TEST_F(SweepResume, MakesIterationsAgainThatACrashOfTheMachineTook) {
  Recorder first, second;
  const auto plan = plan_of(small_config());
  swept(plan, temp_, first);
  const auto before = trial_files(temp_.path("run"));
  const auto cell = temp_.path("run/bert-tiny.fp32.s64.b4.a1.1n1g/");
  std::filesystem::remove(cell + "trial_1/iterations.csv");
  test::write_file(cell + "trial_2/iterations.csv", "");
  swept(plan, temp_, second);
  EXPECT_TRUE(second.started.empty());
  EXPECT_EQ(trial_files(temp_.path("run")), before);
}

TEST_F(SweepResume, PutsALogBackThatWasRemovedWhileItsTrialRan) {
  Recorder first;
  first.on_step = [log = temp_.path("run/bert-tiny.fp32.s64.b4.a1.1n1g+env.FAKE_DELAY_MS=20/"
                                    "trial_1/log.txt")](std::int64_t step) {
    if (step >= 3) std::filesystem::remove(log);
  };
  const auto plan = plan_of(small_config(), {"trials=1", "env.FAKE_DELAY_MS=20"});
  swept(plan, temp_, first);
  ASSERT_EQ(first.finished.size(), 1u);
  bool said = false;
  for (const auto& n : first.finished[0].notices) {
    said = said || text_of(n).find("removed or replaced while it ran") != std::string::npos;
  }
  EXPECT_TRUE(said);
  Recorder second;
  const SweepOutcome outcome = swept(plan, temp_, second);
  EXPECT_TRUE(second.started.empty()) << "its log is whole";
  EXPECT_EQ(outcome.result.cells[0].throughput.n, 1);
}

TEST_F(SweepResume, MeasuresAnewWhatHasAnotherCommand) {
  Recorder first, second, third;
  swept(plan_of(small_config()), temp_, first);
  const auto other = plan_of(small_config(R"(, "args": ["--threads", "7"])"));
  const SweepOutcome outcome = swept(other, temp_, second);
  EXPECT_EQ(second.started.size(), 2u);
  ASSERT_FALSE(second.notices.empty());
  EXPECT_THAT(second.notices[0], HasSubstr("its command has changed"));
  EXPECT_EQ(outcome.result.cells[0].trials.size(), 2u);
  EXPECT_EQ(outcome.result.cells[0].trials[0].attempt, 2);
  // Back to the first command: its trials are still there.
  swept(plan_of(small_config()), temp_, third);
  EXPECT_TRUE(third.started.empty());
}

TEST_F(SweepResume, MeasuresAnewOnlyWhatANewWindowDoesNotCover) {
  Recorder first, inside, longer;
  swept(plan_of(small_config()), temp_, first);
  const SweepOutcome outcome = swept(plan_of(small_config(), {"window=steps:5:15"}), temp_, inside);
  EXPECT_TRUE(inside.started.empty());
  EXPECT_EQ(outcome.result.cells[0].trials[0].window.rule, "steps:5:15");
  swept(plan_of(small_config(), {"steps=30", "window=steps:5:30"}), temp_, longer);
  EXPECT_EQ(longer.started.size(), 2u);
}

TEST_F(SweepResume, KeepsResultsOfCellsThatOnlyLeavesOut) {
  swept(plan_of(small_config(), four_trials()), temp_, seen_);
  PlanOptions options;
  options.only = {"model=bert-mini"};
  const SweepOutcome outcome = swept(plan_of(small_config(), four_trials(), options), temp_, seen_);
  EXPECT_EQ(outcome.result.cells.size(), 2u);
}

TEST_F(SweepResume, RunsFailedTrialsAgainButNotThoseOutOfMemory) {
  Recorder first, second;
  const auto plan =
      plan_of(small_config(), {"trials=1", "grid.env.FAKE=[\"oom_text\",\"exit:1\",\"ok\"]"});
  swept(plan, temp_, first, 1);
  const SweepOutcome outcome = swept(plan, temp_, second, 1);
  EXPECT_THAT(second.started,
              ::testing::ElementsAre("bert-tiny.fp32.s64.b4.a1.1n1g+env.FAKE=exit:1#1"));
  EXPECT_EQ(outcome.result.cells.size(), 3u);
}

TEST_F(SweepResume, StopsCleanlyAndGoesOn) {
  Recorder first, second;
  std::atomic<bool> stop{false};
  // The second trial waits in its middle: it is not over before it is stopped.
  const std::string go = temp_.put("go", "");
  first.on_record = [&] {
    if (first.started.size() == 2) std::filesystem::remove(go);
  };
  first.on_step = [&](std::int64_t step) {
    if (first.started.size() == 2 && step >= 3) stop = true;
  };
  auto options = quick(temp_.path("run"));
  options.stop = &stop;
  auto sets = four_trials();
  sets.push_back("env.FAKE_UNTIL=" + go);
  const auto plan = plan_of(small_config(), sets);
  const auto stopped = value_of(run_sweep(plan, options, first));
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_EQ(stopped.exit_status, 130);
  EXPECT_EQ(stopped.open_trials, 3) << "the one cut short and the two not begun";
  EXPECT_EQ(stopped.failed_trials, 0);
  EXPECT_EQ(first.started.size(), 2u);
  for (const auto& child : proc::children_of(getpid())) {
    EXPECT_FALSE(proc::has_marker(child.pid, "BERTBENCH_TRIAL="));
  }
  const auto before = trial_files(temp_.path("run/" + plan.cells[0].folder));
  temp_.put("go", "");
  const SweepOutcome outcome = swept(plan, temp_, second);
  EXPECT_EQ(outcome.open_trials, 0);
  EXPECT_EQ(second.counts.reused, 1);
  EXPECT_EQ(second.started.size(), 3u);
  auto after = trial_files(temp_.path("run/" + plan.cells[0].folder));
  for (const auto& [path, text] : before) EXPECT_EQ(after[path], text) << path;
  for (const auto& cell : outcome.result.cells) EXPECT_EQ(cell.throughput.n, 2);
}

/// The first start hangs after eleven steps, which cover the window `auto`; the next one ends.
Plan plan_whose_first_start_hangs(const ScratchFolder& temp) {
  return plan_of(small_config(), {"trials=1", "window=auto", "env.FAKE=hang", "env.FAKE_AT=12",
                                  "env.FAKE_ONCE=" + temp.path("once")});
}
constexpr std::int64_t kSeenBeforeItHangs = 10;  // steps

void expect_run_again(const Plan& plan, const ScratchFolder& temp) {
  const auto folder = temp.path("run/" + plan.cells[0].folder + "/trial_1/");
  const auto cut = test::read_file(folder + "log.txt");
  EXPECT_FALSE(cut.empty());
  Recorder seen;
  const SweepOutcome outcome = swept(plan, temp, seen);
  EXPECT_EQ(seen.started.size(), 1u);
  ASSERT_EQ(outcome.result.cells.at(0).trials.size(), 1u);
  const Trial& trial = outcome.result.cells[0].trials[0];
  EXPECT_EQ(trial.outcome.status, Status::completed);
  EXPECT_EQ(trial.attempt, 2);
  EXPECT_EQ(trial.iterations.seen, 20);
  EXPECT_THAT(
      texts_of(trial.notices),
      ::testing::Contains("attempt 1 ended with killed: the sweep ended before the trainer"));
  EXPECT_EQ(test::read_file(folder + "log.txt"), cut) << "the log of the attempt is kept";
  Recorder again;
  swept(plan, temp, again);
  EXPECT_TRUE(again.started.empty());
}

TEST_F(SweepResume, RunsAgainWhatAStopCutShortThoughItsWindowIsCovered) {
  std::atomic<bool> stop{false};
  Recorder first;
  first.on_step = [&](std::int64_t step) {
    if (step >= kSeenBeforeItHangs) stop = true;
  };
  auto options = quick(temp_.path("run"));
  options.stop = &stop;
  const auto plan = plan_whose_first_start_hangs(temp_);
  const auto stopped = value_of(run_sweep(plan, options, first));
  EXPECT_EQ(stopped.exit_status, 130);
  EXPECT_EQ(stopped.open_trials, 1);
  EXPECT_EQ(stopped.failed_trials, 0);
  ASSERT_EQ(first.finished.size(), 1u);
  EXPECT_TRUE(first.finished[0].window.covered);
  for (const auto& cell : stopped.result.cells) EXPECT_TRUE(cell.trials.empty());
  expect_run_again(plan, temp_);
}

TEST_F(SweepResume, RunsAgainWhatADeadHarnessCutShortThoughItsWindowIsCovered) {
  const auto plan = plan_whose_first_start_hangs(temp_);
  Recorder dies;
  dies.on_step = [](std::int64_t step) {
    if (step >= kSeenBeforeItHangs) kill(getpid(), SIGKILL);
  };
  test::run_until_killed(plan, temp_.path("run"), dies);
  expect_run_again(plan, temp_);
}

TEST_F(SweepResume, ATrainerThatCrashesByItselfIsDoneAndFailsTheSweep) {
  const auto plan =
      plan_of(small_config(), {"window=auto", "env.FAKE=exit:1", "env.FAKE_AT=12", "retries=1"});
  Recorder first, second;
  const SweepOutcome outcome = swept(plan, temp_, first, 1);
  EXPECT_EQ(outcome.failed_trials, 2);
  EXPECT_EQ(outcome.settled_failures, 2);
  EXPECT_EQ(outcome.open_trials, 0);
  EXPECT_EQ(outcome.result.cells.at(0).throughput.n, 2) << "its window is covered";
  const SweepOutcome again = swept(plan, temp_, second, 1);
  EXPECT_TRUE(second.started.empty());
  EXPECT_EQ(again.result.cells.at(0).trials.at(0).outcome.status, Status::error);
}

TEST_F(SweepResume, ASignalEndsTheHarnessAndItsTrainerWithAConsistentJournal) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ScratchFolder temp;
    const auto plan =
        plan_of(small_config(), {"env.FAKE=hang", "env.FAKE_NOTE=" + temp.path("note")});
    const pid_t harness = fork();
    if (harness == 0) {
      signal(number, SIG_DFL);  // under nohup SIGHUP would be ignored
      Recorder seen;
      auto options = quick(temp.path("run"));
      options.handle_signals = true;
      const auto outcome = run_sweep(plan, options, seen);
      _exit(outcome ? outcome->exit_status : 99);
    }
    while (test::read_file(temp.path("note")).empty()) usleep(5000);
    usleep(50000);
    kill(harness, number);
    int status = 0;
    waitpid(harness, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    const auto pid = static_cast<pid_t>(std::stoi(test::read_file(temp.path("note")).substr(4)));
    EXPECT_FALSE(start_time_of(pid));
    EXPECT_THAT(test::read_file(temp.path("run/journal.jsonl")), HasSubstr("\"interrupted\""));
  }
}

TEST_F(SweepResume, KillsWhatAKilledHarnessLeftBehindBeforeLaunchingAgain) {
  const auto note = "env.FAKE_NOTE=" + temp_.path("note");
  // The trainer, which waits, dies with its harness; the child that it let loose does not.
  const auto plan = plan_of(small_config(), {"trials=1", "env.FAKE=leave_child", "env.FAKE_AT=1",
                                             note, "env.FAKE_UNTIL=" + temp_.path("go")});
  const pid_t harness = fork();
  if (harness == 0) {
    (void)run_sweep(plan, quick(temp_.path("run")), seen_);
    _exit(0);
  }
  const auto strays = [&] {
    std::vector<pid_t> out;
    for (const pid_t pid : proc::all_pids()) {
      const auto info = proc::stat(pid);
      if (!info || info->state == 'Z') continue;
      const std::string text = proc::read_file("/proc/" + std::to_string(pid) + "/environ");
      if (text.find("FAKE_NOTE=" + temp_.path("note")) != std::string::npos) out.push_back(pid);
    }
    return out;
  };
  // Its parent leads its group, and is gone once the child is let loose.
  const auto any_loose = [&] {
    const auto now = strays();
    return std::ranges::any_of(now, [&](pid_t pid) {
      const auto info = proc::stat(pid);
      return info && std::ranges::find(now, info->group) == now.end();
    });
  };
  while (!any_loose()) {
    ASSERT_EQ(waitpid(harness, nullptr, WNOHANG), 0) << "the harness ended before it was killed";
    usleep(2000);
  }
  kill(harness, SIGKILL);
  waitpid(harness, nullptr, 0);
  for (int i = 0; i < 500 && strays().size() != 1; ++i) usleep(5000);
  EXPECT_EQ(strays().size(), 1u) << "the loose child lives, the trainer died with its harness";
  temp_.put("go", "");
  const SweepOutcome outcome = swept(plan, temp_, seen_);
  EXPECT_TRUE(strays().empty());
  ASSERT_FALSE(seen_.notices.empty());
  EXPECT_THAT(seen_.notices[0], HasSubstr("of an earlier start still ran"));
  EXPECT_EQ(outcome.result.cells[0].throughput.n, 1);
}

TEST_F(SweepResume, TakesOverATrialWhoseLogIsWholeThoughItsEndWasNotWritten) {
  Recorder first, second;
  const auto plan = plan_of(small_config(), {"trials=1"});
  swept(plan, temp_, first);
  // As if the harness had died before it could note the end.
  std::string kept;
  const auto journal = test::read_file(temp_.path("run/journal.jsonl"));
  for (std::size_t at = 0; at < journal.size();) {
    const auto end = journal.find('\n', at) + 1;
    const auto line = journal.substr(at, end - at);
    if (line.find("\"finished\"") != std::string::npos) break;
    kept += line;
    at = end;
  }
  temp_.put("run/journal.jsonl", kept);
  const SweepOutcome outcome = swept(plan, temp_, second);
  EXPECT_TRUE(second.started.empty());
  EXPECT_EQ(outcome.result.cells[0].throughput.n, 1);
}

}  // namespace
}  // namespace bertbench
