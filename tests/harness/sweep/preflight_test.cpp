#include "harness/sweep/execute/preflight.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace bertbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Four nodes of two rates each, started at 100 s and ended at 101 s by this machine's clock.
std::vector<NodeReading> four_nodes() {
  std::string printed = "Warning: a banner\n";
  for (int node = 0; node < 4; ++node) {
    printed += "[1," + std::to_string(node) + R"(]<stdout>:{"node_probe": 1, "node": )" +
               std::to_string(node) + R"(, "host": "gpu0)" + std::to_string(node) +
               R"(", "gflops": )" + (node == 2 ? "60" : "100") +
               R"(, "copy_gb_s": 10, "clock_mhz": 2900, "findings": [{"subject": "load", )"
               R"("text": "3 on 2 cores"}], "begin_s": )" +
               (node == 3 ? "130.2, \"end_s\": 130.8" : "100.2, \"end_s\": 100.8") + "}\n";
  }
  return readings_in(printed, 100, 101);
}

TEST(Preflight, ReadsWhatNodesPrintBetweenOtherLines) {
  const auto readings = four_nodes();
  ASSERT_EQ(readings.size(), 4u);
  EXPECT_EQ(readings[1].host, "gpu01");
  EXPECT_EQ(readings[1].clock_mhz, 2900);
  EXPECT_THAT(readings[1].findings, ElementsAre("load: 3 on 2 cores"));
  EXPECT_NEAR(readings[1].skew_low_s, -0.2, 1e-9);
  EXPECT_NEAR(readings[1].skew_high_s, 0.2, 1e-9);
}

TEST(Preflight, NamesWhatIsFarBelowTheOthersAndAClockThatIsSurelyOff) {
  auto readings = four_nodes();
  name_outliers(readings);
  EXPECT_THAT(readings[0].outliers, IsEmpty());
  EXPECT_THAT(readings[2].outliers, ElementsAre("GEMM 40 % below the median of the others"));
  EXPECT_THAT(readings[3].outliers, ElementsAre("clock at least 29.8 s before this machine's"));
}

TEST(Preflight, OneNodeHasNobodyToBeComparedWith) {
  auto readings = four_nodes();
  readings.resize(1);
  readings[0].gflops = 1;
  name_outliers(readings);
  EXPECT_THAT(readings[0].outliers, IsEmpty());
}

TEST(Preflight, WhatIsNoReadingIsLeftOut) {
  for (
      const char* text :
      {"", "{\"node_probe\": 1", "{\"node_probe\": 1}", "{\"node_probe\": []}",
       R"({"node_probe": 1, "node": -1, "gflops": 1, "copy_gb_s": 1, "begin_s": 1, "end_s": 2})",
       R"({"node_probe": 1, "node": 1e9, "gflops": 1, "copy_gb_s": 1, "begin_s": 1, "end_s": 2})",
       R"({"node_probe": 1, "node": 0, "gflops": 0, "copy_gb_s": 1, "begin_s": 1, "end_s": 2})",
       R"({"node_probe": 1, "node": 0, "gflops": "x", "copy_gb_s": 1, "begin_s": 1, "end_s": 2})"}) {
    EXPECT_TRUE(readings_in(text, 0, 1).empty()) << text;
  }
  EXPECT_EQ(readings_in(R"({"node_probe": 1, "node": 0, "gflops": 1, "copy_gb_s": 1, "begin_s": 1,)"
                        R"( "end_s": 2, "findings": 7, "host": {}})",
                        0, 1)
                .size(),
            1u);
}

TEST(Preflight, AResultHoldsWhatWasNamed) {
  Preflight preflight;
  preflight.created = "2026-11-27T09:00:00Z";
  preflight.launcher = "ssh";
  preflight.nodes = 5;
  preflight.readings = four_nodes();
  preflight.silent = {4};
  name_outliers(preflight.readings);
  const auto summary = preflight_summary(to_json(preflight).dump());
  EXPECT_EQ(summary["created"], "2026-11-27T09:00:00Z");
  EXPECT_EQ(summary["nodes"], 4);
  EXPECT_EQ(summary["silent"], nlohmann::ordered_json::array({4}));
  ASSERT_EQ(summary["outliers"].size(), 2u);
  EXPECT_THAT(summary["outliers"][0].get<std::string>(), HasSubstr("node 2 (gpu02): GEMM 40 %"));
  for (const char* text : {"", "[]", "{}", "{\"nodes\": 3}"}) {
    EXPECT_TRUE(preflight_summary(text).is_null()) << text;
  }
  EXPECT_TRUE(preflight_summary(R"({"nodes": [3, {"outliers": 4}, {"outliers": [5]}]})")["outliers"]
                  .empty());
}

TEST(Preflight, WhatASweepWouldRefuseIsRefused) {
  EXPECT_FALSE(run_preflight({.launcher = "carrier-pigeon", .sets = {}, .nodes = 1}));
  EXPECT_FALSE(run_preflight({.launcher = "ssh", .sets = {"hosts=[\"a\"]"}, .nodes = 2}));
  EXPECT_FALSE(run_preflight({.launcher = "local", .sets = {"no_such_key=1"}, .nodes = 1}));
}

}  // namespace
}  // namespace bertbench
