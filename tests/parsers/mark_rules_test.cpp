#include "parsers/rules/mark_rules.h"

#include <gtest/gtest.h>

#include "parsers/reader/log_reader.h"

namespace bertbench {
namespace {

TEST(MarkRules, OfALogStandInItsRun) {
  std::string text;
  for (int step = 1; step <= 30; ++step) {
    text += "I1121 07:00:" + std::to_string(10 + step) + ".000000 1 x.py:1] ordinary line\n";
    text += " iteration " + std::to_string(step) +
            "/ 30 | consumed samples: 8 | elapsed time per iteration (ms): 100.0 | learning rate: "
            "1.0E-04 | global batch size: 8 | lm loss: 6.0E+00 |\n";
    if (step == 10) text += "saving checkpoint at iteration 10 to /x in torch format\n";
    if (step == 20) text += " validation loss at iteration 20 | lm loss value: 6.0 |\n";
  }
  LogReader reader({}, "megatron.log");
  reader.feed(text);
  const auto runs = reader.finish();
  ASSERT_FALSE(runs.empty());
  const auto& marks = runs.front().marks;
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0].kind, MarkKind::checkpoint);
  EXPECT_EQ(marks[0].line, 21);
  EXPECT_EQ(marks[1].kind, MarkKind::evaluation);
  EXPECT_EQ(marks[1].line, 42);
}

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
  EXPECT_FALSE(rules.steps(0, 100, 8));             // some ranks did not speak
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

TEST(OverflowRules, OfALogStandInItsRun) {
  std::string text = "| training on 2 GPUs\n";
  for (int step = 1; step <= 3; ++step) {
    for (int rank = 0; rank < 2; ++rank) text += scaled_down_to(32768 >> step) + "\n";
    text += "Transformer | epoch 0 | step " + std::to_string(10 * step) +
            " |avg loss 14.1 |avg tokens 9000.100 |tokens/s 25000.250 |walltime " +
            std::to_string(4 * step) + ".500 |\n";
  }
  LogReader reader({}, "transformer.log");
  reader.feed(text);
  const auto runs = reader.finish();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].facts.world(), 2);
  EXPECT_EQ(runs[0].totals.skipped_steps, 3);
}

TEST(MarkRules, ABoundedNumberIsKept) {
  MarkRules rules;
  Line line;
  line.text = "saving checkpoint";
  for (int n = 1; n <= 10000; ++n) {
    line.number = n;
    rules.see(line);
  }
  EXPECT_EQ(rules.of(1, 20000).size(), 4096U);
  EXPECT_EQ(rules.of(5, 8).size(), 3U);
}

}  // namespace
}  // namespace bertbench
