// A log that is read while it grows, is cut, is long.
#include "harness/sweep/execute/log_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "harness/sweep/process/folder.h"
#include "parsers/input/arrivals_file.h"
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

TEST_F(LogWatching, FindsLinesOfAnUnknownProgramAfterAMebibyteOfOthers) {
  ReadOptions options;
  options.of_training = true;
  LogWatch unknown(fd_, LogReader(options, "log.txt"));
  ASSERT_EQ(ftruncate(fd_, 0), 0);
  for (int i = 0; i < 6000; ++i) put("warning: " + std::string(200, 'y') + "\n");
  for (int i = 1; i <= 20; ++i) put("step " + std::to_string(i) + " loss 1.5 0.25 s/step\n");
  unknown.read(unknown.size());
  const auto runs = unknown.finish();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 20u);
  EXPECT_EQ(runs[0].path, "log.txt");
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

TEST_F(LogWatching, RecordsWhenALogGrewThatIsFollowed) {
  EXPECT_TRUE(log_.follow());
  for (int i = 1; i <= 3; ++i) {
    put(step(i));
    EXPECT_TRUE(log_.follow());
    EXPECT_FALSE(log_.follow());
  }
  put(step(4));
  log_.read(1 << 20);  // the last look, when nobody writes any more
  const auto arrivals = log_.arrivals().all();
  ASSERT_EQ(arrivals.size(), 4u);
  EXPECT_GT(arrivals[0].from, 0) << "the header came at an unknown time";
  EXPECT_EQ(arrivals[3].to, log_.size());
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(i == 0 || arrivals[i].from == arrivals[i - 1].to);
    EXPECT_GE(arrivals[i].quiet_s, arrivals[i].gap_s);
  }
  const auto runs = log_.finish();
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_TRUE(runs[0].arrivals);
  ASSERT_EQ(runs[0].records.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(runs[0].records[i].end_byte + 1, arrivals[i].to) << "the line and its end";
  }
}

TEST_F(LogWatching, ALogThatIsOnlyReadHasNoArrivals) {
  put(step(1));
  log_.read(1 << 20);
  put(step(2));
  log_.read(1 << 20);
  EXPECT_TRUE(log_.arrivals().all().empty());
  EXPECT_FALSE(log_.finish().front().arrivals);
}

TEST_F(LogWatching, ALogThatWasCutBeginsAnew) {
  log_.follow();
  put(step(1));
  log_.follow();
  ASSERT_EQ(ftruncate(fd_, 0), 0);
  put(step(2));
  log_.follow();
  put(step(3));
  log_.follow();
  const auto arrivals = log_.arrivals().all();
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].to, log_.size());
}

class ArrivalFiles : public ::testing::Test {
 protected:
  void look(int times) {
    for (; times > 0; --times, ++looks_) recorder_.look(looks_, 10 * std::int64_t{looks_});
  }
  [[nodiscard]] std::vector<Arrival> read() const { return read_arrivals(temp_.path("log.txt")); }
  void expect_all() const {
    const auto read_back = read();
    const auto all = recorder_.all();
    ASSERT_EQ(read_back.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(read_back[i].from, all[i].from);
      EXPECT_EQ(read_back[i].to, all[i].to);
      EXPECT_NEAR(read_back[i].look_s, all[i].look_s, 1e-6);
    }
  }

  test::ScratchFolder temp_;
  Folder folder_ = Folder::make_root(temp_.path("")).value();
  ArrivalRecorder recorder_{8};
  ArrivalFile file_{"log.txt"};
  int looks_ = 0;
};

TEST_F(ArrivalFiles, HoldWhatWasRecordedWhenTheHarnessDies) {
  ASSERT_TRUE(file_.save(folder_, recorder_, false));
  EXPECT_FALSE(folder_.holds("log.txt.arrivals.csv")) << "of a log that did not grow";
  for (const int times : {3, 1, 0, 2, 5, 9, 30}) {  // thinned in between
    look(times);
    ASSERT_TRUE(file_.save(folder_, recorder_, false));
    EXPECT_EQ(read().size(), recorder_.kept().size());
    EXPECT_LE(read().size(), 8u);
  }
  ASSERT_TRUE(file_.save(folder_, recorder_, true));
  expect_all();
}

TEST_F(ArrivalFiles, AreNoLinksAndNoPipes) {
  look(4);
  ASSERT_TRUE(file_.save(folder_, recorder_, true));
  ASSERT_EQ(rename(temp_.path("log.txt.arrivals.csv").c_str(), temp_.path("other").c_str()), 0);
  EXPECT_TRUE(read().empty());
  ASSERT_EQ(symlink("other", temp_.path("log.txt.arrivals.csv").c_str()), 0);
  EXPECT_TRUE(read().empty());
  ASSERT_EQ(unlink(temp_.path("log.txt.arrivals.csv").c_str()), 0);
  ASSERT_EQ(mkfifo(temp_.path("log.txt.arrivals.csv").c_str(), 0600), 0);
  EXPECT_TRUE(read().empty());
}

TEST(StampedLogs, KeepWhenTheirBytesCame) {
  test::ScratchFolder temp;
  const auto path = temp.path("log.txt");
  test::write_file(path, "first\n");
  auto log = StampedLog::open(path);
  ASSERT_TRUE(log) << log.error().message();
  log->look();
  test::write_file(path, "first\nsecond\n");
  log->look();
  ASSERT_TRUE(log->save(false));
  test::write_file(path, "first\nsecond\nthird\n");
  log->look();
  ASSERT_TRUE(log->save(true));
  const auto arrivals = read_arrivals(path);
  ASSERT_EQ(arrivals.size(), 2u) << "what the first look finds came at an unknown time";
  EXPECT_EQ(arrivals[0].from, 6);
  EXPECT_EQ(arrivals[0].to, 13);
  EXPECT_EQ(arrivals[1].to, 19);
  EXPECT_LE(arrivals[0].look_s, arrivals[1].look_s);
  EXPECT_FALSE(StampedLog::open(temp.path("none.txt")));
  std::filesystem::create_symlink(path, temp.path("link.txt"));
  EXPECT_FALSE(StampedLog::open(temp.path("link.txt"))) << "never through a link";
}

}  // namespace
}  // namespace bertbench
