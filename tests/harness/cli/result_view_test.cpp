// Results and their notices as a terminal shows them.
#include "harness/cli/result_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/reports/samples.h"

namespace bertbench::test {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::HasSubstr;
using testing::Not;

struct Seen {
  std::string out, err;
};

Seen seen(const ResultSet& set, Terminal terminal = {}) {
  std::ostringstream out, err;
  {
    Console console(out, err, terminal);
    print_results(console, set, {});
    print_notices(console, set);
  }
  return {out.str(), err.str()};
}

TEST(ResultView, EnergyAndPowerStandWhereTheyWereMeasuredOnly) {
  Cell watched = cell(identity(1, 8), {100, 110, 90});
  for (Trial& trial : watched.trials) trial.energy_per_sequence_j = 20;
  const std::string with = seen(result_set({watched, cell(identity(1, 4), {50, 51, 52})})).out;
  EXPECT_THAT(with, HasSubstr("J/sequence"));
  EXPECT_THAT(with, HasSubstr("20.00 J a sequence at 2000.0 W"));
  EXPECT_THAT(seen(result_set({watched})).out, HasSubstr("20.00 J a sequence"));
  const std::string without =
      seen(result_set({cell(identity(1, 8), {100}), cell(identity(1, 4), {50})})).out;
  EXPECT_THAT(without, Not(HasSubstr("J/sequence")));
  EXPECT_THAT(without, Not(HasSubstr("energy")));
}

TEST(ResultView, WhatFourTrialsShareIsSaidOnceAndTheRestWithItsLog) {
  Cell noisy = cell(identity(1, 1), {100, 101, 102, 103});
  for (Trial& trial : noisy.trials) {
    trial.log = "trial_" + std::to_string(trial.trial) + "/log.txt";
    trial.notices = {{0, "others took 1." + std::to_string(trial.trial) + " cores"}};
  }
  noisy.trials[2].notices.push_back({7, "odd line"});
  const std::string err = seen(result_set({noisy})).err;
  EXPECT_EQ(err,
            "bertbench: note: trial_3/log.txt:7: odd line\n"
            "bertbench: note: bert-base.fp32.s128.b32.a1.1n1g, 4 trials, such as: others took 1.1 "
            "cores\n");
  noisy.trials.pop_back();
  EXPECT_THAT(seen(result_set({noisy})).err,
              HasSubstr("note: trial_2/log.txt: others took 1.2 cores\n"));
}

TEST(ResultView, ATableOfCellsFitsATerminalOf80Columns) {
  const ResultSet set =
      result_set({cell(identity(1, 1), {100, 101, 102}), cell(identity(1, 2), {190, 191, 192})});
  const Seen wide = seen(set, {true, true, false, 160}),
             narrow = seen(set, {true, true, false, 80});
  EXPECT_THAT(wide.out, HasSubstr("bert-base.fp32.s128.b32.a1.1n2g  3"));
  EXPECT_THAT(narrow.out, HasSubstr("bert-base.fp32.s128.b32.a1.1n2g\n    3"));
  std::istringstream lines(narrow.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace bertbench::test
