// The second half of the gate: what a rerun clears, and that every output shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/output/gate_reports.h"
#include "tests/reports/samples.h"
#include "tests/reports/xml_check.h"

namespace bertbench {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::HasSubstr;
using testing::Not;

std::vector<double> around(double rate) {
  std::vector<double> out;
  for (const double part : {0.997, 0.998, 0.999, 1.0, 1.001, 1.002, 1.003}) {
    out.push_back(rate * part);
  }
  return out;
}

ResultSet two_cells(double one, double two) {
  return result_set({cell(identity(1, 1), around(one)), cell(identity(1, 2), around(two))});
}

/// Both cells 10 % slower at first; the rerun finds the second one as fast as ever.
GateReport half_cleared() {
  const std::vector<ResultSet> runs{two_cells(100, 200)};
  const GateReport first = check(two_cells(90, 180), runs);
  EXPECT_EQ(first.exit_status, 1);
  return confirm(first, two_cells(90, 200), runs);
}

TEST(Confirm, WhatTheRerunDoesNotRepeatPassesWithBothMeasurementsKept) {
  const GateReport report = half_cleared();
  ASSERT_EQ(report.cells.size(), 2U);
  const CellVerdict &repeated = report.cells[0], &cleared = report.cells[1];
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(repeated.verdict, Verdict::regression);
  EXPECT_FALSE(repeated.cleared());
  ASSERT_TRUE(repeated.rerun);
  EXPECT_EQ(repeated.rerun->verdict, Verdict::regression);
  EXPECT_EQ(cleared.verdict, Verdict::pass);
  EXPECT_TRUE(cleared.cleared());
  EXPECT_NEAR(*cleared.change, -0.1, 0.001);
  EXPECT_NEAR(*cleared.rerun->change, 0, 0.001);
  EXPECT_EQ(cleared.rerun->n_new, 7);
}

TEST(Confirm, ARerunElsewhereNamesTheNodesThatAloneShowTheLoss) {
  const std::vector<ResultSet> runs{two_cells(100, 200)};
  GateReport first = check(two_cells(90, 180), runs);
  for (const CellVerdict& cell : first.cells) {
    first.rerun_nodes[cell.key] = {.first = {"node3"}, .again = {"node7", "node8"}};
  }
  const GateReport report = confirm(first, two_cells(90, 200), runs);
  EXPECT_THAT(reason_text(report.cells[0]),
              HasSubstr("confirmed by a rerun on node7, node8, at first on node3: "));
  EXPECT_THAT(reason_text(report.cells[1]),
              HasSubstr("not confirmed by a rerun on node7, node8: only node3 shows it ("));
  EXPECT_EQ(report.cells[1].verdict, Verdict::pass);
  EXPECT_TRUE(report.cells[1].rerun->nodes.elsewhere());
}

TEST(Confirm, OnTheSameOrOnUnknownNodesNothingIsSaidOfThem) {
  const std::vector<ResultSet> runs{two_cells(100, 200)};
  for (const RerunNodes& nodes :
       {RerunNodes{{"a", "b"}, {"b", "c"}}, RerunNodes{{}, {"c"}}, RerunNodes{{"a"}, {}}}) {
    EXPECT_FALSE(nodes.elsewhere());
    GateReport first = check(two_cells(90, 180), runs);
    for (const CellVerdict& cell : first.cells) first.rerun_nodes[cell.key] = nodes;
    const GateReport report = confirm(first, two_cells(90, 200), runs);
    EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("confirmed by a rerun: "));
    EXPECT_THAT(reason_text(report.cells[1]), HasSubstr("not confirmed by a rerun ("));
  }
}

TEST(Confirm, ACellThatWasNeverFlaggedHasNoRerun) {
  const std::vector<ResultSet> runs{two_cells(100, 200)};
  const GateReport report = confirm(check(two_cells(90, 200), runs), two_cells(100, 200), runs);
  EXPECT_TRUE(report.cells[0].cleared());
  EXPECT_FALSE(report.cells[1].rerun);
  EXPECT_EQ(report.exit_status, 0);
}

TEST(Confirm, JunitPassesAClearedCellAndSaysThatARerunClearedIt) {
  const std::string text = gate_junit(half_cleared(), {}, "gate");
  const auto xml = xml::parse(text);
  ASSERT_EQ(xml.error, "");
  EXPECT_EQ(xml.named("testsuite")[0].attributes.at("failures"), "1");
  const auto kept = text.find("\ncleared_by_rerun: false\n");
  const auto cleared = text.find("\ncleared_by_rerun: true\n");
  EXPECT_LT(kept, cleared) << text;
  EXPECT_NE(cleared, std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr("<system-out>verdict: pass\n"));
  EXPECT_THAT(text, HasSubstr("\nfirst_verdict: regression\n"));
  EXPECT_THAT(text, HasSubstr("\nreason: not confirmed by a rerun"));
}

TEST(Confirm, TheJobPageAndTheAnnotationsNameAClearedCell) {
  const GateReport report = half_cleared();
  EXPECT_THAT(gate_markdown(report, "check"),
              HasSubstr("| pass (rerun) | bert-base.fp32.s128.b32"));
  EXPECT_THAT(github_annotations(report, {}), HasSubstr("::notice title=pass%3A bert-base"));
  const std::vector<ResultSet> runs{two_cells(100, 200)};
  EXPECT_THAT(gate_markdown(check(two_cells(100, 200), runs), "check"), Not(HasSubstr("pass |")));
}

}  // namespace
}  // namespace bertbench
