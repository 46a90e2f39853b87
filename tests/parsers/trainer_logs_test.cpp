// The logs in tests/data/samples (bert_train's runs, several ranks, accumulation, signals) against
// the step times that the trainer wrote beside them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

std::map<std::int64_t, double> step_ends(const std::string& path) {
  std::map<std::int64_t, double> out;
  std::istringstream in(slurp(path));
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    out[json["step"].get<std::int64_t>()] = json["end"].get<double>();
  }
  return out;
}

TEST(TrainerLogs, GiveTheStepTimesOfTheTrainersClock) {
  int compared = 0;
  for (const std::string style : {"native", "tf"}) {
    const fs::path folder = fs::path(BB_SOURCE_DIR) / "tests/data/samples" / style;
    if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string path = entry.path().string();
      const std::string timings = path.substr(0, path.size() - 4) + ".timings.jsonl";
      if (!path.ends_with(".log") || !fs::exists(timings)) continue;
      const auto ends = step_ends(timings);
      const auto runs = read_log(path, {});
      ASSERT_TRUE(runs) << runs.error().message();
      ASSERT_EQ(runs->size(), 1u) << path;
      const auto& records = runs->front().records;
      ASSERT_GE(records.size(), 3u) << path;
      const Record& first = records[1];
      const Record& last = records.back();
      const double truth = ends.at(last.step) - ends.at(first.step);
      double seconds = 0;
      for (std::size_t i = 2; i < records.size(); ++i) seconds += records[i].seconds;
      EXPECT_NEAR(seconds / truth, 1, 0.005) << path << " step_time";
      EXPECT_NEAR((last.time_s - first.time_s) / truth, 1, 0.005) << path << " counter_clock";
      ++compared;
    }
  }
  EXPECT_GE(compared, 5);
}

TEST(TrainerLogs, SayHowTheRunEnded) {
  const std::string folder = std::string(BB_SOURCE_DIR) + "/tests/data/samples/";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const std::map<std::string, Status> want = {
      {"native/large_oom.log", Status::out_of_memory}, {"native/tiny_nan.log", Status::nan},
      {"native/tiny_sigterm.log", Status::killed},     {"native/tiny_1n1g.log", Status::completed},
      {"tqdm/tiny_sigterm.log", Status::killed},       {"tqdm/tiny_1n2g.log", Status::completed},
      {"tf/tiny_1n1g.log", Status::completed}};
  for (const auto& [file, status] : want) {
    const auto runs = read_log(folder + file, {});
    ASSERT_TRUE(runs) << runs.error().message();
    EXPECT_EQ(name(runs->front().outcome.status), name(status)) << file;
  }
}

// The golden logs of bert_train's styles: six steps of 0.99 s, NaN losses from the fifth on, or
// four steps and then a signal. huggingface prints no clock, tqdm and megatron's stamps are
// rounded.
TEST(TrainerLogs, AreReadBackInEveryStyleThatBertTrainPrints) {
  const fs::path folder = fs::path(BB_SOURCE_DIR) / "tests/workloads/driver/golden";
  int styles = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    SCOPED_TRACE(file);
    const bool interrupted = file.ends_with("_interrupted.log");
    const std::string style = file.substr(0, file.find(interrupted ? "_interrupted" : ".log"));
    const auto runs = read_log(entry.path().string(), {});
    ASSERT_TRUE(runs) << runs.error().message();
    ASSERT_EQ(runs->size(), 1u);
    const RunLog& run = runs->front();
    EXPECT_EQ(run.format, style);
    EXPECT_EQ(name(run.outcome.status), name(interrupted ? Status::killed : Status::nan));
    if (!interrupted) {
      EXPECT_TRUE(run.first_nan_step) << "no NaN";
    }
    if (style != "huggingface" && style != "tqdm" && run.records.size() > 1) {
      const Record& last = run.records.back();
      const double seconds = std::isnan(last.seconds)
                                 ? last.time_s - run.records[run.records.size() - 2].time_s
                                 : last.seconds;
      EXPECT_NEAR(seconds / static_cast<double>(last.iterations), 0.99, 0.011);
    }
    ++styles;
  }
  EXPECT_GE(styles, 20);
}

TEST(TrainerLogs, CountTheMicroStepsOfTqdmBars) {
  const auto runs =
      read_log(std::string(BB_SOURCE_DIR) + "/tests/data/samples/tqdm/tiny_1n1g_a4.log", {});
  if (!runs) GTEST_SKIP() << runs.error().message();
  EXPECT_EQ(runs->front().records.back().step, 120);
  EXPECT_EQ(runs->front().facts.gradient_accumulation_steps.value, 4);
  EXPECT_EQ(runs->front().totals.optimizer_steps, 30);
}

}  // namespace
}  // namespace bertbench
