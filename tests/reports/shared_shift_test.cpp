// What all cells share, with and without the machine's own probe, inside the gate.
#include "reports/gate/shared_shift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/gate/verdicts.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::HasSubstr;

constexpr int kCells = 6;

/// Cells of seven trials at `factor`, the last one also at `last`; every trial's probe reads 50
/// times `probe`, where that is above 0.
ResultSet probed_grid(double factor, double probe, double last = 1) {
  std::vector<Cell> cells;
  for (int i = 1; i <= kCells; ++i) {
    std::vector<double> rates;
    for (const double x : {1.0, 1.004, 0.996, 1.002, 0.998, 1.001, 0.999}) {
      rates.push_back(100 * i * x * factor * (i == kCells ? last : 1));
    }
    Cell& one = cells.emplace_back(cell(identity(1, i), rates));
    for (Trial& trial : one.trials) {
      if (!(probe > 0)) continue;
      *trial.telemetry = {{"probe",
                           {{"before", {{"gflops", 50 * probe}, {"copy_gb_s", 9.0}}},
                            {"after", {{"gflops", 50 * probe}, {"copy_gb_s", 9.0}}}}}};
    }
  }
  return result_set(std::move(cells));
}

int count_of(const GateReport& report, Verdict verdict) {
  return static_cast<int>(std::ranges::count(report.cells, verdict, &CellVerdict::verdict));
}

TEST(SharedShift, WhatTheProbeShowsTooWaitsForARerun) {
  const GateReport report = check(probed_grid(0.95, 0.95), probed_grid(1, 1));
  EXPECT_EQ(count_of(report, Verdict::inconclusive), kCells);
  EXPECT_EQ(report.exit_status, 3);
  const CellVerdict& cell = report.cells[0];
  EXPECT_EQ(cell.reasons.front().code, NoticeCode::slower_with_the_machine);
  EXPECT_THAT(reason_text(cell),
              HasSubstr("all cells lost 5.0 % in the median and the machine's own "
                        "speed changed by -5.0 % by its probe"));
  EXPECT_NEAR(*cell.change, -0.05, 1e-9) << "no number is corrected";
  ASSERT_EQ(report.notices.size(), 1U);
  EXPECT_THAT(text_of(report.notices[0]), HasSubstr("6 of 6 cells are slower at once"));
}

TEST(SharedShift, WhatOneCellLostBeyondTheMachineIsARegression) {
  const GateReport report = check(probed_grid(0.95, 0.95, 0.95), probed_grid(1, 1));
  EXPECT_EQ(count_of(report, Verdict::inconclusive), kCells - 1);
  EXPECT_EQ(report.cells.back().verdict, Verdict::regression);
  EXPECT_EQ(report.exit_status, 1);
}

TEST(SharedShift, WhatTheProbeDoesNotShowStaysARegressionThatIsNamedAsShared) {
  for (const double probe : {1.0, 1.02, 0.0}) {
    const GateReport report = check(probed_grid(0.95, probe), probed_grid(1, probe > 0 ? 1 : 0));
    EXPECT_EQ(count_of(report, Verdict::regression), kCells) << probe;
    ASSERT_EQ(report.notices.size(), 1U);
    EXPECT_EQ(report.notices[0].code, NoticeCode::cells_slower_together);
    EXPECT_THAT(text_of(report.notices[0]),
                HasSubstr(probe > 0 ? "by its probe" : "was not probed"));
  }
}

// Half of what the cells lost is the machine's: the other half is beyond the floor.
TEST(SharedShift, OnlyWhatBothShowIsTheMachines) {
  EXPECT_EQ(count_of(check(probed_grid(0.94, 0.97), probed_grid(1, 1)), Verdict::regression),
            kCells);
  EXPECT_EQ(count_of(check(probed_grid(0.95, 0.93), probed_grid(1, 1)), Verdict::inconclusive),
            kCells);
}

TEST(SharedShift, IsTheMachinesAsFarAsBothLost) {
  const auto of_machine = [](std::optional<double> probe, double shift) {
    return SharedShift{.cells = 6, .shift = shift, .probe = probe}.of_machine();
  };
  EXPECT_EQ(of_machine(-0.02, -0.05), -0.02);
  EXPECT_EQ(of_machine(-0.05, -0.02), -0.02);
  EXPECT_EQ(of_machine(0.02, -0.05), 0);
  EXPECT_EQ(of_machine(-0.05, 0.02), 0);
  EXPECT_EQ(of_machine(std::nullopt, -0.05), 0);
}

TEST(SharedShift, WhereNoCellRegressedItIsNoNotice) {
  const GateReport report = check(probed_grid(0.985, 0.985), probed_grid(1, 1));
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_TRUE(report.notices.empty());
}

TEST(SharedShift, OneSlowCellIsNoSharedShift) {
  const GateReport report = check(probed_grid(1, 0.9, 0.9), probed_grid(1, 1));
  EXPECT_EQ(count_of(report, Verdict::regression), 1);
  EXPECT_TRUE(report.notices.empty());
}

TEST(SharedShift, FewCellsAndOtherMachinesProbesSayNothing) {
  const ResultSet base = probed_grid(1, 1);
  const ResultSet* const runs[] = {&base};
  const std::vector<double> three(3, -0.05), four(4, -0.05);
  EXPECT_FALSE(shared_shift(three, probed_grid(1, 1), runs));
  EXPECT_NEAR(*shared_shift(four, probed_grid(1, 0.95), runs)->probe, std::log(0.95), 1e-9);
  EXPECT_EQ(shared_shift(four, probed_grid(1, 0.01), runs)->probe, 0.0) << "the copies alone";
  const std::vector<double> unchanged(4, 0), most(4, std::log(0.01));
  EXPECT_EQ(shared_shift(most, probed_grid(1, 0.01), runs)->probe, 0.0);
  EXPECT_EQ(shared_shift(unchanged, probed_grid(1, 0.95), runs)->probe, 0.0)
      << "the closer of both";
  const ResultSet unprobed = probed_grid(1, 0);
  const ResultSet* const no_probe[] = {&unprobed};
  EXPECT_FALSE(shared_shift(four, probed_grid(1, 0.95), no_probe)->probe);
  for (const nlohmann::ordered_json& telemetry :
       {nlohmann::ordered_json{{"probe", {{"before", "fast"}, {"after", 7}}}},
        nlohmann::ordered_json{{"samples", 7}}, nlohmann::ordered_json(7),
        nlohmann::ordered_json{
            {"probe", {{"before", {{"gflops", 0}}}, {"after", {{"gflops", -5}}}}}}}) {
    ResultSet hostile = probed_grid(1, 1);
    for (Cell& one : hostile.cells) {
      for (Trial& trial : one.trials) *trial.telemetry = telemetry;
    }
    EXPECT_FALSE(shared_shift(four, hostile, runs)->probe) << telemetry;
  }
}

TEST(SharedShift, ARerunDecides) {
  const ResultSet base[] = {probed_grid(1, 1)};
  const GateReport first = check(probed_grid(0.95, 0.95), base);
  EXPECT_EQ(flagged_cells(first).size(), std::size_t(kCells));
  const GateReport cleared = confirm(first, probed_grid(1, 1), base);
  EXPECT_EQ(cleared.exit_status, 0);
  EXPECT_TRUE(cleared.cells[0].cleared());
  EXPECT_EQ(cleared.cells[0].rerun->first, Verdict::inconclusive);
  const GateReport confirmed = confirm(first, probed_grid(0.95, 1), base);
  EXPECT_EQ(confirmed.exit_status, 1);
  EXPECT_EQ(confirmed.cells[0].verdict, Verdict::regression);
  EXPECT_EQ(confirm(first, probed_grid(0.95, 0.95), base).exit_status, 3) << "still the machine";
}

}  // namespace
}  // namespace bertbench
