// FLOP formulas and peak memory, from a log to every report.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/cells/result_builder.h"
#include "reports/model/result_io.h"
#include "reports/studies/audit/source_table.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// What the Trainer prints of a run of 50 steps: its losses come at each 500th, and so never here.
std::string trainer_log(const std::string& samples_per_second, bool recomputes,
                        const std::string& memory = "") {
  return std::string("gradient_checkpointing=") + (recomputes ? "True" : "False") +
         ",\n***** Running training *****\n  Num Epochs = 1\n  Total optimization steps = 50\n"
         "{'train_runtime': 31.5, 'train_samples_per_second': " +
         samples_per_second + ", 'train_steps_per_second': 1.6, 'train_loss': 2.5" + memory +
         ", 'epoch': 1.0}\n";
}

class MetricsTest : public CliTest {};

// Seed 002: each printed rate gives the TFLOPS that the notebook printed for it. Both are rounded
// to 0.1, so a figure may be one off where the rate's rounding allows it.
TEST_F(MetricsTest, TheNotebooksRatesGiveItsTflops) {
  const auto tables = audit::read_csv_tables(
      read_file(BB_SOURCE_DIR "/tests/data/published/seed002_transformers_notebook.csv"));
  ASSERT_EQ(tables.size(), 1U);
  int exact = 0, rows = 0;
  for (std::size_t r = 1; r < tables[0].rows.size(); ++r) {
    const auto& row =
        tables[0].rows[r].cells;  // line, run, model, length, gpus, ckpt, rate, TFLOPS
    const std::string log = put("log.txt", trainer_log(row.at(6), row.at(5) == "True"));
    const Ran ran =
        run_to(0, {"extract", log, "--model", row.at(2), "--sequence-length", row.at(3), "--nodes",
                   "1", "--gpus-per-node", row.at(4), "--flops-formula", "notebook", "--json"});
    const json cell = json::parse(ran.out)["cells"][0];
    EXPECT_EQ(cell["flops_formula"], "notebook");
    const double tflops = cell["tflops_per_gpu"];
    const double rate = std::stod(row.at(6)), printed = std::stod(row.at(7));
    EXPECT_NEAR(tflops, printed, 0.05 + tflops / rate * 0.05 + 1e-9) << row.at(1);
    exact += std::abs(tflops - printed) <= 0.05 ? 1 : 0;
    ++rows;
  }
  EXPECT_EQ(rows, 16);
  EXPECT_EQ(exact, 13) << "as `audit` finds";
}

TEST_F(MetricsTest, AllFormulasStandInTheJsonWhicheverIsChosen) {
  const std::string log = put("log.txt", trainer_log("88.9", false));
  const std::vector<std::string> facts{"--model", "bert-large", "--sequence-length", "128",
                                       "--nodes", "1",          "--gpus-per-node",   "1",
                                       "--json"};
  const auto cell = [&](std::vector<std::string> more) {
    std::vector<std::string> args{"extract", log};
    args.insert(args.end(), facts.begin(), facts.end());
    args.insert(args.end(), more.begin(), more.end());
    return json::parse(run(args).out)["cells"][0];
  };
  const json plain = cell({}), palm = cell({"--flops-formula", "palm"});
  EXPECT_EQ(plain["flops_formula"], "masked_head");
  EXPECT_EQ(palm["flops_formula"], "palm");
  EXPECT_EQ(plain["flops"], palm["flops"]);
  for (const char* formula : {"masked_head", "notebook", "megatron", "palm"}) {
    EXPECT_GT(plain["flops"][formula]["tflops_per_gpu"], 0) << formula;
  }
  EXPECT_EQ(palm["tflops_per_gpu"], plain["flops"]["palm"]["tflops_per_gpu"]);
  EXPECT_NE(palm["tflops_per_gpu"], plain["tflops_per_gpu"]);
}

TEST_F(MetricsTest, AReportRecountsByTheFormulaAskedForAndSaysWhich) {
  const std::string result = path("r.json");
  ASSERT_EQ(run({"extract", put("log.txt", trainer_log("88.9", false)), "--model", "bert-large",
                 "--sequence-length", "128", "--nodes", "1", "--gpus-per-node", "1", "-o", result})
                .status,
            0);
  EXPECT_THAT(run({"report", result}).out, HasSubstr("by formula masked_head"));
  for (const char* to : {"markdown", "html", "csv", "json", "prometheus"}) {
    const Ran ran = run_to(0, {"report", result, "--flops-formula", "notebook", "--to", to});
    EXPECT_THAT(ran.out, HasSubstr("notebook")) << to;
    EXPECT_THAT(ran.out, HasSubstr("23.18")) << to;
  }
  // What a result was counted by stays when it is written again.
  ASSERT_EQ(run({"report", result, "--flops-formula", "notebook", "-o", path("n.json")}).status, 0);
  EXPECT_EQ(json::parse(run({"report", path("n.json"), "--json"}).out)["cells"][0]["flops_formula"],
            "notebook");
}

TEST_F(MetricsTest, TheTextNamesTheFormula) {
  const std::string log = put("log.txt", trainer_log("88.9", false));
  const Ran ran = run({"extract", log, "--model", "bert-large", "--sequence-length", "128",
                       "--nodes", "1", "--gpus-per-node", "1", "--flops-formula", "notebook"});
  EXPECT_THAT(ran.out, HasSubstr("23.18 TFLOPS per GPU by notebook"));
  const Ran summary =
      run({"extract", log, "--model", "bert-large", "--sequence-length", "128", "--nodes", "1",
           "--gpus-per-node", "1", "--flops-formula", "megatron", "--summary"});
  EXPECT_THAT(summary.out, HasSubstr("TFLOPS and MFU by the formula megatron"));
}

TEST_F(MetricsTest, AnUnknownFormulaIsAWrongUsageWithTheNearest) {
  for (const char* command : {"extract", "report", "sweep"}) {
    const Ran ran = run_to(2, {command, "x", "--flops-formula", "notebok"});
    expect_one_error_line(ran);
    EXPECT_EQ(ran.err,
              "bertbench: --flops-formula: 'notebok' is no formula of FLOPs; did you mean "
              "'notebook'?\n");
  }
}

constexpr const char* kMemory =
    ", 'init_mem_gpu_alloc_delta': 1345294336, 'init_mem_gpu_peaked_delta': 0, "
    "'train_mem_gpu_alloc_delta': 4055891968, 'train_mem_gpu_peaked_delta': 17600000000";
constexpr const char* kPeakText = "21.4 GiB";  // 23001186304 bytes

TEST_F(MetricsTest, PeakMemoryOfTheTrainerReachesEveryReport) {
  const std::string result = path("r.json");
  const Ran text = run({"extract", put("log.txt", trainer_log("88.9", false, kMemory)), "--model",
                        "bert-large", "--sequence-length", "128", "-o", result});
  EXPECT_THAT(text.out, HasSubstr(std::string(kPeakText) + " at most, by log"));
  const json cell = json::parse(run({"report", result, "--json"}).out)["cells"][0];
  EXPECT_EQ(cell["memory"]["peak_bytes"], 23001186304);
  EXPECT_EQ(cell["memory"]["source"], "log");
  for (const char* to : {"markdown", "html"}) {
    const std::string out = run({"report", result, "--to", to}).out;
    EXPECT_THAT(out, HasSubstr("peak memory")) << to;
    EXPECT_THAT(out, HasSubstr(kPeakText)) << to;
  }
  EXPECT_THAT(run({"report", result, "--to", "csv"}).out, HasSubstr("memory_peak_bytes"));
  EXPECT_THAT(run({"report", result, "--to", "csv"}).out, HasSubstr(",23001186304,"));
  EXPECT_THAT(run({"report", result, "--to", "junit"}).out,
              HasSubstr("peak_memory_bytes: 23001186304"));
  EXPECT_THAT(
      run({"report", result, "--to", "prometheus"}).out,
      testing::ContainsRegex("bertbench_peak_memory_bytes\\{.*source=\"log\"\\} 23001186304"));
}

TEST_F(MetricsTest, TheMemoryOfACellIsTheMostOfItsTrialsThatDidNotRunOut) {
  ResultBuilder builder({});
  const Identity identity{.framework = "pytorch",
                          .model = "bert-large",
                          .precision = "bf16",
                          .sequence_length = 128,
                          .micro_batch_size = 64,
                          .gradient_accumulation_steps = 1,
                          .nodes = 1,
                          .gpus_per_node = 1,
                          .axes = {}};
  const auto add = [&](int number, std::int64_t bytes, Status status) {
    Trial trial;
    trial.trial = number;
    trial.outcome.status = status;
    trial.memory = MemoryRecord{bytes, 16 << 20, "nvml"};
    builder.add_trial(identity, WorkKind::training, trial);
  };
  add(1, 5 << 20, Status::completed);
  add(2, 9 << 20, Status::completed);
  add(3, 99 << 20, Status::out_of_memory);
  ResultSet set = builder.finish();
  ASSERT_TRUE(set.cells[0].memory);
  EXPECT_EQ(set.cells[0].memory->peak_bytes, 9 << 20);
  EXPECT_EQ(set.cells[0].memory->source, "nvml");
  // A file that has the memory of trials only, as earlier versions wrote it.
  json old = json::parse(to_text(set));
  old["cells"][0].erase("memory");
  const json read =
      json::parse(run({"report", put("old.json", old.dump()), "--json"}).out)["cells"][0];
  EXPECT_EQ(read["memory"]["peak_bytes"], 9 << 20);
}

TEST_F(MetricsTest, CompareShowsThePeakMemoryOfBoth) {
  const auto result = [&](const std::string& name, const std::string& memory) {
    const std::string log = put(name + ".log", trainer_log("88.9", false, memory));
    run({"extract", log, "--model", "bert-large", "--sequence-length", "128", "-o",
         path(name + ".json")});
    return path(name + ".json");
  };
  const std::string a = result("a", kMemory), b = result("b", "");
  const Ran both = run({"compare", a, a});
  EXPECT_THAT(both.out, testing::ContainsRegex("memory A +memory B"));
  EXPECT_THAT(both.out, testing::ContainsRegex("21.4 GiB +21.4 GiB"));
  EXPECT_EQ(json::parse(run({"compare", a, b, "--json"}).out)["cells"][0]["peak_memory_bytes_a"],
            23001186304);
  EXPECT_THAT(run({"compare", b, b}).out, Not(HasSubstr("memory")));
}

}  // namespace
}  // namespace bertbench::test
