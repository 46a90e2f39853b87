#include <gmock/gmock.h>

#include "reports/studies/audit/audit.h"
#include "tests/reports/audit/audit_cases.h"

namespace bertbench::audit {
namespace {

using testing::ElementsAre;

TEST(Culprits, TheInputThatThreeRulesContradictIsWrongNotTheThreeResults) {
  const auto tables = audit_rows(
      {"batch size | num_gpu | it/s | global seq/sec | seq/sec/gpu | agg_size | global agg size",
       "3 | 16 | 4.72 | 604.16 | 37.76 | 256 | 32768"});
  EXPECT_THAT(findings(tables), ElementsAre("impossible 3 -> 8"));
  EXPECT_EQ(count(tables).exact, 3U);  // the results hold with a batch of 8
  std::string from;
  for (const Operand& each : tables[0].cells[0].from) from += each.heading + " " + each.text + "; ";
  EXPECT_EQ(from, "global seq/sec 604.16; it/s 4.72; num_gpu 16; ");
}

TEST(Culprits, ABatchIsAPowerOfTwoWhereTheDigitsLeaveOneOpen) {
  EXPECT_THAT(findings(audit_rows(
                  {"batch size | it/s | seq/sec/gpu | GPUs | samples/s", "3 | 4 | 36 | 2 | 72"})),
              ElementsAre("impossible 3 -> 8"));
}

TEST(Culprits, CellsThatSlippedOneColumnAreReadInOrder) {
  const auto tables = audit_rows(
      {"batch size | num_gpu | | it/s | global seq/sec | seq/sec/gpu | agg_size | global agg size",
       "| 3 | 16 | 4.72 | 604.16 | 37.76 | 256 | 32768"});
  EXPECT_THAT(findings(tables), ElementsAre("impossible 3 -> 8"));
}

TEST(Culprits, AThroughputThatTwoColumnsContradictIsWrong) {
  const auto tables =
      audit_rows({"GPUs | samples/s | speedup | seq/sec/gpu", "1 | 100.0 | 1 | 100.0",
                  "2 | 190.0 | 1.90 | 95.0", "4 | 630.0 | 3.60 | 90.0"});
  EXPECT_THAT(findings(tables), ElementsAre("impossible 630.0 -> 360.0"));
}

TEST(Culprits, AWrongBaseRowIsFoundWhenItsOwnCellsContradictIt) {
  const auto tables = audit_rows({"GPUs | samples/s | speedup", "1 | 110.0 | 1", "2 | 190.0 | 1.90",
                                  "4 | 360.0 | 3.60", "8 | 700.0 | 7.00"});
  EXPECT_THAT(findings(tables), ElementsAre("impossible 110.0 -> 100.0"));
}

TEST(Culprits, AnAccumulationMustBeWhole) {
  const auto tables = audit_rows({"batch size | accumulation steps | accumulated batch size",
                                  "126 | 64 | 8192", "128 | 32 | 4096"});
  EXPECT_THAT(findings(tables), ElementsAre("impossible 126 -> 128"));
}

}  // namespace
}  // namespace bertbench::audit
