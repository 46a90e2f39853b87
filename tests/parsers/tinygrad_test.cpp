#include <gtest/gtest.h>

#include <string>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string step(int number, const std::string& ms) {
  return "    " + std::to_string(number) + " " + ms +
         " ms run,   77.01 ms python,   0.43 ms fetch data, 4081.33 ms AMD * 4,  0.75 loss, "
         "0.000571 LR, 1038.57 GB used, 328033.10 GFLOPS\n";
}

TEST(Tinygrad, ReadsBertsStepsAndTheirBatch) {
  const auto runs = read_text("training with batch size 512 for one epoch with 3 steps\n" +
                              step(0, "182379.69") + step(1, "4158.50") + step(2, "4167.25"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "tinygrad");
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_DOUBLE_EQ(runs[0].records[1].seconds, 4.1585);
  EXPECT_EQ(runs[0].records[1].loss, 0.75);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 512);
  EXPECT_EQ(runs[0].facts.world(), 4);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Tinygrad, ReadsSecondsAndKnowsNoBatch) {
  const auto runs = read_text(
      "    1 93.44 s run, 11.8750 loss, 0.000000000001 LR, 642.43 GB used,  19644.30 GFLOPS\n"
      "    2 4.32 s run, nan loss, 0.000000000002 LR, 1454.57 GB used, 401488.40 GFLOPS\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[1].seconds, 4.32);
  EXPECT_EQ(runs[0].first_nan_step, 2);
  EXPECT_FALSE(runs[0].facts.global_batch_size.known());
  EXPECT_TRUE(read_text("training with batch size 32 begins\n").empty());
}

}  // namespace
}  // namespace bertbench
