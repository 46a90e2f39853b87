#include "reports/deduce.h"

#include <gtest/gtest.h>

namespace bertbench {
namespace {

constexpr auto kLog = FactSource::log;

TEST(Deduce, OneGpuInAllIsOneNodeOfOne) {
  Facts facts;
  facts.world_size.set(1, kLog);
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  EXPECT_EQ(facts.nodes.value, 1);
  EXPECT_EQ(facts.gpus_per_node.value, 1);
  EXPECT_EQ(facts.nodes.source, kLog);
}

TEST(Deduce, SixteenGpusMayBeManyTopologiesSoNoneIsGuessed) {
  Facts facts;
  facts.world_size.set(16, kLog);
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  EXPECT_FALSE(facts.nodes.known());
  facts.nodes.set(2, FactSource::path);
  facts = deduce_facts(facts, notices);
  EXPECT_EQ(facts.gpus_per_node.value, 8);
}

TEST(Deduce, AccumulationFollowsFromTheGlobalBatch) {
  Facts facts;
  facts.global_batch_size.set(65536, kLog);
  facts.micro_batch_size.set(64, kLog);
  facts.nodes.set(1, kLog);
  facts.gpus_per_node.set(16, kLog);
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  EXPECT_EQ(facts.gradient_accumulation_steps.value, 64);
  EXPECT_EQ(sequences_per_iteration(facts, IterationUnit::micro_step), 1024);
  EXPECT_EQ(sequences_per_iteration(facts, IterationUnit::optimizer_step), 65536);
  EXPECT_FALSE(sequences_per_iteration(facts, IterationUnit::unknown)) << "64 micro-steps or one?";
}

TEST(Deduce, ADivisionWithARestProvesNothing) {
  Facts facts;
  facts.global_batch_size.set(100, kLog);
  facts.micro_batch_size.set(32, kLog);
  facts.world_size.set(1, kLog);
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  EXPECT_FALSE(facts.gradient_accumulation_steps.known());
}

TEST(Deduce, AContradictingGlobalBatchIsANotice) {
  Facts facts;
  facts.global_batch_size.set(48, kLog);
  facts.micro_batch_size.set(3, kLog);
  facts.gradient_accumulation_steps.set(1, kLog);
  facts.world_size.set(8, kLog);
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_NE(notices[0].text.find("stated as 48"), std::string::npos);
  EXPECT_EQ(facts.global_batch_size.value, 24);
}

TEST(Deduce, WithoutAccumulationAnUnknownCounterIsUnambiguous) {
  Facts facts;
  facts.micro_batch_size.set(8, kLog);
  facts.gradient_accumulation_steps.set(1, kLog);
  facts.world_size.set(4, kLog);
  std::vector<Notice> notices;
  EXPECT_EQ(sequences_per_iteration(deduce_facts(facts, notices), IterationUnit::unknown), 32);
}

}  // namespace
}  // namespace bertbench
