// The samples of an MLPerf run by its epochs, blocks, steps and tracked throughputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/mllog_line.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string evaluation(std::int64_t time_ms, int epoch) {
  return mllog(time_ms, "eval_accuracy", "0.7", "\"epoch_num\": " + std::to_string(epoch));
}
const std::string kSuccess = "\"status\": \"success\"";

// Vision, speech and HPC: what is trained are epochs, of the data set.
std::string epochs(const std::string& said, const std::string& setting = "") {
  return mllog(900, "submission_benchmark", "\"resnet\"") + mllog(900, "global_batch_size", "100") +
         setting + mllog(1000, "run_start") + mllog(1000, "train_samples", "50000") + said;
}
std::string of_epoch(std::int64_t time_ms, const std::string& key, int number,
                     const std::string& more = "") {
  const char* name = key.starts_with("block") ? "first_epoch_num" : "epoch_num";
  return mllog(time_ms, key, "null",
               "\"" + std::string(name) + "\":" + std::to_string(number) + more);
}
std::string epoch(std::int64_t from_ms, std::int64_t to_ms, int number) {
  return of_epoch(from_ms, "epoch_start", number) + of_epoch(to_ms, "epoch_stop", number) +
         of_epoch(to_ms, "epoch_stop", number);  // another rank's
}

TEST(MllogSamples, CountsWholeEpochsOfTheDataSet) {
  const std::string stop = mllog(21000, "run_stop", "null", kSuccess);
  const std::string two = epoch(1000, 9000, 1) + epoch(9100, 17000, 2) + evaluation(17500, 2);
  auto runs = read_text(epochs(two + stop));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].totals.sequences, 100000);
  EXPECT_EQ(runs[0].summary->value, 5000);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("of 2 epochs of train_samples"));
  const std::string begun = of_epoch(17100, "epoch_start", 3);
  EXPECT_EQ(read_text(epochs(two + begun + stop)).at(0).totals.sequences, 100000);
  runs = read_text(epochs(two + epoch(17600, 19000, 3) + stop));
  EXPECT_EQ(runs.at(0).totals.sequences, 100000) << "the third took a sixth of the time";
  EXPECT_THAT(text_of(runs.at(0).notices.at(0)), testing::HasSubstr("ended early"));
  EXPECT_EQ(
      read_text(epochs(two + mllog(17900, "train_samples", "50000") + stop)).at(0).totals.sequences,
      100000)
      << "the data set, stated again";
  // Another data set each time, as of self-play, and what is said to be one but cannot be.
  EXPECT_FALSE(read_text(epochs(mllog(1000, "train_samples", "49000") + two + stop)).at(0).summary);
  const auto tracked = mllog(9000, "tracked_stats", "{\"throughput\": 13000.5}");
  EXPECT_EQ(read_text(epochs(two + tracked + stop)).at(0).summary->value, 13000.5);
  EXPECT_FALSE(
      read_text(epochs(two + stop, mllog(900, "submission_benchmark", "\"bert\""))).at(0).summary)
      << "a plan";
}

// NVIDIA's SSD of rounds 2.0 on: what one process takes and makes.
TEST(MllogSamples, TellsTheProcessesOfSsdByTheBatchOfOne) {
  const auto log = [](const std::string& local, const std::string& tracked) {
    const std::string rate = "{\"throughput\": " + tracked + "}";
    return read_text(epochs(epoch(1000, 9000, 1) + epoch(9100, 17000, 2) +
                                mllog(17100, "tracked_stats", rate) + evaluation(17500, 2) +
                                mllog(21000, "run_stop", "null", kSuccess),
                            mllog(900, "submission_benchmark", "\"ssd\"") +
                                mllog(900, "local_batch_size", local)))
        .at(0);
  };
  auto run = log("25", "1300.5");
  EXPECT_EQ(run.facts.micro_batch_size.value, 25);
  EXPECT_EQ(run.facts.world(), 4);
  EXPECT_EQ(run.summary->value, 5000);
  EXPECT_EQ(run.notices.size(), 2u) << "a quarter of the rate is that of one of four";
  run = log("25", "1500.5");
  EXPECT_THAT(text_of(run.notices.at(1)), testing::HasSubstr("70.0 % below the rate taken"));
  run = log("30", "1300.5");
  EXPECT_FALSE(run.facts.micro_batch_size.known()) << "no whole number of processes";
  EXPECT_FALSE(run.facts.world());
}

TEST(MllogSamples, TellsTheGpusByTheMicroBatchOfAModelThatIsNotSplit) {
  const auto facts = [](const std::string& tensor, const std::string& more) {
    return read_text(epochs(epoch(1000, 9000, 1), mllog(900, "micro_batch_size", "5") +
                                                      mllog(900, "tensor_parallelism", tensor) +
                                                      mllog(900, "pipeline_parallelism", "1") +
                                                      more))
        .at(0)
        .facts;
  };
  const std::string context = mllog(900, "context_parallelism", "1");
  const Facts twice = facts("1", context + mllog(900, "gradient_accumulation_steps", "2"));
  EXPECT_EQ(twice.micro_batch_size.value, 5);
  EXPECT_EQ(twice.world(), 10);
  EXPECT_FALSE(facts("2", context).micro_batch_size.known()) << "of two GPUs";
  EXPECT_FALSE(facts("2", context).world());
  EXPECT_FALSE(facts("1", "").world()) << "it may be split by the sequence";
}

TEST(MllogSamples, TakesTheLowestPrecisionOfLinearLayers) {
  const auto log = [](const std::string& key, const std::string& name) {
    return read_text(epochs(epoch(1000, 9000, 1), mllog(900, key, "\"" + name + "\"")))
        .at(0)
        .facts.precision;
  };
  EXPECT_EQ(log("lowest_numerical_precision_linear", "fp8").value, "fp8");
  EXPECT_EQ(log("lowest_numerical_precision_in_linear", "bf16").value, "bf16");
  EXPECT_FALSE(log("lowest_numerical_precision_linear", "mxfp4").known()) << "no name for it";
}

TEST(MllogSamples, CountsBlocksOfEpochsHoweverTheirEndIsNamed) {
  for (const int end : {4, 8, 7}) {
    const auto runs = read_text(epochs(of_epoch(1000, "block_start", 0, ", \"epoch_count\": 4") +
                                       of_epoch(9000, "block_stop", 0, ", \"epoch_count\": 4") +
                                       of_epoch(9000, "block_start", 4, ", \"epoch_count\": 4") +
                                       of_epoch(17000, "block_stop", end, ", \"epoch_count\": 4") +
                                       evaluation(17500, 7) +
                                       of_epoch(17500, "block_start", 8, ", \"epoch_count\": 4") +
                                       mllog(21000, "run_stop", "null", kSuccess)));
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].totals.sequences, 400000) << end;
  }
}

// NVIDIA's UNet3D: the first block is "1", the others are named by the epochs that are done. The
// last one stops behind the run.
TEST(MllogSamples, CountsBlocksThatAreNamedByTheEpochsDone) {
  const auto block = [](int time, const char* key, int number) {
    return of_epoch(time, key, number, ", \"epoch_count\": 4");
  };
  const std::string two = block(1000, "block_start", 1) + block(7000, "block_stop", 4) +
                          block(7000, "block_start", 4) + block(14000, "block_stop", 8);
  const std::string third = block(14000, "block_start", 8);
  const std::string stop = mllog(21000, "run_stop", "null", kSuccess);
  const auto done = [&](const std::string& said) {
    return read_text(epochs(two + said + stop)).at(0).totals.sequences;
  };
  EXPECT_EQ(done(third + block(20000, "block_stop", 12)), 600000);
  EXPECT_EQ(done(third + evaluation(20900, 12)), 600000);
  EXPECT_EQ(done(third + evaluation(20900, 10)), 400000) << "within the third";
}

TEST(MllogSamples, LeavesOutWhatIsTrackedOfTrainingBehindTheRun) {
  const auto tracked = [](int time, const std::string& rate) {
    return mllog(time, "tracked_stats", "{\"throughput\": " + rate + "}");
  };
  const std::string end = mllog(21000, "run_stop", "null", kSuccess);
  auto runs = read_text(epochs(epoch(1000, 20000, 1) + tracked(20500, "2600") + end +
                               of_epoch(21000, "epoch_start", 2) + tracked(31000, "2900")));
  EXPECT_EQ(runs.at(0).summary->value, 2500);
  runs = read_text(
      epochs(epoch(1000, 20000, 1) + tracked(20500, "2600") + end + tracked(21001, "2500.5")));
  EXPECT_EQ(runs.at(0).summary->value, 2500.5);
}

TEST(MllogSamples, TakesTheMiddleOfTheTrackedThroughputsWhereTheLastIsFarOff) {
  const auto log = [](const std::string& last) {
    std::string text = mllog(900, "submission_benchmark", "\"ssd\"") + mllog(1000, "run_start");
    for (const std::string& rate : {std::string("2000"), std::string("2090"), last}) {
      text += mllog(5000, "tracked_stats", "{\"throughput\": " + rate + "}");
    }
    return read_text(text + evaluation(9000, 3) + mllog(11000, "run_stop", "null", kSuccess)).at(0);
  };
  EXPECT_EQ(log("2050.5").summary->value, 2050.5);
  EXPECT_EQ(log("285.5").summary->value, 2000);
  EXPECT_THAT(text_of(log("285.5").notices.at(1)), testing::HasSubstr("far from the others"));
}

TEST(MllogSamples, TakesAWholeEpochOfSharesForOne) {
  const std::string shares = mllog(2000, "eval_accuracy", "0.7", "\"epoch_num\": 0.95") +
                             mllog(9000, "eval_accuracy", "0.8", "\"epoch_num\": 1.0");
  const auto runs = read_text(epochs(shares + mllog(21000, "run_stop", "null", kSuccess)));
  EXPECT_EQ(runs.at(0).totals.sequences, 50000);
}

TEST(MllogSamples, TakesTrainSamplesBehindTheRunForItsOwn) {
  const std::string end = mllog(11000, "run_stop", "null", kSuccess);
  const auto shares = [](double last) {
    return mllog(900, "submission_benchmark", "\"dlrm\"") + mllog(1000, "run_start") +
           mllog(2000, "eval_accuracy", "0.7", "\"epoch_num\": 1.05") +
           mllog(9000, "eval_accuracy", "0.8", "\"epoch_num\": " + std::to_string(last));
  };
  const std::string behind =
      mllog(11001, "global_batch_size", "100") + mllog(11001, "train_samples", "90000");
  auto runs = read_text(shares(1.9) + end + behind);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].totals.sequences, 90000);
  EXPECT_EQ(runs[0].summary->value, 9000);
  runs = read_text(shares(1.9) + end + behind + mllog(21000, "run_start"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_FALSE(runs[0].summary) << "of the next run";
}

TEST(MllogSamples, CountsEpochsThatAreNamedByTheSamplesTrained) {
  const std::string openfold = mllog(900, "submission_benchmark", "\"openfold\"") +
                               mllog(900, "global_batch_size", "100") + mllog(1000, "run_start") +
                               mllog(1000, "train_samples", "594595") + epoch(1000, 9000, 4000) +
                               evaluation(9500, 4000);
  const std::string end = mllog(21000, "run_stop", "null", kSuccess);
  EXPECT_EQ(read_text(openfold + end).at(0).totals.sequences, 4000);
  auto runs = read_text(openfold + epoch(10000, 19000, 8000) + evaluation(19500, 8000) + end);
  EXPECT_EQ(runs.at(0).totals.sequences, 8000);
  EXPECT_EQ(runs[0].summary->value, 400);
  EXPECT_FALSE(read_text(epochs(epoch(1000, 9000, 7) + end)).at(0).summary) << "no first one";
  EXPECT_FALSE(read_text(epochs(epoch(1000, 9000, 0) + epoch(9000, 19000, 10) + end)).at(0).summary)
      << "in leaps";
}

// Google's of rounds 0.6 and 0.7: already the first block has the number of its last epoch.
TEST(MllogSamples, CountsBlocksThatAreNamedByTheirEnds) {
  const auto blocks = [](int first, int many) {
    std::string text;
    for (int i = 0; i < 3; ++i) {
      const std::string count = ", \"epoch_count\": " + std::to_string(many);
      const int at = 1000 + 5000 * i;
      text += of_epoch(at, "block_start", first + many * i, count) +
              of_epoch(at + 5000, "block_stop", first + many * i);
    }
    return text + mllog(17000, "run_stop", "null", kSuccess);
  };
  EXPECT_EQ(read_text(epochs(blocks(4, 4))).at(0).totals.sequences, 12 * 50000);
  EXPECT_FALSE(read_text(epochs(blocks(5, 4))).at(0).summary) << "the first ones are missing";
  std::string bert = mllog(900, "submission_benchmark", "\"bert\"") +
                     mllog(900, "global_batch_size", "8000") + mllog(1000, "run_start") +
                     mllog(1000, "train_samples", "1600000") + evaluation(1500, 60) +
                     blocks(60, 60);
  EXPECT_EQ(read_text(bert).at(0).totals.sequences, 180 * 8000);
  std::string old;
  for (const std::string key : {"num_train_examples: {\"value\": 50000, \"metadata\": {}}",
                                "run_start: {\"value\": null, \"metadata\": {}}"}) {
    old += ":::MLL 1558639120.209 " + key + "\n";
  }
  const auto line = [](const char* seconds, const std::string& what, const char* metadata) {
    return ":::MLL 15586391" + std::string(seconds) + " " + what +
           ": {\"value\": null, \"metadata\": {" + metadata + "}}\n";
  };
  old += line("20.300", "block_start", "\"first_epoch_num\": 4, \"epoch_count\": 4") +
         line("30.300", "block_stop", "\"first_epoch_num\": 4") +
         line("30.300", "block_start", "\"first_epoch_num\": 8, \"epoch_count\": 4") +
         line("40.200", "block_stop", "\"first_epoch_num\": 8") +
         line("40.209", "run_stop", "\"status\": \"success\"");
  EXPECT_NEAR(read_text(old).at(0).summary->value, 20000, 1);
}

// UNet3D of round 4.0 trains on for a block behind its run_stop.
TEST(MllogSamples, CountsSamplesThatItsEpochsAreNamedBy) {
  const auto tracked = [](int time, const std::string& rate) {
    return mllog(time, "tracked_stats", "{\"throughput\": " + rate + "}");
  };
  const std::string log =
      mllog(900, "submission_benchmark", "\"unet3d\"") + mllog(1000, "run_start") +
      mllog(1000, "train_samples", "168") + mllog(1000, "global_batch_size", "56") + "%" +
      of_epoch(1000, "block_start", 168, ", \"epoch_count\": 3360") + tracked(9000, "560.5") +
      evaluation(9500, 3360) + evaluation(20500, 6720) +
      mllog(21000, "run_stop", "null", kSuccess) +
      of_epoch(21000, "block_start", 6720, ", \"epoch_count\": 3360") + tracked(25000, "569.5");
  const auto with = [&](const std::string& setting) {
    std::string text = log;
    return read_text(text.replace(text.find('%'), 1, setting)).at(0);
  };
  const auto run = with(mllog(1000, "samples_per_epoch", "168"));
  EXPECT_EQ(run.totals.sequences, 6720);
  EXPECT_EQ(run.summary->value, 336);
  EXPECT_EQ(with("").summary->value, 560.5) << "what follows the run is not its closing rate";
}

TEST(MllogSamples, TakesNoGenerationsOfSelfPlayForSamples) {
  const std::string head = mllog(900, "submission_benchmark", "\"minigo\"") +
                           mllog(1000, "run_start") + mllog(1000, "train_samples", "50000");
  const std::string tracked = mllog(9000, "tracked_stats", "{\"throughput\": 0.0044}");
  const std::string end = evaluation(17000, 2) + mllog(21000, "run_stop", "null", kSuccess);
  const auto runs =
      read_text(head + epoch(1000, 9000, 1) + tracked + epoch(9000, 16000, 2) + tracked + end);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].summary);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("samples trained are not told"));
}

TEST(MllogSamples, KnowsBatchesOfTheOpenImagesFromSamples) {
  const auto tracked = [](int time, const std::string& rate) {
    return mllog(time, "tracked_stats", "{\"throughput\": " + rate + "}");
  };
  const std::string head = mllog(900, "submission_benchmark", "\"ssd\"") +
                           mllog(900, "global_batch_size", "320") + mllog(1000, "run_start");
  const std::string trained = epoch(1000, 1001000, 0) + tracked(1001000, "117.5") +
                              epoch(1001000, 2001000, 1) + tracked(2001000, "117.5") +
                              of_epoch(2001000, "epoch_start", 2);
  const std::string end = mllog(2001000, "run_stop", "null", kSuccess);
  const std::string behind = of_epoch(2001001, "epoch_stop", 2) + tracked(2001001, "125");
  for (const std::string& tail : {std::string(), behind}) {
    const auto runs = read_text(head + mllog(1000, "train_samples", "3658") + trained + end + tail);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].totals.sequences, 2 * 1170301);
    EXPECT_NEAR(runs[0].summary->value, 1170.301, 1e-3) << "not one process's";
    EXPECT_THAT(text_of(runs[0].notices.at(1)), testing::HasSubstr("below the rate taken"));
  }
  const auto runs = read_text(head + trained + end);
  EXPECT_EQ(runs.at(0).summary->value, 117.5);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("of one process"));
}

TEST(MllogSamples, DividesTokensByTheSequenceLengthAndMultipliesSteps) {
  const auto log = [](const std::string& evaluated, const std::string& behind,
                      const std::string& closing = "") {
    return read_text(mllog(900, "submission_benchmark", "\"gpt3\"") +
                     mllog(900, "global_batch_size", "1000") +
                     mllog(900, "max_sequence_length", "2048") + mllog(1000, "run_start") +
                     mllog(9000, "eval_accuracy", "2.7", evaluated) + behind +
                     mllog(11000, "run_stop", "null", kSuccess) + closing)
        .at(0);
  };
  const std::string tokens = std::to_string(2048 * 16000);
  const std::string evaluated = "\"epoch_num\": " + tokens;
  EXPECT_EQ(log(evaluated, "").totals.sequences, 16000);
  EXPECT_EQ(log(evaluated, mllog(9500, "train_samples", tokens)).summary->value, 1600);
  EXPECT_THAT(text_of(log(evaluated, "").notices.at(1)), testing::HasSubstr("count tokens"));
  const std::string rate = mllog(11001, "tracked_stats", "{\"throughput\": 3278848}");
  EXPECT_EQ(log(evaluated, "", rate).summary->value, 1601) << "tokens, too";
  EXPECT_FALSE(log("\"epoch_num\": 16000", mllog(9500, "train_samples", tokens)).summary)
      << "samples, and tokens at the end";
  for (const int samples : {16384, 2048 * 16000}) {
    const auto counted = log("\"samples_count\": " + std::to_string(samples), "");
    EXPECT_EQ(counted.totals.sequences, samples) << "a multiple of the length, and no tokens";
  }
  EXPECT_EQ(log("\"epoch_num\": 3, \"step_num\": 174", "").totals.sequences, 174000);
}

// Round 0.7's BERT of Google: blocks of steps; the evaluations count the blocks.
TEST(MllogSamples, CountsTheStepsOfBertsBlocks) {
  const auto log = [](const char* plan, const std::string& file) {
    std::string text = mllog(900, "submission_benchmark", "\"bert\"") +
                       mllog(900, "global_batch_size", "440") + mllog(900, "train_samples", plan) +
                       mllog(1000, "run_start");
    for (int i = 0; i < 6; ++i) {
      text += of_epoch(1000 + 1000 * i, "block_start", 1137 * i, ", \"epoch_count\": 1137") +
              of_epoch(1900 + 1000 * i, "block_stop", 1137 * i);
    }
    text += mllog(7500, "eval_accuracy", "0.7", "\"epoch_num\": 6, \"file\": \"" + file + "\"");
    return read_text(text + mllog(11000, "run_stop", "null", kSuccess)).at(0);
  };
  EXPECT_EQ(log("3565320", "run.py").totals.sequences, 6 * 1137 * 440);
  EXPECT_THAT(text_of(log("3565320", "run.py").notices.at(0)), testing::HasSubstr("steps"));
  EXPECT_FALSE(log("156811560", "run.py").summary) << "far from the plan";
  EXPECT_FALSE(log("3565320", "composer/mlperf.py").summary);
}

TEST(MllogSamples, ReadsTheEpochsOfNcf) {
  const auto said = [](const char* time, const std::string& what) {
    return "\n:::MLPv0.5.0 ncf 15417318" + std::string(time) + " (ncf.py:1) " + what + "\n";
  };
  const auto log = [&](const std::string& negatives) {
    std::string text = said("58.9", "run_start") + said("60.5", "input_size: 2000000") +
                       said("61.6", "input_batch_size: 1000");
    for (int i = 0; i < 3; ++i) {
      text +=
          said((std::to_string(62 + 2 * i) + ".25").c_str(), "train_epoch: " + std::to_string(i)) +
          negatives + "  5%|1         | 5/95 [00:00<00:00, 94.65it/s]\r" +
          said((std::to_string(63 + 2 * i) + ".25").c_str(), "eval_start");
    }
    return read_text(text + said("70.5", "run_stop: {\"success\": true}")).at(0);
  };
  const auto run = log(said("62.3", "input_hp_num_neg: 4"));
  EXPECT_EQ(run.format, "mlperf");
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_NEAR(run.records[2].printed_rate, 1e7, 1);
  EXPECT_EQ(run.records[2].step, 3);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_THAT(text_of(run.notices.at(0)), testing::HasSubstr("an epoch of NCF"));
  EXPECT_TRUE(log("").records.empty());
}

// What a damaged line says: no rate of it may be negative or beyond all numbers.
TEST(MllogSamples, DamagedSizesAreNone) {
  const std::string stop = mllog(21000, "run_stop", "null", kSuccess);
  const std::string two = epoch(1000, 9000, 1) + epoch(9100, 17000, 2);
  for (const char* size : {"-50000", "0", "\"-1e300\"", "1e300"}) {
    const std::string set =
        mllog(900, "global_batch_size", size) + mllog(900, "train_samples", size);
    const std::string steps =
        mllog(17000, "eval_accuracy", "0.7", "\"step_num\": " + std::string(size));
    for (const std::string& said : {two, steps, two + steps}) {
      for (const RunLog& run : read_text(epochs(said + stop, set))) {
        EXPECT_GT(run.summary.value_or(Stated{1, RateUnit::unknown, 1}).value, 0) << size;
        EXPECT_GT(run.totals.sequences.value_or(1), 0) << size;
      }
    }
  }
}

}  // namespace
}  // namespace bertbench
