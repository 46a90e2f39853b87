#include "parsers/rules/mark_rules.h"

#include <gtest/gtest.h>

#include "parsers/log_reader.h"

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
