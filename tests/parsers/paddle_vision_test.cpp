#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string clas(int epoch, int iteration, const std::string& cost, const std::string& ips,
                 int second, const std::string& blank = "") {
  return "[2024/07/31 20:24:" + std::to_string(second) + "] ppcls INFO: [Train][Epoch " +
         std::to_string(epoch) + "/3][Iter: " + std::to_string(iteration) + "/40]" + blank +
         "lr(PiecewiseDecay): 0.00100000, top1: 0.97159, CELoss: 0.05098, loss: 0.06098, "
         "batch_cost: " +
         cost + "s, reader_cost: 0.12837, ips: " + ips + " samples/s, eta: 5:08:34\n";
}

TEST(PaddleVision, KeepsTheRateOfOneCardOfPaddleClasAsStepsOfTheJob) {
  const auto runs = read_text(
      "LAUNCH INFO 2023-07-28 07:14:19,033 devices: 0,1,2,3\n"
      "LAUNCH INFO 2023-07-28 07:14:19,033 nnodes: 2\n" +
      clas(1, 20, "0.50000", "32.00000", 10) + clas(1, 30, "0.50000", "32.00000", 15) +
      "[2024/07/31 20:24:18] ppcls INFO: [Eval][Epoch 1][Iter: 0/40]CELoss: 9.0, loss: "
      "9.0, batch_cost: 0.1s, reader_cost: 0.1, ips: 640.0 images/sec\n" +
      clas(2, 0, "0.50000", "32.00000", 20) +
      "[2024/07/31 20:24:32] ppcls INFO: [Train][Epoch 3/3][Avg]CELoss: 1.0, loss: 1.0\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.records[1].iterations, 10);
  EXPECT_EQ(run.records[2].step, 41) << "an epoch has 40 batches";
  EXPECT_EQ(run.records[1].printed_rate, 2);
  EXPECT_EQ(run.records[1].time_s, 5);
  EXPECT_EQ(run.records[1].loss, 0.06098);
  EXPECT_TRUE(std::isnan(run.records[1].seconds)) << "the mean of the epoch so far";
  EXPECT_EQ(run.facts.sequences_per_micro_step(), 16 * 8);
  EXPECT_EQ(run.facts.framework.value, "paddle");
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_THAT(text_of(run.notices.at(1)), testing::HasSubstr("sixth batch"));
}

TEST(PaddleVision, TakesPlscsRateForAllCards) {
  const auto runs = read_text(clas(1, 20, "0.50000", "2048.00000", 10, " ") +
                              clas(1, 30, "0.50000", "2048.00000", 15, " "));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].records[1].printed_rate, 2048);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 1024);
}

// The global batch stands in the configuration, the batch of a card in the rate.
TEST(PaddleVision, ReadsTheStaticGraphOf2021) {
  const auto step = [](int n) {
    return "2021-05-19 18:06:2" + std::to_string(n / 10) +
           " INFO: epoch:0   train step:" + std::to_string(n) +
           "   top1: 0.0000 top5: 0.0078 loss:  7.5858 lr: 0.100000, batch_cost: 0.12800 s, "
           "reader_cost: 0.00101 s, ips: 1000.00000 images/sec.\n";
  };
  const auto runs = read_text(
      "2021-05-19 18:05:06 INFO: TRAIN : \n"
      "2021-05-19 18:05:06 INFO:     batch_size : 1024\n"
      "2021-05-19 18:05:06 INFO: VALID : \n"
      "2021-05-19 18:05:06 INFO:     batch_size : 64\n" +
      step(10) + step(20) +
      "2021-05-19 18:06:23 INFO: END epoch:0   train top1: 0.1 top5: 0.1 loss: 9.4 batch_cost: "
      "0.9 s, reader_cost: 0.1 s, batch_cost_sum: 6.8 s, ips: 121.4 images/sec.\n"
      "2021-05-19 18:06:24 INFO: valid step:10   top1: 0.0 loss: 5.4 lr: 0.0, batch_cost: 0.07 s, "
      "reader_cost: 0.1 s, ips: 409.9 images/sec.\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 1 / 0.128);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 128);
  EXPECT_EQ(runs[0].facts.world(), 8);
  EXPECT_EQ(runs[0].records[1].loss, 7.5858);
}

std::string ocr(int step, const std::string& cost, const std::string& samples,
                const std::string& ips, int second) {
  return "[2024/08/06 18:03:" + std::to_string(second) + "] ppocr INFO: epoch: [1/2], " +
         "global_step: " + std::to_string(step) +
         ", lr: 0.000005, loss: 63.990349, avg_reader_cost: 0.01058 s, avg_batch_cost: " + cost +
         " s, avg_samples: " + samples + ", ips: " + ips + " samples/s, eta: 0:32:12\n";
}

// At the end of an epoch PaddleOCR divides what is left of an interval by its full length.
TEST(PaddleVision, TakesTheShortIntervalOfPaddleOcrByItsRate) {
  const auto runs = read_text(
      "[2024/08/06 18:03:01] ppocr INFO:     distributed : False\n" +
      ocr(10, "0.20000", "64.0", "320.00000", 10) + ocr(20, "0.20000", "64.0", "320.00000", 12) +
      ocr(25, "0.10000", "32.0", "320.00000", 13) + ocr(30, "0.20000", "64.0", "320.00000", 14));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  for (const Record& record : runs[0].records) EXPECT_EQ(record.printed_rate, 5);
  EXPECT_EQ(runs[0].records[2].iterations, 5);
  EXPECT_EQ(runs[0].records[2].seconds, 1);
  EXPECT_EQ(runs[0].facts.sequences_per_micro_step(), 64);
}

TEST(PaddleVision, ReadsPaddleDetectionPaddleSegAndTheModelsOf2020) {
  const auto det = read_text(
      "[07/21 14:40:44] ppdet.engine INFO: Epoch: [0] [  0/200] learning_rate: 0.000000 loss: "
      "5331.5 eta: 27 days, 22:18:02 batch_cost: 18.5622 data_cost: 17.9648 ips: 1.7239 images/s\n"
      "[07/21 14:43:00] ppdet.engine INFO: Epoch: [0] [ 20/200] learning_rate: 0.000025 loss: "
      "1037.6 eta: 10 days, 19:39:33 batch_cost: 6.6231 data_cost: 6.0753 ips: 4.8316 images/s\n"
      "[07/21 15:03:00] ppdet.engine INFO: Epoch: [1] [  0/200] learning_rate: 0.000025 loss: "
      "1037.6 eta: 10 days, 19:39:33 batch_cost: 6.6231 data_cost: 6.0753 ips: 4.8316 images/s\n");
  ASSERT_EQ(det.size(), 1u);
  EXPECT_EQ(det[0].records[1].iterations, 20);
  EXPECT_EQ(det[0].records[1].seconds, 20 * 6.6231);
  EXPECT_EQ(det[0].records[1].time_s, 136);
  EXPECT_EQ(det[0].records[2].step, 201);
  EXPECT_EQ(det[0].facts.micro_batch_size.value, 32);
  EXPECT_FALSE(det[0].facts.world());
  EXPECT_THAT(text_of(det[0].notices.at(0)), testing::HasSubstr("--gpus-per-node"));

  const auto seg = read_text(
      "2021-03-30 06:55:57 [INFO]\t[TRAIN] epoch: 1, iter: 20/500, loss: 2.0859, lr: 0.009657, "
      "batch_cost: 0.5344, reader_cost: 0.07273, ips: 3.7425 samples/sec | ETA 00:04:16\n"
      "2021-03-30 06:56:04 [INFO]\t[TRAIN] epoch: 2, iter: 40/500, loss: 1.8769, lr: 0.009295, "
      "batch_cost: 0.3483, reader_cost: 0.00205, ips: 5.7422 samples/sec | ETA 00:02:40\n");
  ASSERT_EQ(seg.size(), 1u);
  EXPECT_EQ(seg[0].records[1].step, 40);
  EXPECT_EQ(seg[0].facts.micro_batch_size.value, 2);

  const auto pass = read_text(
      "INFO:utils.utility:[Pass 0, train batch 10] \tloss 21.71533, acc1 0.00781, lr 0.10000, "
      "batch_cost 0.12800 sec, reader_cost 0.00069 sec, ips 1000.00000 images/sec\n"
      "INFO:utils.utility:[Pass 0, train batch 20] \tloss 16.28334, acc1 0.00000, lr 0.10000, "
      "batch_cost 0.06400 sec, reader_cost 0.00103 sec, ips 2000.00000 images/sec\n");
  ASSERT_EQ(pass.size(), 1u);
  EXPECT_EQ(pass[0].records[1].printed_rate, 1 / 0.064);
  EXPECT_EQ(pass[0].records[1].loss, 16.28334);
  EXPECT_EQ(pass[0].facts.micro_batch_size.value, 128);
}

TEST(PaddleVision, BeginsAnotherRunWhereTheCounterGoesBack) {
  const auto runs = read_text(clas(2, 30, "0.5", "32.0", 10) + clas(2, 39, "0.5", "32.0", 15) +
                              clas(1, 0, "0.5", "32.0", 20) + clas(1, 10, "0.5", "32.0", 25));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].records.front().step, 1);
}

TEST(PaddleVision, ReadsPaddleSegFromItsFirstReleaseToTheEndOfItsPlan) {
  const auto runs = read_text(
      "2021-03-01 10:00:00 [INFO]\t[TRAIN] epoch=1, iter=5/15, loss=2.5, lr=0.009, "
      "batch_cost=0.8, reader_cost=0.25 | ETA 00:00:08\n"
      "2021-03-01 10:00:03 [INFO]\t[TRAIN] epoch=1, iter=10/15, loss=2.25, lr=0.009, "
      "batch_cost=0.6, reader_cost=0.00 | ETA 00:00:03\n"
      "2021-03-01 10:00:06 [INFO]\t[TRAIN] epoch=1, iter=15/15, loss=2.0, lr=0.009, "
      "batch_cost=0.6, reader_cost=0.00 | ETA 00:00:00\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 15);
  EXPECT_EQ(runs[0].records[2].loss, 2);
  EXPECT_NEAR(runs[0].records[2].seconds, 3, 1e-9);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(PaddleVision, TakesTheCardsOfPaddleSegFromItsEnvironment) {
  const auto runs = read_text(
      "GPUs used: 32\n"
      "CUDA_VISIBLE_DEVICES: 0,1,2,3,4,5,6,7\n"
      "2021-05-31 16:22:32 [INFO]\t[TRAIN] epoch: 1, iter: 19/20, loss: 0.9917, lr: 0.001259, "
      "batch_cost: 0.3427, reader_cost: 0.00008, ips: 11.6730 samples/sec | ETA 00:00:00\n"
      "2021-05-31 16:22:33 [INFO]\t[TRAIN] epoch: 1, iter: 20/20, loss: 1.4078, lr: 0.000675, "
      "batch_cost: 0.3448, reader_cost: 0.00008, ips: 11.6006 samples/sec | ETA 00:00:00\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.world(), 32);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 4);
}

TEST(PaddleVision, TakesTheCardsFromTheRingOfAll) {
  const auto runs = read_text(
      "I0301 10:00:00.5  4107 nccl_context.cc:74] init nccl context nranks: 8 local rank: 0 gpu "
      "id: "
      "0 ring id: 0\n"
      "I0301 10:00:00.6  4107 nccl_context.cc:74] init nccl context nranks: 2 local rank: 0 gpu "
      "id: "
      "0 ring id: 10\n"
      "2021-03-01 10:00:00 [INFO]\t[TRAIN] epoch: 1, iter: 1/20, loss: 2.5, lr: 0.01, batch_cost: "
      "0.5000, reader_cost: 0.00155, ips: 8.0000 samples/sec | ETA 00:00:05\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.world(), 8);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 4);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(PaddleVision, ReadsTheTemplateOfReproductions) {
  const auto runs = read_text(
      "[Epoch 59, iter: 900] lr: 0.00004, loss: -0.89112, avg_reader_cost: 0.00019 sec, "
      "avg_batch_cost: 0.16477 sec, avg_samples: 18.0, avg_ips: 109.24083 images/sec.\n"
      "[Epoch 59, iter: 1000] lr: 0.00004, loss: -0.88338, avg_reader_cost: 0.00018 sec, "
      "avg_batch_cost: 0.16448 sec, avg_samples: 18.0, avg_ips: 109.43343 images/sec.\n"
      "[Epoch 60, iter: 100] lr: 0.00004, loss: -0.90081, avg_reader_cost: 0.00375 sec, "
      "avg_batch_cost: 0.16913 sec, avg_samples: 18.0, avg_ips: 106.42518 images/sec.\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 18);
  EXPECT_EQ(runs[0].records[2].iterations, 100);
  EXPECT_NEAR(runs[0].records[1].seconds, 16.448, 1e-3);
  const auto guide = read_text(
      "[2021/12/04 05:16:13] root INFO: [epoch 0, iter 0][TRAIN]avg_samples: 32.0 , "
      "avg_reader_cost: 0.0010543 sec, avg_batch_cost: 0.0111100 sec, loss: 0.3450000 , avg_ips: "
      "2880.2952878 images/sec\n");
  ASSERT_EQ(guide.size(), 1u);
  EXPECT_NEAR(guide[0].records.at(0).printed_rate, 2880.2952878 / 32, 1e-6);
}

TEST(PaddleVision, MeansSinceTheEpochBeganGiveTheTimesOfTheLines) {
  const auto runs = read_text(
      "Epoch [1/2], Iter [01/14], reader_cost: 1.00473 s, batch_cost: 74.52487 s, ips: 54.96152 "
      "samples/s, eta: 0:34:46\n"
      "Epoch [1/2], Iter [02/14], reader_cost: 0.50253 s, batch_cost: 37.26772 s, ips: 109.90745 "
      "samples/s, eta: 0:16:46\n"
      "Epoch [2/2], Iter [14/14], reader_cost: 0.10162 s, batch_cost: 0.10956 s, ips: 37384.97312 "
      "samples/s, eta: 0:00:00\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_NEAR(runs[0].records[1].seconds, 2 * 37.26772 - 74.52487, 1e-9);
  EXPECT_EQ(runs[0].records[2].step, 28);
  EXPECT_EQ(runs[0].records[2].iterations, 14);
  EXPECT_NEAR(runs[0].records[2].seconds, 14 * 0.10956, 1e-9);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(PaddleVision, ReadsPaddleRec) {
  const auto line = [](const char* where, const char* cost, const char* samples, const char* ips) {
    return std::string("2021-05-19 18:06:21 - INFO - epoch: ") + where +
           ", auc:0.500000,  avg_reader_cost: 0.00100 sec, avg_batch_cost: " + cost +
           " sec, avg_samples: " + samples + ", ips: " + ips + " ins/s\n";
  };
  const auto runs = read_text(line("0, batch_id: 0", "0.10000", "51.20000", "512.00000") +
                              line("0, batch_id: 10", "0.02000", "512.00000", "25600.00000") +
                              line("0, batch_id: 20", "0.02100", "512.00000", "24380.95238"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u) << "number 0 is divided by batches it does not hold";
  EXPECT_EQ(runs[0].records[1].iterations, 10);
  EXPECT_NEAR(runs[0].records[1].seconds, 0.21, 1e-6);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 512);
}

TEST(PaddleVision, ReadsPaddleDetectionOf2020) {
  const auto runs = read_text(
      "2020-09-25 15:10:53,118-INFO: iter: 0, lr: 0.000033, 'loss': '11803.891602', batch_cost: "
      "0.00006 s, eta: 0:00:00, ips: 125203.10448 images/sec\n"
      "2020-09-25 15:11:54,840-INFO: iter: 2, lr: 0.000035, 'loss': '1264.233521', batch_cost: "
      "20.69376 s, eta: 6:53:11, ips: 0.38659 images/sec\n"
      "2020-09-25 15:12:57,061-INFO: iter: 4, lr: 0.000036, 'loss': '557.037598', batch_cost: "
      "26.74744 s, eta: 8:53:09, ips: 0.29909 images/sec\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u) << "nothing lies in front of number 0";
  EXPECT_EQ(runs[0].records[1].iterations, 2);
  EXPECT_EQ(runs[0].records[1].loss, 557.037598);
  EXPECT_NEAR(runs[0].records[1].time_s, 62.221, 1e-3);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 8);
}

// Before September 2020 PaddleDetection told no ips: the time is the mean of the last steps.
TEST(PaddleVision, ReadsTheTimesOfPaddleDetectionOf2019) {
  const auto runs = read_text(
      "2020-06-01 11:03:37,079-INFO: iter: 0, lr: 0.005, 'loss': '17.231026', time: 0.000, eta: "
      "0:00:01\n"
      "2020-06-01 11:03:46,500-INFO: iter: 20, lr: 0.005, 'loss': '38.345268', time: 0.471, eta: "
      "14:48:05\n"
      "2020-06-01 11:03:56,500-INFO: iter: 40, lr: 0.005, 'loss': '32.986351', time: 0.500, eta: "
      "7:20:20\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].iterations, 20);
  EXPECT_EQ(runs[0].records[1].seconds, 10);
  EXPECT_EQ(runs[0].records[1].printed_rate, 2);
  EXPECT_NEAR(runs[0].records[1].time_s, 10, 1e-6);
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known());
  EXPECT_TRUE(runs[0].notices.empty()) << "there is no ips to tell of";
}

// Line 2 of the old layout holds batches 0, 1 and 2 and divides them by two.
TEST(PaddleVision, TakesNoBatchFromTheFirstLineOfPaddleOcrs) {
  const auto line = [](int iteration, const char* cost, const char* samples, const char* ips) {
    return "[2021/03/01 09:52:0" + std::to_string(iteration) +
           "] root INFO: epoch: [1/50], iter: " + std::to_string(iteration) +
           ", lr: 0.001000, loss: 31.8, acc: 0.057, reader_cost: 0.10000 s, batch_cost: " + cost +
           " s, samples: " + samples + ", ips: " + ips + "\n";
  };
  const std::string first = line(2, "3.00000", "96", "32.00000");
  const auto runs = read_text(first + line(4, "1.00000", "64", "64.00000") +
                              line(6, "1.00000", "64", "64.00000"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 64);
  EXPECT_EQ(runs[0].records[1].seconds, 2);
  EXPECT_FALSE(read_text(first).at(0).facts.micro_batch_size.known());
}

// 40 batches of 16 in 32 s, 8 s of them in front of line 32.
TEST(PaddleVision, TakesTheEpochsOfPaddleVideoAsRecords) {
  const auto epoch = [](int n, int minute) {
    const std::string stamp = "[12/25 14:" + std::to_string(minute) + ":";
    const std::string at = "] epoch:[  " + std::to_string(n) + "/2  ] train step:";
    return stamp + "00" + at + "0    loss: 4.5 lr: 0.01 batch_cost: 4.00000 sec, reader_cost: " +
           "3.0 sec, ips: 4.00000 instance/sec.\n" + stamp + "24" + at +
           "32   loss: 3.5 lr: 0.01 batch_cost: 0.50000 sec, reader_cost: 0.1 sec, ips: 32.00000 " +
           "instance/sec.\n" + stamp + "32] END epoch:" + std::to_string(n) +
           "   train loss_avg: 3.9 avg_batch_cost: 0.45000 sec, avg_reader_cost: 0.1 sec, "
           "batch_cost_sum: 32.00000 sec, avg_ips: 20.00000 instance/sec.\n" +
           stamp + "50] END epoch:" + std::to_string(n) +
           "   val loss_avg: 3.9 batch_cost_sum: 16.00000 sec, avg_ips: 20.0 instance/sec.\n";
  };
  const auto runs = read_text(epoch(1, 22) + epoch(2, 23));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  for (const Record& record : runs[0].records) {
    EXPECT_EQ(record.iterations, 40);
    EXPECT_EQ(record.seconds, 32);
  }
  EXPECT_EQ(runs[0].records[1].step, 80);
  EXPECT_EQ(runs[0].records[1].time_s, 92);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 16);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("one batch"));
  for (const Notice& notice : runs[0].notices) {
    EXPECT_THAT(text_of(notice), testing::Not(testing::HasSubstr("length of an epoch")));
  }
}

TEST(PaddleVision, TakesEvaluationsOffTheClock) {
  const auto line = [](const std::string& time, int epoch, int iteration) {
    return "[2024/07/31 20:" + time + "] ppcls INFO: [Train][Epoch " + std::to_string(epoch) +
           "/3][Iter: " + std::to_string(iteration) +
           "/25]lr(Piecewise): 0.1, loss: 7.02, batch_cost: 0.50000s, reader_cost: 0.02, ips: "
           "512.00000 samples/s, eta: 1:00:00\n";
  };
  const std::string evaluation =
      "[2024/07/31 20:04:00] ppcls INFO: [Eval][Epoch 1][Iter: 0/10]loss: 7.0, batch_cost: 0.2s, "
      "reader_cost: 0.1, ips: 100.0 images/sec\n";
  const auto runs = read_text(line("00:05", 1, 10) + line("00:10", 1, 20) + evaluation +
                              line("05:05", 2, 10) + line("05:10", 2, 20));
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[2].iterations, 15);
  EXPECT_NEAR(records[2].time_s - records[1].time_s, 7.5, 1e-6);
  EXPECT_NEAR(records[3].time_s - records[2].time_s, 5, 1e-6);
  bool told = false;
  for (const Notice& notice : runs[0].notices) {
    told = told || text_of(notice).find("evaluations is taken off") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST(PaddleVision, CountsTheStepsOfOneRank) {
  std::string text;
  for (const int step : {100, 200, 300}) {
    for (const char* rank : {"[1,2]<stdout>:", "[1,0]<stdout>:", "[1,1]<stdout>:"}) {
      text += rank + std::string("[07/21 14:0") + std::to_string(step / 100) +
              ":00] ppdet.engine INFO: Epoch: [0] [" + std::to_string(step) +
              "/7330] learning_rate: 0.0002 loss: 1.6 eta: 9:00:00 batch_cost: 0.6000 data_cost: "
              "0.0102 ips: 13.3333 images/s\n";
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].iterations, 100);
  EXPECT_NEAR(runs[0].records[2].seconds, 60, 0.01);
}

TEST(PaddleVision, BelievesTheLauncher) {
  const std::string steps =
      "GPUs used: 2\n"
      "2021-03-24 12:40:10 [INFO]\t[TRAIN] epoch: 1, iter: 10/900, loss: 2.5, lr: 0.009, "
      "batch_cost: 1.0000, reader_cost: 0.01, ips: 2.0000 samples/sec | ETA 00:20:00\n";
  EXPECT_EQ(read_text(steps).at(0).outcome.status, Status::truncated);
  EXPECT_EQ(read_text(steps + "INFO 2021-03-24 12:41:00,603 launch.py:402] Local processes "
                              "completed.\n")
                .at(0)
                .outcome.status,
            Status::completed);
}

}  // namespace
}  // namespace bertbench
