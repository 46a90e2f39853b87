// Two works are never taken for one, a simulation never for a measurement, seeds are kept apart:
// with the real programs.
#include <gmock/gmock.h>

#include <set>

#include "tests/e2e/programs.h"

namespace bertbench::e2e {
namespace {

using testing::HasSubstr;

/// Four short trials of one small cell.
json config(const json& more) {
  json out = {{"workload", "bert_train"},
              {"grid",
               {{"topology", {"1n1g"}},
                {"model", {"bert-tiny"}},
                {"micro_batch_size", {2}},
                {"sequence_length", {16}}}},
              {"trials", 4},
              {"steps", 8},
              {"window", "steps:2:8"}};
  out.update(more);
  return out;
}

class IdentityEndToEnd : public testing::Test {
 protected:
  json sweep(const std::string& name, const json& more) const {
    write_file(folder / (name + ".json"), config(more).dump());
    return sweep_file(name, folder / (name + ".json"), {});
  }
  json sweep_file(const std::string& name, const std::string& file,
                  std::vector<std::string> more) const {
    std::vector<std::string> args{"sweep", file, "--out", folder / name, "--trainer", kBertTrain};
    args.insert(args.end(), more.begin(), more.end());
    const Ran ran = folder.bertbench(args);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return json::parse(read_file(folder / (name + "/results.json")));
  }
  Ran check(const std::string& now, const std::string& base) const {
    return folder.bertbench({"check", folder / now, "--baseline", folder / base});
  }
  /// The identity that `extract` finds in the first trial's log.
  json extracted(const std::string& name, const json& set) const {
    const std::string log = set["cells"][0]["trials"][0]["log"];
    const Ran ran = folder.bertbench({"extract", folder / (name + "/" + log), "--json"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return json::parse(ran.out)["cells"][0]["identity"];
  }
  Folder folder;
};

// Seen: one key, `check` passed with status 0, results.json named no optimizer.
TEST_F(IdentityEndToEnd, LambByArgsIsNotAdamWWithRecomputationByArgs) {
  const json lamb = sweep("lamb", {{"args", {"--optimizer", "lamb"}}});
  const json adamw =
      sweep("adamw", {{"args", {"--optimizer=adamw", "--activation-checkpointing"}}});
  EXPECT_EQ(lamb["cells"][0]["key"], "bert-tiny.fp32.s16.b2.a1.1n1g+optimizer=lamb");
  EXPECT_EQ(lamb["cells"][0]["identity"]["optimizer"], "lamb");
  EXPECT_EQ(adamw["cells"][0]["key"],
            "bert-tiny.fp32.s16.b2.a1.1n1g+activation_checkpointing=true");
  EXPECT_EQ(check("lamb", "adamw").status, 4);
  EXPECT_NE(check("lamb", "lamb").status, 4);
  EXPECT_EQ(extracted("lamb", lamb), lamb["cells"][0]["identity"]);
  EXPECT_EQ(extracted("adamw", adamw), adamw["cells"][0]["identity"]);
}

// Seen: keyed 1n1g with the rate of one rank, nowhere simulated, and 68 % slower than a measured
// run.
TEST_F(IdentityEndToEnd, ASimulationIsOneEverywhere) {
  const json measured = sweep("measured", json::object());
  const json sim =
      sweep("sim", {{"args", {"--comm", "sim", "--sim-topology", "4n8g"}}, {"trials", 2}});
  const json& cell = sim["cells"][0];
  EXPECT_EQ(cell["key"], "bert-tiny.fp32.s16.b2.a1.4n8g+simulated");
  EXPECT_EQ(cell.value("simulated", false), true);
  EXPECT_EQ(cell["identity"].value("simulated", false), true);
  EXPECT_EQ(cell["world_size"], 32);
  EXPECT_EQ(cell["global_batch_size"], 64);
  for (const json& trial : cell["trials"]) {
    EXPECT_EQ(trial.value("simulated", false), true);
    const std::string timings =
        folder / ("sim/" + cell["key"].get<std::string>() + "/trial_" +
                  std::to_string(trial["trial"].get<int>()) + "/timings.jsonl");
    EXPECT_NEAR(trial["sequences_per_second"].get<double>() / truth(timings, 2, 8), 1, 0.02)
        << "of the whole job";
    for (const json& notice : trial.value("notices", json::array())) {
      EXPECT_EQ(notice["text"].get<std::string>().find("by the log"), std::string::npos) << notice;
    }
  }
  EXPECT_EQ(measured["cells"][0]["trials"][0].value("simulated", false), false);
  EXPECT_EQ(extracted("sim", sim), cell["identity"]);
  EXPECT_THAT(read_file(folder / "sim/report.html"), HasSubstr("SIMULATED"));
  for (const auto& [format, text] :
       {std::pair("csv", "+simulated"), std::pair("csv-trials", "+simulated"),
        std::pair("markdown", "SIMULATED"), std::pair("junit", "+simulated"),
        std::pair("dlperf", "bert-tiny_simulated"), std::pair("prometheus", "simulated=")}) {
    const Ran ran = folder.bertbench({"report", folder / "sim", "--to", format, "-o", "-"});
    EXPECT_THAT(ran.out, HasSubstr(text)) << format << ran.err;
  }
  EXPECT_THAT(folder.bertbench({"extract", folder / "sim"}).out, HasSubstr("32 simulated GPUs"));
  for (const auto& [now, base] : {std::pair("sim", "measured"), std::pair("measured", "sim")}) {
    const Ran ran = check(now, base);
    EXPECT_EQ(ran.status, 4) << ran.out << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("never compared")) << ran.err;
  }
  const std::string db = folder / "history.db";
  ASSERT_EQ(folder.bertbench({"store", "add", folder / "sim", "--db", db}).status, 0);
  const Ran stored = folder.bertbench({"check", folder / "measured", "--baseline", db});
  EXPECT_EQ(stored.status, 4) << stored.out << stored.err;
}

// configs/dlperf-sim.json itself, smaller.
TEST_F(IdentityEndToEnd, DlperfsGridIsSweptWithoutACluster) {
  const json set =
      sweep_file("grid", BB_SOURCE_DIR "/configs/dlperf-sim.json",
                 {"--trials", "1", "--set", "steps=6", "--set", "window=steps:2:6", "--set",
                  "grid.micro_batch_size=[2]", "--set", "grid.sequence_length=[16]"});
  ASSERT_EQ(set["cells"].size(), 6U);
  std::set<int> gpus;
  for (const json& cell : set["cells"]) {
    EXPECT_EQ(cell.value("simulated", false), true);
    gpus.insert(cell["world_size"].get<int>());
    EXPECT_TRUE(cell.contains("speedup")) << cell["key"];
    EXPECT_TRUE(cell.contains("scaling_efficiency")) << cell["key"];
  }
  EXPECT_EQ(gpus, (std::set<int>{1, 2, 4, 8, 16, 32}));
  const Ran ran = folder.bertbench({"predict", folder / "grid", "--topologies", "8n8g"});
  // Steps of some milliseconds may scatter too much for a model to be fitted to them: status 3.
  if (ran.status == 3) return;
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("PREDICTED from simulated cells"));
  EXPECT_THAT(ran.out, HasSubstr("8n8g"));
}

TEST_F(IdentityEndToEnd, EachTrialMayHaveASeedOfItsOwn) {
  const json set = sweep("seeds", {{"seed", "per_trial"}});
  const json& cell = set["cells"][0];
  EXPECT_EQ(cell["key"], "bert-tiny.fp32.s16.b2.a1.1n1g+seed=per_trial");
  std::set<int> seeds;
  std::set<double> losses;
  for (const json& trial : cell["trials"]) {
    EXPECT_EQ(trial["seed"], trial["trial"]);
    seeds.insert(trial["seed"].get<int>());
    losses.insert(trial["loss"]["last"].get<double>());
  }
  EXPECT_EQ(seeds, (std::set<int>{1, 2, 3, 4}));
  EXPECT_EQ(losses.size(), 4U) << "other data and weights give other losses";
  const json& loss = cell["stability"]["loss"];
  EXPECT_EQ(loss["n"], 4);
  EXPECT_EQ(loss["min"], *losses.begin());
  EXPECT_EQ(loss["max"], *losses.rbegin());
  EXPECT_GT(loss["stddev"].get<double>(), 0);
  EXPECT_THAT(read_file(folder / "seeds/report.html"), HasSubstr("Stability"));
  EXPECT_THAT(folder.bertbench({"report", folder / "seeds", "--to", "markdown", "-o", "-"}).out,
              HasSubstr("## Stability"));
  EXPECT_THAT(folder.bertbench({"report", folder / "seeds", "--to", "csv", "-o", "-"}).out,
              HasSubstr("stability_loss_stddev"));
  const Ran again = folder.bertbench(
      {"sweep", folder / "seeds.json", "--out", folder / "seeds", "--trainer", kBertTrain});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("4 of 4 trials done before"));
}

}  // namespace
}  // namespace bertbench::e2e
