#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Mindspore, MakesARecordOfEachEpoch) {
  const auto runs = read_text(
      "epoch: 1 step: 173, loss is 0.11066732\n"
      "epoch time: 120480.930 ms, per step time: 696.422 ms\n"
      "epoch: 2 step: 173, loss is 0.08072116\n"
      "Train epoch time: 120437.981 ms, per step time: 696.173 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].step, 346);
  EXPECT_EQ(runs[0].records[1].iterations, 173);
  EXPECT_NEAR(runs[0].records[1].seconds, 120.437981, 1e-9);
  EXPECT_EQ(runs[0].records[1].loss, 0.08072116);
}

// BERT's script counts over all epochs; an epoch is a sink of so many steps.
TEST(Mindspore, KnowsTheCounterOfTheBertScript) {
  const std::string tail =
      ", outputs are (Tensor(shape=[], dtype=Float32, value= 0.7), Tensor())\n";
  const auto runs = read_text("epoch: 0, current epoch percent: 1.000, step: 6094" + tail +
                              "epoch time: 1702423.561 ms, per step time: 279.361 ms\n"
                              "epoch: 1, current epoch percent: 1.000, step: 12188" +
                              tail + "epoch time: 1684662.219 ms, per step time: 276.446 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].step, 12188);
  EXPECT_EQ(runs[0].records[1].iterations, 6094);
}

TEST(Mindspore, CountsTheLinesOfSeveralRanksOnce) {
  std::string text;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (int rank = 0; rank < 4; ++rank) {
      text += "epoch: " + std::to_string(epoch) + " step: 100, loss is 0.5\n" +
              "epoch time: 1000.000 ms, per step time: 10.000 ms\n";
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
}

TEST(Mindspore, SaysThatRanksCannotBeToldWithoutSteps) {
  const auto runs = read_text("epoch time: 1000.000 ms, per step time: 10.000 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("several ranks"));
}

// Seconds of one decimal tell the steps of an epoch to a few; the loss line counts them.
TEST(Mindspore, TakesTheStepsOfAnEpochFromItsLossLineWhereTheTimesAreInSeconds) {
  const auto runs = read_text(
      "epoch: 1 step: 1024, loss is 0.15\nepoch time: 351.3 s, per step time: 343.033 ms\n"
      "epoch: 2 step: 1024, loss is 0.08\nepoch time:  16.7 s, per step time: 16.299 ms\n"
      "epoch: 3 step: 1024, loss is 0.02\nepoch time: 16.70s, per step time: 16.284ms\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].step, 2048);
  EXPECT_EQ(runs[0].records[1].iterations, 1024);
  EXPECT_NEAR(runs[0].records[1].seconds, 16.690176, 1e-9);
  EXPECT_EQ(runs[0].records[2].step, 3072);
}

TEST(Mindspore, ReadsTheImagesPerSecondOfDetectionScripts) {
  const std::string at = "2023-01-10 09:59:21,231:INFO:epoch[";
  const auto still = read_text(
      at + "1], iter[1], loss:723.6, fps:181.37 imgs/sec, lr:1e-05, per step time: 1411.5ms\n" +
      at + "2], iter[1], loss:206.3, fps:371.70 imgs/sec, lr:1e-05, per step time: 688.7ms\n");
  ASSERT_EQ(still.size(), 1u);
  ASSERT_EQ(still[0].records.size(), 2u);
  EXPECT_EQ(still[0].records[1].printed_rate, 371.7);
  EXPECT_NEAR(still[0].records[1].seconds, 0.6887, 1e-12);
  EXPECT_EQ(still[0].records[1].loss, 206.3);
  const auto counted = read_text(at + "0], iter[100], loss:483.3, 12.63 imgs/sec, lr:0.01\n" + at +
                                 "0], iter[200], loss:283.3, 13.63 imgs/sec, lr:0.01\n");
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_EQ(counted[0].records.at(1).step, 200);
  EXPECT_EQ(counted[0].records.at(1).iterations, 100);
  EXPECT_EQ(counted[0].rate_unit, RateUnit::sequences_per_second);
}

TEST(Mindspore, ReadsMindformers) {
  const std::string at = "[callback.py:529] - INFO - { Epoch:[  2/  2], step:[";
  const auto runs = read_text("2025-04-07 15:34:27,308 - " + at +
                              "    1/   19], loss: 10.649, per_step_time: 1752ms, lr: "
                              "0.0\n2025-04-07 15:34:31,308 - " +
                              at + "    3/   19], loss: 10.5, per_step_time: 1790ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[0].step, 20);
  EXPECT_EQ(runs[0].records[1].iterations, 2);
  EXPECT_NEAR(runs[0].records[1].seconds, 3.58, 1e-9);
  EXPECT_NEAR(runs[0].records[1].time_s, 4, 1e-6);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  const auto whole = read_text("2025-04-07 15:34:27,308 - " + at +
                               "   19/   19], loss: 10.25, per_step_time: 1752ms, lr: 0.0\n");
  EXPECT_EQ(whole.at(0).outcome.status, Status::completed);
}

TEST(Mindspore, TellsTheTimeOfASinkByTheStamps) {
  const auto line = [](int second, int step, const std::string& ms) {
    return "[INFO] 2023-07-11 10:48:" + std::to_string(second) +
           ",125 [callback.py:269] print_output_info: Epoch:[  1/  1], step:[  " +
           std::to_string(step) + "/  125], loss:[2.220/2.225], time:" + ms +
           " ms, lr:[2.4e-06], overflow cond: False, loss_scale: 16384.0\n";
  };
  const auto sink = read_text(line(10, 4, "9512.250") + line(12, 8, "1950.500") +
                              line(14, 12, "1951.500") + line(44, 16, "1952.500"));
  ASSERT_EQ(sink.size(), 1u);
  ASSERT_EQ(sink[0].records.size(), 4u);
  EXPECT_TRUE(std::isnan(sink[0].records[0].seconds));
  EXPECT_EQ(sink[0].records[1].iterations, 4);
  EXPECT_NEAR(sink[0].records[1].seconds, 1.9505, 1e-9);
  EXPECT_NEAR(sink[0].records[3].seconds, 1.9525, 1e-9) << "a checkpoint stands between";
  EXPECT_EQ(sink[0].records[1].loss, 2.22);
  const auto single = read_text(line(10, 4, "9512.250") + line(12, 8, "487.500"));
  EXPECT_NEAR(single.at(0).records.at(1).seconds, 1.95, 1e-9) << "every fourth step is printed";
}

// Without a data sink both the loss and its mean are printed.
TEST(Mindspore, ReadsTheLossOfMindformersWithoutSink) {
  const std::string at = "2025-04-07 15:34:27,308 - INFO - { Epoch:[  1/  2], step:[    ";
  const auto runs = read_text(
      at +
      "1/   19], loss:[10.600/10.588], per_step_time: 1865ms, lr: 1e-05, overflow cond: False\n" +
      at +
      "2/   19], loss:[  nan/  nan], per_step_time: 1865ms, lr: 1e-05, overflow cond: False\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.at(0).loss, 10.6);
  EXPECT_EQ(runs[0].first_nan_step, 2);
}

TEST(Mindspore, LeavesWholeMillisecondsOfFastStepsToTheClock) {
  const auto runs = read_text(
      "2025-04-07 15:34:27,308 - INFO - { Epoch:[  1/  2], step:[    1/   19], loss: 1.0, "
      "per_step_time: 7ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records[0].seconds));
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("too coarse"));
}

TEST(Mindspore, ReadsTheEpochLinesOfTheModelZoo) {
  const auto named = read_text(
      "epoch 1: epoch time: 533500.000, per step time: 500.000, avg loss: 5.270\n"
      "epoch 2: epoch time: 149380.000, per step time: 140.000, avg loss: 4.529\n");
  ASSERT_EQ(named.size(), 1u);
  ASSERT_EQ(named[0].records.size(), 2u);
  EXPECT_EQ(named[0].records[1].step, 2 * 1067);
  EXPECT_EQ(named[0].records[1].iterations, 1067);
  EXPECT_NEAR(named[0].records[1].seconds, 149.38, 1e-9);
  EXPECT_EQ(named[0].records[1].loss, 4.529);
  EXPECT_TRUE(named[0].notices.empty()) << "each line names its epoch";
  const auto cost = read_text(
      "epoch[1/200], iter[195] cost: 7800.000, per step time: 40.000, avg loss: 5.300\n"
      "epoch[2/200], iter[195] cost: 2925.000, per step time: 15.000, avg loss: 4.300\n");
  ASSERT_EQ(cost.size(), 1u);
  ASSERT_EQ(cost[0].records.size(), 2u);
  EXPECT_NEAR(cost[0].records[1].seconds, 2.925, 1e-9);
}

TEST(Mindspore, TakesTheUnitOfEachTimeAsPrinted) {
  const auto mixed = read_text(
      "2023-02-17 14:27:29,405:INFO:epoch: [1/90] loss: 1.1, epoch time: 39.000 s, per step time: "
      "200.000 ms\n"
      "2023-02-17 14:27:31,711:INFO:epoch: [2/90] loss: 1.0, epoch time: 1.950 s, per step time: "
      "10.000 ms\n");
  ASSERT_EQ(mixed.size(), 1u);
  ASSERT_EQ(mixed[0].records.size(), 2u);
  EXPECT_EQ(mixed[0].records[1].iterations, 195);
  EXPECT_NEAR(mixed[0].records[1].seconds, 1.95, 1e-9);
  const auto seconds = read_text("epoch time: 120.000 s, per step time: 6.000 s\n");
  ASSERT_EQ(seconds.size(), 1u);
  EXPECT_EQ(seconds[0].records[0].iterations, 20);
  EXPECT_NEAR(seconds[0].records[0].seconds, 120, 1e-9);
}

TEST(Mindspore, ReadsImagesPerSecondBehindTheTimeOfAStep) {
  const auto runs = read_text(
      "2023-03-01 10:00:00,004:INFO:epoch[1], iter[50], loss:90.25, per step time: 2000.00 ms, "
      "fps: "
      "32.00, lr:0.003\n"
      "2023-03-01 10:00:25,004:INFO:epoch[2], iter[100], loss:80.5, per step time: 500.00 ms, fps: "
      "128.00, lr:0.006\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 128);
  EXPECT_EQ(runs[0].records[1].iterations, 50);
  EXPECT_NEAR(runs[0].records[1].seconds, 25, 1e-9);
  EXPECT_EQ(runs[0].records[1].loss, 80.5);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
}

TEST(Mindspore, ImagesPerSecondTimesTheTimeOfAStepAreTheBatchOfAllDevices) {
  const auto runs = read_text(
      "2023-01-10 17:29:07,004:INFO:epoch[1], iter[377], loss:1280.677487, per step time: 7642.25 "
      "ms, fps: 8.37, lr:0.003\n"
      "2023-01-10 17:32:11,619:INFO:epoch[2], iter[755], loss:681.348236, per step time: 488.40 "
      "ms, fps: 131.04, lr:0.006\n"
      "2023-01-10 17:35:15,484:INFO:epoch[3], iter[1133], loss:595.682223, per step time: 486.41 "
      "ms, fps: 131.58, lr:0.009\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 64);
}

TEST(Mindspore, TutorialsTellTheEpochInFrontOfItsTimes) {
  const auto runs = read_text(
      "Epoch: [  9/ 10], Average Train Loss: [0.311], Accuracy: [0.983]\n"
      "epoch time: 73737.748 ms, per step time: 5266.982 ms\n"
      "--------------------\n"
      "Epoch: [ 10/ 10], Average Train Loss: [0.280], Accuracy: [1.000]\n"
      "epoch time: 69964.226 ms, per step time: 4997.445 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.at(1).step, 140);
  EXPECT_EQ(runs[0].records[1].loss, 0.280);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Mindspore, TellsThatTheTimesOfAnEpochContradictItsSteps) {
  const auto runs = read_text(
      "epoch: 1 step 5004, loss is 4.5680037\n"
      "epoch time: 2312519.441 ms, per step time: 462.134 ms\n"
      "epoch: 2 step 5004, loss is 2.964888\n"
      "Epoch time: 1350398.913 ms, per step time: 369.864 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.at(0).iterations, 5004);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_EQ(runs[0].notices[0].line, 4);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("fewer steps than the loss line"));
}

std::string ocr(int epoch, int step, const std::string& fps) {
  return "2023-05-10 10:00:00,123 - mindocr.utils - INFO - epoch: [" + std::to_string(epoch) +
         "/2] step: [" + std::to_string(step) +
         "/50], loss: 2.100000, lr: 0.001000, per step time: 100.000 ms, " + fps + " img/s\n";
}

TEST(Mindspore, ReadsTheStepsOfMindOcrAndNotTheirEpochsAgain) {
  const std::string of_card = "fps per card: 320.00";
  const auto runs = read_text(
      ocr(1, 20, of_card) + ocr(1, 40, of_card) +
      "2023-05-10 10:00:09,123 - mindocr.utils - INFO - epoch: [1/2], loss: 2.0, epoch time: 6.000 "
      "s, per step time: 120.000 ms, fps per card: 266.67 img/s\n" +
      ocr(2, 20, of_card));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].step, 40);
  EXPECT_EQ(runs[0].records[1].iterations, 20);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 2);
  EXPECT_EQ(runs[0].records[2].step, 70);
  EXPECT_DOUBLE_EQ(runs[0].records[2].seconds, 2) << "the clock begins anew with an epoch";
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 32);
  EXPECT_FALSE(runs[0].facts.world_size.known());
}

TEST(Mindspore, TakesNoBatchFromMindOcrsRateOfCardsUntold) {
  const auto runs = read_text(ocr(1, 20, "fps: 320.00") + ocr(1, 40, "fps: 320.00"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known());
  EXPECT_FALSE(runs[0].facts.global_batch_size.known());
  EXPECT_NE(text_of(runs[0].notices.at(0)).find("in some revisions of MindOCR"), std::string::npos);
}

TEST(Mindspore, ReadsAnEpochLineThatTellsItsSteps) {
  const auto runs = read_text(
      "epoch: [  1/ 90], epoch time: 10.0 s, steps:   100, per step time: 100.000 ms, avg loss: "
      "2.0\n"
      "epoch: [  2/ 90], epoch time: 5.0 s, steps:   100, per step time: 50.000 ms, avg loss: "
      "1.0\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 200);
  EXPECT_EQ(runs[0].records[1].loss, 1.0);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 5);
}

TEST(Mindspore, ReadsMindYolo) {
  const auto runs = read_text(
      "2024-10-18 10:01:23,943 [INFO] Epoch 1/500, Step 240/1516, step time: 100.87 ms\n"
      "2024-10-18 10:01:24,917 [INFO] Epoch 1/500, Step 250/1516, imgsize (640, 640), loss: 10.0\n"
      "2024-10-18 10:01:24,919 [INFO] Epoch 1/500, Step 250/1516, step time: 97.44 ms\n"
      "2024-10-18 10:03:29,000 [INFO] Epoch 1/500, epoch time: 1.53 min.\n"
      "2024-10-18 10:03:30,000 [INFO] Epoch 2/500, Step 10/1516, step time: 100.00 ms\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].iterations, 10);
  EXPECT_NEAR(runs[0].records[1].seconds, 0.9744, 1e-9);
  EXPECT_EQ(runs[0].records[2].step, 1526);
  EXPECT_NEAR(runs[0].records[2].seconds, 1, 1e-9) << "the clock begins anew with an epoch";
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known());
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Mindspore, CountsTheStepsOfOneRank) {
  for (const bool labels : {true, false}) {
    std::string formers, ocr;
    for (const int step : {20, 40, 60}) {
      for (const char* rank : {"[1,2]<stdout>:", "[1,0]<stdout>:", "[1,1]<stdout>:"}) {
        const std::string label = labels ? rank : "";
        formers += label + "2024-01-01 10:00:" + std::to_string(step / 2) +
                   ",123 - mindformers[callback.py:529] - INFO - { Epoch:[  1/  1], step:[   " +
                   std::to_string(step) + "/ 1000], loss: 10.6, per_step_time: 500ms, lr: 1e-05\n";
        ocr +=
            label + "epoch: [1/10] step: [" + std::to_string(step) +
            "/390], loss: 2.1, lr: 0.001, per step time: 500.000 ms, fps per card: 64.00 img/s\n";
      }
    }
    for (const auto& text : {formers, ocr}) {
      const auto runs = read_text(text);
      ASSERT_EQ(runs.size(), 1u) << labels;
      ASSERT_EQ(runs[0].records.size(), 3u) << labels;
      EXPECT_EQ(runs[0].records[2].iterations, 20) << labels;
      EXPECT_NEAR(runs[0].records[2].seconds, 10, 1e-9) << labels;
    }
  }
}

}  // namespace
}  // namespace bertbench
