// The tables of the five seed documents and of DLPerf: every known fault, and nothing else.
#include <gmock/gmock.h>

#include "tests/read_file.h"
#include "tests/reports/audit/audit_cases.h"

namespace bertbench::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<TableAudit> published(const std::string& file, AuditOptions options = {}) {
  const std::string path = std::string(BB_SOURCE_DIR) + "/tests/data/published/" + file;
  const std::string text = test::read_file(path);
  EXPECT_FALSE(text.empty()) << path;
  options.flops = &flops;
  return audit_page(text, path, options).tables;
}

TEST(PublishedTables, OneSpeedupOfThirtySixIsImpossibleInTheMxnetReadme) {
  const auto tables = published("seed004_dlperf_mxnet_bert.csv");
  ASSERT_EQ(tables.size(), 6U);
  EXPECT_THAT(findings(tables), ElementsAre("impossible 27.33 -> 27.23"));
  const Counts counts = count(tables);
  EXPECT_EQ(counts.exact, 35U);
  EXPECT_EQ(counts.all(), 36U);
  const CheckedCell& cell = tables[5].cells.back();
  EXPECT_NEAR(cell.interval.low, 27.23112, 1e-5);
  EXPECT_NEAR(cell.interval.high, 27.23163, 1e-5);
  ASSERT_EQ(cell.from.size(), 2U);
  EXPECT_EQ(cell.from[0].text, "14822.31");
  EXPECT_EQ(cell.from[1].text, "544.31");
}

TEST(PublishedTables, TheBatchOfThreeMustBeEightInTheDgx2Note) {
  const auto tables = published("seed000_dgx2_tensorflow_pytorch.csv");
  EXPECT_THAT(findings(tables), ElementsAre("impossible 3 -> 8"));
  const Counts counts = count(tables);
  EXPECT_EQ(counts.exact, 62U);
  EXPECT_EQ(counts.all(), 63U);
}

TEST(PublishedTables, TimesOfBothPhasesAndTheirSequencesReproduceInTheDgx2Note) {
  const auto tables = published("seed000_dgx2_tensorflow_pytorch.csv");
  std::vector<std::string> seen;
  for (const TableAudit& table : tables) {
    for (const CheckedCell& cell : table.cells) {
      if (cell.role == Role::calculated_time || cell.role == Role::sequences) {
        EXPECT_EQ(cell.verdict, Verdict::exact);
        seen.push_back(cell.should_be);
      }
    }
  }
  EXPECT_THAT(seen, ElementsAre("143449.7", "83308.47", "461242368", "50331648"));
}

TEST(PublishedTables, TheOverheadOfPhaseOneGivesTheCorrectedTimeOfPhaseTwo) {
  AuditOptions options;
  options.grid.facts[Role::corrected_time] = 148313.2 / (7038 * 64 / 3.14);
  for (const TableAudit& table : published("seed000_dgx2_tensorflow_pytorch.csv", options)) {
    for (const CheckedCell& cell : table.cells) {
      if (cell.role != Role::corrected_time) continue;
      // The note multiplied its unrounded 83308.4746; from the printed 83308.47 it is 86132.96.
      EXPECT_EQ(cell.should_be, "86132.96");
      EXPECT_EQ(cell.verdict, Verdict::possible);
      return;
    }
  }
  FAIL() << "the corrected time was not checked";
}

TEST(PublishedTables, TyposAndTheTruncatedSpeedupAreFoundInTheNgcCard) {
  EXPECT_THAT(
      findings(published("seed001_ngc_bert_pytorch.csv")),
      ElementsAre("possible 0.449 -> 0.451", "truncated 1.92 -> 1.93", "impossible 126 -> 128",
                  "impossible 126 -> 128", "impossible 126 -> 128", "impossible 18 -> 8",
                  "impossible 126 -> 128", "impossible 126 -> 128", "impossible 126 -> 128"));
}

TEST(PublishedTables, FortyTwoOfFiftySixRatiosOfTheNgcCardReproduceThirteenArePossible) {
  Counts ratios;
  for (const TableAudit& table : published("seed001_ngc_bert_pytorch.csv")) {
    for (const CheckedCell& cell : table.cells) {
      const bool ratio = cell.role == Role::precision_speedup || cell.role == Role::weak_scaling ||
                         cell.role == Role::strong_scaling;
      if (!ratio || cell.base) continue;
      if (cell.verdict == Verdict::exact) ++ratios.exact;
      if (cell.verdict == Verdict::possible) ++ratios.possible;
      if (cell.verdict == Verdict::truncated) ++ratios.truncated;
      if (cell.verdict == Verdict::impossible) ++ratios.impossible;
    }
  }
  EXPECT_EQ(ratios.exact, 42U);
  EXPECT_EQ(ratios.possible, 13U);
  EXPECT_EQ(ratios.truncated, 1U);
  EXPECT_EQ(ratios.impossible, 0U);
}

TEST(PublishedTables, TheDeviationOfSst2IsOffByItsPrintedValuesButRightForAccuraciesOver872) {
  for (const TableAudit& table : published("seed001_ngc_bert_pytorch.csv")) {
    for (const CheckedCell& cell : table.cells) {
      if (cell.number != "0.449") continue;
      EXPECT_THAT(cell.note, HasSubstr("0.4512"));
      EXPECT_THAT(cell.note, HasSubstr("872 examples (SST-2 dev) they give 0.4491"));
      return;
    }
  }
  FAIL() << "0.449 was not checked";
}

TEST(PublishedTables, AllThreeTimeToTrainSpeedupsOfTheNgcCardReproduce) {
  std::vector<std::string> seen;
  for (const TableAudit& table : published("seed001_ngc_bert_pytorch.csv")) {
    for (const CheckedCell& cell : table.cells) {
      if (cell.role == Role::time_speedup && cell.verdict == Verdict::exact) {
        seen.push_back(cell.should_be);
      }
    }
  }
  EXPECT_THAT(seen, ElementsAre("1.78", "2.36", "1.91"));
}

TEST(PublishedTables, ThirteenOfSixteenTflopsAreExactByTheNotebooksOwnFormula) {
  const auto tables = published("seed002_transformers_notebook.csv");
  EXPECT_THAT(findings(tables), IsEmpty());
  const Counts counts = count(tables);
  EXPECT_EQ(counts.exact, 13U);
  EXPECT_EQ(counts.possible, 3U);
  ASSERT_EQ(tables[0].readings.size(), 1U);
  EXPECT_THAT(tables[0].readings[0], HasSubstr("formula notebook"));
}

TEST(PublishedTables, SamplesPerIterationAreNotTheBatchInTheDeepSpeedTutorial) {
  const auto tables = published("seed003_deepspeed_bing_bert.csv");
  EXPECT_THAT(findings(tables),
              ElementsAre("impossible 402679081 -> 400261120", "impossible 34464170 -> 34226176"));
  EXPECT_EQ(tables[0].cells[0].note, "402679081 / 24430 = 16483 a step, not 16384");
  EXPECT_EQ(tables[0].cells[1].note, "34464170 / 2089 = 16498 a step, not 16384");
}

TEST(PublishedTables, OtherDlperfTablesHoldTwoTruncatedAndOneImpossibleSpeedup) {
  EXPECT_THAT(
      findings(published("dlperf_other_tables.csv")),
      ElementsAre("truncated 7.55 -> 7.56", "truncated 7.79 -> 7.80", "impossible 10.2 -> 10.28"));
}

}  // namespace
}  // namespace bertbench::audit
