// The third card of the HTML report: what makes a result doubtful, and what makes it worthless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/output/remarks.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

const std::vector<double> kFive{100, 100.4, 99.6, 100.2, 99.8};

ResultSet one_cell(const std::vector<double>& rates = kFive) {
  return result_set({cell(identity(1, 1), rates)});
}

auto doubt(const char* text) {
  return Contains(AllOf(Field(&ResultCheck::good, false),
                        Field(&ResultCheck::text, HasSubstr(text)),
                        Field(&ResultCheck::grave, false)));
}

TEST(Trust, FiveQuietTrialsHoldEveryCheck) {
  EXPECT_THAT(result_checks(one_cell()), Each(Field(&ResultCheck::good, true)));
}

TEST(Trust, FewTrialsAndOneTrialAreDoubts) {
  EXPECT_THAT(result_checks(one_cell({100, 101, 102})), doubt("as few as 3 trials in a cell"));
  EXPECT_THAT(result_checks(one_cell({100})), doubt("no spread is known"));
}

TEST(Trust, ACellWithoutANumberHasNoTrialsToCount) {
  Cell failed = cell(identity(1, 2), kFive);
  for (Trial& trial : failed.trials) trial.window.covered = false;
  EXPECT_THAT(result_checks(result_set({cell(identity(1, 1), kFive), failed})),
              Contains(Field(&ResultCheck::text, "at least 5 trials in each cell with a number")));
}

TEST(Trust, ATrialWhoseRetrySucceededHasNotFailed) {
  ResultSet set = one_cell();
  Trial first = set.cells[0].trials[0];
  first.outcome.status = Status::killed;
  set.cells[0].trials[0].attempt = 2;
  set.cells[0].trials.push_back(first);
  EXPECT_THAT(result_checks(set), Contains(Field(&ResultCheck::text, "6 trials, none failed")));
}

TEST(Trust, ASpreadOfAFifthSaysThatTheNumbersAreWorthless) {
  ResultSet set = one_cell();
  set.cells[0].throughput.cv = 0.06;
  EXPECT_THAT(result_checks(set), doubt("largest spread (cv) 6.0 %"));
  set.cells[0].throughput.cv = 0.21;
  EXPECT_THAT(result_checks(set), Contains(Field(&ResultCheck::grave, true)));
}

TEST(Trust, TrialsOfWhichHalfFailAreWorthless) {
  ResultSet set = result_set({cell(identity(1, 1), {100, 100.4, 99.6, 100.2, 99.8, 100})});
  for (std::size_t i = 0; i < 2; ++i) set.cells[0].trials[i].outcome.status = Status::error;
  EXPECT_THAT(result_checks(set), doubt("2 of 6 trials failed"));
  set.cells[0].trials[2].outcome.status = Status::error;
  EXPECT_THAT(result_checks(set), Contains(AllOf(Field(&ResultCheck::text, "3 of 6 trials failed"),
                                                 Field(&ResultCheck::grave, true))));
  for (Trial& trial : set.cells[0].trials) trial.outcome.status = Status::truncated;
  EXPECT_THAT(result_checks(set), Not(doubt("6 of 6 trials failed"))) << "logs that end early";
}

TEST(Trust, TrialsThatChangeSpeedAreADoubtUnlessTheyAreFew) {
  ResultSet set = one_cell();
  for (Trial& trial : set.cells[0].trials) trial.steady_state.emplace();
  EXPECT_THAT(result_checks(set),
              Contains(Field(&ResultCheck::text, "iteration times are steady")));
  set.cells[0].trials[0].steady_state->state = Steadiness::no_steady_state;
  EXPECT_THAT(result_checks(set), doubt("1 of 5 trials changed speed on the way"));
}

TEST(Trust, AMarkOfTelemetryIsADoubt) {
  ResultSet set = one_cell();
  for (Trial& trial : set.cells[0].trials) *trial.telemetry = {{"samples", 3}};
  EXPECT_THAT(result_checks(set), Each(Field(&ResultCheck::good, true)));
  (*set.cells[0].trials[1].telemetry)["marks"] = {{{"kind", "shared"}, {"text", "x"}}};
  EXPECT_THAT(result_checks(set), doubt("1 of 5 trials shared the machine or were throttled"));
}

TEST(Trust, AProbeOfTheMachineAloneShowsNoNeighbour) {
  ResultSet set = one_cell();
  for (Trial& trial : set.cells[0].trials) *trial.telemetry = {{"probe", {{"before", 1}}}};
  EXPECT_THAT(result_checks(set),
              Not(Contains(Field(&ResultCheck::text, HasSubstr("shared its machine")))));
}

TEST(Trust, WithoutAnyNumberThereIsOneCheckAndItIsGrave) {
  ResultSet set = one_cell();
  set.cells[0].throughput = {};
  const auto checks = result_checks(set);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_TRUE(checks[0].grave);
}

}  // namespace
}  // namespace bertbench
