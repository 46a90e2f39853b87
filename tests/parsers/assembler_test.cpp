// What a format's events give that no log of a built-in format shows.
#include "parsers/assemble/assembler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bertbench {
namespace {

struct Assembled {
  explicit Assembled(
      const Begin& how, std::function<void(Facts&)> facts = [](Facts&) {})
      : out("mine", "mine.log", WindowRule{}),
        assembler(out, std::span(&how, 1), std::move(facts)) {}

  void step(Step step) {
    step.line = ++line;
    assembler.take(std::move(step), line);
  }
  std::vector<RunLog> finish() {
    assembler.finish("");
    std::vector<RunLog> runs;
    for (const auto& draft : out.drafts()) runs.push_back(draft->take());
    return runs;
  }

  RunBuilder out;
  Assembler assembler;
  std::int64_t line = 0;
};

// Two runs in one file, of which the first holds an evaluation of 12 s.
TEST(Assembler, AnEvaluationIsOffTheClockOfItsRunAlone) {
  const Begin how{.restart = Restart::back, .without_evaluations = true};
  Assembled all(how);
  all.step({.step = 40, .time_s = 80});
  all.step({.step = 80, .time_s = 144, .own_s = 64});
  all.assembler.take(Evaluated{}, all.line);
  all.step({.step = 120, .time_s = 220, .own_s = 64});
  all.assembler.take(Evaluated{}, all.line);  // before the end of the first run
  all.assembler.take(how, all.line);
  all.step({.step = 40, .time_s = 300, .own_s = 40});
  all.step({.step = 80, .time_s = 340, .own_s = 40});
  const auto runs = all.finish();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_DOUBLE_EQ(runs[0].off_clock_s(), 12);
  EXPECT_EQ(runs[0].off_clock.front().line, 3);
  EXPECT_TRUE(runs[0].noted(NoticeCode::evaluations_off_the_clock));
  EXPECT_DOUBLE_EQ(runs[0].records.back().time_s, 128);
  EXPECT_DOUBLE_EQ(runs[1].off_clock_s(), 0);
  EXPECT_FALSE(runs[1].noted(NoticeCode::evaluations_off_the_clock));
  EXPECT_DOUBLE_EQ(runs[1].records.back().time_s, 40);
}

TEST(Assembler, ALossOfTheFirstStepIsKeptWhileThatWaitsForTheSecond) {
  Assembled all({.first = FirstInterval::as_next});
  all.step({.step = 10});
  all.assembler.take(Statement{.loss = 7.5}, all.line);
  all.step({.step = 20});
  all.assembler.take(Statement{.loss = 6.5}, all.line);
  const auto runs = all.finish();
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(runs[0].records.size(), 2U);
  EXPECT_EQ(runs[0].records[0].iterations, 10);
  EXPECT_DOUBLE_EQ(runs[0].records[0].loss, 7.5);
  EXPECT_DOUBLE_EQ(runs[0].records[1].loss, 6.5);
}

// The header states another batch than the steps, and the format states it again with each.
TEST(Assembler, ABatchThatChangedStaysUnknown) {
  Assembled all({}, [](Facts& facts) { facts.global_batch_size.set(32, FactSource::log); });
  for (std::int64_t step = 1; step <= 4; ++step) all.step({.step = step, .global_batch = 128});
  all.step({.step = 5});
  const auto runs = all.finish();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_FALSE(runs[0].facts.global_batch_size.known());
  EXPECT_EQ(std::ranges::count(runs[0].notices, NoticeCode::global_batch_changes, &Notice::code),
            1);
}

}  // namespace
}  // namespace bertbench
