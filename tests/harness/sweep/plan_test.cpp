#include "harness/sweep/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/launch/slurm_jobs.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/process/folder.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> keys(const Plan& plan) {
  std::vector<std::string> out;
  for (const auto& cell : plan.cells) out.push_back(cell.key);
  return out;
}

std::vector<std::string> order(const Plan& plan) {
  std::vector<std::string> out;
  for (const auto& t : plan.trials) {
    out.push_back(plan.cells[t.cell].point.at("model") + "/" + std::to_string(t.trial));
  }
  return out;
}

TEST(SweepPlan, IsTheProductOfTheAxesWithTheFirstSlowest) {
  EXPECT_THAT(keys(plan_of(small_config(),
                           {"grid.topology=[\"1n1g\",\"1n2g\"]", "grid.micro_batch_size=[4,8]"})),
              ElementsAre("bert-tiny.fp32.s64.b4.a1.1n1g", "bert-tiny.fp32.s64.b8.a1.1n1g",
                          "bert-tiny.fp32.s64.b4.a1.1n2g", "bert-tiny.fp32.s64.b8.a1.1n2g"));
}

TEST(SweepPlan, MovesZippedAxesTogether) {
  const auto plan =
      plan_of(small_config(R"(, "zip": [["micro_batch_size", "gradient_accumulation_steps"]])"),
              {"grid.micro_batch_size=[16,4,4]", "grid.gradient_accumulation_steps=[1,4,8]",
               "grid.topology=[\"1n1g\",\"1n2g\"]"});
  EXPECT_THAT(keys(plan),
              ElementsAre("bert-tiny.fp32.s64.b16.a1.1n1g", "bert-tiny.fp32.s64.b4.a4.1n1g",
                          "bert-tiny.fp32.s64.b4.a8.1n1g", "bert-tiny.fp32.s64.b16.a1.1n2g",
                          "bert-tiny.fp32.s64.b4.a4.1n2g", "bert-tiny.fp32.s64.b4.a8.1n2g"));
}

TEST(SweepPlan, LeavesOutWhatMatchesEveryAxisOfAnExclude) {
  const auto plan =
      plan_of(small_config(R"(, "exclude": [{"topology": "1n2g", "micro_batch_size": [8, 16]}])"),
              {"grid.topology=[\"1n1g\",\"1n2g\"]", "grid.micro_batch_size=[4,8,16]"});
  EXPECT_EQ(plan.cells.size(), 4u);
  for (const auto& cell : plan.cells) {
    EXPECT_FALSE(cell.point.at("topology") == "1n2g" && cell.point.at("micro_batch_size") != "4");
  }
}

TEST(SweepPlan, AnExcludeThatMatchesNoCellIsNamed) {
  const auto plan = plan_of(small_config(R"(, "exclude": [{"micro_batch_size": 8},
                                                          {"micro_batch_size": 80}])"),
                            {"grid.micro_batch_size=[4,8]"});
  EXPECT_THAT(plan.notices, ElementsAre("exclude[1] matches no cell: it leaves nothing out"));
}

TEST(SweepPlan, SaysWhenExcludesLeaveNothing) {
  const auto config =
      value_of(parse_config(small_config(R"(, "exclude": [{"model": "bert-tiny"}])"), "test.json"));
  EXPECT_THAT(make_plan(config).error().message(), HasSubstr("the excludes leave no cell"));
}

// It would take gigabytes to plan.
TEST(SweepPlan, RefusesAGridThatNobodyMeasures) {
  nlohmann::json values;
  for (int i = 1; i <= 400; ++i) values.push_back(i);
  const std::vector<std::string> sets{"grid.micro_batch_size=" + values.dump(),
                                      "grid.gradient_accumulation_steps=" + values.dump(),
                                      R"(grid.topology=["1n1g"])", "trials=1"};
  const auto config = value_of(parse_config(small_config(), "test.json", sets));
  EXPECT_THAT(make_plan(config).error().message(),
              HasSubstr("160000 cells (400 micro_batch_size x 400 gradient_accumulation_steps)"));
  const auto often = value_of(parse_config(small_config(), "test.json",
                                           {"trials=100000", R"(grid.topology=["1n1g","1n2g"])"}));
  EXPECT_THAT(make_plan(often).error().message(), HasSubstr("more than 100000"));
}

TEST(SweepPlan, InterleavesTrialsOverTheCells) {
  const std::vector<std::string> sets{"grid.model=[\"bert-tiny\",\"bert-mini\"]"};
  EXPECT_THAT(order(plan_of(small_config(), sets)),
              ElementsAre("bert-tiny/1", "bert-mini/1", "bert-tiny/2", "bert-mini/2"));
  EXPECT_THAT(order(plan_of(small_config(R"(, "order": "sequential")"), sets)),
              ElementsAre("bert-tiny/1", "bert-tiny/2", "bert-mini/1", "bert-mini/2"));
}

TEST(SweepPlan, BuildsTopologiesFromNodesAndGpus) {
  const auto plan =
      plan_of(R"({"grid": {"nodes": [1, 2], "gpus_per_node": [1, 8], "model": "bert-tiny",
                               "micro_batch_size": 1, "sequence_length": 8}, "launcher": "mpi"})");
  std::vector<std::int64_t> worlds;
  for (const auto& cell : plan.cells) worlds.push_back(cell.topology.world_size());
  EXPECT_THAT(worlds, ElementsAre(1, 8, 2, 16));
  EXPECT_EQ(plan.cells[3].key, "bert-tiny.fp32.s8.b1.a1.2n8g");
}

TEST(SweepPlan, OnlySelectsLaunchesAndAndsItsRepeats) {
  PlanOptions options;
  options.only = {"topology=1n1g,1n2g", "micro_batch_size=8"};
  const auto plan = plan_of(
      small_config(), {"grid.topology=[\"1n1g\",\"1n2g\",\"1n4g\"]", "grid.micro_batch_size=[4,8]"},
      options);
  EXPECT_EQ(plan.cells.size(), 6u);
  std::set<std::string> chosen;
  for (const auto& trial : plan.trials) chosen.insert(plan.cells[trial.cell].key);
  EXPECT_THAT(chosen,
              ElementsAre("bert-tiny.fp32.s64.b8.a1.1n1g", "bert-tiny.fp32.s64.b8.a1.1n2g"));
}

TEST(SweepPlan, OnlyNamesWhatDoesNotExist) {
  const auto config = parse_config(small_config(), "test.json");
  PlanOptions options;
  options.only = {"topologie=1n1g"};
  EXPECT_THAT(make_plan(*config, options).error().message(), HasSubstr("did you mean 'topology'?"));
  options.only = {"topology=1n9g"};
  EXPECT_THAT(make_plan(*config, options).error().message(),
              HasSubstr("no cell has topology = '1n9g'; values: 1n1g"));
}

TEST(SweepPlan, PutsFurtherAxesIntoTheIdentity) {
  const auto plan = plan_of(small_config(), {"grid.optimizer=lamb", "grid.env.NCCL_DEBUG=WARN"});
  EXPECT_EQ(plan.cells[0].key, "bert-tiny.fp32.s64.b4.a1.1n1g+env.NCCL_DEBUG=WARN+optimizer=lamb");
  EXPECT_EQ(plan.cells[0].identity.framework, "bert_train");
}

TEST(SweepPlan, LabelsWhatIsEmulatedHere) {
  PlanOptions options;
  options.cores = 2;
  const auto plan = plan_of(small_config(), {"grid.topology=[\"2n2g\"]"}, options);
  EXPECT_TRUE(plan.cells[0].emulated);
  EXPECT_THAT(texts_of(plan.cells[0].warnings),
              ElementsAre(HasSubstr("nodes are emulated"), HasSubstr("stands in for a GPU"),
                          "ranks outnumber cores: 4 ranks on 2 cores"));
  // Of cells that are not run nothing is said before the start.
  const auto two = plan_of(small_config(), {"grid.topology=[\"1n1g\",\"2n2g\"]"}, options);
  EXPECT_THAT(two.notices, Contains(HasSubstr("nodes are emulated")));
  options.only = {"topology=1n1g"};
  const auto one = plan_of(small_config(), {"grid.topology=[\"1n1g\",\"2n2g\"]"}, options);
  EXPECT_TRUE(one.notices.empty());
  const auto cuda = plan_of(small_config(R"(, "args": ["--backend", "cuda"])"));
  EXPECT_FALSE(cuda.cells[0].emulated);
  EXPECT_TRUE(cuda.cells[0].warnings.empty());
}

TEST(SweepPlan, DividesTheCoresAmongTheRanks) {
  PlanOptions options;
  options.cores = 8;
  const auto threads = [&](const std::string& topology) {
    const auto plan = plan_of(small_config(), {"grid.topology=" + topology}, options);
    const auto line = dry_run(plan, "run")->front();
    const auto at = line.find("--threads ");
    return line.substr(at + 10, line.find(' ', at + 10) - at - 10);
  };
  EXPECT_EQ(threads("1n1g"), "8");
  EXPECT_EQ(threads("1n3g"), "2");
  EXPECT_EQ(threads("2n8g"), "1");
}

TEST(SweepPlan, DryRunShowsTheExactCommandAndNeedsNeitherTrainerNorHosts) {
  PlanOptions options;
  options.trainer = "/nowhere/bert_train";
  options.cores = 2;
  const auto local =
      *dry_run(plan_of(small_config(R"(, "args": ["--seed", "3"])"), {}, options), "");
  EXPECT_EQ(local.size(), 2u);
  EXPECT_EQ(local[0],
            "bert-tiny.fp32.s64.b4.a1.1n1g+seed=3 trial=1 world_size=1 launcher=local : RANK=0 "
            "LOCAL_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 GROUP_RANK=0 MASTER_ADDR=127.0.0.1 "
            "MASTER_PORT='<port>' /nowhere/bert_train --model bert-tiny --precision fp32 "
            "--micro-batch-size 4 --gradient-accumulation-steps 1 --sequence-length 64 --steps 20 "
            "--timings '<out>/bert-tiny.fp32.s64.b4.a1.1n1g+seed=3/trial_1/timings.jsonl' "
            "--threads 2 --expect-world-size 1 --seed 3");
  for (const char* launcher : {"mpi", "slurm", "ssh"}) {
    options.launcher = launcher;
    const auto lines = *dry_run(plan_of(small_config(), {"grid.topology=2n2g"}, options), "run");
    EXPECT_THAT(lines[0], HasSubstr("world_size=4 launcher=" + std::string(launcher))) << lines[0];
    EXPECT_EQ(test::count(lines[0], "\n"), 0u);
    if (options.launcher != "slurm") {
      EXPECT_THAT(lines[0], HasSubstr("<host2>"));
    }
  }
}

TEST(SweepPlan, GivesSlurmItsFurtherOptionsAndTheContainer) {
  PlanOptions options;
  options.launcher = "slurm";
  const auto plan =
      plan_of(small_config(R"(, "env": {"NCCL_DEBUG": "INFO"}, "slurm": {"args": ["--nodelist=n3"],
          "container": {"image": "/i.sqsh", "mounts": ["/data:/data:ro"], "workdir": "/w"}})"),
              {}, options);
  const auto processes =
      value_of((*find_launcher("slurm"))->processes(plan, plan.trials[0], {"/run/t", 1, ""}));
  const auto& argv = processes.front().argv;
  EXPECT_THAT(argv, IsSupersetOf({"--nodelist=n3", "--container-image=/i.sqsh",
                                  "--container-mounts=/data:/data:ro,/run/t:/run/t",
                                  "--container-workdir=/w", "--container-env=NCCL_DEBUG"}));
  BatchJob job;
  const auto submit = slurm_batch.submit_command(plan, job);
  EXPECT_THAT(submit, Contains("--nodelist=n3"));
  EXPECT_THAT(submit, Not(Contains(HasSubstr("container"))));
  EXPECT_FALSE((*find_launcher("slurm"))->processes(plan, plan.trials[0], {"/run,1/t", 1, ""}));
}

// A phase leaves its checkpoint next to its attempts, and the next one finds it there.
TEST(SweepPlan, AContainerHoldsTheCheckpointsOfPhases) {
  PlanOptions options;
  options.launcher = "slurm";
  const auto plan = plan_of(R"({"grid": {"topology": "1n1g", "model": "bert-tiny"},
      "phases": [{"sequence_length": 64, "micro_batch_size": 4, "steps": 20},
                 {"sequence_length": 128, "micro_batch_size": 2, "steps": 10}],
      "trials": 1, "slurm": {"container": {"image": "/i.sqsh"}}})",
                            {}, options);
  const auto mounts_of = [&](std::size_t trial, const std::string& attempt) {
    const LaunchPlace place{"/run/" + plan.cells[plan.trials[trial].cell].folder + attempt, 1, ""};
    return (*find_launcher("slurm"))->processes(plan, plan.trials[trial], place)->front().argv;
  };
  const auto one = "/run/" + plan.cells[0].folder + "/trial_1";
  const auto two = "/run/" + plan.cells[1].folder + "/trial_1";
  const auto twice = [](const std::string& path) { return path + ":" + path; };
  EXPECT_THAT(mounts_of(0, "/trial_1"), Contains("--container-mounts=" + twice(one)));
  EXPECT_THAT(mounts_of(0, "/trial_1/attempt_2"),
              Contains("--container-mounts=" + twice(one + "/attempt_2") + "," + twice(one)));
  EXPECT_THAT(mounts_of(1, "/trial_1"),
              Contains("--container-mounts=" + twice(two) + "," + twice(one)));
}

TEST(SweepPlan, DryRunKeepsHostileTextOnOneLineAndQuoted) {
  const auto lines = *dry_run(
      plan_of(small_config(), {"grid.vocabulary=[\"$(touch pwned)\"]", "grid.data=a\nb;'c"}),
      "run");
  EXPECT_EQ(test::count(lines[0], "\n"), 0u);
  EXPECT_THAT(lines[0], HasSubstr("--vocabulary '$(touch pwned)'"));
  EXPECT_THAT(lines[0], HasSubstr(R"(--data $'a\x0ab;\'c')"));
}

TEST(SweepPlan, QuotesTwiceForTheShellBehindSsh) {
  PlanOptions options;
  options.launcher = "ssh";
  const auto plan = plan_of(small_config(), {"grid.vocabulary=[\"; touch pwned\"]"}, options);
  const auto processes =
      value_of((*find_launcher("ssh"))->processes(plan, plan.trials[0], {"/d", 1, "m"}));
  const auto& argv = processes.front().argv;
  EXPECT_EQ(argv[argv.size() - 3], "--");
  EXPECT_THAT(argv.back(), HasSubstr("'--vocabulary' '; touch pwned'"));
}

TEST(SweepPlan, TurnsFlagsIntoArgumentsOnlyWhenTrue) {
  const auto lines = *dry_run(plan_of(small_config(), {"grid.deterministic=[true,false]"}), "");
  EXPECT_THAT(lines[0], HasSubstr(" --deterministic"));
  EXPECT_THAT(lines[1], Not(HasSubstr(" --deterministic")));
}

TEST(SafeNames, NeverLeaveTheFolderAndNeverCollide) {
  const std::vector<std::string> names{"../x",
                                       "/etc/x",
                                       "a/b",
                                       "a_b",
                                       ".",
                                       "..",
                                       "",
                                       "A",
                                       "a",
                                       "-rf",
                                       "a\nb",
                                       std::string(300, 'y'),
                                       std::string(299, 'y') + "z",
                                       "bert.s64+env.A=1"};
  const auto safe = safe_names(names);
  std::set<std::string> folded;
  for (const auto& name : safe) {
    EXPECT_EQ(name.find('/'), std::string::npos);
    EXPECT_FALSE(name.empty() || name[0] == '.' || name[0] == '-') << name;
    EXPECT_LE(name.size(), 130u);
    std::string low = name;
    for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_TRUE(folded.insert(low).second) << name;
  }
  EXPECT_EQ(safe.back(), "bert.s64+env.A=1");
}

}  // namespace
}  // namespace bertbench
