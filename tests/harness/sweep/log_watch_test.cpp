// A log that is read while it grows, is cut, is long.
#include "harness/sweep/execute/log_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/sweep/process/folder.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {

class LogWatching : public ::testing::Test {
 protected:
  LogWatching()
      : fd_(open(temp_.path("log.txt").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
        log_(fd_, LogReader({"native", {}}, "log.txt")) {
    put("{\"type\":\"header\",\"format\":\"bert_train/1\",\"micro_batch_size\":2,"
        "\"gradient_accumulation_steps\":1,\"world_size\":1}\n");
  }
  ~LogWatching() override { close(fd_); }
  void put(const std::string& text) const { ASSERT_TRUE(write_all(fd_, text)); }
  static std::string step(int number) {
    return "{\"type\":\"step\",\"step\":" + std::to_string(number) +
           ",\"steps\":1,\"seconds\":0.5,\"loss\":9.5}\n";
  }

  test::ScratchFolder temp_;
  int fd_;
  LogWatch log_;
};

TEST_F(LogWatching, ReadsWhatIsNewAndNoMoreThanAllowed) {
  EXPECT_TRUE(log_.read(1 << 20));
  EXPECT_FALSE(log_.read(1 << 20));
  for (int i = 1; i <= 100; ++i) put(step(i));
  EXPECT_TRUE(log_.read(64));
  EXPECT_LT(log_.bytes_read(), log_.size());
  while (log_.read(64)) {
  }
  EXPECT_EQ(log_.bytes_read(), log_.size());
  EXPECT_EQ(log_.live().last_step, 100);
  const auto runs = log_.finish();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 100u);
  EXPECT_EQ(log_.cuts(), 0);
}

TEST_F(LogWatching, LeavesADenseLogForLaterButSeesThatItGrows) {
  std::string lines;
  for (int i = 1; i <= 1000; ++i) lines += step(i);
  for (int i = 0; i < 400; ++i) put(lines);  // seconds of parsing, with 10 ms to spend
  EXPECT_TRUE(log_.follow());
  EXPECT_LT(log_.bytes_read(), log_.size());
  put(step(1));
  EXPECT_TRUE(log_.follow());
  EXPECT_FALSE(log_.follow()) << "there is more to read, but the file has not grown";
  log_.read(log_.size());
  EXPECT_EQ(log_.bytes_read(), log_.size());
}

TEST_F(LogWatching, HoldsWhatTheFileHoldsAfterSomebodyCutIt) {
  for (int i = 1; i <= 10; ++i) put(step(i));
  log_.read(1 << 20);
  ASSERT_EQ(ftruncate(fd_, 0), 0);
  log_.read(1 << 20);
  for (int i = 11; i <= 13; ++i) put(step(i));
  log_.read(1 << 20);
  EXPECT_EQ(log_.cuts(), 1);
  const auto watched = log_.finish();
  const auto read = read_log(temp_.path("log.txt"), {"native", {}});
  ASSERT_TRUE(read);
  ASSERT_EQ(watched.size(), 1u);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(watched[0].records.size(), 3u);
  EXPECT_EQ((*read)[0].records.size(), 3u);
}

}  // namespace
}  // namespace bertbench
