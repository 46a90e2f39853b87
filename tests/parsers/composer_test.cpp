// The lines are written after Composer's console logger; the sample is a run of Composer 0.32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Composer, TakesTheJobsRateNotTheDevices) {
  const auto runs = read_text(
      "n_gpus: 16\n"
      "0: [batch=5/20]:\n"
      "0:       Train time/batch: 4\n"
      "0:       Train time/sample: 4096\n"
      "0:       Train throughput/batches_per_sec: 0.0027\n"
      "0:       Train throughput/samples_per_sec: 2.7330\n"
      "0:       Train throughput/device/samples_per_sec: 0.1708\n"
      "0:       Train loss/train/total: 8.4213\n"
      "0:       Train time/train: 0.5249\n"
      "0: [Eval batch=1/2] Eval on eval data:\n"
      "0:       Eval throughput/samples_per_sec: 99\n"
      "0: [batch=10/20]:\n"
      "0:       Train time/batch: 9\n"
      "0:       Train time/sample: 9216\n"
      "0:       Train throughput/samples_per_sec: 2.7530\n"
      "0:       Train throughput/device/samples_per_sec: 0.1721\n"
      "0:       Train time/train: 1.0449\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "composer");
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.records[0].step, 5);
  EXPECT_DOUBLE_EQ(run.records[0].printed_rate, 2.733);
  EXPECT_DOUBLE_EQ(run.records[0].loss, 8.4213);
  EXPECT_NEAR(run.records[1].time_s, 1.0449 * 3600, 1e-6);
  EXPECT_EQ(run.facts.world_size.value, 16);
  EXPECT_EQ(run.facts.global_batch_size.value, 1024) << "by the counters of samples and batches";
  EXPECT_EQ(run.outcome.status, Status::truncated) << "10 of 20";
}

TEST(Composer, CountsBatchesThroughTheEpochs) {
  const auto runs = read_text(
      "[epoch=1][batch=40/40]:\n\t Train time/batch: 39\n\t Train loss/train/total: 2\n"
      "[epoch=2][batch=10/40]:\n\t Train time/batch: 49\n\t Train loss/train/total: 1.5\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 50);
  EXPECT_EQ(runs[0].records[1].iterations, 10);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("no throughput"));
}

TEST(Composer, SaysWhenTheClockIsNotInHours) {
  std::string text;
  for (int batch = 10; batch <= 30; batch += 10) {
    text +=
        "[batch=" + std::to_string(batch) +
        "/30]:\n Train time/batch: " + std::to_string(batch - 1) +
        "\n Train time/sample: " + std::to_string(32 * (batch - 1)) +
        "\n Train throughput/samples_per_sec: 32.0\n Train time/train: " + std::to_string(batch) +
        ".0\n";
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("not to be trusted"));
}

TEST(Composer, SampleFollowsACallbacksClock) {
  const std::string folder = std::string(BB_SOURCE_DIR) + "/parsers/samples/composer/";
  const auto runs = read_text(slurp(folder + "sample.log"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 32);
  std::istringstream in(slurp(folder + "timings.jsonl"));
  std::vector<double> end = {0};
  for (std::string line; std::getline(in, line);) {
    end.push_back(nlohmann::json::parse(line)["end"].get<double>());
  }
  int compared = 0;
  for (const Record& record : runs[0].records) {
    const auto step = static_cast<std::size_t>(record.step);
    // A window that holds an evaluation: SpeedMonitor leaves that out, the callback does not.
    if (std::isnan(record.printed_rate) || (step - 1) % 40 < 10) continue;
    EXPECT_NEAR(record.printed_rate * (end[step] - end[step - 10]) / 320, 1, 0.03) << step;
    ++compared;
  }
  EXPECT_GE(compared, 6);
}

}  // namespace
}  // namespace bertbench
