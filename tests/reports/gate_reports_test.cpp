#include "reports/output/gate_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/gate/paired.h"
#include "tests/golden.h"
#include "tests/reports/result_files.h"
#include "tests/reports/samples.h"
#include "tests/reports/xml_check.h"

namespace bertbench {
namespace {

using testing::HasSubstr;
using testing::Not;

GateReport report_of(std::vector<CellVerdict> cells, int status, int compared) {
  GateReport report;
  report.cells = std::move(cells);
  report.exit_status = status;
  report.compared = compared;
  return report;
}

CellVerdict verdict(const std::string& key, Verdict what, const std::string& reason) {
  CellVerdict out;
  out.key = key;
  out.verdict = what;
  out.reasons = {foreign_notice(0, reason)};
  out.n_new = out.n_base = 7;
  return out;
}

GateReport mixed() {
  std::vector<CellVerdict> cells = {
      verdict("a.1n1g", Verdict::pass, "unchanged"),
      verdict("b.1n2g", Verdict::regression, "5.1 % slower, 100 % sure: a, b"),
      verdict("c.1n4g", Verdict::inconclusive, "n=3 cannot decide"),
      verdict("d.1n8g", Verdict::missing, "not measured"),
      verdict("e.2n8g", Verdict::not_comparable, "another GPU"),
      verdict("f.4n8g", Verdict::new_cell, "not in the baseline"),
      verdict("g.8n8g", Verdict::improvement, "3 % faster")};
  cells[1].change = -0.051;
  return report_of(std::move(cells), 1, 4);
}

TEST(GateJunit, AnEvaluationIsNamedAsSuch) {
  CellVerdict evaluation = verdict("a.1n1g", Verdict::pass, "unchanged");
  evaluation.kind = WorkKind::evaluation;
  const auto xml = xml::parse(gate_junit(
      report_of({verdict("a.1n1g", Verdict::pass, "unchanged"), evaluation}, 0, 2), {}, "gate"));
  EXPECT_EQ(xml.named("testcase").at(0).attributes.at("name"), "a.1n1g");
  EXPECT_EQ(xml.named("testcase").at(1).attributes.at("name"), "a.1n1g (evaluation)");
}

TEST(GateJunit, AFailureIsWhatFailsTheGateAndTheRestIsSkippedOrFine) {
  const auto xml = xml::parse(gate_junit(mixed(), {}, "gate"));
  ASSERT_EQ(xml.error, "");
  EXPECT_EQ(xml::beyond_junit_schema(xml), "");
  EXPECT_EQ(xml.named("testcase").size(), 7U);
  EXPECT_EQ(xml.named("failure").size(), 2U);
  EXPECT_EQ(xml.named("error").size(), 1U);
  EXPECT_EQ(xml.named("skipped").size(), 2U);
  const auto& sums = xml.named("testsuite")[0].attributes;
  EXPECT_EQ(sums.at("tests"), "7");
  EXPECT_EQ(sums.at("failures"), "2");
  EXPECT_EQ(sums.at("errors"), "1");
  EXPECT_EQ(sums.at("skipped"), "2");
  EXPECT_EQ(xml.named("failure")[0].attributes.at("type"), "regression");
}

TEST(GateJunit, WhatTheOptionsLetPassIsNoFailure) {
  GateOptions options;
  options.allow_missing = true;
  const auto xml = xml::parse(gate_junit(mixed(), options, "gate"));
  EXPECT_EQ(xml.named("failure").size(), 1U);
  EXPECT_EQ(xml.named("skipped").size(), 3U);
}

/// Cell b of mixed() as a waiver left it, with its reason.
GateReport with_waiver() {
  GateReport report = mixed();
  CellVerdict& cell = report.cells[1];
  cell.after_waivers = Verdict::pass;
  cell.waivers.push_back(
      {{cell.key, WorkKind::training, "speed", 0.06, "known", "2027-01-31"}, WaiverState::waived});
  cell.reasons.push_back(foreign_notice(0, "waived until 2027-01-31"));
  return report;
}

TEST(GateJunit, AWaivedCellIsSkippedAndSaysWhy) {
  const auto xml = xml::parse(gate_junit(with_waiver(), {}, "gate"));
  ASSERT_EQ(xml.error, "");
  EXPECT_EQ(xml::beyond_junit_schema(xml), "");
  EXPECT_EQ(xml.named("failure").size(), 1U) << "the missing one";
  ASSERT_EQ(xml.named("skipped").size(), 3U);
  EXPECT_THAT(xml.named("skipped")[0].attributes.at("message"), HasSubstr("waived until"));
  EXPECT_THAT(gate_junit(with_waiver(), {}, "gate"), HasSubstr("waiver_of_speed"));
}

TEST(GithubAnnotations, AWaivedCellIsANotice) {
  EXPECT_THAT(github_annotations(with_waiver(), {}),
              HasSubstr("::notice title=regression (waived)%3A b.1n2g::5.1 %25 slower, 100 %25 "
                        "sure: a, b; waived until 2027-01-31\n"));
  EXPECT_THAT(gate_markdown(with_waiver(), "check run"), HasSubstr("1 regression (waived)"));
}

TEST(GithubAnnotations, NameTheCellAndEscapeWhatEndsACommand) {
  const std::string text = github_annotations(mixed(), {});
  EXPECT_THAT(text,
              HasSubstr("::error title=regression%3A b.1n2g::5.1 %25 slower, 100 %25 sure: a, "
                        "b\n"));
  EXPECT_THAT(text, HasSubstr("::warning title=inconclusive%3A c.1n4g::n=3 cannot decide\n"));
  EXPECT_THAT(text, HasSubstr("::error title=missing%3A d.1n8g::"));
  EXPECT_THAT(text, HasSubstr("::notice title=improvement%3A g.8n8g::"));
  EXPECT_THAT(text, Not(HasSubstr("a.1n1g")));
}

/// The verdict of a cell of which all trials crash and those of the baseline did not.
GateReport crashing() {
  const ResultSet base = samples::result_set({samples::cell(samples::identity(1, 1), {1, 2, 3})});
  ResultSet now = base;
  for (Trial& trial : now.cells[0].trials) {
    trial.outcome.status = Status::error;
    trial.log = "a/trial_1/log.txt";
  }
  return check(now, base);
}

TEST(GateReports, TrialsThatFailStandInEveryForm) {
  const std::string words = "3 of 3 trials failed (error x3), 0 of 3 in the baseline";
  const auto xml = xml::parse(gate_junit(crashing(), {}, "gate"));
  ASSERT_EQ(xml.error, "");
  ASSERT_EQ(xml.named("failure").size(), 1U);
  EXPECT_THAT(xml.named("failure")[0].attributes.at("message"), HasSubstr(words));
  EXPECT_THAT(gate_junit(crashing(), {}, "gate"), HasSubstr("outcomes_verdict: regression"));
  EXPECT_THAT(github_annotations(crashing(), {}), HasSubstr("::error title=regression%3A"));
  EXPECT_THAT(github_annotations(crashing(), {}), HasSubstr(words));
  EXPECT_THAT(gate_markdown(crashing(), "x"), HasSubstr("### x: failed"));
  EXPECT_THAT(gate_markdown(crashing(), "x"), HasSubstr("see a/trial_1/log.txt"));
}

TEST(GithubAnnotations, NothingComparedIsAnError) {
  EXPECT_THAT(github_annotations(report_of({}, 4, 0), {}),
              HasSubstr("::error title=bertbench check"));
}

TEST(GateMarkdown, SaysTheOutcomeAndListsWhatDidNotPass) {
  const std::string text = gate_markdown(mixed(), "check run");
  EXPECT_THAT(text, HasSubstr("### check run: failed\n"));
  EXPECT_THAT(text, HasSubstr("4 cells compared, 1 improvement, 1 inconclusive, 1 missing"));
  EXPECT_THAT(text, HasSubstr("| regression"));
  EXPECT_THAT(text, HasSubstr("-5.1 %"));
  EXPECT_THAT(text, Not(HasSubstr("a.1n1g")));
  EXPECT_THAT(gate_markdown(report_of({}, 0, 3), "x"), HasSubstr("### x: passed"));
}

TEST(GateReports, OfAWholeResultAreAsStored) {
  const ResultSet base = result_files::read("everything");
  ResultSet now = base;
  for (Trial& trial : now.cells[0].trials) {
    *trial.sequences_per_second *= 0.9;
    trial.memory->peak_bytes *= 2;
  }
  summarize(now, {});
  GateReport report = check(now, base);
  report.cells[1].rerun = Rerun{.change = -0.01, .median_new = {}};
  const std::string stored = "tests/golden/reports/gate.";
  test::expect_golden(stored + "junit", gate_junit(report, {}, "gate"));
  test::expect_golden(stored + "paired.junit", gate_junit(check_paired(base, "base", {}), {}, ""));
  test::expect_golden(stored + "annotations", github_annotations(report, {}));
  test::expect_golden(stored + "markdown", gate_markdown(report, "gate"));
}

}  // namespace
}  // namespace bertbench
