#include "reports/gate/waivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/gate/paired.h"
#include "reports/gate/verdicts.h"
#include "tests/reports/samples.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kToday = "2026-11-27";

const Identity& waived_cell() {
  static const Identity one = identity(1, 1);
  return one;
}

/// A waiver of the cell's speed that holds today.
Waiver waiver(double limit = 0.12) {
  return {waived_cell().key(), WorkKind::training, "speed", limit, "known: issue 12", "2026-12-31"};
}

std::vector<double> seven_rates(double middle) {
  std::vector<double> out;
  for (int i = -3; i <= 3; ++i) out.push_back(middle * (1 + 0.001 * i));
  return out;
}

/// Two cells, of which the first has this rate and the other 180.
ResultSet two_cells(double rate) {
  return result_set(
      {cell(waived_cell(), seven_rates(rate)), cell(identity(1, 2), seven_rates(180))});
}

/// The first cell lost a tenth.
GateReport slower_by_a_tenth() { return check(two_cells(90), two_cells(100)); }

GateReport judged(GateReport report, const std::vector<Waiver>& waivers,
                  const std::string& today = kToday) {
  apply_waivers(report, waivers, today, {});
  return report;
}

std::vector<NoticeCode> codes_of(const std::vector<Notice>& notices) {
  std::vector<NoticeCode> out;
  for (const Notice& notice : notices) out.push_back(notice.code);
  return out;
}

TEST(Waivers, ALossWithinItsLimitStaysARegressionThatFailsNothing) {
  ASSERT_EQ(slower_by_a_tenth().exit_status, 1);
  const GateReport report = judged(slower_by_a_tenth(), {waiver()});
  EXPECT_EQ(report.exit_status, 0);
  const CellVerdict& slow = report.cells.front();
  EXPECT_EQ(slow.verdict, Verdict::regression);
  EXPECT_TRUE(slow.waived());
  EXPECT_EQ(verdict_text(slow), "regression (waived)");
  EXPECT_EQ(slow.waivers.at(0).state, WaiverState::waived);
  EXPECT_EQ(slow.reasons.front().code, NoticeCode::slower_beyond_tolerance);
  EXPECT_THAT(reason_text(slow),
              HasSubstr("waived until 2026-12-31: speed is worse by 10.0 %, and 12.0 % is allowed "
                        "(known: issue 12)"));
  EXPECT_THAT(report.cells[1].waivers, IsEmpty());
  EXPECT_FALSE(report.cells[1].waived());
}

TEST(Waivers, BeyondTheLimitItFails) {
  const GateReport report = judged(slower_by_a_tenth(), {waiver(0.08)});
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_FALSE(report.cells[0].waived());
  EXPECT_EQ(report.cells[0].waivers.at(0).state, WaiverState::not_enough);
  EXPECT_THAT(reason_text(report.cells[0]),
              HasSubstr("allows 8.0 %, and speed is worse by 10.0 %"));
}

TEST(Waivers, AfterItsLastDayItFails) {
  EXPECT_EQ(judged(slower_by_a_tenth(), {waiver()}, "2026-12-31").exit_status, 0);
  const GateReport report = judged(slower_by_a_tenth(), {waiver()}, "2027-01-01");
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(report.cells[0].waivers.at(0).state, WaiverState::expired);
  EXPECT_EQ(report.cells[0].reasons.back().code, NoticeCode::waiver_expired);
  // Of a cell that passes it is a notice.
  const GateReport good = judged(check(two_cells(100), two_cells(100)), {waiver()}, "2027-01-01");
  EXPECT_EQ(good.exit_status, 0);
  EXPECT_THAT(codes_of(good.notices), ElementsAre(NoticeCode::waiver_expired));
  EXPECT_THAT(text_of(good.notices.at(0)), HasSubstr(waived_cell().key()));
}

TEST(Waivers, OneThatIsNotNeededChangesNothing) {
  const GateReport report = judged(check(two_cells(100), two_cells(100)), {waiver()});
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_EQ(report.cells[0].verdict, Verdict::pass);
  EXPECT_FALSE(report.cells[0].waived());
  EXPECT_EQ(report.cells[0].waivers.at(0).state, WaiverState::not_needed);
  EXPECT_THAT(report.notices, IsEmpty());
}

TEST(Waivers, OneWithoutACellIsANotice) {
  Waiver other = waiver();
  other.cell += "+optimizer=lamb";
  Waiver evaluation = waiver();
  evaluation.kind = WorkKind::evaluation;
  const GateReport report = judged(slower_by_a_tenth(), {other, evaluation});
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_THAT(codes_of(report.notices),
              ElementsAre(NoticeCode::waiver_without_cell, NoticeCode::waiver_without_cell));
}

TEST(Waivers, CoverOnlyTheVerdictThatTheyName) {
  GateReport both = slower_by_a_tenth();
  both.cells[0].memory = MemoryVerdict{Verdict::regression, "log", 120, 100, 0.2, {}};
  const GateReport speed = judged(both, {waiver()});
  EXPECT_EQ(speed.exit_status, 1);
  EXPECT_FALSE(speed.cells[0].waived());
  EXPECT_EQ(verdict_text(speed.cells[0]), "regression");
  Waiver memory = waiver(0.25);
  memory.verdict = "memory";
  EXPECT_EQ(judged(both, {memory}).exit_status, 1);
  const GateReport all = judged(both, {waiver(), memory});
  EXPECT_EQ(all.exit_status, 0);
  EXPECT_TRUE(all.cells[0].waived());
  memory.limit = 0.15;
  EXPECT_EQ(judged(both, {waiver(), memory}).exit_status, 1);
  // A cell that is faster and whose memory is waived passes as one that is not.
  GateReport faster = check(two_cells(120), two_cells(100));
  ASSERT_EQ(faster.cells[0].speed, Verdict::improvement);
  faster.cells[0].memory = both.cells[0].memory;
  faster.cells[0].verdict = Verdict::regression;
  memory.limit = 0.25;
  EXPECT_TRUE(judged(faster, {memory}).cells[0].waived());
  EXPECT_EQ(judged(faster, {memory}).exit_status, 0);
}

TEST(Waivers, CoverTheShareOfTrialsThatMayFail) {
  ResultSet one_failed = two_cells(100);
  one_failed.cells[0].trials[2].outcome.status = Status::error;
  const GateReport failed = check(one_failed, two_cells(100));
  ASSERT_EQ(failed.exit_status, 1);
  Waiver of_outcomes = waiver(0.15);  // one of seven is 14.3 %
  of_outcomes.verdict = "outcomes";
  EXPECT_EQ(judged(failed, {waiver()}).exit_status, 1);
  EXPECT_EQ(judged(failed, {of_outcomes}).exit_status, 0);
  EXPECT_TRUE(judged(failed, {of_outcomes}).cells[0].waived());
  of_outcomes.limit = 0.14;
  EXPECT_EQ(judged(failed, {of_outcomes}).cells[0].waivers.at(0).state, WaiverState::not_enough);
}

TEST(Waivers, CoverPartsAndCurvesButNoLossThatIsNotFinite) {
  GateReport parts = check(two_cells(100), two_cells(100));
  PartVerdict& part = parts.cells[0].parts.emplace_back();
  part.part = "optimizer";
  part.verdict = parts.cells[0].verdict = Verdict::regression;
  part.change = 0.05;
  Waiver of_part = waiver(0.06);
  of_part.verdict = "optimizer";
  EXPECT_EQ(judged(parts, {waiver()}).exit_status, 1);
  EXPECT_EQ(judged(parts, {of_part}).exit_status, 0);
  EXPECT_TRUE(judged(parts, {of_part}).cells[0].waived());
  // In a faster cell a part may take what another gave: its change fails nothing.
  GateReport faster = parts;
  faster.cells[0].speed = Verdict::improvement;
  EXPECT_EQ(judged(faster, {of_part}).cells[0].waivers.at(0).state, WaiverState::not_needed);
  of_part.verdict = "forward";
  EXPECT_FALSE(judged(parts, {of_part}).cells[0].waived());

  GateReport curves = check(two_cells(100), two_cells(100));
  curves.cells[0].loss = LossVerdict{Verdict::regression, 100, 7.14, 7.0, 0.005, 3, {}};
  curves.cells[0].verdict = Verdict::regression;
  Waiver of_loss = waiver(0.03);
  of_loss.verdict = "loss";
  EXPECT_TRUE(judged(curves, {of_loss}).cells[0].waived());
  of_loss.limit = 0.01;
  EXPECT_EQ(judged(curves, {of_loss}).cells[0].waivers.at(0).state, WaiverState::not_enough);
  curves.cells[0].loss->now = curves.cells[0].loss->before = std::nullopt;  // NaN
  of_loss.limit = 0.99;
  const GateReport nan = judged(curves, {of_loss});
  EXPECT_EQ(nan.exit_status, 1);
  EXPECT_THAT(reason_text(nan.cells[0]), HasSubstr("loss is worse by an unknown share"));
  curves.cells[0].loss->now = 0.1;
  curves.cells[0].loss->before = 0;
  EXPECT_THAT(reason_text(judged(curves, {of_loss}).cells[0]), HasSubstr("by an unknown share"));
}

TEST(Waivers, WhatWaitsForMoreTrialsStillWaits) {
  GateReport few = check(result_set({cell(waived_cell(), {90})}), two_cells(100));
  GateOptions options;
  options.allow_missing = true;
  const auto status = [&](GateReport report, const Waiver& one) {
    apply_waivers(report, std::vector{one}, kToday, options);
    return report.exit_status;
  };
  EXPECT_EQ(status(few, waiver(0.5)), 3);
  // A regression of memory that is waived leaves the speed as undecided as it was.
  few.cells[0].memory = MemoryVerdict{Verdict::regression, "log", 120, 100, 0.2, {}};
  few.cells[0].verdict = Verdict::regression;
  Waiver memory = waiver(0.25);
  memory.verdict = "memory";
  EXPECT_EQ(status(few, memory), 3);
}

TEST(Waivers, AMissingCellIsNotWaived) {
  ResultSet part = two_cells(100);
  part.cells.erase(part.cells.begin());
  const GateReport report = judged(check(part, two_cells(100)), {waiver(0.9)});
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_THAT(reason_text(report.cells.back()), HasSubstr("speed is worse by an unknown share"));
  ResultSet lost = two_cells(100);
  for (Trial& trial : lost.cells[0].trials) trial.window.covered = false;
  const GateReport no_number = judged(check(lost, two_cells(100)), {waiver(0.9)});
  EXPECT_EQ(no_number.exit_status, 1);
  EXPECT_THAT(reason_text(no_number.cells[0]), HasSubstr("speed is worse by an unknown share"));
}

TEST(Waivers, CoverPairs) {
  ResultSet set;
  for (const auto& [variant, rate] : {std::pair{"base", 100.0}, std::pair{"new", 90.0}}) {
    Identity one = waived_cell();
    one.axes[kVariantAxis] = variant;
    set.cells.push_back(cell(one, seven_rates(rate)));
    for (Trial& trial : set.cells.back().trials) trial.block = BlockPlace{1, 1};
  }
  const ResultSet run = result_set(set.cells);
  GateOptions options;
  options.floor = kPairedFloor;
  GateReport report = check_paired(run, "base", options);
  ASSERT_EQ(report.exit_status, 1);
  Waiver pairs = waiver();
  pairs.cell = report.cells.at(0).key;
  apply_waivers(report, std::vector{pairs}, kToday, options);
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_TRUE(report.cells[0].waived());
}

/// What reading this file of waivers gives.
Result<std::vector<Waiver>> read_text(const std::string& text) {
  const test::ScratchFolder folder;
  return read_waivers(folder.put("waivers.json", text));
}

std::string one_waiver(const std::string& members) {
  return "{\"schema\": \"bertbench.waivers/1\", \"waivers\": [\n{" + members + "}]}";
}

TEST(Waivers, AreReadFromAFileWithComments) {
  const auto read = read_text(one_waiver(R"("cell": "a.b", // the large one
      "limit": "6%", "reason": "why", "expiry": "2028-02-29"}, {"cell": "a.b", "limit": 0.1,
      "kind": "evaluation", "verdict": "optimizer", "reason": "why", "expiry": "2027-01-31")"));
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_DOUBLE_EQ(read->at(0).limit, 0.06);
  EXPECT_EQ(read->at(0).verdict, "speed");
  EXPECT_EQ(read->at(0).kind, WorkKind::training);
  EXPECT_DOUBLE_EQ(read->at(1).limit, 0.1);
  EXPECT_EQ(read->at(1).verdict, "optimizer");
  EXPECT_EQ(read->at(1).kind, WorkKind::evaluation);
}

TEST(Waivers, AWrongFileIsAnErrorWithItsPlace) {
  const auto wrong = [](const std::string& text) {
    const auto read = read_text(text);
    return read ? std::string("no error") : read.error().message();
  };
  const std::string good = R"("cell": "a", "limit": "6%", "reason": "r", "expiry": "2027-01-31")";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string members = good;
    members.replace(members.find(from), from.size(), to);
    return wrong(one_waiver(members));
  };
  ASSERT_EQ(wrong(one_waiver(good)), "no error");
  EXPECT_THAT(with("\"cell\": \"a\", ", ""), HasSubstr("has no 'cell'"));
  EXPECT_THAT(with(", \"expiry\": \"2027-01-31\"", ""), HasSubstr("has no 'expiry'"));
  EXPECT_THAT(with("\"cell\"", "\"cel\""), HasSubstr("did you mean 'cell'?"));
  EXPECT_THAT(with("\"6%\"", "\"106%\""), HasSubstr("waivers[0].limit: is not a share"));
  EXPECT_THAT(with("\"6%\"", "-1"), HasSubstr("is not a share"));
  EXPECT_THAT(with("\"6%\"", "[]"), HasSubstr("waivers.json:2: waivers[0].limit"));
  EXPECT_THAT(with("\"r\"", "\" \""), HasSubstr("state why"));
  for (const char* day : {"2027-02-29", "2027-13-01", "2027-1-31", "31.01.2027", "soon", "",
                          "2027-01-311", "2027/01-31", "2027-01/31", "year-01-31", "2027-mm-31",
                          "2027-01-dd", "2027-00-10", "2027-01-00", "2027--1-31", "2027-01--1"}) {
    EXPECT_THAT(with("2027-01-31", day), HasSubstr("is no day")) << day;
  }
  EXPECT_THAT(with("\"a\"", "\"a\", \"verdict\": \"sped\""),
              HasSubstr("'sped' is not one of speed, memory"));
  EXPECT_THAT(with("\"a\"", "\"a\", \"kind\": \"x\""), HasSubstr("'x' is not one of training"));
  EXPECT_THAT(wrong(one_waiver(good + "}, {" + good)), HasSubstr("speed of a is waived twice"));
  for (const char* other : {"\"cell\": \"b\"", "\"cell\": \"a\", \"kind\": \"evaluation\"",
                            "\"cell\": \"a\", \"verdict\": \"memory\""}) {
    EXPECT_EQ(wrong(one_waiver(good + "}, {" + other + good.substr(good.find(',')))), "no error");
  }
  EXPECT_THAT(wrong("{}"), HasSubstr("must be \"bertbench.waivers/1\""));
  EXPECT_THAT(wrong(R"({"schema": "bertbench.waivers/1"})"), HasSubstr("must be a list"));
  EXPECT_THAT(wrong(R"({"schema": "bertbench.waivers/1", "waivers": 3})"),
              HasSubstr("must be a list"));
  EXPECT_THAT(wrong(R"({"schema": "bertbench.waivers/1", "waivers": [3]})"),
              HasSubstr("must be an object"));
  EXPECT_THAT(wrong("[]"), HasSubstr("a file of waivers is a JSON object"));
  EXPECT_THAT(wrong(""), HasSubstr("is empty"));
  EXPECT_THAT(read_waivers("/no/such/file").error().message(), HasSubstr("--waive takes"));
}

}  // namespace
}  // namespace bertbench
