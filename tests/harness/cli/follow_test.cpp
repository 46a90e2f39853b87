// `extract --follow`: logs that grow while the program runs.
#include "harness/cli/follow.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <streambuf>
#include <thread>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using testing::HasSubstr;
using testing::Not;

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

/// What the program has printed so far, for a writer next to it that waits for some text.
class Printed : public std::streambuf {
 public:
  /// False where it was not printed within a minute.
  bool wait_for(const std::string& text) {
    std::unique_lock lock(mutex_);
    return more_.wait_for(lock, std::chrono::minutes(1),
                          [&] { return text_.find(text) != std::string::npos; });
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::lock_guard lock(mutex_);
    text_.append(text, static_cast<std::size_t>(size));
    more_.notify_all();
    return size;
  }
  int overflow(int one) override {
    const char c = static_cast<char>(one);
    return one == traits_type::eof() || xsputn(&c, 1) == 1 ? 0 : traits_type::eof();
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::string text_;
};

/// Follows logs while `writer` changes them and waits for what that makes the program print.
Ran follow(std::vector<std::string> words, const std::function<void(Printed&)>& writer,
           Terminal terminal = {}) {
  words.insert(words.begin(), {"extract", "--follow"});
  Printed printed;
  std::ostream err(&printed);
  std::ostringstream out;
  std::thread other([&] { writer(printed); });
  Ran ran;
  ran.status = run_cli(words, out, err, terminal);
  other.join();
  ran.out = out.str();
  ran.err = printed.text();
  return ran;
}

/// Here the line of each log is drawn again at every look: a writer sees how far it was read.
Terminal shown() {
  Terminal terminal;
  terminal.err_is_terminal = true;
  terminal.width = 120;
  return terminal;
}

std::string step_line(int step, const std::string& loss = "7.5") {
  return fmt::format(
      "INFO:tensorflow:loss = {}, step = {} (5.000 sec)\n"
      "INFO:tensorflow:global_step/sec: 2\nINFO:tensorflow:examples/sec: 64\n",
      loss, step * 10);
}

using FollowTest = CliTest;

TEST_F(FollowTest, ReadsWhatIsAppendedUntilTheLogIsDeleted) {
  const std::string log = put("run.log", "INFO:tensorflow:Running train on CPU\n" + step_line(1));
  const auto writer = [&](Printed& printed) {
    EXPECT_TRUE(printed.wait_for("run.log: "));
    for (int i = 2; i <= 12; ++i) {
      append(log, step_line(i));
      std::this_thread::yield();
    }
    EXPECT_TRUE(printed.wait_for("11 records"));
    std::filesystem::remove(log);
  };
  const Ran ran = follow({log, "--window", "all"}, writer, shown());
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("64.00 sequences/s by step_time"));
  EXPECT_THAT(ran.err, HasSubstr("was deleted: what was read of it counts"));
}

TEST_F(FollowTest, TellsNanRotationAndTruncationAtOnceAndPrintsTheTableOnASignal) {
  const std::string log = put("run.log", step_line(1));
  const std::string other =
      put("other.log", step_line(1) + step_line(2) + step_line(3) + step_line(4, "nan"));
  const auto writer = [&](Printed& printed) {
    // Logs are looked at in their order: both are read to their ends by then.
    EXPECT_TRUE(printed.wait_for("other.log: nan"));
    append(log, step_line(2) + step_line(3));
    std::filesystem::rename(log, log + ".1");
    append(log, step_line(4) + step_line(5, "nan") + step_line(6, "nan"));
    EXPECT_TRUE(printed.wait_for("run.log: nan"));
    std::filesystem::resize_file(other, 0);
    EXPECT_TRUE(printed.wait_for("other.log: was truncated"));
    append(other, step_line(1) + step_line(2));
    ::kill(::getpid(), SIGINT);
  };
  const Ran ran = follow({log, other, "--window", "all"}, writer);
  EXPECT_EQ(ran.status, 130) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("run.log: was rotated"));
  EXPECT_THAT(ran.out, HasSubstr("nan at step 50"));
  EXPECT_THAT(ran.out, Not(HasSubstr("nan at step 40"))) << "what was truncated is gone";
  EXPECT_THAT(ran.err, Not(HasSubstr("\x1b["))) << "redrawn lines are for terminals";
}

TEST_F(FollowTest, CallsAQuietLogStalledAndSaysSoWhenItGoesOn) {
  const std::string log = put("run.log", step_line(1) + step_line(2));
  const auto writer = [&](Printed& printed) {
    EXPECT_TRUE(printed.wait_for("stalled: no output for 1 s"));
    append(log, step_line(3));
    EXPECT_TRUE(printed.wait_for("goes on"));
    ::kill(::getpid(), SIGTERM);
  };
  EXPECT_EQ(follow({log, "--stall-after", "1"}, writer).status, 130);
}

// Seen: "stalled" a moment before "was deleted", and in the table.
TEST_F(FollowTest, CallsADeletedLogNotStalled) {
  const std::string log = put("run.log", step_line(1) + step_line(2));
  const auto writer = [&](Printed& printed) {
    EXPECT_TRUE(printed.wait_for("1 records"));
    append(log, step_line(3));
    std::filesystem::remove(log);
  };
  const Ran ran = follow({log, "--stall-after", "60", "--window", "all"}, writer, shown());
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

TEST_F(FollowTest, EndsWithTheReaderOfItsOutput) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const int kept = ::dup(STDOUT_FILENO);
  ::dup2(ends[1], STDOUT_FILENO);
  const Ran ran = follow({put("run.log", step_line(1))}, [](Printed&) {});
  ::dup2(kept, STDOUT_FILENO);
  for (const int one : {kept, ends[1]}) ::close(one);
  EXPECT_EQ(ran.status, 0) << ran.err;
}

TEST_F(FollowTest, NamesALogThatIsNotThere) {
  run_to(5, {"extract", "--follow", path("none.log")});
  EXPECT_EQ(run({"extract", "--stall-after", "3", put("a.log", step_line(1))}).status, 2);
}

TEST_F(FollowTest, RedrawsOneLineALogOnATerminal) {
  const std::string log = put("run.log", step_line(1) + step_line(2) + step_line(3) + step_line(4));
  const auto writer = [](Printed& printed) {
    EXPECT_TRUE(printed.wait_for("\x1b[1A")) << "drawn a second time";
    ::kill(::getpid(), SIGINT);
  };
  const Ran ran = follow({log, "--window", "2:6"}, writer, shown());
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
