#include "reports/cells/summarize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/cells/cell_flops.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::cell;
using samples::identity;
using samples::result_set;
using testing::HasSubstr;

TEST(Summarize, OnlyTrialsThatCountAreAveragedAndNeverAsZero) {
  Cell one = cell(identity(1, 1), {100, 102, 104});
  one.trials[1].window.covered = false;
  one.trials[1].outcome.status = Status::killed;
  const ResultSet results = result_set({one});
  EXPECT_EQ(results.cells[0].throughput.n, 2);
  EXPECT_EQ(results.cells[0].throughput.mean, 102);
  EXPECT_EQ(text_of(results.cells[0].warnings.front()), "1 of 3 trials give no number (killed x1)");
}

TEST(Summarize, ATrialWithARateInAnotherUnitIsNamedByIt) {
  Cell one = cell(identity(1, 1), {100, 102, 104});
  one.trials[1].sequences_per_second.reset();
  one.trials[1].iterations_per_second = 1.7;
  one.trials[1].outcome.status = Status::truncated;
  const ResultSet results = result_set({one});
  EXPECT_EQ(results.cells[0].throughput.n, 2);
  EXPECT_EQ(text_of(results.cells[0].warnings.front()),
            "1 of 3 trials give no number (a rate in iterations/s alone x1)");
}

TEST(Summarize, SpeedupIsOverTheSameIdentityAtOneGpu) {
  const ResultSet results =
      result_set({cell(identity(1, 1, 32), {100}), cell(identity(1, 1, 64), {120}),
                  cell(identity(2, 8, 32), {1400}), cell(identity(2, 8, 64), {1800})});
  const auto& cells = results.cells;
  EXPECT_EQ(cells[2].speedup->value, 14);
  EXPECT_EQ(cells[2].speedup->base, cells[0].key);
  EXPECT_EQ(cells[3].speedup->value, 15);
  EXPECT_EQ(cells[3].speedup->base, cells[1].key);
  EXPECT_NEAR(*cells[3].scaling_efficiency, 15.0 / 16, 1e-12);
  EXPECT_EQ(cells[3].scaling, "weak");
  EXPECT_EQ(cells[0].speedup->value, 1);
  EXPECT_EQ(cells[0].scaling, "");
  EXPECT_EQ(*cells[2].sequences_per_second_per_gpu, 87.5);
}

TEST(Summarize, EnergyAndPowerAreMediansOverTheTrialsThatWereWatched) {
  Cell one = cell(identity(1, 8), {100, 110, 90, 100});
  one.trials[0].energy_per_sequence_j = 20;  // 2000 W
  one.trials[1].energy_per_sequence_j = 21;  // 2310 W
  one.trials[2].energy_per_sequence_j = 22;  // 1980 W
  Cell unwatched = cell(identity(1, 4), {50});
  Cell uncounted = cell(identity(1, 2), {25});
  uncounted.trials[0].window.covered = false;
  uncounted.trials[0].energy_per_sequence_j = 5;
  const ResultSet results = result_set({one, unwatched, uncounted});
  EXPECT_EQ(results.cells[0].energy_per_sequence_j, 21);
  EXPECT_EQ(results.cells[0].power_w, 2000);
  EXPECT_FALSE(results.cells[1].power_w);
  EXPECT_FALSE(results.cells[2].energy_per_sequence_j);
}

// A log and its copy in one tree, or a file that holds the same run twice.
TEST(Summarize, ARunCountedTwiceIsSaid) {
  Cell copied = cell(identity(1, 8), {101.25, 100.5, 101.25});
  for (Trial& trial : copied.trials) {
    trial.iterations = {100, 20, 80};
    trial.loss = LossRecord{9.5, 2.25, {}, {}};
  }
  const auto warnings = [](const Cell& of) { return texts_of(result_set({of}).cells[0].warnings); };
  EXPECT_THAT(
      warnings(copied),
      testing::ElementsAre(testing::HasSubstr("1 of 3 trials equals another in every digit")));
  Cell seeded = copied;  // the same losses, as of a fixed seed, at another speed
  seeded.trials[2].sequences_per_second = 101.26;
  EXPECT_THAT(warnings(seeded), testing::IsEmpty());
  Cell printed = copied;  // few printed rates may well be the same
  for (Trial& trial : printed.trials) trial.iterations.used = 5;
  EXPECT_THAT(warnings(printed), testing::IsEmpty());
}

TEST(Summarize, TheUnitOfACellIsTheMostTellingOfItsTrials) {
  Cell mixed = cell(identity(1, 8), {100, 200, 300});
  for (Trial& trial : mixed.trials) {
    trial.tokens_per_second = trial.sequences_per_second;
    trial.sequences_per_second.reset();
  }
  mixed.trials[2].tokens_per_second.reset();
  mixed.trials[2].iterations_per_second = 1;
  const Cell tokens = result_set({mixed}).cells[0];
  EXPECT_EQ(tokens.throughput.unit, "tokens/s");
  EXPECT_EQ(tokens.throughput.median, 150);
  EXPECT_EQ(tokens.tokens_per_second(), 150);
  EXPECT_FALSE(tokens.sequences_per_second_per_gpu);
  mixed.trials[0].sequences_per_second = 7;
  const Cell sequences = result_set({mixed}).cells[0];
  EXPECT_EQ(sequences.throughput.unit, "sequences/s");
  EXPECT_EQ(sequences.throughput.n, 1);
  EXPECT_EQ(sequences.tokens_per_second(), 7 * 128);
}

TEST(Summarize, NoBaseNoSpeedup) {
  const ResultSet results = result_set({cell(identity(1, 8), {100}), cell(identity(2, 8), {190})});
  EXPECT_FALSE(results.cells[0].speedup);
  EXPECT_FALSE(results.cells[1].speedup);
  EXPECT_FALSE(results.cells[1].scaling_efficiency);
}

TEST(Summarize, ALoneBaseHasNoSpeedupOverItself) {
  const ResultSet results = result_set({cell(identity(1, 1), {100})});
  EXPECT_FALSE(results.cells[0].speedup);
  EXPECT_FALSE(results.cells[0].scaling_efficiency);
}

TEST(Summarize, ABaseWithoutANumberIsNoBase) {
  Cell base = cell(identity(1, 1), {100});
  base.trials[0].window.covered = false;
  EXPECT_FALSE(result_set({base, cell(identity(1, 2), {190})}).cells[1].speedup);
}

// Logs of an A100 and of a V100, say, neither of which states it.
TEST(Summarize, OfTwoLogsThatFitAlikeNeitherIsTheBase) {
  ResultSet results = result_set(
      {cell(identity(1, 1), {1462}), cell(identity(1, 1), {666}), cell(identity(1, 8), {5072})});
  for (const Cell& each : results.cells) EXPECT_FALSE(each.speedup) << each.key;
  const auto notices = summarize(results);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(text_of(notices[0]),
            "no speedup of 1 cell: more than one log fits as the base "
            "(bert-base.fp32.s128.b32.a1.1n1g, bert-base.fp32.s128.b32.a1.1n1g#2); "
            "extract --base KEY chooses");
  EXPECT_TRUE(summarize(results, {false, results.cells[1].key}).empty());
  EXPECT_NEAR(results.cells[2].speedup->value, 5072.0 / 666, 1e-12);
  results.cells.pop_back();
  EXPECT_TRUE(summarize(results).empty()) << "nothing is left that asks for a base";
}

TEST(Summarize, TheBaseIsOneOfTheSameRunWhereThatHasOne) {
  ResultSet results = result_set({cell(identity(1, 1), {100}), cell(identity(1, 2), {190}),
                                  cell(identity(1, 1), {50}), cell(identity(1, 2), {80})});
  for (std::size_t i = 0; i < 4; ++i) results.cells[i].result = i < 2 ? "a.json" : "b.json";
  EXPECT_EQ(summarize(results).size(), 0U);
  EXPECT_NEAR(results.cells[1].speedup->value, 1.9, 1e-12);
  EXPECT_NEAR(results.cells[3].speedup->value, 1.6, 1e-12);
  results.cells.erase(results.cells.begin() + 2);  // the second run has no base of its own
  summarize(results);
  EXPECT_NEAR(results.cells[2].speedup->value, 0.8, 1e-12);
}

// Bases and jobs of a strong sweep in two run folders; cell 1 would be a base of weak scaling.
TEST(Summarize, CellsOfAStrongSweepStayStrongNextToOtherResults) {
  const SummaryOptions strong{false, "", true};
  ResultSet results =
      result_set({cell(identity(1, 1, 64), {100}), cell(identity(1, 1, 32), {90})}, strong);
  const ResultSet larger = result_set({cell(identity(1, 2, 32), {180})}, strong);
  EXPECT_EQ(larger.cells[0].scaling, "strong") << "though it has no speedup";
  results.cells.push_back(larger.cells[0]);
  EXPECT_TRUE(summarize(results).empty());
  ASSERT_TRUE(results.cells[2].speedup);
  EXPECT_EQ(results.cells[2].speedup->base, results.cells[0].key);
  EXPECT_EQ(results.cells[2].scaling, "strong");
}

// Micro batches of 4 and 8, each divided into 64 sequences on one and two GPUs.
TEST(Summarize, OfSeveralWaysToCutABatchTheBaseIsThatOfTheSameMicroBatch) {
  const auto cut = [](std::int64_t gpus, std::int64_t micro, double rate) {
    Cell out = cell(identity(1, gpus, micro), {rate});
    out.identity.gradient_accumulation_steps = 64 / gpus / micro;
    return out;
  };
  for (const bool other_order : {false, true}) {
    const std::int64_t first = other_order ? 8 : 4, second = other_order ? 4 : 8;
    const ResultSet results = result_set(
        {cut(1, first, 90), cut(1, second, 100), cut(2, first, 170), cut(2, second, 180)},
        {false, "", true});
    EXPECT_EQ(results.cells[2].speedup->base, results.cells[0].key);
    EXPECT_EQ(results.cells[3].speedup->base, results.cells[1].key);
  }
}

TEST(Summarize, OfTwoLogsOfTheSameGlobalBatchNeitherIsTheBase) {
  const auto speedup = [](std::int64_t second) {
    return result_set({cell(identity(1, 1, 64), {100}), cell(identity(1, 1, second), {90}),
                       cell(identity(1, 4, 16), {320})})
        .cells[2]
        .speedup;
  };
  EXPECT_FALSE(speedup(64));
  ASSERT_TRUE(speedup(32));
  EXPECT_NEAR(speedup(32)->value, 3.2, 1e-12);
}

TEST(Summarize, ConstantGlobalBatchIsStrongScaling) {
  Identity one = identity(1, 1, 64);
  Identity four = identity(1, 4, 16);
  const ResultSet results = result_set({cell(one, {100}), cell(four, {320})});
  EXPECT_EQ(results.cells[1].scaling, "strong");
  EXPECT_NEAR(*results.cells[1].scaling_efficiency, 0.8, 1e-12);
}

TEST(Summarize, TheBaseMayBeATopologyOrAKey) {
  // NGC card, one node of 8 as base: 70555 / 4553 = 15.50 on 16 nodes.
  const std::vector<Cell> cells{cell(identity(1, 8), {4553}), cell(identity(16, 8), {70555})};
  const ResultSet by_topology = result_set(cells, {false, "1n8g"});
  EXPECT_NEAR(by_topology.cells[1].speedup->value, 15.50, 0.005);
  EXPECT_NEAR(*by_topology.cells[1].scaling_efficiency, 15.50 / 16, 0.0005);
  const ResultSet by_key = result_set(cells, {false, by_topology.cells[0].key});
  EXPECT_EQ(by_key.cells[1].speedup->value, by_topology.cells[1].speedup->value);
}

TEST(Summarize, AnUnknownBaseIsANoticeAndNoSpeedup) {
  ResultSet results = result_set({cell(identity(1, 1), {100})});
  const auto notices = summarize(results, {false, "no-such-key"});
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_THAT(text_of(notices[0]), HasSubstr("no-such-key is no cell's key or topology"));
  EXPECT_FALSE(results.cells[0].speedup);
  EXPECT_EQ(summarize(results, {false, "9n9g"}).size(), 1U);
  EXPECT_TRUE(summarize(results, {false, "1n1g"}).empty());
  results.cells[0].trials[0].window.covered = false;
  EXPECT_THAT(text_of(summarize(results, {false, results.cells[0].key}).at(0)),
              HasSubstr("has no sequences/s"));
}

TEST(Summarize, MixedPrecisionIsComparedWithTf32BeforeFp32) {
  const ResultSet results = result_set(
      {cell(identity(1, 1, 32, "fp32"), {100}), cell(identity(1, 1, 32, "tf32"), {317}),
       cell(identity(1, 1, 32, "fp16"), {580}), cell(identity(1, 1, 64, "fp16"), {600})});
  EXPECT_NEAR(results.cells[2].precision_speedup->value, 1.83, 0.005);  // 580/317, NGC card
  EXPECT_EQ(results.cells[2].precision_speedup->base, results.cells[1].key);
  EXPECT_NEAR(results.cells[1].precision_speedup->value, 3.17, 1e-12);
  EXPECT_FALSE(results.cells[0].precision_speedup);
  EXPECT_FALSE(results.cells[3].precision_speedup) << "another batch is another cell";
  // bf16 and fp8 are mixed precision too. Of two cells alike the first is the base, of one without
  // a rate neither.
  Cell lost = cell(identity(1, 1, 32, "tf32"), {1});
  lost.trials[0].window.covered = false;
  const auto others =
      result_set({cell(identity(1, 1, 32, "fp32"), {100}), cell(identity(1, 1, 32, "fp32"), {50}),
                  lost, cell(identity(1, 1, 32, "bf16"), {580}),
                  cell(identity(1, 1, 32, "fp8"), {900})})
          .cells;
  EXPECT_EQ(others[3].precision_speedup->value, 5.8);
  EXPECT_EQ(others[4].precision_speedup->value, 9);
  EXPECT_FALSE(others[2].precision_speedup);
}

TEST(Summarize, WhichNamesOfAModelAndOfAnAxisCount) {
  for (const auto& [value, recomputes] : {std::pair("true", true),
                                          {"selective", true},
                                          {"false", false},
                                          {"False", false},
                                          {"0", false},
                                          {"off", false},
                                          {"no", false}}) {
    for (const char* axis : {"activation_checkpointing", "checkpoint_activations"}) {
      Identity one;
      one.axes[axis] = value;
      EXPECT_EQ(recomputes_activations(one), recomputes) << axis << value;
    }
  }
  EXPECT_FALSE(recomputes_activations(Identity{}));
  for (const auto& [model, known] : {std::pair("bert-base", true),
                                     {"google/bert-base", false},
                                     {"bert-base.json", false},
                                     {"bert-of-mine", false}}) {
    Identity one;
    one.model = model;
    EXPECT_EQ(shape_of(one).has_value(), known) << model;
  }
}

// A token costs more in a longer sequence: rates per token that do not fall are of padded ones.
TEST(Summarize, LengthsThatAreProbablyNotConstantAreAWarning) {
  const auto at = [](std::int64_t length, double rate) {
    Cell one = cell(identity(1, 1), {rate});
    one.identity.sequence_length = length;
    return one;
  };
  const auto warned = [](std::vector<Cell> cells) {
    std::string out;
    for (const Cell& one : result_set(std::move(cells)).cells) {
      out += std::ranges::find(one.warnings, NoticeCode::lengths_not_constant, &Notice::code) !=
                     one.warnings.end()
                 ? '!'
                 : '.';
    }
    return out;
  };
  EXPECT_EQ(warned({at(128, 100), at(512, 26)}), ".!");
  EXPECT_EQ(warned({at(128, 100), at(512, 20)}), "..");
  EXPECT_EQ(warned({at(600, 100), at(1024, 90)}), "..") << "not twice as long";
  EXPECT_EQ(warned({at(8, 100), at(16, 60)}), "..") << "a token costs hardly more";
  // The best of each length stands for it.
  Cell large = at(128, 120);
  large.identity.micro_batch_size = 64;
  EXPECT_EQ(warned({at(128, 100), at(512, 26), large}), "...");
  const std::pair<const char*, void (*)(Cell&)> others[] = {
      {"no training", [](Cell& one) { one.kind = WorkKind::evaluation; }},
      {"a stand-in", [](Cell& one) { one.emulated = true; }},
      {"no rate", [](Cell& one) { one.trials[0].window.covered = false; }},
      {"unknown GPUs", [](Cell& one) { one.identity.nodes.reset(); }},
      {"unknown length", [](Cell& one) { one.identity.sequence_length.reset(); }},
      {"unknown model", [](Cell& one) { one.identity.model.reset(); }}};
  for (const auto& [why, change] : others) {
    std::vector<Cell> cells{at(128, 100), at(512, 26)};
    for (Cell& one : cells) change(one);
    EXPECT_EQ(warned(cells), "..") << why;
  }
}

// Files of others: what contradicts the trials is counted anew.
TEST(Settle, FiguresThatTheTrialsDoNotGiveAreCountedAnew) {
  ResultSet good = result_set({cell(identity(1, 1), {100, 101}), cell(identity(1, 2), {190, 191})});
  good.cells[0].time_to_train_s = 5;
  EXPECT_TRUE(settle(good).empty());
  EXPECT_EQ(good.cells[0].time_to_train_s, 5);
  const std::pair<const char*, void (*)(Cell&)> damages[] = {
      {"n", [](Cell& one) { one.throughput.n = 3; }},
      {"unit", [](Cell& one) { one.throughput.unit = "tokens/s"; }},
      {"mean", [](Cell& one) { one.throughput.mean = 101; }},
      {"median", [](Cell& one) { one.throughput.median = 101; }},
      {"stddev", [](Cell& one) { one.throughput.stddev = 1; }},
      {"cv", [](Cell& one) { one.throughput.cv = 0.1; }},
      {"per GPU", [](Cell& one) { one.sequences_per_second_per_gpu = 99; }}};
  for (const auto& [what, damage] : damages) {
    ResultSet set = good;
    damage(set.cells[0]);
    const auto notices = settle(set);
    ASSERT_EQ(notices.size(), 1U) << what;
    EXPECT_EQ(notices[0].code, NoticeCode::figures_contradict_trials);
    EXPECT_EQ(set.cells[0].throughput.mean, 100.5) << what;
    EXPECT_EQ(set.cells[0].throughput.unit, "sequences/s") << what;
    EXPECT_EQ(set.cells[0].sequences_per_second_per_gpu, 100.5) << what;
    EXPECT_FALSE(set.cells[0].time_to_train_s) << what;
  }
  // What a file lacks, or has in fewer digits, does not differ; nor the unit of no number, nor what
  // DLPerf's rounding gives.
  ResultSet less = good;
  less.cells[0].throughput.stddev.reset();
  less.cells[0].throughput.cv.reset();
  less.cells[0].throughput.mean = 100.50001;
  for (Trial& trial : less.cells[1].trials) trial.window.covered = false;
  summarize(less);
  less.cells[1].throughput.unit = "iterations/s";
  EXPECT_TRUE(settle(less).empty());
  ResultSet rounded = result_set({cell(identity(1, 1), {100.004, 101.004})}, {true, ""});
  EXPECT_TRUE(settle(rounded).empty());
  ResultSet twins = good;
  twins.cells[1] = twins.cells[0];
  EXPECT_EQ(settle(twins).at(0).code, NoticeCode::keys_repeated);
  EXPECT_NE(twins.cells[0].key, twins.cells[1].key);
}

TEST(Summarize, IterationRatesAreSummarizedInTheirOwnUnitWithoutSpeedup) {
  Cell one = cell(identity(1, 1), {1, 1});
  for (Trial& trial : one.trials) {
    trial.sequences_per_second.reset();
    trial.iterations_per_second = 3.07;
  }
  const ResultSet results = result_set({one});
  EXPECT_EQ(results.cells[0].throughput.unit, "iterations/s");
  EXPECT_EQ(results.cells[0].throughput.n, 2);
  EXPECT_FALSE(results.cells[0].speedup);
  EXPECT_FALSE(results.cells[0].sequences_per_second_per_gpu);
}

TEST(Summarize, DifferentEstimatorsInOneCellAreAWarning) {
  Cell one = cell(identity(1, 1), {100, 101});
  one.trials[1].estimator = "printed";
  EXPECT_THAT(text_of(result_set({one}).cells[0].warnings.front()),
              HasSubstr("different estimators: printed, step_time"));
}

TEST(Summarize, UtilizationNamesFormulaAndPeakWhereTheGpuIsKnown) {
  Cell one = cell(identity(1, 1, 32, "fp16"), {100});
  one.gpu = "Tesla V100-SXM2-16GB";
  const ResultSet results = result_set({one});
  EXPECT_EQ(results.cells[0].flops_formula, "masked_head");
  EXPECT_GT(*results.cells[0].tflops_per_gpu, 0);
  ASSERT_TRUE(results.cells[0].mfu);
  EXPECT_NEAR(*results.cells[0].mfu, *results.cells[0].tflops_per_gpu / 125, 1e-4);
  Cell unknown = cell(identity(1, 1), {100});
  unknown.identity.model = "../../etc/passwd";
  EXPECT_FALSE(result_set({unknown}).cells[0].tflops_per_gpu);
  Cell shorter = one;
  shorter.identity.axes["lengths"] = "wikipedia";
  EXPECT_FALSE(result_set({shorter}).cells[0].tflops_per_gpu) << "padding is no work";
}

TEST(Summarize, TwiceIsOnce) {
  ResultSet results = result_set(
      {cell(identity(1, 1), {100, 101}), cell(identity(1, 2), {190}), cell(identity(1, 2), {180})});
  EXPECT_EQ(results.cells[2].key, results.cells[1].key + "#2");
  const auto key = results.cells[2].key;
  summarize(results, {});
  EXPECT_EQ(results.cells[2].key, key);
  EXPECT_TRUE(results.cells[0].warnings.empty());
}

}  // namespace
}  // namespace bertbench
