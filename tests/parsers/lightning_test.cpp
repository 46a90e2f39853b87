// The samples are runs of Lightning 2.6, whose callback wrote down when each batch ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/parsers/run_log_text.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

const std::string kFolder = std::string(BB_SOURCE_DIR) + "/parsers/samples/lightning/";

std::vector<double> ends(const char* file) {
  std::istringstream in(slurp(kFolder + file));
  std::vector<double> out = {0};
  for (std::string line; std::getline(in, line);) {
    out.push_back(nlohmann::json::parse(line)["end"].get<double>());
  }
  return out;
}

std::string notices_of(const RunLog& run) {
  std::string out;
  for (const Notice& notice : run.notices) out += text_of(notice) + "\n";
  return out;
}

TEST(Lightning, TableFollowsTheCallbacksClock) {
  const auto runs = read_text(slurp(kFolder + "sample.log"));
  ASSERT_EQ(runs.size(), 1u);
  const auto end = ends("timings.jsonl");
  ASSERT_EQ(runs[0].records.size(), 12u);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 32);
  for (std::size_t i = 1; i < runs[0].records.size(); ++i) {
    const Record& record = runs[0].records[i];
    const Record& before = runs[0].records[i - 1];
    // train/time leaves the validations out, so only steps of one epoch are compared.
    if ((before.step - 1) / 40 != (record.step - 1) / 40) continue;
    const double clock =
        end[static_cast<std::size_t>(record.step)] - end[static_cast<std::size_t>(before.step)];
    EXPECT_NEAR((record.time_s - before.time_s) / clock, 1, 0.03) << record.step;
    EXPECT_FALSE(std::isnan(record.loss)) << record.step;
  }
}

TEST(Lightning, TqdmBarsOfVersionTwoAreOneRunThroughItsEpochs) {
  const auto runs = read_text(slurp(kFolder + "tqdm.log"));
  ASSERT_EQ(runs.size(), 2u);
  const RunLog& run = runs[0].kind == WorkKind::training ? runs[0] : runs[1];
  EXPECT_EQ(run.format, "tqdm");
  EXPECT_EQ(run.records.back().step, 120);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_THAT(notices_of(run), testing::Not(testing::HasSubstr("before 2.0")));
  const auto end = ends("tqdm_timings.jsonl");
  EXPECT_NEAR(run.records.back().time_s, end.back(), 3.0) << "whole seconds of three bars";
  EXPECT_GT(run.records.back().loss, 0.9) << "0.399 is the validation's";
}

TEST(Lightning, RichBarGivesItsLastRedraw) {
  const auto runs = read_text(slurp(kFolder + "rich.log"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "lightning");
  ASSERT_EQ(runs[0].records.size(), 1u);
  EXPECT_EQ(runs[0].records[0].step, 40);
  EXPECT_DOUBLE_EQ(runs[0].records[0].printed_rate, 13.87);
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::micro_step);
}

TEST(Lightning, RichBarGoesOnThroughTheEpochs) {
  std::string text;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int done = 0; done <= 100; done += 50) {
      text += "Epoch " + std::to_string(epoch) + "/2 ━━━━╸━━━ " + std::to_string(done) +
              "/100 0:00:" + (done < 100 ? "1" : "2") + "0 • 0:00:05 4.95it/s v_num: 0.000\n";
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 6u);
  EXPECT_EQ(runs[0].records.back().step, 300);
  EXPECT_DOUBLE_EQ(runs[0].records.back().time_s, 60);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

// 1.x: the bar of the epoch counts 20 validation batches behind its 80 training batches.
TEST(Lightning, BarsOfVersionOneAreSaidToCountTheValidation) {
  const auto runs = read_text(
      "Validation sanity check: 100%|##| 2/2 [00:00<00:00,  3.1it/s]\n"
      "Epoch 0:  40%|####      | 40/100 [00:10<00:15,  4.00it/s, loss=2.3, v_num=1]\r"
      "Epoch 0:  80%|########  | 80/100 [00:20<00:05,  4.00it/s, loss=2.1, v_num=1]\r"
      "Validating: 50%|##   | 10/20 [00:01<00:01,  9.9it/s]\x1b[A\r"
      "Epoch 0: 100%|##########| 100/100 [00:22<00:00,  4.54it/s, loss=2.1, v_num=1]\n");
  ASSERT_FALSE(runs.empty());
  for (const RunLog& run : runs) {
    if (run.kind != WorkKind::training) continue;
    EXPECT_EQ(run.records.back().step, 100);
    EXPECT_THAT(notices_of(run), testing::HasSubstr("Lightning before 2.0"));
  }
}

TEST(Lightning, TableWithoutAClockSaysThatThereIsNoThroughput) {
  const auto runs = read_text(
      "train_loss,epoch,step,val_loss\r\n"
      "2.5,0,49,\r\n2.1,0,99,\r\n,0,99,1.9\r\nnan,1,149,\r\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[0].step, 50);
  EXPECT_EQ(runs[0].records[0].iterations, 50);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  EXPECT_EQ(runs[0].first_nan_step, 150);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_THAT(notices_of(runs[0]), testing::HasSubstr("no throughput can be had"));
}

TEST(Lightning, SecondsOfWholeEpochsGiveARateWithoutTheFirst) {
  const std::string head = "epoch,epoch_time,step,train_loss\n";
  const std::string later =
      "2,,249,2.0\n2,10.0,299,\n"
      "3,,349,1.9\n3,10.0,399,\n";
  const auto whole = read_text(head + "0,,49,2.5\n0,50.0,99,\n1,,149,2.2\n1,10.0,199,\n" + later);
  ASSERT_EQ(whole.size(), 1u);
  ASSERT_TRUE(whole[0].summary);
  EXPECT_DOUBLE_EQ(whole[0].summary->value, 10);  // steps per second
  EXPECT_EQ(whole[0].totals.iterations, 400);
  EXPECT_EQ(whole[0].totals.training_s, 80);
  EXPECT_THAT(notices_of(whole[0]), testing::HasSubstr("without the first"));
  // How many steps the first epoch of a table that goes on with a run had is not told.
  const auto resumed = read_text(head + later);
  ASSERT_EQ(resumed.size(), 1u);
  EXPECT_DOUBLE_EQ(resumed[0].summary->value, 10);
  EXPECT_EQ(resumed[0].totals.iterations, 100);
  EXPECT_EQ(resumed[0].totals.training_s, 10);
  const auto one = read_text(head + "0,,49,2.5\n0,50.0,99,\n");
  EXPECT_FALSE(one.at(0).summary);
  EXPECT_EQ(one.at(0).totals.training_s, 50);
}

TEST(Lightning, DevicesRateIsNotTheJobs) {
  const std::string rows = "0,9,10,100.0,320,3.2,2.5\n0,19,20,100.0,640,6.4,2.4\n";
  const std::string head =
      "epoch,step,train/batches,train/device/samples_per_sec,train/samples,train/time,train_loss";
  const auto one = read_text(head + "\n" + rows);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].facts.world_size.value, 1);
  const std::string job =
      "epoch,step,train/batches,train/device/samples_per_sec,train/samples,train/samples_per_sec,"
      "train/time,train_loss\n0,9,10,100.0,320,800.0,3.2,2.5\n0,19,20,100.0,640,800.0,6.4,2.4\n";
  const auto eight = read_text(job);
  ASSERT_EQ(eight.size(), 1u);
  EXPECT_FALSE(eight[0].facts.world_size.known());
  EXPECT_DOUBLE_EQ(eight[0].records[1].printed_rate, 800);
}

TEST(Lightning, OtherTablesAreNotTakenForIt) {
  EXPECT_TRUE(read_text("epoch,lr,accuracy\n1,2,3\n").empty());
  EXPECT_TRUE(read_text("we stop after one epoch, step 3, loss 4\n1,2,3,4\n").empty());
  EXPECT_TRUE(read_text("hello\nepoch,step,train_loss\n0,1,2\n").empty()) << "not the first line";
}

// A table is read by one thread whatever was asked for, as its rows hold nothing to search for.
TEST(Lightning, LargeTablesAreReadWholeByAnyNumberOfThreads) {
  const test::ScratchFolder folder;
  const std::string path = folder.path("metrics.csv");
  std::string text = "epoch,step,train_loss\n";
  for (int step = 0; step < 20'000; ++step) {
    text += "0," + std::to_string(step) + ",2." + std::to_string(step % 97) + "\n";
  }
  std::ofstream(path, std::ios::binary) << text;
  ReadOptions options;
  options.threads = 4;
  options.chunk = 16 << 10;
  const auto runs = read_log(path, options);
  ASSERT_TRUE(runs) << runs.error().message();
  EXPECT_EQ(runs->front().records_seen, 20'000);
  EXPECT_EQ(runs->front().records.back().step, 20'000);
}

// Of NeMo 2's performance scripts on 8 B200, with the lines between left out at the end.
TEST(Lightning, ReadsTheStepsOfNemo) {
  const auto runs = read_text(
      "Training epoch 0, iteration 45/99 | lr: 6.897e-06 | global_batch_size: 128 | global_step: "
      "45 | max_memory_reserved: 127785762816 | max_memory_allocated: 115792977920 | "
      "reduced_train_loss: 11.96 | train_step_timing in s: 6.08 | TFLOPS_per_GPU: 1.249e+03 | "
      "consumed_samples: 5888\n"
      "Training epoch 0, iteration 46/99 | lr: 7.046e-06 | global_batch_size: 128 | global_step: "
      "46 | max_memory_reserved: 127785762816 | max_memory_allocated: 115792977920 | "
      "reduced_train_loss: 11.95 | train_step_timing in s: 6.061 | TFLOPS_per_GPU: 1.252e+03 | "
      "consumed_samples: 6016\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "lightning");
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 128);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 47);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 6.061);
  EXPECT_DOUBLE_EQ(runs[0].records[1].loss, 11.95);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  const auto ended = read_text(
      "Training epoch 0, iteration 49/49 | lr: 4.491e-06 | global_batch_size: 256 | global_step: "
      "49 | peak_memory_usage: 72972500992 | memory_allocated: 34466545664 | reduced_train_loss: "
      "12.81 | train_step_timing in s: 2.693 | consumed_samples: 12800\n");
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].outcome.status, Status::completed);
}

TEST(LightningBar, SaysThatItReachedItsStepsWhereTheBarDoesNot) {
  const auto outcome = [](const std::string& counter, const std::string& behind) {
    return read_text("Epoch 0: " + counter +
                     " [00:20<00:00,  0.50it/s, v_num=0, train_loss=4.5]\n" + behind)
        .at(0)
        .outcome.status;
  };
  const std::string stopped = "`Trainer.fit` stopped: `max_steps=10` reached.\n";
  for (const char* counter : {"|          | 10/?", " 25%|##5       | 10/40"}) {
    EXPECT_EQ(outcome(counter, stopped), Status::completed) << counter;
    EXPECT_EQ(outcome(counter, ""), Status::truncated) << counter;
  }
}

TEST(Lightning, NemosBarTellsTheTimeOfAStepWhereOthersTellARate) {
  std::string text = "Sanity Checking DataLoader 0:   0%|          | 0/2 [00:00<?]\n";
  for (int done = 2; done < 9; ++done) {
    text += "\rEpoch 0: :   0%|          | " + std::to_string(done) +
            "/300 [00:" + std::to_string(10 + 2 * done) + "<09:50, v_num=, reduced_train_loss=10." +
            std::to_string(done) + ", global_step=" + std::to_string(done - 2) +
            ".000, consumed_samples=" + std::to_string(96 * (done - 1)) +
            ".0, train_step_timing in s=2.010]";
    if (done == 5) text += "\rValidation DataLoader 0:  50%|#####     | 5/10 [00:02<00:02]";
  }
  const auto runs = read_text(text + "\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "lightning");
  ASSERT_EQ(runs[0].records.size(), 7u);
  EXPECT_EQ(runs[0].records[6].step, 7);
  EXPECT_EQ(runs[0].records[6].seconds, 2.01);
  EXPECT_NEAR(runs[0].records[6].time_s - runs[0].records[0].time_s, 12, 1e-9);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 96);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Lightning, ItsBarsPadALossThatIsNotANumber) {
  const auto runs = read_text(
      "Epoch 0:   1%|          | 1/100 [00:01<01:39,  1.00it/s, v_num=0, train_loss=2.310]\r"
      "Epoch 0:   2%|          | 2/100 [00:02<01:38,  1.00it/s, v_num=0, train_loss=nan.0]\r"
      "Epoch 0:   3%|          | 3/100 [00:03<01:37,  1.00it/s, v_num=0, train_loss=nan.0]\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].first_nan_step, 2);
}

TEST(Lightning, NemosBarWithARateIsTqdms) {
  const auto runs = read_text(
      "\rEpoch 0:   1%|          | 2/300 [00:04<09:56, 2.00s/it, loss=9.1, global_step=1.000, "
      "consumed_samples=192.0, train_step_timing in s=2.000]"
      "\rEpoch 0:   1%|1         | 4/300 [00:08<09:52, 2.00s/it, loss=9.0, global_step=3.000, "
      "consumed_samples=384.0, train_step_timing in s=2.000]\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "tqdm");
}

}  // namespace
}  // namespace bertbench
