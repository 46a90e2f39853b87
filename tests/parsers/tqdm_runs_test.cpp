// Which bars make a run, and which statements belong to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/notice_text.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(Tqdm, DoesNotTakeTheTimeOfAllEpochsForABarWithoutANameOfOne) {
  const std::string epoch =
      "\r  0%| | 0/100 [00:00<?, ?it/s]\r 50%|#| 50/100 [00:12<00:12,  4.00it/s, loss=0.5]"
      "\r100%|#| 100/100 [00:25<00:00,  4.00it/s, loss=0.5]\n";
  const auto runs = read_text("\rEpochs:   0%| | 0/2 [00:00<?, ?it/s]\n" + epoch +
                              "\rEpochs:  50%|#| 1/2 [00:25<00:25, 25.00s/it]\n" + epoch +
                              "\rEpochs: 100%|#| 2/2 [00:50<00:00, 25.00s/it]\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 100);
  EXPECT_FALSE(runs[0].totals.training_s) << "50 s are those of both";
}

TEST(Tqdm, GivesEachTrainingOfOneLogItsOwnClosingStatement) {
  const auto training = [](int total, int seconds) {
    const std::string n = std::to_string(total), half = std::to_string(total / 2);
    const auto clock = [](int s) { return "00:" + std::to_string(s); };
    return "***** Running training *****\n\r  0%| | 0/" + n + " [00:00<?, ?it/s]\r 50%|#| " + half +
           "/" + n + " [" + clock(seconds / 2) + "<00:12,  4.00it/s]\r100%|#| " + n + "/" + n +
           " [" + clock(seconds) + "<00:00,  4.00it/s]\n" +
           "\r  0%| | 0/20 [00:00<?, ?it/s]\r100%|#| 20/20 [00:02<00:00, 10.00it/s]\n"
           "{'train_runtime': " +
           std::to_string(seconds) + ".5, 'train_samples_per_second': " + n +
           ".0, 'train_steps_per_second': 4.0, 'train_loss': 0.4, 'epoch': 1.0}\n";
  };
  const auto runs = read_text(training(120, 30) + training(100, 25) + training(200, 50));
  ASSERT_EQ(runs.size(), 3u);
  const double totals[] = {120, 100, 200}, seconds[] = {30.5, 25.5, 50.5};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(runs[i].records.back().step, totals[i]);
    ASSERT_TRUE(runs[i].summary) << i;
    EXPECT_EQ(runs[i].summary->value, totals[i]);
    EXPECT_EQ(runs[i].totals.training_s, seconds[i]);
    EXPECT_EQ(runs[i].outcome.status, Status::completed);
  }
}

TEST(Tqdm, DoesNotTakeTheEpochsAroundABarWithoutANameForItsIterations) {
  const auto log = [](const std::string& postfix) {
    std::string text = "Epoch 0:   0%| | 0/3 [00:00<?, ?it/s]";
    for (int e = 0; e < 3; ++e) {
      text += "\n\r  0%| | 0/300 [00:00<?, ?it/s]\r 50%|#| 150/300 [00:37<00:37,  4.00it/s" +
              postfix + "]\r100%|#| 300/300 [01:1" + std::to_string(5 + e) + "<00:00,  4.00it/s" +
              postfix + "]\x1b[A\rEpoch " + std::to_string(e) + ":  33%|#| " +
              std::to_string(e + 1) + "/3 [0" + std::to_string(e + 1) + ":20<02:40, 80.00s/it]";
    }
    return read_text(text + "\n");
  };
  const auto runs = log(", loss=0.5");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 300);
  const auto unknown = log("");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_TRUE(unknown[0].records.empty());
  // A bar that may count epochs as well as batches says so.
  const auto few = read_text(
      "\rTraining:  50%|#| 5/10 [06:15<06:15, 75.00s/it]"
      "\rTraining: 100%|#| 10/10 [12:30<00:00, 75.00s/it]\n");
  EXPECT_THAT(text_of(few.at(0).notices.at(0)), testing::HasSubstr("may count epochs"));
}

TEST(Tqdm, CountsTheTotalOfAResumedBarFromWhereItBegins) {
  const auto leap = read_text(
      "\rTraining:   0%| | 0/1000 [00:00<?, ?it/s]"
      "\rTraining:  60%|#| 600/1000 [00:02<00:01, 300.00it/s]"
      "\rTraining:  80%|#| 800/1000 [01:42<00:05, 40.00it/s]"
      "\rTraining: 100%|#| 1000/1000 [03:22<00:00,  4.95it/s]\n");
  ASSERT_EQ(leap.size(), 1u);
  EXPECT_EQ(leap[0].totals.iterations, 400);
  EXPECT_EQ(leap[0].totals.training_s, 200);
  const auto drawn = read_text(
      "\rSteps:  60%|#| 600/1000 [00:00<?, ?it/s]"
      "\rSteps:  80%|#| 800/1000 [01:40<01:40,  2.00it/s]"
      "\rSteps: 100%|#| 1000/1000 [03:20<00:00,  2.00it/s]\n");
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_EQ(drawn[0].totals.iterations, 400);
  EXPECT_EQ(drawn[0].totals.training_s, 200);
  EXPECT_EQ(drawn[0].rate_unit, RateUnit::iterations_per_second);
  EXPECT_TRUE(drawn[0].notices.empty());
}

TEST(Tqdm, TakesALoopWithoutANameForTrainingOnlyOnEvidence) {
  const std::string bar =
      "\r 50%| | 200/400 [00:50<00:50,  4.00it/s]\r100%| | 400/400 [01:40<00:00,  4.00it/s]\n";
  const auto loop = read_text(bar);
  ASSERT_EQ(loop.size(), 1u);
  EXPECT_TRUE(loop[0].records.empty());
  EXPECT_EQ(loop[0].outcome.status, Status::no_data);
  ASSERT_EQ(loop[0].notices.size(), 1u);
  const auto trainer = read_text(bar +
                                 "{'train_runtime': 100.5, 'train_samples_per_second': 32.0, "
                                 "'train_steps_per_second': 3.98, 'epoch': 1.0}\n");
  ASSERT_EQ(trainer.size(), 1u);
  EXPECT_EQ(trainer[0].records.size(), 2u);
  EXPECT_EQ(trainer[0].iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(trainer[0].summary->value, 32.0);
  EXPECT_EQ(trainer[0].summary->unit, RateUnit::sequences_per_second);
  EXPECT_EQ(trainer[0].totals.training_s, 100.5);
}

TEST(Tqdm, KnowsThatOldTrainersCountedStepsAsSamples) {
  const auto runs = read_text(
      "100%| | 400/400 [01:40<00:00,  4.00it/s]\n"
      "{'train_runtime': 100.0, 'train_samples_per_second': 4.0, 'epoch': 1.0}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].summary->unit, RateUnit::iterations_per_second);
  EXPECT_FALSE(runs[0].notices.empty());
}

TEST(Tqdm, BeginsAnotherRunBehindAClosingStatement) {
  const std::string phase =
      "Iteration:  50%| | 5/10 [00:05<00:05,  1.00it/s]\rIteration: 100%| | 10/10 [00:10<00:00,  "
      "1.00it/s]\n"
      "training throughput phase1: 100.5 sequences/second\n";
  const auto runs = read_text(phase + phase + phase);
  ASSERT_EQ(runs.size(), 3u);
  for (const RunLog& run : runs) {
    EXPECT_EQ(run.records.size(), 2u);
    EXPECT_EQ(run.records.back().step, 10);
    ASSERT_TRUE(run.summary);
  }
}

// A job that was requeued writes behind what the first try left.
TEST(Tqdm, BeginsAnotherRunWhereABarStartsOverBehindAFailure) {
  const auto bars = [](int from, int to) {
    std::string text;
    for (int i = from; i <= to; ++i) {
      text += "\rTraining:  " + std::to_string(i) + "%| | " + std::to_string(i) +
              "/100 [00:" + (i < 10 ? "0" : "") + std::to_string(i % 60) + "<00:50,  1.00it/s]";
    }
    return text;
  };
  const std::string oom =
      "\nTraceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  const auto runs = read_text(bars(0, 20) + oom + bars(20, 20) + "\n" + bars(0, 40) + "\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].records.size(), 20u);
  EXPECT_EQ(runs[0].outcome.status, Status::out_of_memory);
  EXPECT_EQ(runs[1].records.size(), 40u);
  EXPECT_EQ(runs[1].outcome.status, Status::truncated);
  // A failure that the loop survives begins none, nor does one between whole bars.
  EXPECT_EQ(read_text(bars(0, 20) + oom + bars(21, 40) + "\n").size(), 1u);
  EXPECT_EQ(read_text(bars(0, 100) + oom + bars(0, 100) + "\n").size(), 1u);
}

TEST(Tqdm, DoesNotTrustANumberAtTheEndOfInput) {
  const auto cut =
      read_text("Iteration: 100%| | 10/10 [00:10<00:00,  1.00it/s]\ntraining throughput: 28");
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_FALSE(cut[0].summary);
  const auto whole =
      read_text("Iteration: 100%| | 10/10 [00:10<00:00,  1.00it/s]\ntraining throughput: 28\n");
  ASSERT_TRUE(whole[0].summary);
  EXPECT_EQ(whole[0].summary->value, 28);
}

TEST(Tqdm, SaysWhenTheScriptsClosingNumberIsNotTheRate) {
  const auto runs = read_text(
      "--train_batch_size=10\ndevice: cuda n_gpu: 1, distributed training: False, 16-bits "
      "training: False\n"
      "Iteration:   1%| | 1/100 [00:01<00:05,  1.00it/s]\r"
      "Iteration: 100%| | 100/100 [01:40<00:00,  2.80it/s]\n training throughput: 28\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 10);
  EXPECT_EQ(runs[0].facts.world(), 1);
  ASSERT_EQ(runs[0].notices.size(), 1u);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("180.0 % above counter over clock"));
}

TEST(Tqdm, FindsTheLossesThatTheFirstTrainersPrintAsJson) {
  const auto runs = read_text(
      "Iteration:  20%| | 2/10 [00:02<00:08,  1.00it/s]{\"learning_rate\": 4e-05, \"loss\": 1.5, "
      "\"step\": 2}\n"
      "Iteration:  40%| | 4/10 [00:04<00:06,  1.00it/s]{\"loss\": NaN, \"learning_rate\": 3e-05, "
      "\"epoch\": 0.4, \"step\": 4}\n"
      "Iteration: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].first_nan_step, 4);
}

TEST(Tqdm, FindsTheFirstLossThatIsNotANumber) {
  const auto runs = read_text(
      "Iteration:  10%| | 1/10 [00:01<00:09,  1.00it/s]Step:1 Average Loss = 9.1 Step Loss = 9.1 "
      "LR 1\n"
      "Iteration:  20%| | 2/10 [00:02<00:08,  1.00it/s]Step:2 Average Loss = nan Step Loss = nan "
      "LR 1\n"
      "Iteration:  30%| | 3/10 [00:03<00:07,  1.00it/s]Step:3 Average Loss = nan Step Loss = nan "
      "LR 1\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].first_nan_step, 2);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.step, 2);
}

// From a run of tqdm 4.70: three epochs of 100 steps, in which a callback counted 16.56 steps/s.
// The bars show 17 s, cut to whole seconds each; their closing rates tell 18.1 s.
TEST(Tqdm, TimesEpochsThatHaveEndedByTheirClosingMeans) {
  const auto runs = read_text(
      "\rIteration:   0%|          | 0/100 [00:00<?, ?it/s]"
      "\rIteration:  98%|█████████▊| 98/100 [00:05<00:00, 15.94it/s]"
      "\rIteration: 100%|██████████| 100/100 [00:06<00:00, 16.47it/s]\n"
      "\rIteration:   0%|          | 0/100 [00:00<?, ?it/s]"
      "\rIteration: 100%|██████████| 100/100 [00:05<00:00, 16.86it/s]"
      "\rIteration: 100%|██████████| 100/100 [00:05<00:00, 16.71it/s]\n"
      "\rIteration:   0%|          | 0/100 [00:00<?, ?it/s]"
      "\rIteration: 100%|██████████| 100/100 [00:06<00:00, 16.51it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.records.back().step, 300);
  EXPECT_NEAR(run.records.back().time_s, 100 / 16.47 + 100 / 16.71 + 6, 1e-9);
  EXPECT_NEAR(run.clock_resolution_s, 1, 0.01);
  // Without a mean each of them leaves up to a second open.
  const auto cut = read_text(
      "\rIteration:   0%| | 0/100 [00:00<?, ?it/s]"
      "\rIteration:  98%| | 98/100 [00:05<00:00, 15.94it/s]"
      "\rIteration:   0%| | 0/100 [00:00<?, ?it/s]"
      "\rIteration: 100%| | 100/100 [00:06<00:00, 16.51it/s]\n");
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].records.back().time_s, 11);
  EXPECT_EQ(cut[0].clock_resolution_s, 2);
}

// From a run of Lightning 1.4.9 at 0.65 batches/s: its bars begin at -1, so 10 of them in 15.2 s
// read 1.38 s each; the first redraws have no postfix.
TEST(Tqdm, TakesTheRatesOfLightningsFirstReleasesForOneBatchLess) {
  const std::string log =
      "\rTraining: -1it [00:00, ?it/s]"
      "\rEpoch 0:   0%|          | 0/10 [00:00<00:00, 10565.00it/s] "
      "\rEpoch 0:  10%|█         | 1/10 [00:01<00:06,  1.30it/s]   "
      "\rEpoch 0:  10%|█         | 1/10 [00:01<00:07,  1.27it/s, loss=0.633, v_num=6]"
      "\rEpoch 1: 100%|██████████| 10/10 [00:15<00:00,  1.38s/it, loss=0.657, v_num=6]\n";
  const auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(runs[0].records.at(0).printed_rate, 0.635, 1e-9);
  EXPECT_NEAR(runs[0].records.back().printed_rate, 10 / (11 * 1.38), 1e-9);
  EXPECT_TRUE(runs[0].notices.empty());
  // A terminal kept the last redraw of each line.
  const auto kept = read_text(
      "Epoch 0: 100%|██████████| 10/10 [00:15<00:00,  1.42s/it, loss=0.657, v_num=6]\n"
      "Epoch 1: 100%|██████████| 10/10 [00:15<00:00,  1.38s/it, loss=0.657, v_num=6]\n");
  EXPECT_NEAR(kept.at(0).records.back().printed_rate, 10 / (11 * 1.38), 1e-9);
  const auto validated = read_text(log + "\rValidating:  50%| | 5/10 [00:00<00:00, 23.5it/s]\n");
  ASSERT_EQ(validated.size(), 2u);
  EXPECT_THAT(text_of(validated[0].notices.at(0)), testing::HasSubstr("batches of the validation"));
}

// What is left of a bar where a line of the log was written into it has no name.
TEST(Tqdm, TakesTheEpochsAroundForThoseOfTheNamedBarWhateverIsDrawnLast) {
  const auto runs = read_text(
      "Epoch:   0%|          | 0/50 [00:00<?, ?it/s]\n"
      "Iteration: 100%|##########| 117/117 [07:08<00:00,  3.66s/it]\n"
      "09/20/2025 19:52:49 - INFO - trainer -   ***** Eval results *****##| 4/4 [00:04<00:00,  "
      "1.07s/it]\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 117);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated) << "one of 50 epochs";
}

// A loop that skips what was done before the checkpoint, 1440 batches/s, and then trains.
TEST(Tqdm, LeavesOutTheBatchesThatAResumedRunSkips) {
  const auto runs = read_text(
      "Iteration:   0%|          | 0/4508 [00:00<?, ?it/s]\n"
      "Iteration:   3%|#         | 145/4508 [00:00<00:03, 1443.89it/s]\n"
      "Iteration:  19%|##        | 875/4508 [00:00<00:02, 1446.91it/s]\n"
      "Iteration:  23%|##        | 1045/4508 [00:37<06:51,  8.41it/s]\n"
      "Iteration: 100%|##########| 4507/4508 [49:59<00:00,  1.17it/s]\n"
      "Iteration: 100%|##########| 4508/4508 [50:00<00:00,  1.50it/s]\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records.front().step, 1045);
  EXPECT_EQ(runs[0].records.front().iterations, 1) << "the others were not trained";
  EXPECT_EQ(runs[0].totals.iterations, 4508 - 1045);
  EXPECT_EQ(runs[0].totals.training_s, 3000 - 37);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("leaps from 0 to 1045"));
}

// Of bars that last a few seconds a log file shows the last redraw alone.
TEST(Tqdm, TellsTrainingsOfWhichOnlyTheEndWasDrawn) {
  const auto training = [](const char* runtime, const char* rate, const char* elapsed) {
    return std::string("{'train_runtime': ") + runtime + ", 'train_samples_per_second': " + rate +
           ", 'train_steps_per_second': 0.9, 'train_loss': 1.5, 'epoch': 1.0}\n100% 9/9 [00:" +
           elapsed + "]\n";
  };
  const auto runs =
      read_text("  0% 0/9 [00:00<?, ?it/s]" + training("12.51", "0.719", "12<00:00,  1.39s/it") +
                training("9.94", "0.905", "09<00:00,  1.10s/it") +
                training("9.95", "0.904", "09<00:00,  1.10s/it"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].summary->value, 0.719);
  EXPECT_EQ(runs[1].summary->value, 0.905);
  EXPECT_THAT(runs[1].notices,
              testing::Contains(NoticeText(testing::HasSubstr("nearly the same"))));
}

// The Trainer's standard error: what it logs every 10 steps went elsewhere, and its bar was cleared
// for it and drawn again.
TEST(Tqdm, KnowsTheTrainersBarByWhatIsWrittenOverIt) {
  const auto bar = [](int done, int total) {
    return "\r  1%|#| " + std::to_string(done) + "/" + std::to_string(total) + " [" +
           std::to_string(done / 30) + ":" + (done % 30 < 5 ? "0" : "") +
           std::to_string(done % 30 * 2) + "<59:00,  2.00s/it]";
  };
  const auto log = [&](auto&& written, int copies) {
    std::string text = "\r  0%| | 0/1700 [00:00<?, ?it/s]";
    for (int step = 1; step <= 45; ++step) {
      text += bar(step, 1700);
      if (!written(step)) continue;
      for (int i = 0; i < copies; ++i) text += "\r                        " + bar(step, 1700);
    }
    text += "\n\r  0%| | 0/80 [00:00<?, ?it/s]\r100%|#| 80/80 [00:20<00:00,  4.00it/s]\n";
    return read_text(text);
  };
  const auto runs = log([](int step) { return step % 10 == 0; }, 1);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 45);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("written over it every 10 steps"));
  EXPECT_EQ(log([](int) { return true; }, 1).at(0).outcome.status, Status::no_data)
      << "two ranks draw it";
  EXPECT_EQ(log([](int step) { return step % 10 == 0; }, 2).at(0).outcome.status, Status::no_data);
  EXPECT_EQ(
      log([](int step) { return step == 7 || step == 12 || step == 31; }, 1).at(0).outcome.status,
      Status::no_data);
}

TEST(Tqdm, CountsOptimizerStepsWhereTheBarEndsWithThePlannedOnes) {
  const auto log = [](const char* planned) {
    return read_text(std::string("  Total optimization steps = ") + planned +
                     "\nSteps:   0%|          | 0/750 [00:00<?, ?it/s]\n"
                     "Steps:  20%|##        | 150/750 [01:00<04:00,  2.50it/s, lr=1e-5]\n");
  };
  EXPECT_EQ(log("750").at(0).iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(log("3000").at(0).iteration_unit, IterationUnit::unknown);
}

// Its losses are logged more seldom than it evaluates: no dict of a loss stands beside the bar.
TEST(TqdmRuns, AnEvaluationWithinATrainingTellsThatTheBarIsTheTrainers) {
  const std::string bars =
      "  5%|5         | 100/2000 [00:50<15:50,  2.00it/s]\n"
      "{'dev_loss': 0.75, 'dev_runtime': 2.6193, 'dev_samples_per_second': 77.9, EPOCH}\n"
      "  6%|6         | 120/2000 [01:00<15:40,  2.00it/s]\n";
  const auto with = [&](const char* epoch) {
    std::string text = bars;
    return read_text(text.replace(text.find("EPOCH"), 5, epoch));
  };
  const auto within = with("'epoch': 1.5");
  ASSERT_EQ(within.size(), 1u);
  EXPECT_EQ(within[0].kind, WorkKind::training);
  EXPECT_EQ(within[0].records.size(), 2u);
  const auto alone = with("'dev_steps': 7");
  EXPECT_TRUE(alone.empty() || alone[0].records.empty());
}

}  // namespace
}  // namespace bertbench
