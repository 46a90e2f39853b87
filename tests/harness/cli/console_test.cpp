#include "harness/cli/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <sstream>

#include "harness/cli/fd_stream.h"
#include "harness/cli/number_text.h"
#include "harness/cli/progress.h"
#include "reports/output/value_text.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using namespace std::chrono_literals;

struct Streams {
  std::ostringstream out, err;
};

TEST(ConsoleTest, AnswersAndMessagesGoDifferentWays) {
  Streams s;
  Console console(s.out, s.err);
  console.print("answer\n");
  console.note("run.log", foreign_notice(7, "odd line"));
  console.status("going on");
  EXPECT_EQ(console.error({"here", "broken", "mend it"}), ExitCode::usage);
  EXPECT_EQ(s.out.str(), "answer\n");
  EXPECT_EQ(s.err.str(),
            "bertbench: note: run.log:7: odd line\ngoing on\nbertbench: here: broken; mend it\n");
}

TEST(ConsoleTest, TextFromLogsCannotDriveTheTerminal) {
  Streams s;
  Console console(s.out, s.err, {true, true, true, 80});
  console.note("a\x1b]0;title\x07.log", foreign_notice(1, "line\r\nwith \xe2\x80\xae bidi"));
  const std::string err = s.err.str();
  EXPECT_EQ(err.find("\x1b]"), std::string::npos) << err;
  EXPECT_EQ(err.find('\r'), std::string::npos) << err;
  EXPECT_EQ(err.find("\xe2\x80\xae"), std::string::npos) << err;
  EXPECT_EQ(err.find('\n'), err.size() - 1) << err;
}

TEST(ConsoleTest, LongMessagesBreakBetweenWordsAtTheTerminalsEdge) {
  const std::string text = "one two three four five six seven";
  Streams terminal, file;
  Console(terminal.out, terminal.err, {true, true, false, 30}).note(text);
  EXPECT_EQ(terminal.err.str(), "bertbench: note: one two three\n  four five six seven\n");
  Console(file.out, file.err, {false, false, false, 30}).note(text);
  EXPECT_EQ(file.err.str(), "bertbench: note: " + text + "\n");
}

TEST(ConsoleTest, ColourCodesTakeNoRoomAndALongWordIsLeftWhole) {
  Streams s;
  Console(s.out, s.err, {true, true, true, 30}).error({std::string(40, 'x'), "is odd", ""});
  EXPECT_EQ(s.err.str(), "\x1b[31mbertbench:\x1b[0m\n  " + std::string(40, 'x') + ":\n  is odd\n");
}

TEST(ConsoleTest, ColourOnlyOnTerminals) {
  Streams s;
  const Console plain(s.out, s.err, {false, false, true, 80});
  const Console refused(s.out, s.err, {true, true, false, 80});
  const Console colourful(s.out, s.err, {true, false, true, 80});
  EXPECT_EQ(plain.styled(Style::red, "x"), "x");
  EXPECT_EQ(refused.styled(Style::red, "x"), "x");
  EXPECT_EQ(colourful.styled(Style::red, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(colourful.styled_err(Style::red, "x"), "x");
}

TEST(ConsoleTest, AFullDiskIsAnErrorAndAReaderThatLeftIsNot) {
  std::ostringstream err;
  {
    FdBuffer buffer(open("/dev/full", O_WRONLY));
    std::ostream out(&buffer);
    Console console(out, err);
    console.print(std::string(100000, 'x'));
    const auto finished = console.finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().what, "No space left on device");
  }
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  std::signal(SIGPIPE, SIG_IGN);
  FdBuffer buffer(ends[1]);
  std::ostream out(&buffer);
  Console console(out, err);
  console.print(std::string(100000, 'x'));
  EXPECT_TRUE(console.finish());
  EXPECT_EQ(buffer.error(), EPIPE);
  close(ends[1]);
}

/// A progress line with a clock that the test sets.
struct TestProgress {
  std::chrono::steady_clock::time_point now{};
  std::ostringstream err;
  Progress progress;
  explicit TestProgress(bool terminal, int width = 80)
      : progress(err, terminal, width, [this] { return now; }) {}
};

TEST(ProgressTest, IsSilentForTwoSeconds) {
  TestProgress t(true);
  t.progress.start();
  t.now += 1900ms;
  t.progress.update("reading");
  EXPECT_EQ(t.err.str(), "");
  t.now += 200ms;
  t.progress.update("reading");
  EXPECT_EQ(t.err.str(), "\r\x1b[Kreading");
}

TEST(ProgressTest, TellsShareAndTimeLeft) {
  TestProgress t(true);
  t.progress.start();
  t.now += 30s;
  t.progress.update("reading", 0.25);
  EXPECT_EQ(t.err.str(), "\r\x1b[Kreading, 25 %, ETA 1 min 30 s");
}

TEST(ProgressTest, RedrawsAtMostTenTimesASecondAndGoesAway) {
  TestProgress t(true);
  t.progress.start();
  t.now += 3s;
  t.progress.update("a");
  t.now += 50ms;
  t.progress.update("b");
  t.now += 60ms;
  t.progress.update("c");
  t.progress.stop();
  EXPECT_EQ(t.err.str(), "\r\x1b[Ka\r\x1b[Kc\r\x1b[K");
}

TEST(ProgressTest, NeverWrapsTheLine) {
  TestProgress t(true, 30);
  t.progress.start();
  t.now += 3s;
  t.progress.update(std::string(100, 'x'), 0.5);
  const std::string shown = t.err.str().substr(4);
  EXPECT_LT(shown.size(), 30U) << shown;
  EXPECT_NE(shown.find("..., 50 %"), std::string::npos) << shown;
}

TEST(ProgressTest, LeavesOutAPartThatDoesNotFitAsAWhole) {
  TestProgress t(true, 40);
  t.progress.start();
  t.now += 3s;
  t.progress.update("trial 1/5, step 20/60, 173.08 sequences/s", std::nullopt, 90s);
  EXPECT_EQ(t.err.str(), "\r\x1b[Ktrial 1/5, step 20/60, ETA 1 min 30 s");
}

TEST(ProgressTest, WritesSparsePlainLinesWhereThereIsNoTerminal) {
  TestProgress t(false);
  t.progress.start();
  for (int i = 0; i < 30; ++i) {
    t.now += 1s;
    t.progress.update("reading", 0.5);
  }
  t.progress.stop();
  EXPECT_EQ(t.err.str(),
            "bertbench: reading, 50 %, ETA 2 s\nbertbench: reading, 50 %, ETA 12 s\n"
            "bertbench: reading, 50 %, ETA 22 s\n");
}

TEST(ProgressTest, DurationsAreReadable) {
  EXPECT_EQ(format_duration(0.4), "0 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(185), "3 min 05 s");
  EXPECT_EQ(format_duration(7620), "2 h 07 min");
  EXPECT_EQ(format_duration(-1), "?");
}

TEST(ProgressTest, CutsByCharactersNotBytes) {
  EXPECT_EQ(fit_columns("\xc3\xa4\xc3\xa4\xc3\xa4", 3), "\xc3\xa4\xc3\xa4\xc3\xa4");
  EXPECT_EQ(fit_columns("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 4), "\xc3\xa4...");
  EXPECT_EQ(fit_columns("abc", 0), "");
}

TEST(NumberTextTest, ShowsTwoDecimalsAndMoreOfSmallRates) {
  EXPECT_EQ(rate_text(1844.1), "1844.10");
  EXPECT_EQ(rate_text(31.4887), "31.49");
  EXPECT_EQ(rate_text(3.094), "3.094");
  EXPECT_EQ(rate_text(0.0431), "0.04310");
  EXPECT_EQ(rate_text(std::nullopt), "-");
  EXPECT_EQ(change_text(-0.053), "-5.3 %");
  EXPECT_EQ(share_text(0.0004), "0.04 %");
  EXPECT_EQ(share_text(4.9e-7), "<0.01 %");
  EXPECT_EQ(share_text(0), "0.0 %");
  EXPECT_EQ(p_text(0.0004), "<0.001");
  EXPECT_EQ(p_text(1), "1");
  EXPECT_EQ(counted(1, "trial"), "1 trial");
}

}  // namespace
}  // namespace bertbench::test
