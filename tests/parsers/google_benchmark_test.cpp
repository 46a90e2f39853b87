#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string entry(const std::string& name, const std::string& type, const std::string& time,
                  const std::string& unit) {
  return "    {\n      \"name\": \"" + name + "\",\n      \"run_name\": \"" + name +
         "\",\n      \"run_type\": \"" + type +
         "\",\n      \"threads\": 1,\n      \"iterations\": 100,\n      \"real_time\": " + time +
         ",\n      \"cpu_time\": 1.0e+00,\n      \"time_unit\": \"" + unit + "\"\n    },\n";
}

TEST(GoogleBenchmark, MakesARunOfEachBenchmarkAndRecordsOfItsRepetitions) {
  const auto runs =
      read_text("{\n  \"benchmarks\": [\n" + entry("gelu/8", "iteration", "2.5e+00", "us") +
                entry("gelu/8", "iteration", "3.5e+00", "us") +
                entry("gelu/8", "aggregate", "3.0e+00", "us") +
                entry("softmax", "iteration", "4.0e+00", "ms") + "  ]\n}\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, WorkKind::inference);
  EXPECT_EQ(runs[0].facts.axes.at("benchmark"), "gelu/8");
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_NEAR(runs[0].records[1].seconds, 350e-6, 1e-12);
  EXPECT_EQ(runs[0].records[1].iterations, 100);
  EXPECT_NEAR(runs[1].records[0].seconds, 0.4, 1e-12);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(GoogleBenchmark, AnErrorIsTheOutcome) {
  const auto runs = read_text(
      "      \"run_name\": \"gemm\",\n      \"run_type\": \"iteration\",\n      "
      "\"error_occurred\": true,\n      \"error_message\": \"no device\",\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::error);
  EXPECT_EQ(detail_text(runs[0].outcome), "no device");
}

TEST(GoogleBenchmark, SaysWhatTheTimeOfSeveralThreadsMayBe) {
  std::string text = entry("gelu/threads:4", "iteration", "2.5e+00", "us");
  text.replace(text.find("\"threads\": 1"), 12, "\"threads\": 4");
  const auto runs = read_text("{\n  \"benchmarks\": [\n" + text + "  ]\n}\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].notices.size(), 2u);
  EXPECT_NE(text_of(runs[0].notices[1]).find("of one thread or of all"), std::string::npos);
}

TEST(GoogleBenchmark, TakesTheMeanWhereOnlyAggregatesArePrinted) {
  std::string mean = entry("gelu/8", "aggregate", "3.0e+00", "us");
  mean.insert(mean.find("      \"iterations\""), "      \"aggregate_name\": \"mean\",\n");
  std::string median = entry("gelu/8", "aggregate", "2.0e+00", "us");
  median.insert(median.find("      \"iterations\""), "      \"aggregate_name\": \"median\",\n");
  const auto runs = read_text("{\n  \"benchmarks\": [\n" + mean + median + "  ]\n}\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 1u);
  EXPECT_EQ(runs[0].records[0].iterations, 1);
  EXPECT_NEAR(runs[0].records[0].seconds, 3e-6, 1e-15);
}

constexpr const char* kHead =
    "-------------------------------------------------------------------------------------\n"
    "Benchmark                         Time             CPU   Iterations UserCounters...\n"
    "-------------------------------------------------------------------------------------\n";

// The times are those of the JSON that the same run wrote (--benchmark_out): 1777.358 and 1564.525
// ns, 2.084808 and 2.083489 ms.
TEST(GoogleBenchmark, ReadsTheConsolesTable) {
  const auto runs = read_text(
      slurp(std::string(BB_SOURCE_DIR) + "/parsers/samples/google-benchmark/console.log"));
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].facts.axes.at("benchmark"), "BM_Sum/1024");
  ASSERT_EQ(runs[0].records.size(), 2u) << "repetitions, not their mean or median";
  EXPECT_EQ(runs[0].records[0].iterations, 34922);
  EXPECT_NEAR(runs[0].records[0].seconds / 34922, 1777.358e-9, 0.5e-9);
  EXPECT_NEAR(runs[0].records[1].seconds / 34922, 1564.525e-9, 0.5e-9);
  EXPECT_EQ(runs[1].facts.axes.at("benchmark"), "BM_Step/real_time");
  ASSERT_EQ(runs[1].records.size(), 2u);
  EXPECT_NEAR(runs[1].records[0].seconds / 13, 2.084808e-3, 5e-6);
  EXPECT_EQ(runs[3].outcome.status, Status::error);
  EXPECT_EQ(detail_text(runs[3].outcome), "no device");
}

TEST(GoogleBenchmark, ANameMayEndInMean) {
  const auto runs =
      read_text(std::string(kHead) +
                "BM_row_mean                     807 ns          806 ns        84241\n"
                "BM_col_mean/8                   1.5 us          1.5 us         4000\n"
                "BM_agg_mean                     200 ms          200 ms            3\n"
                "BM_agg_median                   100 ms          100 ms            3\n"
                "BM_agg_stddev                   1.0 ms          1.0 ms            3\n");
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].facts.axes.at("benchmark"), "BM_row_mean");
  EXPECT_NEAR(runs[0].records[0].seconds, 84241 * 807e-9, 1e-12);
  EXPECT_EQ(runs[1].facts.axes.at("benchmark"), "BM_col_mean/8");
  EXPECT_EQ(runs[2].facts.axes.at("benchmark"), "BM_agg");
  ASSERT_EQ(runs[2].records.size(), 1u);
  EXPECT_NEAR(runs[2].records[0].seconds, 0.2, 1e-12);
}

TEST(GoogleBenchmark, ATimeOfZeroIsNoRateAndRowsNeedTheirHead) {
  const std::string row = "BM_T<float>                  0.000 s         0.000 s     25556304\n";
  const auto runs = read_text(kHead + row);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0].records.empty());
  EXPECT_NE(text_of(runs[0].notices[0]).find("shown as 0 of its unit"), std::string::npos);
  EXPECT_TRUE(read_text("gemm    12.5 ms   12.1 ms   100\n").empty());
}

TEST(GoogleBenchmark, ReadsTheTableOfTheFirstReleases) {
  const auto runs = read_text(
      "Benchmark                                  Time           CPU Iterations\n"
      "------------------------------------------------------------------------\n"
      "BM_gold<byte>/1024/real_time            6708 ns       6334 ns     103601   145.585MB/s\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[0].iterations, 103601);
}

}  // namespace
}  // namespace bertbench
