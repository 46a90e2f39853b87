#include "harness/sweep/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string error_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  const auto config = parse_config(text, "sweep.json", sets);
  return config ? "no error" : config.error().message();
}

TEST(SweepConfig, ReadsTheContractsExampleWithComments) {
  const auto config = value_of(parse_config(R"({
  // a comment
  "name": "quickstart", "workload": "bert_train",
  "grid": {"topology": ["1n1g", "1n2g"], "model": ["bert-tiny", "bert-mini"], "precision": ["fp32"],
           "micro_batch_size": [4, 8], "sequence_length": [64], "gradient_accumulation_steps": [1]},
  "zip": [], "exclude": [{"topology": "4n8g", "micro_batch_size": 96}],
  "args": ["--optimizer", "lamb"], "env": {"NCCL_P2P_DISABLE": "1"}, "hosts": [],
  "trials": 5, "steps": 60, "window": "steps:20:60", "launcher": "local", "timeout_s": 600,
  "stall_timeout_s": 60, "retries": 1, "order": "interleaved" /* the default */
})",
                                            "sweep.json"));
  EXPECT_EQ(config.axis("micro_batch_size")->values, (std::vector<std::string>{"4", "8"}));
  EXPECT_EQ(config.env.at("NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(config.window.str(), "steps:20:60");
  EXPECT_EQ(config.timeout_s, 600);
}

TEST(SweepConfig, WritesAConfigThatReadsBackTheSame) {
  const auto config = value_of(parse_config(
      small_config(R"(, "env": {"A": "b c"}, "exclude": [{"model": "x"}], "hosts": ["n1", "n2"])"),
      "sweep.json"));
  const auto text = config_to_json(config);
  const auto again = value_of(parse_config(text, "sweep.json"));
  EXPECT_EQ(config_to_json(again), text);
  EXPECT_EQ(again.hosts, config.hosts);
  EXPECT_TRUE(nlohmann::json::parse(text)["grid"]["micro_batch_size"][0].is_number_integer());
}

TEST(SweepConfig, NamesFileLinePathAndNearestKeyOfAnUnknownKey) {
  EXPECT_EQ(error_of("{\n\n  \"stepps\": 3\n}"),
            "sweep.json:3: stepps: unknown key 'stepps'; did you mean 'steps'?");
}

TEST(SweepConfig, NamesTheLineOfAnUnknownAxisBehindCommentsAndStrings) {
  const std::string text =
      "{ // \"grid\": {\n/* \n\"grid\" */ \"name\": \"a // \\\" {\",\n"
      "\"grid\": {\n  \"topology\": [\n    \"1n1g\"],\n  \"modle\": \"x\"}}";
  EXPECT_EQ(error_of(text),
            "sweep.json:7: grid.modle: unknown axis 'modle' of workload bert_train; did you mean "
            "'model'?");
}

TEST(SweepConfig, NamesTheLineOfAWrongTypeDeepInAList) {
  EXPECT_EQ(error_of("{\"grid\": {\"topology\": [\"1n1g\",\n\n {}], \"model\": \"m\"}}"),
            "sweep.json:3: grid.topology[1]: must be text, a number, true or false, not an object");
}

TEST(SweepConfig, RefusesImpossibleTopologies) {
  for (const char* bad : {"0n1g", "1n0g", "-1n2g", "1n-2g", "2g1n", "1n1g ", "8", "", "1n1gx",
                          "01234567n1g", "1N8G"}) {
    EXPECT_THAT(error_of(small_config(), {std::string("grid.topology=[\"") + bad + "\"]"}),
                HasSubstr("is an impossible topology; write NnGg"))
        << bad;
  }
}

TEST(SweepConfig, RefusesImpossibleNumbers) {
  for (const char* bad : {"0", "-1", "1.5", "\"x\"", "\"\"", "1000000"}) {
    EXPECT_THAT(error_of(small_config(), {std::string("grid.micro_batch_size=") + bad}),
                HasSubstr("is impossible; use a whole number"))
        << bad;
  }
  EXPECT_THAT(error_of(small_config(), {"trials=0"}),
              HasSubstr("--set trials: must be a whole number from 1 to 100000, not 0"));
  EXPECT_THAT(error_of(small_config(), {"trials=18446744073709551615"}), HasSubstr("whole number"));
  EXPECT_THAT(error_of(small_config(), {"timeout_s=-1"}), HasSubstr("must be seconds"));
  EXPECT_THAT(error_of(small_config(), {"timeout_s=1e99"}), HasSubstr("must be seconds"));
}

TEST(SweepConfig, TakesTheLargestBatchAsAValueOfTheMicroBatchOnly) {
  EXPECT_EQ(error_of(small_config(), {"grid.micro_batch_size=max"}), "no error");
  EXPECT_EQ(error_of(small_config(), {"grid.micro_batch_size=[4, \"max\"]"}), "no error");
  EXPECT_THAT(error_of(small_config(), {"grid.micro_batch_size=largest"}),
              HasSubstr("'largest' is impossible"));
  EXPECT_THAT(error_of(small_config(), {"grid.sequence_length=max"}), HasSubstr("impossible"));
}

TEST(SweepConfig, TakesAutoTrialsWithTheirLimits) {
  const auto config = value_of(parse_config(
      small_config(), "test.json", {"trials=auto", "trials_max=12", "trials_interval=0.02"}));
  EXPECT_TRUE(config.auto_trials);
  EXPECT_EQ(config.trials_min, 6);
  EXPECT_EQ(config.trials, 12);
  EXPECT_EQ(config.trials_interval, 0.02);
  const auto again = value_of(parse_config(config_to_json(config), "again.json"));
  EXPECT_EQ(config_to_json(again), config_to_json(config));
  EXPECT_THAT(error_of(small_config(), {"trials_max=12"}), HasSubstr("is only for"));
  EXPECT_THAT(error_of(small_config(), {"trials=auto", "trials_min=5"}), HasSubstr("trials_min"));
  EXPECT_THAT(error_of(small_config(), {"trials=auto", "trials_min=9", "trials_max=8"}),
              HasSubstr("less than trials_min"));
  for (const char* width : {"0", "1", "-0.1", "x"}) {
    EXPECT_THAT(error_of(small_config(), {"trials=auto", std::string("trials_interval=") + width}),
                HasSubstr("between 0 and 1"));
  }
}

TEST(SweepConfig, RefusesAWindowBehindTheLastStep) {
  EXPECT_EQ(error_of(small_config(), {"window=steps:10:21"}),
            "--set window: ends at step 21, but a trial has 20 steps; raise steps or end the "
            "window earlier");
  EXPECT_THAT(error_of(small_config(), {"window=ten"}), HasSubstr("'ten' is no window"));
}

TEST(SweepConfig, AcceptsEveryTrainerOptionAsAnAxisInBothSpellings) {
  const auto config = value_of(parse_config(
      small_config(), "sweep.json",
      {"grid.optimizer=[\"adamw\",\"lamb\"]", "grid.activation-checkpointing=[true,false]",
       "grid.gradient_clipping=0.5", "grid.env.NCCL_P2P_DISABLE=[0,1]"}));
  EXPECT_THAT(config.axis("activation_checkpointing")->values, ElementsAre("true", "false"));
  EXPECT_THAT(config.axis("env.NCCL_P2P_DISABLE")->values, ElementsAre("0", "1"));
  EXPECT_THAT(error_of(small_config(), {"grid.optimizer=sgd"}),
              HasSubstr("'sgd' is not one of adamw, lamb"));
  EXPECT_THAT(error_of(small_config(), {"grid.env.1A=x"}),
              HasSubstr("cannot name an environment variable"));
}

TEST(SweepConfig, RefusesArgumentsThatTheGridOrTheHarnessSets) {
  EXPECT_THAT(error_of(small_config(R"(, "args": ["--micro-batch-size", "3"])")),
              HasSubstr("args[0]: --micro-batch-size is an axis of every cell"));
  EXPECT_THAT(error_of(small_config(R"(, "args": ["--steps=3"])")),
              HasSubstr("--steps is set by the harness; use the key 'steps'"));
  EXPECT_THAT(error_of(small_config(R"(, "args": ["--optimiser", "lamb"])")),
              HasSubstr("bert_train has no option --optimiser; did you mean --optimizer?"));
  EXPECT_THAT(error_of(small_config(R"(, "args": ["--optimizer", "sgd"])")),
              HasSubstr("'sgd' is not one of adamw, lamb"));
}

TEST(SweepConfig, RefusesAModelThatTheTrainerDoesNotHave) {
  EXPECT_THAT(error_of(small_config(), {"grid.model=bert-tinny"}),
              HasSubstr("did you mean 'bert-tiny'?"));
}

TEST(SweepConfig, ChecksZipsAndExcludes) {
  EXPECT_THAT(error_of(small_config(R"(, "zip": [["model", "micro_batch_sizes"]])")),
              HasSubstr("zip[0][1]: 'micro_batch_sizes' is no axis of the grid"));
  EXPECT_THAT(
      error_of(small_config(R"(, "zip": [["model", "micro_batch_size"]])"),
               {"grid.model=[\"bert-tiny\",\"bert-mini\"]"}),
      HasSubstr("zipped axes need equally many values: model has 2, micro_batch_size has 1"));
  EXPECT_THAT(error_of(small_config(R"(, "exclude": [{"optimizer": "lamb"}])")),
              HasSubstr("'optimizer' is no axis of the grid, so it excludes nothing"));
  EXPECT_THAT(error_of(small_config(), {"grid.model=[\"bert-tiny\",\"bert-tiny\"]"}),
              HasSubstr("'bert-tiny' is there twice"));
}

TEST(SweepConfig, RefusesBrokenJsonWithItsLine) {
  EXPECT_THAT(error_of("{\n\"name\": \"a\",\n}"), HasSubstr("sweep.json:3: is not JSON"));
  EXPECT_THAT(error_of(""), HasSubstr("sweep.json: is empty"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("a sweep is a JSON object"));
  EXPECT_THAT(error_of("{\"name\": \"a\",\n\"name\": \"b\"}"),
              HasSubstr("sweep.json:2: name: named twice, first on line 1"));
}

TEST(SweepConfig, RefusesAnUnknownWorkloadAndANulByte) {
  EXPECT_THAT(error_of("{\"workload\": \"bert_trian\"}"), HasSubstr("did you mean 'bert_train'?"));
  EXPECT_THAT(error_of(small_config(R"(, "args": ["a\u0000b"])")), HasSubstr("NUL byte"));
}

TEST(SweepConfig, TakesFurtherOptionsOfSlurmAndAContainer) {
  const auto config = value_of(
      parse_config(small_config(R"(, "slurm": {"args": ["--nodelist=node[1-2]", "--comment=a b"],
          "container": {"image": "docker://a#b", "mounts": ["/data:/data:ro"], "workdir": "/w"}})"),
                   "t.json"));
  EXPECT_EQ(config.slurm.args, (std::vector<std::string>{"--nodelist=node[1-2]", "--comment=a b"}));
  EXPECT_EQ(config.slurm.container.mounts, std::vector<std::string>{"/data:/data:ro"});
  const auto error = [](const char* set) { return error_of(small_config(), {set}); };
  EXPECT_THAT(error(R"(slurm.args=["-w", "n1"])"), HasSubstr("'-w' is no long option"));
  EXPECT_THAT(error(R"(slurm.args=["--nodes=3"])"), HasSubstr("'--nodes' is set by the launcher"));
  EXPECT_THAT(error(R"(slurm.args=["--outpu=a.log"])"),
              HasSubstr("'--outpu' is set by the launcher"));
  EXPECT_THAT(error("slurm.container.workdir=/w"), HasSubstr("has no image"));
  EXPECT_THAT(error(R"(slurm.container={"image":"i","mounts":["/a:/a,/b:/b"]})"),
              HasSubstr("is no SOURCE:TARGET without a comma"));
  EXPECT_THAT(error("slurm.container=x"), HasSubstr("must be an object"));
  EXPECT_THAT(error(R"(slurm.container={"img":"x"})"), HasSubstr("known: image, mounts, workdir"));
}

TEST(SweepConfig, ReadsAHostfileBesideTheConfig) {
  test::ScratchFolder folder;
  folder.put("hosts.txt", "# cluster\nnode1 slots=8\n\n  node2\n");
  folder.put("c.json", small_config(R"(, "hosts": "hosts.txt")"));
  const auto config = value_of(load_config(folder.path("c.json")));
  EXPECT_THAT(config.hosts, ElementsAre("node1", "node2"));
  EXPECT_THAT(config.slots, ElementsAre(Pair("node1", 8)));
  PlanOptions ssh;
  ssh.launcher = "ssh";
  auto nine = config;
  nine.grid[0].values = {"1n9g"};
  ASSERT_TRUE(make_plan(nine)) << "local does not use the hosts";
  EXPECT_THAT(make_plan(nine, ssh).error().message(), HasSubstr("1n9g needs 9 slots of node1"));
  // The run folder keeps what the hostfile stated: a resume by its sweep.json has no hostfile.
  const auto again = value_of(parse_config(config_to_json(config), "run/sweep.json", {}));
  EXPECT_EQ(again.hosts, config.hosts);
  EXPECT_EQ(again.slots, config.slots);
  nine.grid[0].values = {"2n8g"};
  EXPECT_TRUE(make_plan(nine, ssh)) << "node2 has no number";
  folder.put("hosts.txt", "node1:8\nfe80::1\n");
  const auto mpich = value_of(load_config(folder.path("c.json")));
  EXPECT_THAT(mpich.hosts, ElementsAre("node1", "fe80::1"));
  EXPECT_THAT(mpich.slots, ElementsAre(Pair("node1", 8)));
  // Seen: what followed the name was ignored without a word.
  for (const char* option : {"slot=4", "slots=0", "slots=4 user=x", "port 22"}) {
    folder.put("hosts.txt", std::string("node1 ") + option + "\n");
    const auto odd = load_config(folder.path("c.json"));
    ASSERT_FALSE(odd) << option;
    EXPECT_THAT(odd.error().message(),
                HasSubstr(std::string("'") + option + "' is not understood"));
  }
  folder.put("hosts.txt", "node1 slots=2\nnode2\nnode1 slots=3\n");
  const auto twice = value_of(load_config(folder.path("c.json")));
  EXPECT_THAT(twice.slots, ElementsAre(Pair("node1", 5)));
  const auto same = value_of(parse_config(config_to_json(twice), "run/sweep.json", {}));
  EXPECT_EQ(same.hosts, twice.hosts);
  EXPECT_EQ(same.slots, twice.slots);
  folder.put("hosts.txt", "node1\n-oProxyCommand=touch pwned\n");
  const auto bad = load_config(folder.path("c.json"));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message(), HasSubstr("hosts.txt:2"));
}

TEST(SweepConfig, NamesAPathThatCannotBeRead) {
  EXPECT_THAT(load_config("/nonexistent/sweep.json").error().message(),
              HasSubstr("/nonexistent/sweep.json: cannot be read: No such file"));
  EXPECT_THAT(load_config("/tmp").error().message(), HasSubstr("is a folder"));
}

TEST(SweepConfig, TheSchemaNamesTheSameKeys) {
  const auto schema = nlohmann::json::parse(
      test::read_file(BB_SOURCE_DIR "/configs/schema/sweep.schema.json"))["properties"];
  const auto config =
      value_of(parse_config(small_config(), "sweep.json",
                            {"trials=auto", "record_hostname=true", "seed=per_trial",
                             "secret=[\"PIN\"]", "pty=true", "scaling=weak"}));
  const auto command = parse_config(
      R"({"command": ["t", "{file:a}", "{steps}"], "each": "node", "framework": "f",
          "files": {"a": "x"}, "logs": ["{output}/l"], "format": "tqdm", "setup": ["a"],
          "cleanup": ["b"], "trial_setup": ["c"], "trial_cleanup": ["d"]})",
      "command.json");
  ASSERT_TRUE(command) << command.error().message();
  const auto variants = value_of(parse_config(
      small_config(R"(, "variants": {"base": {}, "new": {}}, "turn_s": 0.01)"), "variants.json"));
  const auto phases = parse_config(
      R"({"grid": {"topology": "1n1g", "model": "bert-tiny", "sequence_length": 64,
          "micro_batch_size": 4}, "phases": [{"steps": 2}, {"steps": 3}]})",
      "phases.json");
  ASSERT_TRUE(phases) << phases.error().message();
  auto keys = nlohmann::json::parse(config_to_json(config));
  keys.update(nlohmann::json::parse(config_to_json(*phases)));
  keys.update(nlohmann::json::parse(config_to_json(variants)));
  keys.update(nlohmann::json::parse(config_to_json(*command)));
  for (const auto& [key, value] : keys.items()) EXPECT_TRUE(schema.contains(key)) << key;
  for (const auto& [key, value] : schema.items()) {
    EXPECT_TRUE(keys.contains(key) || key == "$schema") << key;
  }
}

/// For each member with words or limits, by its path, a value that the schema forbids.
void forbidden(const nlohmann::json& schema, const nlohmann::json& of, const std::string& path,
               std::vector<std::string>& sets) {
  for (const auto& [key, member] : of["properties"].items()) {
    nlohmann::json rule = member;
    if (key == "grid" || key == "each") continue;  // tested with axes and with commands
    if (rule.contains("$ref")) {
      rule = schema.at(nlohmann::json::json_pointer(std::string(rule["$ref"]).substr(1)));
    }
    if (rule.contains("properties")) forbidden(schema, rule, path + key + ".", sets);
    if (rule.contains("enum")) sets.push_back(path + key + "=nonsense");
    for (const auto& [limit, beyond] :
         {std::pair("minimum", -1), std::pair("exclusiveMinimum", 0), std::pair("maximum", 1)}) {
      if (!rule.contains(limit)) continue;
      sets.push_back(path + key + "=" + std::to_string(rule[limit].get<std::int64_t>() + beyond));
    }
  }
}

TEST(SweepConfig, RefusesWhatTheSchemaForbids) {
  std::vector<std::string> sets;
  const auto schema =
      nlohmann::json::parse(test::read_file(BB_SOURCE_DIR "/configs/schema/sweep.schema.json"));
  forbidden(schema, schema, "", sets);
  EXPECT_GT(sets.size(), 25U);
  for (const std::string& set : sets) {
    EXPECT_THAT(
        error_of(small_config(R"(, "variants": {"base": {}, "new": {}})"), {"trials=auto", set}),
        testing::MatchesRegex("--set " + set.substr(0, set.find('=')) +
                              ": (must be |'nonsense' is not one of ).*"));
  }
}

TEST(SweepConfig, EveryShippedConfigCanBePlanned) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BB_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".json" || entry.path().filename() == "hardware.json") continue;
    const auto config = value_of(load_config(entry.path().string()));
    const auto plan = make_plan(config);
    ASSERT_TRUE(plan) << entry.path() << plan.error().message();
    EXPECT_TRUE(dry_run(*plan, "")) << entry.path();
    ++seen;
  }
  EXPECT_GE(seen, 11);
}

}  // namespace
}  // namespace bertbench
