// A collected log that holds four runs: what INDEX.tsv gives is the median over all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(SeveralRunsInOneLog, MegatronsMedianOverFourRunsIsTheKnownOne) {
  const char* given = std::getenv("BB_CORPUS");
  const std::string corpus =
      given != nullptr ? given : std::string(BB_SOURCE_DIR) + "/../shared/corpus";
  const std::string path = corpus + "/megatron/lockclock_4runs_concatenated.log";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not here: BB_CORPUS names the folder of collected logs";
  }
  const auto runs = read_log(path, {});
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 4u);
  std::vector<double> seconds;
  for (const RunLog& run : *runs) {
    EXPECT_EQ(run.records.size(), 50u);
    EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 16);
    for (const Record& record : run.records) seconds.push_back(record.seconds);
  }
  std::ranges::sort(seconds);
  // INDEX.tsv takes the lower one of the two in the middle.
  EXPECT_NEAR(seconds[99], 18.0555, 1e-9);
  EXPECT_NEAR(seconds[100], 18.0559, 1e-9);
}

// Memory is bounded, so the number of runs is; what is left out is told where it begins.
TEST(SeveralRunsInOneLog, RunsBeyondTheBoundAreLeftOutWithANotice) {
  constexpr int kRuns = 3'200;
  std::string text;
  for (int i = 0; i < kRuns; ++i) {
    text +=
        "{\"type\":\"header\",\"format\":\"bert_train/1\",\"micro_batch_size\":2}\n"
        "{\"type\":\"step\",\"step\":1,\"seconds\":0.5}\n";
  }
  const auto runs = read_text(text);
  EXPECT_EQ(runs.size(), 3'000u);
  ASSERT_FALSE(runs.back().notices.empty());
  EXPECT_EQ(runs.back().notices.back().line, 6'001);
  EXPECT_THAT(runs.back().notices.back().text, ::testing::HasSubstr("left out"));
}

}  // namespace
}  // namespace bertbench
