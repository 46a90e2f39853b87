#include "reports/output/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "tests/reports/result_files.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;
using result_files::read_file;
using testing::HasSubstr;

class RenderTest : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      out.insert(entry.path().filename().string());
    return out;
  }

  test::ScratchFolder folder_;
};

std::string name_for(std::string_view path) {
  const Report* report = report_for_path(path);
  return report == nullptr ? "" : std::string(report->name);
}

TEST(FindReportTest, AllReportsAreFoundByNameAndHaveTheirOwnExtension) {
  std::set<std::string_view> extensions;
  for (const Report* report : all_reports()) {
    EXPECT_EQ(find_report(report->name).value_or(nullptr), report);
    EXPECT_TRUE(report->extension.starts_with('.')) << report->name;
    EXPECT_TRUE(extensions.insert(report->extension).second) << report->extension;
    EXPECT_EQ(report_for_path("out" + std::string(report->extension)), report);
    EXPECT_FALSE(report->title.empty());
  }
}

TEST(FindReportTest, AnUnknownNameGetsTheNearestOrTheList) {
  const auto found = find_report("markdwon");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().where, "report 'markdwon'");
  EXPECT_THAT(found.error().hint, HasSubstr("did you mean 'markdown'?"));
  const auto other = find_report("spreadsheet");
  ASSERT_FALSE(other);
  for (const Report* report : all_reports())
    EXPECT_THAT(other.error().hint, HasSubstr(std::string(report->name)));
}

TEST(FindReportTest, AnUnknownNameNearNoneGetsTheListOnly) {
  const auto found = find_report("spreadsheet");
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().hint.starts_with("known: json, csv")) << found.error().hint;
}

TEST(FindReportTest, ListsKeepTheirOrderAndDropDoubles) {
  const auto found = find_reports("junit, json,junit");
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0]->name, "junit");
  EXPECT_EQ((*found)[1]->name, "json");
  EXPECT_EQ(find_reports("csv,all")->size(), all_reports().size());
  EXPECT_FALSE(find_reports("json,nothing"));
  EXPECT_FALSE(find_reports(""));
}

TEST(FindReportTest, TheLongestExtensionWins) {
  const std::pair<const char*, const char*> cases[] = {
      {"out/a.json", "json"},
      {"out/a.dlperf.json", "dlperf"},
      {"a.dlperf.txt", "dlperf-text"},
      {"a.csv", "csv"},
      {"a.trials.csv", "csv-trials"},
      {"a.junit.xml", "junit"},
      {"README.md", "markdown"},
      {"a.txt", ""},
      {"json", ""},
  };
  for (const auto& [path, report] : cases) EXPECT_EQ(name_for(path), report) << path;
}

TEST_F(RenderTest, SeveralReportsFillAFolderThatIsMade) {
  const ResultSet set = result_files::read("quickstart");
  const auto reports = find_reports("json,csv,csv-trials,markdown");
  ASSERT_TRUE(reports);
  const auto paths = render_folder(*reports, set, {}, at("new/deep"));
  ASSERT_TRUE(paths) << paths.error().message();
  ASSERT_EQ(paths->size(), 4U);
  EXPECT_EQ((*paths)[2], at("new/deep/report.trials.csv"));
  ReportOptions with_companion;
  for (std::size_t i = 0; i < paths->size(); ++i) {
    with_companion.companion_stem = (*reports)[i]->companions == nullptr ? "" : "report";
    EXPECT_EQ(read_file((*paths)[i]), render_text(*(*reports)[i], set, with_companion));
  }
}

TEST_F(RenderTest, MarkdownInAFileHasItsPlotsBesideItAndOnStdoutNone) {
  const ResultSet set = result_files::read("dlperf_mxnet");
  const auto markdown = find_report("markdown");
  ASSERT_TRUE(render_file(**markdown, set, {}, at("my run.md")));
  const std::string text = read_file(at("my run.md"));
  for (const char* plot : {"throughput", "efficiency", "trials"}) {
    EXPECT_NE(text.find(std::string("](my%20run-") + plot + ".svg)"), std::string::npos) << plot;
    EXPECT_TRUE(read_file(at(std::string("my run-") + plot + ".svg")).starts_with("<svg xmlns="));
  }
  EXPECT_EQ(render_text(**markdown, set, {}).find(".svg"), std::string::npos);
}

TEST_F(RenderTest, AFolderThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(write_file_atomically(at("file"), "x"));
  const auto done = render_folder(*find_reports("json"), {}, {}, at("file/sub"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().where, at("file/sub"));
  EXPECT_FALSE(done.error().hint.empty());
}

TEST_F(RenderTest, AFileIsReplacedWithItsModeAndNothingIsLeftBeside) {
  ASSERT_TRUE(write_file_atomically(at("a.json"), "old and longer"));
  ASSERT_EQ(::chmod(at("a.json").c_str(), 0640), 0);
  ASSERT_TRUE(write_file_atomically(at("a.json"), "new"));
  EXPECT_EQ(read_file(at("a.json")), "new");
  EXPECT_EQ(fs::status(at("a.json")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  EXPECT_EQ(files(), std::set<std::string>{"a.json"});
}

TEST_F(RenderTest, ANewFileHasTheModeThatTheUmaskLeaves) {
  const mode_t before = ::umask(027);
  const auto done = write_file_atomically(at("a.json"), "x");
  ::umask(before);
  ASSERT_TRUE(done);
  EXPECT_EQ(static_cast<unsigned>(fs::status(at("a.json")).permissions()), 0640U);
}

TEST_F(RenderTest, ASymbolicLinkStaysOne) {
  ASSERT_TRUE(write_file_atomically(at("target"), "old"));
  fs::create_symlink("target", at("link"));
  ASSERT_TRUE(write_file_atomically(at("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("target")), "new");
}

TEST_F(RenderTest, AWriteThatFailsLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(write_file_atomically(at("a.json"), "old"));
  // A limit on file size stands for a disk that fills up half way: write(2) takes a part first.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto done = write_file_atomically(at("a.json"), std::string(100000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().where, at("a.json"));
  EXPECT_FALSE(done.error().hint.empty());
  EXPECT_EQ(read_file(at("a.json")), "old");
  EXPECT_EQ(files(), std::set<std::string>{"a.json"});
}

TEST_F(RenderTest, AFullDeviceIsAnErrorThatSaysWhatToDo) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto report = find_report("json");
  ASSERT_TRUE(report);
  const auto done = render_file(**report, result_files::read("quickstart"), {}, "/dev/full");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(),
            "/dev/full: cannot be written: No space left on device; free some space or write "
            "elsewhere");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(RenderTest, PathsThatCannotBeWrittenSayWhy) {
  const auto missing = write_file_atomically(at("no/such/a.json"), "x");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("make its folder first"));
  const auto is_folder = write_file_atomically(folder_.path(), "x");
  ASSERT_FALSE(is_folder);
  EXPECT_THAT(is_folder.error().message(), HasSubstr("name a file, not a folder"));
  EXPECT_FALSE(write_file_atomically("", "x"));
  EXPECT_TRUE(files().empty());
}

TEST_F(RenderTest, AFolderWithoutPermissionIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto done = write_file_atomically(at("a.json"), "x");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("check the permissions of its folder"));
}

}  // namespace
}  // namespace bertbench
