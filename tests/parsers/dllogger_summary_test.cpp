#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Dllogger, ClosingLinesAloneOfTwoRunsAreTwoRuns) {
  const std::string train = "DLL 2023-11-04 03:36:56.678414 -  e2e_train_time : ";
  const auto runs = read_text(
      train +
      "342.62 s training_sequences_per_second : 517.415 sequences/s final_loss : 0.088 None\n" +
      train +
      "342.62 s training_sequences_per_second : 517.415 sequences/s final_loss : 0.088 None\n" +
      train +
      "737.38 s training_sequences_per_second : 240.419 sequences/s final_loss : 0.087 None\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_NEAR(runs[0].summary->value, 517.415, 1e-9);
  EXPECT_NEAR(runs[1].summary->value, 240.419, 1e-9);
}

// NVIDIA's BERT: the closing rate is of all micro-steps, since 2022 of all but the first four, and
// nothing else tells the world size.
TEST(Dllogger, TheClosingRateAndItsTimeTellTheWorldSize) {
  const auto run_of = [](const std::string& rate, const std::string& accumulation = "2") {
    std::string log =
        "DLL 2026-11-23 09:31:29.701898 - PARAMETER Config : [\"Namespace("
        "gradient_accumulation_steps=" +
        accumulation +
        ", fp16=False)\"] \nDLL 2026-11-23 09:31:29.7 - PARAMETER "
        "batch_size_per_gpu : 8 \n";
    for (int step = 1; step <= 9; ++step) {
      log += "DLL 2026-11-23 09:31:3" + std::to_string(step) +
             ".000000 - Training Epoch: 0 Training Iteration: " + std::to_string(step) +
             "  average_loss : 7.5  learning_rate : 0.001  skipped_steps : 0 \n";
    }
    log +=
        "DLL 2026-11-23 09:31:40.000000 - Training Epoch: 0 Training Iteration: 10  final_loss : "
        "7.5 None\nDLL 2026-11-23 09:31:41.000000 -  e2e_train_time : 12.0 s "
        "training_sequences_per_second : " +
        rate + " sequences/s final_loss : 7.5 None raw_train_time : 10.0 s\n";
    return read_text(log).at(0);
  };
  EXPECT_EQ(run_of("64").facts.world_size.value, 4) << "4 x 8 sequences x 20 micro-steps in 10 s";
  const RunLog warm = run_of("51.2");
  EXPECT_EQ(warm.facts.world_size.value, 4) << "4 x 8 x 16";
  EXPECT_EQ(std::ranges::count(texts_of(warm.notices),
                               "the closing rate is of all micro-steps but the first 4"),
            1);
  EXPECT_FALSE(run_of("60.1").facts.world_size.known()) << "no whole number of GPUs";
}

TEST(Dllogger, ReadsTheBenchmarkOfNnUnet) {
  const auto runs = read_text(
      "DLL 2022-05-12 14:09:13.825000 - () throughput_train : 37.348  latency_train_mean : 53.551  "
      "latency_train_90 : 53.683  latency_train_95 : 53.727  latency_train_99 : 53.864\n"
      "DLL 2022-05-12 14:19:13.825000 - () throughput_predict : 91.2  latency_predict_mean : "
      "21.9\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  EXPECT_NEAR(runs[0].summary->value, 37.348, 1e-9);
  EXPECT_EQ(runs[1].kind, WorkKind::inference);
}

TEST(Dllogger, TakesRanksAndBatchFromTheArguments) {
  const auto net = read_text(
      "DLL 2024-05-02 04:17:57.495855 - PARAMETER data : /data/imagenet  arch : resnet50  "
      "batch_size : 1280  optimizer_batch_size : -1  lr : 0.1  local_rank : 0  world_size : 2 \n"
      "DLL 2024-05-02 04:18:06.572030 - Epoch: 0 Iteration: 4  train.loss : 6.72847 None "
      "train.compute_ips : 5555.80 images/s train.total_ips : 5554.28 images/s train.lr : 0.1 \n");
  ASSERT_EQ(net.size(), 1u);
  EXPECT_EQ(net[0].facts.world(), 2);
  EXPECT_EQ(net[0].facts.micro_batch_size.value, 1280);

  const auto speech = read_text(
      "DLL 2024-05-02 04:33:01.699544 - PARAMETER model_name : Tacotron2 \n"
      "DLL 2024-05-02 04:33:01.699721 - PARAMETER batch_size : 256 \n"
      "DLL 2024-05-02 04:33:01.699847 - PARAMETER world_size : 2 \n"
      "DLL 2024-05-02 04:33:23.910423 - (1, 0) glob_iter/iters_per_epoch : 1/1 \n"
      "DLL 2024-05-02 04:33:24.496966 - (1, 0) train_loss : 46.7884521484375 \n"
      "DLL 2024-05-02 04:33:25.601902 - (1, 0) train_iter_time : 1.6914036100060912 \n");
  ASSERT_EQ(speech.size(), 1u);
  EXPECT_EQ(speech[0].facts.world(), 2);
  EXPECT_EQ(speech[0].facts.micro_batch_size.value, 256);
  EXPECT_EQ(speech[0].facts.gradient_accumulation_steps.value, 1);

  const auto ncf = read_text(
      "DLL 2024-05-02 04:38:41.091090 - PARAMETER epochs : 2  batch_size : 20000000  factors : 64  "
      "world_size : 2  distributed : True  local_rank : 0 \n"
      "DLL 2024-05-02 04:38:48.023769 - (0,) train_throughput : 1.059e+08 samples/s hr@10 : 0.8\n");
  ASSERT_EQ(ncf.size(), 1u);
  EXPECT_EQ(ncf[0].facts.world(), 2);
  EXPECT_FALSE(ncf[0].facts.micro_batch_size.known()) << "that of all GPUs";

  const auto failed = read_text(
      "DLL 2022-11-18 00:21:40.106649 - PARAMETER epochs : 2  batch_size : 64000000  "
      "valid_batch_size : 1048576  factors : 64  negative_samples : 4  grads_accumulated : 1  amp "
      ": "
      "True  log_path : log.json  world_size : 4  distributed : True  local_rank : 0 \n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 15.26 GiB\n");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].facts.world(), 4);
  EXPECT_EQ(failed[0].facts.sequences_per_optimizer_step(), 64'000'000);
  EXPECT_EQ(failed[0].facts.precision.value, "fp16");
}

// An update of ConvNets may take several iterations; its images/s are told of each line.
TEST(Dllogger, AnUpdateOfConvNetsMayTakeSeveralIterations) {
  const auto text = [](const std::string& update) {
    return read_text(
        "DLL 2024-05-02 04:17:57.495855 - PARAMETER data : /data/imagenet  arch : resnet50  "
        "batch_size : 64  optimizer_batch_size : " +
        update +
        "  lr : 0.1  world_size : 4 \n"
        "DLL 2024-05-02 04:18:06.572030 - Epoch: 0 Iteration: 100  train.loss : 6.7 None "
        "train.compute_ips : 5555.8 images/s train.total_ips : 5554.2 images/s train.lr : 0.1 \n");
  };
  const auto runs = text("1024");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 64);
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 4);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
  EXPECT_EQ(runs[0].records.at(0).printed_rate, 5554.2);
  for (const char* odd : {"-1", "0", "256", "300", "nan"}) {
    EXPECT_FALSE(text(odd).at(0).facts.gradient_accumulation_steps.known()) << odd;
  }
}

TEST(DlloggerJson, TakesTheArgumentsOfConvNets) {
  const auto text = [](const std::string& arguments) {
    return read_text(
        R"(DLLL {"timestamp": "1609395313.0", "type": "LOG", "step": "PARAMETER", "data": {)" +
        arguments +
        R"(}}
DLLL {"timestamp": "1609395368.5", "type": "LOG", "step": [0, 50], "data": {"train.loss": 2.8, "train.total_ips": 3100.5}}
)");
  };
  const auto runs = text(
      R"("arch": "resnet50", "batch_size": 96, "optimizer_batch_size": 768, "amp": true, "world_size": 4)");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.world(), 4);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 768);
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 2);
  EXPECT_EQ(runs[0].facts.precision.value, "fp16");
  for (const char* odd :
       {R"("arch": "r", "batch_size": 96, "optimizer_batch_size": -1)",
        R"("arch": "r", "batch_size": 1e300, "optimizer_batch_size": -1, "world_size": 2)",
        R"("arch": "r", "batch_size": "nan", "optimizer_batch_size": 8, "world_size": null)"}) {
    EXPECT_FALSE(text(odd).at(0).facts.micro_batch_size.known()) << odd;
  }
}

TEST(Dllogger, ReadsTheClosingRateOfMaskRcnn) {
  const auto runs = read_text(
      "DLL 2021-12-02 06:02:19.910228 - PARAMETER gpu_count : 4 \n"
      "DLL 2021-12-02 06:02:19.910629 - PARAMETER config : AMP_VERBOSE: False\n"
      "SOLVER:\n  IMS_PER_BATCH: 36\n  MAX_ITER: 400\nTEST:\n  IMS_PER_BATCH: 1 \n"
      "DLL 2021-12-02 06:09:43.165578 - Training Iteration: 380  eta : 0:00:22  learning_rate : "
      "0.0  loss : 6.5321 (6.5429)  time : 1.0180 (1.1024)  data : 0.0777 (0.0862) \n"
      "DLL 2021-12-02 06:10:03.468074 - Training Iteration: 400  eta : 0:00:00  learning_rate : "
      "0.0  loss : 6.5222 (6.5421)  time : 1.0122 (1.0980)  data : 0.0817 (0.0859) \n"
      "DLL 2021-12-02 06:10:04.191092 -  e2e_train_time : 439.9229335784912  train_perf_fps : "
      "130.93202377848525 \n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].facts.world_size.value, 4);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 36);
  EXPECT_NEAR(runs[0].summary->value, 130.93202377848525, 1e-9);
  EXPECT_EQ(runs[0].summary->unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Dllogger, AnEpochOfNcfThatTellsOnlyItsTimeIsAnIteration) {
  const auto runs = read_text(
      "DLL 2020-07-03 10:58:43.371321 - (26,) train_time : 9.889576196670532  eval_time : 0.67  "
      "hr@10 : 0.9526329850606168  ndcg : 0.7448715819572108\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(runs[0].records.at(0).seconds, 9.889576196670532, 1e-12);
  EXPECT_EQ(runs[0].records[0].iterations, 1);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("an iteration is an epoch"));
}

TEST(Dllogger, ReadsTheColumnsOfHifiGanByTheDiscriminatorsLoss) {
  const auto runs = read_text(
      "DLL 2026-03-01 10:00:05.828323 - epoch    1 | iter   1/24 | d loss  7.966 | g loss 95.839 | "
      "mel loss 87.291 |  3092.31 frames/s | took 13.25 s | g lr 3.00e-04 | d lr 3.00e-04\n"
      "DLL 2026-03-01 10:00:07.078323 - epoch    1 | iter   2/24 | d loss  7.957 | g loss 96.151 | "
      "mel loss 87.627 | 35109.29 frames/s | took 1.25 s | g lr 3.00e-04 | d lr 3.00e-04\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].loss, 7.957);
  EXPECT_NEAR(runs[0].records[1].seconds, 1.25, 1e-6);
  EXPECT_TRUE(std::isnan(runs[0].records[1].printed_rate)) << "frames are no samples";
}

TEST(Dllogger, SsdsTotalTimeClosesTheRun) {
  const auto runs = read_text(
      "DLL 2026-03-01 08:50:05.114827 - PARAMETER epochs : 65  batch size : 32  AMP : False\n"
      "DLL 2026-03-01 21:16:48.691423 - (64,) mAP : 0.24894283339490403 \n"
      "DLL 2026-03-01 21:16:48.691518 - () total time : 44247.04624032974 \n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[0].totals.training_s, 44247.04624032974);
  EXPECT_FALSE(runs[0].summary);
}

}  // namespace
}  // namespace bertbench
