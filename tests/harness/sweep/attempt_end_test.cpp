// One outcome of what the log holds and how the processes ended.
#include "harness/sweep/execute/attempt_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace bertbench {
namespace {
using ::testing::ElementsAre;

SweepConfig config() {
  SweepConfig out;
  out.steps = 20;
  out.timeout_s = 60;
  out.stall_timeout_s = 30;
  return out;
}

AttemptEnd exited(int code) {
  AttemptEnd end;
  end.exit.emplace().code = code;
  return end;
}

AttemptEnd signalled(int number) {
  AttemptEnd end;
  end.exit.emplace().signal = number;
  return end;
}

Outcome joined(const std::optional<Outcome>& log, const AttemptEnd& end, std::int64_t last = 20) {
  return join_outcomes(log, end, config(), config().steps, last);
}

std::vector<NoticeCode> codes_of(const Outcome& outcome) {
  std::vector<NoticeCode> codes;
  for (const auto& detail : outcome.details) codes.push_back(detail.code);
  return codes;
}

const Outcome kTruncated{Status::truncated, 20, 0, {}};
Outcome error_of_log() {
  return {Status::error, 7, 12, {make_notice(NoticeCode::printed_in_log_txt, 0, 3)}};
}

TEST(AttemptEnd, ExitZeroMakesALogWithoutClosingLineWhole) {
  EXPECT_EQ(joined(kTruncated, exited(0)).status, Status::completed);
  EXPECT_EQ(joined(kTruncated, exited(0), 19).status, Status::truncated);
  EXPECT_EQ(joined(std::nullopt, exited(0)).status, Status::no_data);
}

TEST(AttemptEnd, RanksThatWereEndedAsOneFailedAreNoKilledTrial) {
  EXPECT_EQ(joined(error_of_log(), exited(143)).status, Status::error);
  EXPECT_EQ(joined(kTruncated, exited(143)).status, Status::killed);
  EXPECT_EQ(joined(error_of_log(), exited(137)).status, Status::killed);
}

TEST(AttemptEnd, TheMessageOfTheLogStandsAfterTheExitStatus) {
  const auto outcome = joined(error_of_log(), exited(1));
  EXPECT_EQ(outcome.status, Status::error);
  EXPECT_THAT(codes_of(outcome),
              ElementsAre(NoticeCode::exit_status, NoticeCode::printed_in_log_txt));
  EXPECT_EQ(outcome.line, 12);
  EXPECT_EQ(outcome.step, 7);
}

TEST(AttemptEnd, OutOfMemoryHasThreeSigns) {
  EXPECT_EQ(joined(kTruncated, exited(12)).status, Status::out_of_memory);
  EXPECT_EQ(joined(Outcome{Status::out_of_memory, 3, 5, {}}, exited(1)).status,
            Status::out_of_memory);
  auto killed = signalled(SIGKILL);
  EXPECT_EQ(joined(kTruncated, killed).status, Status::killed);
  killed.kernel_oom = true;
  EXPECT_EQ(joined(kTruncated, killed).status, Status::out_of_memory);
  auto after_a_launcher = exited(128 + SIGKILL);
  EXPECT_EQ(joined(kTruncated, after_a_launcher).status, Status::killed);
  after_a_launcher.kernel_oom = true;
  EXPECT_EQ(joined(kTruncated, after_a_launcher).status, Status::out_of_memory);
}

TEST(AttemptEnd, ACrashIsAnErrorAndASignalFromOutsideIsNot) {
  EXPECT_EQ(joined(kTruncated, signalled(SIGSEGV)).status, Status::error);
  EXPECT_EQ(joined(kTruncated, signalled(SIGTERM)).status, Status::killed);
}

TEST(AttemptEnd, WhatTheHarnessEndedIsNamedWithItsCause) {
  auto end = signalled(SIGTERM);
  end.cause = EndCause::timeout;
  EXPECT_EQ(joined(kTruncated, end).status, Status::timeout);
  EXPECT_THAT(codes_of(joined(kTruncated, end)), ElementsAre(NoticeCode::ran_too_long));
  end.cause = EndCause::stalled;
  EXPECT_EQ(joined(kTruncated, end).status, Status::stalled);
  end.cause = EndCause::stopped;
  EXPECT_EQ(joined(kTruncated, end).status, Status::killed);
  end.cause = EndCause::lost;
  end.lost_as = Status::timeout;
  end.detail = "the queue";
  EXPECT_EQ(joined(kTruncated, end).status, Status::timeout);
  EXPECT_THAT(codes_of(joined(kTruncated, end)), ElementsAre(NoticeCode::lost));
}

TEST(AttemptEnd, TheTerminalNamesTheFailureThatTheTrainersOwnLogLacks) {
  auto end = exited(1);
  end.own_log = true;
  end.printed_failure = error_of_log();
  const auto outcome = joined(kTruncated, end, 9);
  EXPECT_THAT(codes_of(outcome),
              ElementsAre(NoticeCode::exit_status, NoticeCode::printed_in_log_txt));
  EXPECT_EQ(outcome.step, 9);
}

TEST(AttemptEnd, ARefusedCommandLineIsNotTriedAgain) {
  const Outcome error{Status::error, std::nullopt, 0, {}};
  EXPECT_TRUE(worth_retrying(error, exited(1).exit));
  EXPECT_TRUE(worth_retrying(error, signalled(SIGSEGV).exit));
  for (const int code : {2, 3, 126, 127}) EXPECT_FALSE(worth_retrying(error, exited(code).exit));
  EXPECT_FALSE(worth_retrying({Status::out_of_memory, std::nullopt, 0, {}}, exited(12).exit));
  EXPECT_FALSE(worth_retrying({Status::nan, std::nullopt, 0, {}}, exited(0).exit));
}

}  // namespace
}  // namespace bertbench
