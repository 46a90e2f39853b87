// Evaluations that print in the words of training, in formats that know nothing of them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// TF-slim's step lines (format tf-steps), `from` < step <= `to`, one a second from `at` on.
std::string steps(int from, int to, int at) {
  std::string out;
  for (int step = from + 1; step <= to; ++step) {
    const int second = at + step - from;
    out += fmt::format(
        "I1121 07:{:02}:{:02}.000000 140 learning.py:507] global step {}: loss = 7.3837 (1.000 "
        "sec/step)\n",
        second / 60, second % 60, step);
  }
  return out;
}

const std::string kEvaluates = "INFO:root:Running evaluation on the dev set\n";

TEST(EvaluationBlocks, AreNoTrainingAndDoNotPartOne) {
  for (const int length : {3, 20}) {
    const auto runs = read_text(steps(0, 5, 0) + kEvaluates + steps(0, length, 100) +
                                "INFO:root:dev loss 7.1\n" + steps(5, 12, 200));
    ASSERT_EQ(runs.size(), 2u) << length;
    EXPECT_EQ(runs[0].kind, WorkKind::training) << length;
    ASSERT_EQ(runs[0].records.size(), 12u) << length;
    EXPECT_EQ(runs[0].records.back().step, 12);
    EXPECT_LT(runs[0].records[5].time_s, runs[0].records[4].time_s)
        << "the clock begins anew behind the evaluation, so that none of its time counts";
    EXPECT_EQ(runs[1].kind, WorkKind::evaluation) << length;
    EXPECT_EQ(static_cast<int>(runs[1].records.size()), length);
    EXPECT_EQ(runs[1].outcome.status, Status::completed);
  }
}

TEST(EvaluationBlocks, SeveralAndOneAtTheEnd) {
  const auto runs =
      read_text(steps(0, 10, 0) + kEvaluates + steps(0, 4, 100) + steps(10, 20, 200) + kEvaluates +
                steps(0, 4, 300) + steps(20, 30, 400) + kEvaluates + steps(0, 4, 500));
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].records.size(), 30u);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(runs[i].kind, WorkKind::evaluation) << i;
}

TEST(EvaluationBlocks, ALaunchBehindAnEvaluationIsATraining) {
  const auto told = read_text(steps(0, 10, 0) + kEvaluates + "INFO:root:dev loss 7.1\n" +
                              "INFO:root:Namespace(batch_size=8)\n" + steps(0, 8, 200));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].kind, WorkKind::training);
  const auto longer = read_text(steps(0, 10, 0) + kEvaluates + steps(0, 20, 200));
  ASSERT_EQ(longer.size(), 2u);
  EXPECT_EQ(longer[1].kind, WorkKind::training) << "it came further than the training before";
  const auto plain = read_text(steps(0, 10, 0) + steps(0, 8, 200));
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_EQ(plain[1].kind, WorkKind::training) << "nothing says that it evaluates";
}

}  // namespace
}  // namespace bertbench
