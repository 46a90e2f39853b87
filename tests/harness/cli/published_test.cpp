// `compare RUN --published NAME` and `list published`.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/cells/result_builder.h"
#include "reports/model/result_io.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Identity mxnet(std::int64_t nodes, std::int64_t gpus) {
  return {.framework = "mxnet",
          .model = "bert-base",
          .precision = "fp32",
          .sequence_length = 128,
          .micro_batch_size = 32,
          .gradient_accumulation_steps = 1,
          .nodes = nodes,
          .gpus_per_node = gpus,
          .axes = {}};
}

Trial trial_of(double rate, int number) {
  Trial trial;
  trial.trial = number;
  trial.outcome.status = Status::completed;
  trial.window = {"100:200", "user", true, 100, 200};
  trial.iterations = {200, 100, 100};
  trial.sequences_per_second = rate;
  trial.estimator = "step_time";
  return trial;
}

/// Seven trials of each of these cells, around `rate`.
ResultSet results(const std::vector<std::pair<Identity, double>>& cells) {
  ResultBuilder builder({});
  for (const auto& [identity, rate] : cells) {
    for (int i = 0; i < 7; ++i) {
      builder.add_trial(identity, WorkKind::training,
                        trial_of(rate * (1 + 0.001 * (i - 3)), i + 1));
    }
  }
  return builder.finish();
}

class PublishedTest : public CliTest {
 protected:
  std::string store(const ResultSet& set) const { return put("run.json", to_text(set)); }
  json compared(const ResultSet& set, const std::string& page, int status = 0) const {
    const Ran ran = run({"compare", store(set), "--published", page, "--json"});
    EXPECT_EQ(ran.status, status) << ran.err;
    return json::parse(ran.out);
  }
};

TEST_F(PublishedTest, EveryCellStandsBesideItsRowWithRatioIntervalSpeedupAndEfficiency) {
  const json report =
      compared(results({{mxnet(1, 1), 300.22}, {mxnet(4, 8), 7342.9}}), "dlperf-mxnet");
  EXPECT_EQ(report["schema"], "bertbench.compare-published/1");
  ASSERT_EQ(report["cells"].size(), 2U);
  const json& one = report["cells"][0];
  EXPECT_EQ(one["line"], 291);
  EXPECT_EQ(one["published"], 150.11);
  EXPECT_NEAR(one["ratio"].get<double>(), 2.0, 1e-9);
  EXPECT_EQ(one["n"], 7);
  EXPECT_NEAR(one["interval"]["low"].get<double>(), 2 * 0.997, 1e-9);
  EXPECT_NEAR(one["interval"]["high"].get<double>(), 2 * 1.003, 1e-9);
  const json& many = report["cells"][1];
  EXPECT_EQ(many["line"], 296);
  EXPECT_EQ(many["speedup"]["base"], "1n1g");
  EXPECT_EQ(many["speedup"]["published"], 24.46);
  EXPECT_NEAR(many["speedup"]["ours"].get<double>(), 7342.9 / 300.22, 1e-9);
  EXPECT_NEAR(many["scaling_efficiency"]["published"].get<double>(), 24.46 / 32, 1e-12);
  EXPECT_NEAR(many["scaling_efficiency"]["ours"].get<double>(), 7342.9 / 300.22 / 32, 1e-9);
  EXPECT_THAT(one["unknown_to_page"],
              ElementsAre("sequence_length", "gradient_accumulation_steps"));
  EXPECT_THAT(one["unknown_to_us"], ElementsAre("gradient_clipping", "xla"));
}

TEST_F(PublishedTest, TheTableFitsAHundredColumnsAndNamesWhatIsUnlike) {
  ResultSet set = results({{mxnet(1, 1), 300.22}, {mxnet(1, 8), 2117.2}});
  for (Cell& cell : set.cells) {
    cell.gpu = "NVIDIA H200";
    cell.identity.framework = "bert_train";
  }
  Terminal terminal;
  terminal.out_is_terminal = true;
  terminal.width = 100;
  const Ran ran = run_to(0, {"compare", store(set), "--published", "dlperf-mxnet"}, terminal);
  EXPECT_THAT(ran.out, HasSubstr("unlike gpu: published on Tesla V100-SXM2-16GB, ours on NVIDIA "
                                 "H200\n"));
  EXPECT_THAT(ran.out, HasSubstr("unlike framework: published on mxnet, ours on bert_train\n"));
  EXPECT_THAT(ran.out, HasSubstr("the page does not state sequence_length"));
  EXPECT_THAT(ran.out, HasSubstr("7.052 (7.050)"));
  std::istringstream lines(ran.out);
  bool table = false;
  for (std::string line; std::getline(lines, line);) {
    table = table || line.starts_with("cell");
    if (line.starts_with("bert-base") || line.starts_with("cell")) {
      EXPECT_LE(line.size(), 100U) << line;
    }
  }
  EXPECT_TRUE(table) << ran.out;
}

TEST_F(PublishedTest, LikeHardwareIsNotCalledUnlike) {
  ResultSet set = results({{mxnet(1, 1), 150}});
  set.cells[0].gpu = "Tesla V100-SXM2-16GB";
  const json report = compared(set, "dlperf-mxnet");
  EXPECT_TRUE(report["cells"][0]["differences"].empty()) << report;
  set.cells[0].gpu.clear();
  EXPECT_EQ(compared(set, "dlperf-mxnet")["cells"][0]["differences"][0]["fact"], "gpu");
}

TEST_F(PublishedTest, StandInsAreLabelled) {
  ResultSet set = results({{mxnet(1, 2), 20}});
  set.cells[0].emulated = true;
  const std::string path = store(set);
  EXPECT_EQ(compared(set, "dlperf-mxnet")["cells"][0]["emulated"], true);
  const Ran ran = run({"compare", path, "--published", "dlperf-mxnet"});
  EXPECT_THAT(ran.out, HasSubstr("CPU ranks stand in for GPUs"));
  EXPECT_THAT(ran.out, HasSubstr("ours on stand-ins"));
}

TEST_F(PublishedTest, OtherWorkHasNothingInCommon) {
  Identity other = mxnet(1, 1);
  other.micro_batch_size = 40;
  const Ran ran =
      run_to(4, {"compare", store(results({{other, 150}})), "--published", "dlperf-mxnet"});
  EXPECT_THAT(ran.err,
              ContainsRegex("no published row is of this work; of the nearest, bert-base[^,]*, "
                            "micro_batch_size is [0-9]+ there and 40\\s+here\n"));
  EXPECT_THAT(ran.err, HasSubstr("nothing in common with dlperf-mxnet"));
  // Facts that the page states otherwise: clipping by 1 is not "W/O clip".
  Identity clipped = mxnet(1, 1);
  clipped.axes["gradient_clipping"] = "1";
  EXPECT_EQ(compared(results({{clipped, 150}}), "dlperf-mxnet", 4)["unmatched"].size(), 1U);
  clipped.axes["gradient_clipping"] = "0.0";
  EXPECT_EQ(compared(results({{clipped, 150}}), "dlperf-mxnet")["cells"].size(), 1U);
}

TEST_F(PublishedTest, AnUnknownBatchStandsBesideEveryRowThatFits) {
  Identity some = mxnet(1, 8);
  some.micro_batch_size.reset();
  const json report = compared(results({{some, 1000}}), "dlperf-mxnet");
  ASSERT_EQ(report["cells"].size(), 3U);
  EXPECT_THAT(report["cells"][0]["unknown_to_us"].dump(), HasSubstr("micro_batch_size"));
}

TEST_F(PublishedTest, ACellWithoutModelOrGpusOrOfAnotherKindIsNotMatched) {
  Identity blank = mxnet(1, 1);
  blank.model.reset();
  const json report = compared(results({{blank, 1000}}), "dlperf-mxnet", 4);
  EXPECT_EQ(report["unmatched"][0]["reason"], "its model is not known");
  blank = mxnet(1, 1);
  blank.gpus_per_node.reset();
  EXPECT_EQ(compared(results({{blank, 1000}}), "dlperf-mxnet", 4)["unmatched"][0]["reason"],
            "its number of GPUs is not known");
  ResultSet evaluated = results({{mxnet(1, 1), 1000}});
  evaluated.cells[0].kind = WorkKind::evaluation;
  EXPECT_EQ(compared(evaluated, "dlperf-mxnet", 4)["unmatched"][0]["reason"],
            "no published row is of this work");
}

// bert_6 of the notebook: recomputation, 48.4 TFLOPS by its formula, 19.2 GB.
TEST_F(PublishedTest, TflopsAndMemoryStandBesideThoseOfTheNotebook) {
  Identity bert6{.framework = "pytorch",
                 .model = "bert-large",
                 .precision = "bf16",
                 .sequence_length = 128,
                 .micro_batch_size = 260,
                 .gradient_accumulation_steps = 4,
                 .nodes = 1,
                 .gpus_per_node = 1,
                 .axes = {{"gradient_checkpointing", "true"}, {"optim", "adamw_apex_fused"}}};
  ResultBuilder builder({});
  Trial trial = trial_of(139.2, 1);
  trial.memory = MemoryRecord{9'600'000'000, 0, "log"};
  builder.add_trial(bert6, WorkKind::training, trial);
  const json cell = compared(builder.finish(), "hf-notebook")["cells"][0];
  EXPECT_EQ(cell["line"], 216);
  ASSERT_EQ(cell["values"].size(), 2U);
  EXPECT_EQ(cell["values"][0]["unit"], "TFLOPS by notebook");
  EXPECT_NEAR(cell["values"][0]["ours"].get<double>(), 48.4, 0.05);
  EXPECT_EQ(cell["values"][1]["what"], "memory.peak_bytes");
  EXPECT_NEAR(cell["values"][1]["ratio"].get<double>(), 0.5, 1e-9);
  EXPECT_THAT(cell["doubts"].dump(), HasSubstr("the first is of the CPU"));
}

TEST_F(PublishedTest, APreTrainingIsNotSetBesideAFineTuning) {
  Identity squad{.framework = "pytorch",
                 .model = "bert-large",
                 .precision = "fp16",
                 .sequence_length = 384,
                 .micro_batch_size = 32,
                 .gradient_accumulation_steps = 1,
                 .nodes = 1,
                 .gpus_per_node = 8,
                 .axes = {}};
  EXPECT_EQ(compared(results({{squad, 800}}), "ngc-bert-pytorch", 4)["cells"].size(), 0U);
  squad.axes["task"] = "squad";
  const json report = compared(results({{squad, 800}}), "ngc-bert-pytorch");
  ASSERT_EQ(report["cells"].size(), 1U);
  EXPECT_EQ(report["cells"][0]["published"], 846.7);
}

TEST_F(PublishedTest, WrongNamesAndUsesAreStatusTwo) {
  const std::string result = store(results({{mxnet(1, 1), 150}}));
  const Ran near = run_to(2, {"compare", result, "--published", "dlperf-mxnt"});
  EXPECT_THAT(near.err, HasSubstr("did you mean 'dlperf-mxnet'?"));
  EXPECT_THAT(run({"compare", result, "--published", "zzz"}).err,
              HasSubstr("use one of bing-bert"));
  run_to(2, {"compare", result, result, "--published", "dlperf-mxnet"});
  const Ran none = run_to(2, {"compare", result});
  expect_one_error_line(none);
  EXPECT_THAT(none.err, HasSubstr("B is required"));
}

TEST_F(PublishedTest, AFileOfOnesOwnServesAsWell) {
  const std::string page = put("mine.json", R"({
    "schema": "bertbench.published/1", "name": "mine", "title": "ours of last year",
    "source": {"document": "wiki", "repository": ""}, "hardware": {}, "software": {},
    "method": "", "facts": {"model": "bert-base"},
    "tables": [{"title": "t", "base": {"nodes": 1, "gpus_per_node": 1},
      "columns": [{"key": "world_size"}, {"key": "nodes"}, {"key": "sequences_per_second"}],
      "rows": [[1, 1, 100], [8, 1, 600], [8, null, 500], [16, 2, 0]]}]})");
  // A job of 32 sequences, cut anew for eight GPUs, and a cell that the page has no rate of.
  Identity cut = mxnet(1, 8);
  cut.micro_batch_size = 4;
  const json report =
      compared(results({{mxnet(1, 1), 150}, {cut, 900}, {mxnet(2, 8), 1}}), page)["cells"];
  ASSERT_EQ(report.size(), 2U);
  EXPECT_EQ(report[0]["published"], 600) << "more in common than the row without nodes";
  EXPECT_NEAR(report[0]["speedup"]["ours"].get<double>(), 6, 1e-9);
  EXPECT_NEAR(report[1]["ratio"].get<double>(), 1.5, 1e-9);
  ResultSet of_stand_ins = results({{mxnet(1, 1), 150}, {cut, 900}});
  of_stand_ins.cells[1].emulated = true;
  EXPECT_FALSE(compared(of_stand_ins, page)["cells"][0].contains("speedup"));
  run_to(2, {"compare", path("run.json"), "--published", path("absent.json")});
}

TEST_F(PublishedTest, TheListNamesEveryPage) {
  const json list = json::parse(run({"list", "published", "--json"}).out)["published"];
  ASSERT_EQ(list.size(), 7U);
  EXPECT_EQ(list[2]["name"], "dlperf-mxnet");
  EXPECT_EQ(list[2]["gpu"], "Tesla V100-SXM2-16GB");
  EXPECT_THAT(run({"list", "published"}).out, HasSubstr("ngc-bert-pytorch"));
}

}  // namespace
}  // namespace bertbench::test
