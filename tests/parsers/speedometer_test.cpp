#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Speedometer, ReadsBatchesAndRangesOverEpochs) {
  const auto runs = read_text(
      "INFO:root:Epoch[0] Batch [0-20]\tSpeed: 520.85 samples/sec\taccuracy=0.57\n"
      "INFO:root:Epoch[0] Batch [20-40]\tSpeed: 518.95 samples/sec\taccuracy=0.58\n"
      "INFO:root:Epoch[0] Train-accuracy=0.6\n"
      "INFO:root:Epoch[0] Time cost=7.885\n"
      "INFO:root:Epoch[0] Validation-accuracy=0.5\n"
      "INFO:root:Epoch[1] Batch [0-20]\tSpeed: 521.85 samples/sec\taccuracy=0.57\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 60);
  EXPECT_EQ(runs[0].records[2].iterations, 20);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated) << "an epoch ended, then another began";
  EXPECT_EQ(runs[0].records[1].printed_rate, 518.95);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
}

TEST(Speedometer, TakesTheClockOfTheLogger) {
  const auto runs = read_text(
      "2018-04-01 03:35:35,136 Epoch[18] Batch [50]\tSpeed: 53.10 samples/sec\taccuracy=0.98\n"
      "2018-04-01 03:37:37,482 Epoch[18] Batch [100]\tSpeed: 52.31 samples/sec\taccuracy=0.98\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(runs[0].records[1].time_s, 122.346, 1e-4);
}

TEST(Speedometer, ReadsGluonCvAndInsightface) {
  const auto yolo = read_text(
      "[Epoch 0][Batch 99], LR: 1.00E-03, Speed: 35.167 samples/sec, ObjLoss=8.1\n"
      "[Epoch 0][Batch 199], LR: 1.00E-03, Speed: 36.167 samples/sec, ObjLoss=7.1\n");
  ASSERT_EQ(yolo.size(), 1u);
  EXPECT_EQ(yolo[0].records[1].iterations, 100);
  const auto face = read_text(
      "Training: 2021-05-10 08:00:10,123-Speed 2345.12 samples/sec   Loss 45.1000   Epoch: 0   "
      "Global Step: 100   Required: 9 hours\n"
      "Training: 2021-05-10 08:00:20,123-Speed 2350.00 samples/sec   Loss 44.1000   Epoch: 1   "
      "Global Step: 200   Required: 9 hours\n");
  ASSERT_EQ(face.size(), 1u);
  EXPECT_EQ(face[0].records[1].step, 200);
  EXPECT_EQ(face[0].records[1].time_s, 10);
  EXPECT_EQ(face[0].records[1].loss, 44.1);
}

TEST(Speedometer, TakesNoRateOfTheJobFromOneOfSeveralWorkers) {
  const auto ranks = read_text(
      "[1,0]<stdout>:INFO:root:Epoch[0] Batch [20]\tSpeed: 520.85 samples/sec\n"
      "[1,1]<stdout>:INFO:root:Epoch[0] Batch [20]\tSpeed: 521.85 samples/sec\n");
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].records.size(), 1u);
  EXPECT_EQ(ranks[0].rate_unit, RateUnit::unknown);
  const auto store = read_text(
      "INFO:root:start with arguments Namespace(batch_size=128, kv_store='dist_device_sync')\n"
      "INFO:root:Epoch[0] Batch [20]\tSpeed: 520.85 samples/sec\n");
  EXPECT_EQ(store.at(0).rate_unit, RateUnit::unknown);
  EXPECT_THAT(text_of(store.at(0).notices.at(0)), testing::HasSubstr("several"));
}

// NVIDIA's script for MLPerf hands Speedometer the batch of all workers.
TEST(Speedometer, TellsByTheStampsThatSpeedIsThatOfAllWorkers) {
  const auto log = [](const std::string& speed) {
    std::string text =
        "2019-06-18 09:10:31,333 Node[0] start with arguments Namespace(algo=1, batch_size=100, "
        "kv_store='horovod')\n";
    for (int i = 1; i <= 6; ++i) {
      text += "2019-06-18 09:11:" + std::to_string(10 + 2 * i) + ",500 Node[0] Epoch[0] Batch [" +
              std::to_string(20 * i) + "]\tSpeed: " + speed + " samples/sec\taccuracy=0.5\n";
    }
    return read_text(text);
  };
  const auto job = log("8000.00");  // 2 s for 20 batches of 8 workers
  ASSERT_EQ(job.size(), 1u);
  EXPECT_EQ(job[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_THAT(text_of(job[0].notices.at(0)), testing::HasSubstr("8 times batch_size"));
  EXPECT_EQ(log("1000.00").at(0).rate_unit, RateUnit::unknown) << "of one worker";
  EXPECT_EQ(log("2500.00").at(0).rate_unit, RateUnit::unknown) << "2.5 batches";
}

TEST(Speedometer, SaysNothingWhereTheStoreIsLocal) {
  const auto runs = read_text(
      "INFO:root:start with arguments Namespace(batch_size=128, kv_store='device')\n"
      "INFO:root:Epoch[0] Batch [20]\tSpeed: 520.85 samples/sec\n");
  EXPECT_TRUE(runs.at(0).notices.empty());
}

// gluon-cv: the last epoch that the arguments plan ends the run, another one does not.
TEST(Speedometer, TellsTheEndByTheEpochsThatArePlanned) {
  const std::string head =
      "Namespace(batch_size=8, kvstore=None, num_epochs=3, num_gpus=8, resume_epoch=0)\n";
  const auto epoch = [](const std::string& n) {
    return "Epoch[" + n +
           "] Batch [49]/[100]\tSpeed: 75.5 samples/sec\t accuracy=79.5\t loss=0.75\n" + "[Epoch " +
           n + "] training: accuracy=79.5\t loss=0.75\n[Epoch " + n +
           "] speed: 75 samples/sec\ttime cost: 34.5\n";
  };
  auto runs = read_text(head + epoch("000") + epoch("001"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  runs = read_text(head + epoch("000") + epoch("001") + epoch("002"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

// Lines of 20 batches leave out the end of an epoch, and the loading is slow in front of the first.
TEST(Speedometer, TellsTheSpeedOfGluonCvsEpochs) {
  const auto batches = [](const std::string& n) {
    return "Epoch[" + n + "] Batch [0019]/[0056]\tSpeed: 45.5 samples/sec\t loss=0.9\n" + "Epoch[" +
           n + "] Batch [0039]/[0056]\tSpeed: 105.5 samples/sec\t loss=0.8\n";
  };
  const auto epoch = [](const std::string& n, const std::string& speed) {
    return "[Epoch " + n + "] speed: " + speed + " samples/sec\ttime cost: 74.5\n";
  };
  const std::string both =
      batches("015") + epoch("015", "60") + batches("016") + epoch("016", "90");
  for (const std::string& log : {both, epoch("014", "60") + batches("015") + epoch("015", "90")}) {
    const auto runs = read_text(log);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].records.at(0).printed_rate, 45.5);
    ASSERT_FALSE(runs[0].notices.empty());
    EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("tell 72 samples/sec"));
  }
  const auto alone = read_text(epoch("000", "60") + epoch("001", "90"));
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_EQ(alone[0].records.size(), 2u);
  EXPECT_EQ(alone[0].records[1].printed_rate, 90);
  EXPECT_EQ(alone[0].iteration_unit, IterationUnit::unknown);
}

// Classification and poses: the arguments name the batch of one GPU.
TEST(Speedometer, ReadsGluonCvsPoses) {
  const auto epoch = [](const std::string& n) {
    return "Epoch[" + n + "] Batch [99]\tSpeed: 320.000000 samples/sec\tloss=0.001\tlr=0.001\n" +
           "Epoch[" + n + "] Batch [199]\tSpeed: 800.000000 samples/sec\tloss=0.001\tlr=0.001\n" +
           "Epoch[" + n + "]\t\tSpeed: 500 samples/sec over 50 secs\tloss=0.001\n\n";
  };
  const std::string head =
      "Namespace(batch_size=8, last_gamma=False, model='simple_pose', num_epochs=2, num_gpus=4)\n";
  const auto runs = read_text(head + epoch("0") + epoch("1"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[1].seconds, 4) << "100 batches of 32";
  EXPECT_EQ(runs[0].facts.world(), 4);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 32);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("tell 500 samples/sec"));
  EXPECT_EQ(read_text(head + epoch("0")).at(0).outcome.status, Status::truncated);
}

// The data loader may be slower by far than the one batch whose speed is printed.
TEST(Speedometer, TellsThatGluonCvTimesOneBatch) {
  const auto runs = read_text(
      "[Epoch 7][Batch 99], LR: 1E-05, Speed: 120.5 samples/sec, ObjLoss=5.5, ClassLoss=1.25\n"
      "[Epoch 7][Batch 199], LR: 1E-05, Speed: 130.5 samples/sec, ObjLoss=5.5, ClassLoss=1.25\n"
      "[Epoch 7] Training cost: 500.0, ObjLoss=5.5, ClassLoss=1.25\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("0.4 to 0.598 batches/s"));
}

// 1000 images in batches of 10: 100 batches, of which the lines leave out the last ten.
TEST(Speedometer, TakesTheEpochsOfGluonCvsDetection) {
  const auto log = [](const std::string& arguments) {
    std::string text = "INFO:root:Namespace(" + arguments +
                       ", epochs=2, gpus='0,1', save_prefix='yolo3_mobilenet1.0_voc', seed=1)\n";
    for (const std::string epoch : {"0", "1"}) {
      for (const std::string batch : {"29", "59", "89"}) {
        text += "[Epoch " + epoch + "][Batch " + batch + "], Speed: 175.5 samples/sec, Loss=5.5\n";
      }
      text += "[Epoch " + epoch + "] Training cost: 12.5, Loss=5.5\n";
    }
    return read_text(text);
  };
  const auto told = log("batch_size=10, dataset='voc', num_samples=1000");
  ASSERT_EQ(told.size(), 1u);
  ASSERT_EQ(told[0].records.size(), 2u);
  EXPECT_EQ(told[0].records[1].step, 200);
  EXPECT_EQ(told[0].records[1].iterations, 100);
  EXPECT_EQ(told[0].records[1].printed_rate, 80);
  EXPECT_EQ(told[0].records[1].seconds, 12.5);
  EXPECT_EQ(told[0].facts.world(), 2);
  EXPECT_EQ(told[0].facts.sequences_per_optimizer_step(), 10);
  EXPECT_EQ(told[0].outcome.status, Status::completed) << "two epochs were planned";
  ASSERT_EQ(told[0].notices.size(), 1u);
  EXPECT_THAT(text_of(told[0].notices[0]), testing::HasSubstr("for 1000 images"));
  // 16551 images are 100 batches of 165, and would be 1655 of 10, which the lines contradict.
  const auto named = log("batch_size=165, dataset='voc', num_samples=-1");
  ASSERT_EQ(named.size(), 1u);
  ASSERT_EQ(named[0].records.size(), 2u);
  EXPECT_NEAR(named[0].records[0].printed_rate, 16551 / 12.5, 1e-9);
  EXPECT_THAT(text_of(named[0].notices.at(0)), testing::HasSubstr("as the dataset's name has it"));
  const auto other = log("batch_size=10, dataset='voc', num_samples=-1");
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].records.size(), 6u);
  EXPECT_THAT(text_of(other[0].notices.at(0)), testing::HasSubstr("7.2 to 9.52 batches/s"));
}

// R-CNN's scripts tell of one batch in old releases, of an interval in newer ones.
TEST(Speedometer, TellsTheReleasesOfGluonCvsRcnnByTheirJumps) {
  const auto log = [](const std::string& other, const std::string& end) {
    std::string text;
    for (int i = 1; i <= 6; ++i) {
      text += "INFO:root:[Epoch 3][Batch " + std::to_string(100 * i - 1) +
              "], Speed: " + (i % 2 == 0 ? other : "9.125") + " samples/sec, RPN_Conf=0.25\n";
    }
    return read_text(text + end);
  };
  const auto steady = log("9.25", "INFO:root:Total Training with validation: 1543.5 secs\n");
  ASSERT_EQ(steady.size(), 1u);
  EXPECT_TRUE(steady[0].notices.empty());
  EXPECT_EQ(steady[0].outcome.status, Status::completed);
  const auto jumping = log("2.5", "[Epoch 3] Training cost: 100.0, RPN_Conf=0.25\n");
  ASSERT_EQ(jumping.size(), 1u);
  EXPECT_EQ(jumping[0].outcome.status, Status::truncated);
  EXPECT_THAT(text_of(jumping[0].notices.at(0)), testing::HasSubstr("6 to 6.99 batches/s"));
}

TEST(Speedometer, ReadsTheEpochsOfGluonCvOnCifar) {
  const auto epoch = [](const std::string& n, const std::string& loss, const std::string& seconds) {
    return "INFO:root:[Epoch " + n + "] train=0.75 val=0.5 loss=" + loss + " time: " + seconds +
           "\n";
  };
  const std::string head = "INFO:root:Namespace(batch_size=128, num_epochs=3, num_gpus=1)\n";
  auto runs = read_text(head + epoch("0", "1.5", "16.5") + epoch("1", "1.25", "15.5"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_TRUE(std::isnan(runs[0].records[1].seconds)) << "of an epoch, not of a step";
  EXPECT_EQ(runs[0].records[1].loss, 1.25);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("no throughput"));
  runs = read_text(head + epoch("0", "1.5", "16.5") + epoch("1", "nan", "15.5") +
                   epoch("2", "nan", "15.5"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.step, 2);
  runs = read_text(
      "INFO:root:Namespace(batch_size=64, model='cifar_resnet20_v1', num_epochs=3, num_gpus=2)\n" +
      epoch("0", "1.5", "16.0"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.at(0).printed_rate, 49920 / 16.0) << "without the rest of 80 images";
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("CIFAR-10"));
}

TEST(Speedometer, SaysThatGluonsExamplePrintsTheSpeedOfOneBatch) {
  const auto said = [](const std::string& behind) {
    const auto runs = read_text("INFO:root:Epoch[0] Batch [49]\tSpeed: " + behind);
    return text_of(runs.at(0).notices.at(0)).find("one batch in front") != std::string::npos;
  };
  EXPECT_TRUE(said("829.012392 samples/sec\taccuracy=0.172578\n"));
  EXPECT_FALSE(said("829.012392 samples/sec\taccuracy=0.172578\tlr=0.05\n"));
  EXPECT_FALSE(said("829.01 samples/sec\taccuracy=0.172578\n"));
}

// R names no epochs: the batches begin again.
TEST(Speedometer, ReadsR) {
  const auto runs = read_text(
      "Start training with 1 devices\n"
      "Batch [50] Speed: 26130.0133261041 samples/sec Train-accuracy=0.111875\n"
      "Batch [100] Speed: 24854.37 samples/sec Train-accuracy=0.1348\n"
      "[1] Train-accuracy=0.702357104700855\n"
      "Batch [50] Speed: 25396.74 samples/sec Train-accuracy=0.94\n"
      "Batch [100] Speed: nonsense\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[0].printed_rate, 26130.0133261041);
  EXPECT_EQ(runs[0].records[2].step, 150);
  EXPECT_EQ(runs[0].records[2].iterations, 50);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
}

// 400 samples a line: 8 s and 2 s of them are 80 samples/s, whatever the mean of the speeds is.
TEST(Speedometer, TimesItsLinesByTheTotalBatchOfGluonCv) {
  const auto runs = read_text(
      "Namespace(batch_size=10, num_epochs=9)\nTotal batch size is set to 40 on 4 GPUs\n"
      "Epoch[0] Batch [9]\tSpeed: 40.0 samples/sec\taccuracy=11.5\tlr=0.1\n"
      "Epoch[0] Batch [19]\tSpeed: 50.0 samples/sec\taccuracy=11.5\tlr=0.1\n"
      "Epoch[0] Batch [29]\tSpeed: 200.0 samples/sec\taccuracy=11.5\tlr=0.1\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].seconds, 8);
  EXPECT_EQ(runs[0].records[2].seconds, 2);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 40);
  EXPECT_EQ(runs[0].facts.world(), 4);
}

// 50 batches of 40 at 80 samples/s are 25 s, with those that no line tells of.
TEST(Speedometer, TakesTheEpochsOfGluonCvAsRecords) {
  const auto epoch = [](const std::string& n) {
    return "Epoch[" + n + "] Batch [0019]/[0050]\tSpeed: 50.0 samples/sec\t accuracy=72.5\n" +
           "Epoch[" + n + "] Batch [0039]/[0050]\tSpeed: 100.0 samples/sec\t accuracy=72.5\n";
  };
  const auto runs =
      read_text("Total batch size is set to 40 on 4 GPUs\n" + epoch("000") +
                "[Epoch 000] speed: 80 samples/sec\ttime cost: 35.5\n" + epoch("001") +
                "[Epoch 001] speed: 100 samples/sec\ttime cost: 30.5\n" + epoch("002"));
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].step, 50);
  EXPECT_EQ(records[0].iterations, 50);
  EXPECT_EQ(records[0].seconds, 25);
  EXPECT_EQ(records[1].step, 100);
  EXPECT_EQ(records[1].printed_rate, 100);
  EXPECT_EQ(records[2].iterations, 19) << "of an epoch that did not end";
}

TEST(Speedometer, TakesNoBatchThatWouldOverflow) {
  const auto runs = read_text(
      "Namespace(batch_size=999999, last_gamma=False, num_gpus=999999)\n"
      "Epoch[0] Batch [999999999999]\tSpeed: 40.0 samples/sec\tlr=0.1\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].facts.global_batch_size.known());
}

// Sockeye prints Speedometer's lines and an end of its own.
TEST(Speedometer, EndsWithSockeye) {
  const std::string lines =
      "[INFO:root] Epoch[0] Batch [50]\tSpeed: 310.25 samples/sec\tperplexity=812.40\n"
      "[INFO:root] Epoch[0] Batch [100]\tSpeed: 312.75 samples/sec\tperplexity=540.10\n";
  auto runs = read_text(lines);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  runs = read_text(lines +
                   "[INFO:sockeye.training] Training finished. Best checkpoint: 0. Best validation "
                   "perplexity: inf\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Speedometer, TakesNoRangeFromBelowZero) {
  EXPECT_TRUE(read_text("Total batch size is set to 40 on 4 GPUs\n"
                        "Epoch[0] Batch [-9223372036854775807-40]\tSpeed: 40.0 samples/sec\n")
                  .empty());
}

}  // namespace
}  // namespace bertbench
