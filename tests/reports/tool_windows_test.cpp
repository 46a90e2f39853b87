#include "reports/measure/tool_windows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reports/measure/measure.h"

namespace bertbench {
namespace {

// Steps 1 to n: the first takes 10 s, each other one its number in milliseconds.
std::vector<Record> steps(std::int64_t n) {
  std::vector<Record> out;
  for (std::int64_t i = 1; i <= n; ++i) {
    out.push_back({.step = i, .seconds = i == 1 ? 10 : static_cast<double>(i) / 1000});
  }
  return out;
}

ToolWindow taken(std::string_view tool, const std::vector<Record>& records) {
  return window_of(tool, records).value_or(ToolWindow{});
}

TEST(ToolWindows, DgxcTakesIterations35To44) {
  const auto window = taken("dgxc", steps(50));
  EXPECT_EQ(window.values, 10);
  EXPECT_EQ(window.first, 35);
  EXPECT_EQ(window.last, 44);
  EXPECT_NEAR(window.seconds, 0.0395, 1e-12);
  EXPECT_NEAR(window.deviation, 0.0030277, 1e-6);
  EXPECT_FALSE(window_of("dgxc", steps(20)));
}

TEST(ToolWindows, MegatronBridgeLeavesOutTheFirstTenthAndTakesTheMeanOfRates) {
  const auto window = taken("megatron-bridge", steps(20));
  EXPECT_EQ(window.values, 18);
  EXPECT_EQ(window.first, 3);
  double rates = 0;
  for (int i = 3; i <= 20; ++i) rates += 1000.0 / i;
  EXPECT_NEAR(window.seconds, 18 / rates, 1e-12);
}

TEST(ToolWindows, CloudaiTakesTheLastTenAndPrimusSkipsFive) {
  const auto last = taken("cloudai", steps(20));
  EXPECT_EQ(last.first, 11);
  EXPECT_NEAR(last.seconds, 0.0155, 1e-12);
  EXPECT_NEAR(last.deviation, 0.0028723, 1e-6);  // of a population
  const auto rest = taken("primus", steps(20));
  EXPECT_EQ(rest.first, 6);
  EXPECT_NEAR(rest.seconds, 0.013, 1e-12);
  EXPECT_EQ(taken("cloudai", steps(3)).values, 3);
}

TEST(ToolWindows, ALineOfSeveralIterationsIsOneValue) {
  auto records = steps(12);
  for (Record& record : records) {
    record.step *= 10;
    record.iterations = 10;
  }
  const auto window = taken("dgxc", records);
  EXPECT_EQ(window.values, 1);
  EXPECT_EQ(window.first, 40);
  EXPECT_NEAR(window.seconds, 0.0004, 1e-12);
}

TEST(ToolWindows, WhereTheLinesStateNoTimeTheClockBetweenThemIsTaken) {
  std::vector<Record> records;
  for (int i = 0; i < 8; ++i) records.push_back({.step = i + 1, .time_s = 0.5 * i});
  records[7].seconds = 2;
  records[6].iterations = 0;
  const auto window = taken("cloudai", records);
  EXPECT_EQ(window.values, 6);
  EXPECT_EQ(window.first, 2);
  EXPECT_NEAR(window.seconds, (5 * 0.5 + 2) / 6, 1e-12);
}

TEST(ToolWindows, OtherNamesAndNoRecordsGiveNothing) {
  EXPECT_FALSE(window_of("mlperf", steps(50)));
  EXPECT_FALSE(window_of("primus", {}));
}

TEST(ToolWindows, ATrialSaysHowFarOffTheToolIs) {
  RunLog log;
  log.records = steps(50);
  log.records[0].seconds = 0.001;
  MeasureOptions options;
  options.window = *parse_window("all");
  options.windows_of = {"dgxc", "cloudai"};
  const Trial trial = measure_trial(log, {}, options);
  std::vector<std::string> notices;
  for (const Notice& notice : trial.notices) {
    if (notice.code == NoticeCode::window_of_tool) notices.push_back(text_of(notice));
  }
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_EQ(notices[0],
            "dgxc would give 0.0395 s an iteration (sd 0.0030, 10 values, iterations 35 to 44), "
            "a rate -35.4 % off");
  // The same of a rate in sequences/s.
  Facts facts;
  facts.micro_batch_size.set(8, FactSource::log);
  facts.gradient_accumulation_steps.set(1, FactSource::log);
  facts.world_size.set(2, FactSource::log);
  log.iteration_unit = IterationUnit::optimizer_step;
  const Trial sequences = measure_trial(log, facts, options);
  ASSERT_TRUE(sequences.sequences_per_second);
  const auto first =
      std::ranges::find(sequences.notices, NoticeCode::window_of_tool, &Notice::code);
  EXPECT_EQ(text_of(*first), notices[0]);
}

TEST(ToolWindows, ATrialOfMergedRecordsNamesThemAsTheReason) {
  RunLog log;
  log.records = steps(50);
  log.records[3].merged = 2;
  MeasureOptions options;
  options.windows_of = {"dgxc"};
  const Trial trial = measure_trial(log, {}, options);
  const auto empty =
      std::ranges::find(trial.notices, NoticeCode::window_of_tool_empty, &Notice::code);
  ASSERT_NE(empty, trial.notices.end());
  EXPECT_EQ(text_of(*empty),
            "the window of dgxc is unknown: the log has more records than are kept, and neighbours "
            "were merged");
}

}  // namespace
}  // namespace bertbench
