#include "reports/stats/scaling.h"

#include <gtest/gtest.h>

namespace bertbench {
namespace {

TEST(Scaling, ConstantBatchPerGpuIsWeakAndConstantGlobalBatchIsStrong) {
  const ScalingPoint base{1, 32, 4};
  EXPECT_EQ(scaling_kind(base, {8, 32, 4}), "weak");
  EXPECT_EQ(scaling_kind(base, {4, 32, 1}), "strong");
  EXPECT_EQ(scaling_kind(base, {4, 8, 4}), "strong");
  EXPECT_EQ(scaling_kind(base, {4, 16, 4}), "");
  EXPECT_EQ(scaling_kind(base, base), "");
}

// NGC card: 70555 / 4553 = 15.50 on 16 nodes of 8 against one node of 8.
TEST(Scaling, EfficiencyIsOverTheGrowthOfTheWorldAndNotOverOneGpu) {
  EXPECT_NEAR(scaling_efficiency(70555.0 / 4553, 8, 128), 0.9685, 5e-5);
}

}  // namespace
}  // namespace bertbench
