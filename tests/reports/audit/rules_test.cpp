#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/reports/audit/audit_cases.h"

namespace bertbench::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Ratios, EachBatchSizeHasItsOwnBaseRow) {
  const auto tables =
      audit_rows({"batch_size | gpu_num | samples/s | speedup", "32 | 1 | 100.0 | 1",
                  "32 | 8 | 700.0 | 7.0", "64 | 1 | 140.0 | 1", "64 | 8 | 1050.0 | 7.5"});
  EXPECT_THAT(findings(tables), IsEmpty());
  EXPECT_EQ(count(tables).exact, 4U);
  EXPECT_THAT(tables[0].readings, IsEmpty()) << "the usual one";
  const auto ones = audit_rows({"GPUs | samples/s | speedup", "1 | 100.0 | 1", "2 | - | 1.00",
                                "8 | - | 1.00", "4 | 400.0 | 4.0"});
  EXPECT_EQ(count(ones).exact, 2U) << "rows that print 1 explain nothing";
}

TEST(Ratios, ABaseRowMayStandAnywhereInItsGroup) {
  const auto tables =
      audit_rows({"batch_size | gpu_num | samples/s | speedup", "64 | 8 | 1050.0 | 7.5",
                  "32 | 8 | 700.0 | 7.2", "64 | 1 | 140.0 | 1.0", "32 | 1 | 100.0 | 1.0"});
  EXPECT_THAT(findings(tables), ElementsAre("impossible 7.2 -> 7.0"));
}

TEST(Ratios, SectionsWithoutAColumnAreFoundByTheRowsThatPrintOne) {
  const auto tables =
      audit_rows({"gpu_num | samples/s | speedup", "1 | 100.0 | 1", "8 | 700.0 | 7.0",
                  "1 | 140.0 | 1", "8 | 1050.0 | 7.5", "16 | 2000.0 | 14.29"});
  EXPECT_THAT(findings(tables), IsEmpty());
  EXPECT_THAT(tables[0].readings, ElementsAre("speedup: base row printed as 1 above"));
}

TEST(Ratios, WithoutABaseRowTheFirstRowScalesTheOthers) {
  const auto tables = audit_rows({"gpu_num | samples/s | speedup", "8 | 1058.6 | 7.05",
                                  "16 | 1845.65 | 12.30", "32 | 3671.45 | 29.46"});
  EXPECT_THAT(findings(tables), ElementsAre("impossible 29.46 -> 24.45"));
}

TEST(Ratios, EfficiencyMayBeAShareOrPerCentAndPerGpuOrPerNode) {
  EXPECT_THAT(findings(audit_rows({"GPUs | samples/s | efficiency", "1 | 100.0 | 100%",
                                   "8 | 700.0 | 87.5%", "16 | 1300.0 | 88.1%"})),
              ElementsAre("impossible 88.1% -> 81.2%"));
  EXPECT_THAT(findings(audit_rows(
                  {"GPUs | samples/s | efficiency (%)", "1 | 100.0 | 100", "8 | 700.0 | 87.5"})),
              IsEmpty());
  const auto nodes = audit_rows({"nodes | GPUs / node | samples/s | efficiency",
                                 "1 | 8 | 800.0 | 1", "4 | 8 | 2880.0 | 0.90"});
  EXPECT_THAT(findings(nodes), IsEmpty());
  EXPECT_EQ(count(nodes).exact, 2U);
}

TEST(Ratios, EfficiencyOfTheRoundedSpeedupIsNoFault) {
  const auto tables =
      audit_rows({"GPUs | samples/s | speedup | efficiency", "1 | 150.11 | 1 | 1",
                  "8 | 1058.6 | 7.05 | 0.88125", "32 | 3671.45 | 24.46 | 0.764375"});
  EXPECT_THAT(findings(tables), IsEmpty());
}

TEST(Ratios, DecimalCommasAndThousandsAreRead) {
  const auto tables =
      audit_page("GPUs;samples/s;speedup\n1;150,11;1\n32;3671,45;24,46\n", "t.csv", {}).tables;
  EXPECT_THAT(findings(tables), IsEmpty());
  EXPECT_EQ(count(tables).exact, 2U);
}

TEST(Rows, GpusOfOneNodeAreToldFromAllGpus) {
  const std::string head = "| nodes | gpu_num | samples/s | seq/sec/gpu |\n|---|---|---|---|\n";
  EXPECT_EQ(count(audit_markdown(head + "| 1 | 8 | 800 | 100 |\n| 4 | 32 | 2880 | 90 |\n")).exact,
            2U);
  EXPECT_EQ(count(audit_markdown(head + "| 1 | 8 | 800 | 100 |\n| 4 | 8 | 2880 | 90 |\n")).exact,
            2U);
}

TEST(Rows, EachTableIsCheckedByWhatItStates) {
  struct Case {
    std::vector<std::string> rows, found;
    std::size_t checked;
  };
  const Case cases[] = {
      {{"GPUs | batch size | step time (ms) | samples/s", "2 | 8 | 100.0 | 160.0",
        "4 | 8 | 100.0 | 330.0"},
       {"impossible 330.0 -> 320.0"},
       2},
      {{"batch size | time per step (milliseconds) | samples/s", "8 | 100.0 | 80.0"}, {}, 1},
      {{"batch size | accumulation steps | it/s | samples/s | GPUs", "8 | 2 | 10.0 | 320.0 | 2"},
       {},
       1},
      {{"nodes | GPUs | batch size | accumulation steps | global batch", "2 | 8 | 4 | 2 | 128",
        "1 | 8 | 4 | 2 | 64", "4 | - | 4 | 2 | 256"},
       {},
       2},
      {{"topology | samples/s | seq/sec/gpu", "2n8g | 1600.0 | 90.0"},
       {"impossible 90.0 -> 100.0"},
       1},
      {{"GPUs | seq/sec/gpu | speedup", "1 | 100.0 | 1", "8 | 90.0 | 7.2"}, {}, 2},
      {{"GPUs | seq/sec/gpu | efficiency", "1 | 100.0 | 1", "8 | 90.0 | 0.9"}, {}, 2},
      {{"GPUs | samples/s | weak scaling", "1 | 100.0 | 1", "8 | 720.0 | 0.9", "- | - | -"}, {}, 2},
      {{"GPUs | Throughput TF32 | Throughput FP16 | speedup (TF32 to FP16)",
        "1 | 10.0 | 20.0 | 2.5", "8 | - | 40.0 | 2.0", "8 | 40.0 | 80.0 | -"},
       {"impossible 2.5 -> 2.0"},
       1},
      {{"accumulated batch size | GPUs | global batch", "1K | 16 | 16K", "1K | 32 | 16K"},
       {"impossible 16K -> 32768"},
       2},
      {{"tflops | peak tflops | mfu", "100.0 | 312 | 32.1%", "50.0 | 312 | 0.17"},
       {"impossible 0.17 -> 0.160"},
       2},
      {{"parameter | one | eight", "GPUs | 1 | 8", "samples/s | 100.0 | 700.0",
        "speedup | 1 | 7.9"},
       {"impossible 7.9 -> 7.0"},
       2},
      {{"GPUs | samples/s | speedup", "1 | 0 | 1", "2 | 5 | 2"}, {}, 1},
      {{"GPUs | accumulated batch size | samples/s | strong scaling", "1 | 64 | 100.0 | 1",
        "2 | 32 | 190.0 | 1.9"},
       {},
       2},
      {{"batch | num | it/s | rate", "size | GPUs | | samples/s", "8 | 2 | 10.0 | 160.0"}, {}, 1},
  };
  for (const Case& each : cases) {
    const auto tables = audit_rows(each.rows);
    EXPECT_EQ(findings(tables), each.found) << each.rows[0];
    EXPECT_EQ(count(tables).all(), each.checked) << each.rows[0];
  }
  EXPECT_EQ(count(audit_rows({"GPUs | it/s | batch size | samples/s | seq/sec/gpu",
                              "2 | 4.2 | 8 | 66.5 | 33.25"}))
                .possible,
            2U)
      << "exact by the samples/s, possible by the it/s";
  EXPECT_EQ(audit_rows(cases[11].rows)[0].cells.back().line, 5) << "where the parameter stands";
}

TEST(Rows, AHeadingStatesTheBatchSize) {
  const auto tables = audit_markdown(
      "### Batch size = 64 & W/O xla\n\n| gpu_num | it/s | samples/s |\n|---|---|---|\n"
      "| 4 | 3.19 | 816.64 |\n| 8 | 3.18 | 1728.16 |\n| 16 | 3.15 | 3225.6 |\n");
  EXPECT_THAT(findings(tables), ElementsAre("impossible 1728.16 -> 1628.16"));
}

TEST(Rows, ColumnsAndFactsCanBeStated) {
  const std::string text =
      "| cards in job | rate | faster |\n|---|---|---|\n| 1 | 100.0 | 1 |\n| 8 | 700.0 | 7.9 |\n";
  EXPECT_THAT(findings(audit_markdown(text)), IsEmpty());
  AuditOptions options;
  options.grid.columns = {
      {Role::gpus, "cards in job"}, {Role::throughput, "Rate"}, {Role::speedup, "faster"}};
  EXPECT_THAT(findings(audit_markdown(text, options)), ElementsAre("impossible 7.9 -> 7.0"));
  options.grid.columns.push_back({Role::nodes, "absent"});
  EXPECT_THAT(text_of(audit_markdown(text, options)[0].notices[0]),
              HasSubstr("no column is headed"));
}

TEST(Rows, AGlobalBatchThatNoWholeAccumulationGivesIsImpossible) {
  EXPECT_THAT(findings(audit_rows({"GPUs | batch size per GPU | global batch", "1 | 32 | 32",
                                   "2 | 32 | 256", "4 | 32 | 143"})),
              ElementsAre("impossible 143 -> 128"));
  EXPECT_THAT(findings(audit_rows({"GPUs | batch size | global batch", "1 | 32 | 32", "2 | 64 | 64",
                                   "4 | 128 | 128"})),
              IsEmpty())
      << "the batch size is that of all GPUs";
  EXPECT_EQ(count(audit_rows({"GPUs | batch size | global batch", "8 | 4 | 16", "16 | 4 | 32"}))
                .impossible,
            0U)
      << "GPUs that share a model";
}

TEST(Rows, ARuleThatHardlyARowFollowsIsLeftOutAndSaidSo) {
  const auto tables = audit_rows({"GPUs | batch size | it/s | samples/s", "1 | 8 | 3.0 | 77.0",
                                  "2 | 8 | 3.0 | 99.0", "4 | 8 | 2.9 | 123.0"});
  EXPECT_THAT(findings(tables), IsEmpty());
  EXPECT_THAT(text_of(tables[0].notices[0]), HasSubstr("taken as another quantity"));
}

TEST(Rows, WithoutDerivedColumnsNothingIsChecked) {
  const auto tables = audit_rows({"GPUs | samples/s | note | place", "1 | 100 | |", "2 | 150 | |"});
  EXPECT_EQ(count(tables).all(), 0U);
  EXPECT_EQ(text_of(tables[0].notices[0]),
            "nothing to check: no rule ties GPUs (gpus), samples/s (throughput)");
}

TEST(Series, MeansAndDeviationsOverSeeds) {
  const auto tables = audit_rows(
      {"metric | Seed 0 | Seed 1 | Seed 2 | Mean | Standard Deviation",
       "loss | 1.00 | 2.00 | 3.00 | 2.00 | 1.00", "f1 | 90.00 | 91.00 | 92.00 | 91.50 | 1.00",
       "em | 80.00 | - | 82.00 | 81.50 | 2.41", "- | - | - | - | - | -"});
  EXPECT_THAT(findings(tables),
              ElementsAre("impossible 91.50 -> 91.00", "impossible 81.50 -> 81.00",
                          "impossible 2.41 -> 1.41"));
  EXPECT_THAT(findings(audit_rows(
                  {"Seed 0 | Seed 1 | Seed 2 | Median | std", "1.0 | 2.0 | 9.0 | 3.0 | 3.56"})),
              ElementsAre("impossible 3.0 -> 2.0"))
      << "of a population";
}

TEST(IntervalText, ShowsEndsThatDifferAndTellsInfinityAsSuch) {
  EXPECT_EQ(interval_text({1.25, 1.25}), "1.25");
  EXPECT_EQ(interval_text({1.25, 1.35}), "[1.25, 1.35]");
  EXPECT_EQ(interval_text({0, std::numeric_limits<double>::infinity()}), "[0, inf]");
  EXPECT_EQ(interval_text({}), "-");
}

TEST(Json, NamesCellVerdictIntervalAndSources) {
  const auto tables = audit_markdown(
      "# FP16\n\n| gpu_num | samples/s | speedup |\n|---|---|---|\n| 1 | 544.31 | 1 |\n"
      "| 32 | 14822.31 | 27.33 |\n");
  const auto report = audit_to_json(tables, {}, false);
  EXPECT_EQ(report["schema"], "bertbench.audit/1");
  EXPECT_EQ(report["counts"]["impossible"], 1);
  ASSERT_EQ(report["tables"][0]["cells"].size(), 1U);
  auto cell = report["tables"][0]["cells"][0];
  EXPECT_NEAR(cell["computed"].get<double>(), 27.23138, 1e-5);
  EXPECT_NEAR(cell["interval"]["low"].get<double>(), 27.23112, 1e-5);
  cell.erase("computed");
  cell.erase("interval");
  EXPECT_EQ(cell.dump(),
            R"({"line":6,"row":1,"column":2,"part":0,"heading":"speedup","role":"speedup",)"
            R"("text":"27.33","printed":"27.33","verdict":"impossible","should_be":"27.23",)"
            R"("rule":"speedup = samples/s / that of the base row","from":[)"
            R"({"heading":"samples/s","text":"14822.31","line":6},)"
            R"({"heading":"samples/s of the base row","text":"544.31","line":5}]})");
  EXPECT_EQ(audit_to_json(tables, {}, true)["tables"][0]["cells"].size(), 2U);
}

}  // namespace
}  // namespace bertbench::audit
