// `extract --follow`: logs that grow while the program runs.
#include "harness/cli/follow.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using testing::HasSubstr;
using testing::Not;

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}
void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::string step_line(int step, const std::string& loss = "7.5") {
  return fmt::format(
      "INFO:tensorflow:loss = {}, step = {} (5.000 sec)\n"
      "INFO:tensorflow:global_step/sec: 2\nINFO:tensorflow:examples/sec: 64\n",
      loss, step * 10);
}

using FollowTest = CliTest;

TEST_F(FollowTest, ReadsWhatIsAppendedUntilTheLogIsDeleted) {
  const std::string log = put("run.log", "INFO:tensorflow:Running train on CPU\n" + step_line(1));
  std::thread writer([&] {
    for (int i = 2; i <= 12; ++i) {
      wait_ms(30);
      append(log, step_line(i));
    }
    wait_ms(400);
    std::filesystem::remove(log);
  });
  const Ran ran = run({"extract", "--follow", log, "--window", "all"});
  writer.join();
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("64.00 sequences/s by step_time"));
  EXPECT_THAT(ran.err, HasSubstr("was deleted: what was read of it counts"));
}

TEST_F(FollowTest, TellsNanRotationAndTruncationAtOnceAndPrintsTheTableOnASignal) {
  const std::string log = put("run.log", step_line(1));
  const std::string other = put("other.log", step_line(1) + step_line(2) + step_line(3));
  std::thread writer([&] {
    wait_ms(300);
    append(log, step_line(2) + step_line(3));
    std::filesystem::rename(log, log + ".1");
    append(log, step_line(4) + step_line(5, "nan") + step_line(6, "nan"));
    wait_ms(600);
    std::filesystem::resize_file(other, 0);
    wait_ms(400);
    append(other, step_line(1) + step_line(2));
    wait_ms(600);
    ::kill(::getpid(), SIGINT);
  });
  const Ran ran = run({"extract", "--follow", log, other, "--window", "all"});
  writer.join();
  EXPECT_EQ(ran.status, 130) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("run.log: was rotated"));
  EXPECT_THAT(ran.err, HasSubstr("run.log: nan"));
  EXPECT_THAT(ran.err, HasSubstr("other.log: was truncated"));
  EXPECT_THAT(ran.out, HasSubstr("nan at step 50"));
  EXPECT_THAT(ran.err, Not(HasSubstr("\x1b["))) << "redrawn lines are for terminals";
}

TEST_F(FollowTest, CallsAQuietLogStalledAndSaysSoWhenItGoesOn) {
  const std::string log = put("run.log", step_line(1) + step_line(2));
  std::thread writer([&] {
    wait_ms(1600);
    append(log, step_line(3));
    wait_ms(400);
    ::kill(::getpid(), SIGTERM);
  });
  const Ran ran = run({"extract", "--follow", log, "--stall-after", "1"});
  writer.join();
  EXPECT_EQ(ran.status, 130);
  EXPECT_THAT(ran.err, HasSubstr("stalled: no output for 1 s"));
  EXPECT_THAT(ran.err, HasSubstr("goes on"));
}

// Seen: "stalled" a moment before "was deleted", and in the table.
TEST_F(FollowTest, CallsADeletedLogNotStalled) {
  const std::string log = put("run.log", step_line(1) + step_line(2));
  std::thread writer([&] {
    wait_ms(1000);
    append(log, step_line(3));
    std::filesystem::remove(log);
  });
  const Ran ran = run({"extract", "--follow", log, "--stall-after", "60", "--window", "all"});
  writer.join();
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("was deleted: what was read of it counts"));
  EXPECT_THAT(ran.err + ran.out, Not(HasSubstr("stalled")));
}

TEST(Stalls, AreOfLogsThatAreThereAndQuietForLongerThanUsual) {
  EXPECT_TRUE(is_stalled({.seconds = 61}, 60));
  EXPECT_FALSE(is_stalled({.seconds = 59}, 60));
  EXPECT_FALSE(is_stalled({.seconds = 61, .longest_before_s = 40}, 60));
  EXPECT_FALSE(is_stalled({.seconds = 61, .deleted = true}, 60));
}

TEST_F(FollowTest, NamesALogThatIsNotThere) {
  run_to(5, {"extract", "--follow", path("none.log")});
  EXPECT_EQ(run({"extract", "--stall-after", "3", put("a.log", step_line(1))}).status, 2);
}

TEST_F(FollowTest, RedrawsOneLineALogOnATerminal) {
  const std::string log = put("run.log", step_line(1) + step_line(2) + step_line(3) + step_line(4));
  std::thread writer([&] {
    wait_ms(700);
    ::kill(::getpid(), SIGINT);
  });
  Terminal terminal;
  terminal.err_is_terminal = true;
  terminal.width = 120;
  const Ran ran = run({"extract", "--follow", log, "--window", "2:6"}, terminal);
  writer.join();
  EXPECT_THAT(ran.err, HasSubstr("step 3, 64.00 sequences/s, window 1 of 4"));
  EXPECT_THAT(ran.err, HasSubstr("\x1b[1A"));
  EXPECT_TRUE(ran.err.find("\x1b[J") != std::string::npos) << "the lines are taken away again";
}

LiveView view() {
  LiveView out;
  out.records = 30;
  out.last_step = 300;
  out.recent_rate = out.iterations_per_second = 2;
  out.unit = RateUnit::iterations_per_second;
  out.iteration_unit = IterationUnit::optimizer_step;
  return out;
}

TEST(LiveText, TurnsIterationsIntoSequencesWithTheFactsGiven) {
  LiveView live = view();
  FollowOptions options;
  EXPECT_THAT(live_text(live, options), HasSubstr("2.000 iterations/s"));
  options.given.global_batch_size.set(512, FactSource::command_line);
  EXPECT_THAT(live_text(live, options), HasSubstr("1024.00 sequences/s"));
}

TEST(LiveText, TellsTheTimeLeftAndTheWindow) {
  LiveView live = view();
  live.planned = 420;
  FollowOptions options;
  options.read.window = *parse_window("steps:100:500");
  EXPECT_THAT(live_text(live, options), HasSubstr("step 300/420"));
  EXPECT_THAT(live_text(live, options), HasSubstr("window 200 of 400"));
  EXPECT_THAT(live_text(live, options), HasSubstr("1 min 00 s left"));
  live.last_step = 420;
  EXPECT_THAT(live_text(live, options), HasSubstr("done"));
}

}  // namespace
}  // namespace bertbench::test
