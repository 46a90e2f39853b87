#include "parsers/rules/mark_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/reader/log_reader.h"

namespace bertbench {
namespace {

Line overflow(std::int64_t number, const std::string& text, int rank = -1) {
  Line line;
  line.text = text;
  line.number = number;
  line.rank = rank;
  return line;
}

std::string scaled_down_to(int scale) {
  return "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to " +
         std::to_string(scale) + ".0";
}

TEST(OverflowRules, CountTheStepsNotTheRanksThatSpeakOfThem) {
  OverflowRules rules;
  std::int64_t number = 0;
  for (const int scale : {32768, 16384, 32768}) {
    const std::string text = scaled_down_to(scale);
    for (int rank = 0; rank < 4; ++rank) rules.see(overflow(++number, text));
  }
  EXPECT_EQ(rules.steps(0, 100, 4), 3);
  EXPECT_EQ(rules.steps(5, 9, 4), 1);
  EXPECT_FALSE(rules.steps(0, 100, std::nullopt));  // 12 of one rank, or of how many?
  EXPECT_FALSE(rules.steps(0, 100, 8));             // some ranks have no line
  EXPECT_FALSE(rules.steps(13, 100, 4));
}

TEST(OverflowRules, OneLineAScaleIsAStepEach) {
  OverflowRules rules;
  for (int n = 0; n < 5; ++n) rules.see(overflow(n + 1, scaled_down_to(1 << (15 - n))));
  EXPECT_EQ(rules.steps(0, 100, std::nullopt), 5);
  EXPECT_EQ(rules.steps(0, 100, 8), 5);  // the first of eight ranks alone was shown
}

TEST(OverflowRules, LabelsTellTheRanks) {
  OverflowRules rules;
  const std::string text = scaled_down_to(8192);
  for (const int rank : {1, 0, 1, 0, 1}) rules.see(overflow(1, text, rank));
  EXPECT_EQ(rules.steps(0, 2, std::nullopt), 3);
}

TEST(MarkRules, ABoundedNumberIsKept) {
  MarkRules rules;
  Line line;
  line.text = "saving checkpoint";
  const auto row = std::ranges::find(MarkRules::anchors(), "aving checkpoint");
  const LiteralAt found[] = {
      {0, static_cast<std::uint32_t>(row - MarkRules::anchors().begin()), line.text.data() + 1}};
  line.literals = found;
  for (int n = 1; n <= 10000; ++n) {
    line.number = n;
    rules.see(line);
  }
  EXPECT_EQ(rules.of(1, 20000).size(), 4096U);
  EXPECT_EQ(rules.of(5, 8).size(), 3U);
}

}  // namespace
}  // namespace bertbench
