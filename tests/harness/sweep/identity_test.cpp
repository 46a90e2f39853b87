// What changes the work never vanishes, however it was given: as an axis, in "args" or in "env".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/sweep/plan/launcher.h"
#include "parsers/core/trainer_options.h"
#include "reports/gate/verdicts.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

PlannedCell cell_of(const std::vector<std::string>& args,
                    const std::vector<std::string>& sets = {}) {
  std::vector<std::string> all{"args=" + ordered_json(args).dump()};
  all.insert(all.end(), sets.begin(), sets.end());
  return plan_of(small_config(), all).cells.at(0);
}

/// A value that the option takes and that is not its default.
std::string other_value(const TrainerOption& option) {
  const std::string usual = default_value(option, {{"model", "bert-tiny"}, {"steps", "20"}});
  for (const auto value : {"cuda", "tcp", "tanh", "lamb", "off", "on", "1", "squad", "uniform",
                           "warmup_linear_decay_exp", "cudnn"}) {
    if (value != usual &&
        (" " + std::string(option.values) + " ").find(" " + std::string(value) + " ") !=
            std::string::npos) {
      return value;
    }
  }
  if (option.name == "sim-topology") return "2n4g";
  if (option.name == "log-style") return "tqdm";
  if (option.name == "loss-scale") return "1024";
  if (usual.empty() || usual == "synthetic") return "/somewhere/else";
  return "0.25";
}

/// The gate's verdict on two runs of the fake trainer's, equal but for these arguments.
Verdict verdict_of(const PlannedCell& now, const PlannedCell& base) {
  const auto set_of = [](const PlannedCell& cell) {
    ResultSet set;
    Cell& out = set.cells.emplace_back();
    out.key = cell.key;
    out.identity = cell.identity;
    (*out.context)["threads"] = cell.threads;
    for (int n = 1; n <= 6; ++n) {
      Trial& trial = out.trials.emplace_back();
      trial.trial = n;
      trial.window.covered = true;
      trial.sequences_per_second = 100 + n;
      trial.estimator = "step_time";
    }
    return set;
  };
  return check(set_of(now), set_of(base)).cells.at(0).verdict;
}

// The options that may differ between two runs that are compared, and why: everything else that is
// set against its default must be another cell.
const std::map<std::string_view, std::string_view> kSilent{
    {"log-style", "the text of the log"},
    {"log-every", "the text of the log"},
    {"checkpoint", "where weights are saved after the last step"},
    {"comm-timeout", "how long a dead peer is waited for"},
    {"evaluate", "what is scored after the last step"}};

TEST(Identity, NoOptionOfTheTrainerIsComparedSilently) {
  const auto base = cell_of({});
  int looked_at = 0;
  for (const auto& option : trainer_options()) {
    if (option.owner != OptionOwner::user) continue;
    ++looked_at;
    const std::string name = "--" + std::string(option.name), value = other_value(option);
    std::vector<std::vector<std::string>> forms{{name + "=" + value}, {name, value}};
    if (option.flag()) forms = {{name}, {name + "=true"}};
    for (const auto& args : forms) {
      const auto cell = cell_of(args);
      const Verdict verdict = verdict_of(cell, base);
      if (kSilent.contains(option.name)) {
        EXPECT_EQ(verdict, Verdict::pass) << args.front();
        EXPECT_FALSE(option.no_work.empty()) << args.front();
      } else {
        EXPECT_NE(verdict, Verdict::pass) << args.front();
        EXPECT_TRUE(verdict == Verdict::new_cell || verdict == Verdict::not_comparable);
      }
      const bool in_identity = option.no_work.empty();
      EXPECT_EQ(cell.identity.axes.contains(axis_name(option.name)), in_identity) << args.front();
      EXPECT_EQ(cell.key != base.key, in_identity) << args.front();
    }
  }
  EXPECT_GT(looked_at, 40);
}

TEST(Identity, TheNameOfTheFileOfAlgorithmsIsNoPartOfACell) {
  const auto here = cell_of({"--algorithm-cache=run1/algorithms"});
  const auto there = cell_of({"--algorithm-cache", "run2/algorithms"});
  EXPECT_EQ(here.key, there.key);
  EXPECT_NE(here.key, cell_of({}).key) << "a search changes the speed";
  EXPECT_EQ(cell_of({"--algorithm-cache="}).key, cell_of({}).key);
}

TEST(Identity, AnOptionAtItsDefaultIsTheSameCell) {
  const auto base = cell_of({});
  for (const auto& option : trainer_options()) {
    if (option.owner != OptionOwner::user || option.name == "sim-topology") continue;
    const auto usual = default_value(option, {{"model", "bert-tiny"}, {"steps", "20"}});
    if (usual.empty()) continue;
    EXPECT_EQ(cell_of({"--" + std::string(option.name) + "=" + usual}).key, base.key)
        << option.name;
  }
  EXPECT_EQ(cell_of({"--dropout", "0.10", "--epsilon=0.000001", "--seed", "01"}).key, base.key)
      << "one number in other spellings";
  EXPECT_EQ(cell_of({"--optimizer", "lamb", "--learning-rate", "2e-3"}).identity.axes,
            (std::map<std::string, std::string>{{"optimizer", "lamb"}}))
      << "each optimizer has its own usual rate";
  EXPECT_THAT(cell_of({"--learning-rate", "2e-3"}).identity.axes,
              ElementsAre(Pair("learning_rate", "0.002")));
}

// Seen: both keys were bert-tiny.fp32.s64.b4.a1.1n1g, and `check` passed with status 0.
TEST(Identity, LambIsNotAdamWWithRecomputation) {
  const auto lamb = cell_of({"--optimizer", "lamb"});
  const auto adamw = cell_of({"--optimizer=adamw", "--activation-checkpointing"});
  EXPECT_EQ(lamb.key, "bert-tiny.fp32.s64.b4.a1.1n1g+optimizer=lamb");
  EXPECT_EQ(adamw.key, "bert-tiny.fp32.s64.b4.a1.1n1g+activation_checkpointing=true");
  EXPECT_EQ(cell_of({}, {"grid.optimizer=lamb"}).key, lamb.key) << "by an axis it is the same cell";
  EXPECT_NE(verdict_of(lamb, adamw), Verdict::pass);
}

TEST(Identity, AFlagMayBeSwitchedOffInWords) {
  const auto base = cell_of({});
  EXPECT_EQ(cell_of({"--deterministic=false"}).key, base.key);
  EXPECT_EQ(cell_of({"--deterministic", "--unpadded=0"}).key, base.key + "+deterministic=true");
}

TEST(Identity, VariablesOfTheConfigurationAreInIt) {
  const auto plan = plan_of(small_config(
      R"(, "env": {"BERT_ISA": "sse2", "HF_TOKEN": "s3cret", "WANDB_API_KEY": "s3cret",
                   "TOKENIZERS_PARALLELISM": "false"})"));
  EXPECT_EQ(plan.cells[0].key,
            "bert-tiny.fp32.s64.b4.a1.1n1g+env.BERT_ISA=sse2+env.TOKENIZERS_PARALLELISM=false");
  EXPECT_THAT(plan.cells[0].folder, Not(HasSubstr("s3cret")));
}

TEST(Identity, ThreadsAreHowTheMachineIsUsed) {
  EXPECT_EQ(cell_of({}).threads, "auto");
  EXPECT_EQ(cell_of({"--threads", "1"}).threads, "1");
  EXPECT_EQ(cell_of({"--threads", "1"}).key, cell_of({}).key);
  EXPECT_EQ(verdict_of(cell_of({"--threads=1"}), cell_of({})), Verdict::not_comparable);
}

/// A template whose only axis next to the facts is "amp".
Plan template_plan(const std::string& args, const std::string& more = "") {
  test::ScratchFolder folder;
  folder.put("t.json", R"({"framework": "pytorch", "program": "python3",
    "args": ["train.py", "--batch", "{micro_batch_size}", "--out={dir}"],
    "axes": {"amp": ["--amp"]}, "env": {"THREADS": "{threads}"}})");
  return plan_of(R"({"workload": ")" + folder.path("t.json") + R"(", "grid": {"topology": "1n1g",
    "model": "m", "micro_batch_size": 4, "sequence_length": 8)" +
                 more + R"(}, "args": )" + args + "}");
}

TEST(Identity, WordsOfAForeignTrainerAreItsCommand) {
  const auto plan = template_plan(R"(["--fused", "--lr", "0.1"])", R"(, "amp": true)");
  EXPECT_THAT(plan.cells[0].command,
              ElementsAre("THREADS={threads}", "python3", "train.py", "--batch",
                          "{micro_batch_size}", "--out={dir}", "--amp", "--fused", "--lr", "0.1"));
  EXPECT_EQ(plan.cells[0].key, "m.fp32.s8.b4.a1.1n1g+amp=true");
  EXPECT_THAT(plan_of(small_config()).cells[0].command, IsEmpty());
  EXPECT_EQ(plan.cells[0].threads, "");
}

TEST(SimulatedSweep, TopologyIsWhatOneRankSimulates) {
  const auto plan = plan_of(small_config(R"(, "args": ["--comm", "sim"])"),
                            {"grid.topology=[\"1n1g\",\"4n8g\"]"});
  ASSERT_EQ(plan.cells.size(), 2U);
  const PlannedCell& cell = plan.cells[1];
  EXPECT_EQ(cell.key, "bert-tiny.fp32.s64.b4.a1.4n8g+simulated");
  EXPECT_TRUE(cell.identity.simulated());
  EXPECT_EQ(cell.identity.global_batch_size(), 128);
  EXPECT_EQ(cell.topology, (Topology{1, 1})) << "one process runs";
  const auto lines = *dry_run(plan, "");
  EXPECT_THAT(lines.back(), HasSubstr("world_size=32 simulated"));
  EXPECT_THAT(lines.back(), HasSubstr("--sim-topology 4n8g"));
  EXPECT_THAT(lines.back(), HasSubstr("--expect-world-size 1"));
  EXPECT_THAT(texts_of(cell.warnings), Contains(HasSubstr("simulated: 4n8g of 1 rank")));
}

// Seen: the cell was keyed 1n1g and compared with a measured one.
TEST(SimulatedSweep, ATopologyOfItsOwnLeavesTheRanksToTheGrid) {
  for (const auto& cell : {cell_of({"--comm", "sim", "--sim-topology", "4n8g"}),
                           cell_of({"--comm=sim"}, {"grid.sim_topology=4n8g"}),
                           cell_of({}, {"grid.comm=sim", "grid.sim_topology=[\"4n8g\"]"})}) {
    EXPECT_EQ(cell.key, "bert-tiny.fp32.s64.b4.a1.4n8g+simulated");
    EXPECT_EQ(cell.topology, (Topology{1, 1}));
  }
  const auto ranks = cell_of({"--comm=sim", "--sim-topology=4n8g"}, {"grid.topology=1n2g"});
  EXPECT_EQ(ranks.topology, (Topology{1, 2}));
  EXPECT_EQ(ranks.identity.world_size(), 32);
}

TEST(SimulatedSweep, TheModelOfTheClusterIsInTheIdentity) {
  EXPECT_EQ(cell_of({"--comm=sim", "--sim-cross-gbps", "25"}).key,
            "bert-tiny.fp32.s64.b4.a1.1n1g+sim_cross_gbps=25+simulated");
}

TEST(SimulatedSweep, AnImpossibleTopologyIsFoundInTheConfiguration) {
  const auto config =
      parse_config(small_config(R"(, "args": ["--comm=sim", "--sim-topology=4x8"])"), "s.json");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message(), HasSubstr("'4x8' is an impossible topology"));
}

}  // namespace
}  // namespace bertbench
