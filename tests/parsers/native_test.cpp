#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

const std::string kHeader =
    R"({"type":"header","format":"bert_train/1","framework":"bert_train","model":"bert-tiny",)"
    R"("precision":"fp32","micro_batch_size":2,"gradient_accumulation_steps":3,"sequence_length":64,)"
    R"("nodes":2,"gpus_per_node":4,"world_size":8,"global_batch_size":48,"last_step":4,)"
    R"("versions":{"bert_train":"0.1.0"}})"
    "\n";

std::string step(int n, double seconds, double elapsed, const std::string& loss = "10.5",
                 int steps = 1) {
  return R"({"type":"step","step":)" + std::to_string(n) + R"(,"steps":)" + std::to_string(steps) +
         R"(,"seconds":)" + std::to_string(seconds) + R"(,"sequences_per_second":)" +
         std::to_string(48 / seconds) + R"(,"loss":)" + loss + R"(,"elapsed":)" +
         std::to_string(elapsed) + "}\n";
}

TEST(Native, ReadsFactsStepsAndSummary) {
  const auto runs = read_text(
      kHeader + step(2, 0.5, 1.25, "10.5", 2) + step(4, 0.25, 1.75, "10.25", 2) +
      R"({"type":"summary","outcome":"completed","step":4,"steps":4,"sequences":192,"training_s":1.5,)"
      R"("wall_s":2.0,"sequences_per_second":128.0,"peak_bytes":1000})"
      "\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.facts.model.value, "bert-tiny");
  EXPECT_EQ(run.facts.world(), 8);
  EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 48);
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.records[1].iterations, 2);
  EXPECT_EQ(run.records[1].seconds, 0.5) << "two steps of 0.25 s";
  EXPECT_EQ(run.records[1].time_s, 0.5);
  EXPECT_EQ(run.records[1].loss, 10.25);
  EXPECT_EQ(run.summary->value, 128);
  EXPECT_EQ(run.totals.training_s, 1.5);
  EXPECT_EQ(run.memory->peak_bytes, 1000);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_TRUE(run.notices.empty());
}

TEST(Native, ReadsANonFiniteLossAsNanAtItsStep) {
  const auto runs =
      read_text(kHeader + step(1, 1, 1) + step(2, 1, 2, "\"inf\"") + step(3, 1, 3, "\"nan\""));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].first_nan_step, 2);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.line, 3);
}

TEST(Native, IsKilledWhenItsSummarySaysInterrupted) {
  const auto runs =
      read_text(kHeader + step(1, 1, 1) +
                R"({"type":"summary","outcome":"interrupted","signal":15,"step":1,"steps":1,)"
                R"("sequences":48,"training_s":1.0})"
                "\n");
  EXPECT_EQ(runs[0].outcome.status, Status::killed);
  EXPECT_EQ(detail_text(runs[0].outcome), "signal 15");
}

TEST(Native, IsTruncatedWithoutASummaryUnlessItReachedItsPlan) {
  EXPECT_EQ(read_text(kHeader + step(1, 1, 1)).at(0).outcome.status, Status::truncated);
  EXPECT_EQ(read_text(kHeader).at(0).outcome.status, Status::no_data);
  EXPECT_EQ(read_text(kHeader + step(4, 1, 1)).at(0).outcome.status, Status::completed);
}

TEST(Native, SeparatesRunsAtTheirHeaders) {
  const auto runs =
      read_text(kHeader + step(1, 1, 1) + step(2, 1, 2) + kHeader + step(3, 1, 1) + step(4, 1, 2));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].records.front().step, 3) << "a resumed run goes on with the counter";
  EXPECT_EQ(runs[1].first_line, 4);
}

TEST(Native, TakesTheMedianOverRanksAndTheirSpread) {
  const auto runs =
      read_text("[1,0]<stdout>:" + step(1, 1.0, 1) + "[1,1]<stdout>:" + step(1, 1.5, 1) +
                "[1,2]<stdout>:" + step(1, 2.0, 1) + "[1,0]<stdout>:" + step(2, 1.0, 2) +
                "[1,2]<stdout>:" + step(2, 1.0, 2) + "[1,1]<stdout>:" + step(2, 1.0, 2));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].seconds, 1.5);
  EXPECT_NEAR(runs[0].records[0].rank_spread, 1.0 / 1.5, 1e-12);
  EXPECT_EQ(runs[0].records[1].rank_spread, 0);
}

TEST(Native, LeavesOtherJsonAlone) {
  EXPECT_TRUE(read_text(R"({"type":"step","step":1,"loss":2})"
                        "\n"
                        R"({"type":"header","format":"other/1"})"
                        "\n"
                        R"({"type":"summary","outcome":"completed"})"
                        "\n"
                        R"({"type":"step","step":"x")"
                        "\n")
                  .empty());
}

TEST(Native, DropsALineThatIsCutByTheEndOfInput) {
  const std::string log = kHeader + step(1, 1, 1) + step(2, 1, 2);
  const auto runs = read_text(std::string_view(log).substr(0, log.size() - 3));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.size(), 1u);
}

TEST(Native, RecognisesALogThatHoldsNothingButItsFailure) {
  const auto runs = read_text(
      "bert_train: rank 0: out of memory: bert-large at micro-batch 100000 needs 22161152 MiB\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::out_of_memory);
  EXPECT_EQ(runs[0].outcome.line, 1);
  EXPECT_TRUE(runs[0].records.empty());
  EXPECT_EQ(runs[0].facts.framework.value, "bert_train");
}

std::string header_with(const std::string& more) {
  return kHeader.substr(0, kHeader.size() - 2) + "," + more + "}\n";
}

TEST(Native, TakesTheIdentityOfItsOptionsFromTheCommandLine) {
  const auto runs = read_text(
      header_with(R"("optimizer":"lamb","command":["/b/bert_train","--model","bert-tiny",)"
                  R"("--threads","2","--timings","t.jsonl","--optimizer","lamb",)"
                  R"("--learning-rate=2e-3","--dropout","0.10","--activation-checkpointing"])") +
      step(1, 1, 1));
  EXPECT_EQ(runs.at(0).facts.axes,
            (std::map<std::string, std::string>{{"optimizer", "lamb"},
                                                {"activation_checkpointing", "true"}}));
}

const char* const kSimulated =
    R"("simulated":true,"simulated_topology":"4n8g","command":["bert_train","--comm","sim",)"
    R"("--sim-topology","4n8g","--sim-cross-gbps","25"])";

TEST(Native, ASimulatedClusterIsTheJob) {
  std::string header = header_with(kSimulated);
  header.replace(header.find("\"nodes\":2"), 9, "\"nodes\":4");
  header.replace(header.find("\"gpus_per_node\":4"), 17, "\"gpus_per_node\":8");
  header.replace(header.find("\"world_size\":8"), 14, "\"world_size\":32");
  header.replace(header.find("\"global_batch_size\":48"), 22, "\"global_batch_size\":192");
  const auto runs = read_text(header + step(1, 1, 1));
  const Facts& facts = runs.at(0).facts;
  EXPECT_EQ(facts.axes,
            (std::map<std::string, std::string>{{"sim_cross_gbps", "25"}, {"simulated", "true"}}));
  EXPECT_EQ(facts.nodes.value, 4);
  EXPECT_EQ(facts.gpus_per_node.value, 8);
  EXPECT_EQ(facts.sequences_per_optimizer_step(), 192);
  EXPECT_EQ(runs[0].records.at(0).printed_rate, 48) << "as it is printed";
  EXPECT_TRUE(runs[0].notices.empty());
}

// Up to version 0.1 the header and the rates were of the ranks that ran: 8 of the 32 GPUs.
TEST(Native, OfAnOlderSimulationTheRatesBecomeTheWholeJobs) {
  const auto runs =
      read_text(header_with(kSimulated) + step(1, 1, 1) +
                R"({"type":"summary","outcome":"completed","step":1,"steps":1,"sequences":48,)"
                R"("training_s":1.0,"sequences_per_second":48.0})"
                "\n");
  EXPECT_EQ(runs.at(0).facts.world(), 32);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 192);
  EXPECT_EQ(runs[0].records.at(0).printed_rate, 192);
  EXPECT_EQ(runs[0].summary->value, 192);
  EXPECT_EQ(runs[0].totals.sequences, 192);
}

TEST(BertTrain, OtherLogStylesTellTheSameIdentityByTheirCommandLine) {
  const std::string bar = "Iteration: 100%|##########| 4/4 [00:04<00:00,  1.00it/s]\n";
  const auto runs = read_text(
      "+ /b/bert_train --model bert-tiny --precision fp32 --micro-batch-size 2 "
      "--gradient-accumulation-steps 1 --sequence-length 64 --steps 4 --expect-world-size 1 "
      "--log-style tqdm --comm sim --sim-topology 4n8g --optimizer lamb\n"
      "  World size = 32\n  Simulated cluster = 4n8g\n"
      "Iteration:  25%|##5       | 1/4 [00:01<00:03,  1.00it/s]\n" +
      bar);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.axes,
            (std::map<std::string, std::string>{{"optimizer", "lamb"}, {"simulated", "true"}}));
  EXPECT_EQ(runs[0].facts.world(), 32);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 2);
  for (const auto& notice : runs[0].notices) {
    EXPECT_EQ(text_of(notice).find("world size"), std::string::npos) << text_of(notice);
  }
}

TEST(LiveView, FollowsTheRun) {
  LogReader reader({}, "-");
  EXPECT_EQ(reader.live().records, 0);
  reader.feed(kHeader + step(1, 1, 1) + step(2, 1, 2));
  const LiveView view = reader.live();
  EXPECT_EQ(view.records, 2);
  EXPECT_EQ(view.last_step, 2);
  EXPECT_EQ(view.recent_rate, 48);
  EXPECT_EQ(view.unit, RateUnit::sequences_per_second);
  EXPECT_EQ(view.last_loss, 10.5);
  EXPECT_FALSE(view.trouble);
  reader.feed(step(3, 1, 3, "\"nan\""));
  ASSERT_TRUE(reader.live().trouble);
  EXPECT_EQ(reader.live().trouble->status, Status::nan);
  reader.feed("bert_train: out of memory: needs 5 GiB\n");
  EXPECT_EQ(reader.live().trouble->status, Status::out_of_memory);
}

}  // namespace
}  // namespace bertbench
