#include "harness/sweep/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/sweep/journal/run_state.h"
#include "parsers/core/crc32c.h"
#include "parsers/core/text.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::HasSubstr;

Journal open_in(const ScratchFolder& temp) {
  auto folder = Folder::make_root(temp.path());
  auto journal = Journal::open(*folder);
  EXPECT_TRUE(journal) << (journal ? "" : journal.error().message());
  return std::move(*journal);
}

TEST(Crc32c, GivesThePublishedValues) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43u);
}

TEST(Journal, KeepsRecordsInOrderOverReopening) {
  ScratchFolder temp;
  {
    auto journal = open_in(temp);
    ASSERT_TRUE(journal.append({{"event", "a"}, {"text", "x\n\"y\" \xff"}}));
    ASSERT_TRUE(journal.append({{"event", "b"}}));
  }
  auto journal = open_in(temp);
  ASSERT_EQ(journal.records().size(), 2u);
  EXPECT_EQ(journal.records()[1].at("event"), "b");
  EXPECT_EQ(journal.records()[1].at("n"), 2);
  ASSERT_TRUE(journal.append({{"event", "c"}}));
  EXPECT_EQ(journal.records()[2].at("n"), 3);
  EXPECT_EQ(test::count(test::read_file(temp.path("journal.jsonl")), "\n"), 3u);
}

TEST(Journal, EveryLineIsJsonWithAChecksumOfItself) {
  const auto line = journal_line({{"n", 1}, {"event", "x"}});
  EXPECT_TRUE(nlohmann::json::parse(line).contains("crc"));
  EXPECT_TRUE(parse_journal_line(line));
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::string broken = line;
    broken[i] = static_cast<char>(broken[i] ^ 1);
    EXPECT_FALSE(parse_journal_line(broken)) << i;
    EXPECT_FALSE(parse_journal_line(line.substr(0, i))) << i;
  }
}

TEST(Journal, DropsATornLastLineAtEveryCutAndSaysSo) {
  ScratchFolder temp;
  {
    auto journal = open_in(temp);
    ASSERT_TRUE(journal.append({{"event", "first"}}));
    ASSERT_TRUE(journal.append({{"event", "second"}}));
  }
  const auto whole = test::read_file(temp.path("journal.jsonl"));
  const auto first = whole.find('\n') + 1;
  for (std::size_t cut = first + 1; cut < whole.size(); ++cut) {
    temp.put("journal.jsonl", whole.substr(0, cut));
    auto journal = open_in(temp);
    ASSERT_EQ(journal.records().size(), 1u) << cut;
    ASSERT_EQ(journal.notices().size(), 1u) << cut;
    EXPECT_THAT(journal.notices()[0], HasSubstr("journal.jsonl:2: the last record was torn"));
    ASSERT_TRUE(journal.append({{"event", "again"}}));
    EXPECT_EQ(journal.records()[1].at("n"), 2);
  }
}

TEST(Journal, RefusesDamageInTheMiddle) {
  ScratchFolder temp;
  {
    auto journal = open_in(temp);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(journal.append({{"event", "x"}}));
  }
  auto text = test::read_file(temp.path("journal.jsonl"));
  text[text.find('\n') + 20] ^= 1;
  temp.put("journal.jsonl", text);
  auto folder = Folder::make_root(temp.path());
  const auto journal = Journal::open(*folder);
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().message(), HasSubstr("journal.jsonl:2: the journal is damaged"));
}

// Each line is whole, so that no checksum shows it: a trial would be measured twice, or counted
// twice.
TEST(Journal, RefusesRecordsThatWereRemovedRepeatedOrMoved) {
  ScratchFolder temp;
  {
    auto journal = open_in(temp);
    for (const char* event : {"a", "b", "c"}) ASSERT_TRUE(journal.append({{"event", event}}));
  }
  const std::string whole = test::read_file(temp.path("journal.jsonl"));
  const auto lines = split(whole, '\n');
  const auto text_of = [&](std::initializer_list<int> order) {
    std::string text;
    for (const int i : order) text += std::string(lines[static_cast<std::size_t>(i)]) + "\n";
    return text;
  };
  const std::pair<std::string, std::string> wrong[] = {
      {text_of({1, 2}), "jsonl:1: is not record 1"},
      {text_of({0, 2}), "jsonl:2: is not record 2"},
      {text_of({0, 2, 1}), "jsonl:2: is not record 2"},
      {text_of({0, 1, 1, 2}), "jsonl:3: is not record 3"}};
  for (const auto& [text, error] : wrong) {
    temp.put("journal.jsonl", text);
    auto folder = Folder::make_root(temp.path());
    const auto journal = Journal::open(*folder);
    ASSERT_FALSE(journal);
    EXPECT_THAT(journal.error().message(), HasSubstr(error));
    EXPECT_EQ(test::read_file(temp.path("journal.jsonl")), text);
  }
}

// The number fits, so that only the run shows it.
TEST(Journal, RefusesARecordOfAnotherRun) {
  ScratchFolder one, two;
  for (const auto* folder : {&one, &two}) {
    auto journal = open_in(*folder);
    ASSERT_TRUE(journal.append({{"event", "opened"}, {"run", folder == &one ? "11ff" : "22ff"}}));
    ASSERT_TRUE(journal.append({{"event", "b"}, {"text", "\"run\":\"x\""}}));
    ASSERT_TRUE(journal.append({{"event", "c"}}));
  }
  {
    auto journal = open_in(one);
    ASSERT_TRUE(journal.append({{"event", "d"}}));
    EXPECT_EQ(journal.records()[3].at("run"), "11ff") << "also after it was opened again";
  }
  const std::string own = test::read_file(one.path("journal.jsonl"));
  const std::string other = test::read_file(two.path("journal.jsonl"));
  const auto line = [](const std::string& text, std::size_t n) {
    return std::string(split(text, '\n')[n]) + "\n";
  };
  one.put("journal.jsonl", line(own, 0) + line(other, 1) + line(own, 2));
  auto folder = Folder::make_root(one.path());
  const auto journal = Journal::open(*folder);
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().message(),
              HasSubstr("jsonl:2: is a record of another run, 22ff, in the journal of 11ff"));
}

// Earlier versions wrote the run into the first record of a start alone.
TEST(Journal, ReadsRecordsWithoutARun) {
  ScratchFolder temp;
  temp.put("journal.jsonl", journal_line({{"n", 1}, {"event", "opened"}, {"run", "11ff"}}) + "\n" +
                                journal_line({{"n", 2}, {"event", "b"}}) + "\n");
  EXPECT_EQ(open_in(temp).records().size(), 2u);
}

TEST(Journal, TellsASecondHarnessThePidOfTheFirst) {
  ScratchFolder temp;
  auto journal = open_in(temp);
  ASSERT_TRUE(journal.append({{"event", "opened"}, {"pid", 4711}}));
  auto folder = Folder::make_root(temp.path());
  const auto second = Journal::open(*folder);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr("another bertbench (pid 4711)"));
}

TEST(Journal, FreesTheLockWhenItsHolderDies) {
  ScratchFolder temp;
  const pid_t child = fork();
  if (child == 0) {
    auto folder = Folder::make_root(temp.path());
    auto journal = Journal::open(*folder);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  open_in(temp);
}

TEST(Journal, IsNotOpenedThroughAPlantedLink) {
  ScratchFolder temp, other;
  ASSERT_EQ(symlink(other.path("victim").c_str(), temp.path("journal.jsonl").c_str()), 0);
  auto folder = Folder::make_root(temp.path());
  EXPECT_FALSE(Journal::open(*folder));
  EXPECT_FALSE(std::filesystem::exists(other.path("victim")));
}

TEST(Journal, IsWrittenAgainWhenItWasRemovedOrCutMeanwhile) {
  for (const bool removed : {true, false}) {
    ScratchFolder temp;
    const auto path = temp.path("journal.jsonl");
    std::string before;
    {
      auto journal = open_in(temp);
      ASSERT_TRUE(journal.append({{"event", "a"}}));
      before = test::read_file(path);
      if (removed) {
        std::filesystem::remove(path);
      } else {
        std::filesystem::resize_file(path, 10);
      }
      ASSERT_TRUE(journal.append({{"event", "b"}}));
      ASSERT_EQ(journal.notices().size(), 1u);
      EXPECT_THAT(journal.notices()[0], HasSubstr("it is written again"));
      EXPECT_TRUE(test::read_file(path).starts_with(before));
      // The lock is on the file that is there now.
      auto folder = Folder::make_root(temp.path());
      EXPECT_FALSE(Journal::open(*folder));
    }
    EXPECT_EQ(open_in(temp).records().size(), 2u);
  }
}

TEST(Journal, WritesNothingIntoOneThatSomebodyElseReplacedOrWroteTo) {
  ScratchFolder temp;
  const auto path = temp.path("journal.jsonl");
  auto journal = open_in(temp);
  ASSERT_TRUE(journal.append({{"event", "a"}}));
  std::ofstream(path, std::ios::app) << "x\n";
  EXPECT_THAT(journal.append({{"event", "b"}}).error().message(), HasSubstr("somebody else"));
  std::filesystem::rename(path, temp.path("aside"));
  test::write_file(path, "other\n");
  EXPECT_THAT(journal.append({{"event", "b"}}).error().message(), HasSubstr("was replaced"));
  EXPECT_EQ(test::read_file(path), "other\n");
}

TEST(RunState, FindsAttemptsThatHaveNoEnd) {
  const std::vector<JournalRecord> records{
      {{"event", "opened"}, {"run", "abc"}, {"boot", "b1"}},
      {{"event", "started"}, {"cell", "k"}, {"trial", 1}, {"attempt", 1}, {"command", "d"}},
      {{"event", "launched"},
       {"cell", "k"},
       {"trial", 1},
       {"attempt", 1},
       {"processes", JournalRecord::array({{{"pid", 7}, {"start_time", 99}}})}},
      {{"event", "started"}, {"cell", "k"}, {"trial", 2}, {"attempt", 1}, {"command", "d"}},
      {{"event", "finished"},
       {"cell", "k"},
       {"trial", 2},
       {"attempt", 1},
       {"status", "completed"}}};
  const auto state = replay(records);
  EXPECT_EQ(state.run_id, "abc");
  ASSERT_EQ(state.unfinished_processes().size(), 1u);
  EXPECT_EQ(state.unfinished_processes()[0], (ProcessId{7, 99}));
  const auto& done = state.trials.at({"k", 2}).at(0);
  EXPECT_TRUE(done.finished);
  EXPECT_EQ(done.outcome->status, Status::completed);
}

TEST(Digest, TellsTextsApart) {
  EXPECT_EQ(digest("").size(), 32u);
  EXPECT_EQ(digest("a"), "d228cb696f1a8caf78912b704e4a8964");  // FNV-1a, 128 bits
  EXPECT_NE(digest("ab"), digest("ba"));
}

TEST(FolderTest, AChildOfSeveralFoldersIsMadeAndNoLinkOnTheWayIsFollowed) {
  const ScratchFolder temp, elsewhere;
  const auto root = Folder::make_root(temp.path());
  ASSERT_TRUE(root);
  for (const char* path : {"a", "a/b", "a/b/c"}) {
    const auto child = root->child(path);
    ASSERT_TRUE(child) << path;
    EXPECT_EQ(child->path(), temp.path(path));
    EXPECT_TRUE(std::filesystem::is_directory(temp.path(path)));
  }
  std::filesystem::create_directory_symlink(elsewhere.path(), temp.path("a/link"));
  for (const char* path : {"a/link", "a/link/b"}) {
    EXPECT_EQ(root->child(path).error().where, temp.path("a/link")) << path;
  }
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
}

}  // namespace
}  // namespace bertbench
