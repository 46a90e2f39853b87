// A log that is still written: what is new is read once, whatever happens to the file.
#include "parsers/input/log_tail.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;
using Event = LogTail::Event;

class LogTailTest : public testing::Test {
 protected:
  static void append(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::app) << text;
  }
  /// All bytes that are there, with the events between them in brackets.
  static std::string all(LogTail& tail) {
    std::string out, bytes;
    for (;;) {
      switch (tail.next(bytes)) {
        case Event::bytes:
          out += bytes;
          break;
        case Event::rotated:
          out += "[rotated]";
          break;
        case Event::truncated:
          out += "[truncated]";
          break;
        case Event::deleted:
          return out + "[deleted]";
        case Event::ended:
          return out + "[ended]";
        case Event::nothing:
          return out;
      }
    }
  }

  const test::ScratchFolder folder_;
  const std::string path_ = folder_.path("train.log");
};

TEST_F(LogTailTest, ReadsAThousandAppendsEachOnce) {
  append(path_, "");
  auto tail = LogTail::open(path_);
  ASSERT_TRUE(tail);
  std::string read, written;
  for (int i = 0; i < 1000; ++i) {
    const std::string byte(1, static_cast<char>('a' + i % 26));
    append(path_, byte);
    written += byte;
    read += all(*tail);
  }
  EXPECT_EQ(read, written);
}

TEST_F(LogTailTest, DrainsARenamedFileBeforeItReadsTheNewOne) {
  append(path_, "one\n");
  auto tail = LogTail::open(path_);
  EXPECT_EQ(all(*tail), "one\n");
  append(path_, "two\n");
  fs::rename(path_, path_ + ".1");
  append(path_, "three\n");
  append(path_ + ".1", "late\n");
  EXPECT_EQ(all(*tail), "two\nlate\n[rotated]three\n");
}

TEST_F(LogTailTest, BeginsAgainWhereAFileWasTruncated) {
  append(path_, "a long first line\n");
  auto tail = LogTail::open(path_);
  EXPECT_EQ(all(*tail), "a long first line\n");
  fs::resize_file(path_, 0);
  EXPECT_EQ(all(*tail), "[truncated]");
  append(path_, "new\n");
  EXPECT_EQ(all(*tail), "new\n");
}

TEST_F(LogTailTest, SaysOnceThatAFileIsGoneAndReadsTheOneThatComesBack) {
  append(path_, "one\n");
  auto tail = LogTail::open(path_);
  fs::remove(path_);
  EXPECT_EQ(all(*tail), "one\n[deleted]");
  EXPECT_TRUE(tail->gone());
  EXPECT_EQ(all(*tail), "");
  append(path_, "two\n");
  EXPECT_EQ(all(*tail), "[rotated]two\n");
  EXPECT_FALSE(tail->gone());
}

TEST_F(LogTailTest, RefusesWhatCannotBeFollowed) {
  EXPECT_FALSE(LogTail::open(path_));
  EXPECT_NE(LogTail::open(folder_.path()).error().message().find("directory"), std::string::npos);
  append(path_, std::string("\x1f\x8b\x08\x00", 4));
  EXPECT_NE(LogTail::open(path_).error().message().find("compressed"), std::string::npos);
}

TEST_F(LogTailTest, DecodesUtf16HoweverItIsCut) {
  const std::string wide(
      "\xff\xfe"
      "a\0\x3d\xd8\x0a\xde"
      "b\0\n\0",
      12);
  append(path_, "");
  auto tail = LogTail::open(path_);
  ASSERT_TRUE(tail);
  append(path_, wide.substr(0, 2));
  std::string text = all(*tail);
  for (const char byte : wide.substr(2)) {
    append(path_, std::string(1, byte));
    text += all(*tail);
  }
  EXPECT_EQ(text,
            "a\xf0\x9f\x98\x8a"
            "b\n");
  // The file that comes in its place is in UTF-8.
  fs::rename(path_, path_ + ".1");
  append(path_, "plain\n");
  EXPECT_EQ(all(*tail), "[rotated]plain\n");
}

}  // namespace
}  // namespace bertbench
