// The golden set: every log that this project has answers for, with all that is read and measured
// from it. It shows what a change of the parsers or of the measure changes, log by log.
//   quoted   tests/golden/quoted: logs that tests once quoted; they stay when their test goes. A
//            log of each format stands twice in one file as well: what a restart gives. A link
//            leads to what bert_train prints (tests/workloads/driver/golden)
//   samples  parsers/samples and tests/data/samples
//   corpus   logs of other people's runs, which are not part of this repository: BB_CORPUS names
//            their folder (default ../shared/corpus next to the checkout); skipped where it is
//            missing
// The texts are in tests/golden/runs. BB_UPDATE_GOLDEN=1 on this program rewrites them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/read_file.h"
#include "tests/truth/truth_text.h"

namespace bertbench::truth {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy =
    "BB_UPDATE_GOLDEN=1 on this program rewrites tests/golden/runs; read the difference, and name "
    "in the commit's message each log that changes and why";

bool updating() {
  const char* update = std::getenv("BB_UPDATE_GOLDEN");
  return update != nullptr && std::string_view(update) == "1";
}

using test::read_file;

fs::path source() { return BB_SOURCE_DIR; }
fs::path golden(const std::string& set) { return source() / "tests/golden/runs" / set; }

std::vector<fs::path> folders_of(const std::string& set) {
  if (set == "quoted") return {source() / "tests/golden/quoted"};
  if (set == "samples") return {source() / "parsers/samples", source() / "tests/data/samples"};
  const char* given = std::getenv("BB_CORPUS");
  return {given != nullptr ? fs::path(given) : source() / "../shared/corpus"};
}

/// Answers, clocks and descriptions lie next to the logs.
bool is_log(const fs::path& path) {
  const std::string file = path.filename().string();
  return file != "expected.json" && !file.ends_with("timings.jsonl") &&
         !file.ends_with(".clock.json") && !file.ends_with(".md") && !file.ends_with(".tsv") &&
         !file.ends_with(".sh");
}

/// The logs of a set by name, which is their path from its folder.
std::map<std::string, fs::path> logs_of(const std::string& set) {
  std::map<std::string, fs::path> out;
  for (const fs::path& folder : folders_of(set)) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || !is_log(entry.path())) continue;
      out.emplace(entry.path().lexically_relative(folder).generic_string(), entry.path());
    }
  }
  return out;
}

/// Empty, or why the set cannot be read here.
std::string missing(const std::string& set) {
  const fs::path folder = folders_of(set).front();
  if (set != "corpus" || fs::exists(folder)) return "";
  return folder.string() + " is not here: BB_CORPUS names the folder of collected logs";
}

class TruthSet : public testing::TestWithParam<const char*> {};

TEST_P(TruthSet, EachLogGivesItsText) {
  const std::string set = GetParam();
  if (const std::string why = missing(set); !why.empty()) GTEST_SKIP() << why;
  const auto logs = logs_of(set);
  ASSERT_FALSE(logs.empty()) << "no log in " << folders_of(set).front();
  std::size_t changed = 0;
  for (const auto& [name, path] : logs) {
    const fs::path stored = golden(set) / (name + ".txt");
    const std::string text = text_of_log(path.string(), name);
    if (updating()) {
      fs::create_directories(stored.parent_path());
      std::ofstream(stored, std::ios::binary) << text;
    }
    if (!fs::exists(stored)) {
      ++changed;
      ADD_FAILURE() << set << "/" << name << " has no text in tests/golden/runs";
      continue;
    }
    constexpr std::size_t kLines = 40;  // of one log: enough to see what kind of change it is
    const std::string difference = changed_lines(read_file(stored), text, kLines);
    if (difference.empty()) continue;
    ++changed;
    ADD_FAILURE() << set << "/" << name << " has changed:\n" << difference;
  }
  EXPECT_EQ(changed, 0U) << "logs. " << kRemedy;
}

TEST_P(TruthSet, EachTextHasItsLog) {
  const std::string set = GetParam();
  if (const std::string why = missing(set); !why.empty()) GTEST_SKIP() << why;
  const auto logs = logs_of(set);
  std::vector<fs::path> stale;
  for (const auto& entry : fs::recursive_directory_iterator(golden(set))) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().lexically_relative(golden(set)).generic_string();
    if (!name.ends_with(".txt") || !logs.contains(name.substr(0, name.size() - 4))) {
      stale.push_back(entry.path());
    }
  }
  for (const fs::path& path : stale) {
    if (updating()) {
      fs::remove(path);
    } else {
      ADD_FAILURE() << path << " is of no log of the set. " << kRemedy;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, TruthSet, testing::Values("quoted", "samples", "corpus"),
                         [](const auto& set) { return std::string(set.param); });

// A name that two logs share would hide one of them.
TEST(TruthNames, SamplesOfBothFoldersHaveNamesOfTheirOwn) {
  std::map<std::string, int> times;
  for (const fs::path& folder : folders_of("samples")) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || !is_log(entry.path())) continue;
      ++times[entry.path().lexically_relative(folder).generic_string()];
    }
  }
  for (const auto& [name, count] : times) EXPECT_EQ(count, 1) << name;
}

TEST(ChangedLines, AreShownWithTheLineBeforeThem) {
  EXPECT_EQ(changed_lines("a\nb\nc\n", "a\nb\nc\n", 9), "");
  EXPECT_EQ(changed_lines("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n", 9), " a\n-b\n+B\n d\n+e\n");
  EXPECT_EQ(changed_lines("", "a\nb\nc\n", 2), "+a\n+b\n  ... and 1 lines more\n");
}

}  // namespace
}  // namespace bertbench::truth
