// `audit` as users run it: statuses, the table on stdout, the JSON form, stated columns.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kPublished = std::string(BB_SOURCE_DIR) + "/tests/data/published/";

using AuditTest = CliTest;

TEST_F(AuditTest, NamesTheImpossibleSpeedupAndWhatItShouldBe) {
  const Ran ran = run_to(1, {"audit", kPublished + "seed004_dlperf_mxnet_bert.csv"});
  EXPECT_THAT(ran.out, HasSubstr("27.33"));
  EXPECT_THAT(ran.out, HasSubstr("27.23"));
  EXPECT_THAT(ran.out, HasSubstr("36 derived cells in 6 tables: 35 exact, 0 possible, 0 truncated, "
                                 "1 impossible"));
  EXPECT_EQ(ran.err, "");
}

TEST_F(AuditTest, TflopsOfTheNotebookAreAllPossible) {
  const Ran ran = run_to(0, {"audit", kPublished + "seed002_transformers_notebook.csv"});
  EXPECT_THAT(ran.out, HasSubstr("13 exact, 3 possible, 0 truncated, 0 impossible"));
}

TEST_F(AuditTest, TruncationIsAWarningOnly) {
  const std::string table = put("t.md",
                                "| GPUs | samples/s | speedup |\n|---|---|---|\n"
                                "| 1 | 245.29 | 1.00 |\n| 8 | 1854.15 | 7.55 |\n");
  const Ran ran = run_to(0, {"audit", table});
  EXPECT_THAT(ran.out, HasSubstr("truncated"));
}

TEST_F(AuditTest, StatusFourWhenNothingFollowsAndFiveWhenThereIsNoTable) {
  const Ran nothing =
      run_to(4, {"audit", put("a.md", "| GPUs | samples/s |\n|---|---|\n| 1 | 2 |\n")});
  EXPECT_THAT(nothing.err, HasSubstr("nothing to check"));
  EXPECT_EQ(run({"audit", put("b.md", "prose\n")}).status, 5);
  EXPECT_EQ(run({"audit", path("absent.md")}).status, 5);
}

TEST_F(AuditTest, APagePastedAsTextIsReadAndProseIsNoTable) {
  const std::string page = put("page.txt",
                               "BERT-base FP32\n\nnode_num gpu_num samples/s speedup\n"
                               "1 1 100.0 1\n1 8 700.0 7.9\n1 16 x\n\nThat was all.\n");
  const Ran ran = run_to(1, {"audit", page});
  EXPECT_THAT(ran.out, HasSubstr("2 derived cells in 1 table"));
  EXPECT_EQ(run({"audit", page, "--format", "csv"}).status, 5);
  const Ran prose = run_to(5, {"audit", put("prose.txt",
                                            "With 8 GPUs, 1,058 samples/s, 7.05 times as many\n"
                                            "as with 1, in 3 trials, of 5 minutes, each.\n")});
  EXPECT_THAT(prose.err, HasSubstr("holds no table"));
}

TEST_F(AuditTest, LinesThatCannotBeReadAreNamedInTextAndJson) {
  const std::string page = put("page.txt", "GPUs speed warmth speedup efficiency\n1 100 3 1 1\n");
  EXPECT_EQ(run({"audit", page}).status, 5);
  const std::string two = put("two.txt",
                              "gpu_num samples/s speedup warmth\n1 100.0 1 3\n\n"
                              "gpu_num samples/s speedup\n1 100.0 1\n8 700.0\n16 1400.0 14.0\n");
  const Ran ran = run({"audit", two, "--json"});
  EXPECT_THAT(ran.err, HasSubstr("two.txt:1: "));
  EXPECT_THAT(ran.err, HasSubstr("'warmth'"));
  const json out = json::parse(ran.out);
  ASSERT_EQ(out["notices"].size(), 1U);
  EXPECT_EQ(out["notices"][0]["line"], 1);
  EXPECT_EQ(out["tables"][0]["notices"][0]["line"], 6);
}

TEST_F(AuditTest, WrongUsageNamesTheOption) {
  const std::string table = put("a.csv", "a,b\n1,2\n");
  EXPECT_THAT(run({"audit", table, "--column", "speedupp=b"}).err,
              HasSubstr("did you mean 'speedup'"));
  EXPECT_EQ(run({"audit", table, "--column", "b"}).status, 2);
  EXPECT_EQ(run({"audit", table, "--fact", "batch_size=-1"}).status, 2);
  EXPECT_EQ(run({"audit", table, "--format", "latex"}).status, 2);
}

TEST_F(AuditTest, JsonListsFindingsAndWithAllEveryCell) {
  const std::string path = kPublished + "seed001_ngc_bert_pytorch.csv";
  const json findings = json::parse(run({"audit", path, "--json"}).out);
  EXPECT_EQ(findings["schema"], "bertbench.audit/1");
  EXPECT_EQ(findings["counts"]["impossible"], 7);
  const json all = json::parse(run({"audit", path, "--json", "--all"}).out);
  std::size_t cells = 0;
  for (const auto& table : all["tables"]) cells += table["cells"].size();
  EXPECT_EQ(cells, findings["counts"]["exact"].get<std::size_t>() +
                       findings["counts"]["possible"].get<std::size_t>() + 8);
}

TEST_F(AuditTest, HostileCellsStayText) {
  const std::string table = put("h.md",
                                "# \x1b[31mred\x1b[0m\n\n| GPUs | samples/s | speedup |\n"
                                "|---|---|---|\n| 1 | 100.0 | 1 |\n| 2 | 150.0 | 9.0 |\n");
  EXPECT_THAT(run({"audit", table}).out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace bertbench::test
