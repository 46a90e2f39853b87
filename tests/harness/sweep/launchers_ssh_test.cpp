// Launcher ssh with the real ssh against an sshd that the test starts on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "harness/sweep/process.h"
#include "tests/harness/sweep/launchers_support.h"
#include "tests/harness/sweep/ssh_server.h"

namespace bertbench {
namespace {

using test::plan_of;
using test::quick;
using test::Recorder;
using test::small_config;
using test::TempFolder;
using ::testing::Contains;
using ::testing::HasSubstr;

class SshLauncher : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
  }
  Plan plan(std::vector<std::string> sets, const std::string& topology = "1n2g") {
    PlanOptions options;
    options.launcher = "ssh";
    options.cores = 2;
    sets.insert(sets.begin(), {"hosts=[\"127.0.0.1\",\"127.0.0.2\",\"127.0.0.1\",\"127.0.0.2\"]",
                               "trials=1", "grid.topology=" + topology,
                               "ssh={\"config_file\": \"" + server_.client_config() + "\"}"});
    return plan_of(small_config(), sets, options);
  }
  test::SshServer server_;
  TempFolder temp_;
  Recorder seen_;
};

TEST_F(SshLauncher, GivesRanksTheirPlaceOverFourHosts) {
  const auto outcome = run_sweep(plan({"env.FAKE_NOTE=" + temp_.path("note")}, "4n2g"),
                                 quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 0)
      << test::read(temp_.path("run/bert-tiny.fp32.s64.b4.a1.4n2g/trial_1/log.txt"));
  const auto note = test::read(temp_.path("note"));
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(test::count("\n" + note, "\n" + std::to_string(rank) + " 8 "), 1u) << rank;
  }
  const auto& cell = outcome->result.cells.at(0);
  EXPECT_EQ(cell.trials.at(0).outcome.status, Status::completed);
  EXPECT_EQ(cell.trials.at(0).iterations.seen, 20);
  EXPECT_THAT(cell.warnings, Contains(HasSubstr("nodes are emulated")));
}

TEST_F(SshLauncher, LetsNoTextBecomeACommandOverThere) {
  const auto outcome = run_sweep(plan(test::hostile_sets(temp_)), quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 0);
  test::expect_texts_arrived(temp_);
}

TEST_F(SshLauncher, DecodesHowRanksEnd) {
  const auto outcome =
      run_sweep(plan({"env.FAKE_AT=3", "env.FAKE_RANK=1",
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
  // A child in a session of its own is ended with its rank.
  EXPECT_EQ(test::processes_with("FAKE=leave_child"), 0);
}

TEST_F(SshLauncher, EndsRanksThatIgnoreSigtermOverThere) {
  auto options = quick(temp_.path("run"));
  options.grace_s = 0.2;  // the harness gives up on ssh long before the ranks are gone
  const auto outcome =
      run_sweep(plan({"env.FAKE=ignore_term", "timeout_s=2"}, "2n2g"), options, seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->result.cells.at(0).trials.at(0).outcome.status, Status::timeout);
  EXPECT_TRUE(test::eventually([] { return test::processes_with("FAKE=ignore_term") == 0; }));
}

TEST_F(SshLauncher, StopsWithTheTrainersOwnLastWords) {
  std::atomic<bool> stop = false;
  auto options = quick(temp_.path("run"));
  options.grace_s = 8;
  options.stop = &stop;
  struct Stopper : Recorder {
    std::atomic<bool>* stop = nullptr;
    void trial_progress(const TrialProgress& p) override {
      if (p.step > 2) *stop = true;
    }
  } stopper;
  stopper.stop = &stop;
  const auto slow = plan({"env.FAKE_DELAY_MS=100"}, "1n2g");
  const auto first = run_sweep(slow, options, stopper);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->exit_status, 130);
  // Within the grace: the connection stayed until the ranks had ended.
  EXPECT_EQ(test::processes_with("FAKE_DELAY_MS=100"), 0);
  const auto second = run_sweep(slow, quick(temp_.path("run")), seen_);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(second->exit_status, 0);
  EXPECT_EQ(second->result.cells.at(0).trials.size(), 1u);
}

TEST_F(SshLauncher, ACutConnectionEndsTheRanksAndIsNamed) {
  auto options = quick(temp_.path("run"));
  struct Cutter : Recorder {
    const test::SshServer* server = nullptr;
    void trial_progress(const TrialProgress& p) override {
      if (p.step > 2) server->cut_connections();
    }
  } cutter;
  cutter.server = &server_;
  const auto outcome =
      run_sweep(plan({"env.FAKE_DELAY_MS=300", "timeout_s=50"}, "1n2g"), options, cutter);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto& end = outcome->result.cells.at(0).trials.at(0).outcome;
  EXPECT_EQ(end.status, Status::error);
  EXPECT_THAT(end.detail, HasSubstr("ssh could not reach a host or lost it"));
  EXPECT_TRUE(test::eventually([] { return test::processes_with("FAKE_DELAY_MS=300") == 0; }));
}

TEST_F(SshLauncher, AnUnreachableHostIsAnErrorOfTheTrial) {
  const auto outcome =
      run_sweep(plan({"hosts=[\"127.0.0.9\"]"}, "1n1g"), quick(temp_.path("run")), seen_);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->exit_status, 1);
  EXPECT_THAT(outcome->result.cells.at(0).trials.at(0).outcome.detail,
              HasSubstr("ssh could not reach a host"));
}

TEST(SshConfig, HostsAndKeysAreChecked) {
  EXPECT_FALSE(parse_config(small_config(), "t.json", {"hosts=[\"-oProxyCommand=x\"]"}));
  EXPECT_FALSE(parse_config(small_config(), "t.json", {"hosts=[\"$(touch pwned)\"]"}));
  EXPECT_FALSE(parse_config(small_config(), "t.json", {"ssh={\"args\": \"-v\"}"}));
  EXPECT_FALSE(parse_config(small_config(), "t.json", {"ssh={\"port\": 70000}"}));
}

}  // namespace
}  // namespace bertbench
