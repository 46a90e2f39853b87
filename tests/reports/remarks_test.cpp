#include "reports/output/remarks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<std::string> summaries(const ResultSet& set) {
  std::vector<std::string> out;
  for (const RemarkGroup& group : grouped_remarks(set)) out.push_back(group.summary());
  return out;
}

TEST(Remarks, FailuresComeFirstAndWhatIsSaidOfManyIsSaidOnce) {
  ResultSet set = samples::result_set({samples::cell(samples::identity(1, 1), {100, 101}),
                                       samples::cell(samples::identity(1, 2), {190, 191})});
  for (Cell& cell : set.cells) {
    cell.warnings = {foreign_notice(0, "one CPU rank stands in for a GPU")};
    for (Trial& trial : cell.trials) {
      trial.notices = {foreign_notice(
          0, "other processes took 1.4" + std::to_string(trial.trial) + " of 2 cores")};
    }
  }
  set.cells[0].trials[0].notices.push_back(foreign_notice(7, "odd line"));
  set.cells[1].trials[1].outcome = {.status = Status::killed, .step = 7, .line = 0, .details = {}};
  EXPECT_THAT(summaries(set), ElementsAre("1n2g, trial 2: killed at step 7",
                                          "2 cells: one CPU rank stands in for a GPU",
                                          "4 trials, such as: other processes took 1.41 of 2 cores",
                                          "1n1g, trial 1, line 7: odd line"));
  const auto groups = grouped_remarks(set);
  ASSERT_THAT(groups[2].remarks, SizeIs(4));
  EXPECT_EQ(groups[2].remarks[3].text, "other processes took 1.42 of 2 cores");
  EXPECT_EQ(groups[2].remarks[3].who(), "1n2g, trial 2");
}

TEST(Remarks, WordsTellRemarksApartAndNumbersDoNot) {
  ResultSet set = samples::result_set({samples::cell(samples::identity(1, 1), {100, 101})});
  set.cells[0].warnings = {foreign_notice(0, "5 of 7 lost"), foreign_notice(0, "5 of 7 found"),
                           foreign_notice(0, "12.5 of 7 lost")};
  EXPECT_THAT(summaries(set), ElementsAre("bert-base.fp32.s128.b32.a1.1n1g, such as: 5 of 7 lost",
                                          "bert-base.fp32.s128.b32.a1.1n1g: 5 of 7 found"));
}

TEST(Remarks, WhatHappenedInOneCellOnlyNamesIt) {
  ResultSet set = samples::result_set({samples::cell(samples::identity(1, 1), {100}),
                                       samples::cell(samples::identity(1, 2), {1, 2, 3})});
  set.cells[0].warnings.clear();
  set.cells[1].warnings.clear();
  for (Trial& trial : set.cells[1].trials)
    trial.notices = {foreign_notice(3, "odd"), foreign_notice(5, "odd")};
  EXPECT_THAT(summaries(set), ElementsAre("1n2g, 3 trials: odd"));
}

}  // namespace
}  // namespace bertbench
