#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tests/notice_text.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string sample(const std::string& name) {
  return std::string(BB_SOURCE_DIR) + "/parsers/samples/huggingface/" + name;
}

double seconds_by_callback() {
  std::istringstream in(slurp(sample("timings.jsonl")));
  double end = 0;
  for (std::string line; std::getline(in, line);) {
    end = nlohmann::json::parse(line)["end"].get<double>();
  }
  return end;
}

// One run of the real Trainer (40 steps of 8 x 2 sequences) in its three writings, against the
// clock of a callback inside it.
TEST(Huggingface, ReadsOneRunOfTheTrainerInAllItsWritings) {
  for (const char* name : {"sample.log", "console.log", "train_results.json"}) {
    const auto runs = read_log(sample(name), {});
    ASSERT_TRUE(runs) << runs.error().message();
    ASSERT_EQ(runs->size(), 1u) << name;
    const RunLog& run = runs->front();
    EXPECT_EQ(run.format, "huggingface") << name;
    EXPECT_EQ(run.outcome.status, Status::completed) << name;
    EXPECT_EQ(run.summary->unit, RateUnit::sequences_per_second);
    EXPECT_NEAR(run.summary->value / (640 / seconds_by_callback()), 1, 0.002) << name;
    EXPECT_NEAR(*run.totals.training_s / seconds_by_callback(), 1, 0.002) << name;
    if (std::string(name) == "train_results.json") continue;
    ASSERT_EQ(run.records.size(), 8u) << name;
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(run.records[i].step, 5 * (i + 1)) << name;
    EXPECT_NEAR(run.records[0].loss, 12.233, 0.004);
    EXPECT_TRUE(std::isnan(run.records[0].seconds));
  }
  const auto console = read_log(sample("console.log"), {});
  EXPECT_EQ(console->front().facts.sequences_per_optimizer_step(), 16);
}

TEST(Huggingface, DoesNotTakeAProcessesMicroBatchForTheGlobalBatch) {
  const auto runs = read_log(sample("sample.log"), {});  // "train_batch_size": 8, of 16 in all
  EXPECT_FALSE(runs->front().facts.global_batch_size.known());
}

TEST(Huggingface, CountsTheDictsOfATrainerThatReadsAStreamWithoutEnd) {
  const auto runs = read_text(
      "***** Running training *****\n"
      "  Num Epochs = 9,223,372,036,854,775,807\n"
      "  Total optimization steps = 400\n"
      "{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.25}\n"
      "{'loss': 2.25, 'learning_rate': 1e-05, 'epoch': 0.5}\n"
      "{'loss': 2.0, 'learning_rate': 1e-05, 'epoch': 0.75}\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 3);
}

TEST(Huggingface, ReadsTotalsWhoseDigitsAreGrouped) {
  const auto runs = read_text(
      "***** Running training *****\n"
      "  Num Epochs = 3\n"
      "  Total train batch size (w. parallel, distributed & accumulation) = 1,024\n"
      "  Total optimization steps = 12,000\n"
      "{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.25}\n"
      "{'loss': 2.25, 'learning_rate': 1e-05, 'epoch': 0.5}\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].step, 1'000);
  EXPECT_EQ(runs[0].records[1].step, 2'000);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 1'024);
}

// transformers 4 and 5.0: speed_metrics("train", ..., num_samples, num_steps=max_steps).
TEST(Huggingface, TakesTheShareOfASessionThatBeganAtACheckpointOrStoppedEarly) {
  const std::string begin =
      "***** Running training *****\n"
      "  Num examples = 64,000\n"
      "  Num Epochs = 4\n"
      "  Total train batch size (w. parallel, distributed & accumulation) = 64\n"
      "  Total optimization steps = 4,000\n";
  const std::string evaluated =
      "***** Running Evaluation *****\n"
      "  Num examples = 408\n"
      "{'loss': 2.25, 'learning_rate': 1e-05, 'epoch': 2.0}\n";
  const std::string end =
      "{'train_runtime': 500.0, 'train_samples_per_second': 512.0, 'train_steps_per_second': 8.0, "
      "'train_loss': 1.5, 'epoch': ";
  const auto resumed = read_text(begin + "  Continuing training from global step 3000\n" +
                                 evaluated + end + "4.0}\n");
  ASSERT_EQ(resumed.size(), 1u);
  EXPECT_EQ(resumed[0].records.at(0).step, 2'000);
  EXPECT_DOUBLE_EQ(resumed[0].summary->value, 128);
  EXPECT_THAT(text_of(resumed[0].notices.at(0)), testing::HasSubstr("all 4000 planned steps"));
  const auto stopped = read_text(begin + evaluated + end + "2.0}\n");
  EXPECT_DOUBLE_EQ(stopped.at(0).summary->value, 256);
  const auto whole = read_text(begin + evaluated + end + "4.0}\n");
  EXPECT_DOUBLE_EQ(whole.at(0).summary->value, 512);
  // A release that counts the session's own steps only: 2 per second.
  const auto mended = read_text(
      begin + "  Resuming training from checkpoint with epoch 3 and global step 3000\n" +
      evaluated +
      "{'train_runtime': '500', 'train_samples_per_second': '128', 'train_steps_per_second': '2', "
      "'train_loss': '1.5', 'epoch': '4'}\n");
  EXPECT_DOUBLE_EQ(mended.at(0).summary->value, 128);
  EXPECT_EQ(mended.at(0).totals.iterations, 1000) << "all time is this session's";
  EXPECT_FALSE(whole.at(0).totals.iterations);
}

TEST(Huggingface, KnowsTheStepWhereMaxStepsEndWithinAnEpoch) {
  const auto runs = read_text(
      "***** Running training *****\n"
      "  Num examples = 640000\n"
      "  Num Epochs = 1\n"
      "  Total train batch size (w. parallel, distributed & accumulation) = 64\n"
      "  Total optimization steps = 4000\n"
      "{'loss': 2.25, 'learning_rate': 1e-05, 'epoch': 0.2}\n"
      "{'loss': 2.0, 'learning_rate': 0.0, 'epoch': 0.4}\n"
      "{'train_runtime': 500.0, 'train_samples_per_second': 512.0, 'train_steps_per_second': 8.0, "
      "'train_loss': 1.5, 'epoch': 0.4}\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].step, 2'000);
  EXPECT_EQ(runs[0].records[1].step, 4'000);
  EXPECT_DOUBLE_EQ(runs[0].summary->value, 512);
}

TEST(Huggingface, TakesTheShareOfAStateThatStoppedEarly) {
  const auto runs = read_text(
      "{\n  \"global_step\": 500,\n  \"log_history\": [\n    {\n      \"loss\": 0.5,\n"
      "      \"step\": 500\n    },\n    {\n      \"train_runtime\": 100.0,\n"
      "      \"train_samples_per_second\": 640.0,\n      \"train_steps_per_second\": 10.0\n"
      "    }\n  ],\n  \"max_steps\": 1000\n}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].summary->value, 320);
}

TEST(Huggingface, ReadsTheRuntimeOfATableThatTookDays) {
  const auto table = [](const std::string& runtime) {
    return read_text(
        "***** train metrics *****\n  epoch                    =        3.0\n"
        "  train_runtime            = " +
        runtime +
        "\n  train_samples            =      64000\n"
        "  train_samples_per_second =      1.972\n"
        "  train_steps_per_second   =      0.031\n");
  };
  EXPECT_DOUBLE_EQ(table("3:04:33.01").at(0).totals.training_s.value(), 11'073.01);
  EXPECT_DOUBLE_EQ(table("1 day, 3:04:33.01").at(0).totals.training_s.value(), 97'473.01);
  EXPECT_DOUBLE_EQ(table("12 days, 0:00:01").at(0).totals.training_s.value(), 1'036'801);
}

TEST(Huggingface, ReadsUnquotedDictsAndCountsThemWhereNoTotalIsTold) {
  const auto runs = read_text(
      "{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.02}\n"
      "{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.02}\n"
      "{'loss': nan, 'learning_rate': 1e-05, 'epoch': 0.04}\n"
      "{'eval_loss': 1.5, 'eval_samples_per_second': 133.354}\n"
      "{'train_runtime': 273.0148, 'train_samples_per_second': 3.663, "
      "'train_steps_per_second': 0.007, 'epoch': 1.0}\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[0].records.size(), 2u) << "each process prints the dict";
  EXPECT_EQ(runs[0].iteration_unit, IterationUnit::unknown);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].summary->value, 3.663);
}

TEST(Huggingface, SaysWhyTheRateOfAnOldReleaseIsNoRateOfSamples) {
  const auto runs = read_text(
      "{\n  \"global_step\": 585540,\n  \"log_history\": [\n    {\n      \"epoch\": 15.0,\n"
      "      \"step\": 585540,\n      \"train_runtime\": 597.6283,\n"
      "      \"train_samples_per_second\": 979.773\n    }\n  ],\n  \"max_steps\": 585540\n}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].summary->unit, RateUnit::iterations_per_second);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("585540 steps / 597.6283 s"));
}

TEST(Huggingface, LeavesAStateThatStopsEarlyTruncatedAndItsEvaluationsApart) {
  const auto runs = read_text(
      "{\n  \"global_step\": 200,\n  \"log_history\": [\n    {\n      \"loss\": 0.5,\n"
      "      \"step\": 100\n    },\n    {\n      \"eval_loss\": 0.3,\n"
      "      \"eval_samples_per_second\": 133.354,\n      \"step\": 200\n    }\n  ],\n"
      "  \"max_steps\": 2315\n}\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  ASSERT_EQ(runs[1].records.size(), 1u);
  EXPECT_EQ(runs[1].records[0].printed_rate, 133.354);
  EXPECT_EQ(runs[0].records.size(), 1u);
  EXPECT_FALSE(runs[0].summary);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Huggingface, LeavesARunWithBarsToTheFormatThatHasAClock) {
  std::string log;
  for (int i = 1; i <= 5; ++i) {
    log += " " + std::to_string(20 * i) + "%|##   | " + std::to_string(i) + "/5 [00:0" +
           std::to_string(i) + "<00:05,  1.00it/s]\n{'loss': '2.5', 'epoch': '0." +
           std::to_string(i) + "'}\n";
  }
  log +=
      "{'train_runtime': '5.5', 'train_samples_per_second': '20.05', "
      "'train_steps_per_second': '1.253', 'epoch': '2'}\n";
  const auto runs = read_text(log);
  ASSERT_FALSE(runs.empty());
  EXPECT_EQ(runs[0].format, "tqdm");
  EXPECT_EQ(runs[0].records.size(), 5u);
  EXPECT_EQ(runs[0].records[2].loss, 2.5);
  EXPECT_EQ(runs[0].summary->value, 20.05);
}

TEST(Huggingface, IsNotMisledByOtherJson) {
  EXPECT_TRUE(read_text("{\n  \"loss\": 3.5,\n  \"step\": 4\n}\n").empty());
}

TEST(Huggingface, ReadsAStateThatStandsOnOneLine) {
  const std::string text =
      "{\"best_metric\": null, \"epoch\": 3.0, \"global_step\": 30, \"log_history\": [{\"epoch\": "
      "1.0, \"learning_rate\": 4.6e-05, \"loss\": 0.4605, \"step\": 10}, {\"epoch\": 1.0, "
      "\"eval_loss\": 0.5, \"eval_samples_per_second\": 133.354, \"step\": 10}, {\"epoch\": 2.0, "
      "\"loss\": 0.35, \"step\": 20}, {\"epoch\": 3.0, \"step\": 30, \"train_loss\": 0.3, "
      "\"train_runtime\": 12.5, \"train_samples_per_second\": 38.4, \"train_steps_per_second\": "
      "2.4}], \"max_steps\": 30, \"num_train_epochs\": 3}\n";
  for (const std::string& json : {text, text.substr(0, text.size() - 1)}) {
    const auto runs = read_text(json);
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[1].records.at(0).printed_rate, 133.354);
    EXPECT_EQ(runs[0].format, "huggingface");
    ASSERT_EQ(runs[0].records.size(), 2u);
    EXPECT_EQ(runs[0].records[1].step, 20);
    EXPECT_DOUBLE_EQ(runs[0].records[1].loss, 0.35);
    EXPECT_DOUBLE_EQ(runs[0].summary->value, 38.4);
    EXPECT_EQ(runs[0].outcome.status, Status::completed);
  }
}

TEST(Huggingface, TakesTheTrainingRateFromResultsThatHoldBoth) {
  auto runs = read_text(
      "{\"epoch\": 1.0, \"eval_runtime\": 2.5, \"eval_samples_per_second\": 100.5, "
      "\"train_loss\": 0.3, \"train_runtime\": 12.5, \"train_samples\": 480, "
      "\"train_samples_per_second\": 38.4, \"train_steps_per_second\": 2.4}\n");
  ASSERT_EQ(runs.size(), 2u);
  std::swap(runs[0], *std::ranges::find(runs, WorkKind::training, &RunLog::kind));
  EXPECT_EQ(runs[1].records.at(0).printed_rate, 100.5);
  EXPECT_DOUBLE_EQ(runs[0].summary->value, 38.4);
  EXPECT_EQ(runs[0].totals.training_s, 12.5);
}

TEST(Huggingface, KnowsTheTableOfReleasesThatDividedSteps) {
  const std::string table =
      "***** train metrics *****\n"
      "  epoch                    =     3.0\n"
      "  train_runtime            = 0:02:05.50\n"
      "  train_samples            =  480\n"
      "  train_samples_per_second =  2.4\n";
  const auto old = read_text(table);
  ASSERT_EQ(old.size(), 1u);
  EXPECT_EQ(old[0].summary->unit, RateUnit::iterations_per_second);
  EXPECT_THAT(text_of(old[0].notices.at(0)), testing::HasSubstr("counts steps"));
  const auto later = read_text(table + "  train_steps_per_second   =  0.15\n");
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].summary->unit, RateUnit::sequences_per_second);
  EXPECT_EQ(later[0].summary->value, 2.4);
  EXPECT_TRUE(later[0].notices.empty());
}

TEST(Huggingface, TellsTheSessionWhoseRuntimeAStateFileHolds) {
  const auto state = [](const std::string& earlier) {
    return read_text(
        "{\n  \"epoch\": 1.0,\n  \"global_step\": 1000,\n  \"log_history\": [\n" + earlier +
        "    {\n      \"epoch\": 1.0,\n      \"loss\": 1.2,\n      \"step\": 1000\n    "
        "},\n    {\n      \"epoch\": 1.0,\n      \"step\": 1000,\n      "
        "\"train_loss\": 0.45,\n      \"train_runtime\": 100.0,\n      "
        "\"train_samples_per_second\": 320.0,\n      \"train_steps_per_second\": "
        "10.0\n    }\n  ],\n  \"max_steps\": 1000\n}\n");
  };
  const auto one = state("");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].summary->value, 320);
  EXPECT_THAT(text_of(one[0].notices.at(0)),
              testing::HasSubstr("too high if that began at a check"));
  // 600 of the 1000 steps were done by a session that ended in peace.
  const auto two = state(
      "    {\n      \"epoch\": 0.6,\n      \"step\": 600,\n      \"train_loss\": 0.45,\n      "
      "\"train_runtime\": 150.0,\n      \"train_samples_per_second\": 128.0,\n      "
      "\"train_steps_per_second\": 4.0\n    },\n");
  ASSERT_EQ(two.size(), 1u);
  EXPECT_NEAR(two[0].summary->value, 128, 1e-9);
}

TEST(Huggingface, CountsSamplesInReleasesThatQuoteTheirValues) {
  const auto runs = read_text(
      "{'loss': '3.41', 'grad_norm': '5.312', 'learning_rate': '0.0002', 'epoch': '1'}\n"
      "{'train_runtime': '36.27', 'train_samples_per_second': '0.414', 'train_loss': '2.46', "
      "'epoch': '3'}\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].summary->unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].summary->value, 0.414);
}

// Short trainings, whose losses were never due, state only what they came to.
TEST(Huggingface, TellsTrainingsThatStateTheirRuntimesOneAfterTheOther) {
  const auto said = [](const std::string& runtime, const std::string& rate) {
    return "{'train_runtime': " + runtime + ", 'train_samples_per_second': " + rate +
           ", 'train_steps_per_second': 0.7, 'train_loss': 1.5, 'epoch': 1.0}\n";
  };
  const auto runs = read_text(said("12.5", "0.64") + said("9.2", "0.87") + said("20.1", "0.398"));
  ASSERT_EQ(runs.size(), 3u);
  const double rates[] = {0.64, 0.87, 0.398};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(runs[i].summary->value, rates[i]);
  const auto ranks = read_text(said("12.51", "0.64") + said("12.53", "0.639"));
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].summary->value, 0.64);
  EXPECT_THAT(text_of(ranks[0].notices.at(0)), testing::HasSubstr("those of other processes"));
}

// 250 steps of 16, said to be 4000 samples; an epoch of 40 samples ends with a batch of 8.
TEST(Huggingface, TellsWhereBatchesThatWereNotFullAreCountedAsFull) {
  const auto results = [](const char* epoch) {
    return read_text(std::string("{\n    \"epoch\": ") + epoch +
                     ",\n    \"train_runtime\": 1000.0,\n    \"train_samples\": 40,\n    "
                     "\"train_samples_per_second\": 4.0,\n    \"train_steps_per_second\": "
                     "0.25\n}\n");
  };
  const auto runs = results("83.33");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].summary->value, 4);
  EXPECT_THAT(
      runs[0].notices,
      testing::Contains(NoticeText(testing::HasSubstr("is 20 % above train_samples x epoch"))));
  const auto whole = results("99.5");
  ASSERT_EQ(whole.size(), 1u);
  for (const auto& notice : whole[0].notices) {
    EXPECT_THAT(text_of(notice), testing::Not(testing::HasSubstr("above train_samples")));
  }
}

TEST(Huggingface, ReadsTheLossesThatTheFirstReleasesPrintAsJson) {
  const auto runs = read_text(
      "{\"learning_rate\": 4.5e-05, \"loss\": 0.71, \"step\": 50}\n"
      "{\"eval_acc\": 0.8, \"learning_rate\": 4e-05, \"loss\": 0.52, \"step\": 100}\n"
      "{\"loss\": NaN, \"learning_rate\": 3.5e-05, \"epoch\": 0.4, \"step\": 150}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "huggingface");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].loss, 0.52);
  EXPECT_EQ(runs[0].first_nan_step, 150);
}

TEST(Huggingface, ANotebooksBarTellsTheStepsAndTheirTime) {
  const auto runs = read_text(
      "      [101/101 00:50, Epoch 3/3]\n"
      "Step\tTraining Loss\n50\t0.61\n"
      "    \"      [ 42/201 00:20 < 01:19, 2.01 it/s, Epoch 0.20/1]\\n\",\n");
  ASSERT_EQ(runs.size(), 2u);
  ASSERT_EQ(runs[0].records.size(), 1u);
  EXPECT_EQ(runs[0].records[0].step, 101);
  EXPECT_EQ(runs[0].records[0].iterations, 100) << "the clock begins behind step 1";
  EXPECT_EQ(runs[0].records[0].seconds, 50);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  ASSERT_EQ(runs[1].records.size(), 1u);
  EXPECT_EQ(runs[1].records[0].step, 41) << "one more is shown while it goes on";
  EXPECT_EQ(runs[1].records[0].printed_rate, 2.01);
  EXPECT_EQ(runs[1].outcome.status, Status::truncated);
}

TEST(Huggingface, ANotebooksBarYieldsToTheClosingDict) {
  const auto runs = read_text(
      "  [101/101 00:50, Epoch 3/3]\n"
      "TrainOutput(global_step=101, training_loss=0.5, metrics={'train_runtime': 50.5, "
      "'train_samples_per_second': 64.0, 'train_steps_per_second': 2.0, 'epoch': 3.0})\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0].records.empty());
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].summary->value, 64);
}

}  // namespace
}  // namespace bertbench
