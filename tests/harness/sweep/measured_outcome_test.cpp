// What was measured once is not measured again, as long as its log is as it was.
#include "harness/sweep/execute/measured_outcome.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/journal/journal.h"
#include "parsers/core/text.h"
#include "reports/model/result_io.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {

class Remembered : public ::testing::Test {
 protected:
  void SetUp() override {
    first_ = sweep();
    ASSERT_EQ(first_.size(), 2u);
  }
  /// The rates of the cell's trials.
  std::vector<double> sweep(const Plan& plan) {
    std::vector<double> out;
    for (const auto& trial : swept(plan, temp_, seen_).result.cells.at(0).trials) {
      out.push_back(trial.sequences_per_second.value_or(0));
    }
    return out;
  }
  std::vector<double> sweep() { return sweep(plan_); }
  [[nodiscard]] std::string file(const std::string& name) const {
    return temp_.path("run/bert-tiny.fp32.s64.b4.a1.1n1g/trial_1/" + name);
  }
  /// The log of trial 1 with every step twice as fast, in as many bytes, and with the same mtime.
  /// Twice as slow would not do: steps that take longer than the clock shows are not the default.
  void speed_up_log() const {
    struct stat before {};
    ASSERT_EQ(stat(file("log.txt").c_str(), &before), 0);
    auto text = test::read_file(file("log.txt"));
    const std::string slow = "\"seconds\":0.01,", fast = "\"seconds\":5e-3,";
    ASSERT_NE(text.find(slow), std::string::npos) << text;
    for (auto at = text.find(slow); at != std::string::npos; at = text.find(slow, at + 1)) {
      text.replace(at, slow.size(), fast);
    }
    test::write_file(file("log.txt"), text);
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(utimensat(AT_FDCWD, file("log.txt").c_str(), times, 0), 0);
  }
  /// Gives every record of the journal to `change`, and writes it with a checksum that is right.
  template <class Change>
  void change_journal(Change change) const {
    const auto path = temp_.path("run/journal.jsonl");
    std::string out;
    const auto text = test::read_file(path);
    for (const auto line : split(text, '\n')) {
      auto record = parse_journal_line(line);
      if (!record) continue;
      record->erase("crc");
      change(*record);
      out += journal_line(*record) + "\n";
    }
    test::write_file(path, out);
  }
  /// The journal is made to say that the altered log is the one that was read.
  void speed_up_log_unnoticed() const {
    speed_up_log();
    const auto stamp = file_stamp(file("log.txt"));
    change_journal([&](JournalRecord& record) {
      if (record["event"] == "finished" && record["trial"] == 1) record["log"] = stamp;
    });
  }
  ScratchFolder temp_;
  Recorder seen_;
  Plan plan_ = plan_of(small_config());
  std::vector<double> first_;
};

TEST_F(Remembered, AResumeGivesTheSameResultToTheLastDigit) {
  const auto before = test::read_file(temp_.path("run/results.json"));
  sweep();
  const auto without_date = [](const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text);
    json.erase("created");
    return json.dump(1);
  };
  EXPECT_EQ(without_date(test::read_file(temp_.path("run/results.json"))), without_date(before));
}

TEST_F(Remembered, ALogThatWasAlteredIsReadAgainThoughSizeAndTimeAreTheSame) {
  speed_up_log();
  const auto rates = sweep();
  EXPECT_NEAR(rates[0], first_[0] * 2, first_[0] * 0.02);
  EXPECT_EQ(rates[1], first_[1]);
  EXPECT_EQ(seen_.started.size(), 2u);  // of the first sweep
}

TEST_F(Remembered, WhatIsAsItWasIsNotReadAgain) {
  speed_up_log_unnoticed();
  EXPECT_EQ(sweep(), first_);
}

TEST_F(Remembered, ADamagedOutcomeAnotherProgramAndAnotherWindowHaveTheLogReadAgain) {
  speed_up_log_unnoticed();
  const auto text = test::read_file(file("outcome.json"));
  test::write_file(file("outcome.json"),
                   text.substr(0, text.size() - 9) + text.substr(text.size() - 8));
  EXPECT_GT(sweep()[0], first_[0] * 1.6);

  test::write_file(file("outcome.json"), text);
  EXPECT_EQ(sweep(), first_);

  EXPECT_GT(sweep(plan_of(small_config(), {"window=steps:11:20"}))[0], first_[0] * 1.6);

  change_journal([](JournalRecord& record) {
    if (record["event"] == "opened") record["program"] = "another";
  });
  EXPECT_GT(sweep()[0], first_[0] * 1.6);
}

// The contract names every key that a run folder holds -------------------------------------------

void keys_of(const nlohmann::ordered_json& json, std::set<std::string>& out) {
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) out.insert(key);
    // Measured results have a schema of their own, variables have the user's names.
    if (key == "measured" || key == "telemetry" || key == "set") continue;
    if (value.is_structured()) keys_of(value, out);
  }
}

TEST(RunFolderContract, NamesEveryKeyOfJournalOutcomeAndCommand) {
  ScratchFolder temp;
  Recorder seen;
  swept(plan_of(small_config(), {"trials=1", "retries=1", "env.FAKE_AT=12",
                                 R"(grid.env.FAKE=["ok","exit:7","signal:9"])"}),
        temp, seen, 1);
  std::set<std::string> keys;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(temp.path("run"))) {
    const auto name = entry.path().filename();
    if (name == "outcome.json" || name == "command.json") {
      ++files;
      keys_of(nlohmann::ordered_json::parse(test::read_file(entry.path())), keys);
    } else if (name == "journal.jsonl") {
      const auto text = test::read_file(entry.path());
      for (const auto line : split(text, '\n')) {
        if (!line.empty()) keys_of(nlohmann::ordered_json::parse(line), keys);
      }
    }
  }
  EXPECT_GE(files, 6u);
  EXPECT_TRUE(keys.contains("signal") && keys.contains("start_time") && keys.contains("measured"));
  const auto contract = test::read_file(BB_SOURCE_DIR "/docs/contract.md");
  for (const auto& key : keys) {
    EXPECT_NE(contract.find("`" + key + "`"), std::string::npos)
        << key << " is not in docs/contract.md";
  }
}

}  // namespace
}  // namespace bertbench
