// Launcher ssh with the real ssh against an sshd that the test starts on loopback.
#include <utility>

#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/process/process.h"
#include "tests/harness/cli/cli_fixture.h"
#include "tests/harness/sweep/faster_baseline.h"
#include "tests/harness/sweep/launchers_fixture.h"
#include "tests/harness/sweep/ssh_server.h"

namespace bertbench {

namespace launcher_ssh {
extern const Launcher entry;
}  // namespace launcher_ssh

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class SshLauncher : public test::LauncherTest {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    use("ssh", {"hosts=[\"127.0.0.1\",\"127.0.0.2\",\"127.0.0.1\",\"127.0.0.2\"]",
                "ssh={\"config_file\": \"" + server_.client_config() + "\"}"});
  }
  test::SshServer server_;
};

TEST_F(SshLauncher, GivesRanksTheirPlaceOverFourHosts) {
  const SweepOutcome outcome = sweep(plan({"env.FAKE_NOTE=" + temp_.path("note")}, "4n2g"));
  expect_ranks(8);
  const auto& cell = outcome.result.cells.at(0);
  EXPECT_EQ(cell.trials.at(0).outcome.status, Status::completed);
  EXPECT_EQ(cell.trials.at(0).iterations.seen, 20);
  EXPECT_THAT(texts_of(cell.warnings), Contains(HasSubstr("nodes are emulated")));
}

TEST_F(SshLauncher, AConfirmationRunsOnTheHostsThatItIsGiven) {
  sweep(plan({"hosts=[\"127.0.0.1 slots=2\"]", "trials=6"}, "1n1g"));
  test::write_faster_baseline(temp_.path("run"), temp_.path("base.json"), 1.3);
  temp_.put("grid.json", test::small_config());
  temp_.put("hosts", "127.0.0.2\n");
  int number = 0;
  const std::string folder = temp_.path("run"), file = temp_.path("run/results.json");
  for (const auto& [hosts, result] : {std::pair(std::string("127.0.0.2"), folder),
                                      std::pair(std::string("127.0.0.2 slots=2"), file),
                                      std::pair(temp_.path("hosts"), folder)}) {
    const auto checked =
        test::run({"check",           result,
                   "--baseline",      temp_.path("base.json"),
                   "--confirm",       temp_.path("grid.json"),
                   "--confirm-set",   "launcher=ssh",
                   "--confirm-set",   "trials=6",
                   "--confirm-set",   R"(grid.topology=["1n1g"])",
                   "--confirm-set",   "ssh={\"config_file\": \"" + server_.client_config() + "\"}",
                   "--confirm-hosts", hosts,
                   "--confirm-out",   temp_.path("again-" + std::to_string(++number)),
                   "--trainer",       BB_FAKE_TRAINER,
                   "--json"});
    EXPECT_EQ(checked.status, 1) << checked.err;
    const auto rerun = nlohmann::json::parse(checked.out)["cells"][0]["rerun"];
    EXPECT_EQ(rerun["verdict"], "regression");
    EXPECT_EQ(rerun["first_nodes"], nlohmann::json({"127.0.0.1"}));
    EXPECT_EQ(rerun["nodes"], nlohmann::json({"127.0.0.2"}));
  }
}

TEST_F(SshLauncher, LetsNoTextBecomeACommandOverThere) { expect_text_stays_text(); }

TEST_F(SshLauncher, GivesSecretsByStdinAndNotByWords) {
  const auto secret = plan(
      {R"(env.FAKE_TOKEN="pq '$(touch pwned)'\n=+.\nend")", "env.FAKE_DUMP=" + temp_.path("dump")});
  const auto spec =
      value_of(launcher_ssh::entry.processes(secret, secret.trials[0], {"d", 1, "m"}));
  EXPECT_THAT(spec.front().input, Contains("FAKE_TOKEN=<secret:FAKE_TOKEN>"));
  for (const auto& word : secret.config.secrets.reveal(spec.front()).argv) {
    EXPECT_THAT(word, ::testing::Not(HasSubstr("touch pwned")));
  }
  sweep(secret);
  EXPECT_THAT(test::dumped(temp_.path("dump")),
              Contains("FAKE_TOKEN=pq '$(touch pwned)'\n=+.\nend"));
  EXPECT_FALSE(std::filesystem::exists("pwned"));
}

TEST_F(SshLauncher, DecodesHowRanksEnd) { expect_ends_decoded(); }

TEST_F(SshLauncher, EndsRanksThatIgnoreSigtermOverThere) {
  auto options = quick(temp_.path("run"));
  options.grace_s = 0.2;  // the harness gives up on ssh long before the ranks are gone
  const auto outcome = value_of(
      run_sweep(plan({marked(), "env.FAKE=ignore_term", "timeout_s=2"}, "2n2g"), options, seen_));
  EXPECT_EQ(outcome.result.cells.at(0).trials.at(0).outcome.status, Status::timeout);
  EXPECT_TRUE(test::eventually([this] { return processes_left() == 0; }));
}

TEST_F(SshLauncher, StopsWithTheTrainersOwnLastWords) { expect_stop_and_resume("1n2g", 8); }

TEST_F(SshLauncher, ACutConnectionEndsTheRanksAndIsNamed) {
  seen_.act = [this] { server_.cut_connections(); };
  const SweepOutcome outcome = sweep(plan({marked(), "env.FAKE=hang", "timeout_s=50"}, "1n2g"), 1);
  const auto& end = outcome.result.cells.at(0).trials.at(0).outcome;
  EXPECT_EQ(end.status, Status::error);
  EXPECT_THAT(detail_text(end), HasSubstr("ssh could not reach a host or lost it"));
  EXPECT_TRUE(test::eventually([this] { return processes_left() == 0; }));
}

TEST_F(SshLauncher, AnUnreachableHostIsAnErrorOfTheTrial) {
  const SweepOutcome outcome = sweep(plan({"hosts=[\"127.0.0.9\"]"}, "1n1g"), 1);
  EXPECT_THAT(detail_text(outcome.result.cells.at(0).trials.at(0).outcome),
              HasSubstr("ssh could not reach a host"));
}

TEST_F(SshLauncher, WatchesTheMachineOfTheRanksAndSaysWhatIsMissing) {
  if (!getenv("BERTBENCH_SAMPLER")) GTEST_SKIP() << "bertbench is not built";
  // Four seconds, so that a busy machine too sees all ranks at once.
  const auto slow = plan({"env.FAKE_DELAY_MS=200"}, "2n2g");
  const SweepOutcome outcome = sweep(slow);
  const auto& trial = outcome.result.cells.at(0).trials.at(0);
  // Two hosts that are one machine: watched once, all four ranks seen.
  ASSERT_EQ((*trial.telemetry)["nodes"].size(), 1u) << *trial.telemetry;
  EXPECT_GE((*trial.telemetry)["samples"], 2);
  EXPECT_GT((*trial.telemetry)["resident_peak_bytes"], 4 << 20);
  EXPECT_FALSE(std::filesystem::exists(attempt("2n2g", "telemetry.0.json")));
  EXPECT_FALSE(std::filesystem::exists(attempt("2n2g", "training")));

  // Names alone do not show it.
  temp_.put("aliases",
            "Host nodeA nodeB\n  HostName 127.0.0.1\nInclude " + server_.client_config() + "\n");
  const auto named = plan({"hosts=[\"nodeA\",\"nodeB\"]", "env.MASTER_ADDR=127.0.0.1",
                           "ssh={\"config_file\": \"" + temp_.path("aliases") + "\"}"},
                          "2n2g");
  EXPECT_FALSE(texts_of(named.cells[0].warnings).front().starts_with("nodes"));
  for (const char* start : {"the first", "a resume"}) {
    const SweepOutcome two = sweep(named);
    EXPECT_THAT(texts_of(two.result.cells.at(0).warnings),
                Contains("nodes are emulated: 2 nodes are ranks of one machine"))
        << start;
    EXPECT_THAT(texts_of(two.result.cells.at(0).warnings),
                Contains("ranks outnumber cores: 4 ranks on 2 cores"))
        << start;
  }

  setenv("BERTBENCH_SAMPLER", "/nowhere/bertbench", 1);
  const SweepOutcome without = sweep(plan({"env.FAKE_DELAY_MS=21"}, "2n2g"));
  EXPECT_THAT(without.result.cells.at(0).trials.at(0).telemetry->dump(),
              HasSubstr("bertbench is not on this node"));
  EXPECT_THAT(seen_.notices, Contains(HasSubstr("no telemetry of node 0: bertbench is not")));
}

TEST(SshConfig, AMasterOfTheConfigurationIsThatOfEachRank) {
  PlanOptions options;
  options.launcher = "ssh";
  const auto plan =
      plan_of(small_config(), {"hosts=[\"alias\"]", "env.MASTER_ADDR=10.0.0.9"}, options);
  const auto line = value_of(dry_run(plan, "run")).front();
  EXPECT_THAT(line, HasSubstr("MASTER_ADDR=10.0.0.9"));
  EXPECT_EQ(line.find("MASTER_ADDR=alias"), line.npos) << line;
}

TEST(SshConfig, HostsAndKeysAreChecked) {
  EXPECT_FALSE(parse_config(small_config(), "t.json", {"hosts=[\"-oProxyCommand=x\"]"}));
  EXPECT_FALSE(parse_config(small_config(), "t.json", {"hosts=[\"$(touch pwned)\"]"}));
  EXPECT_FALSE(parse_config(small_config(), "t.json", {"ssh={\"args\": \"-v\"}"}));
  EXPECT_FALSE(parse_config(small_config(), "t.json", {"ssh={\"port\": 70000}"}));
}

}  // namespace
}  // namespace bertbench
