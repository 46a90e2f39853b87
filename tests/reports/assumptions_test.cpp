#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/cells/summarize.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Cell large(std::int64_t length, double rate, bool emulated = false) {
  Identity identity = samples::identity(1, 1, 64, "fp16");
  identity.model = "bert-large";
  identity.sequence_length = length;
  Cell cell = samples::cell(identity, {rate});
  cell.emulated = emulated;
  return cell;
}

// NGC card: 580 and 224 sequences/s at 128 with 210 and 75 at "512", where phase 2 was binned.
TEST(VaryingLengths, TheBinnedRowsOfTheNgcCardAreNotBelieved) {
  ResultSet a100 = samples::result_set({large(128, 580), large(512, 210)});
  EXPECT_THAT(texts_of(a100.cells[0].warnings), IsEmpty());
  ASSERT_THAT(a100.cells[1].warnings, SizeIs(1));
  EXPECT_THAT(text_of(a100.cells[1].warnings[0]),
              HasSubstr("107520 tokens/s per GPU at length 512"));
  EXPECT_THAT(text_of(a100.cells[1].warnings[0]), HasSubstr("probably not constant"));
}

// The DGX-2 note: 204 at 128 and 40.4 at 512, padded.
TEST(VaryingLengths, ARateThatFallsAsTheWorkGrowsIsBelieved) {
  const ResultSet set = samples::result_set({large(128, 204), large(512, 40.4)});
  EXPECT_THAT(texts_of(set.cells[1].warnings), IsEmpty());
}

TEST(VaryingLengths, StandInsAreLeftAlone) {
  ResultSet set;
  set.cells = {large(128, 580, true), large(512, 210, true)};
  summarize(set);
  EXPECT_THAT(texts_of(set.cells[1].warnings), IsEmpty());
}

TEST(Assume, AStatedPeakGivesMfuAndItsWarning) {
  ResultSet set = samples::result_set({large(128, 200)});
  EXPECT_FALSE(set.cells[0].mfu);
  apply_assumptions(set, {125, {}});
  ASSERT_TRUE(set.cells[0].mfu);
  EXPECT_NEAR(*set.cells[0].mfu, 0.385, 0.003);  // DeepSpeed tutorial: 48.1 TFLOPS of 125
  EXPECT_THAT(set.cells[0].peak, HasSubstr("dense 125 TFLOPS"));
  EXPECT_THAT(texts_of(set.cells[0].warnings), IsEmpty());
  apply_assumptions(set, {10, {}});
  apply_assumptions(set, {10, {}});
  ASSERT_THAT(set.cells[0].warnings, SizeIs(1));
  EXPECT_THAT(text_of(set.cells[0].warnings[0]), HasSubstr("above 100 %"));
}

TEST(Assume, APeakThatACellNamesStaysWhenResultsAreJoined) {
  ResultSet set = samples::result_set({large(128, 200)});
  apply_assumptions(set, {125, {}});
  const auto mfu = set.cells[0].mfu;
  set.cells[0].peak = "V100 SXM2 bf16 dense 125 TFLOPS";
  (void)summarize(set);
  EXPECT_EQ(set.cells[0].mfu, mfu);
  EXPECT_EQ(set.cells[0].peak, "V100 SXM2 bf16 dense 125 TFLOPS");
  set.cells[0].peak = "unknown TFLOPS";
  (void)summarize(set);
  EXPECT_FALSE(set.cells[0].mfu);
}

TEST(Assume, AStatedFormulaCountsAnewAndAllStandBesideIt) {
  ResultSet set = samples::result_set({large(128, 200)});
  EXPECT_EQ(set.cells[0].flops_formula, "masked_head");
  const double before = *set.cells[0].tflops_per_gpu;
  apply_assumptions(set, {{}, {}, "notebook"});
  EXPECT_EQ(set.cells[0].flops_formula, "notebook");
  EXPECT_EQ(*set.cells[0].tflops_per_gpu, set.cells[0].flops.at("notebook").tflops_per_gpu);
  EXPECT_EQ(before, set.cells[0].flops.at("masked_head").tflops_per_gpu);
  (void)summarize(set);
  EXPECT_EQ(set.cells[0].flops_formula, "notebook") << "stays when results are joined";
}

TEST(Assume, TimeToTrainIsWorkOverTheMedianRate) {
  ResultSet set = samples::result_set({large(128, 3215.36)});
  apply_assumptions(set, {{}, 461242368.0});
  EXPECT_NEAR(*set.cells[0].time_to_train_s, 143449.7, 0.05);  // 7038 steps of the DGX-2 note
}

TEST(Assume, TheSpeedupOfTheTimeToTrainIsTheBasesTimeOverTheCells) {
  ResultSet set = samples::result_set({samples::cell(samples::identity(1, 1), {100}),
                                       samples::cell(samples::identity(2, 8), {1200}),
                                       samples::cell(samples::identity(1, 2, 7), {150})});
  apply_assumptions(set, {{}, 3.6e6});
  EXPECT_EQ(*set.cells[0].time_to_train_s, 36000);
  EXPECT_EQ(*set.cells[1].time_to_train_s, 3000);
  ASSERT_TRUE(set.cells[1].time_to_train_speedup);
  EXPECT_EQ(set.cells[1].time_to_train_speedup->value, 12);
  EXPECT_EQ(set.cells[1].time_to_train_speedup->base, set.cells[0].key);
  EXPECT_TRUE(set.cells[2].time_to_train_s);
  EXPECT_FALSE(set.cells[2].time_to_train_speedup);  // no base
}

}  // namespace
}  // namespace bertbench
