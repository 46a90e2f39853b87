// A run folder packed and unpacked again.
#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "harness/cli/run_archive.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ArchiveTest : public CliTest {
 protected:
  void SetUp() override {
    const Ran result =
        run_to(0, {"extract", std::string(BB_SOURCE_DIR) + "/parsers/samples/native/sample.log",
                   "-o", path("result.json")});
    write_file(folder / "run/journal.jsonl", "{}\n");
    write_file(folder / "run/results.json", read_file(folder / "result.json"));
    write_file(folder / "run" / log_, std::string(100000, 'x') + "\n");
    write_file(folder / "run/empty", "");
    write_file(folder / "run/cell/trial_1/checkpoint/step_00000007.ckpt", "weights");
    write_file(folder / "run/cell/trial_1/files/secret", "hf_x");
    chmod(path("run/cell/trial_1/files/secret").c_str(), 0600);
    std::filesystem::create_symlink("/etc/passwd", folder / "run/link");
  }
  Ran pack() { return run({"archive", path("run"), "-o", path("run.tar.zst")}); }
  // Longer than a name in tar's header.
  const std::string log_ =
      "bert-large.bf16.s128.b64.a1.2n8g+" + std::string(80, 'a') + "/trial_1/attempt_2/log.txt";
};

TEST_F(ArchiveTest, GivesTheSameFolderAndResultsWhenItIsUnpacked) {
  const Ran packed = pack();
  ASSERT_EQ(packed.status, 0) << packed.err;
  EXPECT_THAT(packed.out, HasSubstr("4 files, 0.1 MB\n"));
  EXPECT_THAT(packed.err, HasSubstr("files/secret is for the trainer alone"));
  EXPECT_THAT(packed.err, HasSubstr("step_00000007.ckpt is the checkpoint of a phase"));
  const Ran unpacked = run_to(0, {"archive", path("run.tar.zst"), "--unpack", path("again")});
  EXPECT_THAT(unpacked.out, HasSubstr("checksums are right\n"));
  for (const std::string& name :
       {std::string("journal.jsonl"), std::string("results.json"), log_, std::string("empty")}) {
    EXPECT_TRUE(read_file(folder / "again" / name) == read_file(folder / "run" / name)) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "again/link"));
  EXPECT_FALSE(std::filesystem::exists(folder / "again/cell/trial_1/checkpoint"));
  EXPECT_FALSE(std::filesystem::exists(folder / "again/cell/trial_1/files/secret"));
  EXPECT_EQ(run({"report", path("again"), "--to", "json"}).out,
            run({"report", path("run"), "--to", "json"}).out);
  EXPECT_EQ(run({"archive", path("run.tar.zst"), "--unpack", path("again")}).status, 2)
      << "never into a folder that is there";
}

TEST_F(ArchiveTest, CommandsReadResultsOfItAsOfTheFolder) {
  ASSERT_EQ(pack().status, 0);
  const std::string packed = path("run.tar.zst"), folder_of_run = path("run");
  std::filesystem::create_directory(folder / "tmp");
  const char* before = getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", path("tmp").c_str(), 1);
  for (const char* format : {"json", "csv", "markdown", "html"}) {
    const Ran of_archive = run_to(0, {"report", packed, "--to", format});
    const Ran of_folder = run({"report", folder_of_run, "--to", format});
    // A page names the result that it shows.
    std::string text = of_archive.out;
    for (std::size_t at = 0; (at = text.find(packed, at)) != text.npos;) {
      text.replace(at, packed.size(), folder_of_run);
    }
    EXPECT_EQ(text, of_folder.out) << format;
  }
  EXPECT_THAT(run({"report", packed, "--to", "html"}).out, HasSubstr("throughput: run"));
  const Ran checked = run({"check", packed, "--baseline", packed});
  EXPECT_EQ(checked.status, run({"check", folder_of_run, "--baseline", folder_of_run}).status);
  EXPECT_THAT(checked.out, HasSubstr("1 cell compared"));
  EXPECT_THAT(run({"compare", packed, folder_of_run}).out, HasSubstr("1 cell compared"));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp")) << "what was unpacked goes";

  const auto whole = read_file(folder / "run.tar.zst");
  write_file(folder / "cut.tar.zst", whole.substr(0, whole.size() / 2));
  const Ran cut = run_to(5, {"report", path("cut.tar.zst")});
  EXPECT_THAT(cut.err, HasSubstr("cut.tar.zst"));
  EXPECT_EQ(run({"report", path("none.tar.zst")}).status, 5);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
  kept.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

/// TMPDIR while it lives, and how many files and folders were made there.
class WatchedTmpdir {
 public:
  explicit WatchedTmpdir(const std::string& path) {
    if (const char* before = getenv("TMPDIR")) kept_ = before;
    std::filesystem::create_directory(path);
    setenv("TMPDIR", path.c_str(), 1);
    inotify_add_watch(events_, path.c_str(), IN_CREATE);
  }
  WatchedTmpdir(const WatchedTmpdir&) = delete;
  WatchedTmpdir& operator=(const WatchedTmpdir&) = delete;
  ~WatchedTmpdir() {
    kept_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", kept_.c_str(), 1);
    close(events_);
  }
  /// Since this was asked before.
  int made() const {
    alignas(inotify_event) std::array<char, 4096> buffer{};
    int count = 0;
    for (ssize_t n = 0; (n = read(events_, buffer.data(), buffer.size())) > 0;) {
      for (ssize_t at = 0; at < n; ++count) {
        at += static_cast<ssize_t>(sizeof(inotify_event)) +
              reinterpret_cast<const inotify_event*>(buffer.data() + at)->len;
      }
    }
    return count;
  }

 private:
  std::string kept_;
  int events_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
};

TEST_F(ArchiveTest, APageOfAComparisonUnpacksEachArchiveOnce) {
  ASSERT_EQ(pack().status, 0);
  const WatchedTmpdir tmp(path("tmp"));
  ASSERT_EQ(run({"report", path("run.tar.zst"), "--to", "html"}).status, 0);
  const int once = tmp.made();
  ASSERT_GT(once, 0);
  run_to(0, {"compare", path("run"), path("run.tar.zst"), "--to", "html"});
  EXPECT_EQ(tmp.made(), once);
}

TEST_F(ArchiveTest, WhatReadsLogsNamesTheCommandThatUnpacks) {
  ASSERT_EQ(pack().status, 0);
  for (std::vector<std::string> words : {std::vector<std::string>{"extract"},
                                         {"reconcile"},
                                         {"goodput"},
                                         {"describe"},
                                         {"convergence"},
                                         {"list", "formats", "--explain"}}) {
    words.push_back(path("run.tar.zst"));
    const Ran ran = run_to(5, words);
    EXPECT_THAT(ran.err, HasSubstr("bertbench archive " + path("run.tar.zst") + " --unpack DIR"))
        << words[0];
  }
}

TEST_F(ArchiveTest, IsReadByTarAndSha256sum) {
  ASSERT_EQ(pack().status, 0);
  if (std::system("command -v tar zstd sha256sum >/dev/null") != 0) GTEST_SKIP();
  const auto command = "cd " + folder.string() +
                       " && mkdir by_tar && zstd -qdc run.tar.zst | tar -xf - -C by_tar && cd "
                       "by_tar/run && sha256sum --quiet -c checksums.sha256";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(ArchiveTest, IsRefusedWhereItIsDamaged) {
  ASSERT_EQ(pack().status, 0);
  const auto whole = read_file(folder / "run.tar.zst");
  const std::size_t frame = whole.rfind("\nbertbench ") - 8;  // the skipped one, with its header
  for (const std::size_t cut : {std::size_t{0}, std::size_t{10}, whole.size() / 2, frame - 5}) {
    write_file(folder / "cut.tar.zst", whole.substr(0, cut));
    run_to(5, {"archive", path("cut.tar.zst"), "--unpack", path("bad")});
  }
  run_to(5, {"archive", path("result.json"), "--unpack", path("bad")});
  EXPECT_EQ(run({"archive", folder.string()}).status, 5) << "no run folder";
  EXPECT_FALSE(std::filesystem::exists(folder / "bad")) << "a part would be read as a run";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".bertbench")) << entry.path();
  }
}

TEST_F(ArchiveTest, ReplacesAnArchiveAndNothingElse) {
  ASSERT_EQ(pack().status, 0);
  EXPECT_EQ(pack().status, 0);
  std::string other = read_file(folder / "run.tar.zst");
  other.resize(other.size() / 2);
  write_file(folder / "run.tar.zst", other);
  EXPECT_EQ(pack().status, 2);
  EXPECT_THAT(run_to(2, {"archive", path("run"), "-o", path("run.zip")}).err,
              HasSubstr(".tar.zst"));
  EXPECT_THAT(run_to(2, {"archive", path("run"), "-o", ""}).err, HasSubstr("names no file"));
}

/// A tar file with one entry.
std::string tar_of(const std::string& name, const std::string& text, char type = '0') {
  std::string head(512, '\0');
  head.replace(0, name.size(), name);
  char size[12];
  std::snprintf(size, sizeof size, "%011zo", text.size());
  head.replace(124, 11, size);
  head[156] = type;
  std::string body = text;
  body.resize((text.size() + 511) / 512 * 512);
  return head + body + std::string(1024, '\0');
}

TEST_F(ArchiveTest, WritesNothingOutsideOfItsFolder) {
  for (const std::string name :
       {"../out", "run/../../out", "/tmp/bb-archive-out", "run", "run/./x"}) {
    write_file(folder / "evil.tar", tar_of(name, "x"));
    const Ran ran = run_to(5, {"archive", path("evil.tar"), "--unpack", path("evil")});
    EXPECT_THAT(ran.err, HasSubstr("outside of the folder")) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  write_file(folder / "evil.tar", tar_of("run/link", "", '2'));
  EXPECT_THAT(run({"archive", path("evil.tar"), "--unpack", path("evil")}).err,
              HasSubstr("which is no file"));
  write_file(folder / "evil.tar", tar_of("run/a", "x"));
  EXPECT_THAT(run({"archive", path("evil.tar"), "--unpack", path("evil")}).err,
              HasSubstr("a has no checksum"));
}

}  // namespace
}  // namespace bertbench::test
