#include "reports/studies/audit/printed.h"

#include <gmock/gmock.h>

#include "reports/studies/audit/columns.h"
#include "reports/studies/audit/series.h"

namespace bertbench::audit {
namespace {

Printed one(std::string_view text, NumberStyle style = {}) {
  const auto numbers = parse_numbers(text, style);
  EXPECT_EQ(numbers.size(), 1U) << text;
  return numbers.empty() ? Printed{} : numbers[0];
}

TEST(Printed, DigitsSayHowFarTheTrueValueMayBeAway) {
  EXPECT_DOUBLE_EQ(one("1.92").rounded().low, 1.915);
  EXPECT_DOUBLE_EQ(one("1.92").rounded().high, 1.925);
  EXPECT_DOUBLE_EQ(one("1.92").truncated(0.01).high, 1.93);
  EXPECT_DOUBLE_EQ(one("12.30").unit, 0.01);
  EXPECT_DOUBLE_EQ(one("42").unit, 1);
}

TEST(Printed, ThousandsPercentFactorsAndUnitsAreUnderstood) {
  EXPECT_EQ(one("14,822.31").value, 14822.31);
  EXPECT_EQ(one("1 844").value, 1844);
  EXPECT_EQ(one("1\xE2\x80\xAF"
                "844.5")
                .value,
            1844.5);
  EXPECT_DOUBLE_EQ(one("98.2%").value, 0.982);
  EXPECT_DOUBLE_EQ(one("98.2 %").unit, 0.001);
  EXPECT_EQ(one("57.4x").value, 57.4);
  EXPECT_EQ(one("**27.33**").value, 27.33);
  EXPECT_EQ(one("156.76 samples/s").value, 156.76);
  EXPECT_EQ(one("27.33 [1]").value, 27.33);
  EXPECT_EQ(one("16K").unit, 1000);
  EXPECT_EQ(one("3M sequences").value, 3e6);
  EXPECT_EQ(one("1.5 GB").value, 1.5);
  EXPECT_EQ(one("12.5 \xC2\xB1 0.3").value, 12.5);
  EXPECT_EQ(one("4e-3").value, 0.004);
  EXPECT_EQ(one("1.20E+03").value, 1200);
  EXPECT_DOUBLE_EQ(one("4.0e-3").unit, 1e-4);
  EXPECT_EQ(one(".5").value, 0.5);
  EXPECT_EQ(one("5.").value, 5);
  EXPECT_EQ(one("-5 sec.").value, -5);
  EXPECT_EQ(one("~ \"1'844\"").value, 1844);
  EXPECT_EQ(one(" 2.5  h").text, "2.5 h");
}

TEST(Printed, ACommaIsDecimalOnlyWhereTheColumnSaysSo) {
  EXPECT_TRUE(uses_decimal_comma({"1,92", "1,9"}));
  EXPECT_FALSE(uses_decimal_comma({"1,920", "2,000"}));
  EXPECT_FALSE(uses_decimal_comma({"1,92", "1.9"}));
  EXPECT_FALSE(uses_decimal_comma({"8, 16", "n/a"}));
  EXPECT_EQ(one("1,92", {.decimal_comma = true}).value, 1.92);
  EXPECT_EQ(one("1.844,1", {.decimal_comma = true}).value, 1844.1);
}

TEST(Printed, TwoNumbersInACellAreTwoNumbers) {
  const auto both = parse_numbers("128 and 256", {});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[1].value, 256);
  EXPECT_EQ(parse_numbers("32/32", {.slash_pairs = true}).size(), 2U);
  EXPECT_EQ(parse_numbers("32 / 32", {.slash_pairs = true}).size(), 2U);
  EXPECT_EQ(parse_numbers("32 & 32", {}).size(), 2U);
  EXPECT_EQ(parse_numbers("32 samples/s", {.slash_pairs = true}).size(), 1U);
}

TEST(Printed, OutcomesAndProseAreNotNumbers) {
  for (const char* text : {"",
                           "-",
                           "---",
                           "OOM",
                           "310-NaN",
                           "200 full",
                           "N/A",
                           "[1]",
                           "32 x DGX A100 80GB",
                           "1n8g",
                           "nan",
                           "1.2.3",
                           "12:30",
                           "4-8",
                           "1 2",
                           "1,23 4",
                           "12,3456",
                           "1 2345",

                           "1e999",
                           "+-",
                           "5 / 7",
                           "8 GPUs were used for this run"}) {
    EXPECT_TRUE(parse_numbers(text, {}).empty()) << text;
  }
}

TEST(Headings, AreRecognisedInTheSpellingsOfThePublishedTables) {
  EXPECT_EQ(read_heading("node_num").role, Role::nodes);
  EXPECT_EQ(read_heading("GPUs / node").role, Role::gpus_per_node);
  EXPECT_EQ(read_heading("gpu_num_per_node").role, Role::gpus_per_node);
  EXPECT_EQ(read_heading("seq/sec/gpu").role, Role::per_gpu);
  EXPECT_EQ(read_heading("global agg size").role, Role::global_batch);
  EXPECT_EQ(read_heading("Mixed Precision Strong Scaling").role, Role::strong_scaling);
  EXPECT_EQ(read_heading("Seed 3").role, Role::replicate);
  const Heading rate = read_heading("Throughput - mixed precision(sequences/sec)");
  EXPECT_EQ(rate.role, Role::throughput);
  EXPECT_THAT(rate.variants, testing::ElementsAre("mixed"));
  const Heading batch = read_heading("Batch size / GPU (TF32 and FP16)");
  EXPECT_EQ(batch.role, Role::batch_size);
  EXPECT_THAT(batch.variants, testing::ElementsAre("tf32", "mixed"));
  EXPECT_EQ(read_heading("Time to train speedup (TF32 to mixed precision)").role,
            Role::time_speedup);
  EXPECT_EQ(read_heading("exact match").role, Role::score);
  EXPECT_EQ(read_heading("Final Loss - TF32").role, Role::score);
  EXPECT_EQ(read_heading("run #2").role, Role::replicate);
  EXPECT_EQ(read_heading("**`Batch\\_size`** / GPU").role, Role::batch_size);
  EXPECT_EQ(read_heading("Efficiency %").unit, "%");
  EXPECT_EQ(read_heading("TF32 (sequences/sec").role, Role::throughput);
  EXPECT_EQ(read_heading("Speedup (TF32 to FP16)").role, Role::precision_speedup);
  EXPECT_EQ(read_heading("warmth").role, Role::none);
}

TEST(Lattice, TenAccuraciesGiveAwayTheSizeOfTheirDataSet) {
  const std::vector<double> mrpc = {85.78, 85.54, 84.56, 86.27, 84.07,
                                    86.76, 87.01, 85.29, 88.24, 86.52};
  const auto lattice = find_lattice(mrpc, 0.01);
  ASSERT_TRUE(lattice.has_value());
  EXPECT_EQ(lattice->examples, 408);
  EXPECT_EQ(lattice->known_as, "MRPC dev");
  std::vector<double> rates = mrpc;
  for (double& value : rates) value += 100;
  EXPECT_FALSE(find_lattice(rates, 0.01)) << "no accuracies";
}

TEST(Lattice, ThreeRoundPercentagesProveNothing) {
  EXPECT_FALSE(find_lattice({90.60, 90.65, 90.96}, 0.01).has_value());
}

}  // namespace
}  // namespace bertbench::audit
