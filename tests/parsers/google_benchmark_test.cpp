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
  EXPECT_EQ(runs[0].outcome.detail, "no device");
}

TEST(GoogleBenchmark, SaysWhatTheTimeOfSeveralThreadsMayBe) {
  std::string text = entry("gelu/threads:4", "iteration", "2.5e+00", "us");
  text.replace(text.find("\"threads\": 1"), 12, "\"threads\": 4");
  const auto runs = read_text("{\n  \"benchmarks\": [\n" + text + "  ]\n}\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].notices.size(), 2u);
  EXPECT_NE(runs[0].notices[1].text.find("of one thread or of all"), std::string::npos);
}

}  // namespace
}  // namespace bertbench
