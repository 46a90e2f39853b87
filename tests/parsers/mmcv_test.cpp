// The lines are written after what mmcv 1.x and mmengine print; the sample is a run of mmengine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Mmcv, ReadsIterationsOfAnEpochAndTakesTimeNotDataTime) {
  const auto runs = read_text(
      "2021-05-31 13:00:00,000 - mmdet - INFO - Distributed training: True\n"
      "data = dict(\n    samples_per_gpu=2,\n    val_dataloader=dict(samples_per_gpu=1))\n"
      "gpu_ids = range(0, 8)\n"
      "2021-05-31 13:00:20,000 - mmdet - INFO - Epoch [1][50/120]\tlr: 1.9e-03, eta: 1:00:00, "
      "data_time: 0.050, time: 0.400, memory: 3700, loss_cls: 0.5, loss: 1.25\n"
      "2021-05-31 13:00:40,500 - mmdet - INFO - Epoch [1][100/120]\tlr: 1.9e-03, eta: 1:00:00, "
      "time: 0.410, data_time: 0.050, memory: 3700, loss_cls: 0.4, loss: 1.15\n"
      "2021-05-31 13:01:00,000 - mmdet - INFO - Epoch(val) [1][20]\tbbox_mAP: 0.1\n"
      "2021-05-31 13:01:30,000 - mmdet - INFO - Epoch [2][50/120]\tlr: 1.9e-03, eta: 0:30:00, "
      "time: 0.400, data_time: 0.050, memory: 3700, loss: 1.05\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "mmcv");
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_DOUBLE_EQ(run.records[0].seconds, 20);
  EXPECT_DOUBLE_EQ(run.records[0].loss, 1.25);
  EXPECT_DOUBLE_EQ(run.records[1].time_s, 20.5);
  EXPECT_EQ(run.records[2].step, 170);
  EXPECT_EQ(run.records[2].iterations, 70) << "the end of the first epoch is not printed";
  EXPECT_EQ(run.facts.micro_batch_size.value, 2);
  EXPECT_EQ(run.facts.world_size.value, 8);
}

TEST(Mmcv, DoesNotTakeTheOneDeviceOfADistributedRunForItsWorld) {
  const auto runs = read_text(
      "2021-05-31 13:00:00,000 - mmseg - INFO - Distributed training: True\n"
      "gpu_ids = range(0, 1)\n"
      "2021-05-31 13:00:20,000 - mmseg - INFO - Iter [50/100]\tlr: 1.9e-03, eta: 0:00:20, time: "
      "0.400, data_time: 0.050, memory: 3700, loss: 1.25\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].facts.world_size.known());
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Mmcv, SaysThatMmenginesTimeIsOfTenIterations) {
  const auto runs = read_text(
      "    Distributed training: True\n    GPU number: 2\n"
      "train_dataloader = dict(\n    batch_sampler=None,\n    batch_size=16,\n    dataset=dict())\n"
      "val_dataloader = dict(\n    batch_size=1)\n"
      "06/28 03:16:23 - mmengine - INFO - Epoch(train)   [1][ 50/100]  lr: 5.0e-07  eta: 0:00:45  "
      "time: 0.300000  data_time: 0.1  memory: 8801  loss: 0.010580  acc_pose: 0.0\n"
      "06/28 03:16:38 - mmengine - INFO - Epoch(train)   [1][100/100]  lr: 5.0e-07  eta: 0:00:00  "
      "data_time: 0.1  memory: 8801  loss_kpt: 0.3  loss: 0.009  time: 0.250000\n"
      "06/28 03:16:40 - mmengine - INFO - Epoch(val) [1][ 5/13]    eta: 0:00:00  time: 0.0558  "
      "data_time: 0.01\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.rate_unit, RateUnit::iterations_per_second);
  EXPECT_DOUBLE_EQ(run.records[1].printed_rate, 4);
  EXPECT_TRUE(std::isnan(run.records[1].seconds)) << "ten iterations are not fifty";
  EXPECT_DOUBLE_EQ(run.records[1].time_s, 15);
  EXPECT_EQ(run.facts.micro_batch_size.value, 16) << "the training loader's, not the last one";
  EXPECT_EQ(run.facts.world_size.value, 2);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_THAT(text_of(run.notices.at(0)), testing::HasSubstr("last ten iterations"));
}

TEST(Mmcv, ReadsTheColouredConsoleOfMmengine) {
  std::string log;
  for (int i = 1; i <= 3; ++i) {
    log += "01/01 10:0" + std::to_string(i) +
           ":00 - mmengine - \x1b[4m\x1b[97mINFO\x1b[0m - Epoch(train)  [1][" +
           std::to_string(150 * i) +
           "/1000]  lr: 2.0000e-02  eta: 1:05:00  time: 0.4000  data_time: 0.0050  memory: 3500  "
           "loss: 1.2000\n";
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "mmcv");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 450);
}

TEST(Mmcv, ReadsTheJsonOfBoth) {
  const auto old = read_text(
      "{\"env_info\": \"sys.platform: linux\", \"seed\": null}\n"
      "{\"mode\": \"train\", \"epoch\": 1, \"iter\": 50, \"lr\": 0.002, \"memory\": 3700, "
      "\"data_time\": 0.05, \"loss_cls\": 0.5, \"loss\": 1.25, \"time\": 0.4}\n"
      "{\"mode\": \"val\", \"epoch\": 1, \"iter\": 20, \"data_time\": 0.1, \"time\": 9.0}\n"
      "{\"mode\": \"train\", \"epoch\": 2, \"iter\": 50, \"lr\": 0.002, \"memory\": 3700, "
      "\"data_time\": 0.05, \"loss\": 1.15, \"time\": 0.5}\n");
  ASSERT_EQ(old.size(), 1u);
  ASSERT_EQ(old[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(old[0].records[1].seconds, 25);
  EXPECT_EQ(old[0].records[1].step, 100);
  EXPECT_THAT(text_of(old[0].notices.at(0)), testing::HasSubstr("length of an epoch"));
  EXPECT_TRUE(
      read_text("{\"mode\": \"train\", \"step\": 3, \"data_time\": 0.1, \"time\": 0.4}\n").empty());
  const auto engine = read_text(
      "{\"lr\": 0.02, \"data_time\": 0.05, \"loss\": 1.2, \"time\": 0.25, \"epoch\": 1, \"iter\": "
      "50, \"memory\": 3700, \"step\": 50}\n"
      "{\"coco/bbox_mAP\": 0.3, \"data_time\": 0.01, \"time\": 0.02, \"step\": 1}\n"
      "{\"lr\": 0.02, \"data_time\": 0.05, \"loss\": 1.1, \"time\": 0.5, \"epoch\": 2, \"iter\": "
      "100, \"memory\": 3700, \"step\": 100}\n");
  ASSERT_EQ(engine.size(), 1u);
  ASSERT_EQ(engine[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(engine[0].records[1].printed_rate, 2);
}

TEST(Mmcv, SampleFollowsAHooksClock) {
  const std::string folder = std::string(BB_SOURCE_DIR) + "/parsers/samples/mmcv/";
  const auto runs = read_text(slurp(folder + "sample.log"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 16u);
  std::istringstream in(slurp(folder + "timings.jsonl"));
  std::vector<double> end = {0};
  for (std::string line; std::getline(in, line);) {
    end.push_back(nlohmann::json::parse(line)["end"].get<double>());
  }
  for (std::size_t i = 1; i < 16; ++i) {
    const Record& record = runs[0].records[i];
    const auto step = static_cast<std::size_t>(record.step);
    EXPECT_NEAR(record.time_s, end[step] - end[10], 1.1) << step;
    EXPECT_NEAR(record.printed_rate * (end[step] - end[step - 10]) / 10, 1, 0.02) << step;
  }
}

// Between the last line of an epoch and the first of the next stand the epoch's tail, a checkpoint
// and the validation.
TEST(Mmcv, TakesMmenginesValidationsOffTheClock) {
  const auto line = [](const std::string& time, int epoch, int iteration) {
    return "2023/02/01 10:" + time + " - mmengine - INFO - Epoch(train)  [" +
           std::to_string(epoch) + "][" + std::to_string(iteration) +
           "/110]  lr: 1.0e-04  eta: 1:00:00  time: 0.5000  data_time: 0.0112  loss: 2.5\n";
  };
  const std::string validation =
      "2023/02/01 10:03:00 - mmengine - INFO - Epoch(val) [1][50/50]  "
      "bbox_mAP: 0.1000  data_time: 0.0112  time: 0.0500\n";
  const auto runs = read_text(line("00:25", 1, 50) + line("00:50", 1, 100) + validation +
                              line("03:25", 2, 50) + line("03:50", 2, 100));
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[1].time_s - records[0].time_s, 25);
  EXPECT_EQ(records[2].iterations, 60);
  EXPECT_EQ(records[2].time_s - records[1].time_s, 30);
  EXPECT_EQ(records[3].time_s - records[2].time_s, 25);
  EXPECT_NE(text_of(runs[0].notices.back()).find("validations is taken off"), std::string::npos);
}

}  // namespace
}  // namespace bertbench
