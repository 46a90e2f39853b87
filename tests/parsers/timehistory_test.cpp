#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string history(const std::string& stamp, const std::string& seconds, const std::string& rate,
                    int from, int to) {
  return "I0407 " + stamp + " 139725706671936 keras_utils.py:145] TimeHistory: " + seconds +
         " seconds, " + rate + " examples/second between steps " + std::to_string(from) + " and " +
         std::to_string(to) + "\n";
}

TEST(TimeHistory, FindsTheBatchInThePrintedDigitsAndSharpensTheSeconds) {
  const auto runs = read_text(history("21:16:58.541527", "43.91", "72.87", 0, 100) +
                              history("21:17:05.025709", "6.46", "495.19", 100, 200));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 32);
  EXPECT_EQ(runs[0].records[1].iterations, 100);
  EXPECT_NEAR(runs[0].records[1].seconds, 3200 / 495.19, 1e-9);
  EXPECT_NEAR(runs[0].records[1].time_s, 6.484182, 1e-6);
  EXPECT_EQ(runs[0].records[1].printed_rate, 495.19);
}

// 0.04 s could be anything from 0.035 to 0.045: as seconds it is no measure.
TEST(TimeHistory, LeavesSecondsOutThatAreTooCoarse) {
  const auto runs = read_text(history("07:28:52.765852", "0.04", "7400.05", 80, 100));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records[0].seconds));
  EXPECT_FALSE(runs[0].facts.global_batch_size.known());
}

TEST(TimeHistory, ReadsBenchmarkMetric) {
  const auto runs = read_text(
      "I0917 12:01:09.244876 139914427299648 keras_utils.py:88] BenchmarkMetric: {'global "
      "step':100, 'time_taken': 16.552601,'examples_per_second': 773.292362}\n"
      "I0917 12:01:18.520732 139914427299648 keras_utils.py:88] BenchmarkMetric: {'global "
      "step':200, 'time_taken': 9.275636,'examples_per_second': 1379.959218}\n"
      "I0917 12:01:18.520900 139914427299648 keras_utils.py:95] BenchmarkMetric: {'epoch':0, "
      "'time_taken': 26.1}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 128);
  EXPECT_NEAR(runs[0].records[1].seconds, 9.275636, 1e-6);
}

// The first revision counted the batches of an epoch.
TEST(TimeHistory, GoesOnCountingOverEpochs) {
  std::string text;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const int batch : {100, 200}) {
      text += "INFO:tensorflow:BenchmarkMetric: {'num_batches':" + std::to_string(batch) +
              ", 'time_taken': 8.000000,'images_per_second': 400.000000}\n";
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[3].step, 400);
  EXPECT_EQ(runs[0].records[3].iterations, 100);
}

TEST(TimeHistory, TakesTheClockWhereALoopPrintsNoRate) {
  std::string text;
  for (int step = 10; step <= 30; step += 10) {
    text +=
        "I0630 03:04:" + std::to_string(step) +
        ".500000 139942479124288 model_training_utils.py:444] Train Step: " + std::to_string(step) +
        "/900  / loss = 10.5\n";
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[2].time_s, 20);
  EXPECT_EQ(runs[0].records[2].iterations, 10);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(TimeHistory, ReadsNvidiasLoopForTensorflow2WithItsClosingLines) {
  std::string text;
  for (int step = 1; step <= 4; ++step) {
    const std::string at = "[0] I1030 10:55:1" + std::to_string(step) + ".732321 139681571383104 ";
    text += at + "model_training_utils.py:501] Train Step: " + std::to_string(step) +
            "/4  / loss = 11.2 / time = 1.000 sec\n" + at +
            "model_training_utils.py:502] Perf 1930.00\n";
  }
  const std::string end = "[0] I1030 10:59:04.732321 139681571383104 model_training_utils.py:600] ";
  text += end + "hvd.size() = 2\n" + end + "Total Training Time = 9.63 for Sequences = 7680\n" +
          end + "Throughput Average (sequences/sec) with overhead = 797.51\n" + end +
          "Throughput Average (sequences/sec) = 1930.00\n";
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.records.size(), 4u);
  EXPECT_EQ(run.records[3].seconds, 1);
  EXPECT_EQ(run.records[3].printed_rate, 1930);
  EXPECT_EQ(run.facts.global_batch_size.value, 1920);
  EXPECT_EQ(run.facts.world(), 2);
  EXPECT_EQ(run.summary->value, 1930);
  EXPECT_EQ(run.totals.sequences, 7680);
  EXPECT_EQ(run.outcome.status, Status::completed);
}

TEST(TimeHistory, KeepsTheRateOfPredictionApart) {
  const std::string at = "I1030 10:59:04.732321 139681571383104 run_squad.py:200] ";
  const auto runs = read_text(at + "Total Inference Time = 20.00 for Sequences = 1000\n" + at +
                              "Throughput Average (sequences/sec) = 50.00\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].kind, WorkKind::inference);
  EXPECT_EQ(runs[0].summary->value, 50);
}

// Late in 2018 the line counted the batches of an epoch and its rate was one of examples.
TEST(TimeHistory, ReadsBatchesOfAnEpochWithExamples) {
  const auto line = [](int batch) {
    return "INFO:tensorflow:BenchmarkMetric: {'num_batches':" + std::to_string(batch) +
           ", 'time_taken': 4.000000,'examples_per_second': 800.000000}\n";
  };
  const auto runs = read_text(line(100) + line(200) + line(200) + line(100) + line(200));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[3].step, 400);
  EXPECT_EQ(runs[0].records[3].seconds, 4);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 32);
}

TEST(TimeHistory, TakesOrbitsEvaluationsOffTheClock) {
  const auto at = [](const std::string& time) {
    return "I0407 10:" + time + " 139 controller.py:479] ";
  };
  const auto runs = read_text(
      at("00:10.000000") +
      "train | step:    100 | steps/sec:   10.0 | output: {'train_loss': 2.5}\n" +
      at("00:10.000100") + " eval | step:    100 | running 50 steps of evaluation...\n" +
      at("00:40.000000") + " eval | step:    100 | eval time:   30.0 sec | output: {'acc': 0.5}\n" +
      at("00:50.000000") +
      "train | step:    200 | steps/sec:   10.0 | output: {'train_loss': 1.5}\n" +
      at("01:00.000000") +
      "train | step:    300 | steps/sec:   10.0 | output: {'train_loss': 1.0}\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_NEAR(runs[0].records[1].time_s - runs[0].records[0].time_s, 10, 1e-6);
  EXPECT_NEAR(runs[0].records[2].time_s - runs[0].records[0].time_s, 20, 1e-6);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("taken off the clock"));
}

}  // namespace
}  // namespace bertbench
