#include "reports/stats/multiple_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bertbench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
TEST(Holm, GivesTheAdjustedValuesOfR) {
  EXPECT_THAT(holm(std::vector<double>{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.06, 1e-12), DoubleNear(0.06, 1e-12),
                          DoubleNear(0.02, 1e-12)));
}

TEST(Holm, NeverExceedsOneAndKeepsTheOrderOfTheCells) {
  EXPECT_THAT(holm(std::vector<double>{0.9, 0.2, 0.9}), ElementsAre(1, DoubleNear(0.6, 1e-12), 1));
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace bertbench
