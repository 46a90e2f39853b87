// check --confirm and sweep --plan, with the fake trainer.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/harness/cli/cli_fixture.h"
#include "tests/harness/sweep/support.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using test::Ran;
using test::run;

/// Two cells, six trials. How long a step takes is the machine's business, not the configuration's:
/// see SpeedOfTheMachine.
std::string config(const ScratchFolder& folder, const std::string& name,
                   const std::string& trials = "6") {
  const std::string path = folder.path(name);
  write_file(path, R"({"name": "gate", "workload": "bert_train",
 "grid": {"topology": ["1n1g"], "model": ["bert-tiny"], "micro_batch_size": [4, 8],
          "sequence_length": [64]},
 "trials": )" + trials +
                       R"(, "steps": 20, "window": "steps:10:20", "timeout_s": 60,
 "stall_timeout_s": 30, "retries": 0})");
  return path;
}

/// The time of a step of every fake trainer that is started meanwhile.
class SpeedOfTheMachine {
 public:
  explicit SpeedOfTheMachine(const char* seconds) { setenv("FAKE_SECONDS", seconds, 1); }
  SpeedOfTheMachine(const SpeedOfTheMachine&) = delete;
  SpeedOfTheMachine& operator=(const SpeedOfTheMachine&) = delete;
  ~SpeedOfTheMachine() { unsetenv("FAKE_SECONDS"); }
};
constexpr const char* kUsual = "0.010";
constexpr const char* kSlow = "0.011";

class ConfirmTest : public testing::Test {
 protected:
  void SetUp() override {
    grid = config(folder, "grid.json");
    measure(kUsual, "base");
    measure(kSlow, "slow");
  }
  void measure(const char* speed, const std::string& name) const {
    const SpeedOfTheMachine machine(speed);
    const Ran ran = run({"sweep", grid, "--out", folder.path(name), "--trainer", BB_FAKE_TRAINER});
    ASSERT_EQ(ran.status, 0) << ran.err;
  }
  Ran check(const std::vector<std::string>& more, const char* speed = kUsual) const {
    const SpeedOfTheMachine machine(speed);
    std::vector<std::string> args{"check", folder.path("slow"), "--baseline", folder.path("base"),
                                  "--json"};
    args.insert(args.end(), more.begin(), more.end());
    if (!more.empty()) args.insert(args.end(), {"--trainer", BB_FAKE_TRAINER});
    return run(args);
  }

  ScratchFolder folder;
  std::string grid;
};

TEST_F(ConfirmTest, ALossThatARerunRepeatsFailsAndOneThatItDoesNotPasses) {
  ASSERT_EQ(check({}).status, 1);
  const Ran repeated = check({"--confirm", grid}, kSlow);
  EXPECT_EQ(repeated.status, 1) << repeated.err;
  EXPECT_THAT(json::parse(repeated.out)["cells"][0]["reason"].get<std::string>(),
              HasSubstr("confirmed by a rerun"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("slow/confirm-1/results.json")));

  const Ran cleared = check({"--confirm", grid});
  EXPECT_EQ(cleared.status, 0) << cleared.err;
  const json verdict = json::parse(cleared.out)["cells"][0];
  EXPECT_EQ(verdict["verdict"], "pass");
  EXPECT_THAT(verdict["reason"].get<std::string>(), HasSubstr("not confirmed by a rerun"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("slow/confirm-2/results.json")))
      << "each confirmation is measured anew";
}

TEST_F(ConfirmTest, OnlyFlaggedCellsAreMeasuredAgain) {
  // The second cell is as fast as ever.
  json result = json::parse(read_file(folder.path("slow/results.json")));
  result["cells"][1] = json::parse(read_file(folder.path("base/results.json")))["cells"][1];
  folder.put("slow/results.json", result.dump());
  const Ran ran = check({"--confirm", grid, "--confirm-out", folder.path("again")});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const json again = json::parse(read_file(folder.path("again/results.json")));
  ASSERT_EQ(again["cells"].size(), 1U);
  EXPECT_EQ(again["cells"][0]["micro_batch_size"], 4);
  const Ran used = check({"--confirm", grid, "--confirm-out", folder.path("again")});
  EXPECT_EQ(used.status, 2);
  EXPECT_THAT(used.err, HasSubstr("holds a sweep already"));
}

// Phase 2 goes on from the checkpoint of phase 1, which is as fast as ever.
TEST_F(ConfirmTest, APhaseIsMeasuredAgainWithTheOneBeforeIt) {
  write_file(grid, R"({"name": "gate", "grid": {"topology": ["1n1g"], "model": ["bert-tiny"]},
 "phases": [{"sequence_length": 64, "micro_batch_size": 4, "steps": 20},
            {"sequence_length": 128, "micro_batch_size": 2, "steps": 20}],
 "trials": 6, "window": "10:20", "timeout_s": 60, "stall_timeout_s": 30, "retries": 0})");
  for (const char* name : {"base", "slow"}) std::filesystem::remove_all(folder.path(name));
  measure(kUsual, "base");
  measure(kSlow, "slow");
  json result = json::parse(read_file(folder.path("slow/results.json")));
  result["cells"][0] = json::parse(read_file(folder.path("base/results.json")))["cells"][0];
  folder.put("slow/results.json", result.dump());
  const Ran ran = check({"--confirm", grid, "--confirm-out", folder.path("again")});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("confirming 1 flagged cell"));
  EXPECT_EQ(json::parse(read_file(folder.path("again/results.json")))["cells"].size(), 2U);
}

TEST_F(ConfirmTest, WithoutARegressionNothingIsRun) {
  const Ran ran = run({"check", folder.path("base"), "--baseline", folder.path("base"), "--confirm",
                       grid, "--trainer", BB_FAKE_TRAINER});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path("base/confirm-1")));
}

TEST_F(ConfirmTest, AConfigurationWithoutTheCellLeavesTheVerdict) {
  folder.put("other.json", small_config());
  const Ran ran =
      check({"--confirm", folder.path("other.json"), "--confirm-set", "grid.micro_batch_size=[2]"});
  EXPECT_EQ(ran.status, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("it is not rerun"));
}

TEST_F(ConfirmTest, WhereToMeasureAgainIsRefusedWhereItCannotBe) {
  struct Refused {
    std::vector<std::string> words;
    const char* why;
  };
  for (const Refused& one : std::vector<Refused>{
           {{"--confirm-hosts", "node7"}, "give --confirm CONFIG"},
           {{"--confirm-elsewhere"}, "give --confirm CONFIG"},
           {{"--confirm", grid, "--confirm-hosts", "a", "--confirm-elsewhere"}, "one of the two"},
           {{"--confirm", grid, "--confirm-hosts", "node7"}, "launcher local takes no hosts"},
           {{"--confirm", grid, "--confirm-elsewhere"}, "asks a queue for other nodes"},
           {{"--confirm", grid, "--confirm-set", "launcher=slurm", "--confirm-hosts", "node7"},
            "give --confirm-elsewhere"},
           {{"--confirm", grid, "--confirm-set", "launcher=ssh", "--confirm-hosts", "node7,-x"},
            "'-x' is no host name"},
           {{"--confirm", grid, "--confirm-set", "launcher=slurm", "--confirm-elsewhere"},
            "the nodes of the flagged cells are not known"}}) {
    const Ran ran = check(one.words);
    EXPECT_EQ(ran.status, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(one.why));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("slow/confirm-1")));
}

TEST_F(ConfirmTest, ThePlanTellsDurationNoiseAndLosses) {
  const Ran before = run({"sweep", grid, "--plan", "--trainer", BB_FAKE_TRAINER});
  EXPECT_EQ(before.status, 0) << before.err;
  EXPECT_THAT(before.out, HasSubstr("estimated duration: unknown"));
  EXPECT_THAT(before.out, HasSubstr("assumed"));
  const Ran after = run({"sweep", grid, "--plan", "--out", folder.path("base"), "--trials", "8",
                         "--trainer", BB_FAKE_TRAINER, "--json"});
  ASSERT_EQ(after.status, 0) << after.err;
  const json plan = json::parse(after.out);
  EXPECT_EQ(plan["trials"], 16);
  EXPECT_EQ(plan["done"], 12);
  EXPECT_GT(plan["seconds_left"], 0.0);
  EXPECT_EQ(plan["noise"]["cells"], 2);
  EXPECT_NEAR(plan["losses"][0]["smallest_loss"].get<double>(), 0.02, 0.002) << "the floor";
  const Ran few = run({"sweep", grid, "--plan", "--trials", "3", "--json", "--trainer",
                       BB_FAKE_TRAINER, "--history", folder.path("base")});
  ASSERT_EQ(few.status, 0) << few.err;
  EXPECT_FALSE(json::parse(few.out)["losses"][0].contains("smallest_loss"))
      << "3 + 3 trials cannot decide two cells";
}

TEST_F(ConfirmTest, TrialsIsANumberOrAuto) {
  for (const char* trials : {"0", "x", "-1", "2.5"}) {
    EXPECT_EQ(run({"sweep", grid, "--dry-run", fmt::format("--trials={}", trials)}).status, 2)
        << trials;
  }
  EXPECT_EQ(run({"sweep", grid, "--dry-run", "--trials", "auto"}).status, 0);
}

/// Two cells of two variants, 7 pairs; `seconds`: of a step of "new".
std::string paired_config(const ScratchFolder& folder, const std::string& name,
                          const std::string& seconds) {
  const std::string path = folder.path(name);
  write_file(path, fmt::format(R"({{"name": "pairs", "workload": "bert_train",
 "grid": {{"topology": ["1n1g"], "model": ["bert-tiny"], "micro_batch_size": [4, 8],
          "sequence_length": [64]}},
 "variants": {{"base": {{}}, "new": {{"env": {{"FAKE_SECONDS": "{}"}}}}}},
 "trials": 7, "steps": 20, "window": "steps:10:20", "timeout_s": 60,
 "stall_timeout_s": 30, "retries": 0}})",
                               seconds));
  return path;
}

TEST(ConfirmPairs, MeasuresBothHalvesOfTheFlaggedCellsAgain) {
  const ScratchFolder folder;
  const SpeedOfTheMachine machine(kUsual);
  const std::string slow = paired_config(folder, "slow.json", kSlow);
  const std::string usual = paired_config(folder, "usual.json", kUsual);
  ASSERT_EQ(run({"sweep", slow, "--out", folder.path("run"), "--trainer", BB_FAKE_TRAINER}).status,
            0);
  const auto check = [&](const std::string& config) {
    return run({"check", folder.path("run"), "--paired", "base", "--confirm", config, "--trainer",
                BB_FAKE_TRAINER, "--json"});
  };
  const Ran repeated = check(slow);
  EXPECT_EQ(repeated.status, 1) << repeated.err;
  const json cell = json::parse(repeated.out)["cells"][0];
  EXPECT_EQ(cell["rerun"]["verdict"], "regression");
  EXPECT_EQ(cell["rerun"]["n_new"], 7);
  const Ran cleared = check(usual);
  EXPECT_EQ(cleared.status, 0) << cleared.err;
  EXPECT_EQ(json::parse(cleared.out)["cells"][0]["rerun"]["verdict"], "pass");
}

TEST(ConfirmPairs, ARerunThatEndsByAnotherRuleIsRefusedBeforeItIsMeasured) {
  const ScratchFolder folder;
  const SpeedOfTheMachine machine(kUsual);
  const std::string slow = paired_config(folder, "slow.json", kSlow);
  ASSERT_EQ(run({"sweep", slow, "--out", folder.path("run"), "--trainer", BB_FAKE_TRAINER}).status,
            0);
  const Ran refused = run({"check", folder.path("run"), "--paired", "base", "--floor", "2%",
                           "--confirm", slow, "--confirm-set", "trials=auto", "--confirm-out",
                           folder.path("again"), "--trainer", BB_FAKE_TRAINER});
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("ends its pairs by a floor of 0.013 and alpha 0.05"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("again")));
}

TEST(ConfirmPairs, MeasuresNoVariantThatIsNotFlagged) {
  const ScratchFolder folder;
  const SpeedOfTheMachine machine(kUsual);
  const std::string path = folder.path("three.json");
  write_file(path, small_config(R"(, "variants": {"base": {}, "same": {},
                              "new": {"env": {"FAKE_SECONDS": "0.011"}}})"));
  ASSERT_EQ(run({"sweep", path, "--trials", "8", "--out", folder.path("run"), "--trainer",
                 BB_FAKE_TRAINER})
                .status,
            0);
  const Ran ran =
      run({"check", folder.path("run"), "--paired", "base", "--confirm", path, "--confirm-set",
           "trials=8", "--confirm-out", folder.path("again"), "--trainer", BB_FAKE_TRAINER});
  EXPECT_EQ(ran.status, 1) << ran.err;
  const json again = json::parse(read_file(folder.path("again/results.json")));
  EXPECT_EQ(again["cells"].size(), 2U);
  EXPECT_THAT(again["cells"][1]["key"].get<std::string>(), HasSubstr("variant=new"));
}

}  // namespace
}  // namespace bertbench::test
