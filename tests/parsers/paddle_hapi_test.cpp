#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// Lines of paddle.Model.fit (2.6.2), verbose=2: 28 ms a step by a callback.
constexpr const char* kTwoEpochs =
    "Epoch 1/2\n"
    "step 10/80 - loss: 0.6251 - acc: 0.5250 - 55ms/step\n"
    "step 80/80 - loss: 0.8588 - acc: 0.4938 - 32ms/step\n"
    "Eval begin...\n"
    "step 10/20 - loss: 0.7787 - acc: 0.5125 - 22ms/step\n"
    "step 20/20 - loss: 0.7801 - acc: 0.5125 - 22ms/step\n"
    "Eval samples: 160\n"
    "Epoch 2/2\n"
    "step 10/80 - loss: 0.5482 - acc: 0.5250 - 28ms/step\n"
    "step 80/80 - loss: 0.7416 - acc: 0.5297 - 28ms/step\n";

TEST(PaddleHapi, TheMeanOfTheEpochMakesTheClock) {
  const auto runs = read_text(kTwoEpochs);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "paddle-hapi");
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::micro_step);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_NEAR(runs[0].records[0].time_s, 0.55, 1e-9);
  EXPECT_NEAR(runs[0].records[1].time_s, 80 * 0.032, 1e-9);
  EXPECT_EQ(runs[0].records[3].step, 160) << "evaluations are not counted";
  EXPECT_NEAR(runs[0].records[3].time_s, 80 * 0.032 + 80 * 0.028, 1e-9);
  EXPECT_EQ(runs[0].records[3].loss, 0.7416);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_NE(text_of(runs[0].notices[0]).find("good to 2 % at worst"), std::string::npos);
}

TEST(PaddleHapi, CostsOfReaderAndBatchAreFiner) {
  const auto runs = read_text(
      "Epoch 1/1\n"
      "step 10/20 - loss: 0.8935 - acc: 0.3875 - avg_reader_cost: 0.00312 sec - avg_batch_cost: "
      "0.02980 sec - ips: 243.00261 samples/sec - 33ms/step\n"
      "step 20/20 - loss: 0.8138 - acc: 0.4000 - avg_reader_cost: 0.00182 sec - avg_batch_cost: "
      "0.02729 sec - ips: 274.80860 samples/sec - 31ms/step\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_NEAR(runs[0].records[0].seconds, 0.3292, 1e-9);
  EXPECT_NEAR(runs[0].records[1].seconds, 0.2911, 1e-9);
  EXPECT_TRUE(std::isnan(runs[0].records[1].time_s));
  EXPECT_TRUE(runs[0].notices.empty());
}

// Keras draws the same bar, without the word in front of the counter.
TEST(PaddleHapi, RedrawsOfItsBarAreNotOfKeras) {
  const auto runs = read_text(
      "Epoch 1/1\n"
      "\rstep 10/30 [=========>....................] - loss: 0.6972 - ETA: 1s - 29ms/step"
      "\b\b\b\b\b\b\b\b\b\b\rstep 20/30 [===================>..........] - loss: 0.6150 - ETA: 0s "
      "- 28ms/step\b\b\b\b\b\b\b\b\b\b\rstep 30/30 [==============================] - loss: 0.7719 "
      "- 28ms/step          \n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "paddle-hapi");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_NEAR(runs[0].records[2].time_s, 30 * 0.028, 1e-9);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(PaddleHapi, FitCalledAgainIsAnotherRun) {
  const auto runs = read_text(std::string(kTwoEpochs) + kTwoEpochs);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_NEAR(runs[1].records[0].time_s, 0.55, 1e-9);
}

TEST(PaddleHapi, EarlyStoppingIsAWantedEnd) {
  const std::string epoch =
      "Epoch 1/9\nstep 10/10 - loss: 0.75 - acc: 0.5 - 55ms/step\n"
      "Eval begin...\nstep 4/4 - loss: 0.5 - acc: 0.5 - 25ms/step\nEval samples: 64\n";
  EXPECT_EQ(read_text(epoch).at(0).outcome.status, Status::truncated);
  EXPECT_EQ(read_text(epoch + "Epoch 1: Early stopping.\n").at(0).outcome.status,
            Status::completed);
}

TEST(PaddleHapi, SampleFollowsTheCallbacksClock) {
  const std::string folder = std::string(BB_SOURCE_DIR) + "/parsers/samples/paddle-hapi/";
  const auto runs = read_text(slurp(folder + "sample.log"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 8u);
  std::istringstream in(slurp(folder + "timings.jsonl"));
  std::vector<double> end;
  for (std::string line; std::getline(in, line);) {
    end.push_back(nlohmann::json::parse(line)["end"].get<double>());
  }
  ASSERT_EQ(end.size(), 80u);
  for (std::size_t i = 0; i < 8; ++i) {
    if (i % 4 == 0) continue;  // the clock of an epoch's begin is not known
    const std::size_t last = i * 10 + 9;
    const double seconds = end[last] - end[last - 10];
    EXPECT_NEAR(runs[0].records[i].seconds / seconds, 1, 0.02) << i;
  }
}

// A notebook indents what a cell printed.
TEST(PaddleHapi, ReadsIndentedEpochs) {
  const auto runs = read_text(
      "    Epoch 1/4\n"
      "    step  10/40 - loss: 0.2500 - AUC: 0.6250 - 2s/step\n"
      "    step  20/40 - loss: 0.1250 - AUC: 0.6250 - 2s/step\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].time_s, 40);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(PaddleHapi, CountsTheStepsOfOneRank) {
  std::string text;
  for (const char* what : {"Epoch 1/2\n", "step 10/10 - loss: 0.6 - 55ms/step\n", "Epoch 2/2\n",
                           "step 10/10 - loss: 0.5 - 55ms/step\n"}) {
    for (const char* rank : {"[1,0]<stdout>:", "[1,1]<stdout>:", "[1,2]<stdout>:"}) {
      text += rank + std::string(what);
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 20);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

}  // namespace
}  // namespace bertbench
