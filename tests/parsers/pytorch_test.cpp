// The lines are written after what the trainers print; the sample is a run of a loop with the
// meters of pytorch/examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Pytorch, MakesAClockOfTheMeanSinceTheEpochBegan) {
  const auto runs = read_text(
      "Epoch: [0][   0/100]\tTime 12.000 (12.000)\tData 9.0 (9.0)\tLoss 7.0e+00 (7.1e+00)\n"
      "Epoch: [0][  50/100]\tTime  0.500 ( 1.000)\tData 0.0 (0.1)\tLoss 6.9e+00 (7.0e+00)\n"
      "Test: [ 0/50]\tTime 3.000 (3.000)\tLoss 6.0 (6.0)\n"
      "Epoch: [1][   0/100]\tTime  4.000 ( 4.000)\tData 3.0 (3.0)\tLoss 6.8e+00 (6.8e+00)\n"
      "Epoch: [1][  50/100]\tTime  0.500 ( 0.600)\tData 0.0 (0.1)\tLoss 6.7e+00 (6.7e+00)\n");
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[1].step, 51) << "the first batch is batch 0";
  EXPECT_DOUBLE_EQ(records[1].time_s, 51);
  EXPECT_EQ(records[2].step, 101);
  EXPECT_DOUBLE_EQ(records[2].time_s, 104) << "the rest of the epoch at its mean; no test in it";
  EXPECT_DOUBLE_EQ(records[3].time_s, 100 + 0.6 * 51);
  EXPECT_DOUBLE_EQ(records[1].loss, 6.9);
  EXPECT_TRUE(std::isnan(records[1].printed_rate));
}

TEST(Pytorch, DoesNotMakeAClockOfMeansThatRunOnThroughTheEpochs) {
  const auto runs = read_text(
      "Epoch: [0][0/100]\tTime 12.000 (12.000)\tLoss 7.0 (7.1)\n"
      "Epoch: [1][0/100]\tTime 0.500 (1.000)\tLoss 7.0 (7.1)\n"
      "Epoch: [1][50/100]\tTime 0.500 (0.900)\tLoss 7.0 (7.1)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records.back().time_s));
  EXPECT_DOUBLE_EQ(runs[0].records.back().printed_rate, 2);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("there is no clock"));
}

TEST(Pytorch, LeavesASpeedThatMayBeOfOneProcess) {
  const auto runs = read_text(
      "Epoch: [0][10/100]\tTime 0.500 (1.000)\tSpeed 512.000 (256.000)\tLoss 7.0 (7.1)\n"
      "Epoch: [0][20/100]\tTime 0.500 (0.750)\tSpeed 512.000 (341.333)\tLoss 7.0 (7.1)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  EXPECT_DOUBLE_EQ(runs[0].records[1].time_s, 15);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("Speed"));
}

TEST(Pytorch, ReadsMetricLoggerAndItsSumOfAnEpoch) {
  const auto runs = read_text(
      "Epoch: [0]  [ 0/60]  eta: 0:05:00  lr: 0.001  img/s: 51.2  loss: 6.9 (6.9)  time: 5.0000  "
      "data: 0.1  max mem: 7000\n"
      "Epoch: [0]  [40/60]  eta: 0:00:10  lr: 0.001  img/s: 512  loss: 6.8 (6.9)  time: 0.5000  "
      "data: 0.1  max mem: 7000\n"
      "Epoch: [0] Total time: 0:00:36 (0.6000 s / it)\n"
      "Test:  [ 0/53]  eta: 0:00:50  loss: 6.9 (6.9)  time: 1.0000  data: 0.1  max mem: 7000\n"
      "Test: Total time: 0:00:20 (0.4000 s / it)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 2);
  EXPECT_DOUBLE_EQ(*runs[0].totals.training_s, 36);
  EXPECT_EQ(runs[0].totals.iterations, 60);
  EXPECT_EQ(runs[0].summary->unit, RateUnit::iterations_per_second);
  EXPECT_NEAR(runs[0].summary->value, 60 / 36.0, 1e-9);
}

TEST(Pytorch, ReadsTimmWhoseRateIsOfTheWholeJob) {
  const auto runs = read_text(
      "Train: 0 [   0/1251 (  0%)]  Loss: 6.95 (6.95)  Time: 5.575s,  183.67/s  (5.575s,  "
      "183.67/s) "
      " LR: 1.000e-06  Data: 1.3 (1.3)\n"
      "Train: 0 [  50/1251 (  4%)]  Loss: 6.94 (6.95)  Time: 0.400s, 2560.00/s  (0.500s, "
      "2048.00/s) "
      " LR: 1.000e-06  Data: 0.0 (0.1)\n"
      "Test: [   0/29]  Time: 0.560 (0.560)  Loss: 0.69 (0.69)\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 2560);
  EXPECT_DOUBLE_EQ(runs[0].records[1].time_s, 25.5);
}

TEST(Pytorch, ReadsSwinAndItsLastEpoch) {
  const auto runs = read_text(
      "[2021-04-12 10:00:00 swin](main.py 210): INFO Train: [0/1][0/20]\teta 0:10:00 lr 0.000001\t "
      "time 2.0000 (2.0000)\tloss 6.9 (6.9)\tgrad_norm 1.2 (1.2)\tmem 7000MB\n"
      "[2021-04-12 10:00:09 swin](main.py 210): INFO Train: [0/1][19/20]\teta 0:00:00 lr "
      "0.000001\t "
      "time 0.5000 (0.6000)\tloss 6.8 (6.8)\tgrad_norm 1.2 (1.2)\tmem 7000MB\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].time_s, 12);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

// The number of epochs is on no line: behind the evaluation of one the run may be done.
TEST(Pytorch, ARunMayEndBehindAnEvaluation) {
  const std::string train =
      "Epoch: [0][ 1/60]\tTime  0.025 ( 0.025)\tData  0.000 ( 0.000)\tLoss 6.9000e+00 "
      "(6.9000e+00)\n"
      "Epoch: [0][51/60]\tTime  0.027 ( 0.025)\tData  0.000 ( 0.000)\tLoss 1.3e-01 (2.0e+00)\n";
  const std::string test =
      "Test: [ 1/20]\tTime  0.040 ( 0.040)\tLoss 7.2632e-02 (3.7306e-01)\n"
      " * Acc@1 1.070 Acc@5 3.220\n";
  EXPECT_EQ(read_text(train).at(0).outcome.status, Status::truncated);
  EXPECT_EQ(read_text(train + test).at(0).outcome.status, Status::completed);
  EXPECT_EQ(read_text(train + test + "Epoch: [1][ 1/60]\tTime  0.025 ( 0.025)\tLoss 1.0 (1.0)\n")
                .at(0)
                .outcome.status,
            Status::truncated);
  const std::string of_two =
      "Train: [0/2][0/40]\teta 0:00:40 lr 0.1\ttime 0.5 (0.5)\tloss 6.9 (6.9)\n";
  EXPECT_EQ(read_text(of_two + test).at(0).outcome.status, Status::truncated);
}

TEST(Pytorch, SaysHowFarTheDigitsOfAMeanCarry) {
  const auto of = [](const char* mean) {
    std::string text;
    for (const char* batch : {"1", "11", "21"}) {
      text += "Epoch: [0][" + std::string(batch) + "/60]\tTime " + mean + " (" + mean +
              ")\tData 0.000 (0.000)\tLoss 6.9 (6.9)\n";
    }
    return read_text(text).at(0).notices;
  };
  ASSERT_EQ(of("0.025").size(), 1u);
  EXPECT_NE(text_of(of("0.025")[0]).find("good to 2 %"), std::string::npos);
  EXPECT_TRUE(of("0.251").empty());
}

TEST(Pytorch, SampleFollowsTheLoopsClock) {
  const std::string folder = std::string(BB_SOURCE_DIR) + "/parsers/samples/pytorch/";
  const auto runs = read_text(slurp(folder + "sample.log"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 12u);
  std::istringstream in(slurp(folder + "timings.jsonl"));
  std::vector<double> end = {0};
  for (std::string line; std::getline(in, line);) {
    end.push_back(nlohmann::json::parse(line)["end"].get<double>());
  }
  for (const Record& record : runs[0].records) {
    const auto epoch = static_cast<std::size_t>((record.step - 1) / 40);
    // Between epochs the loop tests for 0.1 s, which the log's clock leaves out.
    const double truth =
        end[static_cast<std::size_t>(record.step)] - 0.1 * static_cast<double>(epoch);
    EXPECT_NEAR(record.time_s, truth, 0.03 * truth + 0.01) << record.step;
  }
}

TEST(Pytorch, EndsATrainingOfSeveralWithTheResultOfItsFold) {
  const auto steps = [](int last) {
    std::string text;
    for (int i = 0; i < last; i += 20) {
      text += "Epoch: [1][" + std::to_string(i) + "/100] Elapsed 0m " + std::to_string(i / 2) +
              "s (remain 0m 9s) Loss: 0.5(0.6)\n";
    }
    return text;
  };
  const std::string result = "[2022-01-02 03:04:05] - ========== fold: 0 result ==========\n";
  const std::string next = "[2022-01-02 03:04:06] - ========== fold: 1 training ==========\n";
  // The second training was cut. What a buffer held comes behind the result.
  const auto runs =
      read_text(steps(80) + result + steps(99).substr(steps(80).size()) + next + steps(60));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[0].records.back().step, 81);
  EXPECT_EQ(runs[1].outcome.status, Status::truncated);
}

TEST(Pytorch, ReadsTheMeterOfLavis) {
  const std::string head = "2023-05-01 10:00:00,123 [INFO] Train: data epoch: [0]";
  std::string text;
  for (const char* at : {"   0/200", "  50/200", " 100/200", " 150/200", " 199/200"}) {
    text += head + "  [" + at +
            "]  eta: 0:01:00  lr: 0.000010  loss: 2.1000  time: 0.4000  data: " +
            "0.0001  max mem: 6789\n";
  }
  const auto runs = read_text(text + head + " Total time: 0:01:24 (0.4200 s / it)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 5u);
  EXPECT_NEAR(runs[0].totals.training_s.value_or(0), 84, 1e-9);
}

}  // namespace
}  // namespace bertbench
