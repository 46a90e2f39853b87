#include "reports/measure/deduced_facts.h"

#include <gtest/gtest.h>

namespace bertbench {
namespace {

constexpr auto kLog = FactSource::log;

using Count = Fact<std::int64_t> Facts::*;

/// What a log stated.
Facts logged(std::initializer_list<std::pair<Count, std::int64_t>> counts) {
  Facts facts;
  for (const auto& [count, value] : counts) (facts.*count).set(value, kLog);
  return facts;
}

TEST(Deduce, OneGpuInAllIsOneNodeOfOne) {
  Facts facts = logged({{&Facts::world_size, 1}});
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  EXPECT_EQ(facts.nodes.value, 1);
  EXPECT_EQ(facts.gpus_per_node.value, 1);
  EXPECT_EQ(facts.nodes.source, kLog);
}

TEST(Deduce, OneGpuByTheBatchesIsOneNodeOfOneToo) {
  const auto facts_of = [](std::int64_t global) {
    std::vector<Notice> notices;
    return deduce_facts(logged({{&Facts::global_batch_size, global},
                                {&Facts::micro_batch_size, 4},
                                {&Facts::gradient_accumulation_steps, 4}}),
                        notices);
  };
  EXPECT_EQ(facts_of(16).world_size.value, 1);
  EXPECT_EQ(facts_of(16).nodes.value, 1);
  EXPECT_EQ(facts_of(32).world_size.value, 2);
  EXPECT_FALSE(facts_of(32).nodes.known());
}

TEST(Deduce, SixteenGpusMayBeManyTopologiesSoNoneIsGuessed) {
  Facts facts = logged({{&Facts::world_size, 16}});
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  EXPECT_FALSE(facts.nodes.known());
  facts.nodes.set(2, FactSource::path);
  facts = deduce_facts(facts, notices);
  EXPECT_EQ(facts.gpus_per_node.value, 8);
}

TEST(Deduce, AccumulationFollowsFromTheGlobalBatch) {
  Facts facts = logged({{&Facts::global_batch_size, 65536},
                        {&Facts::micro_batch_size, 64},
                        {&Facts::nodes, 1},
                        {&Facts::gpus_per_node, 16}});
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  EXPECT_EQ(facts.gradient_accumulation_steps.value, 64);
  EXPECT_EQ(sequences_per_iteration(facts, IterationUnit::micro_step), 1024);
  EXPECT_EQ(sequences_per_iteration(facts, IterationUnit::optimizer_step), 65536);
  EXPECT_FALSE(sequences_per_iteration(facts, IterationUnit::unknown)) << "64 micro-steps or one?";
}

TEST(Deduce, AModelThatIsSplitTakesABatchPerReplica) {
  Facts facts = logged({{&Facts::global_batch_size, 256},
                        {&Facts::gradient_accumulation_steps, 32},
                        {&Facts::world_size, 8}});
  facts.axes["data_parallel"] = "4";
  std::vector<Notice> notices;
  EXPECT_FALSE(deduce_facts(facts, notices).micro_batch_size.known()) << "2 of a replica, not 1";
  facts.micro_batch_size.set(2, FactSource::path);
  EXPECT_EQ(deduce_facts(facts, notices).global_batch_size.value, 256);
  EXPECT_TRUE(notices.empty());
  // A number of replicas that is none, or not fewer than GPUs, is no split.
  for (const char* axis : {"4x", "x", "0", "-2", "8", "99999999999999999999"}) {
    Facts odd = facts;
    odd.axes["data_parallel"] = axis;
    std::vector<Notice> of_odd;
    EXPECT_EQ(deduce_facts(odd, of_odd).global_batch_size.value, 512) << axis;
  }
  // Nor are the GPUs of one derived from its batches.
  Facts unknown = facts;
  unknown.world_size = {};
  EXPECT_FALSE(deduce_facts(unknown, notices).world().has_value());
  facts.gradient_accumulation_steps = {};
  EXPECT_EQ(deduce_facts(facts, notices).gradient_accumulation_steps.value, 32);
}

TEST(Deduce, ADivisionWithARestProvesNothing) {
  Facts facts = logged(
      {{&Facts::global_batch_size, 100}, {&Facts::micro_batch_size, 32}, {&Facts::world_size, 1}});
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  EXPECT_FALSE(facts.gradient_accumulation_steps.known());
  // Nor do counts of nothing, or more sequences than a number holds.
  facts = deduce_facts(logged({{&Facts::world_size, 8}, {&Facts::nodes, 0}}), notices);
  EXPECT_FALSE(facts.gpus_per_node.known());
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  facts = deduce_facts(logged({{&Facts::micro_batch_size, kMany},
                               {&Facts::gradient_accumulation_steps, kMany},
                               {&Facts::world_size, 8}}),
                       notices);
  EXPECT_FALSE(facts.global_batch_size.known());
}

TEST(Deduce, WhatIsStatedStaysAndKeepsItsSource) {
  std::vector<Notice> notices;
  Facts facts = logged({{&Facts::micro_batch_size, 8},
                        {&Facts::gradient_accumulation_steps, 1},
                        {&Facts::world_size, 1},
                        {&Facts::gpus_per_node, 2},
                        {&Facts::nodes, 1},
                        {&Facts::global_batch_size, 16}});
  facts.micro_batch_size.source = FactSource::path;
  facts = deduce_facts(facts, notices);
  EXPECT_EQ(facts.gpus_per_node.value, 2);
  EXPECT_EQ(facts.global_batch_size.source, FactSource::log);
  EXPECT_TRUE(notices.empty());
}

TEST(Deduce, AContradictingGlobalBatchIsANotice) {
  Facts facts = logged({{&Facts::global_batch_size, 48},
                        {&Facts::micro_batch_size, 3},
                        {&Facts::gradient_accumulation_steps, 1},
                        {&Facts::world_size, 8}});
  std::vector<Notice> notices;
  facts = deduce_facts(facts, notices);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_NE(text_of(notices[0]).find("stated as 48"), std::string::npos);
  EXPECT_EQ(facts.global_batch_size.value, 24);
}

TEST(Deduce, WithoutAccumulationAnUnknownCounterIsUnambiguous) {
  Facts facts = logged({{&Facts::micro_batch_size, 8},
                        {&Facts::gradient_accumulation_steps, 1},
                        {&Facts::world_size, 4}});
  std::vector<Notice> notices;
  EXPECT_EQ(sequences_per_iteration(deduce_facts(facts, notices), IterationUnit::unknown), 32);
}

TEST(Deduce, ACounterOfSequencesIsThatOfTheJobOrOfOneProcess) {
  EXPECT_EQ(sequences_per_iteration({}, IterationUnit::process_sequence), 1);
  const Facts facts = logged({{&Facts::nodes, 2}, {&Facts::gpus_per_node, 4}});
  EXPECT_EQ(sequences_per_iteration(facts, IterationUnit::process_sequence), 8);
  EXPECT_EQ(sequences_per_iteration(facts, IterationUnit::sequence), 1);
  EXPECT_FALSE(sequences_per_iteration(facts, IterationUnit::token));
}

}  // namespace
}  // namespace bertbench
