// `check`, `compare` and `report` on stored results: statuses, tables, machine forms.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/cells/result_builder.h"
#include "reports/cells/summarize.h"
#include "reports/model/result_io.h"
#include "reports/stats/stopping.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Five trials of one and of two ranks; `two` scales the rates of the second cell.
ResultSet results(double two = 1, int trials = 5) {
  ResultBuilder builder({});
  for (const auto& [gpus, rate] : {std::pair{1, 100.0}, std::pair{2, 180.0 * two}}) {
    Identity identity{.framework = "bert_train",
                      .model = "bert-tiny",
                      .precision = "fp32",
                      .sequence_length = 64,
                      .micro_batch_size = 4,
                      .gradient_accumulation_steps = 1,
                      .nodes = 1,
                      .gpus_per_node = gpus,
                      .axes = {}};
    for (int i = 0; i < trials; ++i) {
      Trial trial;
      trial.trial = i + 1;
      trial.outcome.status = Status::completed;
      trial.iterations = {60, 20, 40};
      trial.window = {"steps:20:60", "config", true, 20, 60};
      trial.sequences_per_second = rate * (1 + 0.001 * (i - 2));
      trial.estimator = "step_time";
      trial.estimators["step_time"] = *trial.sequences_per_second;
      builder.add_trial(identity, WorkKind::training, trial);
    }
  }
  return builder.finish();
}

class ResultsTest : public CliTest {
 protected:
  std::string store(const std::string& name, const ResultSet& set) const {
    return put(name, to_text(set));
  }
};

TEST_F(ResultsTest, CheckAgainstItselfPasses) {
  const std::string a = store("a.json", results());
  const Ran ran = run_to(0, {"check", a, "--baseline", a});
  EXPECT_THAT(ran.out, HasSubstr("2 cells compared, 2 pass: exit status 0"));
}

TEST_F(ResultsTest, CheckAgainstATenPercentFasterCellFails) {
  const std::string a = store("a.json", results());
  const std::string fast = store("fast.json", results(1.1));
  const Ran ran = run_to(1, {"check", a, "--baseline", fast});
  EXPECT_THAT(ran.out, HasSubstr("regression  bert-tiny.fp32.s64.b4.a1.1n2g"));
  EXPECT_THAT(ran.out, HasSubstr("slower"));
  EXPECT_EQ(run({"check", fast, "--baseline", a}).status, 0);
  EXPECT_EQ(run({"check", a, "--baseline", fast, "--floor", "15%"}).status, 0);
}

TEST_F(ResultsTest, CheckWaivesALossUntilItsDay) {
  const std::string a = store("a.json", results()), fast = store("fast.json", results(1.1));
  const auto waivers = [&](const std::string& limit, const std::string& expiry) {
    return put("waivers.json", R"({"schema": "bertbench.waivers/1", "waivers": [{"cell": )"
                               R"("bert-tiny.fp32.s64.b4.a1.1n2g", "limit": ")" +
                                   limit + R"(", "reason": "issue 12", "expiry": ")" + expiry +
                                   R"("}]})");
  };
  const auto check = [&](const std::string& file) {
    return run({"check", a, "--baseline", fast, "--waive", file});
  };
  const Ran waived = check(waivers("12%", "9999-12-31"));
  EXPECT_EQ(waived.status, 0) << waived.err;
  EXPECT_THAT(waived.out, HasSubstr("regression (waived)  bert-tiny.fp32.s64.b4.a1.1n2g"));
  EXPECT_THAT(waived.out, HasSubstr("12.0 % is allowed (issue 12)"));
  EXPECT_THAT(waived.out, HasSubstr("1 pass, 1 regression (waived): exit status 0"));
  EXPECT_EQ(check(waivers("5%", "9999-12-31")).status, 1);
  const Ran expired = check(waivers("12%", "2020-01-31"));
  EXPECT_EQ(expired.status, 1);
  EXPECT_THAT(expired.out, HasSubstr("expired after 2020-01-31 (issue 12)"));
  const Ran slower =
      run_to(0, {"check", fast, "--baseline", a, "--waive", waivers("5%", "2020-01-31")});
  EXPECT_THAT(slower.err, HasSubstr("expired after 2020-01-31"));
  EXPECT_EQ(check(put("broken.json", "{")).status, 2);
}

TEST_F(ResultsTest, CheckTellsMissingInconclusiveAndNothingCompared) {
  const std::string all = store("all.json", results());
  ResultSet half = results();
  half.cells.pop_back();
  const std::string part = store("part.json", half);
  EXPECT_EQ(run({"check", part, "--baseline", all}).status, 1);
  EXPECT_EQ(run({"check", part, "--baseline", all, "--allow-missing"}).status, 0);

  const std::string few = store("few.json", results(0.8, 2));
  EXPECT_EQ(run({"check", few, "--baseline", all}).status, 3);
  EXPECT_EQ(run({"check", few, "--baseline", all, "--accept-inconclusive"}).status, 0);

  ResultSet none = results();
  none.cells.clear();
  const Ran nothing = run_to(4, {"check", store("none.json", none), "--baseline", all});
  EXPECT_THAT(nothing.err, HasSubstr("nothing was compared: the result holds no cells"));
}

TEST_F(ResultsTest, CheckSaysOnceWhatHoldsForManyCells) {
  const std::string all = store("all.json", results());
  const Ran few = run({"check", store("few.json", results(0.8, 2)), "--baseline", all});
  EXPECT_THAT(few.out,
              HasSubstr("inconclusive 2 cells (bert-tiny.fp32.s64.b4.a1.1n1g, "
                        "bert-tiny.fp32.s64.b4.a1.1n2g): 2 against 5 trials cannot decide 2"));
  ResultSet none = results();
  none.cells.clear();
  const Ran gone = run({"compare", all, store("none.json", none)});
  EXPECT_THAT(gone.err, HasSubstr("bertbench: note: 2 cells (bert-tiny.fp32.s64.b4.a1.1n1g, "
                                  "bert-tiny.fp32.s64.b4.a1.1n2g): only in A\n"));
}

TEST_F(ResultsTest, CheckWithoutABaselineSaysWhatABaselineIs) {
  const Ran ran =
      run_to(5, {"check", store("a.json", results()), "--baseline", (folder / "none.db").string()});
  EXPECT_THAT(ran.err, HasSubstr("--baseline takes a result file, a run folder or a store"));
}

TEST_F(ResultsTest, CheckNamesADifferentMachine) {
  ResultSet here = results();
  (*here.environment)["kernel"] = "6.1";
  ResultSet there = results();
  (*there.environment)["kernel"] = "5.10";
  const std::string a = store("a.json", here);
  const std::string b = store("b.json", there);
  const Ran refused = run_to(4, {"check", a, "--baseline", b});
  EXPECT_THAT(refused.out + refused.err, HasSubstr("kernel"));
  EXPECT_THAT(refused.out, testing::ContainsRegex("5\\+5 +-\n")) << "no p of what is not compared";
  EXPECT_EQ(run({"check", a, "--baseline", b, "--allow-context", "kernel"}).status, 0);
}

TEST_F(ResultsTest, CheckSaysWhatTheNumbersOfItsTableAre) {
  const std::string a = store("a.json", results());
  const std::string out = run({"check", a, "--baseline", a, "--alpha", "1%"}).out;
  EXPECT_THAT(out, HasSubstr("baseline, now: median rate; n: trials of baseline+now"));
  EXPECT_THAT(out, HasSubstr("with p <= 0.01.\n"));
}

TEST_F(ResultsTest, CheckAsJsonHasTheSameStatusAndEveryCell) {
  const std::string a = store("a.json", results());
  const std::string fast = store("fast.json", results(1.1));
  const Ran ran = run_to(1, {"check", a, "--baseline", fast, "--json"});
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["exit_status"], 1);
  ASSERT_EQ(report["cells"].size(), 2U);
  EXPECT_EQ(report["cells"][0]["verdict"], "pass");
  EXPECT_EQ(report["cells"][1]["verdict"], "regression");
  EXPECT_NEAR(report["cells"][1]["change"], -0.0909, 1e-3);
}

/// The same cells measured with two variants in turn; `two` scales "new" of the second cell.
ResultSet variants(double two = 1, int trials = 8) {
  ResultSet all = results(1, trials), changed = results(two, trials);
  for (Cell& cell : all.cells) cell.identity.axes["variant"] = "base";
  for (Cell& cell : changed.cells) {
    cell.identity.axes["variant"] = "new";
    all.cells.push_back(std::move(cell));
  }
  for (Cell& cell : all.cells) {
    cell.key = cell.identity.key();
    for (Trial& trial : cell.trials) trial.block = BlockPlace{1, 1};
  }
  return all;
}

TEST_F(ResultsTest, CheckHoldsVariantsAgainstEachOther) {
  const std::string slow = store("slow.json", variants(0.95));
  const Ran ran = run_to(1, {"check", slow, "--paired", "base"});
  EXPECT_THAT(ran.out, HasSubstr("regression  bert-tiny.fp32.s64.b4.a1.1n2g+variant=new"));
  EXPECT_THAT(ran.out, HasSubstr("-5.0 %  -5.0 % to -5.0 %      8"));
  EXPECT_THAT(ran.out, HasSubstr("beyond the floor (1.3 %) with p <= 0.05."));
  EXPECT_EQ(run({"check", slow, "--paired", "new"}).status, 0);
  EXPECT_EQ(run({"check", slow, "--paired", "base", "--floor", "6%"}).status, 0);
  const std::string few = store("few.json", variants(0.95, 5));
  EXPECT_EQ(run({"check", few, "--paired", "base"}).status, 3);
  EXPECT_THAT(run({"check", few, "--paired", "base"}).out, HasSubstr("need 6 pairs"));
  EXPECT_EQ(run({"check", few, "--paired", "base", "--accept-inconclusive"}).status, 0);
  const Ran many = run_to(2, {"check", store("many.json", variants(1, 1001)), "--paired", "base"});
  EXPECT_THAT(many.err, HasSubstr("has 1001 trials; at most 1000 of a cell are judged by pairs"));
}

TEST_F(ResultsTest, CheckByPairsAsJsonJunitAndAnnotations) {
  const std::string slow = store("slow.json", variants(0.95));
  const Ran ran =
      run_to(1, {"check", slow, "--paired", "base", "--json", "--junit", path("gate.xml")});
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["paired"], "base");
  EXPECT_FALSE(report.contains("baseline"));
  const json& cell = report["cells"][1];
  EXPECT_EQ(cell["variant"], "new");
  EXPECT_EQ(cell["n_new"], 8);
  EXPECT_EQ(cell["pairs_left_out"], 0);
  EXPECT_NEAR(cell["interval"]["low"], -0.05, 1e-9);
  EXPECT_EQ(cell["reason_code"], "slower_beyond_tolerance");
  const std::string junit = read_file(path("gate.xml"));
  EXPECT_THAT(junit, HasSubstr("failures=\"1\""));
  EXPECT_THAT(junit, HasSubstr("pairs: 8"));
  const Ran github = run({"check", slow, "--paired", "base", "--github"});
  EXPECT_THAT(github.out, HasSubstr("::error title=regression%3A bert-tiny"));
}

TEST_F(ResultsTest, CheckShowsMemoryAndLossInEveryForm) {
  ResultSet base = results(), now = results();
  for (ResultSet* set : {&base, &now}) {
    for (Trial& trial : set->cells[0].trials) {
      trial.seed = 1;
      trial.memory = MemoryRecord{set == &base ? 1000 << 20 : 1100 << 20, 0, "log"};
      trial.loss = LossRecord{10, 9, {}, {{1, 10}, {20, set == &base ? 9 : 9.5}}};
    }
  }
  const std::string before = store("before.json", base), after = store("after.json", now);
  const Ran ran = run_to(1, {"check", after, "--baseline", before});
  EXPECT_THAT(ran.out, testing::ContainsRegex("regression .*\\+10.0 % +apart at 20"));
  EXPECT_THAT(ran.out, HasSubstr("peak memory grew by 10.0 %: 1100.0 MiB against 1000.0 MiB"));
  EXPECT_THAT(ran.out, HasSubstr("the loss curves part at step 20: 9.5 against 9"));
  const json cell =
      json::parse(run({"check", after, "--baseline", before, "--json", "--junit", path("gate.xml")})
                      .out)["cells"][0];
  EXPECT_EQ(cell["verdict"], "regression");
  EXPECT_EQ(cell["reason_code"], "memory_grew");
  EXPECT_EQ(cell["speed"]["verdict"], "pass");
  EXPECT_EQ(cell["memory"]["source"], "log");
  EXPECT_NEAR(cell["memory"]["change"], 0.1, 1e-9);
  EXPECT_EQ(cell["loss"]["step"], 20);
  EXPECT_EQ(cell["loss"]["loss_base"], 9);
  const std::string junit = read_file(path("gate.xml"));
  EXPECT_THAT(junit, HasSubstr("memory_verdict: regression"));
  EXPECT_THAT(junit, HasSubstr("loss_step: 20"));
  const Ran github = run({"check", after, "--baseline", before, "--github"});
  EXPECT_THAT(github.out, HasSubstr("::error title=regression%3A "));
  EXPECT_EQ(run({"check", after, "--baseline", before, "--memory-floor", "11%", "--allow-context",
                 "loss"})
                .status,
            0);
}

TEST_F(ResultsTest, CheckNamesPartsThatTooFewTrialsCannotDecide) {
  // Of two cells with three parts each, 4 against 4 trials cannot decide any.
  ResultSet base = results(1, 4), now = results(1, 4);
  for (ResultSet* set : {&base, &now}) {
    for (Cell& cell : set->cells) {
      for (Trial& trial : cell.trials) {
        trial.parts["forward"] = {0.03};
        trial.parts["backward"] = {0.06};
        trial.parts["optimizer"] = {set == &base ? 0.010 : 0.011};
      }
    }
  }
  const Ran ran =
      run({"check", store("after.json", now), "--baseline", store("before.json", base)});
  EXPECT_THAT(ran.out, HasSubstr("undecided (optimizer +10.0 %)"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("equal")));
}

TEST_F(ResultsTest, CheckTakesTheFloorOfTheRunsRuleInAnyForm) {
  ResultSet set = variants();
  for (Cell& cell : set.cells) {
    (*cell.context)["stopping"] = {
        {"rule", kStoppingRule}, {"base", "base"}, {"looks", {8}}, {"tests", 2},
        {"alpha", 0.05},         {"floor", 0.013}, {"loss", 0.02}};
  }
  const std::string stopped = store("stopped.json", set);
  for (const char* floor : {"1.3%", "0.013"}) {
    EXPECT_NE(run({"check", stopped, "--paired", "base", "--floor", floor}).status, 2) << floor;
  }
  EXPECT_EQ(run({"check", stopped, "--paired", "base", "--floor", "1.4%"}).status, 2);
}

TEST_F(ResultsTest, CheckByPairsSaysWhatItCannotDo) {
  const std::string both = store("both.json", variants());
  const std::string plain = store("plain.json", results());
  Ran ran = run({"check", both, "--paired", "bsae"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("variants: base, new"));
  ran = run({"check", plain, "--paired", "base"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("by a configuration with \"variants\""));
  ran = run({"check", both, "--paired", "base", "--baseline", plain});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("give one of the two"));
  EXPECT_EQ(run({"check", both}).status, 2);
  const std::string slow = store("slow.json", variants(0.95));
  EXPECT_EQ(run({"check", slow, "--paired", "base", "--confirm", "x.json"}).status, 2);
}

TEST_F(ResultsTest, CompareShowsATildeUnlessTheDifferenceIsSignificant) {
  const std::string a = store("a.json", results());
  const std::string fast = store("fast.json", results(1.1));
  const Ran ran = run_to(0, {"compare", a, fast});
  EXPECT_THAT(ran.out, testing::ContainsRegex("1n1g .* ~ "));
  EXPECT_THAT(ran.out, testing::ContainsRegex("1n2g .* \\+10.0 % .* 5\\+5 "));
  const json cells = json::parse(run({"compare", a, fast, "--json"}).out)["cells"];
  EXPECT_EQ(cells[0]["significant"], false);
  EXPECT_NEAR(cells[1]["change"], 0.1, 1e-9);
}

TEST_F(ResultsTest, CompareWithoutACommonCellIsStatusFour) {
  ResultSet none = results();
  none.cells.clear();
  const Ran ran = run_to(4, {"compare", store("a.json", results()), store("none.json", none)});
  EXPECT_THAT(ran.err, HasSubstr("no cell has numbers of one unit on both sides"));
}

TEST_F(ResultsTest, FilesOfOthersAreNeverReplacedAndOwnReportsAre) {
  const std::string good = store("a.json", results());
  for (const char* name :
       {"README.md", "page.html", "table.csv", "x.prom", "suite.junit.xml", "t.trials.csv"}) {
    const std::string file = put(name, "# My project\n\nbertbench is what we use.\n");
    const Ran refused = run_to(2, {"report", good, "-o", file});
    EXPECT_THAT(refused.err, HasSubstr("does not look like a file that bertbench wrote")) << name;
    std::filesystem::remove(file);
    run_to(0, {"report", good, "-o", file});
    run_to(0, {"report", good, "-o", file});
  }
}

TEST_F(ResultsTest, AnUnreadableOrForeignResultIsOneLineAndStatusFive) {
  const std::string good = store("a.json", results());
  for (const std::string& bad : {path("missing.json"), put("foreign.json", "{\"a\": 1}"),
                                 put("broken.json", "{"), put("empty.json", "")}) {
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{"check", bad, "--baseline", good},
          std::vector<std::string>{"check", good, "--baseline", bad},
          std::vector<std::string>{"compare", bad, good},
          std::vector<std::string>{"report", bad}}) {
      const Ran ran = run_to(5, args);
      expect_one_error_line(ran);
      EXPECT_THAT(ran.err, HasSubstr(bad));
    }
  }
}

TEST_F(ResultsTest, ReportWritesOneFormOrSeveral) {
  const std::string a = store("a.json", results());
  EXPECT_THAT(run({"report", a}).out, HasSubstr("| "));
  EXPECT_EQ(run({"report", a, "--json"}).out, read_file(a));
  EXPECT_EQ(run({"report", a, "-o", path("r.csv")}).status, 0);
  EXPECT_THAT(read_file(path("r.csv")), testing::StartsWith("key,"));
  const Ran other = run_to(2, {"report", a, "-o", path("r.pdf")});
  EXPECT_THAT(other.err, HasSubstr(".pdf is the ending of no report; use one of .json .csv"));
  EXPECT_EQ(run({"report", a, "--to", "json,csv,markdown", "-o", path("all")}).status, 0);
  for (const char* name : {"all/report.json", "all/report.csv", "all/report.md"}) {
    EXPECT_GT(read_file(path(name)).size(), 100U) << name;
  }
  const Ran two = run_to(2, {"report", a, "--to", "json,csv"});
  expect_one_error_line(two);
}

TEST_F(ResultsTest, AResultThatContradictsItselfIsComputedAgain) {
  EXPECT_EQ(run_to(0, {"report", store("good.json", results())}).err, "");
  ResultSet set = results();
  set.cells[0].trials.resize(3);
  set.cells.push_back(set.cells[1]);
  const std::string a = store("a.json", set);
  const Ran ran = run_to(0, {"report", a, "--json"});
  EXPECT_THAT(ran.err,
              HasSubstr("the key of 1 cell is that of an earlier one, such as bert-tiny."));
  EXPECT_THAT(ran.err, HasSubstr("n, rate or spread of 1 cell does not follow from the trials"));
  const json cells = json::parse(ran.out)["cells"];
  EXPECT_EQ(cells[0]["throughput"]["n"], 3);
  EXPECT_NEAR(cells[0]["throughput"]["median"].get<double>(), 99.9, 1e-9);
  EXPECT_EQ(cells[2]["key"], cells[1]["key"].get<std::string>() + "#2");
  EXPECT_THAT(run({"check", a, "--baseline", a}).err, HasSubstr("does not follow from the trials"));
  run_to(0, {"store", "add", a, "--db", path("h.db")});
  EXPECT_EQ(
      json::parse(run_to(0, {"store", "list", "--db", path("h.db"), "--json"}).out)[0]["cells"], 3);
}

TEST_F(ResultsTest, ReportOfSeveralResultsNamesThemWhereTheyHaveCellsInCommon) {
  const std::string a = store("a.json", results()), b = store("b.json", results(0.5));
  const Ran both = run_to(0, {"report", a, b});
  EXPECT_THAT(both.out, testing::ContainsRegex("\\| result +\\| topology"));
  EXPECT_THAT(both.out, testing::ContainsRegex("b.json +\\| +1n2g"));
  const json cells = json::parse(run_to(0, {"report", a, b, a, "--json"}).out)["cells"];
  EXPECT_EQ(cells[1]["result"], a);
  EXPECT_EQ(cells[3]["speedup"]["base"], cells[2]["key"]);
  EXPECT_EQ(cells[5]["result"], a + "#2");
  ResultSet one = results(), two = one;  // parts of one grid
  one.cells.pop_back();
  two.cells.erase(two.cells.begin());
  const json grid = json::parse(
      run_to(0, {"report", store("1.json", one), store("2.json", two), "--json"}).out)["cells"];
  EXPECT_FALSE(grid[1].contains("result"));
  EXPECT_EQ(grid[1]["speedup"]["base"], grid[0]["key"]);
}

TEST_F(ResultsTest, ReportOnAFullDiskIsOneLineAndStatusTwo) {
  const Ran ran =
      run_to(2, {"report", store("a.json", results()), "--to", "csv", "-o", "/dev/full"});
  expect_one_error_line(ran);
  EXPECT_THAT(ran.err, HasSubstr("/dev/full"));
}

TEST_F(ResultsTest, HostileTextOfAResultIsShownEscaped) {
  ResultSet evil = results();
  for (Cell& cell : evil.cells) cell.identity.model = "m\x1b[2J\nx";
  const std::string a = store("a.json", evil);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"check", a, "--baseline", a},
        std::vector<std::string>{"check", a, "--baseline", store("b.json", results())},
        std::vector<std::string>{"compare", a, a}}) {
    const Ran ran = run(args);
    EXPECT_EQ((ran.out + ran.err).find('\x1b'), std::string::npos) << ran.out << ran.err;
  }
}

TEST(ListTest, EveryKindHasRowsInBothForms) {
  for (const char* kind : {"formats", "reports", "launchers", "models", "hardware"}) {
    const Ran table = run_to(0, {"list", kind});
    const json rows = json::parse(run({"list", kind, "--json"}).out)[kind];
    ASSERT_FALSE(rows.empty()) << kind;
    for (const json& row : rows) EXPECT_THAT(table.out, HasSubstr(row["name"].get<std::string>()));
  }
}

TEST(FlopsTest, JsonIsUnroundedAndHasTheKeysOfTheContract) {
  const json flops = json::parse(
      run({"flops", "--model", "bert-large", "--sequence-length", "128", "--json"}).out);
  // 3 (L (4hs^2 + 24sh^2) + 2shV) by hand for L 24, h 1024, s 128, V 30522.
  const double layers = 24.0 * (4.0 * 1024 * 128 * 128 + 24.0 * 128 * 1024 * 1024);
  EXPECT_EQ(flops["flops_per_sequence"]["notebook"], 3 * (layers + 2.0 * 128 * 1024 * 30522));
  for (const char* key : {"notebook", "megatron", "palm", "masked_head"}) {
    EXPECT_TRUE(flops["flops_per_sequence"][key].is_number()) << key;
  }
  EXPECT_EQ(flops["parameters"], 336226108);
}

TEST(FlopsTest, CheckpointingCostsMoreWhereAFormulaCountsIt) {
  const std::vector<std::string> args{"flops", "--model", "bert-base", "--sequence-length",
                                      "512",   "--json"};
  std::vector<std::string> more = args;
  more.emplace_back("--activation-checkpointing");
  const json plain = json::parse(run(args).out)["flops_per_sequence"];
  const json checkpointed = json::parse(run(more).out)["flops_per_sequence"];
  EXPECT_NEAR(checkpointed["notebook"].get<double>() / plain["notebook"].get<double>(), 4.0 / 3,
              1e-12);
  EXPECT_EQ(checkpointed["palm"], plain["palm"]);
}

TEST(DoctorTest, FindsSomethingToSayAndSucceeds) {
  const Ran ran = run_to(0, {"doctor", "--json"});
  const json findings = json::parse(ran.out)["findings"];
  ASSERT_FALSE(findings.empty());
  for (const json& finding : findings) {
    EXPECT_FALSE(finding["subject"].get<std::string>().empty());
    const bool warning = finding["severity"] == "warning";
    EXPECT_TRUE(!warning || finding["advice"] != "") << finding;
  }
}

TEST_F(ResultsTest, PredictLabelsWhatItPredictsAndRefusesTooLittle) {
  ResultSet set;
  for (const auto& [nodes, gpus, rate] :
       {std::tuple{1, 1, 100.0}, {1, 2, 180.0}, {1, 4, 358.0}, {1, 8, 717.0}, {2, 8, 1434.0}}) {
    Cell cell = results().cells[0];
    cell.identity.nodes = nodes;
    cell.identity.gpus_per_node = gpus;
    for (Trial& trial : cell.trials) trial.sequences_per_second = rate;
    set.cells.push_back(std::move(cell));
  }
  summarize(set);
  const std::string file = store("scaling.json", set);
  const Ran ran = run_to(0, {"predict", file, "--topologies", "4n8g,8n8g"});
  EXPECT_THAT(ran.out, HasSubstr("PREDICTED, not measured: bert-tiny.fp32.s64"));
  EXPECT_THAT(ran.out, HasSubstr("mean error"));
  const json out = json::parse(run({"predict", file, "--topologies", "4n8g", "--json"}).out);
  const json& cell = out["groups"][0]["predicted"][0];
  EXPECT_EQ(cell["world_size"], 32);
  EXPECT_NEAR(cell["sequences_per_second"].get<double>(), 2868, 15);
  EXPECT_LE(cell["interval"]["low"], cell["sequences_per_second"]);
  EXPECT_GE(cell["interval"]["high"], cell["sequences_per_second"]);

  EXPECT_EQ(run({"predict", store("few.json", results()), "--topologies", "4n8g"}).status, 3);
  EXPECT_EQ(run({"predict", file, "--topologies", "4x8"}).status, 2);
  EXPECT_EQ(run({"predict", path("absent.json"), "--topologies", "4n8g"}).status, 5);
}

#ifdef BB_HAVE_STORE
TEST_F(ResultsTest, StoreKeepsResultsThatCheckGatesAgainst) {
  const std::string db = path("history.db");
  for (int i = 0; i < 3; ++i) {
    const std::string name = "r" + std::to_string(i) + ".json";
    const Ran ran = run_to(0, {"store", "add", store(name, results(1 + 0.001 * i)), "--db", db});
    EXPECT_THAT(ran.out, HasSubstr("run " + std::to_string(i + 1) + ":"));
  }
  EXPECT_THAT(run({"store", "add", path("r0.json"), "--db", db}).out, HasSubstr("stored before"));
  EXPECT_EQ(json::parse(run({"store", "list", "--db", db, "--json"}).out).size(), 3U);
  EXPECT_EQ(run({"store", "export", "2", "--db", db}).out, read_file(path("r1.json")));
  EXPECT_THAT(run({"store", "show", "2", "--db", db}).out, HasSubstr("180.18"));
  EXPECT_THAT(run({"store", "trend", "--db", db}).out, HasSubstr("too few runs"));

  EXPECT_EQ(run({"check", path("r1.json"), "--baseline", db}).status, 0);
  const Ran slow = run_to(1, {"check", store("slow.json", results(0.9)), "--baseline", db});
  EXPECT_THAT(slow.out, HasSubstr("n = 5 against 15"));
}

TEST_F(ResultsTest, TokensOfALogThatPrintsNothingElseAreStoredComparedAndJudged) {
  const auto result = [&](const std::string& name, int thousands) {
    std::string log;
    for (int i = 1; i <= 40; ++i) {
      log += fmt::format(
          "step {:6} | loss 2.4{:03} | lr 1.79e-04 | grad 0.075 | {}.{}k tok/s | mfu 40.07%\n", i,
          100 - i, thousands, i % 3);
    }
    EXPECT_EQ(run({"extract", put(name + ".log", log), "-o", path(name + ".json")}).status, 0);
    return path(name + ".json");
  };
  const std::string before = result("before", 47), now = result("now", 48);
  const json cell = json::parse(read_file(now))["cells"][0];
  EXPECT_EQ(cell["throughput"]["unit"], "tokens/s");
  EXPECT_NEAR(cell["tokens_per_second"].get<double>(), 48100, 10);
  EXPECT_EQ(cell["trials"][0]["tokens_per_second"], cell["throughput"]["median"]);
  EXPECT_FALSE(cell["trials"][0].contains("iterations_per_second"));

  const std::string db = path("tokens.db");
  EXPECT_EQ(run({"store", "add", before, "--db", db}).status, 0);
  EXPECT_THAT(run({"store", "show", "1", "--db", db}).out, HasSubstr("tokens/s"));
  const Ran compared = run_to(0, {"compare", before, now});
  EXPECT_THAT(compared.out, HasSubstr("tokens/s"));
  const Ran judged = run_to(0, {"check", now, "--baseline", db, "--accept-inconclusive"});
  EXPECT_THAT(judged.out, HasSubstr("48099.86"));
}

TEST_F(ResultsTest, StoreSaysWhatIsWrong) {
  const std::string db = path("none.db");
  EXPECT_EQ(run({"store", "list", "--db", db}).status, 5);
  EXPECT_EQ(run({"store", "ad", "x", "--db", db}).status, 2);
  EXPECT_EQ(run({"store", "add", "--db", db}).status, 2);
  EXPECT_EQ(run({"store", "add", path("absent.json"), "--db", db}).status, 5);
  EXPECT_FALSE(std::filesystem::exists(db));  // nothing readable, nothing made
  ASSERT_EQ(run({"store", "add", store("a.json", results()), "--db", db}).status, 0);
  EXPECT_EQ(run({"store", "show", "x", "--db", db}).status, 2);
  EXPECT_EQ(run({"store", "show", "7", "--db", db}).status, 5);
  EXPECT_EQ(run({"store", "trend", "--cell", "x", "--db", db}).status, 5);
  EXPECT_EQ(run({"store", "trend", "-o", path("t.csv"), "--db", db}).status, 2);
}
#endif

}  // namespace
}  // namespace bertbench::test
