// What is known of a grid before it runs, from results of earlier runs.
#include "harness/sweep/plan/forecast.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {

Trial trial_of(double seconds, double rate) {
  Trial trial;
  trial.window.covered = true;
  trial.sequences_per_second = rate;
  *trial.telemetry = {{"seconds", seconds}};
  return trial;
}

TEST(Forecast, TakesTheTimeOfATrialFromAllTrialsOfAllEarlierRuns) {
  const Plan plan = test::plan_of(test::small_config());
  Cell cell;
  cell.key = plan.cells.at(0).key;
  cell.trials = {trial_of(10, 100), trial_of(20, 100)};
  ResultSet first, second;
  first.cells = {cell};
  cell.trials = {trial_of(60, 100)};
  second.cells = {cell};

  const Forecast known = forecast(plan, "", {first, second}, 0.01);
  ASSERT_EQ(known.cells.size(), 1u);
  EXPECT_EQ(known.cells[0].seconds, 30);
  EXPECT_TRUE(known.cells[0].own_seconds);
  EXPECT_EQ(known.cells_timed, 1);
  EXPECT_EQ(known.seconds_left, 60) << "two trials";
  EXPECT_EQ(known.noise_cells, 1);
  EXPECT_EQ(known.noise, 0);
}

TEST(Forecast, SaysThatNothingIsTimedAndWhichNoiseItAssumes) {
  const Forecast unknown = forecast(test::plan_of(test::small_config()), "", {}, 0.02);
  EXPECT_EQ(unknown.trials, 2);
  EXPECT_EQ(unknown.done, 0);
  EXPECT_FALSE(unknown.seconds_left.has_value());
  EXPECT_EQ(unknown.noise_cells, 0);
  EXPECT_EQ(unknown.noise, 0.02);
  ASSERT_EQ(unknown.losses.size(), 2u);
  EXPECT_FALSE(unknown.pairs);
}

TEST(Forecast, SaysHowManyPairsFindTwoPercent) {
  const auto plan = test::plan_of(test::small_config(R"(, "variants": {"base": {}, "new": {}})"));
  const Forecast coarse = forecast(plan, "", {}, 0.01);
  ASSERT_TRUE(coarse.pairs);
  EXPECT_EQ(coarse.pairs->pairs, 2);
  EXPECT_EQ(coarse.pairs->power_for_2, 0) << "two pairs decide nothing";
  ASSERT_TRUE(coarse.pairs->pairs_for_2);
  const Forecast fine = forecast(plan, "", {}, 0.003);
  EXPECT_LT(*fine.pairs->pairs_for_2, *coarse.pairs->pairs_for_2);
  EXPECT_FALSE(forecast(plan, "", {}, 0.2).pairs->pairs_for_2);
  EXPECT_FALSE(coarse.pairs->expected);
}

TEST(Forecast, SaysHowManyPairsASweepTakesThatEndsThemByItsRule) {
  const auto plan = test::plan_of(test::small_config(R"(, "variants": {"base": {}, "new": {}})"),
                                  {"trials=auto", "trials_max=28"});
  const Forecast quiet = forecast(plan, "", {}, 0.005);
  ASSERT_TRUE(quiet.pairs && quiet.pairs->expected);
  EXPECT_EQ(quiet.pairs->pairs, 28);
  EXPECT_LT(*quiet.pairs->expected, 16);
  EXPECT_GT(quiet.pairs->power_for_2, 0.95);
  EXPECT_GT(*forecast(plan, "", {}, 0.014).pairs->expected, *quiet.pairs->expected);
}

}  // namespace
}  // namespace bertbench
