#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string dll(int second, const std::string& said) {
  return "DLL 2023-07-28 15:18:" + std::string(second < 10 ? "0" : "") + std::to_string(second) +
         ".250000 - " + said + "\n";
}
std::string step(int second, int iteration, int skipped, const std::string& loss = "9.5") {
  return dll(second, "Training Epoch: 0 Training Iteration: " + std::to_string(iteration) +
                         "  average_loss : " + loss + "  learning_rate : 0.001  skipped_steps : " +
                         std::to_string(skipped) + " ");
}

TEST(Dllogger, CountsSkippedUpdatesAsStepsOfFullLength) {
  const auto runs =
      read_text(dll(0, "PARAMETER batch_size_per_gpu : 96 ") + step(10, 1, 0) +
                step(12, 1, 1, "nan") + step(14, 1, 2) + step(16, 2, 2) +
                dll(18, "Training Epoch: 0 Training Iteration: 3  final_loss : 8.5 None") +
                dll(20,
                    " e2e_train_time : 20.5 s training_sequences_per_second : 5055.566 sequences/s "
                    "final_loss : 8.5 None raw_train_time : 10.25 s"));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "dllogger");
  ASSERT_EQ(run.records.size(), 5u);
  EXPECT_EQ(run.records.back().step, 5);
  EXPECT_EQ(run.totals.skipped_steps, 2);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(run.records[i].seconds, 2);
    EXPECT_EQ(run.records[i].iterations, 1);
  }
  EXPECT_TRUE(std::isnan(run.records[0].seconds)) << "nothing tells when the first step began";
  EXPECT_EQ(run.facts.micro_batch_size.value, 96);
  EXPECT_EQ(run.summary->value, 5055.566);
  EXPECT_EQ(run.totals.training_s, 10.25);
  EXPECT_EQ(run.totals.wall_s, 20.5);
  EXPECT_EQ(run.outcome.status, Status::completed) << "an overflow's loss is no NaN of the run";
  const auto taken_back = read_text(step(1, 1, 0) + step(2, 2, 0) + step(3, 1, 2) + step(4, 2, 2));
  EXPECT_EQ(taken_back.size(), 1u) << "the second update, in place of which the third was made";
}

TEST(Dllogger, ReadsLinesOfOlderRevisionsWithoutASkipCountOrUnits) {
  const auto runs = read_text(
      dll(1, "(0, 470) step_loss : 3.5 ") + dll(3, "(0, 470) step_loss : 3.4 ") +
      dll(5, "(0, 471) step_loss : 3.3 ") + dll(6, "(0, 471, 3) loss : 3.3 ") +
      dll(9, " e2e_train_time : 9.5 training_sequences_per_second : 102.1  final_loss : 6.0 "));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].totals.skipped_steps, 1);
  EXPECT_EQ(runs[0].summary->value, 102.1);
}

TEST(Dllogger, SpreadsTheTimeOverTheStepsOfALogInterval) {
  const auto runs = read_text(dll(0, "Training Epoch: 0 Training Iteration: 1  step_loss : 6.1 ") +
                              dll(10, "Training Epoch: 0 Training Iteration: 51  step_loss : 6 "));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].iterations, 50);
  EXPECT_EQ(runs[0].records[1].seconds, 10);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Dllogger, TellsANanLossAndASecondRun) {
  const auto runs = read_text(step(1, 1, 0) + step(2, 2, 0, "nan") +
                              dll(3, " e2e_train_time : 3 s training_sequences_per_second : 7 s ") +
                              step(10, 1, 0) + step(12, 2, 0));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].first_nan_step, 2);
  EXPECT_EQ(runs[1].records.size(), 2u);
  EXPECT_FALSE(runs[1].summary);
}

TEST(Dllogger, LeavesTensorFlowsLinesToTheFormatTf) {
  ReadOptions options;
  options.format = "dllogger";
  EXPECT_TRUE(
      read_text(dll(1, "Iteration: 1  throughput_train : 278.6 sequences/s mlm_loss : 10"), options)
          .empty());
  EXPECT_TRUE(read_text(dll(1, "() train_throughput : 9421.3 images/s"), options).empty());
}

std::string json(const std::string& stamp, const std::string& step, const std::string& data) {
  return "DLLL {\"timestamp\": \"" + stamp + "\", \"datetime\": \"\", \"elapsedtime\": \"1\", " +
         "\"type\": \"LOG\", \"step\": " + step + ", \"data\": {" + data + "}}\n";
}

TEST(DlloggerJson, ReadsStepsClosingLineAndTheLastStepThatCountsSkippedOnes) {
  const auto runs =
      read_text(json("100.5", "\"PARAMETER\"", "\"batch_size_per_gpu\": 10") +
                json("110.5", "[0, 0]", "\"average_loss\": 3.6, \"step_loss\": 3.7") +
                json("112.5", "[0, 0]", "\"average_loss\": 3.5, \"step_loss\": NaN") +
                json("114.5", "[0, 1]", "\"average_loss\": 3.5, \"step_loss\": 3.5") +
                json("116.5", "[0, 4.0]", "\"final_loss\": 2.6") +
                json("118.5", "[]",
                     "\"e2e_train_time\": 18.5, \"training_sequences_per_second\": 128.27, "
                     "\"raw_train_time\": 8.5"));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "dllogger-json");
  ASSERT_EQ(run.records.size(), 4u);
  EXPECT_EQ(run.records.back().step, 3);
  EXPECT_EQ(run.records.back().seconds, 2);
  EXPECT_EQ(run.totals.skipped_steps, 2);
  EXPECT_EQ(run.facts.micro_batch_size.value, 10);
  EXPECT_EQ(run.summary->value, 128.27);
  EXPECT_EQ(run.outcome.status, Status::completed);
}

TEST(DlloggerJson, TakesABareNanOfPythonForALossThatIsNotFinite) {
  const auto runs = read_text(json("1", "[0, 1]", "\"step_loss\": 3.7") +
                              json("2", "[0, 2]", "\"step_loss\": NaN"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].first_nan_step, 2);
}

TEST(DlloggerJson, IsNotMisledByOtherJson) {
  EXPECT_TRUE(read_text("DLLL {\"type\": \"LOG\"}\nDLLL {cut\nDLLL []\n").empty());
}

// A bar beside DLLogger lines: the finer clock gives the runs, the other is named.
TEST(FormatChoice, PrefersAFineClockOverABarsWholeSeconds) {
  std::string log;
  for (int i = 0; i < 12; ++i) {
    log += step(10 + i, i + 1, 0);
    log += "Iteration:  10%|#  | " + std::to_string(i + 1) + "/120 [00:0" +
           std::to_string(i < 10 ? i : 9) + "<00:10, 1.00it/s]\n";
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "dllogger");
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("tqdm"));
}

TEST(Dllogger, KeepsThePredictionOfSquadApart) {
  const auto runs = read_text(
      "DLL 2021-06-26 17:05:10.100000 - Training Epoch: 0 Training Iteration: 1  step_loss : 5.9\n"
      "DLL 2021-06-26 17:05:11.100000 - Training Epoch: 0 Training Iteration: 2  step_loss : 5.8\n"
      "DLL 2021-06-26 17:07:10.100000 -  e2e_train_time : 120.0 s training_sequences_per_second : "
      "50.0 sequences/s final_loss : 1.0 None\n"
      "DLL 2021-06-26 17:09:10.100000 -  e2e_inference_time : 101.2 s "
      "inference_sequences_per_second : 107.05 sequences/s\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].summary->value, 50);
  EXPECT_EQ(runs[1].kind, WorkKind::inference);
  EXPECT_EQ(runs[1].summary->value, 107.05);
}

// ResNet-50: the iterations of each epoch begin again; that is no second run.
TEST(Dllogger, FollowsIterationsThatAreCountedByEpoch) {
  const auto at = [](const std::string& time, const std::string& place) {
    return "DLL 2020-03-05 16:40:" + time + ".000000 - " + place +
           "  train.loss : 6.9 None train.total_ips : 800.00 img/s\n";
  };
  const auto runs =
      read_text(at("10", "Epoch: 0 Iteration: 20") + at("16", "Epoch: 0 Iteration: 40") +
                at("30", "Epoch: 1 Iteration: 20") + at("36", "Epoch: 1 Iteration: 40") +
                at("50", "Epoch: 2 Iteration: 20") + at("56", "Epoch: 2 Iteration: 40"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 6u);
  EXPECT_EQ(runs[0].records[5].step, 120);
  EXPECT_EQ(runs[0].records[2].iterations, 20);
  EXPECT_TRUE(std::isnan(runs[0].records[2].seconds)) << "validation is in between";
  EXPECT_EQ(runs[0].records[3].seconds, 6);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("by epoch"));
  // Launched again: the epoch does not grow.
  EXPECT_EQ(read_text(at("10", "Epoch: 0 Iteration: 20") + at("16", "Epoch: 0 Iteration: 40") +
                      at("30", "Epoch: 0 Iteration: 20"))
                .size(),
            2u);
  // A run that goes on from a checkpoint of a later epoch is another one.
  EXPECT_EQ(read_text(at("10", "Training Epoch: 0 Training Iteration: 480") +
                      at("16", "Training Epoch: 0 Training Iteration: 500") +
                      at("30", "Training Epoch: 1 Training Iteration: 420"))
                .size(),
            2u);
}

TEST(DlloggerJson, FollowsIterationsThatAreCountedByEpoch) {
  const auto at = [](const std::string& time, const std::string& place) {
    return R"(DLLL {"timestamp": "15834264)" + time + R"(.5", "type": "LOG", "step": [)" + place +
           R"(], "data": {"train.loss": 6.9, "train.total_ips": 800.0}})"
           "\n";
  };
  const auto runs = read_text(at("10", "0, 20") + at("16", "0, 40") + at("30", "1, 20") +
                              at("36", "1, 40") + at("50", "2, 20"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 100);
  EXPECT_EQ(runs[0].records[3].seconds, 6);
  EXPECT_EQ(read_text(at("10", "0, 20") + at("16", "0, 40") + at("30", "0, 20")).size(), 2u);
}

TEST(DlloggerJson, LeavesTheMeansOfAnEpochOut) {
  const auto at = [](const std::string& time, const std::string& place, const char* more = "") {
    return R"(DLLL {"timestamp": "15834264)" + time + R"(.5", "type": "LOG", "step": [)" + place +
           R"(], "data": {"train_loss": 6.9)" + more + "}}\n";
  };
  const auto runs = read_text(at("10", "7, 0") + at("11", "7, 1") + at("12", "7, 2") +
                              at("13", "7") + at("16", "8, 0") + at("17", "8, 1") +
                              at("20", "", R"(, "train.total_ips": 800.0)"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 5u);
  EXPECT_EQ(runs[0].records.back().seconds, 1);
  EXPECT_EQ(runs[0].summary->value, 800);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  // GNMT: every line is of an epoch
  EXPECT_EQ(read_text(at("10", "0", R"(, "val_loss": 4.0)") + at("90", "1", R"(, "val_loss": 3.0)"))
                .at(0)
                .outcome.status,
            Status::no_data);
}

TEST(Dllogger, TakesTheTimeOfAnIterationOfTacotronAndWaveGlow) {
  const std::string at = "DLL 2025-02-19 14:5";
  const auto runs =
      read_text(at + "5:57.290778 - (0, 2) glob_iter/iters_per_epoch : 2/3 \n" + at +
                "5:57.431992 - (0, 2) train_loss : 0.0021 \n" + at +
                "5:58.510404 - (0, 2) train_items_per_sec : 4888228.237848428 items/s\n" + at +
                "5:58.510458 - (0, 2) train_iter_time : 1.25 \n" + at +
                "5:59.019020 - (0,) train_loss : 0.0023 \n" + at +
                "5:59.019035 - (0,) train_epoch_time : 28.686449735076167 \n" + at +
                "6:01.750047 - (0, 3, 0) val_items_per_sec : 311497.211229012 items/s\n" + at +
                "6:06.817917 - (1, 0) glob_iter/iters_per_epoch : 3/3 \n" + at +
                "6:07.260853 - (1, 0) train_loss : 0.0022 \n" + at +
                "6:08.343309 - (1, 0) train_items_per_sec : 4027720.5242770086 items/s\n" + at +
                "6:08.343378 - (1, 0) train_iter_time : 1.5 \n" + at +
                "6:11.890064 - () run_time : 83.8 s\n" + at +
                "6:11.890078 - () train_items_per_sec : 4457824.375 items/s\n" + at +
                "6:11.890085 - () val_items_per_sec : 311497.211229012 items/s\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].step, 3);
  EXPECT_EQ(runs[0].records[1].step, 4);
  EXPECT_EQ(runs[0].records[1].seconds, 1.5) << "not the validation in front";
  EXPECT_EQ(runs[0].records[1].loss, 0.0022);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown) << "items are no sequences";
  EXPECT_FALSE(runs[0].summary);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), ::testing::HasSubstr("4457824.375 items/s"));
}

TEST(Dllogger, ReadsTheEpochsOfNcf) {
  const auto runs = read_text(
      "DLL 2025-02-19 15:36:13.599379 - PARAMETER epochs : 2  batch_size : 1048576  amp : False \n"
      "DLL 2025-02-19 15:36:38.754388 - (0,) train_throughput : 1.325e+08 samples/s hr@10 : 0.75 "
      "None train_epoch_time : 0.749 s eval_throughput : 6.189e+08 samples/s train_loss : 0.66865 "
      "None\n"
      "DLL 2025-02-19 15:36:39.754388 - (1,) train_throughput : 2.5e+08 samples/s hr@10 : 0.76 "
      "None train_epoch_time : 0.4 s eval_throughput : 6.1e+08 samples/s train_loss : 0.6 None\n"
      "DLL 2025-02-19 15:36:39.971955 - () best_train_throughput : 250000000.0 samples/s "
      "mean_train_throughput : 191250000.0 samples/s best_accuracy : 0.76 None\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].printed_rate, 1.325e8);
  EXPECT_EQ(runs[0].records[1].step, 2);
  EXPECT_EQ(runs[0].records[1].loss, 0.6);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].summary->value, 2.5e8);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), ::testing::HasSubstr("its best epoch"));
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

// ConvNets without --verbose: of a run whose 80 steps of 8 images took 2.0136 and 2.0131 s.
TEST(Dllogger, ReadsEpochsWhereNoIterationIsShown) {
  const auto epoch = [](const char* time, int n, const char* ips) {
    return "DLL 2026-11-21 21:17:" + std::string(time) + " - Epoch: " + std::to_string(n) +
           " train.loss : 6.9  train.compute_ips : 318.99 images/s train.total_ips : " + ips +
           " images/s\nDLL 2026-11-21 21:17:" + time + " - Epoch: " + std::to_string(n) +
           " val.top1 : 1.2  val.compute_ips : 999.00 images/s\n";
  };
  const std::string iteration =
      "DLL 2026-11-21 21:17:36.000000 - Epoch: 0 Iteration: 20  train.loss : 6.9 None "
      "train.total_ips : 300.00 images/s\n";
  const std::string epochs = epoch("37.341471", 0, "317.40") + epoch("39.863567", 1, "318.46");
  const auto runs = read_text(epochs);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
  EXPECT_EQ(runs[0].records[0].printed_rate, 317.4);
  EXPECT_EQ(runs[0].records[1].printed_rate, 318.46);
  const auto iterations = read_text(iteration + epochs);
  ASSERT_EQ(iterations.size(), 1u);
  EXPECT_EQ(iterations[0].records.size(), 1u) << "means of iterations that are shown";
}

TEST(Dllogger, TakesTheArgumentsOfEachRunOfMxnet) {
  const std::string at = "DLL 2021-05-28 10:02:";
  std::string text;
  for (const std::string said : {"gpus : [0]  kv_store : horovod  batch_size : 96 ",
                                 "gpus : [0, 1]  kv_store : horovod  batch_size : 192 "}) {
    text += at + "08.782766 - PARAMETER arch : resnetv15  " + said + "\n";
    text += at + "40.4 - Epoch: 0 Iteration: 19  train.loss : 6.9  train.ips : 800.0\n";
    text += at + "44.4 - Epoch: 0 Iteration: 39  train.loss : 6.8  train.ips : 960.0\n";
    text += at + "48.4 - Summary: train.loss : 6.8  train.ips : 870.0\n";
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].facts.gpus_per_node.value, 1);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 96);
  EXPECT_EQ(runs[1].facts.gpus_per_node.value, 2);
  EXPECT_EQ(runs[1].facts.sequences_per_optimizer_step(), 192);
}

// FastPitch: of a run of 27 ms an iteration. "step": [1] holds the means of an epoch.
TEST(DlloggerJson, ReadsTheThreeNumbersOfFastPitch) {
  const auto at = [](const char* stamp, const char* step, const char* data) {
    return R"(DLLL {"timestamp": "17952958)" + std::string(stamp) +
           R"(", "datetime": "2026-11-21 21:17:47.767639", "elapsedtime": "0.03", "type": "LOG", )"
           R"("step": [)" +
           step + R"(], "data": {)" + data + "}}\n";
  };
  constexpr const char* kData =
      R"("train_loss": 2.0, "train_frames/s": 29736.0, "train_took": 0.027)";
  constexpr const char* kEpoch =
      R"("train_loss": 2.0, "train_frames/s": 29736.0, "train_took": 0.081)";
  const auto runs = read_text(at("67.000", "1, 1, 3", kData) + at("67.027", "1, 2, 3", kData) +
                              at("67.054", "1, 3, 3", kData) + at("67.055", "1", kEpoch) +
                              at("67.555", "1", R"("val_loss": 2.0, "val_took": 0.5)") +
                              at("67.582", "2, 1, 3", kData) + at("67.609", "2, 2, 3", kData) +
                              at("67.636", "2, 3, 3", kData) + at("67.637", "2", kEpoch));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 6u) << "no epoch is an iteration";
  EXPECT_EQ(runs[0].records[5].step, 6);
  EXPECT_NEAR(runs[0].records[2].seconds, 0.027, 1e-6);
  EXPECT_TRUE(std::isnan(runs[0].records[3].seconds)) << "validation is in between";
  EXPECT_NEAR(runs[0].records[4].seconds, 0.027, 1e-6);
}

TEST(DlloggerJson, ReadsTheClosingLineOfNcf) {
  const auto runs = read_text(
      R"(DLLL {"timestamp": "1795295853.2", "type": "LOG", "step": [0], "data": {"train_throughput": 321.5, "hr@10": 0.9, "train_epoch_time": 1.49, "eval_throughput": 9997.7}})"
      "\n"
      R"(DLLL {"timestamp": "1795295855.2", "type": "LOG", "step": [1], "data": {"train_throughput": 315.5, "hr@10": 0.9, "train_epoch_time": 1.52, "eval_throughput": 9997.5}})"
      "\n"
      R"(DLLL {"timestamp": "1795295855.3", "type": "LOG", "step": [], "data": {"best_train_throughput": 321.5, "mean_train_throughput": 318.5, "best_accuracy": 0.95}})"
      "\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].summary->value, 318.5);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

// --log_freq 10: the run did 30 steps, or those behind a checkpoint.
TEST(Dllogger, TheFirstLineStandsForAsManyStepsAsTheOthers) {
  const auto run = [](int first) {
    std::string text;
    for (int i = 0; i < 3; ++i) {
      text += "DLL 2026-11-21 21:17:0" + std::to_string(i + 1) +
              ".000000 - Training Epoch: 0 Training Iteration: " + std::to_string(first + 10 * i) +
              "  average_loss : 1.0  step_loss : 1.0  learning_rate : 0.001 \n";
    }
    return read_text(text).at(0).totals;
  };
  EXPECT_EQ(run(10).first_optimizer_step, 0);
  EXPECT_EQ(run(10).last_optimizer_step, 30);
  EXPECT_EQ(run(1010).first_optimizer_step, 1000);
  EXPECT_FALSE(run(1).first_optimizer_step) << "lines at 1, 11, 21: the first is of one step";
}

TEST(Dllogger, ReadsTheColumnsOfFastPitch) {
  const auto at = [](const char* time, const char* said) {
    return "DLL 2026-11-21 21:17:" + std::string(time) + " - " + said + "\n";
  };
  const auto runs = read_text(
      at("47.000000",
         "epoch    1 | iter   1/3 | loss 2.50 | mel loss 1.00 | 29736.53 frames/s | "
         "took 0.03 s | lrate 1.00e-01") +
      at("47.027000",
         "epoch    1 | iter   2/3 | loss 2.25 | mel loss 1.00 | 29736.53 frames/s | "
         "took 0.03 s | lrate 1.00e-01") +
      at("47.054000",
         "epoch    1 | iter   3/3 | loss 2.00 | mel loss 1.00 | 29736.53 frames/s | "
         "took 0.03 s | lrate 1.00e-01") +
      at("47.055000", "epoch    1 | avg train loss 2.25 | 29736.53 frames/s | took 0.08 s") +
      at("47.555000", "epoch    1 | val loss 2.00 | took 0.50 s") +
      at("47.582000",
         "epoch    2 | iter   1/3 | loss 1.75 | mel loss 1.00 | 29736.53 frames/s | "
         "took 0.03 s | lrate 1.00e-01") +
      at("47.609000",
         "epoch    2 | iter   2/3 | loss 1.50 | mel loss 1.00 | 29736.53 frames/s | "
         "took 0.03 s | lrate 1.00e-01"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 5u);
  EXPECT_EQ(runs[0].records[4].step, 5);
  EXPECT_EQ(runs[0].records[0].loss, 2.5) << "not the one of the mel";
  EXPECT_NEAR(runs[0].records[1].seconds, 0.027, 1e-6);
  EXPECT_TRUE(std::isnan(runs[0].records[3].seconds)) << "validation is in between";
}

}  // namespace
}  // namespace bertbench
