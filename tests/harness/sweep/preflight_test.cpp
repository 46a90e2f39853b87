#include "harness/sweep/execute/preflight.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <utility>

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

TEST(Preflight, NodesOfOneNumberAreReadAloneAndInPairs) {
  const auto read = [](const std::string& node) {
    const std::string rates = R"(, "gflops": 1, "copy_gb_s": 1, "begin_s": 1, "end_s": 2})";
    return std::pair(
        readings_in(R"({"node_probe": 1, "node": )" + node + rates, 1, 2).size(),
        pairs_in(R"({"pair_probe": 1, "nodes": [0, )" + node + R"(], "gb_s": 2})").size());
  };
  EXPECT_EQ(read("999999"), std::pair(std::size_t{1}, std::size_t{1}));
  EXPECT_EQ(read("1000000"), std::pair(std::size_t{0}, std::size_t{0}));
}

TEST(Preflight, NamesWhatIsFarBelowTheOthersAndAClockThatIsSurelyOff) {
  auto readings = four_nodes();
  std::vector<PairReading> pairs;
  name_outliers(readings, pairs);
  EXPECT_THAT(readings[0].outliers, IsEmpty());
  EXPECT_THAT(readings[2].outliers, ElementsAre("GEMM 40 % below the median of the others"));
  EXPECT_THAT(readings[3].outliers, ElementsAre("clock at least 29.8 s before this machine's"));
}

/// A ring of four nodes with these rates.
std::vector<PairReading> ring(const std::vector<double>& gb_s) {
  std::string printed = "banner\n";
  for (std::size_t i = 0; i < gb_s.size(); ++i) {
    printed += "[1,0]<stdout>:" +
               nlohmann::ordered_json{
                   {"pair_probe", 1}, {"nodes", {i, (i + 1) % gb_s.size()}}, {"gb_s", gb_s[i]}}
                   .dump() +
               "\n";
  }
  return pairs_in(printed);
}

TEST(Preflight, ANodeIsNamedWhereBothItsPairsAreSlow) {
  auto readings = four_nodes();
  for (NodeReading& reading : readings) reading.gflops = 100;
  auto pairs = ring({1.0, 0.5, 0.5, 1.01});  // 0-1, 1-2, 2-3, 3-0
  ASSERT_EQ(pairs.size(), 4u);
  name_outliers(readings, pairs);
  EXPECT_EQ(pairs[0].outlier, "");
  EXPECT_EQ(pairs[1].outlier, "all-reduce 50 % below the median of the other pairs");
  EXPECT_THAT(readings[2].outliers, ElementsAre("all-reduce slow with both neighbours"));
  for (const std::size_t other : {0u, 1u}) EXPECT_THAT(readings[other].outliers, IsEmpty());
  // One slow link names the pair, and neither of its nodes.
  readings = four_nodes();
  for (NodeReading& reading : readings) reading.gflops = 100;
  pairs = ring({1.0, 0.5, 1.0, 1.01});
  name_outliers(readings, pairs);
  EXPECT_NE(pairs[1].outlier, "");
  EXPECT_THAT(readings[1].outliers, IsEmpty());
  EXPECT_THAT(readings[2].outliers, IsEmpty());
}

TEST(Preflight, OfAPairTheRateCountsAndWhatIsNoPairIsLeftOut) {
  const auto pairs = pairs_in(R"({"pair_probe": 1, "nodes": [0, 1], "problem": "x"})"
                              "\n"
                              R"({"pair_probe": 1, "nodes": [0, 1], "gb_s": 2})"
                              "\n"
                              R"({"pair_probe": 1, "nodes": [1, 2], "problem": "no route"})");
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].gb_s, 2.0);
  EXPECT_EQ(pairs[1].gb_s, std::nullopt);
  EXPECT_EQ(pairs[1].problem, "no route");
  for (const char* text :
       {"", "{\"pair_probe\": 1", R"({"pair_probe": 1, "nodes": [0], "gb_s": 2})",
        R"({"pair_probe": 1, "nodes": [0, -1], "gb_s": 2})",
        R"({"pair_probe": 1, "nodes": [0, 1e30], "gb_s": 2})",
        R"({"pair_probe": 1, "nodes": ["0", "1"], "gb_s": 2})",
        R"({"pair_probe": 1, "nodes": [0, 1], "gb_s": 0})",
        R"({"pair_probe": 1, "nodes": [0, 1]})"}) {
    EXPECT_THAT(pairs_in(text), IsEmpty()) << text;
  }
}

TEST(Preflight, OneNodeHasNobodyToBeComparedWith) {
  auto readings = four_nodes();
  readings.resize(1);
  readings[0].gflops = 1;
  std::vector<PairReading> pairs;
  name_outliers(readings, pairs);
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
  preflight.pairs = pairs_in(R"({"pair_probe": 1, "nodes": [0, 1], "gb_s": 2})"
                             "\n"
                             R"({"pair_probe": 1, "nodes": [1, 2], "gb_s": 1})"
                             "\n"
                             R"({"pair_probe": 1, "nodes": [2, 3], "problem": "no route"})");
  name_outliers(preflight.readings, preflight.pairs);
  const auto summary = preflight_summary(to_json(preflight).dump());
  EXPECT_EQ(summary["created"], "2026-11-27T09:00:00Z");
  EXPECT_EQ(summary["nodes"], 4);
  EXPECT_EQ(summary["silent"], nlohmann::ordered_json::array({4}));
  ASSERT_EQ(summary["outliers"].size(), 4u);
  EXPECT_EQ(summary["outliers"][2],
            "nodes 1 and 2: all-reduce 50 % below the median of the other pairs");
  EXPECT_EQ(summary["outliers"][3], "nodes 2 and 3: no all-reduce: no route");
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
