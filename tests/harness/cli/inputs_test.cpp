#include "harness/cli/inputs.h"

#include <atomic>
#include <thread>

#include "parsers/core/parallel.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using InputsTest = CliTest;

std::vector<std::string> names(const Inputs& inputs, const std::filesystem::path& folder) {
  std::vector<std::string> relative;
  for (const Input& input : inputs.logs) {
    relative.push_back(std::filesystem::path(input.path).lexically_relative(folder).string());
  }
  return relative;
}

TEST_F(InputsTest, FoldersAreSearchedInOrderOfPath) {
  put("bz32/4n8g/bert_b32_fp32_2.log", "x");
  put("bz32/4n8g/bert_b32_fp32_1.log", "x");
  put("bz32/1n1g/bert_b32_fp32_1.log.gz", "x");
  put("bz32/notes.md", "x");
  put("bz32/.hidden.log", "x");
  put(".git/objects/a.log", "x");
  const Inputs inputs = find_inputs({folder.string()});
  EXPECT_TRUE(inputs.errors.empty());
  EXPECT_EQ(names(inputs, folder), (std::vector<std::string>{"bz32/1n1g/bert_b32_fp32_1.log.gz",
                                                             "bz32/4n8g/bert_b32_fp32_1.log",
                                                             "bz32/4n8g/bert_b32_fp32_2.log"}));
}

TEST_F(InputsTest, ALinkToALogThatIsThereIsNoFurtherOne) {
  put("run1.log", "x");
  put("run2.log", "x");
  std::filesystem::create_symlink("run2.log", folder / "latest.log");
  std::filesystem::create_symlink("/dev/null", folder / "gone.log");
  EXPECT_EQ(names(find_inputs({folder.string()}), folder),
            (std::vector<std::string>{"run1.log", "run2.log"}));
}

// gluon-nlp writes CKPT_DIR/phase1_log.RANK, all ranks the same steps.
TEST_F(InputsTest, OfTheLogsOfAllRanksTheFirstIsTaken) {
  for (const char* name : {"a/phase1_log.0", "a/phase1_log.1", "a/phase1_log.10", "a/phase2_log.0",
                           "b/phase1_log.3", "a/0000010.params", "a/notes.1"}) {
    put(name, "x");
  }
  const Inputs inputs = find_inputs({folder.string()});
  EXPECT_EQ(names(inputs, folder),
            (std::vector<std::string>{"a/phase1_log.0", "a/phase2_log.0", "b/phase1_log.3"}));
  ASSERT_EQ(inputs.left_out.size(), 1U);
  EXPECT_NE(inputs.left_out[0].find("phase1_log.0: the logs of 3 ranks"), std::string::npos);
}

TEST_F(InputsTest, OfPackedLogsOfAllRanksTheFirstIsTakenAndJoinedTheyAreOne) {
  for (const char* name : {"phase1_log.0.gz", "phase1_log.1.gz"}) put(name, "x");
  EXPECT_EQ(names(find_inputs({folder.string()}), folder),
            (std::vector<std::string>{"phase1_log.0.gz"}));
  const Inputs joined = find_inputs({folder.string()}, RankLogs::joined);
  ASSERT_EQ(joined.logs.size(), 1U);
  EXPECT_EQ(joined.logs[0].ranks.size(), 2U);
}

// PaddlePaddle's launcher writes one for each process.
TEST_F(InputsTest, WorkerlogsAreFoundAndJoinedTheyAreOne) {
  for (const char* name : {"workerlog.0", "workerlog.1", "workerlog.10"}) put(name, "x");
  const Inputs joined = find_inputs({folder.string()}, RankLogs::joined);
  ASSERT_EQ(joined.logs.size(), 1U);
  EXPECT_EQ(joined.logs[0].ranks.size(), 3U);
}

TEST_F(InputsTest, OfARunFolderOnlyTheLogsOfTrialsAreTaken) {
  for (const char* name : {"sweep.json", "journal.jsonl", "results.json", "environment.json"}) {
    put(name, "{}");
  }
  for (const char* name : {"log.txt", "command.json", "timings.jsonl", "outcome.json"}) {
    put(std::string("cell/trial_1/") + name, "{}");
  }
  EXPECT_EQ(names(find_inputs({folder.string()}), folder),
            (std::vector<std::string>{"cell/trial_1/log.txt"}));
}

TEST_F(InputsTest, FilesOfTrackersAreLogsAndWandbsCopiesAreNot) {
  for (const char* name : {"tb/events.out.tfevents.1.host.2.0", "tb/events.old", "mlflow.db",
                           "a.db", "wandb/run-1/run-1.wandb", "wandb/run-1/files/output.log",
                           "wandb/run-1/logs/debug.log", "wandb/debug.log"}) {
    put(name, "x");
  }
  EXPECT_EQ(names(find_inputs({folder.string()}), folder),
            (std::vector<std::string>{"mlflow.db", "tb/events.out.tfevents.1.host.2.0",
                                      "wandb/debug.log", "wandb/run-1/run-1.wandb"}));
}

TEST_F(InputsTest, ANamedFileIsTakenWhateverItsName) {
  const std::string odd = put("README", "x");
  const Inputs inputs = find_inputs({odd, "-", odd});
  ASSERT_EQ(inputs.logs.size(), 2U) << "the same file twice is one log";
  EXPECT_TRUE(inputs.logs[0].named);
  EXPECT_EQ(inputs.logs[0].bytes, 1);
  EXPECT_EQ(inputs.logs[1].path, "-");
}

TEST_F(InputsTest, AFolderWithoutLogsIsAnError) {
  const Inputs inputs = find_inputs({folder.string()});
  ASSERT_EQ(inputs.errors.size(), 1U);
  EXPECT_EQ(inputs.errors[0].where, folder.string());
}

TEST(SmallLogs, AreReadTogetherAndNoneIsLostOrMoved) {
  std::vector<Input> logs;
  for (int i = 0; i < 100; ++i) logs.push_back({std::to_string(i) + ".log", false, 20'000, 0});
  logs[50].bytes = 1 << 20;
  logs[60].bytes = 0;  // unknown
  logs[70].path = "70.log.gz";
  const auto groups = small_logs_together(logs);
  EXPECT_LT(groups.size(), 20U);
  std::size_t next = 0;
  for (const auto group : groups) {
    ASSERT_FALSE(group.empty());
    EXPECT_EQ(group.data(), logs.data() + next);
    for (std::size_t i = next; i < next + group.size(); ++i) {
      if (i == 50 || i == 60 || i == 70) {
        EXPECT_EQ(group.size(), 1U) << i;
      }
    }
    next += group.size();
  }
  EXPECT_EQ(next, logs.size());
}

TEST(InOrderTest, HandsResultsOverInOrderWithBoundedLookahead) {
  std::atomic<int> started{0};
  std::vector<int> got;
  int most_ahead = 0;
  in_order<int>(
      100, 3,
      [&](std::size_t i) {
        ++started;
        if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return static_cast<int>(i * i);
      },
      [&](std::size_t i, int value) {
        EXPECT_EQ(value, static_cast<int>(i * i));
        most_ahead = std::max(most_ahead, started.load() - static_cast<int>(i));
        got.push_back(value);
      },
      [] {});
  EXPECT_EQ(got.size(), 100U);
  EXPECT_LE(most_ahead, 7) << "2 x threads may wait, and one is handed over";
}

TEST(InOrderTest, ItemsThatAreHeldStayWithinTheirMemory) {
  const auto size_of = [](std::size_t i) { return i % 5 == 0 ? std::size_t{50} : std::size_t{4}; };
  std::atomic<std::size_t> held{0}, most{0}, beside_a_large_one{0};
  std::size_t consumed = 0;
  in_order<std::size_t>(
      100, 4,
      [&](std::size_t i) {
        const std::size_t now = held += size_of(i);
        std::size_t before = most;
        while (before < now && !most.compare_exchange_weak(before, now)) continue;
        if (i % 5 == 0 && now > 50) ++beside_a_large_one;
        return i;
      },
      [&](std::size_t i, std::size_t result) {
        EXPECT_EQ(result, i);
        held -= size_of(i);
        ++consumed;
      },
      [] {}, {size_of, 10});
  EXPECT_EQ(consumed, 100U);
  EXPECT_EQ(beside_a_large_one, 0U) << "larger than the budget: alone";
  EXPECT_EQ(most, 50U);
}

TEST(InOrderTest, NothingToDoReturnsAtOnce) {
  in_order<int>(
      0, 4, [](std::size_t) { return 0; }, [](std::size_t, int) { FAIL(); }, [] {});
}

TEST(InOrderTest, AThrowingConsumerEndsTheThreads) {
  EXPECT_THROW(in_order<int>(
                   1000, 2, [](std::size_t i) { return static_cast<int>(i); },
                   [](std::size_t, int) { throw std::runtime_error("full"); }, [] {}),
               std::runtime_error);
}

}  // namespace
}  // namespace bertbench::test
