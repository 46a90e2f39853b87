#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/mllog_line.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string head() {
  return mllog(900, "submission_benchmark", "\"bert\"") + mllog(900, "global_batch_size", "1024") +
         mllog(900, "max_sequence_length", "512") + mllog(900, "train_samples", "156811560") +
         mllog(1000, "run_start");
}
std::string evaluation(std::int64_t time_ms, int samples, const std::string& file = "run.py") {
  return mllog(time_ms, "eval_accuracy", "0.7",
               "\"file\": \"" + file + "\", \"epoch_num\": " + std::to_string(samples));
}
const std::string kSuccess = "\"status\": \"success\"";

TEST(Mlperf, DividesTheSamplesAtTheLastEvaluationByTheOfficialTime) {
  const auto runs = read_text(head() + evaluation(5000, 100000) + evaluation(10000, 250000) +
                              mllog(11000, "run_stop", "null", kSuccess));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].totals.training_s, 10);
  EXPECT_EQ(runs[0].totals.sequences, 250000);
  EXPECT_EQ(runs[0].summary->value, 25000);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 1024);
  EXPECT_EQ(runs[0].facts.sequence_length.value, 512);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

// Most statements are passed over by the text of their key; here that text does not tell.
TEST(Mlperf, ReadsStatementsWhoseKeyDoesNotStandFirst) {
  const auto stop = [](const std::string& object) {
    return read_text(head() + evaluation(10000, 250000) + ":::MLLOG {" + object + "}\n");
  };
  for (
      const char* object :
      {R"("metadata": {"key": "epoch", "status": "success"}, "time_ms": 11000, "key": "run_stop")",
       R"("note": "a \"key\": \"x\"", "time_ms": 11000, "key": "run_stop", "metadata": {"status": "success"})",
       R"("key":"run_stop","time_ms":11000,"metadata":{"status":"success"})"}) {
    const auto runs = stop(object);
    ASSERT_EQ(runs.size(), 1u) << object;
    EXPECT_EQ(runs[0].totals.training_s, 10) << object;
    EXPECT_EQ(runs[0].outcome.status, Status::completed) << object;
  }
  EXPECT_NE(stop(R"("key": "run_stop", "time_ms": 11000, "metadata": {"status": "succ)")
                .at(0)
                .outcome.status,
            Status::completed);
}

TEST(Mlperf, ReadsTimesInSeconds) {
  const auto at = [](const char* time_s, const std::string& key, const std::string& said) {
    return ":::MLLOG {\"value\": null, \"metadata\": {" + said + "}, \"key\": \"" + key +
           "\", \"namespace\": \"\", \"time_s\": " + time_s + ", \"event_type\": \"X\" }\n";
  };
  const auto runs = read_text(at("1600000000.500", "run_start", "") +
                              at("1600000005.000", "eval_accuracy", "\"epoch_num\": 100000") +
                              at("1600000010.500", "eval_accuracy", "\"epoch_num\": 250000") +
                              at("1600000010.750", "run_stop", kSuccess));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].totals.training_s, 10.25);
}

TEST(Mlperf, TakesTheTrackedThroughputBehindTheEndAndChecksIt) {
  const auto log = [](const std::string& rate) {
    return head() + mllog(3000, "tracked_stats", "{\"throughput\": 99.0}") +
           evaluation(10000, 250000) + mllog(10500, "tracked_stats", "{\"throughput\": 98.0}") +
           mllog(11000, "run_stop", "null", kSuccess) +
           mllog(11000, "tracked_stats", "{\"throughput\": " + rate + "}");
  };
  const auto good = read_text(log("25010.5"));
  EXPECT_EQ(good.at(0).summary->value, 25010.5);
  EXPECT_TRUE(good[0].notices.empty());
  const auto far = read_text(log("40000"));
  EXPECT_THAT(text_of(far.at(0).notices.at(0)), testing::HasSubstr("60.0 % above"));
}

TEST(Mlperf, TakesASamplesCountOfAnyBenchmarkAndTellsAnIntervalsRate) {
  const std::string llama = mllog(900, "submission_benchmark", "\"llama2_70b_lora\"") +
                            mllog(900, "global_batch_size", "8") + mllog(1000, "run_start") +
                            mllog(9000, "tracked_stats", "{\"throughput\": 99.0}");
  const auto counted = read_text(
      llama + mllog(10000, "eval_accuracy", "0.93", "\"file\": \"x\", \"samples_count\": 2400") +
      mllog(11000, "run_stop", "null", kSuccess));
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_EQ(counted[0].totals.sequences, 2400);
  EXPECT_EQ(counted[0].summary->value, 240) << "99 is that of an interval";
  // A count that does not grow is that of a block.
  const std::string block =
      mllog(10000, "eval_accuracy", "0.93", "\"file\": \"x\", \"samples_count\": 384");
  const auto blocks = read_text(llama + block + block + mllog(11000, "run_stop", "null", kSuccess));
  EXPECT_FALSE(blocks.at(0).totals.sequences);
  const auto untold = read_text(llama + mllog(11000, "run_stop", "null", kSuccess));
  EXPECT_EQ(untold.at(0).summary->value, 99);
  EXPECT_THAT(text_of(untold[0].notices.at(0)), testing::HasSubstr("in front of run_stop"));
}

TEST(Mlperf, CountsAnAbortedRunAsAFailureWithoutARate) {
  const auto runs = read_text(head() + evaluation(10000, 250000) +
                              mllog(11000, "run_stop", "null", "\"status\": \"aborted\""));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::error);
  EXPECT_THAT(detail_text(runs[0].outcome), testing::HasSubstr("aborted"));
  EXPECT_FALSE(runs[0].summary);
  EXPECT_FALSE(runs[0].totals.sequences);
}

TEST(Mlperf, SaysThatNoThroughputCanBeHadWhereSamplesAreNotTold) {
  for (const auto& last : {evaluation(10000, 6), evaluation(10000, 616000, "composer/mlperf.py")}) {
    const auto runs = read_text(head() + last + mllog(11000, "run_stop", "null", kSuccess));
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_FALSE(runs[0].summary);
    EXPECT_FALSE(runs[0].totals.sequences);
    EXPECT_EQ(runs[0].totals.training_s, 10);
    EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("no throughput can be had"));
  }
}

TEST(Mlperf, TakesTrainSamplesOnlyWhenTheyAreStatedAtTheEnd) {
  const auto runs =
      read_text(head() + evaluation(10000, 1) + mllog(10900, "train_samples", "300000") +
                mllog(11000, "run_stop", "null", kSuccess));
  EXPECT_EQ(runs.at(0).totals.sequences, 300000);
  EXPECT_EQ(runs[0].summary->value, 30000);
}

TEST(Mlperf, ReadsOneRunThroughTheLinesOfManyRanksAndSeveralRunsOfOneFile) {
  std::string log = head();
  log += "12: " + mllog(1001, "run_start") + "205: " + evaluation(10000, 250000) +
         mllog(11000, "run_stop", "null", kSuccess) + mllog(11000, "run_stop", "null", kSuccess);
  log += mllog(20000, "run_start") + evaluation(24000, 100000) +
         mllog(25000, "run_stop", "null", kSuccess);
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].totals.training_s, 10);
  EXPECT_EQ(runs[1].summary->value, 20000);
}

TEST(Mlperf, TellsARunThatNeverStops) {
  const auto runs =
      read_text(head() + evaluation(10000, 250000) +
                "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2021-05-23T08:45:57 ***\n");
  EXPECT_EQ(runs.at(0).outcome.status, Status::killed);
  EXPECT_FALSE(runs[0].summary);
}

// Round 0.6: the time in front, seconds. Every rank prints the same.
TEST(Mlperf, ReadsTheOfficialTimeOfRound06) {
  const auto mll = [](const std::string& time, const std::string& key, const std::string& value,
                      const std::string& more = "") {
    return ":::MLL " + time + " " + key + ": {\"value\": " + value +
           ", \"metadata\": {\"lineno\": 1, " + more + "\"file\": \"x.py\"}}\n";
  };
  const std::string head = mll("1560881700.827", "submission_benchmark", "\"resnet\"") +
                           mll("1560881727.300", "global_batch_size", "4") +
                           mll("1560881731.835", "run_start", "null") +
                           mll("1560888652.055", "eval_accuracy", "0.762", "\"epoch_num\": 60, ");
  const auto runs =
      read_text(head + mll("1560888652.056", "run_stop", "null", "\"status\": \"success\", "));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(*runs[0].totals.training_s, 6920.221, 1e-6);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[0].facts.axes.at("benchmark"), "resnet");
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 4);
  EXPECT_FALSE(runs[0].summary) << "60 counts epochs";
  std::string tokens = head;
  tokens.replace(tokens.find("resnet"), 6, "transformer");
  const auto words = read_text(tokens);
  ASSERT_EQ(words.size(), 1u);
  EXPECT_FALSE(words[0].facts.global_batch_size.known());
  ASSERT_FALSE(words[0].notices.empty());
  EXPECT_THAT(text_of(words[0].notices[0]), testing::HasSubstr("is counted in tokens"));
  const auto sentences = read_text(mll("1560881690", "max_sequence_length", "80") + tokens);
  EXPECT_EQ(sentences.at(0).facts.global_batch_size.value, 4) << "not of the longest sentence";
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("no throughput"));
  const auto aborted =
      read_text(head + mll("1560888652.056", "run_stop", "null", "\"status\": \"aborted\", "));
  EXPECT_EQ(aborted.at(0).outcome.status, Status::error);
}

TEST(Mlperf, ReadsTheOfficialTimeOfRound05) {
  const std::string start =
      ":::MLPv0.5.0 resnet 1541660914.084755421 (resnet/resnet_main.py:523) run_start\n"
      ":::MLPv0.5.0 resnet 1541660914.300546646 (resnet/resnet_main.py:551) input_batch_size: 1\n"
      ":::MLPv0.5.0 resnet 1541679005.121917486 (in_memory_eval.py:262) eval_accuracy: "
      "{\"value\": 0.75, \"epoch\": 61}\n";
  const std::string stop =
      ":::MLPv0.5.0 resnet 1541679005.124143600 (in_memory_eval.py:270) run_stop";
  for (const std::string how : {": {\"success\": \"true\"}\n", ": {\"success\": true}\n", "\n"}) {
    const auto runs = read_text(start + stop + how);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_NEAR(*runs[0].totals.training_s, 18091.039388, 1e-4);
    EXPECT_EQ(runs[0].outcome.status, Status::completed) << how;
    EXPECT_EQ(runs[0].facts.global_batch_size.value, 1);
    EXPECT_FALSE(runs[0].summary);
  }
  const auto failed = read_text(start + stop + ": {\"success\": false}\n");
  EXPECT_EQ(failed.at(0).outcome.status, Status::error);
}

// Recommendation and graphs: train_samples is the data set, the evaluations tell how much of it.
TEST(Mlperf, CountsSharesOfTheDataSet) {
  const auto log = [](const std::string& first, const std::string& last) {
    const auto evaluated = [](int time, const std::string& epoch) {
      return mllog(time, "eval_accuracy", "0.8", "\"epoch_num\": " + epoch);
    };
    return mllog(900, "submission_benchmark", "\"dlrm_dcnv2\"") +
           mllog(900, "global_batch_size", "1000") + mllog(950, "train_samples", "400000") +
           mllog(1000, "run_start") + evaluated(5000, first) + evaluated(10000, last) +
           mllog(11000, "run_stop", "null", kSuccess);
  };
  auto runs = read_text(log("0.25", "0.75"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].totals.sequences, 300000);
  EXPECT_EQ(runs[0].summary->value, 30000);
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("its share of train_samples"));
  EXPECT_FALSE(read_text(log("1", "2")).at(0).summary) << "some count from 0, some from 1";
  EXPECT_EQ(read_text(log("1.25", "1.5")).at(0).totals.sequences, 200000) << "from 1";
  EXPECT_EQ(read_text(log("1.5", "3.001")).at(0).totals.sequences, 1200400) << "from 0";
  EXPECT_FALSE(read_text(log("1.75", "1.8")).at(0).summary) << "from what?";
}

// BERT's script divides the steps that were planned by a time of its own.
TEST(Mlperf, TellsWhereTheScriptsClosingRateIsAnother) {
  const auto closed = [](const std::string& rate) {
    return read_text(head() + evaluation(5000, 100000) + evaluation(10000, 250000) +
                     mllog(11000, "run_stop", "null", kSuccess) +
                     "{'e2e_time': 280.5, 'training_sequences_per_second': " + rate +
                     ", 'final_loss': 0.0, 'raw_train_time': 33.5}\n");
  };
  auto runs = closed("tensor([37500.0], device='cuda:0')");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].summary->value, 25000);
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("37500/s, is 50.0 % above"));
  runs = closed("25100.5");
  ASSERT_EQ(runs.size(), 1u);
  for (const Notice& notice : runs[0].notices) {
    EXPECT_THAT(text_of(notice), testing::Not(testing::HasSubstr("closing rate")));
  }
}

TEST(Mlperf, TheTailOfALogTellsHowTheRunEnded) {
  const std::string stop =
      R"( 0: :::MLLOG {"namespace": "", "time_ms": 1719843796272, "event_type": "INTERVAL_END", )"
      R"("key": "run_stop", "value": null, "metadata": {"status": )";
  const auto runs = read_text(stop + "\"aborted\"}}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::error);
  EXPECT_FALSE(runs[0].summary);
  const auto well = read_text(stop + "\"success\"}}\n" + stop + "\"success\"}}\n");
  ASSERT_EQ(well.size(), 1u);  // another rank's
  EXPECT_EQ(well[0].outcome.status, Status::completed);
  EXPECT_FALSE(well[0].summary);
  ASSERT_FALSE(well[0].notices.empty());
  EXPECT_THAT(text_of(well[0].notices[0]), testing::HasSubstr("run_start is not in this log"));
}

TEST(Mlperf, ALogThatEndsInFrontOfRunStopIsCut) {
  const auto runs = read_text(head() + evaluation(5000, 100000));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  EXPECT_EQ(runs[0].outcome.line, 6);
  const auto killed = read_text(head() + evaluation(5000, 100000) +
                                "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
                                "allocate 2.00 GiB\n");
  ASSERT_EQ(killed.size(), 1u);
  EXPECT_EQ(killed[0].outcome.status, Status::out_of_memory);
}

TEST(Mlperf, ReadsTheSpeedsOfSsd) {
  const auto speed = [](int iteration, const std::string& rate) {
    return "Iteration: " + std::to_string(iteration) +
           ", Loss function: 2.9, Average Loss: 3.8, avg. samples / sec: " + rate + "\n";
  };
  const auto runs = read_text(speed(0, "9000.5") + mllog(1000, "run_start") + speed(0, "9000.5") +
                              speed(20, "1900.25") + speed(40, "4000.5") + evaluation(9000, 1) +
                              mllog(11000, "run_stop", "null", kSuccess));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 40);
  EXPECT_EQ(runs[0].records[1].printed_rate, 4000.5);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_TRUE(runs[0].notices.empty());
}

// Of a log that begins behind the settings: the evaluations count epochs there.
TEST(Mlperf, TakesTheSamplesOfBertWhereItsBatchIsNotTold) {
  const auto log = [](const char* samples, const std::string& benchmark) {
    return read_text(benchmark + mllog(1000, "run_start") + evaluation(9000, 1) +
                     mllog(10900, "train_samples", samples) +
                     mllog(11000, "run_stop", "null", kSuccess))
        .at(0);
  };
  EXPECT_EQ(log("2500000", "").summary->value, 250000);
  EXPECT_FALSE(log("40000", "").summary) << "may be steps";
  EXPECT_FALSE(log("2500000", mllog(900, "submission_benchmark", "\"ssd\"")).summary);
}

// SSD prints lines of iterations beside its statements, and hangs when all is done.
TEST(Mlperf, GoesBeforeLinesOfIterationsAndEndsWithItsRunStop) {
  std::string text = mllog(900, "submission_benchmark", "\"retinanet\"") +
                     mllog(900, "global_batch_size", "256") + mllog(1000, "run_start") +
                     mllog(1000, "train_samples", "4572");
  for (int epoch = 0; epoch < 2; ++epoch) {
    const std::string number = "\"epoch_num\": " + std::to_string(epoch);
    text += mllog(1000 + 1000000 * epoch, "epoch_start", "0", number);
    for (int i = 0; i < 1000; i += 20) {
      char line[160];
      std::snprintf(line, sizeof line,
                    "Epoch: [%d]  [%4d/4572]  eta: 0:18:39    time: 0.2539  data: 0.2521  max mem: "
                    "19506\n",
                    epoch, i);
      text += line;
    }
    text += mllog(1001000 + 1000000 * epoch, "epoch_stop", "0", number);
  }
  text += mllog(2001000, "eval_accuracy", "0.34", "\"epoch_num\": 2") +
          mllog(2001000, "run_stop", "null", "\"status\": \"success\"") +
          mllog(2001001, "tracked_stats", "{\"throughput\": 1300.5}") +
          "slurmstepd: error: *** STEP 252.13 ON node014 CANCELLED AT 2025-10-09T19:36:56 ***\n";
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "mlperf");
  EXPECT_NEAR(runs[0].summary->value, 1170.301, 1e-3);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_THAT(detail_text(runs[0].outcome), testing::HasSubstr("after its end: killed"));
}

TEST(Mlperf, ReadsTheNodesOfTheHpcBenchmarks) {
  const auto facts = [](const std::string& said) {
    return read_text(mllog(900, "global_batch_size", "512") + said + mllog(1000, "run_start") +
                     evaluation(9000, 9000) + mllog(11000, "run_stop", "null", kSuccess))
        .at(0)
        .facts;
  };
  const std::string nodes = mllog(900, "number_of_nodes", "128");
  const std::string each = mllog(900, "accelerators_per_node", "4");
  EXPECT_EQ(facts(nodes + each).world(), 512);
  const std::string ranks = mllog(900, "number_of_ranks", "64");
  EXPECT_EQ(facts(ranks + nodes + each).world(), 64) << "one of several runs side by side";
  EXPECT_FALSE(facts(ranks + nodes).world()) << "of CPUs, or of how many accelerators each";
}

}  // namespace
}  // namespace bertbench
