#include <gtest/gtest.h>

#include "parsers/core/outcome.h"
#include "parsers/core/topology.h"
#include "parsers/core/window_rule.h"

namespace bertbench {
namespace {

TEST(TopologyTest, ReadsNnGgAndNothingElse) {
  const auto topology = parse_topology("4n8g").value();
  EXPECT_EQ(topology.world_size(), 32);
  EXPECT_EQ(topology.str(), "4n8g");
  for (const char* bad : {"", "n", "g", "0n8g", "4n0g", "-1n8g", "4n8", "n8g", "4ng", "4x8",
                          "4n8gg", " 4n8g", "4n8g ", "9999999n1g", "4n8n1g", "1e3n1g"}) {
    EXPECT_FALSE(parse_topology(bad)) << bad;
  }
}

TEST(WindowRuleTest, EveryFormRoundTrips) {
  for (const char* text : {"100:200", "steps:20:60", "last:15", "auto", "all", "0:1"}) {
    const auto rule = parse_window(text);
    ASSERT_TRUE(rule) << text;
    EXPECT_EQ(rule->str(), text);
    EXPECT_TRUE(rule->chosen_by_user);
  }
  EXPECT_FALSE(WindowRule{}.chosen_by_user);
}

TEST(WindowRuleTest, AnImpossibleWindowNamesTheForms) {
  for (const char* bad : {"", "200:100", "5:5", "-1:4", "steps:", "steps:9", "last:0",
                          "last:", "most", "1:2:3", "a:b", "1 :2"}) {
    const auto rule = parse_window(bad);
    ASSERT_FALSE(rule) << bad;
    EXPECT_NE(rule.error().message().find("last:N"), std::string::npos);
  }
}

TEST(OutcomeTest, EveryWordRoundTrips) {
  for (const char* word : {"completed", "nan", "out_of_memory", "error", "killed", "timeout",
                           "stalled", "truncated", "no_data"}) {
    const auto status = parse_status(word);
    ASSERT_TRUE(status) << word;
    EXPECT_EQ(name(*status), word);
    EXPECT_EQ(is_failure(*status), std::string(word) != "completed");
  }
  EXPECT_FALSE(parse_status("passed"));
}

}  // namespace
}  // namespace bertbench
