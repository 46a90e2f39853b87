#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/notice_text.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string pretraining(int step, const std::string& time) {
  return "INFO:root:[step " + std::to_string(step) +
         "]\tmlm_loss=9.24962\tmlm_acc=5.01887\tnsp_loss=0.68673\tnsp_acc=54.751\t"
         "throughput=122.0K tks/s\tlr=0.0000025 time=" +
         time + "\n";
}

TEST(Gluonnlp, TakesTheTimeOfAPretrainingIntervalAndKeepsTokensTokens) {
  const auto runs = read_text(
      "INFO:root:Namespace(accumulate=2, batch_size=16, gpus='0,1,2,3,4,5,6,7', "
      "kvstore='device_sync', log_interval=250, start_step=0)\n" +
      pretraining(249, "163.24") + pretraining(499, "108.43") + pretraining(749, "140.77"));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.records[0].iterations, 250);
  EXPECT_EQ(run.records[1].iterations, 250);
  EXPECT_EQ(run.records[1].seconds, 108.43);
  EXPECT_EQ(run.records[1].printed_rate, 122000);
  EXPECT_EQ(run.rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 16 * 2 * 8);
  EXPECT_EQ(run.iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(run.facts.framework.value, "mxnet");
}

// The tokens are those of one worker, without padding: over the length they are no sequences.
TEST(Gluonnlp, MakesNoSequencesOfTheTokensOfAWorker) {
  const std::string lines = pretraining(49, "32.0") + pretraining(99, "32.0");
  for (const char* backend : {"horovod", "byteps", "device"}) {
    const auto runs = read_text(
        "INFO:root:Namespace(accumulate=4, comm_backend='" + std::string(backend) +
        "', log_interval=50, max_seq_length=512, num_steps=1000, total_batch_size=256)\n" + lines);
    ASSERT_EQ(runs.size(), 1u) << backend;
    EXPECT_TRUE(std::isnan(runs[0].records.at(1).printed_rate)) << backend;
    EXPECT_EQ(runs[0].records.at(1).seconds, 32) << backend;
    EXPECT_EQ(runs[0].facts.global_batch_size.value, 256) << backend;
  }
}

// A line of 0.10: the time, and the latency of a step, which is finer.
std::string step_line(int step, double latency_ms, const char* learning_rate = "0.0000900",
                      int interval = 1) {
  const double seconds = latency_ms * interval / 1000;
  char text[256];
  std::snprintf(
      text, sizeof text,
      "INFO:root:[step %d]\tmlm_loss=7.25000\tmlm_acc=1.50\tnsp_loss= 0.62\tnsp_acc=50.00\t"
      "throughput=0.1K tks/s\tlr=%s time=%.2f, latency=%.1f ms/step\n",
      step, learning_rate, seconds, latency_ms);
  return text;
}

std::string evaluation_of(int steps, const char* cost) {
  std::string out = "INFO:root:1 files are found.\nINFO:root:Running evaluation ... \n";
  for (int step = 1; step <= steps; ++step) out += step_line(step, 400.0, "0.0000000");
  return out + "INFO:root:Eval mlm_loss=6.070\tmlm_acc=0.0\tnsp_loss=5.340\tnsp_acc=50.0\t\n" +
         "INFO:root:Eval cost=" + cost + "s\n";
}

const std::string kPretraining =
    "INFO:root:Namespace(ckpt_dir='out', log_interval=1, model='bert_24_1024_16', "
    "total_batch_size=8, accumulate=2, num_steps=7, optimizer='bertadam', start_step=0, "
    "dtype='float32', total_batch_size_eval=4, max_seq_length=32, phase2=False, "
    "phase1_num_steps=None, comm_backend='device', gpus=None)\n"
    "INFO:root:environ({'LANG': 'C.UTF-8'})\nINFO:root:Training started\n";

TEST(GluonnlpEvaluation, WithinATrainingIsNoneOfItsStepsAndDoesNotEndIt) {
  const auto runs = read_text(kPretraining + step_line(1, 7198.6) + step_line(2, 3848.4) +
                              step_line(3, 3848.4) + evaluation_of(4, "1.8") +
                              step_line(4, 5800.4) + step_line(5, 3848.4) + step_line(6, 3848.4) +
                              "INFO:root:[step 7] Saving trainer states to out/0000007.states.00.\n"
                              "INFO:root:[step 7] Saving model params to out/0000007.params.\n"
                              "INFO:root:Train cost=40.5s\n" +
                              evaluation_of(4, "1.7"));
  ASSERT_EQ(runs.size(), 2u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.kind, WorkKind::training);
  ASSERT_EQ(run.records.size(), 6u);
  EXPECT_EQ(run.records[0].step, 1);
  EXPECT_EQ(run.records[0].iterations, 1);
  EXPECT_EQ(run.records[5].step, 6);
  EXPECT_DOUBLE_EQ(run.records[1].seconds, 3.8484) << "of the latency, not 3.85 of the time";
  EXPECT_DOUBLE_EQ(run.records[3].seconds, 5.8004) << "as the script counts, evaluation included";
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_EQ(run.outcome.step, 7) << "a checkpoint tells of the step that has no line";
  EXPECT_EQ(run.totals.training_s, 40.5);
  EXPECT_EQ(run.totals.optimizer_steps, 7);
  EXPECT_EQ(run.totals.first_optimizer_step, 0);
  EXPECT_THAT(run.notices, testing::Contains(NoticeText(testing::HasSubstr("1.8 s in all"))));
  EXPECT_EQ(run.facts.model.value, "bert-large");
  EXPECT_EQ(run.facts.world(), 1);
  EXPECT_EQ(run.facts.global_batch_size.value, 8);
  EXPECT_EQ(run.facts.gradient_accumulation_steps.value, 2);
  EXPECT_EQ(run.facts.precision.value, "fp32");
  EXPECT_EQ(run.facts.sequence_length.value, 32);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[1].records.size(), 8u) << "both evaluations";
  EXPECT_EQ(runs[1].records.back().step, 8);
  EXPECT_NEAR(*runs[1].totals.training_s, 3.5, 1e-9);
  EXPECT_EQ(runs[1].facts.sequences_per_micro_step(), 2);
  EXPECT_EQ(runs[1].outcome.status, Status::completed);
}

TEST(GluonnlpEvaluation, ThatIsCutLeavesTheTrainingAsItWas) {
  const std::string head = kPretraining + step_line(1, 4000) + step_line(2, 4000);
  const auto cut =
      read_text(head + "INFO:root:Running evaluation ... \n" + step_line(1, 400, "0.0000000"));
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0].records.size(), 2u);
  EXPECT_EQ(cut[0].outcome.status, Status::truncated);
  EXPECT_EQ(cut[1].kind, WorkKind::evaluation);
  // Its end was not told, but a learning rate is training's.
  const auto on = read_text(head + "INFO:root:Running evaluation ... \n" +
                            step_line(1, 400, "0.0000000") + step_line(3, 4000));
  ASSERT_EQ(on.size(), 2u);
  EXPECT_EQ(on[0].records.size(), 3u);
  EXPECT_EQ(on[1].records.size(), 1u);
}

TEST(Gluonnlp, AResumedRunCountsItsOwnSteps) {
  std::string head = kPretraining;
  head.replace(head.find("start_step=0"), 12, "start_step=40");
  head.replace(head.find("log_interval=1"), 14, "log_interval=5");
  const auto runs = read_text(head + step_line(45, 4000.0, "0.0000100", 5) +
                              step_line(50, 3000.0, "0.0000100", 5) +
                              "INFO:root:[step 50] Saving model params to out/0000050.params.\n"
                              "INFO:root:Train cost=36.0s\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.at(0).iterations, 5);
  EXPECT_EQ(runs[0].records.at(0).seconds, 20);
  EXPECT_EQ(runs[0].totals.first_optimizer_step, 40);
  EXPECT_EQ(runs[0].totals.optimizer_steps, 10);
}

TEST(Gluonnlp, TellsTheWorkersOfHorovod) {
  std::string head = kPretraining;
  head.replace(head.find("comm_backend='device'"), 21, "comm_backend='horovod'");
  const std::string steps = step_line(1, 4000) + step_line(2, 4000);
  EXPECT_FALSE(read_text(head + steps).at(0).facts.world()) << "nothing tells of them";
  const auto told =
      read_text(head + "INFO:root:args.num_buckets: 1, num_workers: 2, rank: 0\n" + steps);
  EXPECT_EQ(told.at(0).facts.world(), 2);
  // Of 8 x 32 tokens a step in 4 s one worker has 64, 32 or less: 0.1K is one worker's, 0.0K is
  // not.
  std::string synthetic = head;
  synthetic.replace(synthetic.find("phase2=False"), 12, "synthetic_data=True");
  const auto printed = [](std::string line, const char* rate) {
    return line.replace(line.find("throughput=0.1K"), 15, std::string("throughput=") + rate);
  };
  const auto tokens = read_text(synthetic + printed(step_line(1, 4000), "0.0K") +
                                printed(step_line(2, 2400), "0.1K"));
  EXPECT_EQ(tokens.at(0).facts.world(), 2);
  EXPECT_THAT(tokens[0].notices,
              testing::Contains(NoticeText(testing::HasSubstr("tokens/s of one worker"))));
  EXPECT_FALSE(read_text(synthetic + printed(step_line(1, 4000), "0.0K")).at(0).facts.world())
      << "2 or 4";
  head.replace(head.find("{'LANG'"), 7,
               "{'OMPI_COMM_WORLD_SIZE': '4', 'OMPI_COMM_WORLD_LOCAL_SIZE': '2', 'LANG'");
  const auto launched = read_text(head + steps);
  EXPECT_EQ(launched.at(0).facts.nodes.value, 2);
  EXPECT_EQ(launched.at(0).facts.gpus_per_node.value, 2);
}

TEST(Gluonnlp, ReadsFineTuningByItsStampsAndPredictionApart) {
  const auto runs = read_text(
      "INFO:root:23:59:50 Namespace(accumulate=None, batch_size=32, gpu=0)\n"
      "INFO:root:23:59:58 [Epoch 1 Batch 10/25] loss=0.6015, lr=0.0000032, metrics:accuracy:0.7\n"
      "INFO:root:00:00:03 [Epoch 1 Batch 20/25] loss=0.6194, lr=0.0000067, metrics:accuracy:0.6\n"
      "INFO:root:00:00:04 Time cost=1.14s, throughput=357.62 samples/s\n"
      "INFO:root:00:00:09 [Epoch 2 Batch 10/25] loss=0.5, lr=0.0000102, metrics:accuracy:0.6\n"
      "INFO:root:00:00:19 Time cost=4.00s, throughput=431.65 samples/s\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 35);
  EXPECT_NEAR(runs[0].records[2].time_s, 11 - 1.14, 1e-9) << "across midnight, evaluation left out";
  EXPECT_EQ(runs[0].clock_resolution_s, 1);
  EXPECT_FALSE(runs[0].summary) << "a prediction's rate is none of training";
  EXPECT_EQ(runs[1].kind, WorkKind::inference);
  EXPECT_EQ(runs[1].summary->value, 431.65);
}

TEST(Gluonnlp, ReadsSquadsMisspelledRate) {
  const std::string head = "INFO:gluonnlp:06:10:43 Epoch: 0, Batch: ";
  const auto runs = read_text(
      head + "299/22161, Loss=5.4315, lr=0.0000020 Time cost=83.7 Thoughput=14.33 samples/s\n" +
      head + "599/22161, Loss=5.1601, lr=0.0000041 Time cost=83.8 Thoughput=14.32 samples/s\n" +
      "INFO:gluonnlp:09:33:39 start prediction\n"
      "INFO:gluonnlp:09:36:39 Time cost=180.52 s, Thoughput=60.01 samples/s\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records[0].iterations, 300);
  EXPECT_EQ(runs[0].records[1].iterations, 300);
  EXPECT_EQ(runs[0].records[1].printed_rate, 14.32);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[1].summary->value, 60.01);
}

// The end of a training epoch and that of the prediction are told in the same words.
TEST(Gluonnlp, TellsAnEpochOfTrainingFromThePrediction) {
  const auto runs = read_text(
      "INFO:gluonnlp:06:10:43 Epoch: 0, Batch: 49/100, Loss=5.4, lr=0.0000020 Time cost=80.0 "
      "Thoughput=14.00 samples/s\n"
      "INFO:gluonnlp:06:12:03 Time cost=160.00 s, Thoughput=13.90 samples/s\n"
      "INFO:gluonnlp:06:13:03 start prediction\n"
      "INFO:gluonnlp:06:14:03 Time cost=60.00 s, Thoughput=60.01 samples/s\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  EXPECT_EQ(runs[0].summary->value, 13.9);
  EXPECT_EQ(runs[1].kind, WorkKind::inference);
  EXPECT_EQ(runs[1].summary->value, 60.01);
}

TEST(Gluonnlp, TakesNoRateFromAnEpochLineThatCountsBatches) {
  const auto runs = read_text(
      "INFO:gluonnlp:06:10:43 Epoch: 0, Batch: 49/100, Loss=5.4, lr=0.0000020 Time cost=80.0 "
      "Thoughput=14.00 samples/s\n"
      "INFO:gluonnlp:06:12:03 Epoch: 0, Time cost=160.00 s, Thoughput=0.62 samples/s\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  EXPECT_FALSE(runs[0].summary);
}

// The first line of an epoch counts the samples behind the last line of the epoch before, too.
TEST(Gluonnlp, TakesTheSamplesOfTheEpochBeforeOffTheFirstRate) {
  const auto line = [](const std::string& at, const std::string& cost) {
    return "INFO:gluonnlp:06:10:43 Epoch: " + at + ", Loss=1.4, lr=0.0000020 Time cost=" + cost +
           " samples/s\n";
  };
  const std::string head = line("0, Batch: 49/140", "40.0 Thoughput=15.00") +
                           line("0, Batch: 99/140", "40.0 Thoughput=15.00");
  const auto runs = read_text(head + line("1, Batch: 49/140", "41.0 Thoughput=26.34") +
                              line("1, Batch: 99/140", "40.0 Thoughput=15.00"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[2].step, 190);
  EXPECT_EQ(runs[0].records[2].iterations, 50);
  EXPECT_NEAR(runs[0].records[2].printed_rate, 26.34 * 50 / 90, 1e-9);
  EXPECT_EQ(runs[0].records[3].iterations, 50);
  // Where the samples begin anew as the clock does, the rate is right as it is.
  const auto anew = read_text(head + line("1, Batch: 49/140", "41.0 Thoughput=14.63"));
  ASSERT_EQ(anew.size(), 1u);
  EXPECT_EQ(anew[0].records.at(2).printed_rate, 14.63);
  // And where neither does, the interval is of both epochs.
  const auto through = read_text(head + line("1, Batch: 49/140", "73.0 Thoughput=14.80"));
  ASSERT_EQ(through.size(), 1u);
  EXPECT_EQ(through[0].records.at(2).printed_rate, 14.8);
  EXPECT_EQ(through[0].records.at(2).iterations, 90);
}

// The time of a line is that of its own 50 batches, however many are missing in front of it.
TEST(Gluonnlp, CountsAnIntervalWhereLinesWereLeftOut) {
  const auto line = [](const std::string& batch) {
    return "INFO:gluonnlp:06:10:43 Epoch: 0, Batch: " + batch +
           "/940, Loss=1.4, lr=0.0000020 Time cost=40.0 Thoughput=15.00 samples/s\n";
  };
  const auto runs = read_text(line("49") + line("99") + line("849") + line("899"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[2].step, 850);
  EXPECT_EQ(runs[0].records[2].iterations, 50);
  EXPECT_EQ(runs[0].records[2].printed_rate, 15);
}

TEST(Gluonnlp, ReadsSquadWithoutEpochs) {
  const std::string head = "INFO:gluonnlp:11:22:";
  const std::string tail = "/7387, Loss=4.1048, lr=0.0000065 Thoughput=45.02 samples/s\n";
  const std::string lines = head + "28 Batch: 7299" + tail + head + "41 Batch: 7349" + tail + head +
                            "54 Batch: 12" + tail + head + "58 Batch: 62" + tail;
  const auto runs = read_text("Namespace(batch_size=12, comm_backend='device')\n" + lines);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[1].iterations, 50);
  EXPECT_EQ(runs[0].records[2].iterations, 50) << "across the end of an epoch";
  EXPECT_EQ(runs[0].records[3].step, 7387 + 63);
  EXPECT_EQ(runs[0].records[3].printed_rate, 45.02);
  const auto workers = read_text("Namespace(batch_size=12, comm_backend='horovod')\n" + lines);
  EXPECT_EQ(workers.at(0).rate_unit, RateUnit::unknown) << "45.02 is one worker's";
}

TEST(Gluonnlp, ReadsTheScriptsOfRelease1) {
  const auto squad = read_text(
      "2020-07-11 00:37:18,464 - root - INFO - Epoch: 1, Batch: 3900/8164, Loss "
      "span/answer/total=0.7729/0.1773/0.9502, LR=0.00001868, grad_norm=21.5925. Time cost=90.67, "
      "Throughput=52.94 samples/s ETA=1.70h\n"
      "2020-07-11 00:38:47,375 - root - INFO - Epoch: 1, Batch: 4200/8164, Loss "
      "span/answer/total=0.7711/0.1762/0.9473, LR=0.00001841, grad_norm=20.0461. Time cost=88.91, "
      "Throughput=53.99 samples/s ETA=1.67h\n"
      "2020-07-11 00:40:14,275 - root - INFO - Time cost=20.500000 s, Thoughput=520.00 "
      "samples/s\n");
  ASSERT_EQ(squad.size(), 2u);
  EXPECT_EQ(squad[0].records.at(0).step, 3900);
  EXPECT_EQ(squad[0].records.at(1).iterations, 300);
  EXPECT_EQ(squad[0].records.at(1).seconds, 88.91);
  EXPECT_EQ(squad[0].records.at(1).printed_rate, 53.99);
  EXPECT_EQ(squad[0].records.at(1).loss, 0.9473);
  EXPECT_EQ(squad[1].kind, WorkKind::inference);
  const auto steps = read_text(
      "2020-07-11 00:37:18,464 - root - INFO - Step: 50/7387, Loss span/answer/total=0.7/0.1/0.8, "
      "LR=0.00001868, grad_norm=21.5925. Time cost=10.00, Throughput=240.00 samples/s ETA=1.70h\n"
      "2020-07-11 00:37:28,464 - root - INFO - Step: 100/7387, Loss span/answer/total=0.7/0.1/0.8, "
      "LR=0.00001868, grad_norm=21.5925. Time cost=10.00, Throughput=240.00 samples/s ETA=1.70h\n");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(steps[0].records.at(1).iterations, 50);
  EXPECT_EQ(steps[0].records.at(1).loss, 0.8);
  EXPECT_EQ(steps[0].rate_unit, RateUnit::sequences_per_second);
  const auto pretraining = read_text(
      "2020-07-11 00:37:18,464 - root - INFO - [step 100], Loss mlm/nsp=7.10000/0.600, Acc "
      "mlm/nsp=0.100/0.600,  LR=0.0000100, grad_norm=1.2000. Time cost=20.00 s, "
      "Throughput=122.0K tks/s, ETA=9.90 h\n"
      "2020-07-11 00:37:38,464 - root - INFO - [step 200], Loss mlm/nsp=7.00000/0.600, Acc "
      "mlm/nsp=0.100/0.600,  LR=0.0000100, grad_norm=1.2000. Time cost=20.00 s, "
      "Throughput=122.0K tks/s, ETA=9.90 h\n");
  ASSERT_EQ(pretraining.size(), 1u);
  EXPECT_EQ(pretraining[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(pretraining[0].records.at(1).printed_rate, 122000);
  EXPECT_EQ(pretraining[0].records.at(1).step, 200);
  EXPECT_EQ(pretraining[0].records.at(1).loss, 7);
}

TEST(Gluonnlp, KeepsWordsPerSecondApartFromSequences) {
  const auto runs = read_text(
      "2018-06-25 19:21:20,799 - root - [Epoch 0 Batch 800/34064] loss=10.3670, ppl=31793.0480, "
      "throughput=54.01K wps, wc=6521.39K\n"
      "2018-06-25 19:23:08,412 - root - [Epoch 0 Batch 1600/34064] loss=9.9823, ppl=21639.1107, "
      "throughput=60.65K wps, wc=6526.33K\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(runs[0].records[1].printed_rate, 60650);
  EXPECT_NEAR(runs[0].records[1].time_s, 107.613, 1e-6);
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known());
}

TEST(Gluonnlp, TellsANanLossOfSegmentationAndTheLaunchBehindIt) {
  const std::string start = "Namespace(batch_size=16, kvstore='device', ngpus=8)\n";
  const auto runs = read_text(start + "Epoch 0 iteration 0020/1263: training loss nan\n" + start +
                              "Epoch 0 iteration 0020/1263: training loss 3.1\n"
                              "Epoch 1 iteration 0020/1263: training loss 2.1\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[1].outcome.status, Status::truncated);
  EXPECT_EQ(runs[1].records[1].step, 1283);
  EXPECT_THAT(text_of(runs[1].notices.back()), testing::HasSubstr("losses only"));
}

TEST(Gluonnlp, IsNotMisledByOtherLinesWithSamplesPerSecond) {
  EXPECT_TRUE(read_text("throughput 14.3 samples/s\n[Epoch 1] done, 12 samples/s\n").empty());
}

TEST(Gluonnlp, TakesNoWorldFromTheListOfGpusThatHorovodDoesNotUse) {
  const std::string line =
      "2020-07-11 01:18:24,537 - root - INFO - [step 100], Loss mlm/rtd/total=9.5/0.6/10.1, "
      "LR=0.000011, grad_norm=33.4706. Time cost=20.00, Throughput=640.00 samples/s, "
      "ETA=55.00h\n";
  const auto workers =
      read_text("Namespace(batch_size=32, comm_backend='horovod', gpus='0')\n" + line);
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_FALSE(workers[0].facts.world());
  EXPECT_EQ(workers[0].rate_unit, RateUnit::unknown);
  const auto one =
      read_text("Namespace(batch_size=32, comm_backend='device', gpus='0,1')\n" + line);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].facts.world(), 2);
}

// Fine-tuning of the first releases tells the time of whole epochs only.
TEST(Gluonnlp, TakesTheTimesOfEpochs) {
  const auto epoch = [](const std::string& n, const std::string& seconds) {
    return "INFO:root:[Epoch " + n +
           " Batch 50/120] loss=0.5, lr=0.00001, metrics=accuracy:0.75\n" + "INFO:root:[Epoch " +
           n + " Batch 100/120] loss=0.25, lr=0.00001, metrics=accuracy:0.8\n" +
           "INFO:root:validation metrics:accuracy:0.75\nINFO:root:Time cost=" + seconds + "s\n";
  };
  const auto runs = read_text(epoch("1", "40.0") + epoch("2", "30.0") + epoch("3", "30.0"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u) << "an epoch is a record";
  EXPECT_EQ(runs[0].records[2].step, 360);
  EXPECT_EQ(runs[0].records[2].iterations, 120);
  EXPECT_NEAR(runs[0].records[2].time_s - runs[0].records[0].time_s, 60, 1e-9);
  EXPECT_EQ(runs[0].totals.training_s, 100);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("evaluation and saving"));
}

TEST(Gluonnlp, TheLastOfThePlannedEpochsEndsTheRun) {
  const auto log = [](const std::string& stamp, int epochs) {
    std::string text = "INFO:root:" + stamp +
                       "Namespace(accumulate=None, batch_size=16, epochs=2, gpu=True, lr=3e-05)\n";
    for (int epoch = 1; epoch <= epochs; ++epoch) {
      text += "INFO:root:" + stamp + "[Epoch " + std::to_string(epoch) +
              " Batch 100/120] loss=0.25, lr=0.00001, metrics=accuracy:0.8\nINFO:root:" + stamp +
              "Time cost=40.0s\n";
    }
    return text;
  };
  for (const char* stamp : {"", "10:20:30 "}) {
    EXPECT_EQ(read_text(log(stamp, 2)).at(0).outcome.status, Status::completed) << stamp;
    EXPECT_EQ(read_text(log(stamp, 1)).at(0).outcome.status, Status::truncated) << stamp;
  }
}

TEST(Gluonnlp, XlnetDividesItsBatchAmongItsGpus) {
  const std::string lines =
      " - root - INFO - [Epoch 1 Batch 10/40] loss=0.5, lr=0.0000294, metrics:accuracy:0.5\n";
  const auto log = [&](const std::string& batch, const std::string& gpus) {
    return read_text(
               "2019-10-01 02:00:00,000 - root - INFO - Namespace(accumulate=None, batch_size=" +
               batch + ", cpu=None, epochs=3, gpu=" + gpus +
               ", max_len=128, model_name='xlnet_cased_l12_h768_a12', task_name='RTE')\n"
               "2019-10-01 02:00:10,000" +
               lines)
        .at(0)
        .facts;
  };
  Facts facts = log("32", "4");
  EXPECT_EQ(facts.micro_batch_size.value, 8);
  EXPECT_EQ(facts.global_batch_size.value, 32);
  EXPECT_EQ(facts.world_size.value, 4);
  EXPECT_EQ(facts.gradient_accumulation_steps.value, 1);
  facts = log("30", "4");
  EXPECT_FALSE(facts.micro_batch_size.known());
  EXPECT_EQ(facts.global_batch_size.value, 30);
  EXPECT_EQ(log("32", "None").micro_batch_size.value, 32);
}

TEST(Gluonnlp, SegmentationEndsWithTheLastLineOfItsLastEpoch) {
  const std::string head = "Namespace(batch_size=16, epochs=2, kvstore='device', ngpus=8)\n";
  const auto line = [](const std::string& at) {
    return "Epoch " + at + "/1263: training loss 0.150\n";
  };
  const std::string log = head + line("0 iteration 1250") + line("1 iteration 1240");
  const auto status = [](const std::string& text) { return read_text(text).at(0).outcome.status; };
  EXPECT_EQ(status(log), Status::truncated);
  EXPECT_EQ(status(log + line("1 iteration 1260") + "Epoch 1 validation pixAcc: 0.813\n"),
            Status::completed);
  EXPECT_EQ(status(line("0 iteration 1250") + line("1 iteration 1250")), Status::truncated);
  EXPECT_EQ(status(line("1 iteration 1250") + "Training Finished! Total training time is 5h 8m\n"),
            Status::completed);
}

// The time of the first line is that of 300 batches, not of all 3900 that its counter tells.
// An epoch's last batches have no line.
TEST(Gluonnlp, InferenceEndsWithTheValidationOfItsLastEpoch) {
  const auto epoch = [](int number) {
    const std::string name = "main.py:train_model: [Epoch " + std::to_string(number);
    return name + " Batch 400/900] loss=0.8788, acc=0.5817\n" + name +
           " Batch 800/900] loss=0.6767, acc=0.7151\n" + name +
           "] valid loss=0.4780, valid acc=0.8154, best valid acc=0.8154\n";
  };
  const std::string head =
      "main.py:train_model: {'gpu_id': 0, 'train_file': 'data/train.txt', 'batch_size': 24, "
      "'print_interval': 400, 'model': 'esim', 'epochs': 2, 'seed': 0}\n";
  const auto whole = read_text(head + epoch(0) + epoch(1));
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].outcome.status, Status::completed);
  EXPECT_EQ(whole[0].facts.micro_batch_size.value, 24);
  EXPECT_EQ(whole[0].facts.world(), 1);
  for (const std::string& cut : {head + epoch(0), epoch(0) + epoch(1)}) {
    EXPECT_EQ(read_text(cut).at(0).outcome.status, Status::truncated) << cut;
  }
}

TEST(Gluonnlp, ALogWithoutItsHeadCountsItsFirstLineAsOneInterval) {
  const auto runs = read_text(
      "2020-07-11 00:37:18,464 - root - INFO - Epoch: 1, Batch: 3900/8164, Loss "
      "span/answer/total=0.7729/0.1773/0.9502, LR=0.00001868, grad_norm=21.5925. Time cost=90.67, "
      "Throughput=52.94 samples/s ETA=1.70h\n"
      "2020-07-11 00:38:47,375 - root - INFO - Epoch: 1, Batch: 4200/8164, Loss "
      "span/answer/total=0.7711/0.1762/0.9473, LR=0.00001841, grad_norm=20.0461. Time cost=88.91, "
      "Throughput=53.99 samples/s ETA=1.67h\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].step, 3900);
  EXPECT_EQ(runs[0].records[0].iterations, 300);
  EXPECT_EQ(runs[0].records[1].iterations, 300);
  EXPECT_EQ(runs[0].records[0].printed_rate, 52.94);
}

TEST(Gluonnlp, ReadsPretrainingLinesThatTellNoTime) {
  const auto runs = read_text(
      "INFO:root:[step 99]\tmlm_loss=7.1\tmlm_acc=12.3\tnsp_loss=0.6\tnsp_acc=60.1\t"
      "throughput=14.2K tks/s\tlr=0.0000100\n"
      "INFO:root:[step 199]\tmlm_loss=7.0\tmlm_acc=12.3\tnsp_loss=0.6\tnsp_acc=60.1\t"
      "throughput=14.4K tks/s\tlr=0.0000200\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 200);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 14400);
  EXPECT_TRUE(std::isnan(runs[0].records[1].seconds));
}

// The words of an interval over their rate are its time, without the validation in front of it.
TEST(Gluonnlp, TakesTheTimeOfATranslationsIntervalFromItsWords) {
  const auto line = [](const std::string& time, int epoch, int batch) {
    return "2018-06-25 19:" + time + " - root - [Epoch " + std::to_string(epoch) + " Batch " +
           std::to_string(batch) +
           "/250] loss=10.5, ppl=31793.5, throughput=50.00K wps, wc=500.00K\n";
  };
  const auto runs = read_text(line("00:10,000", 0, 100) + line("00:20,000", 0, 200) +
                              line("10:35,000", 1, 100) + line("10:45,000", 1, 200));
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 4u);
  for (const Record& record : records) {
    EXPECT_EQ(record.iterations, 100);
    EXPECT_NEAR(record.seconds, 10, 1e-9);
  }
  EXPECT_EQ(records[2].step, 350);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
}

}  // namespace
}  // namespace bertbench
