#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// The epoch's line says samples/s as well, and counts tokens.
TEST(GluonLm, TakesTheRateOfBatchesAndNotTheTokensOfTheEpoch) {
  std::string text;
  for (const int epoch : {0, 1}) {
    text += "[Epoch " + std::to_string(epoch) +
            " Batch 200/372] current loss 7.74, ppl 2288.02, throughput 650.82 samples/s, lr "
            "28.71\n[Epoch " +
            std::to_string(epoch) + "] throughput 44198.16 samples/s\n[Epoch " +
            std::to_string(epoch) +
            "] time cost 50.10s, valid loss 6.38, valid ppl 592.45, lr 30.00\n";
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[1].step, 572);
  EXPECT_EQ(runs[0].records[1].printed_rate, 650.82);
  EXPECT_EQ(runs[0].records[1].loss, 7.74);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
  EXPECT_FALSE(runs[0].summary);
  EXPECT_THAT(text_of(runs[0].notices.at(1)), testing::HasSubstr("counts tokens"));
}

TEST(GluonLm, ReadsTheBigRnnWhoseEpochsHaveNoLength) {
  std::string text;
  for (const int epoch : {0, 1}) {
    for (const int batch : {1000, 2000}) {
      text += "[Epoch " + std::to_string(epoch) + " Batch " + std::to_string(batch) +
              "] loss 6.59, ppl 731.39, throughput 8822.41 samples/s\n";
    }
    text += "Epoch 0 took 4294.32 seconds.\n";
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records.back().step, 4000);
  EXPECT_THAT(text_of(runs[0].notices.back()), testing::HasSubstr("length of an epoch"));
  EXPECT_EQ(runs[0].outcome.status, Status::truncated) << "how many epochs are planned?";
  const auto planned = [&](const std::string& epochs) {
    return read_text("Namespace(batch_size=256, bptt=20, epochs=" + epochs + ", k=8192,\n" + text)
        .at(0)
        .outcome.status;
  };
  EXPECT_EQ(planned("2"), Status::completed);
  EXPECT_EQ(planned("3"), Status::truncated);
}

TEST(GluonLm, TakesNoCountersThatWouldOverflow) {
  EXPECT_TRUE(read_text("[Epoch 9223372036854775807 Batch 10] loss 6.59, throughput 8.5 samples/s\n"
                        "[Epoch 1 Batch 10/9223372036854775807] loss 6.5, throughput 8 samples/s\n")
                  .empty());
}

// The classifiers count words.
TEST(GluonLm, ReadsTheWordsOfClassifiers) {
  const auto runs = read_text(
      "[Epoch 0 Batch 30/75] avg loss 0.0151, throughput 0.52K wps\n"
      "[Epoch 0 Batch 60/75] avg loss 0.0148, throughput 5.25K wps\n"
      "Begin Testing...\n"
      "[Epoch 0] train avg loss 0.0149, dev acc 0.61, dev avg loss 0.66, throughput 0.95K wps\n"
      "[Epoch 1 Batch 30/75] avg loss 0.0139, throughput 5.5K wps\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[1].printed_rate, 5250);
  EXPECT_EQ(runs[0].records[2].step, 105);
  EXPECT_EQ(runs[0].records[2].loss, 0.0139);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_THAT(text_of(runs[0].notices.at(0)), testing::HasSubstr("counts words"));
}

// Cross-validation: each part has all epochs, and its last one ends it.
TEST(GluonLm, EndsAClassifierBehindItsLastEpoch) {
  const auto epoch = [](const std::string& n) {
    return "[Epoch " + n +
           " Batch 30/75] avg loss 0.0139, throughput 5.5K wps\nBegin Testing...\n" + "[Epoch " +
           n + "] train avg loss 0.0149, dev acc 0.61, throughput 0.95K wps\n";
  };
  const auto runs = read_text("Namespace(batch_size=50, epochs=2, gpu=0, save_prefix='model')\n" +
                              epoch("0") + epoch("1") + epoch("0"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].outcome.status, Status::truncated);
}

TEST(GluonLm, ReadsTheTranslationOfRelease1) {
  const auto line = [](int step) {
    return "2020-09-01 10:00:00,123 - root - INFO - [Epoch 0 Iter " + std::to_string(step) +
           "/3000, Overall " + std::to_string(step) +
           "/400] loss=6.125, ppl=445.9, throughput=50.00K wps, total wc=2500.00K, wpb=25.10K, "
           "LR=0.0001, gnorm=1.2500\n";
  };
  const auto runs = read_text(line(100) + line(200) + line(300) + line(400));
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 4u);
  EXPECT_EQ(runs[0].records[2].iterations, 100);
  EXPECT_EQ(runs[0].records[2].seconds, 50);
  EXPECT_EQ(runs[0].records[2].loss, 6.125);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::tokens_per_second);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  const auto tail = read_text(line(300) + line(400));
  ASSERT_EQ(tail.size(), 1u);
  EXPECT_EQ(tail[0].records.at(0).iterations, 100) << "of a log without its head";
}

}  // namespace
}  // namespace bertbench
