#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/notice_text.h"
#include "tests/parsers/published_tail.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// The snippet of the seed notebook.
const std::string kNotebook =
    test::kPublishedSteps +
    "11/13/2019 19:47:17 - INFO - __main__ -   Total Steps:7048.0 Final Loss = 1.4431438446044922\n"
    "Total time taken 149858.59364962578\n"
    "finished pretraining, starting benchmarking\n"
    "training throughput phase1: 2723.84 sequences/second\n"
    "average loss: 1.46856689453125 final loss: 1.4431438446044922\n";

TEST(Tqdm, KeepsFirstAndLastRedrawOfEachOptimizerStepOfTheNotebook) {
  const auto runs = read_text(kNotebook);
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.iteration_unit, IterationUnit::micro_step);
  EXPECT_EQ(run.rate_unit, RateUnit::iterations_per_second);
  std::vector<double> first, last;
  for (const Record& record : run.records) {
    first.push_back(record.printed_first);
    last.push_back(record.printed_rate);
  }
  EXPECT_THAT(first, testing::ElementsAre(2.81, 2.71, 2.66, 2.74, 2.83, 2.70, 2.66));
  EXPECT_THAT(last, testing::Each(3.09));
  EXPECT_EQ(last.size(), 7u);
  // 384 micro-steps in 125 s by counter and clock.
  EXPECT_EQ(run.records.back().step - run.records.front().step, 384);
  EXPECT_EQ(run.records.back().time_s - run.records.front().time_s, 125);
  for (std::size_t i = 1; i < run.records.size(); ++i) EXPECT_EQ(run.records[i].iterations, 64);
  EXPECT_EQ(run.records[0].loss, 1.6171875);
  ASSERT_TRUE(run.summary);
  EXPECT_EQ(run.summary->value, 2723.84);
  EXPECT_EQ(run.summary->unit, RateUnit::sequences_per_second);
  EXPECT_EQ(run.totals.wall_s, 149858.59364962578);
  EXPECT_EQ(run.facts.gradient_accumulation_steps.value, 64);
  EXPECT_EQ(run.outcome.status, Status::completed);
}

TEST(Tqdm, GivesTheSameRunHoweverTheNotebooksLogIsCutInTwo) {
  const std::string whole = to_test_text(read_text(kNotebook));
  for (std::size_t cut = 0; cut <= kNotebook.size(); ++cut) {
    ASSERT_EQ(to_test_text(read_text_cut(kNotebook, cut)), whole) << "cut at " << cut;
  }
}

TEST(Tqdm, MergesRedrawsOfOneCounterValue) {
  const auto runs = read_text(
      "Iteration:   1%| | 1/100 [00:01<01:39,  1.00it/s]\r"
      "Iteration:   2%| | 2/100 [00:02<01:39,  1.10it/s]\r"
      "Iteration:   2%| | 2/100 [00:04<01:39,  0.50it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  const Record& second = runs[0].records[1];
  EXPECT_EQ(second.printed_first, 1.10);
  EXPECT_EQ(second.printed_rate, 0.50);
  EXPECT_EQ(second.first_time_s, 2);
  EXPECT_EQ(second.time_s, 4);
}

TEST(Tqdm, ContinuesTheCounterWhenTheBarStartsOverForEachDataFile) {
  const auto runs = read_text(
      "Iteration:   0%| | 0/3 [00:00<?, ?it/s]\rIteration:  33%| | 1/3 [00:01<00:02,  1.00it/s]\r"
      "Iteration: 100%| | 3/3 [00:03<00:00,  1.00it/s]\n"
      "Iteration:   0%| | 0/9 [00:00<?, ?it/s]\rIteration:  22%| | 2/9 [00:02<00:02,  1.00it/s]\r"
      "Iteration: 100%| | 9/9 [00:09<00:00,  1.00it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  std::vector<std::int64_t> steps;
  for (const Record& record : runs[0].records) steps.push_back(record.step);
  EXPECT_THAT(steps, testing::ElementsAre(1, 3, 5, 12));
  EXPECT_EQ(runs[0].records.back().time_s, 12);
  EXPECT_DOUBLE_EQ(runs[0].clock_resolution_s, 1.015) << "the first bar's mean tells its seconds";
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Tqdm, TakesTheBarsOfSeveralUnlabelledRanksAsOneRun) {
  std::string log;
  const auto bar = [&](int done, int seconds) {
    for (int rank = 0; rank < 3; ++rank) {
      log += "\rIteration:  50%| | " + std::to_string(done) + "/4 [00:0" + std::to_string(seconds) +
             "<00:01,  " + (done == 0 ? "?" : "1.00") + "it/s]\x1b[A";
    }
  };
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int done = 0; done <= 4; ++done) bar(done, done);
  }
  const auto runs = read_text(log + "\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 8u);
  EXPECT_EQ(runs[0].records.back().step, 8);
}

TEST(Tqdm, LetsARankThatLagsBehindNotStartARun) {
  const auto runs = read_text(
      "[1,0]<stderr>:Iteration:  10%| | 10/100 [00:10<01:39,  1.00it/s]\n"
      "[1,1]<stderr>:Iteration:  10%| | 10/100 [00:10<01:39,  1.00it/s]\n"
      "[1,0]<stderr>:Iteration:  11%| | 11/100 [00:11<01:39,  1.00it/s]\n"
      "[1,0]<stderr>:Iteration:  12%| | 12/100 [00:12<01:39,  1.00it/s]\n"
      "[1,1]<stderr>:Iteration:  11%| | 11/100 [00:11<01:39,  1.00it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 3u);
}

TEST(Tqdm, SeparatesEvaluationFromTraining) {
  const auto runs = read_text(
      "Iteration:  50%| | 5/10 [00:05<00:05,  1.00it/s]\rIteration: 100%| | 10/10 [00:10<00:00,  "
      "1.00it/s]\n"
      "Evaluating:  50%| | 5/10 [00:01<00:01,  5.00it/s]\rEvaluating: 100%| | 10/10 [00:02<00:00,  "
      "5.00it/s]\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  EXPECT_EQ(runs[0].records.back().printed_rate, 1);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[1].records.back().printed_rate, 5);
}

TEST(Tqdm, KeepsTheValidationOfEachEpochOutOfItsTraining) {
  std::string log;
  for (int i = 1; i <= 2; ++i) {
    const std::string epoch = "Epoch " + std::to_string(i);
    log += "\r" + epoch + " [Train]:  40%| | 4/10 [00:04<00:06,  1.00it/s]\r" + epoch +
           " [Train]: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n\r" + epoch +
           " [Val]:  40%| | 4/10 [00:02<00:03,  2.00it/s]\r" + epoch +
           " [Val]: 100%| | 10/10 [00:05<00:00,  2.00it/s]\n";
  }
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, WorkKind::training);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records.back().step, 20);
  EXPECT_EQ(runs[0].records.back().time_s, 20);
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[1].records.back().time_s, 10);
}

TEST(Tqdm, JoinsEpochsWhoseNumberStandsBehindAColon) {
  const auto runs = read_text(
      "\rEpoch: 1/2:  40%| | 4/10 [00:04<00:06,  1.00it/s]"
      "\rEpoch: 1/2: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n"
      "\rEpoch: 2/2:  40%| | 4/10 [00:04<00:06,  1.00it/s]"
      "\rEpoch: 2/2: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records.back().step, 20);
}

TEST(Tqdm, CountsEveryEpochWhereOnlyItsLastRedrawIsKept) {
  const auto runs = read_text(
      "Epoch 0: 100%| | 10/10 [00:10<00:00,  1.00it/s, v_num=0]\n"
      "Epoch 1:  60%| | 6/10 [00:06<00:04,  1.00it/s, v_num=0]\n"
      "Epoch 1: 100%| | 10/10 [00:10<00:00,  1.00it/s, v_num=0]\n"
      "Epoch 2: 100%| | 10/10 [00:10<00:00,  1.00it/s, v_num=0]\n"
      "Epoch 2: 100%| | 10/10 [00:10<00:00,  1.00it/s, v_num=0]\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records.back().step, 30);
  EXPECT_EQ(runs[0].records.back().time_s, 30);
}

TEST(Tqdm, CountsEpochsThatAreNamedByANumberAlone) {
  const auto runs = read_text(
      "train 1/2:  40%| | 4/10 [00:04<00:06,  1.00it/s]\r"
      "train 1/2: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n"
      "train 2/2:  40%| | 4/10 [00:04<00:06,  1.00it/s]\r"
      "train 2/2: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records.back().step, 20);
}

// simpletransformers: the loss stands in the name, and the bar around the loops is named like them.
TEST(Tqdm, TellsTheBarAroundTheEpochsFromTheirs) {
  const auto runs = read_text(
      "Epoch 1 of 2:   0%|          | 0/2 [00:00<?, ?it/s]\n"
      "Running Epoch 0 of 2:   0%|          | 0/10 [00:00<?, ?it/s]\r"
      "Epochs 0/2. Running Loss:    0.6931:  40%| | 4/10 [00:04<00:06,  1.00it/s]\r"
      "Epochs 0/2. Running Loss:    0.5931: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n"
      "Epoch 1 of 2:  50%|#####     | 1/2 [00:11<00:11, 11.00s/it]\r"
      "Epoch 2 of 2:  50%|#####     | 1/2 [00:11<00:11, 11.00s/it]\n"
      "Running Epoch 1 of 2:   0%|          | 0/10 [00:00<?, ?it/s]\r"
      "Epochs 1/2. Running Loss:    0.4931:  40%| | 4/10 [00:04<00:06,  1.00it/s]\r"
      "Epochs 1/2. Running Loss:    0.3931: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n"
      "Epoch 2 of 2: 100%|##########| 2/2 [00:22<00:00, 11.00s/it]\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records.back().step, 20);
  EXPECT_EQ(runs[0].records.back().time_s, 20);
  EXPECT_EQ(runs[0].records.back().loss, 0.3931);
}

TEST(Tqdm, TakesABarOfAnotherNameForTrainingWhenItShowsALoss) {
  const auto bars = [](const std::string& postfix) {
    return read_text(
        "Reformer:   0%|          | 0/10 [00:00<?, ?it/s]\r"
        "Reformer:  40%| | 4/10 [00:04<00:06,  1.00it/s" +
        postfix + "]\rReformer: 100%| | 10/10 [00:10<00:00,  1.00it/s" + postfix + "]\n");
  };
  const auto runs = bars(", loss=0.5");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  // A script may write the postfix as a text.
  const auto words = bars(", loss 0.5000");
  ASSERT_EQ(words.size(), 1u);
  EXPECT_EQ(words[0].records.size(), 2u);
  const auto unknown = bars("");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].outcome.status, Status::no_data);
}

TEST(Tqdm, SaysThatALongBarOfAnotherNameWasNotTaken) {
  const auto runs = read_text("Distil: 100%|##| 90/90 [03:00<00:00,  2.00s/it]\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("named 'Distil'"));
  const auto beside = read_text(
      "Tokenizing: 100%|##| 90/90 [03:00<00:00,  2.00s/it]\n"
      "Epoch 1: 100%|##| 20/20 [00:20<00:00,  1.00it/s]\n");
  ASSERT_EQ(beside.size(), 1u);
  for (const Notice& notice : beside[0].notices) {
    EXPECT_THAT(text_of(notice), testing::Not(testing::HasSubstr("named")));
  }
}

// Hugging Face's run_mlm_flax.py: desc="Epoch ... " around desc="Training..." and "Evaluating ...".
TEST(Tqdm, TellsTheEpochsOfFlaxScriptsFromTheirSteps) {
  for (const std::string outer : {"Epoch ... ", "Epoch ... (1/2)"}) {
    const auto runs = read_text("\r" + outer +
                                ":   0%| | 0/2 [00:00<?, ?it/s]\n"
                                "Training...:  40%| | 4/10 [00:04<00:06,  1.00it/s]\n"
                                "Training...: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n"
                                "\rEvaluating ...: 100%| | 10/10 [00:02<00:00,  5.00it/s]\n"
                                "\r" +
                                outer +
                                ":  50%| | 1/2 [00:12<00:12, 12.00s/it]\n"
                                "Training...:  40%| | 4/10 [00:04<00:06,  1.00it/s]\n"
                                "Training...: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n");
    ASSERT_EQ(runs.size(), 2u) << outer;
    EXPECT_EQ(runs[0].kind, WorkKind::training);
    ASSERT_EQ(runs[0].records.size(), 4u) << outer;
    EXPECT_EQ(runs[0].records.back().step, 20);
    EXPECT_EQ(runs[0].records.back().time_s, 20);
  }
}

TEST(Tqdm, GivesTheRateOfABarOfExamplesAsSequencesAndSaysWhose) {
  const std::string log =
      "Namespace(batch_size=32, gradient_accumulation_steps=1, world_size=1)\n"
      "\rTrain:   0%| | 0/32000 [00:00<?, ? examples/s]"
      "\rTrain:   3%| | 960/32000 [00:07<04:03, 128.00 examples/s]"
      "\rTrain:   6%| | 1920/32000 [00:15<03:55, 128.00 examples/s]\n";
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(runs[0].records.back().printed_rate, 128);
  EXPECT_TRUE(std::isnan(runs[0].records.back().time_s)) << "a batch given would multiply it";
  EXPECT_FALSE(runs[0].totals.iterations);
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known()) << "it would multiply the examples";
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("counts examples"));
  const auto ranks = read_text(
      "[1,0]<stderr>:Train:   3%| | 960/32000 [00:07<04:03, 128.00 examples/s]\n"
      "[1,1]<stderr>:Train:   3%| | 960/32000 [00:07<04:03, 128.00 examples/s]\n");
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].rate_unit, RateUnit::unknown);
  // Without a name, but with a loss: 16.19 batches of 8 a second by a callback.
  const auto unnamed = read_text(
      "\r  0%|          | 0/2400 [00:00<?, ?samples/s]"
      "\r  8%|▊         | 200/2400 [00:01<00:19, 115.73samples/s, loss=2]"
      "\r100%|██████████| 2400/2400 [00:18<00:00, 129.52samples/s, loss=0.627]\n");
  ASSERT_EQ(unnamed.size(), 1u);
  EXPECT_EQ(unnamed[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(unnamed[0].records.back().printed_rate, 129.52);
  // A data set that is made, not trained with.
  const auto made = read_text(
      "100%| | 960/960 [00:07<00:00, 128.00 examples/s]\n"
      "Generating train split: 960 examples [00:07, 128.00 examples/s]\n"
      "Map: 100%| | 960/960 [00:07<00:00, 128.00 examples/s]\n");
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].outcome.status, Status::no_data);
}

// The Trainer's bar after --resume_from_checkpoint; its real rate is 20 it/s.
TEST(Tqdm, TakesNoPrintedRateOfABarThatLeapsToWhereTheRunGoesOn) {
  const auto runs = read_text(
      "\r  0%| | 0/100000 [00:00<?, ?it/s]"
      "\r 99%|#| 99001/100000 [00:00<00:00, 660020.00it/s]\n"
      "{'loss': 2.005, 'learning_rate': 5e-05, 'epoch': 0.99}\n"
      "\r100%|#| 99500/100000 [00:24<00:00, 660020.00it/s]"
      "\r100%|#| 100000/100000 [00:49<00:00, 2040.00it/s]\n"
      "{'train_runtime': 49.5, 'train_samples_per_second': 16161.6, 'train_steps_per_second': "
      "2020.2, 'epoch': 1.0}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  EXPECT_FALSE(runs[0].summary);
  EXPECT_EQ(runs[0].totals.iterations, 999);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("leaps from 0 to 99001"));
}

// From a run of transformers 4.12 that was resumed at step 50: 31 steps/s by a callback. The leap
// is over within the bar's first second, where only its rate tells it.
TEST(Tqdm, SeesAShortLeapByTheRateOfTheFirstSecond) {
  const auto runs = read_text(
      "\r  0%|          | 0/200 [00:00<?, ?it/s]"
      "\r 26%|██▌       | 52/200 [00:00<00:00, 471.90it/s]\n"
      "{'loss': 0.976, 'learning_rate': 3.5e-05, 'epoch': 0.6}\n"
      "\r 44%|████▎     | 87/200 [00:01<00:01, 58.02it/s]"
      "\r100%|██████████| 200/200 [00:04<00:00, 33.10it/s]\n"
      "{'train_runtime': 4.8864, 'train_samples_per_second': 327.43, 'train_steps_per_second': "
      "40.929, 'train_loss': 0.5, 'epoch': 2.0}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::unknown);
  EXPECT_FALSE(runs[0].summary);
  EXPECT_EQ(runs[0].totals.iterations, 148);
  // A terminal keeps the last redraw of a line only: the Trainer's own words tell.
  const auto kept = read_text(
      "  Continuing training from global step 50\n"
      "Skipping the first batches: 100%|██████████| 50/50 [00:00<00:00, 962.21it/s]\n"
      " 44%|████▎     | 87/200 [00:01<00:01, 58.02it/s]\n"
      "100%|██████████| 200/200 [00:04<00:00, 33.10it/s]\n"
      "{'train_runtime': 4.8864, 'train_samples_per_second': 327.43, 'train_steps_per_second': "
      "40.929, 'train_loss': 0.5, 'epoch': 2.0}\n");
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].rate_unit, RateUnit::unknown);
  EXPECT_FALSE(kept[0].summary);
  EXPECT_EQ(kept[0].totals.iterations, 150);
  // A run that goes on as it began has no leap.
  const auto steady = read_text(
      "\rTraining:   0%| | 0/200 [00:00<?, ?it/s]"
      "\rTraining:  26%| | 52/200 [00:00<00:00, 471.90it/s]"
      "\rTraining: 100%| | 2000/2000 [00:04<00:00, 470.10it/s]\n");
  EXPECT_EQ(steady.at(0).rate_unit, RateUnit::iterations_per_second);
}

TEST(Tqdm, CountsTheBarsOfWhichATerminalKeptTheEndsOnly) {
  const auto end = [](const char* clock, const char* rate) {
    return std::string("Iteration: 100%|####| 80/80 [") + clock + "<00:00,  " + rate + "it/s]\n";
  };
  // The bar around them moves in between; the last epoch took as long as the one before.
  const auto runs =
      read_text("Epoch:   0%|    | 0/3 [00:00<?, ?it/s]\n" + end("01:40", "0.80") +
                "Epoch:  33%|#   | 1/3 [01:45<03:30, 105.00s/it]\n" + end("03:20", "0.40") +
                end("03:20", "0.40") + "Epoch:  67%|##  | 2/3 [05:10<02:40, 160.00s/it]\n" +
                end("03:20", "0.40"));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records.back().step, 240);
  EXPECT_DOUBLE_EQ(runs[0].records.back().time_s, 500);
  EXPECT_THAT(runs[0].notices, testing::Contains(NoticeText(testing::HasSubstr("of 3 bars"))));
}

TEST(Tqdm, GoesOnBehindTheEndsThatATerminalKept) {
  const auto runs = read_text(
      "Training: 100%|####| 80/80 [01:40<00:00,  0.80it/s]\nTraining: 100%|####| 80/80 "
      "[03:20<00:00,  0.40it/s]\nTraining:  75%|###-| 60/80 [02:00<00:40,  0.50it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 220);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(Tqdm, TakesTheLongestBarWithoutANameOfWhichATerminalKeptTheEnds) {
  const auto runs = read_text(
      "100%|####| 80/80 [01:40<00:00,  0.80it/s, loss=1.2]\nvalidation 0.5\n"
      "100%|####| 80/80 [03:20<00:00,  0.40it/s, loss=0.9]\nvalidation 0.6\n"
      "100%|####| 80/80 [02:40<00:00,  0.50it/s, loss=0.7]\nvalidation 0.7\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().time_s, 200);
  EXPECT_EQ(runs[0].records.back().printed_rate, 0.4);
  EXPECT_THAT(runs[0].notices, testing::Contains(NoticeText(testing::HasSubstr("longest of 3"))));
}

// The Trainer's, when all is saved.
TEST(Tqdm, DoesNotTakeABarThatIsClosedLaterForAnother) {
  const auto last = read_text(
      "{'loss': 0.5, 'epoch': 1.0}\n100%|####| 80/80 [01:40<00:00,  0.80it/s]\nSaving model\n"
      "100%|####| 80/80 [02:10<00:00,  0.62it/s]\n");
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].records.size(), 1u);
  const auto runs = read_text(
      "\rIteration:   0%|    | 0/80 [00:00<?, ?it/s]\rIteration: 100%|####| 80/80 [01:40<00:00, "
      "0.80it/s]\nsaving\nIteration: 100%|####| 80/80 [02:10<00:00,  0.62it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 80);
}

}  // namespace
}  // namespace bertbench
