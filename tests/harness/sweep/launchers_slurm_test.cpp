// Launcher slurm against a real Slurm of four emulated nodes: jobs by sbatch that outlive the
// harness, and srun inside an allocation.
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/sweep/launch/slurm_jobs.h"
#include "harness/sweep/plan/launcher.h"
#include "tests/harness/cli/cli_fixture.h"
#include "tests/harness/sweep/faster_baseline.h"
#include "tests/harness/sweep/launchers_fixture.h"
#include "tests/harness/sweep/slurm_cluster.h"

namespace bertbench {
namespace {

using test::Actor;
using ::testing::Contains;
using ::testing::HasSubstr;

class SlurmLauncher : public test::LauncherTest {
 protected:
  static void SetUpTestSuite() { cluster_ = std::make_unique<test::SlurmCluster>(); }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override {
    if (!cluster_->missing().empty()) GTEST_SKIP() << cluster_->missing();
    use("slurm");
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
  /// Runs the sweep in a harness of its own, which dies while a trial logs steps.
  void kill_harness_in_a_trial(const Plan& slow) {
    Actor actor;
    actor.act = [] { kill(getpid(), SIGKILL); };
    test::run_until_killed(slow, temp_.path("run"), actor);
  }
  static std::size_t live_jobs() {
    return test::count(test::SlurmCluster::ask({"squeue", "--noheader", "--format=%A"}), "\n");
  }
  static std::unique_ptr<test::SlurmCluster> cluster_;
};
std::unique_ptr<test::SlurmCluster> SlurmLauncher::cluster_;

TEST_F(SlurmLauncher, RefusesHooksOfATrialInItsJobs) {
  const auto outcome =
      run_sweep(plan({R"(trial_setup=["true"])"}), quick(temp_.path("run")), seen_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(),
              HasSubstr("runs trial_setup and trial_cleanup only inside an allocation"));
}

TEST_F(SlurmLauncher, RunsTheWholeGridOfFourNodesByEight) {
  const SweepOutcome outcome =
      sweep(plan({"env.FAKE_NOTE=" + temp_.path("note"), "slurm.job=nodes",
                  R"(grid.topology=["1n1g","1n4g","1n8g","2n8g","4n8g"])"}));
  for (const int world : {1, 4, 8, 16, 32}) expect_ranks(world);
  ASSERT_EQ(outcome.result.cells.size(), 5u);
  for (const auto& cell : outcome.result.cells) {
    const Outcome& end = cell.trials.at(0).outcome;
    EXPECT_EQ(end.status, Status::completed) << cell.key << ": " << detail_text(end);
    EXPECT_TRUE(cell.emulated);
    if (cell.identity.nodes == 4) {
      EXPECT_THAT(texts_of(cell.warnings),
                  Contains("nodes are emulated: 4 nodes are ranks of one machine"));
      EXPECT_THAT(texts_of(cell.warnings), Contains("ranks outnumber cores: 32 ranks on 2 cores"));
    }
  }
  // One job for each number of nodes; its text holds nothing of the config.
  std::size_t jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(temp_.path("run/jobs"))) {
    ++jobs;
    EXPECT_EQ(test::read_file(entry.path() / "script.sh"), slurm_batch.script);
  }
  EXPECT_EQ(jobs, 3u);
  EXPECT_EQ(live_jobs(), 0u);
}

TEST_F(SlurmLauncher, RunsOnTheNodeThatAnOptionNames) {
  sweep(plan({R"(grid.topology=["1n1g"])", R"(slurm.args=["--nodelist=node3"])", "trials=1"}));
  EXPECT_THAT(test::read_file(attempt("1n1g", "nodes")), HasSubstr("node3"));
}

TEST_F(SlurmLauncher, AConfirmationElsewhereLeavesOutTheNodesOfTheFlaggedCells) {
  sweep(plan({R"(grid.topology=["1n1g"])", R"(slurm.args=["--nodelist=node3"])", "trials=6"}));
  test::write_faster_baseline(temp_.path("run"), temp_.path("base.json"), 1.3);
  temp_.put("grid.json", test::small_config());
  const auto checked = test::run(
      {"check", temp_.path("run/results.json"), "--baseline", temp_.path("base.json"), "--confirm",
       temp_.path("grid.json"), "--confirm-set", "launcher=slurm", "--confirm-set", "trials=6",
       "--confirm-set", R"(grid.topology=["1n1g"])", "--confirm-elsewhere", "--confirm-out",
       temp_.path("again"), "--trainer", BB_FAKE_TRAINER, "--json"});
  EXPECT_EQ(checked.status, 1) << checked.err;
  const auto rerun = nlohmann::json::parse(checked.out)["cells"][0]["rerun"];
  EXPECT_EQ(rerun["first_nodes"], nlohmann::json({"node3"}));
  ASSERT_EQ(rerun["nodes"].size(), 1U) << checked.out;
  EXPECT_NE(rerun["nodes"][0], "node3");
  EXPECT_THAT(checked.out, HasSubstr(", at first on node3: "));
}

// No pyxis here: srun refuses its options, which is then the trial's outcome.
TEST_F(SlurmLauncher, AContainerWithoutPyxisIsRefusedByName) {
  const SweepOutcome outcome = sweep(plan({R"(grid.topology=["1n1g"])", "trials=1", "retries=0",
                                           R"(slurm.container={"image":"docker://debian"})"}),
                                     1);
  const Outcome& end = outcome.result.cells.at(0).trials.at(0).outcome;
  EXPECT_EQ(end.status, Status::error);
  EXPECT_THAT(detail_text(end), HasSubstr("container-image"));
  EXPECT_EQ((*outcome.result.cells.at(0).context)["container"], "docker://debian");
}

TEST_F(SlurmLauncher, LetsNoTextBecomeACommandInAJob) { expect_text_stays_text(); }

TEST_F(SlurmLauncher, ReadsSecretsFromFilesOfTheirOwnerAlone) {
  sweep(plan({"env.FAKE_TOKEN=pq-1234", "env.FAKE_DUMP=" + temp_.path("dump")}, "1n1g"));
  EXPECT_THAT(test::dumped(temp_.path("dump")), Contains("FAKE_TOKEN=pq-1234"));
  for (const char* file : {"launch.env", "launch.argv"}) {
    struct stat info {};
    ASSERT_EQ(stat(attempt("1n1g", file).c_str(), &info), 0) << file;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << file;
  }
  const auto command = test::read_file(attempt("1n1g", "command.json"));
  EXPECT_THAT(command, HasSubstr("<secret:FAKE_TOKEN>"));
  EXPECT_THAT(command, ::testing::Not(HasSubstr("pq-1234")));
}

TEST_F(SlurmLauncher, DecodesHowRanksEnd) { expect_ends_decoded({"slurm.job=nodes"}); }

TEST_F(SlurmLauncher, EndsATrialThatPrintsNothing) {
  const SweepOutcome outcome =
      sweep(plan({marked(), "env.FAKE=hang", "env.FAKE_AT=3", "stall_timeout_s=3"}), 1);
  EXPECT_EQ(outcome.result.cells.at(0).trials.at(0).outcome.status, Status::stalled);
  EXPECT_EQ(processes_left(), 0);
  EXPECT_EQ(live_jobs(), 0u);
}

TEST_F(SlurmLauncher, TheJobItselfEndsATrialThatTakesTooLong) {
  const SweepOutcome outcome =
      sweep(plan({marked(), "env.FAKE=ignore_term", "env.FAKE_AT=12", "timeout_s=3"}), 1);
  EXPECT_EQ(outcome.result.cells.at(0).trials.at(0).outcome.status, Status::timeout);
  EXPECT_EQ(processes_left(), 0);
}

TEST_F(SlurmLauncher, AStopCancelsTheJobsAndAResumeRunsThemAgain) {
  expect_stop_and_resume("2n2g", 0.3);
  EXPECT_EQ(live_jobs(), 0u);
}

TEST_F(SlurmLauncher, JobsGoOnWithoutTheHarnessAndAreTakenOver) {
  const auto slow = plan({"env.FAKE_DELAY_MS=100", "trials=3", "env.FAKE_UNTIL=" + temp_.path("go"),
                          "env.FAKE_NOTE=" + temp_.path("note")});
  kill_harness_in_a_trial(slow);
  EXPECT_EQ(live_jobs(), 1u);
  temp_.put("go", "");
  // The first trial ends while nobody looks.
  EXPECT_TRUE(test::eventually([&] { return std::filesystem::exists(attempt("1n2g", "ended")); }));
  const SweepOutcome outcome = sweep(slow);
  EXPECT_THAT(seen_.notices,
              Contains(HasSubstr("of an earlier start is taken over with 3 trials")));
  ASSERT_EQ(outcome.result.cells.at(0).trials.size(), 3u);
  for (const auto& trial : outcome.result.cells.at(0).trials) {
    EXPECT_EQ(trial.outcome.status, Status::completed);
    EXPECT_EQ(trial.attempt, 1);
  }
  // Three trials of two ranks: none was started twice.
  EXPECT_EQ(test::count(test::read_file(temp_.path("note")), "\n"), 6u);
}

TEST_F(SlurmLauncher, AJobThatTheControllerForgotIsNamedAndTriedAgain) {
  // Waits after another job, so that it has not begun when the controller dies and forgets.
  test::SlurmCluster::ask(
      {"sbatch", "--nodes=4", "--exclusive", "--output=/dev/null", "--wrap=sleep 300"});
  struct Vanish : Actor {
    bool gone = false;
    void notice(const std::string& text) override {
      Recorder::notice(text);
      if (gone || text.find(" holds 1 trial") == std::string::npos) return;
      gone = true;
      cluster_->run("forget-jobs");
    }
  } vanish;
  const SweepOutcome outcome = swept(plan({"retries=1"}), temp_, vanish);
  const auto& trial = outcome.result.cells.at(0).trials.at(0);
  EXPECT_EQ(trial.attempt, 2);
  EXPECT_EQ(trial.outcome.status, Status::completed);
  ASSERT_FALSE(trial.notices.empty());
  EXPECT_THAT(text_of(trial.notices.back()),
              HasSubstr("vanished: the controller does not know it"));
}

TEST_F(SlurmLauncher, ARunningJobThatTheControllerForgotIsNamed) {
  seen_.act = [] { cluster_->run("forget-jobs"); };
  const SweepOutcome outcome = sweep(plan({marked(), "env.FAKE_DELAY_MS=1500"}), 1);
  const auto& end = outcome.result.cells.at(0).trials.at(0).outcome;
  EXPECT_NE(end.status, Status::completed);
  EXPECT_FALSE(detail_text(end).empty());
  EXPECT_TRUE(test::eventually([this] { return processes_left() == 0; }));
}

TEST_F(SlurmLauncher, AJobCancelledByOthersIsNamed) {
  seen_.act = [] { test::SlurmCluster::ask({"scancel", "--state=RUNNING"}); };
  const SweepOutcome outcome = sweep(plan({"env.FAKE=hang"}), 1);
  const auto& end = outcome.result.cells.at(0).trials.at(0).outcome;
  EXPECT_EQ(end.status, Status::killed);
  EXPECT_THAT(detail_text(end), HasSubstr("CANCELLED"));
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
    // Slurm holds such a job back for two minutes, unless its configuration sets another time.
    EXPECT_TRUE(test::eventually([] {
      const auto waiting =
          test::SlurmCluster::ask({"squeue", "--noheader", "--states=PENDING", "--format=%A"});
      if (waiting.empty()) return false;
      test::SlurmCluster::ask({"scontrol", "update",
                               "JobId=" + waiting.substr(0, waiting.find('\n')), "StartTime=now"});
      return true;
    }));
  };
  // The run on the lost node never ends by itself; the one after it does.
  const SweepOutcome outcome =
      sweep(plan({"env.FAKE=hang", "env.FAKE_AT=4", "env.FAKE_ONCE=" + temp_.path("once"),
                  "timeout_s=300", "stall_timeout_s=200"},
                 "4n1g"));
  const auto& trial = outcome.result.cells.at(0).trials.at(0);
  EXPECT_EQ(trial.outcome.status, Status::completed)
      << detail_text(trial.outcome) << test::read_file(attempt("4n1g", "log.txt"))
      << cluster_->log("slurmctld.log");
  EXPECT_EQ(trial.attempt, 1);
  EXPECT_EQ(trial.iterations.seen, 20);
  std::vector<std::string> texts;
  for (const auto& notice : trial.notices) texts.push_back(text_of(notice));
  EXPECT_THAT(texts, Contains(HasSubstr("Slurm queued the job again")));
  EXPECT_THAT(texts, Contains(HasSubstr("the log holds 2 training runs; the last one counts")));
}

TEST_F(SlurmLauncher, AResumeOfSomeCellsLetsTheJobsOfTheOthersGoOn) {
  // The second cell waits until the first alone was resumed.
  const std::vector<std::string> grid{"env.FAKE_DELAY_MS=100",
                                      "grid.env.FAKE_UNTIL=[\"\",\"" + temp_.path("go") + "\"]",
                                      "slurm.job=nodes", "env.FAKE_NOTE=" + temp_.path("note")};
  const auto both = plan(grid, "1n1g");
  kill_harness_in_a_trial(both);
  auto one = both;
  std::erase_if(one.trials, [](const PlannedTrial& trial) { return trial.cell != 0; });
  sweep(one);
  // One job holds both cells: it is neither void nor cancelled.
  EXPECT_EQ(live_jobs(), 1u);
  temp_.put("go", "");
  const SweepOutcome all = sweep(both);
  ASSERT_EQ(all.result.cells.size(), 2u);
  for (const auto& cell : all.result.cells) {
    EXPECT_EQ(cell.trials.at(0).outcome.status, Status::completed);
  }
  // Two trials of one rank: none was started twice.
  EXPECT_EQ(test::count(test::read_file(temp_.path("note")), "\n"), 2u);
}

TEST_F(SlurmLauncher, AutoTrialsSkipWhatAJobHasNotBegun) {
  // Six trials are the fewest with an interval of the median; equal ones need no more. The job runs
  // on until the harness has looked: it has many more before it.
  const Plan automatic = plan({"trials=auto", "trials_max=40", "trials_min=6",
                               "trials_interval=0.5", "env.FAKE_NOTE=" + temp_.path("note")},
                              "1n1g");
  const SweepOutcome outcome = sweep(automatic);
  const auto trials = outcome.result.cells.at(0).trials.size();
  EXPECT_GE(trials, 6u);
  EXPECT_LT(trials, 40u);
  EXPECT_EQ(live_jobs(), 0u);
  // What was skipped is not started by a resume either.
  const auto starts = test::count(test::read_file(temp_.path("note")), "\n");
  sweep(automatic);
  EXPECT_EQ(test::count(test::read_file(temp_.path("note")), "\n"), starts);
}

TEST_F(SlurmLauncher, CancelsTheEntryOfAnEndedJobThatTheQueueHolds) {
  sweep(plan({}, "1n1g"));
  std::string job;
  for (const auto& entry : std::filesystem::directory_iterator(temp_.path("run/jobs"))) {
    job = entry.path().filename();
  }
  // What a controller does that believes in the job again.
  test::SlurmCluster::ask({"sbatch", "--hold", "--job-name=" + job, "--wrap=sleep 300"});
  ASSERT_EQ(live_jobs(), 1u);
  sweep(plan({}, "1n1g"));
  EXPECT_EQ(live_jobs(), 0u);
}

TEST_F(SlurmLauncher, AKilledControllerDoesNotHinderARunningTrial) {
  seen_.act = [] { cluster_->run("kill-controller"); };
  const SweepOutcome outcome = sweep(plan({"env.FAKE_DELAY_MS=200"}));
  EXPECT_EQ(cluster_->run("start-controller"), 0);
  EXPECT_EQ(outcome.result.cells.at(0).trials.at(0).outcome.status, Status::completed);
  EXPECT_TRUE(test::eventually([] {
    return test::SlurmCluster::ask({"sinfo", "--noheader", "--format=%T"}).find("idle") !=
           std::string::npos;
  }));
}

TEST_F(SlurmLauncher, ASilentControllerIsNamedAndEndsTheSweep) {
  EXPECT_EQ(cluster_->run("kill-controller"), 0);
  const SweepOutcome outcome = sweep(plan({"slurm.controller_timeout_s=3"}), 1);
  EXPECT_EQ(cluster_->run("start-controller"), 0);
  EXPECT_THAT(detail_text(outcome.result.cells.at(0).trials.at(0).outcome),
              HasSubstr("has not answered"));
}

TEST_F(SlurmLauncher, WatchesTheNodesOfAJob) {
  if (!getenv("BERTBENCH_SAMPLER")) GTEST_SKIP() << "bertbench is not built";
  // Four seconds, so that a busy machine too sees all ranks at once.
  const SweepOutcome outcome = sweep(plan({"env.FAKE_DELAY_MS=200"}, "4n2g"));
  const auto& seen = *outcome.result.cells.at(0).trials.at(0).telemetry;
  // Four nodes that are one machine count once.
  ASSERT_EQ(seen["nodes"].size(), 1u) << seen;
  EXPECT_FALSE(seen["nodes"][0].contains("missing")) << seen;
  EXPECT_GE(seen["samples"], 3);
  EXPECT_GT(seen["resident_peak_bytes"], 8 << 20);
  // The harness does not watch a job's log grow: its first node has stamped it.
  const auto& trial = outcome.result.cells.at(0).trials.at(0);
  EXPECT_TRUE(trial.estimators.contains("arrival"));
  EXPECT_THAT(test::read_file(attempt("4n2g", "log.txt.arrivals.csv")), HasSubstr("from_byte,"));
  for (int node = 0; node < 4; ++node) {
    EXPECT_FALSE(
        std::filesystem::exists(attempt("4n2g", "telemetry." + std::to_string(node) + ".json")));
  }
}

TEST_F(SlurmLauncher, ARefusedJobIsAnErrorOfItsTrials) {
  const SweepOutcome outcome = sweep(plan({"slurm.partition=nowhere"}), 1);
  EXPECT_THAT(detail_text(outcome.result.cells.at(0).trials.at(0).outcome),
              HasSubstr("refused the job: sbatch: error: invalid partition"));
}

/// A program of this text in `folder`, which comes first on PATH while the test runs.
class FakePrograms {
 public:
  explicit FakePrograms(const ScratchFolder& folder) : folder_(folder), path_(getenv("PATH")) {
    setenv("PATH", (folder.path("bin") + ":" + path_).c_str(), 1);
  }
  ~FakePrograms() { setenv("PATH", path_.c_str(), 1); }
  FakePrograms(const FakePrograms&) = delete;
  FakePrograms& operator=(const FakePrograms&) = delete;
  void add(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(folder_.path("bin"));
    const auto file = folder_.put("bin/" + name, "#!/bin/sh\n" + text + "\n");
    chmod(file.c_str(), 0755);
  }

 private:
  const ScratchFolder& folder_;
  std::string path_;
};

// srun ends with 0 where the trainer does on its signal; Slurm's signal for the script comes later.
TEST(SlurmScript, ATrialOfANodeThatWasLostHasNoEndOfItsOwn) {
  const ScratchFolder temp;
  const FakePrograms programs(temp);
  programs.add("sleep", "[ \"$1\" = 2 ] && kill -TERM $PPID && exit; exec /bin/sleep \"$@\"");
  programs.add("scontrol", "");
  std::filesystem::create_directories(temp.path("job"));
  temp.put("script.sh", std::string(slurm_batch.script));
  for (const bool lost : {false, true}) {
    const std::string trial = temp.path(lost ? "lost" : "good");
    std::filesystem::create_directories(trial);
    using namespace std::string_literals;
    test::write_file(temp.path("job/trials"), trial + "\0"s);
    test::write_file(trial + "/job", "job\n");
    test::write_file(trial + "/log.txt", "");
    test::write_file(trial + "/launch.env", "");
    test::write_file(trial + "/launch.argv",
                     "echo\0"s + (lost ? "srun: error: Node failure on n1" : "step 1") + "\0"s);
    capture_output({"env", "SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n1", "bash",
                    temp.path("script.sh"), temp.path("job"), "60"},
                   std::chrono::seconds(60));
    EXPECT_NE(test::read_file(trial + "/log.txt"), "");
    EXPECT_EQ(std::filesystem::exists(trial + "/ended"), !lost);
  }
}

TEST(SlurmConfig, ABackslashInTheRunFolderIsRefused) {
  if (getenv("SLURM_JOB_ID") != nullptr) GTEST_SKIP() << "no job is handed in";
  const ScratchFolder temp;
  const FakePrograms programs(temp);
  for (const char* name : {"srun", "sbatch", "squeue", "scontrol"}) programs.add(name, "");
  PlanOptions options;
  options.launcher = "slurm";
  test::Recorder seen;
  const auto outcome =
      run_sweep(plan_of(small_config(), {}, options), quick(temp.path("a\\b")), seen);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("holds a backslash"));
}

TEST(SlurmQueue, ReadsStatesAndPrefersALiveJobOfAName) {
  const auto known = parse_squeue(
      "bb-1-a|7|NODE_FAIL|None|node1\nbb-1-a|7|RUNNING|None|node2\n"
      "bb-1-b|8|PENDING|launch failed requeued "
      "held|\nbb-1-c|9|OUT_OF_MEMORY|OutOfMemory|n\nrubbish\n");
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known.at("bb-1-a").state, QueueState::running);
  EXPECT_EQ(known.at("bb-1-b").state, QueueState::held);
  EXPECT_TRUE(known.at("bb-1-b").launch_failed);
  EXPECT_EQ(known.at("bb-1-c").outcome, Status::out_of_memory);
}

TEST(SlurmQueue, KnowsReasonsThatNoTimeTakesAway) {
  const auto known = parse_squeue(
      "a|1|PENDING|Priority|\nb|2|PENDING|Resources|\nc|3|PENDING|PartitionConfig|\n"
      "d|4|PENDING|ReqNodeNotAvail, UnavailableNodes:n1|\n");
  EXPECT_TRUE(known.at("a").reason_is_usual);
  EXPECT_TRUE(known.at("b").reason_is_usual);
  EXPECT_FALSE(known.at("c").reason_is_usual);
  EXPECT_FALSE(known.at("d").reason_is_usual);
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
