// Whole sweeps with a trainer that behaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/model/result_io.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Sweep = test::SweepTest;

TEST_F(Sweep, MeasuresEveryTrialOfEveryCellInterleaved) {
  const auto plan =
      plan_of(small_config(), {"grid.topology=[\"1n1g\",\"1n2g\"]", "env.FAKE_SECONDS=0.02"});
  const SweepOutcome outcome = swept(plan, temp_, seen_);
  EXPECT_THAT(seen_.started, ElementsAre("bert-tiny.fp32.s64.b4.a1.1n1g+env.FAKE_SECONDS=0.02#1",
                                         "bert-tiny.fp32.s64.b4.a1.1n2g+env.FAKE_SECONDS=0.02#1",
                                         "bert-tiny.fp32.s64.b4.a1.1n1g+env.FAKE_SECONDS=0.02#2",
                                         "bert-tiny.fp32.s64.b4.a1.1n2g+env.FAKE_SECONDS=0.02#2"));
  ASSERT_EQ(outcome.result.cells.size(), 2u);
  for (const auto& cell : outcome.result.cells) {
    // 4 sequences a rank, 0.02 s a step: exactly what the fake trainer prints.
    const double expected = 4.0 * static_cast<double>(*cell.identity.world_size()) / 0.02;
    ASSERT_EQ(cell.trials.size(), 2u);
    EXPECT_EQ(cell.throughput.n, 2);
    EXPECT_NEAR(*cell.throughput.median, expected, 1e-6 * expected);
    EXPECT_EQ(cell.trials[0].iterations.used, 10);
    EXPECT_EQ(cell.trials[0].window.chosen_by, "config");
    EXPECT_TRUE(cell.emulated);
    EXPECT_THAT(texts_of(cell.warnings), ::testing::Contains("one CPU rank stands in for a GPU"));
  }
}

TEST_F(Sweep, LeavesTheRunFolderOfTheContract) {
  const SweepOutcome outcome = swept(plan_of(small_config(), {"trials=1"}), temp_, seen_);
  const auto cell = temp_.path("run/bert-tiny.fp32.s64.b4.a1.1n1g/trial_1/");
  for (const char* file :
       {"command.json", "log.txt", "timings.jsonl", "iterations.csv", "outcome.json"}) {
    EXPECT_TRUE(std::filesystem::exists(cell + file)) << file;
  }
  for (const char* file : {"sweep.json", "environment.json", "journal.jsonl", "results.json"}) {
    EXPECT_TRUE(std::filesystem::exists(temp_.path("run/") + file)) << file;
  }
  EXPECT_TRUE(std::filesystem::exists(outcome.report_path));
  EXPECT_TRUE(parse_config(test::read_file(temp_.path("run/sweep.json")), "sweep.json"));
  const auto csv = test::read_file(cell + "iterations.csv");
  EXPECT_THAT(csv,
              HasSubstr("log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread"));
  EXPECT_EQ(test::count(csv, "\n"), 21u);
  const auto result = nlohmann::json::parse(test::read_file(outcome.results_path));
  EXPECT_EQ(result["schema"], "bertbench.result/1");
  EXPECT_EQ(result["cells"][0]["trials"][0]["log"],
            "bert-tiny.fp32.s64.b4.a1.1n1g/trial_1/log.txt");
  EXPECT_TRUE(result["environment"].contains("cores"));
  EXPECT_TRUE(read_result_set(temp_.path("run")));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(temp_.path("run"))) {
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
}

TEST_F(Sweep, ProbesTheMachineBeforeAndAfterATrialAndKeepsItOverAResume) {
  const auto plan = plan_of(small_config(), {"trials=2"});
  auto options = quick(temp_.path("run"));
  options.probe_s = 0.002;
  for (int start = 0; start < 2; ++start) {
    const auto outcome = value_of(run_sweep(plan, options, seen_));
    EXPECT_EQ(seen_.counts.to_run, start == 0 ? 2 : 0);
    for (const Trial& trial : outcome.result.cells.at(0).trials) {
      const auto& probe = trial.telemetry->at("probe");
      for (const char* when : {"before", "after"}) {
        for (const char* kind : {"gflops", "copy_gb_s"}) {
          EXPECT_GT(probe.at(when).at(kind).get<double>(), 0) << when << " " << kind;
        }
      }
    }
    options.probe_s = 0;  // what was seen_ stays
  }
  options.out = temp_.path("without");
  const auto without = value_of(run_sweep(plan, options, seen_));
  EXPECT_FALSE(without.result.cells.at(0).trials.at(0).telemetry->contains("probe"));
}

TEST_F(Sweep, TellsEachRankItsPlaceAsTorchrunDoes) {
  const auto plan = plan_of(
      small_config(), {"trials=1", "grid.topology=2n2g", "env.FAKE_NOTE=" + temp_.path("note")});
  const SweepOutcome outcome = swept(plan, temp_, seen_);
  const auto note = test::read_file(temp_.path("note"));
  for (const char* rank : {"0 4 ", "1 4 ", "2 4 ", "3 4 "}) EXPECT_EQ(test::count(note, rank), 1u);
  const auto command = nlohmann::json::parse(test::read_file(
      temp_.path("run/" + std::filesystem::path(outcome.result.cells[0].trials[0].log)
                              .replace_filename("command.json")
                              .string())));
  EXPECT_EQ(command["world_size"], 4);
  EXPECT_EQ(command["processes"][3]["set"]["LOCAL_RANK"], "1");
  EXPECT_EQ(command["processes"][3]["set"]["GROUP_RANK"], "1");
  EXPECT_EQ(command["processes"][3]["set"]["LOCAL_WORLD_SIZE"], "2");
}

TEST_F(Sweep, ShowsProgressOfTheRunningTrial) {
  const auto plan = plan_of(small_config(), {"trials=2", "env.FAKE_DELAY_MS=20"});
  swept(plan, temp_, seen_);
  ASSERT_FALSE(seen_.progress.empty());
  bool rate = false, eta = false;
  for (const auto& at : seen_.progress) {
    EXPECT_EQ(at.steps, 20);
    EXPECT_EQ(at.to_run, 2);
    if (at.step > 0 && at.sequences_per_second > 399 && at.sequences_per_second < 401) rate = true;
    if (at.eta_s >= 0) eta = true;
  }
  EXPECT_TRUE(rate) << "no progress call showed the 400 sequences/s that the log prints";
  EXPECT_TRUE(eta);
}

// A compilation before the first step is not what a step takes.
TEST_F(Sweep, ForetellsTheEndByTheStepsBehindTheFirst) {
  const auto plan =
      plan_of(small_config(), {"trials=1", "env.FAKE_START_MS=1500", "env.FAKE_DELAY_MS=50"});
  swept(plan, temp_, seen_);
  bool eta = false;
  for (const auto& at : seen_.progress) {
    if (!(at.eta_s >= 0)) continue;
    eta = true;
    // Of the time after the start one step or more; with the start's it would be longer at once.
    EXPECT_LE(at.eta_s, (at.elapsed_s - 1.5) * static_cast<double>(at.steps - at.step))
        << "at step " << at.step;
  }
  EXPECT_TRUE(eta);
}

TEST_F(Sweep, FindsImpossibleThingsBeforeTheFirstLaunch) {
  PlanOptions options;
  options.trainer = temp_.path("no_such_trainer");
  auto outcome = run_sweep(plan_of(small_config(), {}, options), quick(temp_.path("run")), seen_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("the trainer program is missing"));
  EXPECT_FALSE(std::filesystem::exists(temp_.path("run")));

  temp_.put("file", "");
  outcome = run_sweep(plan_of(small_config()), quick(temp_.path("file")), seen_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr(temp_.path("file")));
  EXPECT_TRUE(seen_.started.empty());
}

TEST_F(Sweep, RunsATemplateOfYourOwn) {
  temp_.put("mine.json", std::string(R"({"title": "mine", "framework": "mine",
    "program": ")") + BB_FAKE_TRAINER +
                             R"(", "args": ["--model", "{model}", "--micro-batch-size",
    "{micro_batch_size}", "--steps", "{steps}", "--sequence-length", "{sequence_length}",
    "--expect-world-size", "{world_size}"], "axes": {"optimizer": ["--optim", "{optimizer}"]},
    "env": {"THREADS": "{threads}"}})");
  const auto plan = plan_of(
      small_config(), {"workload=" + temp_.path("mine.json"), "trials=1", "grid.optimizer=fused"});
  const SweepOutcome outcome = swept(plan, temp_, seen_);
  EXPECT_EQ(outcome.result.cells[0].identity.framework, "mine");
  EXPECT_EQ(outcome.result.cells[0].identity.axes.at("optimizer"), "fused");
}

using SweepRun = test::SweepTest;

// A harness that is killed loses no stamp: it writes each when it looks, not with the next
// progress.
TEST_F(SweepRun, WritesWhenTheLogGrewWithTheLookThatFoundIt) {
  temp_.put("train.sh", R"sh(
until [ -s "$1/log.txt.arrivals.csv" ]; do
  step=$((step + 1))
  echo "step $step loss 3.1"
  sleep 0.02
done
)sh");
  const auto plan =
      plan_of(R"({"name": "t", "trials": 1, "retries": 0, "timeout_s": 60, "command": ["sh", ")" +
              temp_.path("train.sh") + R"(", "{dir}"], "grid": {"topology": ["1n1g"]}})");
  SweepOptions options = quick(temp_.path("run"));
  options.progress_s = 3600;
  ASSERT_TRUE(run_sweep(plan, options, seen_));
  ASSERT_EQ(seen_.finished.size(), 1U);
  EXPECT_NE(seen_.finished[0].outcome.status, Status::timeout) << "no arrival while it ran";
}

// Programs that write to a file keep lines back; to a terminal they write each at once.
TEST_F(SweepRun, GivesTrainersATerminalWhereThatIsAskedFor) {
  const std::string command =
      R"(["sh", "-c", "if [ -t 1 ]; then echo terminal; else echo file; fi; exec \"$0\" \"$@\"", ")" BB_FAKE_TRAINER
      R"(", "--steps", "{steps}", "--expect-world-size", "1"])";
  const auto config = R"({"name": "t", "trials": 1, "retries": 0, "steps": 20, "command": )" +
                      command + R"(, "grid": {"topology": ["1n1g"]}})";
  std::string logs[2];
  for (const bool pty : {false, true}) {
    const auto run = temp_.path(pty ? "pty" : "file");
    const auto plan = plan_of(config, {pty ? "pty=true" : "pty=false"});
    ASSERT_TRUE(run_sweep(plan, quick(run), seen_));
    EXPECT_EQ(seen_.finished.back().outcome.status, Status::completed);
    EXPECT_EQ(seen_.finished.back().iterations.seen, 20);
    logs[pty] = test::read_file(run + "/" + plan.cells[0].folder + "/trial_1/log.txt");
  }
  EXPECT_EQ(logs[0].substr(0, 5), "file\n");
  EXPECT_EQ(logs[1].substr(0, 9), "terminal\n");
  const auto parsed = value_of(parse_config(config, "c.json", {"pty=true"}));
  PlanOptions ssh;
  ssh.launcher = "ssh";
  EXPECT_THAT(make_plan(parsed, ssh).error().message(), ::testing::HasSubstr("launcher local"));
}

}  // namespace
}  // namespace bertbench
