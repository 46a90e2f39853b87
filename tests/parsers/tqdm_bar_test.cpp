#include "parsers/formats/tqdm/tqdm_bar.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parsers/lines/cursor.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::vector<TqdmBar> bars_of(std::string_view text) {
  std::vector<TqdmBar> bars;
  find_bars(text, {}, bars);
  return bars;
}

BarRole role_of(std::string_view description) { return name_of(description).role; }

TEST(Cursor, ReadsADurationUpToWhatFollowsIt) {
  const auto read = [](std::string_view text, bool cut = false) {
    Cursor cursor(text, cut);
    const auto seconds = cursor.duration();
    return std::pair(seconds.value_or(-1), cursor.at());
  };
  EXPECT_EQ(read("01:05<10:00"), std::pair(65.0, std::size_t{5}));
  EXPECT_EQ(read("1:00:27, 2.68it/s"), std::pair(3627.0, std::size_t{7}));
  EXPECT_EQ(read("00:01.5]"), std::pair(1.5, std::size_t{7}));
  EXPECT_EQ(read("2 days, 0:00:10]"), std::pair(172'810.0, std::size_t{15}));
  EXPECT_EQ(read("0:38"), std::pair(38.0, std::size_t{4}));
  for (const char* none : {"12:x", "100000001<", "99999999999999999999:00", "x"}) {
    EXPECT_EQ(read(none), std::pair(-1.0, std::size_t{0})) << none;
  }
  EXPECT_EQ(read("0:38", true), std::pair(-1.0, std::size_t{0})) << "digits may be missing";
}

TEST(TqdmBar, IsReadWithItsDescriptionCounterClockAndRate) {
  const auto bars = bars_of("desc:  33%|███▎      | 3655/11057 [19:17<38:45,  3.18it/s]");
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars[0].description, "desc");
  EXPECT_EQ(bars[0].done, 3655);
  EXPECT_EQ(bars[0].total, 11057);
  EXPECT_EQ(bars[0].elapsed_s, 19 * 60 + 17);
  EXPECT_EQ(bars[0].rate, 3.18);
}

TEST(TqdmBar, IsReadInEveryFormThatTqdmPrints) {
  EXPECT_TRUE(std::isnan(bars_of("  0%|          | 0/14007 [00:00<?, ?it/s]").at(0).rate));
  const auto slow = bars_of("100%|##########| 4/4 [14:32<00:00, 219.68s/it]").at(0);
  EXPECT_DOUBLE_EQ(slow.rate, 1 / 219.68);
  EXPECT_EQ(slow.description, "");
  const auto hours = bars_of("  0%|   | 24/23260 [1:04:21<70:45:20, 10.96s/it]").at(0);
  EXPECT_EQ(hours.elapsed_s, 3861);
  const auto no_total = bars_of("Reading: 123it [00:05, 24.60it/s]").at(0);
  EXPECT_EQ(no_total.done, 123);
  EXPECT_EQ(no_total.total, 0);
  EXPECT_EQ(no_total.description, "Reading");
  const auto endless =
      bars_of("Epoch 3: |          | 12/? [00:31<00:00,  0.39it/s, v_num=0, train_loss=1.75]")
          .at(0);
  EXPECT_EQ(endless.done, 12);
  EXPECT_EQ(endless.total, 0);
  EXPECT_EQ(endless.description, "Epoch 3");
  EXPECT_EQ(endless.loss, 1.75);
  EXPECT_TRUE(bars_of("/? [00:31<00:00,  0.39it/s]").empty());
  const auto postfix =
      bars_of("Epoch 1: 5%|5 | 10/200 [00:03<01:00,  3.10it/s, loss=1.25, v=2]").at(0);
  EXPECT_EQ(postfix.loss, 1.25);
}

TEST(TqdmBar, EndsAnywhere) {
  for (const char* cut : {"s/", "5s/", " s/ ", "<00:00,  5.00]s/", "5.00s/ ", "b/s", "/", "/s"}) {
    EXPECT_TRUE(bars_of(cut).empty()) << cut;
    EXPECT_TRUE(bars_of("3 s/img 896 img/s " + std::string(cut)).empty()) << cut;
  }
}

TEST(TqdmBar, ReadsTheLossOfAPostfixThatIsAText) {
  const auto of = [](const std::string& postfix) {
    return bars_of("SFT: 5%|5 | 10/200 [00:03<01:00,  3.10it/s, " + postfix + "]").at(0);
  };
  for (const char* text : {"loss 1.25", "Loss: 1.25", "lr 1e-5, loss: 1.25", "total_loss = 1.25",
                           "val_loss=3.5, Loss=1.25", "loss_scale=2, train_loss: 1.25"}) {
    EXPECT_EQ(of(text).loss, 1.25) << text;
  }
  for (const char* text : {"val loss 1.25", "eval_loss: 1.25", "loss_scale=2", "loss: n", "lossy 3",
                           "oss: 3", "loss", "loss "}) {
    EXPECT_EQ(of(text).loss, std::nullopt) << text;
  }
}

TEST(TqdmBar, CountsWhatItsUnitSays) {
  const auto batches = bars_of("Training:   3%|3| 32/1000 [00:08<04:02,  4.00batch/s, loss=1.968]");
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].done, 32);
  EXPECT_EQ(batches[0].rate, 4);
  EXPECT_EQ(batches[0].loss, 1.968);
  EXPECT_FALSE(batches[0].counts_examples);
  EXPECT_EQ(bars_of("  3%|3| 32/1000 [01:20<40:20,  2.50s/batch]").at(0).rate, 0.4);
  EXPECT_EQ(bars_of("  3%|3| 32/1000 [01:20<40:20,  2.50s/ steps]").at(0).rate, 0.4);
  const auto examples = bars_of("Train:   3%|3| 896/32000 [00:07<04:03, 128.00 examples/s]").at(0);
  EXPECT_EQ(examples.done, 896);
  EXPECT_EQ(examples.rate, 128);
  EXPECT_TRUE(examples.counts_examples);
  EXPECT_EQ(bars_of("Train: 896 examples [00:07, 128.00 examples/s]").at(0).done, 896);
  // Composer's.
  const auto composer = bars_of(
      "train          Epoch   0:   41%|####  | 33/80 [00:02<00:03, 13.89ba/s, "
      "loss/train/total=0.1]");
  ASSERT_EQ(composer.size(), 1u);
  EXPECT_EQ(composer[0].rate, 13.89);
  EXPECT_FALSE(composer[0].counts_examples);
  EXPECT_EQ(role_of(composer[0].description), BarRole::training);
  for (const char* unit : {"ex", "img", "images", "imgs", "sequences", "sentences", "seqs"}) {
    const auto bar = bars_of("Training:   8%|8| 200/2400 [00:01<00:17, 124.74" + std::string(unit) +
                             "/s, loss=2]");
    ASSERT_EQ(bar.size(), 1u) << unit;
    EXPECT_TRUE(bar[0].counts_examples);
    EXPECT_EQ(bar[0].rate, 124.74);
  }
  for (const char* other :
       {"50%|5| 50/100 [00:10<00:10, 5.0MB/s]", "5%|5| 5/9 [00:10<00:10, 5 tok/s]",
        "5/9 [====] - 26s 3s/step", "Speed: 4.00 samples/s"}) {
    EXPECT_TRUE(bars_of(other).empty()) << other;
  }
}

TEST(TqdmBar, HasNoRateWhereTwoDecimalsDoNotTellIt) {
  const auto bar = bars_of("Epoch 0:   3%|2| 8/260 [17:04<8:57:59,  0.01it/s, v_num=2]").at(0);
  EXPECT_TRUE(std::isnan(bar.rate));
  EXPECT_EQ(bars_of("Epoch 0:   3%|2| 8/260 [00:16<08:24,  0.50it/s]").at(0).rate, 0.5);
}

TEST(TqdmBar, IsReadWithTheScaledCountsOfUnitScale) {
  const auto bar = bars_of("Training:   3%|3| 3.20k/100k [00:01<00:31, 3.10kit/s]").at(0);
  EXPECT_EQ(bar.done, 3200);
  EXPECT_EQ(bar.total, 100000);
  EXPECT_EQ(bar.rate, 3100);
  EXPECT_TRUE(bar.rounded);
  EXPECT_EQ(bar.description, "Training");
  const auto small = bars_of("Training:   3%|3| 32.0/640 [00:01<00:31, 20.0it/s]").at(0);
  EXPECT_EQ(small.done, 32);
  EXPECT_EQ(small.total, 640);
  EXPECT_FALSE(small.rounded);
  const auto large = bars_of("Training:   0%|0| 1.50M/3.00G [00:01<00:31, 1.50Mit/s]").at(0);
  EXPECT_EQ(large.done, 1'500'000);
  EXPECT_EQ(large.total, 3'000'000'000);
}

TEST(TqdmBar, IsFoundBehindAndInFrontOfOtherTextAndCutCharacters) {
  const auto glued = bars_of(
      "Step:7037 Average Loss = 1.46 LR 0.006 Iteration:   9%|▉ | 1045/11337 [05:42<55:32, "
      " 3.09it/s]Step 7038 LR 0.0");
  ASSERT_EQ(glued.size(), 1u);
  EXPECT_EQ(glued[0].done, 1045);
  const auto two =
      bars_of("\xe2\x96| 31/53 [00:03<00:02,  9.97it/s] 60%|██\xe2| 32/53 [00:03<00:02, 9.9it/s]");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].done, 31);
  EXPECT_EQ(two[1].done, 32);
}

TEST(TqdmBar, IsNotSeenInTextThatOnlyLooksAlike) {
  for (const char* text :
       {"speed 3.2it/s", "[00:03<00:02, x9it/s]", "12/53 [later, 3.2it/s]",
        "/53 [00:03<00:02, 3.2it/s]", "99999999999999999999/3 [00:01<00:02, 3it/s]",
        "[[[[ it/s s/it", "it/s"}) {
    EXPECT_TRUE(bars_of(text).empty()) << text;
  }
}

TEST(TqdmBar, TellsTrainingFromOtherWorkByItsDescription) {
  EXPECT_EQ(role_of("Iteration"), BarRole::training);
  EXPECT_EQ(role_of("Epoch 3"), BarRole::training);
  EXPECT_EQ(role_of("Epoch"), BarRole::outer);
  EXPECT_EQ(role_of("Total epochs"), BarRole::outer);
  EXPECT_EQ(role_of("Evaluating"), BarRole::evaluation);
  EXPECT_EQ(role_of("Predicting"), BarRole::inference);
  EXPECT_EQ(role_of(""), BarRole::unnamed);
  EXPECT_EQ(role_of("Loading checkpoint shards"), BarRole::other);
  for (const char* name :
       {"Epoch 1 [Train]", "Train Epoch 3", "[Epoch 3/10]", "Epoch: 1/3", "Epoch 3, val_loss 0.25",
        "Training", "EP_train:3", "train 3/10", "Running Epoch 0 of 3", "Fold 1 Epoch 2",
        "Train E3", "Fine-tuning", "Training loss: 3.05e+00 lr: 6.25e-05", "Pretraining", "Ep 3"}) {
    EXPECT_EQ(role_of(name), BarRole::training) << name;
  }
  for (const char* name : {"Epoch 1 [Val]", "Epoch 1 dev", "Val Epoch 3", "Val", "val 3/10"}) {
    EXPECT_EQ(role_of(name), BarRole::evaluation) << name;
  }
  for (const char* name : {"Epoch 1 Testing", "Epoch 1 [TEST]", "Generating test predictions"}) {
    EXPECT_EQ(role_of(name), BarRole::inference) << name;
  }
  for (const char* name :
       {"Running tokenizer on train dataset", "Train Epoch", "train test split", "Tokenizing train",
        "Loading epoch 3", "Generating test split", "Running tokenizer on validation dataset",
        "Tokenizing dev set", "Loading test data", "Map (num_proc=4)"}) {
    EXPECT_EQ(role_of(name), BarRole::other) << name;
  }
}

TEST(TqdmBar, ACarriageReturnThatAPagerShowsIsNoPartOfTheName) {
  const auto bars = bars_of("^MIteration:  20%|##        | 501/2549 [07:30<29:03,  1.17it/s]");
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars[0].description, "Iteration");
}

TEST(TqdmBar, AskedForTheFormatTheLongestBarIsTraining) {
  const std::string log =
      "Tokenizing: 100%|##| 90/90 [03:00<00:00,  2.00s/it]\n"
      "Evaluating: 100%|##| 70/70 [01:10<00:00,  1.00s/it]\n"
      "Distil:  20%|##        | 10/50 [00:20<01:20,  2.00s/it]\n"
      "Distil:  40%|####      | 20/50 [00:40<01:00,  2.00s/it]\n";
  ReadOptions options;
  options.format = "tqdm";
  const auto steps_of_training = [&](const std::string& text, const ReadOptions& how) {
    std::int64_t last = 0;
    for (const RunLog& run : read_text(text, how)) {
      if (run.kind == WorkKind::training && !run.records.empty()) last = run.records.back().step;
    }
    return last;
  };
  EXPECT_EQ(steps_of_training(log, {}), 0);
  EXPECT_EQ(steps_of_training(log, options), 20);
  const std::string named = log + "Training:  50%|#####     | 5/10 [00:05<00:05,  1.00s/it]\n";
  EXPECT_EQ(steps_of_training(named, options), 5);
}

TEST(TqdmBar, ANameOfValuesMayBeOfLosses) {
  EXPECT_EQ(bars_of("d: -0.001;gen: -0.008:  31%|###       | 6258/20000 [1:00<2:00, 2.19s/it]")
                .at(0)
                .description,
            "d: -0.001;gen: -0.008");
  EXPECT_TRUE(name_of("d: -0.001;gen: -0.008").values);
  EXPECT_TRUE(name_of("G=1.5, D=0.2").values);
  EXPECT_FALSE(name_of("done: 12, failed: 3").values);  // whole numbers count
  EXPECT_FALSE(name_of("acc: 0.91, f1: 0.88").values);  // scores are of evaluations as well
  EXPECT_FALSE(name_of("val_a: 0.91, val_b: 0.88").values);
  EXPECT_FALSE(name_of("d: 0.1").values);
}

}  // namespace
}  // namespace bertbench
