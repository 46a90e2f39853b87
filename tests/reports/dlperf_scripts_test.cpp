// Expected numbers come from the formulas that Oneflow-Inc/DLPerf's scripts use, run in Python with
// numpy on the same lines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/output/dlperf.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::notices;
using testing::HasSubstr;

DlperfSpeed speed_of(std::string_view format, DlperfPlace place,
                     const std::vector<std::string>& lines,
                     std::optional<DlperfWindow> window = {}) {
  const auto script = dlperf_script(format, place, window);
  std::int64_t number = 0;
  for (const std::string& line : lines) script->read_line(line, ++number);
  return script->finish();
}

std::vector<std::string> mxnet(int steps, int ranks) {
  std::vector<std::string> lines;
  for (int step = 0; step < steps; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      lines.push_back(fmt::format(
          "INFO:root:[step {}]\tmlm_loss=9.1\tthroughput=5.2K tks/s\tlr=0.0001 time=0.21, "
          "latency={:.1f} ms/batch",
          step, 200 + (step * 7 + rank * 3) % 30 + 0.1 * rank));
    }
  }
  return lines;
}

TEST(DlperfScripts, MxnetTakesTheMedianOverRanksAndTheMeanOfRates) {
  const DlperfSpeed speed = speed_of("gluonnlp", {1, 2, 32}, mxnet(200, 2));
  EXPECT_EQ(*speed.speed, 298.78);
  EXPECT_THAT(notices(speed), HasSubstr("above work over time, 298.43"));
}

TEST(DlperfScripts, MxnetFailsWhereOneLineIsMissing) {
  auto lines = mxnet(200, 2);
  lines.pop_back();
  const DlperfSpeed speed = speed_of("gluonnlp", {1, 2, 32}, lines);
  EXPECT_FALSE(speed.speed);
  EXPECT_THAT(notices(speed), HasSubstr("needs exactly 400 lines"));
}

TEST(DlperfScripts, NgcPytorchMeasuresIterations25To125) {
  std::vector<std::string> lines;
  for (int i = 1; i <= 150; ++i) {
    lines.push_back(
        fmt::format("DLL 2020-09-17 23:{:02}:{:02}.{:06} - Training Epoch: 0 Training "
                    "Iteration: {}  average_loss : 10.5  step_loss : 10.5",
                    58 + (i * 333 + 7) / 60000, (i * 333 + 7) / 1000 % 60,
                    (i * 333 + 7) % 1000 * 1000 + 42, i));
  }
  const DlperfSpeed speed = speed_of("dllogger", {4, 8, 32}, lines);
  EXPECT_EQ(*speed.speed, 3075.08);  // 1024 x 100 / 33.3 s
  EXPECT_TRUE(speed.notices.empty());
}

TEST(DlperfScripts, ATimedScriptEntersZeroForALogThatEndsEarly) {
  const DlperfSpeed speed = speed_of("dllogger", {1, 1, 32}, {"DLL nothing"});
  EXPECT_FALSE(speed.speed);
  EXPECT_THAT(notices(speed), HasSubstr("enters 0 into mean and median"));
}

TEST(DlperfScripts, NgcTensorflowSkipsTheFirstIterationAndAveragesTenLines) {
  std::vector<std::string> lines;
  for (int i = 0; i <= 15; ++i) {
    lines.push_back(
        fmt::format("DLL 2020-08-20 09:00:00.000000 - Iteration: {}  throughput_train "
                    ": {:.3f} seq/s mlm_loss : 10.4",
                    i == 0 ? 1 : i * 10, 100 + i * 1.125));
  }
  EXPECT_EQ(*speed_of("tf", {1, 1, 48}, lines).speed, 108.44);  // of 103.375 ... 113.5, 108.4375
}

TEST(DlperfScripts, NgcTensorflowStopsAtTheNewUnit) {
  const DlperfSpeed speed = speed_of(
      "tf", {1, 1, 48}, {"DLL - Iteration: 10  throughput_train : 100.5 sequences/s mlm_loss : 1"});
  EXPECT_FALSE(speed.speed);
  EXPECT_THAT(notices(speed), HasSubstr("seq/s"));
}

std::vector<std::string> tensorflow(int first_second) {
  std::vector<std::string> lines;
  for (int i = 1; i <= 120; ++i) {
    const int at = first_second + i / 2;
    lines.push_back(
        fmt::format("I0812 {:02}:{:02}:{:02}.{}00000 140 model_training_utils.py:450] "
                    "Train Step: {}/120  / loss = 11.0",
                    at / 3600 % 24, at / 60 % 60, at % 60, i % 2 * 5, i));
  }
  return lines;
}

TEST(DlperfScripts, TensorflowDividesByTimeOfDay) {
  const DlperfSpeed speed = speed_of("timehistory", {1, 8, 32}, tensorflow(3600));
  EXPECT_EQ(*speed.speed, 512.0);  // 256 x 100 / 50 s
  EXPECT_TRUE(speed.notices.empty());
}

TEST(DlperfScripts, TensorflowIsWrongAcrossMidnightAndBelowTwentyWarmUpSteps) {
  const DlperfSpeed midnight = speed_of("timehistory", {1, 8, 32}, tensorflow(86400 - 30));
  EXPECT_LT(*midnight.speed, 0);
  EXPECT_THAT(notices(midnight), HasSubstr("right value is 512.00"));
  const DlperfSpeed early =
      speed_of("timehistory", {1, 8, 32}, tensorflow(3600), DlperfWindow{10, 120});
  EXPECT_EQ(*early.speed, 563.2);  // 256 x 110 / 50 s
  EXPECT_THAT(notices(early), HasSubstr("right value is 512.00"));
}

TEST(DlperfScripts, PaddleMultipliesByTheCardsOfOneNode) {
  std::vector<std::string> lines;
  for (int i = 0; i < 130; ++i) {
    lines.push_back(
        fmt::format("epoch: 0, progress: 0/1, step: {}, loss: 10.5, speed: {:.6f} steps/s, file: x",
                    i, 2.8 + i % 5 * 0.001));
  }
  const DlperfSpeed speed = speed_of("paddle", {2, 8, 64}, lines);
  EXPECT_EQ(*speed.speed, 1434.62);  // mean of 2.8, 2.801 ... 2.804 = 2.802 times 512
  EXPECT_THAT(notices(speed), HasSubstr("2869.25"));
  lines.resize(100);
  EXPECT_THAT(notices(speed_of("paddle", {1, 8, 64}, lines)),
              HasSubstr("over 80 lines instead of 100"));
  lines.resize(20);
  EXPECT_THAT(notices(speed_of("paddle", {1, 8, 64}, lines)), HasSubstr("the mean is nan"));
  lines[3] = "speed: 1 it/s";
  EXPECT_THAT(notices(speed_of("paddle", {1, 8, 64}, lines)), HasSubstr("has no steps/s"));
}

TEST(DlperfScripts, MindsporeSumsAStepTooMany) {
  std::vector<std::string> lines;
  for (int i = 1; i <= 130; ++i) {
    lines.push_back(
        fmt::format("epoch: 0, current epoch percent: 0.1, step: {}, outputs are (1)", i));
    lines.push_back("epoch time: 500.000 ms, per step time: 500.000 ms");
  }
  const DlperfSpeed speed = speed_of("mindspore", {1, 1, 32}, lines);
  EXPECT_EQ(*speed.speed, 63.37);  // 32 / (101 x 0.5 / 100)
  EXPECT_THAT(notices(speed), HasSubstr("right value is 64.00"));
}

TEST(DlperfScripts, OneflowTakesTwoTimesAndDoesNotRound) {
  const std::vector<std::string> lines = {
      "batch_size_per_device = 24", "gpu_num_per_node = 1", "num_nodes = 1",
      "step: 19, total_loss: 9.725, mlm_loss: 8.960, throughput: 54.982 1598056519.8844702",
      "step: 119, total_loss: 8.010, mlm_loss: 7.331, throughput: 139.896 1598056537.0029895"};
  EXPECT_EQ(*speed_of("oneflow", {9, 9, 9}, lines).speed,
            2400 / (1598056537.0029895 - 1598056519.8844702));
  EXPECT_FALSE(speed_of("oneflow", {1, 1, 24}, {lines[3]}).speed);
}

TEST(DlperfScripts, SixteenNodesAreOneDigitTooMany) {
  EXPECT_THAT(notices(speed_of("oneflow", {16, 8, 24}, {})), HasSubstr("ValueError"));
}

TEST(DlperfScripts, OtherFormatsHaveNone) {
  EXPECT_EQ(dlperf_script("megatron", {1, 1, 1}), nullptr);
}

TEST(DlperfNumbers, MeanAndRoundingAreThoseOfNumpyAndPython) {
  std::vector<double> values;
  for (int i = 0; i < 300; ++i) values.push_back(0.1 * i);
  EXPECT_EQ(dlperf::numpy_mean(values), 14.95);
  values.resize(136);  // beyond a block of 128
  EXPECT_EQ(dlperf::numpy_mean(values), 6.750000000000001);
  EXPECT_EQ(dlperf::python_round(2.675, 2), 2.67);
  EXPECT_EQ(dlperf::python_round(0.125, 2), 0.12);
}

}  // namespace
}  // namespace bertbench
