#include "harness/sweep/process/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/rank_supervisor.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class Processes : public ::testing::Test {
 protected:
  void SetUp() override {
    prepare_to_run_processes();
    log_ = open(folder_.path("log").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  void TearDown() override { close(log_); }
  ExitStatus run(const ProcessSpec& spec) {
    ProcessGroup group;
    const auto id = group.start(spec, log_);
    EXPECT_TRUE(id) << (id ? "" : id.error().message());
    while (group.running()) group.wait(1000ms);
    return group.status().value_or(ExitStatus{});
  }
  [[nodiscard]] std::string log() const { return test::read_file(folder_.path("log")); }
  static ProcessSpec sh(const std::string& script) {
    return {{"/bin/sh", "-c", script}, {}, {}, ""};
  }

  test::ScratchFolder folder_;
  int log_ = -1;
};

TEST_F(Processes, PassesArgumentsAsTheyAre) {
  EXPECT_TRUE(
      run({{"printf", "%s|", "a b", "$(touch pwned)", ";x", "-n", "", "new\nline"}, {}, {}, ""})
          .success());
  EXPECT_EQ(log(), "a b|$(touch pwned)|;x|-n||new\nline|");
}

TEST_F(Processes, ToldApartBySignalAndExitCode) {
  EXPECT_EQ(run(sh("exit 9")).code, 9);
  const auto killed = run(sh("kill -9 $$"));
  EXPECT_EQ(killed.signal, 9);
  EXPECT_FALSE(killed.code);
  EXPECT_EQ(killed.str(), "signal 9 (SIGKILL)");
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGPIPE, SIGTERM, SIGINT}) {
    EXPECT_EQ(run(sh("ulimit -c 0; kill -" + std::to_string(number) + " $$")).signal, number);
  }
  for (const int code : {0, 1, 126, 127, 137, 255}) {
    EXPECT_EQ(run(sh("exit " + std::to_string(code))).code, code);
  }
}

TEST_F(Processes, GiveTheChildItsOwnStreamsAndNoOtherDescriptor) {
  const int leaked = open("/dev/null", O_RDONLY);  // no close-on-exec on purpose
  ASSERT_GE(leaked, 3);
  run(sh("ls -l /proc/$$/fd; read x || echo eof"));
  close(leaked);
  EXPECT_THAT(log(), HasSubstr("eof"));
  EXPECT_EQ(test::count(log(), " -> "), 3u) << log();
  EXPECT_THAT(log(), HasSubstr(" 0 -> /dev/null"));
}

TEST_F(Processes, GiveTheChildExactlyTheEnvironmentAskedFor) {
  setenv("BB_TEST_KEEP", "1", 1);
  setenv("SLURM_PROCID", "7", 1);
  setenv("RANK", "7", 1);
  run({{"env"}, {{"RANK", "0"}, {"NEW", "a=b"}}, {"SLURM_*", "RANK"}, ""});
  unsetenv("SLURM_PROCID");
  unsetenv("RANK");
  EXPECT_THAT("\n" + log(), HasSubstr("\nBB_TEST_KEEP=1\n"));
  EXPECT_THAT("\n" + log(), HasSubstr("\nRANK=0\n"));
  EXPECT_THAT("\n" + log(), HasSubstr("\nNEW=a=b\n"));
  EXPECT_THAT(log(), Not(HasSubstr("SLURM_PROCID")));
}

TEST_F(Processes, WriteToATerminalWhereThatIsAskedFor) {
  auto spec =
      sh("test -t 1 && test -t 2 && echo both; test -t 0 || echo no input; printf 'a\\rb\\n'; "
         "echo said >&2; seq 200000; printf 'no end of line'");
  spec.terminal = true;
  EXPECT_TRUE(run(spec).success());
  std::string numbers;
  for (int i = 1; i <= 200000; ++i) numbers += std::to_string(i) + "\n";
  // Not EXPECT_EQ: it would print a million characters.
  EXPECT_TRUE(log() == "both\nno input\na\rb\nsaid\n" + numbers + "no end of line")
      << log().substr(0, 100);
}

TEST_F(Processes, EndThoughAGrandchildHoldsTheTerminal) {
  auto spec = sh("setsid sleep 1000 & echo started");
  spec.terminal = true;
  EXPECT_TRUE(run(spec).success());
  EXPECT_EQ(log(), "started\n");
}

TEST_F(Processes, StartsRanksInOneGroupOfTheirOwn) {
  ProcessGroup group;
  const auto a = group.start(sh("sleep 30"), log_);
  const auto b = group.start(sh("sleep 30"), log_);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(getpgid(a->pid), a->pid);
  EXPECT_EQ(getpgid(b->pid), a->pid);
  EXPECT_NE(getpgid(b->pid), getpgrp());
  EXPECT_TRUE(is_alive(*b));
  group.signal(SIGTERM);
  while (group.running()) group.wait(1000ms);
  EXPECT_EQ(group.status()->signal, SIGTERM);
  EXPECT_FALSE(is_alive(*a));
}

TEST_F(Processes, DoesNotWaitForAPipeThatAGrandchildHolds) {
  ProcessGroup group;
  ASSERT_TRUE(group.start(sh("setsid sh -c 'trap \"\" TERM; sleep 300' & exit 0"), log_));
  const auto begin = std::chrono::steady_clock::now();
  while (group.running()) group.wait(1000ms);
  EXPECT_TRUE(group.status()->success());
  EXPECT_GE(group.kill_all(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
  for (const auto& child : proc::children_of(getpid())) EXPECT_EQ(child.state, 'Z') << child.pid;
}

// As horovodrun's helpers and Python's resource tracker do: they see that their parent is gone.
TEST_F(Processes, GivesThoseThatEndByThemselvesTheTime) {
  int killed = 1;
  // A busy machine may hold one up for longer than they have, but not one after the other.
  for (int tries = 0; tries < 5 && killed > 0; ++tries) {
    ProcessGroup group;
    ASSERT_TRUE(group.start(sh("setsid sh -c 'sleep 0.2' & exit 0"), log_));
    while (group.running()) group.wait(1000ms);
    killed = group.kill_all();
  }
  EXPECT_EQ(killed, 0);
  for (const auto& child : proc::children_of(getpid())) EXPECT_EQ(child.state, 'Z') << child.pid;
}

TEST_F(Processes, EndsAProcessThatIsStoppedOrIgnoresSigterm) {
  for (const char* script : {"kill -STOP $$", "trap '' TERM; while :; do sleep 1; done"}) {
    ProcessGroup group;
    ASSERT_TRUE(group.start(sh(script), log_));
    group.wait(50ms);
    EXPECT_TRUE(group.running());
    group.kill_all();
    EXPECT_FALSE(group.running());
  }
}

TEST_F(Processes, NamesAProgramThatCannotBeStarted) {
  ProcessGroup group;
  EXPECT_THAT(group.start({{"/nonexistent/x"}, {}, {}, ""}, log_).error().message(),
              HasSubstr("/nonexistent/x: no such program"));
  folder_.put("not_a_program",
              "\x7f"
              "ELF broken");
  std::filesystem::permissions(folder_.path("not_a_program"), std::filesystem::perms::owner_all);
  EXPECT_THAT(group.start({{folder_.path("not_a_program")}, {}, {}, ""}, log_).error().message(),
              HasSubstr("cannot be started"));
  EXPECT_FALSE(group.running());
}

TEST_F(Processes, DieWithTheHarness) {
  // A child plays the harness: it starts a trainer, prints its pid, and is killed.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t harness = fork();
  if (harness == 0) {
    auto* group = new ProcessGroup;
    const auto id = group->start({{"sleep", "300"}, {}, {}, ""}, log_);
    const ProcessId out = id.value_or(ProcessId{});
    if (write(ends[1], &out, sizeof out) != sizeof out) _exit(1);
    pause();
  }
  ProcessId trainer;
  ASSERT_EQ(::read(ends[0], &trainer, sizeof trainer), static_cast<ssize_t>(sizeof trainer));
  ASSERT_TRUE(is_alive(trainer));
  kill(harness, SIGKILL);
  for (int i = 0; i < 500 && is_alive(trainer); ++i) usleep(10000);
  EXPECT_FALSE(is_alive(trainer));
  close(ends[0]);
  close(ends[1]);
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

TEST_F(Processes, ASamplerThatItsSupervisorKillsLeavesNoLineInTheLog) {
  // A trial that ends before its sampler handles SIGTERM: a shell's "Terminated" in the log would
  // make it a killed one.
  ProcessSpec rank = sh("sleep 300 & sampler=$!\n" + std::string(rank_supervisor()));
  rank.argv.insert(rank.argv.end(), {"bertbench", "", "0", "echo", "trained"});
  rank.hold_stdin = true;
  EXPECT_TRUE(run(rank).success());
  EXPECT_EQ(log(), "trained\n");
}

TEST_F(Processes, ARankThatIsStillToBeginItsSessionIsEndedByItsSupervisor) {
  // As on a busy machine: the order to stop comes before the rank leads a session.
  const std::string slow = folder_.path("setsid");
  folder_.put("setsid", "#!/bin/sh\nexec sleep 300\n");
  std::filesystem::permissions(slow, std::filesystem::perms::owner_all);
  ProcessSpec rank = sh("PATH=" + folder_.path() + ":$PATH\n" + std::string(rank_supervisor()));
  rank.argv.insert(rank.argv.end(), {"bertbench", "", "0", "true"});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(run(rank).success());  // its stdin is at its end
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 100s);
}

TEST_F(Processes, FindsSurvivorsByTheirMarker) {
  ProcessGroup group;
  const auto id =
      group.start({{"sleep", "300"}, {{"BERTBENCH_TRIAL", "feed:cell/trial_1"}}, {}, ""}, log_);
  ASSERT_TRUE(id);
  EXPECT_EQ(kill_leftover_processes("beef:", {}), 0);
  EXPECT_TRUE(is_alive(*id));
  // A pid that now belongs to another process is not touched.
  EXPECT_EQ(kill_leftover_processes("beef:", {{id->pid, id->start_time + 1}}), 0);
  EXPECT_TRUE(is_alive(*id));
  EXPECT_EQ(kill_leftover_processes("feed:", {}), 1);
  while (group.running()) group.wait(100ms);
  EXPECT_EQ(group.status()->signal, SIGKILL);
}

TEST_F(Processes, FindsSurvivorsByTheLogTheyHoldButNotThoseWhoOnlyReadIt) {
  test::ScratchFolder run;
  std::filesystem::create_directories(run.path("cell/trial_1"));
  const auto path = run.path("cell/trial_1/log.txt");
  const int log = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ProcessGroup writer, reader;
  ASSERT_TRUE(writer.start({{"env", "-i", "/bin/sleep", "300"}, {}, {}, ""}, log));
  ASSERT_TRUE(reader.start({{"tail", "-f", path}, {}, {}, ""}, log_));
  reader.wait(100ms);
  EXPECT_EQ(kill_leftover_processes("feed:", {}, run.path("other")), 0);
  EXPECT_EQ(kill_leftover_processes("feed:", {}, run.path()), 1);
  while (writer.running()) writer.wait(100ms);
  EXPECT_EQ(writer.status()->signal, SIGKILL);
  EXPECT_TRUE(reader.running());
  close(log);
}

TEST(NoShell, IsCalledAnywhereInTheHarness) {
  // Split so that this file does not name them.
  const std::vector<std::string> banned{std::string(" sys") + "tem(", std::string("pop") + "en(",
                                        std::string("\"/bin/") + "sh", std::string("\"sh") + "\""};
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(BB_SOURCE_DIR "/harness")) {
    const auto extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".h") continue;
    ++files;
    auto text = test::read_file(entry.path().string());
    // The scripts that give the tasks of Slurm and of mpirun their place are constants; what a user
    // wrote is their arguments.
    for (const char* script :
         {"std::string(kPlace) + std::string(rank_supervisor())", "kPlace, \"bertbench\", each"}) {
      const auto constant = std::string("\"sh") + "\", \"-c\", " + script;
      if (const auto at = text.find(constant); at != std::string::npos)
        text.erase(at, constant.size());
    }
    for (const auto& word : banned) {
      EXPECT_EQ(text.find(word), std::string::npos) << entry.path() << " has " << word;
    }
    if (entry.path().filename() != "process.cpp") {
      EXPECT_EQ(text.find("#include <boost/process"), std::string::npos) << entry.path();
    }
  }
  EXPECT_GT(files, 20);
}

TEST(CaptureOutput, GivesStdoutOrNothingAndNeverHangs) {
  prepare_to_run_processes();
  EXPECT_EQ(capture_output({"echo", "hello"}, 10s), "hello\n");
  EXPECT_FALSE(capture_output({"false"}, 10s));
  EXPECT_FALSE(capture_output({"no-such-program-here"}, 10s));
  EXPECT_FALSE(capture_output({"sleep", "300"}, 50ms));
}

}  // namespace
}  // namespace bertbench
