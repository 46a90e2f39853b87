// A collected log that holds four runs: what INDEX.tsv gives is the median over all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(SeveralRunsInOneLog, MegatronsMedianOverFourRunsIsTheKnownOne) {
  const char* given = std::getenv("BB_CORPUS");
  const std::string corpus =
      given != nullptr ? given : std::string(BB_SOURCE_DIR) + "/../shared/corpus";
  const std::string path = corpus + "/megatron/lockclock_4runs_concatenated.log";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not here: BB_CORPUS names the folder of collected logs";
  }
  const auto runs = read_log(path, {});
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 4u);
  std::vector<double> seconds;
  for (const RunLog& run : *runs) {
    EXPECT_EQ(run.records.size(), 50u);
    EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 16);
    for (const Record& record : run.records) seconds.push_back(record.seconds);
  }
  std::ranges::sort(seconds);
  // INDEX.tsv takes the lower one of the two in the middle.
  EXPECT_NEAR(seconds[99], 18.0555, 1e-9);
  EXPECT_NEAR(seconds[100], 18.0559, 1e-9);
}

// Memory is bounded, so the number of runs is; what is left out is told where it begins.
TEST(SeveralRunsInOneLog, RunsBeyondTheBoundAreLeftOutWithANotice) {
  constexpr int kRuns = 3'200;
  std::string text;
  for (int i = 0; i < kRuns; ++i) {
    text +=
        "{\"type\":\"header\",\"format\":\"bert_train/1\",\"micro_batch_size\":2}\n"
        "{\"type\":\"step\",\"step\":1,\"seconds\":0.5}\n";
  }
  const auto runs = read_text(text);
  EXPECT_EQ(runs.size(), 3'000u);
  ASSERT_FALSE(runs.back().notices.empty());
  EXPECT_EQ(runs.back().notices.back().line, 6'001);
  EXPECT_THAT(text_of(runs.back().notices.back()), ::testing::HasSubstr("left out"));
}

// MLPerf states officially how the job ended: that holds for the runs that other formats read of
// it.
TEST(SeveralRuns, EndAsTheJobsOfficialStatementSays) {
  const auto mlperf = [](const std::string& key, const std::string& metadata) {
    return ":::MLLOG {\"namespace\": \"\", \"time_ms\": 9000, \"key\": \"" + key +
           "\", \"value\": null, \"metadata\": {" + metadata + "}}\n";
  };
  std::string speeds;
  for (int i = 0; i < 5; ++i) {
    speeds += "2024-03-01 10:00:0" + std::to_string(i) + ",250 Node[0] Epoch[3] Batch [" +
              std::to_string(20 * i) + "-" + std::to_string(20 * i + 20) +
              "]\tSpeed: 2600.50 samples/sec\taccuracy=0.5\n";
  }
  const std::string start = mlperf("run_start", "\"lineno\": 1");
  const std::string aborted = mlperf("run_stop", "\"status\": \"aborted\"");
  auto runs = read_text(start + speeds + aborted);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "speedometer");
  EXPECT_EQ(runs[0].outcome.status, Status::error);
  EXPECT_EQ(read_text(speeds + aborted).at(0).outcome.status, Status::error) << "without its head";
  EXPECT_NE(read_text(start + aborted + speeds).at(0).outcome.status, Status::error) << "another";
  // Lines of a training that was cut, but for that statement.
  const std::string cut =
      "Epoch: [4]  [   0/4572]  eta: 0:08:39    time: 0.1137  data: 0.0009  max mem: 19774\n"
      "Epoch: [4]  [  20/4572]  eta: 0:08:44    time: 0.1154  data: 0.0010  max mem: 19774\n";
  const std::string success = mlperf("run_stop", "\"status\": \"success\"");
  EXPECT_EQ(read_text(start + cut).at(0).outcome.status, Status::truncated);
  EXPECT_EQ(read_text(start + cut + success).at(0).outcome.status, Status::completed);
}

// One record with the time of day and nothing else gives no rate; a closing statement does.
TEST(SeveralRuns, AStatementSpeaksBeforeOneStampedRecord) {
  const auto mlperf = [](int time_ms, const std::string& rest) {
    return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(time_ms) + ", " + rest +
           "}\n";
  };
  const auto runs = read_text(
      mlperf(1000, R"("key": "run_start", "value": null, "metadata": {"lineno": 1})") +
      "DLL 2024-03-01 10:00:06.444116 - epoch    2 | iter  456/544 | loss  201.50 | utts/s     6 | "
      "took 92.01 s | lrate 6.20e-03\n" +
      mlperf(9000, R"("key": "tracked_stats", "value": {"throughput": 2500.5}, "metadata": {})") +
      mlperf(11000, R"("key": "run_stop", "value": null, "metadata": {"status": "success"})"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "mlperf");
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].summary->value, 2500.5);
}

// The evaluation behind a training ended of nothing that an earlier launch failed of.
TEST(SeveralRuns, AnEvaluationIsNotOfALaunchThatFailedBefore) {
  const std::string start =
      "INFO:root:Namespace(accumulate=None, batch_size=16, gpu=1, epochs=1)\n";
  const std::string failure =
      "Traceback (most recent call last):\n  File \"tune.py\", line 7, in <module>\n    main()\n"
      "AssertionError: no lengths\n";
  const std::string training =
      "INFO:root:[Epoch 1 Batch 10/20] loss=0.6015, lr=0.0000032, metrics:accuracy:0.7\n"
      "INFO:root:[Epoch 1 Batch 20/20] loss=0.5015, lr=0.0000032, metrics:accuracy:0.7\n";
  const std::string evaluation = "INFO:root:Time cost=1.14s, throughput=357.62 samples/s\n";
  const std::string trained = training + evaluation + "INFO:root:Time cost=12.00s\n";
  const auto well = read_text(start + failure + start + trained + evaluation);
  ASSERT_EQ(well.size(), 2u);
  EXPECT_EQ(well[0].outcome.status, Status::completed);
  EXPECT_EQ(well[1].kind, WorkKind::inference);
  EXPECT_EQ(well[1].outcome.status, Status::completed);
  const auto failed = read_text(start + training + evaluation + failure);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[1].outcome.status, Status::error) << "behind the training";
}

TEST(SeveralRuns, AnOfficialRunIsNotOfALaunchThatFailedBefore) {
  const auto mlperf = [](int time_ms, const std::string& rest) {
    return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(time_ms) + ", " + rest +
           "}\n";
  };
  const std::string failure =
      "Traceback (most recent call last):\n  File \"run.py\", line 7, in <module>\n    main()\n"
      "ValueError: bad seed\n";
  const std::string start =
      mlperf(1000, R"("key": "run_start", "value": null, "metadata": {"lineno": 1})");
  const std::string stop =
      mlperf(11000, R"("key": "run_stop", "value": null, "metadata": {"status": "success"})");
  EXPECT_EQ(read_text(failure + start + stop).at(0).outcome.status, Status::completed);
  EXPECT_EQ(read_text(start + failure + stop).at(0).outcome.status, Status::error);
  EXPECT_EQ(read_text(failure + stop).at(0).outcome.status, Status::error) << "of which start?";
}

// A file that launches append to: each has cards and a batch of its own, whoever tells them.
TEST(SeveralRuns, HaveCardsAndBatchOfTheirOwnLaunch) {
  const auto line = [](int step, const std::string& cost, const std::string& ips, int second) {
    return "2021-03-24 12:40:" + std::to_string(second) +
           " [INFO]\t[TRAIN] epoch: 1, iter: " + std::to_string(step) +
           "/900, loss: 2.5, lr: 0.009, batch_cost: " + cost + ", reader_cost: 0.01, ips: " + ips +
           " samples/sec | ETA 00:20:00\n";
  };
  const std::string two =
      "GPUs used: 2\n" + line(10, "1.0000", "2.0000", 10) + line(20, "1.0000", "2.0000", 20);
  const std::string four =
      "GPUs used: 4\n" + line(10, "2.0000", "4.0000", 30) + line(20, "2.0000", "4.0000", 50);
  const auto runs = read_text(two + four);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].facts.world(), 2);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 2);
  EXPECT_EQ(runs[1].facts.world(), 4);
  EXPECT_EQ(runs[1].facts.micro_batch_size.value, 8);

  const auto on = read_text(two + "GPUs used: 4\n" + line(30, "2.0000", "4.0000", 30) +
                            line(40, "2.0000", "4.0000", 50));
  ASSERT_EQ(on.size(), 2u) << "went on with other cards";
  EXPECT_EQ(on[0].facts.world(), 2);
  EXPECT_EQ(on[1].facts.world(), 4);

  const auto headless =
      read_text(line(10, "1.0000", "2.0000", 5) + line(20, "1.0000", "2.0000", 15) + two);
  ASSERT_EQ(headless.size(), 2u);
  EXPECT_FALSE(headless[0].facts.world().has_value()) << "another launch's are not its own";
}

// The first line of a launch may stand further in its epoch than the last of the one before.
TEST(SeveralRuns, BeginAgainWithAnEarlierEpoch) {
  const auto line = [](int epoch, int step, int second) {
    return "[07/21 14:40:" + std::to_string(second) + "] ppdet.engine INFO: Epoch: [" +
           std::to_string(epoch) + "] [" + std::to_string(step) +
           "/200] learning_rate: 2e-05 loss: 1.6 eta: 0:10:00 batch_cost: 0.5000 data_cost: "
           "0.0102 ips: 16.0000 images/s\n";
  };
  const auto runs = read_text(line(4, 100, 10) + line(5, 0, 15) + line(0, 100, 30) +
                              line(1, 0, 40) + line(1, 100, 50));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[1].records.size(), 3u);
}

TEST(SeveralRuns, OfDlloggerHaveTheArgumentsInFrontOfThem) {
  const auto launch = [](int hour, int batch, int world, const std::string& rate) {
    const std::string at = "DLL 2026-03-01 1" + std::to_string(hour) + ":00:0";
    const std::string ips = " None train.compute_ips : " + rate +
                            " images/s train.total_ips : " + rate + " images/s train.lr : 0.1 \n";
    return at + "0.500000 - PARAMETER arch : resnet50  batch_size : " + std::to_string(batch) +
           "  optimizer_batch_size : -1  amp : False  world_size : " + std::to_string(world) +
           " \n" + at + "1.000000 - Epoch: 0 Iteration: 1  train.loss : 7.0" + ips + at +
           "2.000000 - Epoch: 0 Iteration: 2  train.loss : 6.9" + ips + at +
           "3.000000 - Summary: train.loss : 6.9" + ips;
  };
  const auto runs = read_text(launch(0, 128, 1, "400.00") + launch(1, 256, 8, "6000.00"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].facts.world(), 1);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 128);
  EXPECT_EQ(runs[1].facts.world(), 8);
  EXPECT_EQ(runs[1].facts.micro_batch_size.value, 256);
}

TEST(SeveralRuns, OfNcfAreNotOne) {
  const auto launch = [](int hour, int batch, int world, const std::string& rate) {
    const std::string at = "DLL 2026-03-01 1" + std::to_string(hour) + ":00:0";
    std::string text = at + "0.500000 - PARAMETER batch_size : " + std::to_string(batch) +
                       "  negative_samples : 4  world_size : " + std::to_string(world) +
                       "  grads_accumulated : 1 \n";
    for (int i = 0; i < 4; ++i) {
      text += at + std::to_string(i + 1) + ".000000 - (" + std::to_string(i) +
              ",) train_throughput : " + rate + " samples/s train_epoch_time : 0.749 s\n";
    }
    return text + at + "6.000000 - () best_train_throughput : " + rate + " samples/s \n";
  };
  const auto runs = read_text(launch(0, 1024, 1, "2000.0") + launch(1, 4096, 8, "9000.0"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[3].printed_rate, 2000);
  EXPECT_EQ(runs[0].facts.world(), 1);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 1024);
  EXPECT_EQ(runs[1].records[3].printed_rate, 9000);
  EXPECT_EQ(runs[1].facts.world(), 8);
}

TEST(SeveralRuns, OfPaddleHaveTheCardsOfTheirCommandLine) {
  const auto steps = [](int hour) {
    std::string text;
    for (int i = 1; i <= 3; ++i) {
      text += "[2026-03-01 1" + std::to_string(hour) + ":00:0" + std::to_string(i) +
              ",000] [    INFO] - global step: " + std::to_string(10 * i) +
              ", epoch: 0, batch: 9, loss: 11.2, avg_reader_cost: 0.00 sec, avg_batch_cost: "
              "0.10000 sec, avg_samples: 96.00, ips: 960.00 sequences/sec\n";
    }
    return text;
  };
  const auto runs = read_text(
      "+ python -u run_pretrain.py --model_type bert --max_steps 30\n" + steps(0) +
      "INFO 2026-03-01 10:00:05,000 launch.py:402] Local processes completed.\n"
      "+ python -m paddle.distributed.launch --gpus=0,1,2,3 run_pretrain.py --max_steps 90\n" +
      steps(1));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].facts.world(), 1);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].facts.world(), 4);
  EXPECT_EQ(runs[1].outcome.status, Status::truncated);
}

TEST(SeveralRuns, OfNvlogHaveTheArgumentsInFrontOfThem) {
  const auto launch = [](const char* gpus, const char* batch) {
    const auto line = [](int second, const std::string& said) {
      return ":::NVLOGv0.2.3 resnet 1551882000." + std::to_string(second) +
             "00000000 (training/hooks.py:100) " + said + "\n";
    };
    std::string text = line(1, std::string("Num GPUs: ") + gpus) +
                       line(1, std::string("Per-GPU Batch Size: ") + batch);
    for (int i = 0; i < 4; ++i) {
      text += line(i + 2, "iteration: " + std::to_string(i)) + line(i + 2, "total_ips: 800.0");
    }
    return text + line(7, "Ending Model Training ...");
  };
  const auto runs = read_text(launch("1", "64") + launch("8", "128"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].facts.world(), 1);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 64);
  EXPECT_EQ(runs[1].facts.world(), 8);
  EXPECT_EQ(runs[1].facts.micro_batch_size.value, 128);
}

TEST(SeveralRuns, OfNcfInNvlogAreNotOne) {
  const auto launch = [](const std::string& rate) {
    std::string text;
    for (int i = 0; i < 4; ++i) {
      const std::string at =
          ":::NVLOGv0.2.3 ncf 155188200" + std::to_string(i) + ".0 (ncf.py:300) ";
      text += at + "train_epoch_start: " + std::to_string(i) + "\n" + at +
              "train_throughput: " + rate + "\n";
    }
    return text + ":::NVLOGv0.2.3 ncf 1551882005.0 (ncf.py:363) run_final\n";
  };
  const auto runs = read_text(launch("2000.0") + launch("9000.0"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.at(3).printed_rate, 2000);
  EXPECT_EQ(runs[1].records.at(3).printed_rate, 9000);
}

// Detectron2 appends to log.txt.
TEST(SeveralRuns, OfDetectronHaveTheBatchOfTheirOwnConfiguration) {
  const auto launch = [](int hour, const char* batch) {
    std::string text = std::string("SOLVER:\n  IMS_PER_BATCH: ") + batch + "\n  MAX_ITER: 90\n";
    for (int i = 0; i < 3; ++i) {
      text += "[11/01 1" + std::to_string(hour) + ":27:0" + std::to_string(i) +
              " d2.utils.events]:  eta: 0:08:00  iter: " + std::to_string(20 * i + 19) +
              "  total_loss: 1.9  time: 0.05  data_time: 0.01  lr: 0.01  max_mem: 900M\n";
    }
    return text;
  };
  const auto runs = read_text(launch(0, "16") + launch(1, "4"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 16);
  EXPECT_EQ(runs[1].facts.global_batch_size.value, 4);
}

// The first launch of each was killed or has ended; the second begins from scratch.
TEST(SeveralRuns, OfTfBeginWithTheirBanner) {
  const std::string tf = "INFO:tensorflow:";
  std::string launch = tf + "***** Running training *****\n" + tf + "  Batch size = 32\n";
  for (int i = 0; i < 3; ++i) launch += tf + "global_step/sec: 2." + std::to_string(i) + "\n";
  const auto runs = read_text(launch + launch);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), runs[1].records.size());
}

TEST(SeveralRuns, OfTacotronBehindTheEndOfTheLast) {
  std::string launch = "DLL 2020-03-24 12:48:27.1 - PARAMETER model_name : Tacotron2\n";
  for (int i = 0; i < 3; ++i) {
    const std::string at =
        "DLL 2020-03-24 12:48:3" + std::to_string(i) + ".5 - (0, " + std::to_string(i) + ") ";
    launch += at + "glob_iter/iters_per_epoch : " + std::to_string(i) + "/3\n" + at +
              "train_loss : 5.1\n" + at + "train_iter_time : 1.5\n";
  }
  launch += "DLL 2020-03-24 12:48:40.5 - () run_time : 13.5\n";
  const auto runs = read_text(launch + launch);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[1].records.size(), 3u);
}

TEST(SeveralRuns, DoNotTakeTheFailureOfALaunchBehindARunForItsOwn) {
  const std::string steps =
      "nohup: ignoring input\niter 0: loss 9.5, time 130.10ms, mfu 30.00%\n"
      "iter 10: loss 8.5, time 130.20ms, mfu 30.00%\n";
  const std::string next =
      "nohup: ignoring input\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 "
      "GiB\n";
  const auto outcome = [](const std::string& text) { return read_text(text).at(0).outcome; };
  EXPECT_EQ(outcome(steps + next).status, Status::truncated);
  EXPECT_THAT(detail_text(outcome(steps + next)),
              testing::HasSubstr("; a launch after it: out_of_memory (line 5): torch.Out"));
  const auto failed = outcome(steps + "Traceback (most recent call last):\n" +
                              "  File \"tune.py\", line 9, in f\n    g()\nKeyError: 'a'\n" + next);
  EXPECT_EQ(failed.status, Status::error);
  EXPECT_THAT(detail_text(failed),
              testing::StartsWith("KeyError: 'a'; a launch after it: out_of_mem"));
  const std::string done =
      "{'loss': 2.5, 'epoch': 0.02}\n{'train_runtime': 50.5, 'train_samples_per_second': 65.25, "
      "'train_steps_per_second': 2.125, 'epoch': 2.0}\n";
  EXPECT_EQ(outcome(done + next).status, Status::completed);
  EXPECT_THAT(detail_text(outcome(done + next)),
              testing::StartsWith("a launch after it: out_of_mem"));
  EXPECT_EQ(detail_text(outcome(done)), "");
  // torchrun says so on each node: logs one behind the other may be those of one job.
  const std::string node =
      "Setting OMP_NUM_THREADS environment variable for each process to be 1\n";
  EXPECT_EQ(outcome(steps + node + next.substr(next.find('\n') + 1)).status, Status::out_of_memory);
}

}  // namespace
}  // namespace bertbench
