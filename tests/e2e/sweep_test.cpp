// The spine: a real sweep of the real trainer, to results, to a report, to a verdict.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <memory>

#include "tests/e2e/programs.h"

namespace bertbench::e2e {
namespace {

using testing::HasSubstr;

json config(int trials, int steps) {
  return {{"name", "e2e"},
          {"workload", "bert_train"},
          {"grid",
           {{"topology", {"1n1g", "1n2g"}},
            {"model", {"bert-tiny"}},
            {"precision", {"fp32"}},
            {"micro_batch_size", {2}},
            {"sequence_length", {16}},
            {"gradient_accumulation_steps", {1}}}},
          {"trials", trials},
          {"steps", steps},
          {"window", "steps:4:" + std::to_string(steps)},
          {"launcher", "local"},
          {"timeout_s", 120},
          {"stall_timeout_s", 60},
          {"retries", 1}};
}

std::vector<double> rates(const json& cell) {
  std::vector<double> all;
  for (const json& trial : cell["trials"]) all.push_back(trial["sequences_per_second"]);
  return all;
}

/// Three seconds of trainers, swept once for all tests of this suite.
class SweepEndToEnd : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = std::make_unique<Folder>();
    write_file(*folder / "config.json", config(5, 16).dump());
    first = folder->bertbench(command());
  }
  static void TearDownTestSuite() { folder.reset(); }
  static std::vector<std::string> command() {
    return {"sweep", *folder / "config.json", "--out", *folder / "run", "--trainer", kBertTrain};
  }
  static std::string run_folder() { return *folder / "run"; }
  static json results() { return json::parse(read_file(*folder / "run/results.json")); }

  static std::unique_ptr<Folder> folder;
  static Ran first;
};
std::unique_ptr<Folder> SweepEndToEnd::folder;
Ran SweepEndToEnd::first;

TEST_F(SweepEndToEnd, MeasuresEveryTrialOfEveryCell) {
  ASSERT_EQ(first.status, 0) << first.err;
  const json set = results();
  EXPECT_EQ(set["schema"], "bertbench.result/1");
  ASSERT_EQ(set["cells"].size(), 2U);
  for (const json& cell : set["cells"]) {
    ASSERT_EQ(cell["trials"].size(), 5U);
    EXPECT_EQ(cell["throughput"]["n"], 5);
    for (const json& trial : cell["trials"]) {
      EXPECT_EQ(trial["outcome"]["status"], "completed");
      EXPECT_EQ(trial["window"]["covered"], true);
    }
  }
  EXPECT_THAT(first.out, HasSubstr("bert-tiny.fp32.s16.b2.a1.1n2g"));
  EXPECT_THAT(first.err, HasSubstr("report:"));
  EXPECT_EQ(first.err.find('\x1b'), std::string::npos) << "no redraws where there is no terminal";
}

TEST_F(SweepEndToEnd, MeasuresWhatTheTrainersOwnClockSays) {
  for (const json& cell : results()["cells"]) {
    for (const json& trial : cell["trials"]) {
      const std::string timings = run_folder() + "/" + cell["key"].get<std::string>() + "/trial_" +
                                  std::to_string(trial["trial"].get<int>()) + "/timings.jsonl";
      const double expected = truth(timings, 4, 16);
      EXPECT_NEAR(trial["sequences_per_second"].get<double>() / expected, 1, 0.005) << timings;
    }
  }
}

TEST_F(SweepEndToEnd, AgainItRunsNothingAndSaysSo) {
  const json before = results();
  const std::string log = run_folder() + "/bert-tiny.fp32.s16.b2.a1.1n1g/trial_1/log.txt";
  const auto written = fs::last_write_time(log);
  const Ran again = folder->bertbench(command());
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("10 of 10 trials done before"));
  EXPECT_EQ(fs::last_write_time(log), written);
  EXPECT_EQ(results()["cells"], before["cells"]);
}

TEST_F(SweepEndToEnd, CheckAgainstItselfIsGood) {
  const Ran same = folder->bertbench({"check", run_folder(), "--baseline", run_folder()});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
}

TEST_F(SweepEndToEnd, ReportsOfTheRunFolder) {
  const Ran ran = folder->bertbench(
      {"report", run_folder(), "--to", "markdown,csv,json", "-o", *folder / "out"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(read_file(*folder / "out/report.md"), HasSubstr("bert-tiny"));
  const std::string csv = read_file(*folder / "out/report.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3) << csv;
}

TEST_F(SweepEndToEnd, ExtractOfTheRunFolderGivesTheSameCells) {
  const Ran ran = folder->bertbench({"extract", run_folder(), "--window", "steps:4:16", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json extracted = json::parse(ran.out);
  const json swept = results();
  ASSERT_EQ(extracted["cells"].size(), 2U);
  for (const json& cell : swept["cells"]) {
    const auto same = std::find_if(extracted["cells"].begin(), extracted["cells"].end(),
                                   [&](const json& each) { return each["key"] == cell["key"]; });
    ASSERT_NE(same, extracted["cells"].end()) << cell["key"];
    EXPECT_EQ(rates(*same), rates(cell));
  }
}

TEST_F(SweepEndToEnd, OfASecondConfigOnlyWhatIsNewRuns) {
  std::vector<std::string> more = command();
  more.insert(more.end(), {"--trials", "6", "--only", "topology=1n1g", "--json"});
  const Ran ran = folder->bertbench(more);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(": 1 cell, 6 trials, launcher local"));
  EXPECT_THAT(ran.err, HasSubstr("5 of 6 trials done before"));
  EXPECT_EQ(json::parse(ran.out)["schema"], "bertbench.result/1") << "stdout is the answer alone";
}

TEST(SweepPrecisions, Bf16AndFp16RunOnTheCpu) {
  const Folder folder;
  const Ran bf16 = folder.run({kBertTrain, "--precision", "bf16", "--steps", "1"});
  const bool native = bf16.status == 0;
  ASSERT_TRUE(native || bf16.status == 3) << bf16.err;
  json wanted = config(1, 8);
  wanted["grid"]["topology"] = {"1n1g"};
  wanted["grid"]["precision"] = {"fp16"};
  if (native) wanted["grid"]["precision"].push_back("bf16");
  write_file(folder / "config.json", wanted.dump());
  const Ran swept = folder.bertbench(
      {"sweep", folder / "config.json", "--out", folder / "run", "--trainer", kBertTrain});
  ASSERT_EQ(swept.status, 0) << swept.err;
  const json set = json::parse(read_file(folder / "run/results.json"));
  ASSERT_EQ(set["cells"].size(), native ? 2U : 1U);
  for (const json& cell : set["cells"]) {
    EXPECT_NE(cell["precision"], "fp32");
    EXPECT_EQ(cell["trials"][0]["outcome"]["status"], "completed");
    EXPECT_EQ(cell["trials"][0]["window"]["covered"], true);
  }
}

/// The cells of configs/NAME.json, small enough for a test: one trial of eight steps of bert-tiny.
json shipped(const Folder& folder, const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"sweep",     BB_SOURCE_DIR "/configs/" + name + ".json",
                                    "--out",     folder / "run",
                                    "--trainer", kBertTrain,
                                    "--trials",  "1"};
  for (const char* set : {R"(grid.model=["bert-tiny"])", "grid.sequence_length=[32]", "steps=8",
                          "window=steps:2:8"}) {
    words.insert(words.end(), {"--set", set});
  }
  words.insert(words.end(), more.begin(), more.end());
  const Ran swept = folder.bertbench(words);
  EXPECT_EQ(swept.status, 0) << swept.err;
  return json::parse(read_file(folder / "run/results.json"))["cells"];
}

TEST(ShippedConfigs, FineTuningIsSweptAndScored) {
  const Folder folder;
  const json cells = shipped(folder, "ngc-finetune", {"--only", "topology=1n1g"});
  ASSERT_EQ(cells.size(), 2U) << "fp32 with 8 sequences, fp16 with 16";
  for (const json& cell : cells) {
    EXPECT_EQ(cell["identity"]["task"], "squad");
    const std::string log =
        read_file(folder / ("run/" + cell["key"].get<std::string>() + "/trial_1/log.txt"));
    EXPECT_THAT(log, HasSubstr("\"exact_match\":"));
  }
}

TEST(ShippedConfigs, InferenceIsSweptWithTheLatencyInItsLog) {
  const Folder folder;
  const json cells = shipped(folder, "ngc-inference",
                             {"--set", R"(args=["--inference"])", "--set",
                              R"(grid.precision=["fp32"])", "--set", "grid.micro_batch_size=[4]"});
  ASSERT_EQ(cells.size(), 1U);
  const json& cell = cells[0];
  EXPECT_EQ(cell["identity"]["inference"], "true");
  EXPECT_EQ(cell["kind"], "inference");
  EXPECT_EQ(cell["trials"][0]["window"]["covered"], true);
  const std::string log =
      read_file(folder / ("run/" + cell["key"].get<std::string>() + "/trial_1/log.txt"));
  EXPECT_THAT(log, HasSubstr("\"latency_ms\":{"));
}

/// The grids of GPUs on CPU ranks: as small, in fp32, of at most two ranks.
const std::vector<std::string> kOnCpus{"--launcher", "local", "--set",
                                       R"(args=["--threads", "1"])"};

std::vector<std::string> on_cpus(std::vector<std::string> more) {
  more.insert(more.begin(), kOnCpus.begin(), kOnCpus.end());
  return more;
}

TEST(ShippedConfigs, WeakScalingIsSweptWithTheSameSequencesOfARank) {
  const Folder folder;
  const json cells =
      shipped(folder, "ngc-weak",
              on_cpus({"--set", R"(grid.topology=["1n1g", "1n2g"])", "--set",
                       R"(grid.precision=["fp32"])", "--set", "grid.micro_batch_size=[2]", "--set",
                       "grid.gradient_accumulation_steps=[2]"}));
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[1]["scaling"], "weak");
  EXPECT_EQ(cells[1]["gradient_accumulation_steps"], 2);
}

TEST(ShippedConfigs, StrongScalingIsSweptWithTheSameGlobalBatch) {
  const Folder folder;
  const json cells = shipped(
      folder, "ngc-strong",
      on_cpus({"--set", R"(grid.topology=["1n1g", "1n2g"])", "--set", R"(grid.precision=["fp32"])",
               "--set", "grid.micro_batch_size=[2]", "--set", "grid.global_batch_size=[8]"}));
  ASSERT_EQ(cells.size(), 2U);
  for (const json& cell : cells) EXPECT_EQ(cell["global_batch_size"], 8);
  // In the order of their keys.
  EXPECT_EQ(cells[0]["world_size"], 2);
  EXPECT_EQ(cells[0]["gradient_accumulation_steps"], 2);
  EXPECT_EQ(cells[0].value("scaling", ""), "strong");
  EXPECT_EQ(cells[1]["gradient_accumulation_steps"], 4);
}

TEST(ShippedConfigs, DlperfIsSweptOnCpuRanks) {
  const Folder folder;
  const json cells = shipped(
      folder, "dlperf-bert-base",
      on_cpus({"--set", R"(grid.topology=["1n1g", "1n2g"])", "--set",
               R"(grid.precision=["fp32", "fp16"])", "--set", "grid.micro_batch_size=[2, 4]"}));
  ASSERT_EQ(cells.size(), 4U);
  for (const json& cell : cells) EXPECT_EQ(cell["throughput"]["n"], 1) << cell["key"];
}

TEST(ShippedConfigs, TwoPhasesAreOneTrainingAndReportedTogether) {
  const Folder folder;
  const Ran swept = folder.bertbench(
      {"sweep", BB_SOURCE_DIR "/configs/dgx2-two-phase.json", "--out", folder / "run", "--trainer",
       kBertTrain, "--set", R"(grid.topology=["1n2g"])", "--set", R"(grid.model=["bert-tiny"])",
       "--set", R"(grid.precision=["fp32"])", "--set", R"(args=["--threads", "1"])", "--set",
       "window=2:6", "--set",
       R"(phases=[{"sequence_length": 16, "micro_batch_size": 4, "steps": 7},
                  {"sequence_length": 64, "micro_batch_size": 2, "gradient_accumulation_steps": 2,
                   "steps": 6}])"});
  ASSERT_EQ(swept.status, 0) << swept.err;
  const json set = json::parse(read_file(folder / "run/results.json"));
  ASSERT_EQ(set["cells"].size(), 2U);
  const json& first = set["cells"][0];
  const json& second = set["cells"][1];
  EXPECT_EQ(first["identity"]["phase"], "1");
  EXPECT_EQ(second["identity"]["phase"], "2");
  EXPECT_EQ(second["context"]["phases"], json({first["key"], second["key"]}));
  EXPECT_EQ(first["trials"][0]["outcome"]["step"], 7);
  EXPECT_EQ(second["trials"][0]["outcome"]["step"], 13) << "the second counts on from the first";
  EXPECT_EQ(first["trials"][0]["reconciliation"]["sequences"], 7 * 8);
  EXPECT_EQ(second["trials"][0]["reconciliation"]["sequences"], 6 * 8);
  const Ran report = folder.bertbench({"report", folder / "run", "--to", "markdown", "-o", "-"});
  ASSERT_EQ(report.status, 0) << report.err;
  const auto row = report.out.find("| together |");
  ASSERT_NE(row, std::string::npos) << report.out;
  const std::string together = report.out.substr(row, report.out.find('\n', row) - row);
  EXPECT_THAT(together, HasSubstr("|    13 |       104 |")) << "steps and sequences of both";
  EXPECT_THAT(read_file(folder / "run/report.html"), HasSubstr("id=\"phases\""));
  EXPECT_THAT(swept.out, HasSubstr("together"));
  const Ran again = folder.bertbench(
      {"sweep", folder / "run/sweep.json", "--out", folder / "run", "--trainer", kBertTrain});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("2 of 2 trials done before"));
}

/// Steps that no trial reaches before it is stopped.
constexpr int kNever = 1000000;

TEST(SweepInterrupted, CtrlCStopsTrainersAndTheSameCommandGoesOn) {
  const Folder folder;
  write_file(folder / "config.json", config(1, kNever).dump());
  const std::vector<std::string> command{kBertbench, "sweep",        folder / "config.json",
                                         "--out",    folder / "run", "--trainer",
                                         kBertTrain};
  Process process(command, folder / "out", folder / "err");
  const std::string log = folder / "run/bert-tiny.fp32.s16.b2.a1.1n1g/trial_1/log.txt";
  ASSERT_TRUE(wait_until([&] { return read_file(log).find("\"step\"") != std::string::npos; },
                         std::chrono::seconds(60)))
      << read_file(folder / "err");
  kill(process.pid(), SIGINT);
  EXPECT_EQ(process.wait(), 130) << read_file(folder / "err");
  EXPECT_THAT(read_file(folder / "err"),
              HasSubstr("interrupted; the same command runs the 2 trials that are left"));

  const Ran rest =
      folder.run({kBertbench, "sweep", folder / "config.json", "--out", folder / "run", "--trainer",
                  kBertTrain, "--set", "steps=12", "--set", "window=steps:4:12"});
  EXPECT_EQ(rest.status, 0) << rest.err;
  const json set = json::parse(read_file(folder / "run/results.json"));
  ASSERT_EQ(set["cells"].size(), 2U);
  for (const json& cell : set["cells"]) EXPECT_EQ(cell["throughput"]["n"], 1);
}

struct BadConfig {
  std::string name, text, says;
};

class SweepBadConfig : public testing::TestWithParam<BadConfig> {};

TEST_P(SweepBadConfig, IsOneLineThatNamesThePlaceAndStatusTwo) {
  const Folder folder;
  write_file(folder / "config.json", GetParam().text);
  const Ran ran = folder.bertbench({"sweep", folder / "config.json", "--out", folder / "run"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_THAT(ran.err, testing::StartsWith("bertbench: " + folder / "config.json"));
  EXPECT_THAT(ran.err, HasSubstr(GetParam().says));
  EXPECT_FALSE(fs::exists(folder / "run")) << "nothing is made before the plan stands";
}

INSTANTIATE_TEST_SUITE_P(
    All, SweepBadConfig,
    testing::Values(
        BadConfig{"unknown_key", "{\"name\": \"x\",\n \"stesp\": 3}", "did you mean 'steps'?"},
        BadConfig{"impossible_topology",
                  "{\"name\": \"x\", \"workload\": \"bert_train\",\n \"grid\": {\"topology\": "
                  "[\"0n1g\"], \"model\": [\"bert-tiny\"]}}",
                  "0n1g"},
        BadConfig{"broken_json", "{\"name\": ", ":1"}),
    [](const auto& tested) { return tested.param.name; });

TEST(SweepBadInput, AnUnreadableConfigIsOneLineAndStatusTwo) {
  const Folder folder;
  const Ran ran = folder.bertbench({"sweep", folder / "none.json", "--out", folder / "run"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("none.json"));
}

/// Two variants of bert_train, of which "new" writes a checkpoint after each step.
class VariantsEndToEnd : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = std::make_unique<Folder>();
    // The test needs seven pairs; a hit from outside leaves its pair out, so there are spare ones.
    json grid = config(kPairs, 8);
    grid["grid"]["topology"] = {"1n1g"};
    grid["args"] = {"--threads", "1"};  // threads that wait for each other suffer most from load
    grid["variants"] = {
        {"base", json::object()},
        {"new", {{"args", {"--checkpoint", *folder / "saved", "--checkpoint-every", "1"}}}}};
    write_file(*folder / "config.json", grid.dump());
    first = folder->bertbench(command());
  }
  static void TearDownTestSuite() { folder.reset(); }
  static std::vector<std::string> command() {
    return {"sweep", *folder / "config.json", "--out", *folder / "run", "--trainer", kBertTrain};
  }
  /// Rate of the trial of that number.
  static double rate(const json& cell, int number) {
    for (const json& trial : cell["trials"]) {
      if (trial["trial"] == number) return trial["sequences_per_second"];
    }
    return 0;
  }

  static constexpr int kPairs = 12;
  static std::unique_ptr<Folder> folder;
  static Ran first;
};
std::unique_ptr<Folder> VariantsEndToEnd::folder;
Ran VariantsEndToEnd::first;

TEST_F(VariantsEndToEnd, APairIsJudgedByItsRatio) {
  ASSERT_EQ(first.status, 0) << first.err;
  const json cells = json::parse(read_file(*folder / "run/results.json"))["cells"];
  ASSERT_EQ(cells.size(), 2U);
  bool slower = true;
  for (int pair = 1; pair <= kPairs; ++pair) {
    slower = slower && rate(cells[1], pair) < 0.98 * rate(cells[0], pair);
  }
  if (!slower) GTEST_SKIP() << "other load hides what a checkpoint costs";
  const std::string run = *folder / "run";
  EXPECT_EQ(folder->bertbench({"check", run, "--paired", "new"}).status, 0);
  // A checkpoint takes memory as well, which is judged apart.
  EXPECT_EQ(folder
                ->bertbench({"check", run, "--paired", "base", "--alpha", "0.0001",
                             "--memory-floor", "50%"})
                .status,
            3);
  const Ran gate = folder->bertbench({"check", run, "--paired", "base"});
  EXPECT_EQ(gate.status, 1) << gate.out;
  EXPECT_THAT(gate.out, HasSubstr("+variant=new"));
}

TEST_F(VariantsEndToEnd, ALostHalfIsMeasuredAgainWithItsPartner) {
  ASSERT_EQ(first.status, 0) << first.err;
  fs::remove(*folder / "run/bert-tiny.fp32.s16.b2.a1.1n1g+variant=base/trial_2/log.txt");
  const Ran again = folder->bertbench(command());
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("22 of 24 trials done before"));
  const json cells = json::parse(read_file(*folder / "run/results.json"))["cells"];
  for (const json& cell : cells) {
    for (const json& trial : cell["trials"]) {
      EXPECT_EQ(trial["block"]["session"], trial["trial"] == 2 ? 2 : 1);
    }
  }
}

}  // namespace
}  // namespace bertbench::e2e
