// Telemetry of several nodes made one.
#include "harness/sweep/observe/node_telemetry.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "harness/sweep/observe/telemetry.h"
#include "harness/sweep/process/proc_fs.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

std::string said(const std::string& machine, double peak, const std::string& more = "") {
  return fmt::format(R"({{"samples": 7, "seconds": 3.5,
    "cpu": {{"cores": 4, "busy_cores": 1.5, "trainer_cores": 1.25}},
    "resident_peak_bytes": {}, "memory_bytes": 1000{}, "machine": "{}"}})",
                     peak, more, machine);
}

TEST(NodeTelemetry, AddsNodesUpAndTellsTheFullestAndEachOnesOwn) {
  const auto all = join_nodes(
      {{0, said("a", 300, R"(, "energy_j": 10.5, "gpus": [{"index": 0, "energy_j": 10.5}])")},
       {1, said("b", 700, R"(, "energy_j": 4.5, "gpus": [{"index": 0, "energy_j": 4.5}],
                 "marks": [{"kind": "throttled", "text": "GPU 0 held its clocks down"}])")}});
  EXPECT_EQ(all["samples"], 7);
  EXPECT_EQ(all["cpu"]["cores"], 8);
  EXPECT_EQ(all["cpu"]["trainer_cores"], 2.5);
  EXPECT_EQ(all["resident_peak_bytes"], 700);
  EXPECT_EQ(all["energy_j"], 15.0);
  ASSERT_EQ(all["gpus"].size(), 2u);
  EXPECT_EQ(all["gpus"][1]["node"], 1);
  EXPECT_EQ(all["marks"][0]["text"], "node 1: GPU 0 held its clocks down");
  EXPECT_EQ(all["nodes"][0]["resident_peak_bytes"], 300);
  EXPECT_FALSE(all["nodes"][0].contains("machine"));
  Trial trial;
  apply_telemetry(trial, all);
  EXPECT_EQ(trial.energy_j, 15.0);
  EXPECT_EQ(trial.memory->peak_bytes, 700);
  ASSERT_EQ(trial.notices.size(), 1u);
  EXPECT_THAT(text_of(trial.notices[0]), HasSubstr("throttled: node 1"));
}

TEST(NodeTelemetry, CountsNodesOfOneMachineOnce) {
  const auto all = join_nodes({{0, said("a", 300)}, {1, said("a", 300)}, {2, said("b", 200)}});
  EXPECT_EQ(all["cpu"]["cores"], 8);
  ASSERT_EQ(all["nodes"].size(), 2u);
  EXPECT_EQ(all["nodes"][1]["node"], 2);
}

TEST(NodeTelemetry, SaysWhyANodeHasNoneAndMakesNoSumWithoutIt) {
  const auto all = join_nodes({{0, said("a", 300, R"(, "energy_j": 10.5)")},
                               {1, "Welcome to node2\nbertbench is not on this node\n"}});
  EXPECT_EQ(all["nodes"][1]["missing"], "bertbench is not on this node");
  EXPECT_FALSE(all.contains("energy_j"));
  EXPECT_EQ(all["resident_peak_bytes"], 300);
  const auto none = join_nodes({{0, ""}, {1, "{\"samples\": "}});
  EXPECT_FALSE(none.contains("samples"));
  EXPECT_EQ(none["nodes"].size(), 2u);
  EXPECT_TRUE(join_nodes({}).is_null());
}

TEST(NodeTelemetry, IsReadBehindWhateverALoginPrints) {
  const auto all = join_nodes({{0, "Last login: today\n" + said("a", 300)}});
  EXPECT_EQ(all["samples"], 7);
}

TEST(TrialProcesses, FindsRanksByTheirVariableAndKeepsTheTimeOfThoseThatAreGone) {
  const auto marker = "trial-processes-" + std::to_string(getpid());
  proc::TrialProcesses processes(marker);
  EXPECT_EQ(processes.look().alive, 0);
  const auto busy = [&] {
    const pid_t pid = fork();
    if (pid == 0) {
      const auto variable = "BERTBENCH_TRIAL=" + marker + "#0";
      execle("/bin/sh", "sh", "-c", "while :; do :; done", nullptr,
             std::vector<char*>{const_cast<char*>(variable.c_str()), nullptr}.data());
      _exit(127);
    }
    return pid;
  };
  const auto until = [&](auto condition) {
    proc::TrialProcesses::Seen seen;
    do {
      usleep(10'000);
      seen = processes.look();
    } while (!condition(seen));
    return seen;
  };
  const pid_t one = busy();
  const auto first = until([](const auto& seen) { return seen.alive == 1 && seen.cpu_s > 0.05; });
  EXPECT_GT(first.resident_peak, 0);
  kill(one, SIGKILL);
  waitpid(one, nullptr, 0);
  const auto gone = until([](const auto& seen) { return seen.alive == 0; });
  EXPECT_GE(gone.cpu_s, first.cpu_s);
  const pid_t two = busy();
  const auto both =
      until([&](const auto& seen) { return seen.alive == 1 && seen.cpu_s > gone.cpu_s + 0.05; });
  // What ran before somebody began to look is not counted.
  proc::TrialProcesses late(marker);
  EXPECT_LT(late.look().cpu_s, both.cpu_s);
  kill(two, SIGKILL);
  waitpid(two, nullptr, 0);
}

}  // namespace
}  // namespace bertbench
