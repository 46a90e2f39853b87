#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/measure/estimators.h"

namespace bertbench {
namespace {

// Steps of `seconds` each, which state the rate of `batch` sequences a step.
RunLog log_of(std::vector<double> seconds, double batch) {
  RunLog log;
  log.rate_unit = RateUnit::sequences_per_second;
  for (const double one : seconds) {
    log.records.push_back({.step = static_cast<std::int64_t>(log.records.size()) + 1,
                           .seconds = one,
                           .printed_rate = batch / one});
  }
  return log;
}
const Notice none = foreign_notice(0, "");

std::string notices_of(const RunLog& log, std::int64_t per_iteration) {
  return text_of(stated_rate_is_apart(log, log.records, per_iteration).value_or(none));
}

TEST(StatedRate, OfOneCardIsTold) {
  EXPECT_THAT(notices_of(log_of({0.5, 0.5, 0.5}, 32), 256),
              testing::StartsWith("8 times as many sequences/s by the log's times and the facts "
                                  "as it states in the same lines"));
}

TEST(StatedRate, AboveThatOfTheTimesIsToldAsWell) {
  EXPECT_THAT(notices_of(log_of({0.5, 0.5, 0.5}, 64), 16), testing::StartsWith("4 times as few"));
}

TEST(StatedRate, ThatAgreesIsNotWhateverTheWarmUp) {
  EXPECT_EQ(notices_of(log_of({90, 0.5, 0.4, 0.5, 3}, 32), 32), "");
  EXPECT_EQ(notices_of(log_of({0.5, 0.5, 0.5}, 32), 48), "");
}

TEST(StatedRate, NeedsRecordsThatTellBoth) {
  EXPECT_EQ(notices_of(log_of({0.5, 0.5}, 32), 256), "");
  RunLog bars = log_of({0.5, 0.5, 0.5}, 32);
  bars.rate_unit = RateUnit::iterations_per_second;
  EXPECT_EQ(notices_of(bars, 256), "");
}

// 9 steps at 100/s and 40 at 500/s: 49 / (9 / 100 + 40 / 500) = 288.2; the plain mean is 420.
TEST(MeanOfRates, IsToldWhereAWarmUpLiftsItAboveWorkOverTime) {
  std::vector<Record> records(5, {.iterations = 10, .printed_rate = 500});
  records.front() = {.iterations = 9, .printed_rate = 100};
  const auto unit = RateUnit::tokens_per_second;
  EXPECT_EQ(text_of(mean_of_rates_misleads(records, unit).value_or(none)),
            "the printed rates differ: their mean, 420 tokens/s, is 46 % above all work over the "
            "time that they add up to (288.235)");
  records.front().printed_rate = 480;
  EXPECT_FALSE(mean_of_rates_misleads(records, unit));
  EXPECT_FALSE(mean_of_rates_misleads({}, unit));
}

}  // namespace
}  // namespace bertbench
