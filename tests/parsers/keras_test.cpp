// The lines are written after what the releases of Keras print; the sample is a run of Keras 3.15.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string notices_of(const RunLog& run) {
  std::string out;
  for (const Notice& notice : run.notices) out += text_of(notice) + "\n";
  return out;
}

TEST(Keras, TakesTheFinerOfTheTwoRoundedTimes) {
  const auto runs = read_text(
      "Epoch 1/2\n"
      "100/100 [==============================] - 26s 255ms/step - loss: 0.6 - accuracy: 0.7\n"
      "Epoch 2/2\n"
      "100/100 [==============================] - 101s 1s/step - loss: 0.5 - accuracy: 0.8\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "keras");
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].seconds, 25.5);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 101);
  EXPECT_EQ(runs[0].records[1].step, 200);
  EXPECT_DOUBLE_EQ(runs[0].records[1].loss, 0.5);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Keras, SaysThatAnEpochHoldsItsValidation) {
  const auto runs = read_text(
      "Epoch 1/1\n"
      "300/300 [==============================] - 850s 3s/step - loss: 0.1 - val_loss: 0.2\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].loss, 0.1);
  EXPECT_THAT(notices_of(runs[0]), testing::HasSubstr("holds its validation"));
}

TEST(Keras, TellsEvaluationAndPredictionFromTraining) {
  const auto runs = read_text(
      "Downloading data from https://example.org/a\n"
      "90112/83598 [================================] - 0s 1us/step\n"
      "Epoch 1/1\n"
      "1/1 [==============================] - 0s 20ms/step\n"  // a callback's predict()
      "10/10 [==============================] - 2s 200ms/step - loss: 0.6\n"
      "5/5 [==============================] - 1s 100ms/step - loss: 0.4 - accuracy: 0.9\n"
      "4/4 [==============================] - 0s 50ms/step\n");
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  ASSERT_EQ(runs[0].records.size(), 1u);
  EXPECT_EQ(runs[0].records[0].iterations, 10);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[2].kind, WorkKind::inference);
}

TEST(Keras, KnowsTheReleasesThatCountSamples) {
  for (const char* unit : {"us/sample", "us/step"}) {
    const auto runs =
        read_text(std::string("Train on 60000 samples, validate on 10000 samples\n"
                              "Epoch 1/1\n"
                              "60000/60000 [==============================] - 4s 71") +
                  unit + " - loss: 0.3\n");
    ASSERT_EQ(runs.size(), 1u) << unit;
    EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
    EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
    EXPECT_NEAR(runs[0].records[0].printed_rate, 1 / 71e-6, 1e-6);
    EXPECT_TRUE(std::isnan(runs[0].records[0].seconds)) << "a batch given would multiply them";
    EXPECT_THAT(notices_of(runs[0]), testing::HasSubstr("counts samples"));
  }
}

// From a run of Keras 2.2.5, batch 8: it counts samples and calls them steps. A callback counted 23
// batches/s.
TEST(Keras, KnowsABarOfSamplesByItsBatches) {
  const std::string epoch =
      "Using TensorFlow backend.\n"
      "Epoch 1/1\n"
      "\r  8/640 [..............................] - ETA: 21s - loss: 2.4157"
      "\r 24/640 [>.............................] - ETA: 8s - loss: 3.2697"
      "\r 40/640 [>.............................] - ETA: 6s - loss: 2.3349"
      "\r624/640 [============================>.] - ETA: 0s - loss: 1.4561";
  const std::string end =
      "\r640/640 [==============================] - 4s 6ms/step - loss: 1.4557\n";
  const auto runs = read_text(epoch + end);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_NEAR(runs[0].records.at(0).printed_rate, 1 / 6e-3, 1e-9);
  EXPECT_THAT(notices_of(runs[0]), testing::HasSubstr("counts samples"));
  // Its generators count steps, from 1.
  const auto steps = read_text(
      "Using TensorFlow backend.\n"
      "Epoch 1/1\n"
      "\r 1/80 [..............................] - ETA: 53s - loss: 1.3703"
      "\r 2/80 [..............................] - ETA: 28s - loss: 2.2773"
      "\r80/80 [==============================] - 4s 50ms/step - loss: 1.4557\n");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(steps[0].records.at(0).seconds, 4);
  // Its last line alone does not tell.
  const auto unsure = read_text("Using TensorFlow backend.\nEpoch 1/1\n" + end);
  ASSERT_EQ(unsure.size(), 1u);
  EXPECT_EQ(unsure[0].iteration_unit, IterationUnit::unknown);
  EXPECT_THAT(notices_of(unsure[0]), testing::HasSubstr("does not say which"));
  // A step of 64 us is none, whatever the release is.
  const auto tiny = read_text(
      "Epoch 1/1\n50000/50000 [==============================] - 3s 64us/step - loss: 0.4127\n");
  ASSERT_EQ(tiny.size(), 1u);
  EXPECT_EQ(tiny[0].iteration_unit, IterationUnit::unknown);
  EXPECT_THAT(notices_of(tiny[0]), testing::HasSubstr("does not say which"));
}

TEST(Keras, TakesAnEpochThatDidNotEndByItsTimeLeft) {
  const std::string epoch =
      "Epoch 1/50\n\n"
      "  1/90 [..............................] - ETA: 31:09 - loss: 2.4638 - accuracy: 0.5647\n"
      "  2/90 [..............................] - ETA: 20:32 - loss: 2.4510 - accuracy: 0.5506\n"
      " 59/90 [==================>...........] - ETA: 5:12 - loss: 2.2415 - accuracy: 0.5775 \n";
  const auto runs = read_text(epoch +
                              " 60/90 [===================>..........] - ETA: 5:00 - loss: "
                              "2.2429 - accuracy: 0.5774");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 1u);
  EXPECT_EQ(runs[0].records[0].step, 60);
  EXPECT_NEAR(runs[0].records[0].seconds, 600, 1.1) << "30 steps in 300 to 301 s";
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  EXPECT_THAT(notices_of(runs[0]), testing::HasSubstr("from the time left"));
  // Few seconds tell no rate, but where it ended.
  const auto late = read_text(epoch +
                              " 89/90 [============================>.] - ETA: 9s - loss: "
                              "2.2429 - accuracy: 0.5774\n");
  ASSERT_EQ(late.size(), 1u);
  ASSERT_EQ(late[0].records.size(), 1u);
  EXPECT_EQ(late[0].records[0].step, 89);
  EXPECT_TRUE(std::isnan(late[0].records[0].seconds));
  // An epoch that ended has a better clock.
  const auto whole = read_text(
      "Epoch 1/2\n90/90 [==============================] - 901s 10s/step - loss: 2.2\nEpoch 2/2\n"
      " 45/90 [==============>...............] - ETA: 7:30 - loss: 2.1\n");
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].records.size(), 1u);
}

TEST(Keras, ReadsVerbose2OfThreeReleases) {
  for (const char* line :
       {"1875/1875 - 26s - loss: 0.48 - accuracy: 0.83 - 26s/epoch - 14ms/step\n",
        "1875/1875 - 26s - 14ms/step - accuracy: 0.83 - loss: 0.48\n",
        "1875/1875 - 26s - loss: 0.48 - accuracy: 0.83\n"}) {
    const auto runs = read_text(std::string("Epoch 1/1\n") + line);
    ASSERT_EQ(runs.size(), 1u) << line;
    ASSERT_EQ(runs[0].records.size(), 1u) << line;
    EXPECT_NEAR(runs[0].records[0].seconds, 26, 0.3) << line;
    EXPECT_DOUBLE_EQ(runs[0].records[0].loss, 0.48) << line;
  }
}

TEST(Keras, ReadsBarsThatBackspacesAndTerminalsSpoilt) {
  const auto runs = read_text(
      "Epoch 9/10\n\n"
      "1875/1875 [==============================] - 2s 1ms/step - loss: 0.5193 - lr: 0.0063\n"
      "Epoch 10/10==============>...............] - ETA: 11s\n\n"
      "\b\b\b\b\b\b1875/1875 [==============================] - 3s 1ms/step - loss: 0.53\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 3);
  EXPECT_THAT(notices_of(runs[0]), testing::HasSubstr("good to 25 %"));
}

TEST(Keras, TakesOneRecordOfAnEpochThatDidNotEnd) {
  const auto runs = read_text(
      "Epoch 1/5\n"
      "\r 10/100 ━━━━━━━━━━━━━━━━━━━━ 1:30 1s/step - accuracy: 0.1 - loss: 2.3"
      "\r 20/100 ━━━━━━━━━━━━━━━━━━━━ 1:20 1s/step - accuracy: 0.1 - loss: 2.2");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 1u);
  EXPECT_EQ(runs[0].records[0].step, 20);
  EXPECT_TRUE(std::isnan(runs[0].records[0].loss)) << "its last digits may be missing";
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Keras, EndsOnARateThatHasTwoSlashes) {
  const auto runs =
      read_text("Epoch 1/1\n10/10 - 2s - loss: 0.6 - 200ms/step/step - 2s/epoch/epoch\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 1u);
}

TEST(Keras, LeavesTheEpochsOfOtherTrainersAlone) {
  EXPECT_TRUE(
      read_text("Epoch 1/10\nEpoch 2/10, Train loss: 0.3\n 12/100 [=====>] - loss: 0.2\n").empty());
}

TEST(Keras, SampleIsWithinItsRoundingOfACallbacksClock) {
  const std::string folder = std::string(BB_SOURCE_DIR) + "/parsers/samples/keras/";
  const auto runs = read_text(slurp(folder + "sample.log"));
  ASSERT_EQ(runs.size(), 3u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  std::istringstream in(slurp(folder + "timings.jsonl"));
  std::vector<double> end = {0};
  for (std::string line; std::getline(in, line);) {
    end.push_back(nlohmann::json::parse(line)["end"].get<double>());
  }
  ASSERT_EQ(end.size(), 81u);
  for (std::size_t epoch = 1; epoch < 4; ++epoch) {  // the first one holds the start-up
    const double truth = end[20 * (epoch + 1)] - end[20 * epoch];
    EXPECT_NEAR(runs[0].records[epoch].seconds / truth, 1, 0.06) << epoch;
  }
}

TEST(Keras, EarlyStoppingIsAWantedEnd) {
  const std::string epochs =
      "Epoch 1/40\n250/250 [==============================] - 9s 35ms/step - loss: 0.29\n"
      "Epoch 2/40\n250/250 [==============================] - 8s 34ms/step - loss: 0.31\n";
  EXPECT_EQ(read_text(epochs).at(0).outcome.status, Status::truncated);
  for (const char* end : {"Epoch 2: early stopping\n", "Epoch 00002: early stopping\n"}) {
    const auto runs = read_text(epochs + end);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].outcome.status, Status::completed) << end;
    EXPECT_EQ(runs[0].records.size(), 2u);
  }
}

// Keras 2.2.5, verbose=2, of a run of 640 samples whose epochs took 5.8, 4.7 and 4.7 s.
TEST(Keras, OldVerboseTwoTellsEpochsOnly) {
  const std::string epochs =
      "Epoch 1/3\n - 6s - loss: 1.3839 - mean_absolute_error: 0.9259\n"
      "Epoch 2/3\n - 5s - loss: 0.9959 - mean_absolute_error: 0.7844\n"
      "Epoch 3/3\n - 5s - loss: 0.9363 - mean_absolute_error: 0.7603\n";
  const auto runs = read_text("Using TensorFlow backend.\n" + epochs);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].loss, 0.9363);
  EXPECT_TRUE(std::isnan(runs[0].records[2].seconds));
  EXPECT_TRUE(std::isnan(runs[0].records[2].printed_rate));
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_NE(text_of(runs[0].notices.at(0)).find("not its steps"), std::string::npos);

  const auto told = read_text("Train on 640 samples, validate on 160 samples\n" + epochs);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].records[2].printed_rate, 128);
  EXPECT_EQ(told[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_NE(text_of(told[0].notices.at(0)).find("good to 10 %"), std::string::npos);
  EXPECT_TRUE(read_text(" - 6s - loss: 1.3839\n").empty());
}

// Each worker announces the epochs and ends their bars.
TEST(Keras, CountsTheEpochsOfOneWorker) {
  for (const bool labels : {true, false}) {
    std::string text;
    for (const char* epoch : {"1", "2", "3"}) {
      for (const char* what : {"Epoch ", "200/200 - 10s - loss: 2.5 - 10s/epoch - 51ms/step"}) {
        for (const char* rank : {"[1,0]<stdout>:", "[1,1]<stdout>:"}) {
          text += (labels ? rank : "") + std::string(what);
          text += (what[0] == 'E' ? epoch + std::string("/3\n") : "\n");
        }
      }
    }
    const auto runs = read_text(text + (labels ? "[1,0]<stdout>:" : "") +
                                "40/40 - 1s - loss: 2.25 - 1s/epoch - 25ms/step\n");
    ASSERT_EQ(runs.size(), 2u) << labels;
    EXPECT_EQ(runs[0].records.size(), 3u) << labels;
    EXPECT_EQ(runs[0].outcome.status, Status::completed) << labels;
    EXPECT_EQ(runs[1].kind, WorkKind::evaluation) << labels;
    EXPECT_EQ(runs[1].records.size(), 1u) << labels;
  }
}

}  // namespace
}  // namespace bertbench
