// An answer never takes the place of what was read or measured.
#include <gmock/gmock.h>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench {
namespace {

using test::read_file;
using test::run;
using test::write_file;
using testing::HasSubstr;

class OutputGuard : public test::CliTest {
 protected:
  void SetUp() override {
    write_file(folder / "a.log", read_file(BB_SOURCE_DIR "/parsers/samples/tqdm/sample.log"));
    write_file(folder / "dllogger.json",
               read_file(BB_SOURCE_DIR "/parsers/samples/dllogger-json/sample.log"));
    write_file(folder / "table.md",
               "| GPUs | samples/s | speedup |\n|---|---|---|\n| 1 | 2 | 1 |\n");
    test::run_to(0, {"extract", at("a.log"), "-o", at("a.json")});
    for (const char* name : {"results.json", "journal.jsonl", "cell/trial_1/iterations.csv"}) {
      write_file(folder / "run" / name, read_file(folder / "a.json"));
    }
    std::filesystem::create_hard_link(folder / "a.log", folder / "linked.csv");
  }
  [[nodiscard]] std::string at(const char* name) const { return (folder / name).string(); }
  /// Status 2, one line, and each file below the folder as it was.
  void expect_refused(const std::vector<std::string>& command) {
    std::map<std::string, std::string> before;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) before[entry.path()] = read_file(entry.path());
    }
    const test::Ran ran = test::run_to(2, command);
    test::expect_one_error_line(ran);
    for (const auto& [path, text] : before) EXPECT_EQ(read_file(path), text) << path;
  }
};

TEST_F(OutputGuard, RefusesWhatTheCommandReads) {
  expect_refused({"extract", at("a.log"), "-o", at("a.log")});
  expect_refused({"extract", at("a.log"), "-o", at("linked.csv")});
  expect_refused({"extract", at("a.log"), "--iterations", at("a.log")});
  expect_refused({"reconcile", at("a.log"), "-o", at("a.log")});
  expect_refused({"audit", at("table.md"), "-o", at("table.md")});
  expect_refused({"report", at("a.json"), "--to", "json", "-o", at("a.json")});
  expect_refused({"check", at("a.json"), "--baseline", at("a.json"), "--junit", at("a.json")});
}

TEST_F(OutputGuard, RefusesTheFilesOfARunFolder) {
  expect_refused({"report", at("run"), "-o", at("run/journal.jsonl")});
  expect_refused({"report", at("run"), "--to", "json", "-o", at("run/results.json")});
  expect_refused(
      {"check", at("run"), "--baseline", at("a.json"), "--junit", at("run/results.json")});
  expect_refused({"report", at("run"), "--to", "csv", "-o", at("run/cell/trial_1/iterations.csv")});
  test::run_to(0, {"report", at("run"), "-o", at("run/report.html")});
}

// A shell makes "-o a.log dllogger.json" of "-o *": the first log would be gone.
TEST_F(OutputGuard, RefusesAFileThatItCannotHaveWritten) {
  expect_refused({"extract", "-o", at("a.log"), at("dllogger.json")});
  expect_refused({"extract", "-o", at("dllogger.json"), at("a.log")});
}

TEST_F(OutputGuard, ReplacesWhatItWroteBefore) {
  write_file(folder / "empty", "");  // as mktemp makes it
  for (const char* path : {"b.json", "b.csv", "b", "empty"}) {
    for (int time = 0; time < 2; ++time) {
      test::run_to(0, {"extract", at("a.log"), "-o", at(path)});
    }
  }
  for (int time = 0; time < 2; ++time) {
    test::run_to(0, {"extract", at("a.log"), "--iterations", at("rows")});
  }
  EXPECT_THAT(read_file(folder / "rows"), HasSubstr("log,trial,step"));
}

}  // namespace
}  // namespace bertbench
