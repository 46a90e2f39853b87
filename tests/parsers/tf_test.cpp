#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/notice_text.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// A message as TensorFlow prints it: twice.
std::string twice(const std::string& time, const std::string& message) {
  return "INFO:tensorflow:" + message + "\nI" + time + " 140421898602304 hooks.py:260] " + message +
         "\n";
}

TEST(Tf, CountsDoubledLossLinesOnceAndTakesTheClockFromTheStamps) {
  const auto runs = read_text(twice("0501 23:59:50.000000", "loss = 11.1, step = 0") +
                              twice("0501 23:59:55.500000", "global_step/sec: 18.1818") +
                              twice("0501 23:59:55.500000", "loss = 10.5, step = 100 (5.500 sec)") +
                              twice("0502 00:00:01.000000", "loss = 9.9, step = 200 (5.500 sec)"));
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].iterations, 100);
  EXPECT_NEAR(records[1].seconds, 5.5, 1e-3);
  EXPECT_EQ(records[1].printed_rate, 18.1818);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::iterations_per_second);
  EXPECT_NEAR(records[2].time_s, 11, 1e-6) << "across midnight";
  EXPECT_EQ(records[2].loss, 9.9);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(runs[0].facts.framework.value, "tensorflow");
}

TEST(Tf, TakesTheClockAcrossTheEndOfTheYear) {
  const auto runs = read_text(twice("1231 23:59:59.000000", "loss = 1.5, step = 0") +
                              twice("0101 00:00:09.000000", "loss = 1.4, step = 10 (10.000 sec)"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(runs[0].records[1].time_s, 10, 1e-3);
}

TEST(Tf, ReadsARateWithoutAStepByItsClock) {
  std::string log;
  for (int i = 0; i < 4; ++i) {
    const std::string time = "0501 17:11:0" + std::to_string(2 * i) + ".000000";
    log += twice(time, i == 0 ? "global_step/sec: 0.2" : "global_step/sec: 5") +
           twice(time, i == 0 ? "examples/sec: 6.4" : "examples/sec: 160");
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].records[2].iterations, 10);
  EXPECT_EQ(runs[0].records[2].seconds, 2);
  EXPECT_EQ(runs[0].records[2].printed_rate, 160);
  EXPECT_TRUE(std::isnan(runs[0].records[0].seconds)) << "the first interval builds the graph";
}

TEST(Tf, TakesEqualRatesInARowForSeparateRecords) {
  std::string log;
  for (int i = 0; i < 5; ++i) {
    log += twice("0501 17:11:0" + std::to_string(i) + ".000000", "global_step/sec: 1");
  }
  EXPECT_EQ(read_text(log).at(0).records.size(), 5u);
}

TEST(Tf, TellsTrainingThroughputFromEvaluation) {
  const auto runs = read_text(
      twice("0802 10:00:00.000000", "***** Running training *****") +
      twice("0802 10:00:01.000000", "loss = 11.1, step = 0") +
      twice("0802 10:00:02.000000", "loss = 11.0, step = 10 (1.000 sec)") +
      twice("0802 10:40:07.000000", "Loss for final step: 11.0.") +
      twice("0802 10:40:07.000000", "Total Training Time = 3608.49 for Sentences = 3041280") +
      twice("0802 10:40:07.000000", "Throughput Average (sentences/sec) with overhead = 842.81") +
      twice("0802 10:40:07.000000", "Throughput Average (sentences/sec) = 862.99") +
      twice("0802 10:40:07.000000", "***** Running evaluation *****") +
      twice("0802 10:40:08.000000",
            "Saving dict for global step 10: global_step = 10, loss = 182.7") +
      twice("0802 10:41:07.000000", "Throughput Average (sentences/sec) = 759.08"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  EXPECT_EQ(runs[0].summary->value, 862.99);
  EXPECT_EQ(runs[0].totals.training_s, 3608.49);
  EXPECT_EQ(runs[0].totals.sequences, 3041280);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[1].summary->value, 759.08);
}

std::string dle(int second, int iteration, const std::string& rate,
                const std::string& unit = "seq/s") {
  return "DLL 2023-08-02 10:01:" + std::string(second < 10 ? "0" : "") + std::to_string(second) +
         ".500000 - Iteration: " + std::to_string(iteration) + "  throughput_train : " + rate +
         " " + unit +
         " mlm_loss : 10.4  nsp_loss : 0.7  total_loss : 11.1  avg_loss_step : 11.1 \n";
}

TEST(Tf, KeepsARecordForEachIterationLineAlsoWhileTheLossScalerSkipsUpdates) {
  const auto runs =
      read_text(dle(1, 1, "359.770") + dle(2, 1, "1042.6") + dle(3, 1, "1044.9") +
                dle(4, 2, "1007.4", "sequences/s") +
                "DLL 2023-08-02 10:40:07.029559 -  throughput_train : 862.988 sequences/s\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].totals.skipped_steps, 3) << "number 1 stands behind no update";
  EXPECT_EQ(runs[0].outcome.step, 1);
  EXPECT_EQ(runs[0].records[3].printed_rate, 1007.4);
  EXPECT_EQ(runs[0].records[3].time_s, 3);
  EXPECT_EQ(runs[0].records[3].loss, 11.1);
  EXPECT_EQ(runs[0].summary->value, 862.988);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Tf, BeginsAnotherRunWhenTheStepGoesBack) {
  std::string run;
  for (int i = 0; i < 5; ++i) {
    run += twice("0501 17:11:0" + std::to_string(i) + ".000000",
                 "loss = 1.5, step = " + std::to_string(100 * i) + (i > 0 ? " (1.000 sec)" : ""));
  }
  const auto runs = read_text(run + run);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 5u);
  EXPECT_EQ(runs[1].records.size(), 5u);
}

TEST(Tf, TheFinalStepOfARoundIsNotTheEndOfTheRun) {
  const std::string round =
      "INFO:tensorflow:loss = 7.5, step = 100 (25.0 sec)\n"
      "INFO:tensorflow:loss = 7.4, step = 200 (25.0 sec)\n"
      "INFO:tensorflow:Loss for final step: 7.4.\n";
  EXPECT_EQ(read_text(round).at(0).outcome.status, Status::completed);
  const auto cut = read_text(round + "INFO:tensorflow:loss = 7.3, step = 300 (25.0 sec)\n");
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].outcome.status, Status::truncated);
}

TEST(Tf, IsNotMisledByALossOfAnotherKind) {
  EXPECT_TRUE(read_text("loss = 182.74454\nINFO:tensorflow:  loss = 182.74454\n"
                        "my loss = 3.0, step = 4\n")
                  .empty());
}

// Step 2500 was not done in the 23.8 s since a loss line that the log has not.
TEST(TfEstimator, TheFirstLossLineOfALogWithoutItsHeadTellsNoStepTime) {
  const auto runs = read_text(
      "INFO:tensorflow:loss = 7.1, step = 2500 (23.8 sec)\n"
      "INFO:tensorflow:loss = 7.0, step = 2510 (24.1 sec)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records.at(0).seconds));
  EXPECT_EQ(runs[0].records.at(1).iterations, 10);
  EXPECT_EQ(runs[0].records.at(1).seconds, 24.1);
}

// Two workers of MPI write one file: neither one's examples/sec is the job's.
TEST(Tf, TakesNoRateOfTheJobFromProcessesThatPrintInTurn) {
  const auto rate = [](const char* time, const char* thread, const char* steps,
                       const char* examples) {
    const std::string stamp = std::string("I0301 07:") + time + " " + thread + " tpu_estimator.py:";
    return std::string("INFO:tensorflow:global_step/sec: ") + steps + "\n" + stamp +
           "2350] global_step/sec: " + steps + "\nINFO:tensorflow:examples/sec: " + examples +
           "\n" + stamp + "2351] examples/sec: " + examples + "\n";
  };
  const std::string one = rate("10:05.000000", "1401", "0.5", "16") +
                          rate("10:07.000000", "1401", "0.51", "16.32") +
                          rate("10:09.000000", "1401", "0.52", "16.64");
  auto runs = read_text(one);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  runs = read_text(
      rate("10:05.000000", "1401", "0.5", "16") + rate("10:05.100000", "1402", "0.49", "15.7") +
      rate("10:07.000000", "1401", "0.51", "16.32") + rate("10:07.100000", "1402", "0.48", "15.4"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("in turn"));
  runs =
      read_text(rate("10:05.0", "1401", "0.5", "16") + rate("10:05.1", "1402", "0.49", "15.7") +
                rate("10:05.2", "1403", "0.48", "15.4") + rate("10:07.0", "1401", "0.51", "16.3"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown) << "three processes";
  runs = read_text(rate("10:05.0", "1401", "0.5", "16") + rate("10:05.1", "1401", "0.49", "15.7") +
                   rate("10:07.0", "1401", "0.51", "16.3"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown) << "threads of one number in all processes";
  const std::string labelled =
      "[1,0]<stderr>:INFO:tensorflow:global_step/sec: 0.5\n"
      "[1,0]<stderr>:INFO:tensorflow:examples/sec: 16\n"
      "[1,1]<stderr>:INFO:tensorflow:global_step/sec: 0.49\n"
      "[1,1]<stderr>:INFO:tensorflow:examples/sec: 15.7\n"
      "[1,0]<stderr>:INFO:tensorflow:global_step/sec: 0.51\n"
      "[1,0]<stderr>:INFO:tensorflow:examples/sec: 16.3\n";
  runs = read_text(labelled);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown) << "ranks by their label";
}

TEST(Tf, ReadsTheImagesOfResnetWhereNothingClosesTheRun) {
  const std::string lines =
      "DLL 2022-03-01 10:00:00.500000 - (0, 200) total_ips : 9000.5\n"
      "DLL 2022-03-01 10:00:02.500000 - (0, 210) total_ips : 9100.25\n"
      "DLL 2022-03-01 10:00:04.500000 - (0, 220) total_ips : 9200.75\n";
  auto runs = read_text(lines);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 220);
  EXPECT_EQ(runs[0].records[2].printed_rate, 9200.75);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  runs = read_text(lines + "DLL 2022-03-01 10:00:06.5 - () train_throughput : 9123.5 images/s\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0].records.empty()) << "samples of single iterations; the closing line has all";
  EXPECT_EQ(runs[0].summary->value, 9123.5);
  runs = read_text(lines + "DLL 2021-03-01 10:00:06.5 - () train_throughput : 1234.25 \nDONE!\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].summary->value, 1234.25) << "releases of 2020 and 2021 print no unit";
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

// TPUEstimator: the loss line, then the rates of the interval that it closes.
TEST(Tf, OnATpuTheRatesBehindALossLineAreItsOwn) {
  const auto runs = read_text(
      "INFO:tensorflow:loss = 0.3671875, step = 1000000\n"
      "INFO:tensorflow:loss = 0.31445312, step = 1000100 (45.773 sec)\n"
      "INFO:tensorflow:global_step/sec: 2.18469\n"
      "INFO:tensorflow:examples/sec: 279.641\n"
      "INFO:tensorflow:loss = 0.26171875, step = 1000200 (41.178 sec)\n"
      "INFO:tensorflow:global_step/sec: 2.42847\n"
      "INFO:tensorflow:examples/sec: 310.844\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 279.641);
  EXPECT_EQ(runs[0].records[2].printed_rate, 310.844);
}

TEST(Tf, RatesInFrontOfALossLineStayThoseOfTheLineBehindThem) {
  const auto runs = read_text(
      "INFO:tensorflow:loss = 11.0, step = 0\n"
      "INFO:tensorflow:global_step/sec: 2.00001\n"
      "INFO:tensorflow:examples/sec: 64.0003\n"
      "INFO:tensorflow:loss = 10.0, step = 100 (50.000 sec)\n"
      "INFO:tensorflow:global_step/sec: 2.00002\n"
      "INFO:tensorflow:examples/sec: 64.0006\n"
      "INFO:tensorflow:loss = 9.0, step = 200 (50.000 sec)\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 64.0003);
  EXPECT_EQ(runs[0].records[2].printed_rate, 64.0006);
}

// TPUEstimator: examples/sec is its batch, the global one, times global_step/sec.
TEST(Tf, TellsTheBatchOfATpuByItsTwoRates) {
  const auto lines = [](const char* steps, const char* examples) {
    return std::string("INFO:tensorflow:global_step/sec: ") + steps +
           "\nINFO:tensorflow:examples/sec: " + examples + "\n";
  };
  auto runs = read_text(lines("0.301718", "7.24124") + lines("0.302544", "7.26105"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 24);
  runs = read_text(lines("0.301718", "7.24124") + lines("0.302544", "9.68141"));
  EXPECT_FALSE(runs.at(0).facts.global_batch_size.known()) << "24, then 32";
  runs = read_text(lines("0.301718", "7.3"));
  EXPECT_FALSE(runs.at(0).facts.global_batch_size.known()) << "24.2";
  // Six digits leave several whole numbers: the lines together leave one.
  runs = read_text(lines("1.23456", "202270"));
  EXPECT_FALSE(runs.at(0).facts.global_batch_size.known());
}

TEST(Tf, ALoneLossLineOfATpuCountsNoStepsInFrontOfIt) {
  const auto runs = read_text(
      "INFO:tensorflow:loss = 3.18, step = 200 (191.310 sec)\n"
      "I0407 23:44:33.365083 140299591386880 basic_session_run_hooks.py:260] loss = 3.18, step = "
      "200 "
      "(191.310 sec)\n"
      "INFO:tensorflow:global_step/sec: 0.522713\n"
      "I0407 23:44:33.366309 140299591386880 tpu_estimator.py:2307] global_step/sec: 0.522713\n"
      "INFO:tensorflow:examples/sec: 2141.03\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 1u);
  EXPECT_TRUE(std::isnan(runs[0].records[0].seconds));
  EXPECT_EQ(runs[0].records[0].printed_rate, 2141.03);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
}

TEST(Tf, ReadsTheLoggerWithAFormatterOfItsOwn) {
  const std::string head = "2020-05-01 10:00:0", tail = " - tensorflow - INFO - ";
  const auto runs = read_text(head + "0,250" + tail + "loss = 2.5, step = 0\n" + head + "5,250" +
                              tail + "global_step/sec: 20\n" + head + "5,251" + tail +
                              "loss = 1.5, step = 100 (5.001 sec)\n" + head + "9,252" + tail +
                              "loss = 1.25, step = 180 (4.001 sec)\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 20);
  EXPECT_NEAR(runs[0].records[2].time_s - runs[0].records[1].time_s, 4.001, 1e-6);
  EXPECT_EQ(runs[0].records[2].loss, 1.25);
}

// The first releases put the rank in front, and have other words than the later ones.
TEST(Tf, ReadsThePerformanceOfNvidiasFirstReleases) {
  const std::string at = "I0312 23:10:45.137036 140287431493376 run_squad.py:1332] 0 ";
  const auto runs = read_text(
      at +
      "Total Training Time = 110.00 Training Time W/O start up overhead = 100.00 Sentences "
      "processed = 6400\n" +
      at + "Training Performance = 64.0000 sentences/sec\n" + at +
      "Total Inference Time = 12.00 Inference Time W/O start up overhead = 10.00 Sentences "
      "processed = 900\n" +
      at + "Inference Performance = 90.0000 sentences/sec\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  EXPECT_EQ(runs[0].summary->value, 64);
  EXPECT_EQ(runs[0].totals.training_s, 110);
  EXPECT_EQ(runs[0].totals.sequences, 6400);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[1].summary->value, 90);
}

// The number stands still at a skipped update, but also where several ranks print the step.
TEST(Tf, ReadsTheRateThatTheScriptOfSsdClosesWith) {
  const auto runs =
      read_text(twice("0216 04:50:42.985284", "loss = 3.7328167, step = 0") +
                twice("0216 04:51:41.454830", "global_step/sec: 1.71028") +
                twice("0216 04:51:41.456007", "loss = 2.8271012, step = 100 (58.471 sec)") +
                twice("0216 04:52:26.331918", "global_step/sec: 2.22831") +
                twice("0216 04:52:26.333273", "loss = 2.7136445, step = 200 (44.877 sec)") +
                twice("0216 04:54:42.794376", "Loss for final step: 2.3226864.") +
                "Single GPU single precision training performance: 71.30592 img/s\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].summary->value, 71.30592);
  EXPECT_EQ(runs[0].summary->unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_THAT(runs[0].notices, testing::Contains(NoticeText(testing::HasSubstr("last quarter"))));

  const auto none = read_text(twice("0216 04:50:42.985284", "loss = 3.7328167, step = 0") +
                              "Single GPU single precision training performance: nan img/s\n");
  ASSERT_EQ(none.size(), 1u);
  EXPECT_FALSE(none[0].summary) << "no line to take the mean of";
}

TEST(Tf, CountsTheIterationsOfOneRankOfNvidias) {
  std::string text;
  for (const char* step : {"10", "20", "30"}) {
    for (const char* rank : {"[1,0]<stdout>:", "[1,1]<stdout>:", "[1,2]<stdout>:"}) {
      text += rank + std::string("DLL 2021-05-01 10:00:") + step + ".123456 - Iteration: " + step +
              "  throughput_train : 410.5 seq/s mlm_loss : 9.1  total_loss : 9.7 \n";
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
  EXPECT_FALSE(runs[0].totals.skipped_steps);
}

// A plain Estimator of one worker without a strategy: the script's batch is that of a step. With a
// TPU's configuration, several workers or a strategy nothing follows.
TEST(Tf, AnEstimatorOfOneWorkerHasItsScriptsBatch) {
  const auto config = [](const std::string& what) {
    return "INFO:tensorflow:Using config: {'_num_ps_replicas': 0, '_session_config': gpu_options "
           "{\n}\n, '_eval_distribute': None, " +
           what + ", '_task_id': 0}\n";
  };
  const std::string steps =
      "INFO:tensorflow:***** Running training *****\nINFO:tensorflow:  Num examples = 7000\n"
      "INFO:tensorflow:  Batch size = 64\n"
      "INFO:tensorflow:loss = 1.02, step = 0\nINFO:tensorflow:global_step/sec: 0.5\n"
      "INFO:tensorflow:loss = 0.52, step = 100 (200.000 sec)\n"
      "INFO:tensorflow:global_step/sec: 0.5\n"
      "INFO:tensorflow:loss = 0.51, step = 200 (200.000 sec)\n"
      "INFO:tensorflow:Loss for final step: 0.5.\n";
  const std::string one = "'_train_distribute': None, '_num_worker_replicas': 1";
  const auto runs = read_text(config(one) + steps);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 64);
  EXPECT_EQ(runs[0].facts.world(), 1);
  EXPECT_THAT(runs[0].notices, testing::Contains(NoticeText(testing::HasSubstr("Horovod"))));
  for (const std::string& other :
       {std::string("'_train_distribute': None, '_num_worker_replicas': 2"),
        std::string("'_train_distribute': <MirroredStrategy>, '_num_worker_replicas': 1"),
        one + ", '_tpu_config': TPUConfig(num_shards=8)",
        std::string("'_train_distribute': None")}) {
    const auto none = read_text(config(other) + steps);
    ASSERT_EQ(none.size(), 1u);
    EXPECT_FALSE(none[0].facts.sequences_per_optimizer_step().has_value()) << other;
  }
}

}  // namespace
}  // namespace bertbench
