// Launcher slurm against a real Slurm of four emulated nodes: jobs by sbatch that outlive the
// harness, and srun inside an allocation.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/sweep/launcher.h"
#include "harness/sweep/slurm_jobs.h"
#include "tests/harness/sweep/launchers_support.h"
#include "tests/harness/sweep/slurm_cluster.h"

namespace bertbench {
namespace {

using test::plan_of;
using test::quick;
using test::Recorder;
using test::small_config;
using test::TempFolder;
using ::testing::Contains;
using ::testing::HasSubstr;

/// Runs `act` once, when the trial has printed a few steps.
struct Actor : Recorder {
  std::function<void()> act;
  std::int64_t at = 2;
  void trial_progress(const TrialProgress& p) override {
    Recorder::trial_progress(p);
    if (p.step <= at || !act) return;
    const auto now = std::exchange(act, nullptr);
    now();
  }
};

class SlurmLauncher : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = std::make_unique<test::SlurmCluster>(); }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override {
    if (!cluster_->missing().empty()) GTEST_SKIP() << cluster_->missing();
    // A test before this one may have killed a node or the controller.
    EXPECT_TRUE(test::eventually([] {
      const std::vector<std::string> idle{"sinfo", "--noheader", "--Node", "--format=%T"};
      return test::count(test::SlurmCluster::ask(idle), "idle\n") == 4;
    }));
  }
  void TearDown() override {
    if (!cluster_->missing().empty()) return;
    // Whatever a test left in the queue is not the next one's.
    test::SlurmCluster::ask({"scancel", "--state=RUNNING"});
    test::SlurmCluster::ask({"scancel", "--state=PENDING"});
    test::eventually([] { return live_jobs() == 0; });
  }
  static std::size_t live_jobs() {
    return test::count(test::SlurmCluster::ask({"squeue", "--noheader", "--format=%A"}), "\n");
  }
  Plan plan(std::vector<std::string> sets, const std::string& topology = "1n2g") {
    PlanOptions options;
    options.launcher = "slurm";
    options.cores = 2;
    sets.insert(sets.begin(), {"trials=1", "grid.topology=" + topology});
    return plan_of(small_config(), sets, options);
  }
  static std::string attempt(const std::string& topology, const std::string& file) {
    return "run/bert-tiny.fp32.s64.b4.a1." + topology + "/trial_1/" + file;
  }
  static std::unique_ptr<test::SlurmCluster> cluster_;
  TempFolder temp_;
  Actor seen_;
};
std::unique_ptr<test::SlurmCluster> SlurmLauncher::cluster_;

TEST_F(SlurmLauncher, RunsTheWholeGridOfFourNodesByEight) {
  const auto outcome = run_sweep(plan({"env.FAKE_NOTE=" + temp_.path("note"), "slurm.job=nodes",
                                       R"(grid.topology=["1n1g","1n4g","1n8g","2n8g","4n8g"])"}),
                                 quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 0);
  const auto note = "\n" + test::read(temp_.path("note"));
  for (const int world : {1, 4, 8, 16, 32}) {
    for (int rank = 0; rank < world; ++rank) {
      EXPECT_EQ(test::count(note, fmt::format("\n{} {} ", rank, world)), 1u)
          << rank << " " << world;
    }
  }
  ASSERT_EQ(outcome->result.cells.size(), 5u);
  for (const auto& cell : outcome->result.cells) {
    EXPECT_EQ(cell.trials.at(0).outcome.status, Status::completed) << cell.key;
    EXPECT_TRUE(cell.emulated);
    if (cell.identity.nodes == 4) {
      EXPECT_THAT(cell.warnings, Contains("nodes are emulated: 4 nodes are ranks of one machine"));
      EXPECT_THAT(cell.warnings, Contains("ranks outnumber cores: 32 ranks on 2 cores"));
    }
  }
  // One job for each number of nodes; its text holds nothing of the config.
  std::size_t jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(temp_.path("run/jobs"))) {
    ++jobs;
    EXPECT_EQ(test::read(entry.path() / "script.sh"), slurm_batch.script);
  }
  EXPECT_EQ(jobs, 3u);
  EXPECT_EQ(live_jobs(), 0u);
}

TEST_F(SlurmLauncher, LetsNoTextBecomeACommandInAJob) {
  const auto outcome = run_sweep(plan(test::hostile_sets(temp_)), quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 0);
  test::expect_texts_arrived(temp_);
}

TEST_F(SlurmLauncher, DecodesHowRanksEnd) {
  const auto outcome =
      run_sweep(plan({"env.FAKE_AT=3", "env.FAKE_RANK=1", "slurm.job=nodes",
                      R"(grid.env.FAKE=["oom_exit","exit:7","signal:11","leave_child"])"}),
                quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  std::map<std::string, Outcome> ends;
  for (const auto& cell : outcome->result.cells) {
    ends[cell.identity.axes.at("env.FAKE")] = cell.trials.at(0).outcome;
  }
  EXPECT_EQ(ends["oom_exit"].status, Status::out_of_memory);
  EXPECT_THAT(ends["exit:7"].detail, HasSubstr("exit status 7"));
  EXPECT_EQ(ends["signal:11"].status, Status::error);
  EXPECT_THAT(ends["signal:11"].detail, HasSubstr("139"));
  EXPECT_EQ(ends["leave_child"].status, Status::completed);
  EXPECT_EQ(test::processes_with("FAKE=leave_child"), 0);
}

TEST_F(SlurmLauncher, EndsATrialThatPrintsNothing) {
  const auto outcome = run_sweep(plan({"env.FAKE=hang", "env.FAKE_AT=3", "stall_timeout_s=3"}),
                                 quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->result.cells.at(0).trials.at(0).outcome.status, Status::stalled);
  EXPECT_EQ(test::processes_with("FAKE=hang"), 0);
  EXPECT_EQ(live_jobs(), 0u);
}

TEST_F(SlurmLauncher, TheJobItselfEndsATrialThatTakesTooLong) {
  const auto outcome = run_sweep(plan({"env.FAKE=ignore_term", "env.FAKE_AT=12", "timeout_s=3"}),
                                 quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->result.cells.at(0).trials.at(0).outcome.status, Status::timeout);
  EXPECT_EQ(test::processes_with("FAKE=ignore_term"), 0);
}

TEST_F(SlurmLauncher, AStopCancelsTheJobsAndAResumeRunsThemAgain) {
  std::atomic<bool> stop = false;
  auto options = quick(temp_.path("run"));
  options.stop = &stop;
  seen_.act = [&] { stop = true; };
  const auto slow = plan({"env.FAKE_DELAY_MS=150"}, "2n2g");
  const auto first = run_sweep(slow, options, seen_);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->exit_status, 130);
  EXPECT_EQ(live_jobs(), 0u);
  EXPECT_EQ(test::processes_with("FAKE_DELAY_MS=150"), 0);
  const auto second = run_sweep(slow, quick(temp_.path("run")), seen_);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(second->exit_status, 0);
  EXPECT_EQ(second->result.cells.at(0).trials.size(), 1u);
}

TEST_F(SlurmLauncher, JobsGoOnWithoutTheHarnessAndAreTakenOver) {
  const auto slow =
      plan({"env.FAKE_DELAY_MS=100", "trials=3", "env.FAKE_NOTE=" + temp_.path("note")});
  const pid_t harness = fork();
  if (harness == 0) {
    Actor actor;
    actor.act = [] { kill(getpid(), SIGKILL); };
    (void)run_sweep(slow, quick(temp_.path("run")), actor);
    _exit(0);
  }
  int status = 0;
  waitpid(harness, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(live_jobs(), 1u);
  // The first trial ends while nobody looks.
  EXPECT_TRUE(test::eventually(
      [&] { return std::filesystem::exists(temp_.path(attempt("1n2g", "ended"))); }));
  const auto outcome = run_sweep(slow, quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 0);
  EXPECT_THAT(seen_.notices,
              Contains(HasSubstr("of an earlier start is taken over with 3 trials")));
  ASSERT_EQ(outcome->result.cells.at(0).trials.size(), 3u);
  for (const auto& trial : outcome->result.cells.at(0).trials) {
    EXPECT_EQ(trial.outcome.status, Status::completed);
    EXPECT_EQ(trial.attempt, 1);
  }
  // Three trials of two ranks: none was started twice.
  EXPECT_EQ(test::count(test::read(temp_.path("note")), "\n"), 6u);
}

TEST_F(SlurmLauncher, AJobThatTheControllerForgotIsNamedAndTriedAgain) {
  // Waits behind another job, so that it has not begun when the controller dies and forgets.
  test::SlurmCluster::ask({"sbatch", "--nodes=4", "--exclusive", "--wrap=sleep 300"});
  struct Vanish : Actor {
    bool gone = false;
    void notice(const std::string& text) override {
      Recorder::notice(text);
      if (gone || text.find(" holds 1 trial") == std::string::npos) return;
      gone = true;
      cluster_->run("forget-jobs");
    }
  } vanish;
  const auto outcome = run_sweep(plan({"retries=1"}), quick(temp_.path("run")), vanish);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 0);
  const auto& trial = outcome->result.cells.at(0).trials.at(0);
  EXPECT_EQ(trial.attempt, 2);
  EXPECT_EQ(trial.outcome.status, Status::completed);
  ASSERT_FALSE(trial.notices.empty());
  EXPECT_THAT(trial.notices.back().text, HasSubstr("vanished: the controller does not know it"));
}

TEST_F(SlurmLauncher, ARunningJobThatTheControllerForgotIsNamed) {
  seen_.act = [] { cluster_->run("forget-jobs"); };
  const auto outcome = run_sweep(plan({"env.FAKE_DELAY_MS=1500"}), quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto& end = outcome->result.cells.at(0).trials.at(0).outcome;
  EXPECT_NE(end.status, Status::completed);
  EXPECT_FALSE(end.detail.empty());
  EXPECT_TRUE(test::eventually([] { return test::processes_with("FAKE_DELAY_MS=1500") == 0; }));
}

TEST_F(SlurmLauncher, AJobCancelledByOthersIsNamed) {
  seen_.act = [] { test::SlurmCluster::ask({"scancel", "--state=RUNNING"}); };
  const auto outcome = run_sweep(plan({"env.FAKE_DELAY_MS=300"}), quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto& end = outcome->result.cells.at(0).trials.at(0).outcome;
  EXPECT_EQ(end.status, Status::killed);
  EXPECT_THAT(end.detail, HasSubstr("CANCELLED"));
}

TEST_F(SlurmLauncher, ALostNodeQueuesTheJobAgainAndTheLogHoldsTwoRuns) {
  seen_.act = [] {
    cluster_->run("kill-node node2");
    // Until the controller has seen it: then the job goes back into the queue.
    EXPECT_TRUE(test::eventually([] {
      return test::SlurmCluster::ask({"sinfo", "--noheader", "--nodes=node2", "--format=%T"})
                 .find("down") != std::string::npos;
    }));
    cluster_->run("start-node node2");
    // It starts again after the two minutes for which Slurm holds such a job back.
  };
  const auto outcome = run_sweep(plan({"env.FAKE_DELAY_MS=1500", "timeout_s=300"}, "4n1g"),
                                 quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto& trial = outcome->result.cells.at(0).trials.at(0);
  EXPECT_EQ(trial.outcome.status, Status::completed)
      << trial.outcome.detail << test::read(temp_.path(attempt("4n1g", "log.txt")))
      << cluster_->log("slurmctld.log");
  EXPECT_EQ(trial.attempt, 1);
  EXPECT_EQ(trial.iterations.seen, 20);
  std::vector<std::string> texts;
  for (const auto& notice : trial.notices) texts.push_back(notice.text);
  EXPECT_THAT(texts, Contains(HasSubstr("Slurm queued the job again")));
}

TEST_F(SlurmLauncher, AKilledControllerDoesNotHinderARunningTrial) {
  seen_.act = [] { cluster_->run("kill-controller"); };
  const auto outcome = run_sweep(plan({"env.FAKE_DELAY_MS=200"}), quick(temp_.path("run")), seen_);
  EXPECT_EQ(cluster_->run("start-controller"), 0);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 0);
  EXPECT_EQ(outcome->result.cells.at(0).trials.at(0).outcome.status, Status::completed);
  EXPECT_TRUE(test::eventually([] {
    return test::SlurmCluster::ask({"sinfo", "--noheader", "--format=%T"}).find("idle") !=
           std::string::npos;
  }));
}

TEST_F(SlurmLauncher, ASilentControllerIsNamedAndEndsTheSweep) {
  EXPECT_EQ(cluster_->run("kill-controller"), 0);
  const auto outcome =
      run_sweep(plan({"slurm.controller_timeout_s=3"}), quick(temp_.path("run")), seen_);
  EXPECT_EQ(cluster_->run("start-controller"), 0);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 1);
  EXPECT_THAT(outcome->result.cells.at(0).trials.at(0).outcome.detail,
              HasSubstr("has not answered"));
}

TEST_F(SlurmLauncher, ARefusedJobIsAnErrorOfItsTrials) {
  const auto outcome =
      run_sweep(plan({"slurm.partition=nowhere"}), quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 1);
  EXPECT_THAT(outcome->result.cells.at(0).trials.at(0).outcome.detail,
              HasSubstr("refused the job: sbatch: error: invalid partition"));
}

TEST(SlurmQueue, ReadsStatesAndPrefersALiveJobOfAName) {
  const auto known = parse_squeue(
      "bb-1-a|7|NODE_FAIL|None|node1\nbb-1-a|7|RUNNING|None|node2\n"
      "bb-1-b|8|PENDING|launch failed requeued "
      "held|\nbb-1-c|9|OUT_OF_MEMORY|OutOfMemory|n\nrubbish\n");
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known.at("bb-1-a").state, QueueState::running);
  EXPECT_EQ(known.at("bb-1-b").state, QueueState::held);
  EXPECT_EQ(known.at("bb-1-c").outcome, Status::out_of_memory);
}

TEST(SlurmConfig, RefusesWordsThatWouldBeMoreThanAName) {
  for (const char* key :
       {"account", "partition", "qos", "constraint", "reservation", "gres", "time_limit", "mpi"}) {
    for (const auto& text : test::hostile_texts()) {
      if (std::string(key) == "constraint" && text == "*") continue;  // a count, to Slurm
      const auto set = fmt::format("slurm.{}={}", key, nlohmann::json(text).dump());
      if (text.find('=') != std::string::npos && std::string(key) == "gres") continue;
      EXPECT_FALSE(parse_config(small_config(), "t.json", {set})) << set;
    }
  }
}

}  // namespace
}  // namespace bertbench
