// A log that is still written, as a status line shows it.
#include <gtest/gtest.h>

#include <string>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(LiveView, FollowsTheRun) {
  const auto step = [](int n, const char* loss) {
    return R"({"type":"step","step":)" + std::to_string(n) +
           R"(,"steps":1,"seconds":1,"sequences_per_second":48,"loss":)" + loss + R"(,"elapsed":)" +
           std::to_string(n) + "}\n";
  };
  LogReader reader({}, "-");
  EXPECT_EQ(reader.live().records, 0);
  reader.feed("{\"type\":\"header\",\"format\":\"bert_train/1\",\"global_batch_size\":48}\n" +
              step(1, "10.5") + step(2, "10.5"));
  const LiveView view = reader.live();
  EXPECT_EQ(view.records, 2);
  EXPECT_EQ(view.last_step, 2);
  EXPECT_EQ(view.recent_rate, 48);
  EXPECT_EQ(view.unit, RateUnit::sequences_per_second);
  EXPECT_EQ(view.last_loss, 10.5);
  EXPECT_FALSE(view.trouble);
  reader.feed(step(3, "\"nan\""));
  ASSERT_TRUE(reader.live().trouble);
  EXPECT_EQ(reader.live().trouble->status, Status::nan);
  reader.feed("bert_train: out of memory: needs 5 GiB\n");
  EXPECT_EQ(reader.live().trouble->status, Status::out_of_memory);
}

TEST(LiveView, EndsWithWhatTheLogStates) {
  LogReader reader({}, "live.log");
  reader.feed("Iteration:  40%|####      | 4/10 [00:04<00:06,  1.00it/s]\n");
  EXPECT_FALSE(reader.live().ended_well);
  reader.feed("Training finished after 4 iterations\n");
  EXPECT_TRUE(reader.live().ended_well);
  reader.feed("Iteration:  50%|#####     | 5/10 [00:05<00:05,  1.00it/s]\n");
  EXPECT_FALSE(reader.live().ended_well);
}

TEST(LiveView, HasNoTroubleThatTheRunSurvived) {
  LogReader reader({}, "live.log");
  const auto feed_step = [&](int step) {
    reader.feed("Iteration:  40%| | " + std::to_string(step) + "/10 [00:04<00:06,  1.00it/s]\n");
  };
  for (int step = 1; step < 3; ++step) feed_step(step);
  reader.feed("ConnectionError: the tracker is away\n");
  ASSERT_TRUE(reader.live().trouble);
  for (int step = 3; step < 7; ++step) feed_step(step);
  EXPECT_FALSE(reader.live().trouble);
  reader.feed("RuntimeError: CUDA out of memory.\n");
  ASSERT_TRUE(reader.live().trouble);
  EXPECT_EQ(reader.live().trouble->status, Status::out_of_memory);
}

}  // namespace
}  // namespace bertbench
