// The lines are written after clu's metric writer; the sample is a run of Flax with clu 0.0.12.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Flax, JoinsTheLinesOfAStepAndLeavesEvaluationsOut) {
  const auto runs = read_text(
      "I1127 10:22:26.140852 139938806449728 logging_writer.py:48] [100] steps_per_sec=3.20687\n"
      "I1127 10:22:26.141596 139938806449728 logging_writer.py:48] [100] uptime=232.101\n"
      "I1127 10:22:26.240000 139938806449728 logging_writer.py:48] [100] learning_rate=0.1, "
      "train_loss=2.5\n"
      "I1127 10:22:40.000000 139938806449728 logging_writer.py:48] [150] eval_loss=9.5, "
      "eval_accuracy=0.1\n"
      "I1127 10:22:50.000000 139938806449728 logging_writer.py:48] [180] collection=eval loss=8\n"
      "I1127 10:22:56.140852 139938806449728 logging_writer.py:48] [200] steps_per_sec=3.33\n"
      "I1127 10:22:56.240000 139938806449728 logging_writer.py:48] [200] loss=2.25\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "flax");
  EXPECT_EQ(runs[0].facts.framework.value, "jax");
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].loss, 2.5);
  EXPECT_DOUBLE_EQ(runs[0].records[0].printed_rate, 3.20687);
  EXPECT_EQ(runs[0].records[1].iterations, 100);
  EXPECT_NEAR(runs[0].records[1].first_time_s, 30, 1e-6);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::iterations_per_second);
}

TEST(Flax, IsNotTakenInByTensorFlowsStamps) {
  EXPECT_TRUE(
      read_text("I0501 17:11:00.381370 1404 local.py:41] Setting work unit notes: warming up\n"
                "I0501 17:11:00.381370 1404 logging_writer.py:48] [7] Hyperparameters: {}\n")
          .empty());
}

TEST(Flax, SampleFollowsTheLoopsClock) {
  const std::string folder = std::string(BB_SOURCE_DIR) + "/parsers/samples/flax/";
  const auto runs = read_text(slurp(folder + "sample.log"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 10u);
  std::istringstream in(slurp(folder + "timings.jsonl"));
  std::vector<double> end = {0};
  for (std::string line; std::getline(in, line);) {
    end.push_back(nlohmann::json::parse(line)["end"].get<double>());
  }
  for (std::size_t i = 1; i < 10; ++i) {
    const Record& record = runs[0].records[i];
    const auto step = static_cast<std::size_t>(record.step);
    const double truth = end[step] - end[step - 20];
    EXPECT_NEAR((record.time_s - runs[0].records[i - 1].time_s) / truth, 1, 0.05) << step;
    EXPECT_NEAR(record.printed_rate * truth / 20, 1, 0.05) << step;
  }
}

TEST(Flax, LinesOfProgressCountWhereThereAreNoMetrics) {
  const auto line = [](const std::string& time, int step) {
    return "I0714 10:" + time + " 139 local.py:50] Setting work unit notes: 2.0 steps/s, 6.7% (" +
           std::to_string(step) + "/300), ETA: 11m\n";
  };
  const std::string lines = line("00:00.000000", 100) + line("00:50.500000", 200);
  const auto runs = read_text(lines + line("01:41.000000", 300));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_NEAR(runs[0].records[2].time_s - runs[0].records[0].time_s, 101, 1e-6);
  EXPECT_TRUE(std::isnan(runs[0].records[2].printed_rate));
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  const auto metrics = read_text(
      lines + "I0714 10:01:00.000000 139 logging_writer.py:48] [150] train/loss=2.5\n" + lines);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].records.size(), 1u);
}

}  // namespace
}  // namespace bertbench
