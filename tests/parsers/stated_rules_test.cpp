// What logs state of one GPU next to their steps.
#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "parsers/rules/mark_rules.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::pair<StatedValue, double>> stated_by(const std::string& text) {
  std::vector<std::pair<StatedValue, double>> out;
  for (const RunLog& run : read_text(text)) {
    for (const StatedLine& one : run.stated.items()) out.emplace_back(one.what, one.value);
  }
  return out;
}

TEST(StatedRules, AValueIsKnownByTheUnitThatStandsAtIt) {
  const std::string step = "step 1 loss 1.5 2.5 s/it ", next = "step 2 loss 1.4 2.5 s/it ";
  const auto of_both = [&](const std::string& more) {
    return stated_by(step + more + "\n" + next + more + "\n");
  };
  EXPECT_THAT(of_both("throughput per GPU (TFLOP/s/GPU): 812.5 | power per GPU (W/GPU): 623.1 |"),
              ElementsAre(Pair(StatedValue::tflops, 812.5), Pair(StatedValue::watts, 623.1),
                          Pair(StatedValue::tflops, 812.5), Pair(StatedValue::watts, 623.1)));
  EXPECT_THAT(of_both("energy per GPU (J/iter/GPU): 4,311.2").front(),
              Pair(StatedValue::joules, 4311.2));
  EXPECT_THAT(of_both("GPU utilization: 812.5MODEL_TFLOP/s/GPU").front(),
              Pair(StatedValue::tflops, 812.5));
  EXPECT_THAT(of_both("tokens per GPU (tokens/s/GPU): 9123.5/9001.0").front(),
              Pair(StatedValue::tokens, 9123.5));
  EXPECT_THAT(of_both("TFLOP/s/GPU"), IsEmpty());
  EXPECT_THAT(of_both("(W/GPU): nan, (J/iter/GPU): -1, (tokens/s/GPU): 1e"), testing::SizeIs(2));
}

}  // namespace
}  // namespace bertbench
