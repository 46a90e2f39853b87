#include "parsers/core/facts.h"

#include <gtest/gtest.h>

namespace bertbench {
namespace {

TEST(Facts, AProductThatNoJobReachesIsUnknown) {
  Facts facts;
  facts.nodes.set(std::int64_t{1} << 32, FactSource::log);
  facts.gpus_per_node.set(std::int64_t{1} << 32, FactSource::log);
  facts.micro_batch_size.set(8, FactSource::log);
  EXPECT_EQ(facts.world(), std::nullopt);
  EXPECT_EQ(facts.sequences_per_micro_step(), std::nullopt);
  EXPECT_EQ(product_of_counts({1 << 20, 1 << 20, 8}), std::int64_t{1} << 43);
  EXPECT_EQ(product_of_counts({1 << 20, 1 << 20, 1 << 20}), std::nullopt);
}

TEST(FactsFromPath, NamesOfCollectionsTellCardsAndPrecision) {
  const PathFacts paddle =
      facts_from_path("V100_LOG/PaddleNLP_bert_base_seqlen128_bs96_fp16_DP_N4C8_log");
  EXPECT_EQ(paddle.facts.nodes.value, 4);
  EXPECT_EQ(paddle.facts.gpus_per_node.value, 8);
  EXPECT_EQ(paddle.facts.precision.value, "fp16");
  EXPECT_FALSE(paddle.facts.micro_batch_size.known()) << "of a card or of all";
  const PathFacts all = facts_from_path("logs/base_bs32_fp32_gpu32_gradacc.log");
  EXPECT_EQ(all.facts.world(), 32);
  EXPECT_EQ(all.facts.precision.value, "fp32");
  EXPECT_FALSE(facts_from_path("logs/mxnet_gpu1_gpu8_fp32_bs96.txt").facts.world()) << "two runs";
  EXPECT_FALSE(facts_from_path("logs/train_gpu3.log").facts.world()) << "the fourth GPU's log";
  for (const char* gpu : {"logs/llama_b200.log", "nemo_b300_8.log", "esm_b100_bf16.log"}) {
    const PathFacts named = facts_from_path(gpu);
    EXPECT_FALSE(named.facts.micro_batch_size.known()) << gpu << ": a GPU";
    EXPECT_FALSE(named.facts.model.known()) << gpu;
  }
  EXPECT_EQ(facts_from_path("bert_b200_fp16_3.log").facts.micro_batch_size.value, 200);
  EXPECT_FALSE(facts_from_path("NC_N1C_nC2.log").facts.world());
}

TEST(PathFactsTest, ReadsADlperfTree) {
  const PathFacts path = facts_from_path("./logs/mxnet/bert/bz32/4n8g/bert_b32_fp16_3.log");
  EXPECT_EQ(path.facts.nodes.value, 4);
  EXPECT_EQ(path.facts.gpus_per_node.value, 8);
  EXPECT_EQ(path.facts.micro_batch_size.value, 32);
  EXPECT_EQ(path.facts.model.value, "bert");
  EXPECT_EQ(path.facts.precision.value, "fp16");
  EXPECT_EQ(path.trial, 3);
  EXPECT_EQ(path.facts.nodes.source, FactSource::path);
}

TEST(PathFactsTest, TwoDigitNodesAndLongModelNamesAreRead) {
  const PathFacts path = facts_from_path("16n8g/bert_base_b128_fp32_12.log.gz");
  EXPECT_EQ(path.facts.world(), 128);
  EXPECT_EQ(path.facts.model.value, "bert-base");
  EXPECT_EQ(path.facts.micro_batch_size.value, 128);
  EXPECT_EQ(path.trial, 12);
}

TEST(PathFactsTest, NothingIsReadFromNamesThatOnlyLookAlike) {
  const PathFacts path = facts_from_path("/home/1n1gx/b32/run_fp16_7.log");
  EXPECT_FALSE(path.facts.nodes.known());
  EXPECT_FALSE(path.facts.micro_batch_size.known());
  EXPECT_FALSE(path.facts.precision.known())
      << "a precision without a batch in the name is a guess";
  EXPECT_FALSE(path.trial);
}

TEST(FactsTest, GlobalBatchNeedsEveryFactor) {
  Facts facts;
  facts.micro_batch_size.set(64, FactSource::log);
  facts.nodes.set(2, FactSource::path);
  EXPECT_FALSE(facts.sequences_per_micro_step());
  facts.gpus_per_node.set(8, FactSource::path);
  EXPECT_EQ(facts.sequences_per_micro_step(), 1024);
  EXPECT_FALSE(facts.sequences_per_optimizer_step()) << "accumulation is unknown, not 1";
  facts.gradient_accumulation_steps.set(64, FactSource::log);
  EXPECT_EQ(facts.sequences_per_optimizer_step(), 65536);
}

TEST(FactsTest, AStatedGlobalBatchGivesTheMicroStepOnlyIfItDivides) {
  Facts facts;
  facts.global_batch_size.set(65536, FactSource::log);
  facts.gradient_accumulation_steps.set(64, FactSource::log);
  EXPECT_EQ(facts.sequences_per_micro_step(), 1024);
  facts.gradient_accumulation_steps.set(3, FactSource::log);
  EXPECT_FALSE(facts.sequences_per_micro_step());
}

TEST(FactsTest, DisagreementIsANoticeAndTheBetterSourceWins) {
  Facts log, path;
  log.micro_batch_size.set(48, FactSource::log);
  path.micro_batch_size.set(32, FactSource::path);
  path.nodes.set(4, FactSource::path);
  std::vector<Notice> notices;
  const Facts merged = merge_facts(log, path, notices);
  EXPECT_EQ(merged.micro_batch_size.value, 48);
  EXPECT_EQ(merged.nodes.value, 4);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(text_of(notices[0]), "micro_batch_size is 48 by the log but 32 by the path; used 48");
}

// `--nodes 2` for a log of one GPU would double the rate that is computed from its steps.
TEST(FactsTest, NodesThatDoNotMakeTheNumberOfGpusAreANotice) {
  const auto text_of_merge = [](const Facts& better, const Facts& worse, std::int64_t world) {
    std::vector<Notice> notices;
    EXPECT_EQ(merge_facts(better, worse, notices).world(), world);
    std::string out;
    for (const Notice& notice : notices) out += text_of(notice);
    return out;
  };
  Facts given, log, path;
  given.nodes.set(2, FactSource::command_line);
  log.gpus_per_node.set(1, FactSource::log);
  log.world_size.set(1, FactSource::log);
  EXPECT_EQ(text_of_merge(given, log, 2),
            "world_size is 2 by the command line but 1 by the log; used 2");
  log.world_size.set(2, FactSource::log);
  EXPECT_EQ(text_of_merge(given, log, 2), "");
  log.gpus_per_node = {};
  EXPECT_EQ(text_of_merge(given, log, 2), "");
  log.world_size.set(3, FactSource::log);
  EXPECT_EQ(text_of_merge(given, log, 3),
            "nodes is 2 by the command line but of 3 GPUs in all by the log; used 2");
  path.nodes.set(4, FactSource::path);
  path.gpus_per_node.set(8, FactSource::path);
  EXPECT_EQ(text_of_merge(log, path, 3), "world_size is 3 by the log but 32 by the path; used 3");
  log.world_size.set(32, FactSource::log);
  EXPECT_EQ(text_of_merge(log, path, 32), "");
}

}  // namespace
}  // namespace bertbench
