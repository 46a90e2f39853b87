#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// As printed by nccl-tests on 8 GPUs; the columns are those of src/common.cu.
constexpr const char* kTable =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  "
    "algbw   busbw #wrong\n"
    "   536870912     134217728     float     sum      -1   5202.3  103.20  193.50      0   5377.7 "
    "  "
    "99.83  187.19      0\n"
    "  8589934592    2147483648     float     sum      -1    81958  104.81  196.52      0    81960 "
    " "
    "104.81  196.51      0\n";

TEST(NcclTests, GivesTheLargestMessageAndTheBandwidthsAsNotices) {
  const auto runs = read_text(std::string("# nThread 1 nGpus 8 minBytes 8 maxBytes 8\n") + kTable +
                              "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 194.675 \n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].kind, WorkKind::inference);
  EXPECT_NEAR(runs[0].records.at(0).seconds, 0.081958, 1e-12);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("bus bandwidth 196.52 GB/s"));
  EXPECT_THAT(text_of(runs[0].notices[1]), testing::HasSubstr("194.675 GB/s"));
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(NcclTests, WrongResultsAreAnError) {
  const auto runs = read_text(std::string(kTable) +
                              "# Out of bounds values : 3 FAILED\n"
                              "# Avg bus bandwidth    : 194.675 \n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::error);
}

TEST(NcclTests, ATableThatBreaksOffIsTruncated) {
  const auto runs = read_text(kTable);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
}

TEST(NcclTests, EndsAsAnErrorWhereTheTestSaysThatItFailed) {
  const auto runs = read_text(
      "# nThread 1 nGpus 4 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: "
      "20\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time  "
      " algbw   busbw #wrong\n"
      "          16             4     float     sum      -1     5.60    0.00    0.00      0     "
      "5.19 "
      "   0.08    0.00      0\n"
      "node1: Test NCCL failure common.cu:303 'unhandled cuda error (run with NCCL_DEBUG=INFO) / "
      "'\n"
      " .. node1 pid 5092: Test failure common.cu:434\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::error);
  EXPECT_EQ(runs[0].outcome.line, 4);
}

TEST(NcclTests, QuotedAsMarkdownTheHeadAndTheFootHaveLostTheirMarks) {
  const auto runs = read_text(
      " nThread 1 nGpus 1 minBytes 64 maxBytes 1024 step: 2(factor) warmup iters: 5       iters: "
      "20\n"
      "\n"
      "       size         count    type   redop     time   algbw   busbw  error     time   algbw  "
      " "
      "busbw  error\n"
      "        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
      "(GB/s)\n"
      "   536870912     134217728   float     sum   4500.0  119.30  208.78  4e-07   4510.0  119.04 "
      " "
      "208.32  4e-07\n"
      " Out of bounds values : 0 OK\n"
      " Avg bus bandwidth    : 61.25\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 1u);
  EXPECT_NEAR(runs[0].records[0].seconds, 0.0045, 1e-12);
  EXPECT_THAT(text_of(runs[0].notices[1]), testing::HasSubstr("61.25 GB/s"));
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(NcclTests, ReadsTheColumnsThatNewBuildsOfRcclAdd) {
  const auto runs = read_text(
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong     algo     proto   nchannels\n"
      "     2097152        524288     float     sum      -1    87.02   24.10   45.18      0    "
      "86.52   24.24   45.45      0    RING    SIMPLE          32\n"
      "   268435456      67108864     float     sum      -1   1377.7  194.84  365.33      0   "
      "1376.1  195.07  365.76      0    RING    SIMPLE          32\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 249.115 \n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(runs[0].records.at(0).seconds, 1377.7e-6, 1e-12);
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("bus bandwidth 365.33 GB/s (in place "
                                                              "365.76)"));
}

TEST(NcclTests, RowsWithoutAHeadProveThemselves) {
  const std::string rows =
      "     1048576        262144     float     sum      -1    27.76   37.78   66.11       0    "
      "27.49   38.15   66.76       0\n"
      "    33554432       8388608     float     sum      -1   195.40  171.72  300.51       0   "
      "195.40  171.73  300.52       0\n";
  const auto runs = read_text(rows);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].records[0].seconds, 195.40e-6);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  EXPECT_NE(text_of(runs[0].notices.at(1)).find("head of the table is missing"), std::string::npos);
  EXPECT_TRUE(read_text("1048576 262144 float     sum -1 27.76 12.00 66.11 0 27.49 38.15 66.76 0\n")
                  .empty());
}

TEST(NcclTests, ReadsTheTypesAndOperationsThatAreSeldomMeasured) {
  const std::string head =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time "
      "  algbw   busbw #wrong\n";
  for (const char* of : {"  f8e4m3     sum", "  f8e5m2     sum", "   int32     sum",
                         "   float     avg", "bfloat16     avg"}) {
    const auto runs =
        read_text(head + "   536870912     134217728  " + of +
                  "      -1   5202.3  103.20  193.50      0   5377.7   99.83  187.19   "
                  "   0\n# Avg bus bandwidth    : 190.345 \n");
    ASSERT_EQ(runs.size(), 1u) << of;
    ASSERT_EQ(runs[0].records.size(), 1u) << of;
    EXPECT_NEAR(runs[0].records[0].seconds, 0.0052023, 1e-12) << of;
  }
}

}  // namespace
}  // namespace bertbench
