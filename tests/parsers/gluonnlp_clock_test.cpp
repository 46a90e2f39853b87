#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// Saving began where the evaluation's line stands, and ended where its own does.
TEST(Gluonnlp, TakesSavingBehindAnEvaluationOffTheClock) {
  const auto epoch = [](const std::string& n, int begin) {
    const auto at = [&](int second) {
      return "INFO:root:23:59:" + std::to_string(begin + second) + " ";
    };
    return at(1) + "[Epoch " + n + " Batch 10/20] loss=0.5, lr=0.00001, metrics=accuracy:0.7\n" +
           at(2) + "[Epoch " + n + " Batch 20/20] loss=0.4, lr=0.00001, metrics=accuracy:0.7\n" +
           at(4) + "Time cost=2.00s, throughput=100.00 samples/s\n" + at(11) +
           "params saved in: ./out/model_" + n + ".params\n" + at(11) + "Time cost=11.0s\n";
  };
  const auto runs = read_text(epoch("1", 10) + epoch("2", 21) + epoch("3", 32));
  ASSERT_GE(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 6u);
  EXPECT_NEAR(records[5].time_s - records[0].time_s, 5, 1e-9) << "a second for ten batches";
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("and of saving behind them"));
}

// Of these lines without stamps the evaluation's own time is taken off the epoch's.
TEST(Gluonnlp, TakesEvaluationsOffTheTimesOfEpochs) {
  const auto epoch = [](const std::string& n) {
    return "INFO:root:[Epoch " + n +
           " Batch 100/120] loss=0.25, lr=0.00001, metrics=accuracy:0.8\n" +
           "INFO:root:Time cost=4.50s, throughput=60.00 samples/s\n" +
           "INFO:root:params saved in: ./out/model.params\nINFO:root:Time cost=34.5s\n";
  };
  const auto runs = read_text(epoch("1") + epoch("2"));
  ASSERT_GE(runs.size(), 1u);
  EXPECT_EQ(runs[0].totals.training_s, 60);
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices[0]), testing::HasSubstr("epochs hold saving"));
}

// The first script for SQuAD tells no time of its prediction; "gpu=True" is one GPU.
TEST(Gluonnlp, TrainedWhereThePredictionBegins) {
  const auto log = [](const std::string& epoch) {
    const std::string head = "INFO:gluonnlp:07:05:1";
    return head +
           "0 Namespace(accumulate=None, batch_size=8, epochs=2, gpu=True, log_interval=50)\n" +
           head + "4 Epoch: " + epoch + ", Batch: 49/120, Loss=2.5, lr=0.00001 Time cost=4.0\n" +
           head + "8 Epoch: " + epoch + ", Batch: 99/120, Loss=2.0, lr=0.00001 Time cost=4.0\n" +
           head + "9 Start predict\n";
  };
  auto runs = read_text(log("1"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[0].facts.world_size.value, 1);
  runs = read_text(log("0"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated) << "an epoch is left";
}

TEST(Gluonnlp, ABatchThatCountsTokensIsNoneOfSequences) {
  const std::string line = "]\tmlm_loss=7.5\tthroughput=99.0K tks/s\tlr=0.0000025 time=16.0\n";
  const auto runs =
      read_text("INFO:root:Namespace(accumulate=1, batch_size=4096, by_token=True)\n" +
                ("INFO:root:[step 249" + line) + "INFO:root:[step 499" + line);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].facts.micro_batch_size.known());
}

}  // namespace
}  // namespace bertbench
