#include "reports/stats/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

struct Printed {
  const char* gpu;
  const char* precision;
  double tflops;
};
class PeakTest : public testing::TestWithParam<Printed> {};

TEST_P(PeakTest, IsFoundFromWhatNvidiaSmiPrints) {
  const auto peak = peak_of(GetParam().gpu, GetParam().precision);
  ASSERT_TRUE(peak) << GetParam().gpu;
  EXPECT_EQ(peak->tflops, GetParam().tflops) << GetParam().gpu << " matched " << peak->gpu;
  EXPECT_EQ(peak->kind, "dense");
  EXPECT_FALSE(peak->source.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Names, PeakTest,
    testing::Values(
        Printed{"Tesla V100-SXM2-16GB", "fp16", 125},
        Printed{"Tesla V100-SXM2-32GB-LS", "fp32", 15.7},
        Printed{"Tesla V100-SXM3-32GB", "fp16", 125}, Printed{"Tesla V100-PCIE-16GB", "fp16", 112},
        Printed{"Tesla T4", "fp16", 65}, Printed{"NVIDIA A100-SXM4-40GB", "tf32", 156},
        Printed{"NVIDIA A100 80GB PCIe", "bf16", 312}, Printed{"A100-SXM4-80GB", "fp32", 19.5},
        Printed{"NVIDIA A10", "bf16", 125}, Printed{"NVIDIA GeForce RTX 3090", "fp16", 71},
        Printed{"NVIDIA GeForce RTX 4090", "fp8", 330.3},
        Printed{"NVIDIA H100 80GB HBM3", "bf16", 989.5}, Printed{"NVIDIA H100 PCIe", "bf16", 756.5},
        Printed{"NVIDIA H200", "bf16", 989.5}, Printed{"NVIDIA H200", "fp8", 1979},
        Printed{"NVIDIA B200", "bf16", 2250}));

class NoPeakTest : public testing::TestWithParam<const char*> {};

TEST_P(NoPeakTest, IsUnknownRatherThanGuessed) {
  EXPECT_EQ(match_hardware(GetParam()), nullptr) << match_hardware(GetParam())->name;
}
INSTANTIATE_TEST_SUITE_P(
    Names, NoPeakTest,
    testing::Values("", " ", "NVIDIA", "NVIDIA A10G", "NVIDIA A100X", "NVIDIA A1000", "NVIDIA A800",
                    "NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 4090 D",
                    "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H100 NVL", "NVIDIA H200 NVL",
                    "NVIDIA H20", "NVIDIA GH200 480GB", "NVIDIA GB200", "Tesla V100S-PCIE-32GB",
                    "NVIDIA H200 MIG 1g.18gb", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", "Tesla T40",
                    "AMD Instinct MI250X", "Intel(R) Xeon(R) Platinum 8480C"));

TEST(PeakTest, APrecisionThatTheGpuLacksHasNoPeak) {
  EXPECT_FALSE(peak_of("Tesla V100-SXM2-16GB", "bf16"));
  EXPECT_FALSE(peak_of("NVIDIA A100-SXM4-40GB", "fp8"));
  EXPECT_FALSE(peak_of("NVIDIA H200", ""));
}

TEST(PeakTest, SaysWhatItIs) {
  EXPECT_EQ(peak_of("NVIDIA H200", "bf16")->str(), "H200 bf16 dense 989.5 TFLOPS");
  EXPECT_EQ(peak_from_text("RTX 4090 bf16 dense 165.2 TFLOPS")->str(),
            "RTX 4090 bf16 dense 165.2 TFLOPS");
  for (const char* no_peak : {"", "H200 bf16 dense 0 TFLOPS", "H200 bf16 dense -1 TFLOPS",
                              "H200 bf16 dense 989.5 GB/s", "H200 bf16 dense many TFLOPS"}) {
    EXPECT_FALSE(peak_from_text(no_peak)) << no_peak;
  }
}

TEST(HardwareFileTest, EveryGpuHasWordsPeaksAndASource) {
  ASSERT_GE(known_hardware().size(), 12U);
  for (const Hardware& hardware : known_hardware()) {
    EXPECT_FALSE(hardware.name.empty());
    EXPECT_FALSE(hardware.matches.empty()) << hardware.name;
    for (const HardwareMatch& match : hardware.matches) EXPECT_FALSE(match.all.empty());
    EXPECT_FALSE(hardware.source.empty()) << hardware.name;
    EXPECT_FALSE(hardware.peaks.empty()) << hardware.name;
    for (const Peak& peak : hardware.peaks) {
      EXPECT_THAT(peak.precision, testing::AnyOf("fp32", "tf32", "bf16", "fp16", "fp8"));
      EXPECT_GT(peak.tflops, 0) << hardware.name;
    }
  }
}

TEST(UtilizationTest, MatchesTheSeedRowsComputedByHand) {
  // BERT-large s128 on a DGX-2 V100: 204 sequences/s per GPU = 49.1 TFLOPS = 39 % of 125.
  const auto shape = model_shape("bert-large");
  const Utilization got =
      utilization(*shape, 128, false, 204, peak_of("Tesla V100-SXM3-32GB", "fp16"));
  EXPECT_NEAR(got.chosen.tflops_per_gpu, 49.1, 0.05);
  ASSERT_TRUE(got.chosen.mfu);
  EXPECT_NEAR(*got.chosen.mfu, 0.39, 0.005);
  EXPECT_EQ(*got.chosen.hfu, *got.chosen.mfu);
  EXPECT_EQ(got.formula, "masked_head");
  EXPECT_EQ(got.counted, "linear, attention, head at 20 of 128 positions, pooler; x3");
  EXPECT_TRUE(got.warnings.empty());
}

TEST(UtilizationTest, CheckpointingRaisesOnlyHfu) {
  const auto shape = model_shape("bert-large");
  const auto peak = peak_of("NVIDIA H200", "bf16");
  const Utilization plain = utilization(*shape, 128, false, 1000, peak);
  const Utilization saved = utilization(*shape, 128, true, 1000, peak);
  EXPECT_EQ(*plain.chosen.mfu, *saved.chosen.mfu);
  EXPECT_NEAR(*saved.chosen.hfu / *saved.chosen.mfu, 319.6 / 240.6, 0.001);
}

TEST(UtilizationTest, EveryFormulaStandsBesideTheChosenOne) {
  const auto shape = model_shape("bert-large");
  const auto peak = peak_of("Tesla V100-SXM2-16GB", "fp16");
  const Utilization got = utilization(*shape, 128, false, 133.5, peak, "notebook");
  EXPECT_EQ(got.formula, "notebook");
  EXPECT_EQ(got.by_formula.size(), flops_formulas().size());
  for (const FlopsFormula& formula : flops_formulas()) {
    const FormulaUse& use = got.by_formula.at(std::string(formula.key));
    EXPECT_NEAR(use.tflops_per_gpu, flops_per_sequence(*shape, 128).*formula.value * 133.5 / 1e12,
                1e-9);
    EXPECT_NEAR(*use.mfu, use.tflops_per_gpu / 125, 1e-12) << formula.key;
    EXPECT_EQ(*use.hfu, *use.mfu) << formula.key;
  }
  EXPECT_EQ(got.chosen.tflops_per_gpu, got.by_formula.at("notebook").tflops_per_gpu);
  EXPECT_EQ(utilization(*shape, 128, false, 1, peak, "no such").formula, "masked_head");
}

// 4/3 in the notebook's TFLOPS is recomputation: hardware FLOPs, so no part of MFU.
TEST(UtilizationTest, RecomputationIsInTheTflopsOfAFormulaThatCountsItAndInNoMfu) {
  const auto shape = model_shape("bert-large");
  const auto peak = peak_of("NVIDIA H200", "bf16");
  const auto use = [&](bool checkpointing, const char* formula) {
    return utilization(*shape, 128, checkpointing, 139.2, peak, formula).chosen;
  };
  EXPECT_NEAR(use(true, "notebook").tflops_per_gpu, 48.4, 0.05);
  EXPECT_NEAR(use(true, "notebook").tflops_per_gpu / use(false, "notebook").tflops_per_gpu, 4 / 3.0,
              1e-12);
  for (const FlopsFormula& formula : flops_formulas()) {
    const std::string key(formula.key);
    EXPECT_EQ(*use(true, key.c_str()).mfu, *use(false, key.c_str()).mfu) << key;
  }
  EXPECT_GT(*use(true, "notebook").hfu, *use(true, "notebook").mfu);
  EXPECT_GT(*use(true, "all_positions").hfu, *use(true, "all_positions").mfu);
  EXPECT_FALSE(use(true, "palm").hfu) << "its source counts no recomputation";
  EXPECT_TRUE(use(false, "palm").hfu);
}

TEST(UtilizationTest, MoreThanThePeakIsAWarning) {
  const Utilization got =
      utilization(*model_shape("bert-large"), 512, false, 210, peak_of("Tesla T4", "fp16"));
  ASSERT_EQ(got.warnings.size(), 1U);
  EXPECT_THAT(text_of(got.warnings[0]),
              testing::HasSubstr("above 100 % of T4 fp16 dense 65 TFLOPS"));
}

TEST(UtilizationTest, WithoutAPeakThereIsARateAndNoShare) {
  const Utilization got = utilization(*model_shape("bert-base"), 128, false, 10, {});
  EXPECT_GT(got.chosen.tflops_per_gpu, 0);
  EXPECT_FALSE(got.chosen.mfu);
  EXPECT_FALSE(got.chosen.hfu);
}

}  // namespace
}  // namespace bertbench
