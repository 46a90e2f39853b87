
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reports/measure/estimators.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

std::vector<Record> records(const std::vector<double>& values, double Record::*value,
                            std::int64_t iterations = 1) {
  std::vector<Record> out;
  for (const double each : values) {
    out.push_back({.step = (static_cast<std::int64_t>(out.size()) + 1) * iterations,
                   .iterations = iterations});
    out.back().*value = each;
  }
  return out;
}

TEST(ExpectedError, TheDigitsOfAPrintedValueAverageOut) {
  const auto coarse = records({0.1, 0.2, 0.1, 0.2}, &Record::seconds);
  // Half of 0.1 s, uniform, over a mean of 0.15 s and the root of four.
  EXPECT_NEAR(error_of_printed(coarse, &Record::seconds), 0.1 / std::sqrt(12.0) / 0.15 / 2, 1e-9);
  const auto fine = records({0.1234567, 0.2345678}, &Record::seconds);
  EXPECT_LT(error_of_printed(fine, &Record::seconds), 1e-6);
  EXPECT_TRUE(std::isnan(error_of_printed({}, &Record::seconds)));
  // 29, 28 and 28 ms a step of 19 and 20: the digit is a step's.
  auto epochs = records({0.551, 0.56, 0.56}, &Record::seconds, 20);
  epochs.front().iterations = 19;
  EXPECT_NEAR(error_of_printed(epochs, &Record::seconds),
              1 / std::sqrt(12.0) / (85 / 3.0) / std::sqrt(3.0), 1e-9);
}

TEST(ExpectedError, ARateOfOneStepInTenIsASample) {
  const std::vector<double> rates{10.01, 12.02, 9.03, 11.04, 10.05, 12.06};
  const double each =
      error_of_printed(records(rates, &Record::printed_rate), &Record::printed_rate);
  const double tenth =
      error_of_printed(records(rates, &Record::printed_rate, 10), &Record::printed_rate);
  EXPECT_LT(each, 1e-3);
  EXPECT_NEAR(tenth, 0.047, 0.01);  // 12 % over the root of six
}

TEST(ExpectedError, WorkWithoutAValueIsTakenAsTheOthersAre) {
  auto some = records({1.001, 2.002, 1.003, 2.004}, &Record::seconds);
  const double all = error_of_printed(some, &Record::seconds);
  some.push_back(Record{});
  EXPECT_GT(error_of_printed(some, &Record::seconds), all + 0.05);
}

TEST(ExpectedError, SmoothedRatesTrailAPaceThatChanges) {
  const auto steady = records(std::vector<double>(50, 4.0), &Record::printed_rate);
  EXPECT_LT(error_of_smoothed(nullptr, steady), 0.001);
  std::vector<double> rates(40, 3.0);
  rates.resize(50, 8.0);
  const auto changing = records(rates, &Record::printed_rate);
  const double seconds = 40 / 3.0 + 10 / 8.0;
  EXPECT_NEAR(error_of_smoothed(nullptr, changing), 0.7 / 0.3 * (1 / 3.0 - 1 / 8.0) / seconds,
              0.002);
}

// Rates of 1 and 3: their mean is 2, the work over the time 1.5. A line without a rate is no rate.
TEST(ExpectedError, AMeanOfRatesIsAboveWorkOverTime) {
  RunLog log;
  log.rate_unit = RateUnit::iterations_per_second;
  log.records = records({1, 3, 0, kUnknown, 1.0 / 0.0}, &Record::printed_rate);
  const auto list = estimate_all(log, apply_window(log, samples::window("all")));
  const auto of = [&](std::string_view name) {
    return *std::ranges::find(list, name, &Estimate::name);
  };
  EXPECT_DOUBLE_EQ(of("printed").rate, 1.5);
  EXPECT_DOUBLE_EQ(of("printed_mean").rate, 2);
  EXPECT_NEAR(of("printed_mean").error - of("printed").error, 2 / 1.5 - 1, 1e-12);
}

Estimate estimate(std::string_view name, double rate, double error, double resolution = 0) {
  return {.name = name, .rate = rate, .resolution = resolution, .error = error};
}

TEST(ExpectedError, TheLeastOneDecidesAndBelowHalfAPercentTheOrder) {
  const auto chosen = [](std::vector<Estimate> estimates) {
    const Estimate* out = default_estimate(estimates);
    return out != nullptr ? std::string(out->name) : std::string();
  };
  EXPECT_EQ(chosen({estimate("counter_clock", 1, 0.02), estimate("printed", 1, 0.01)}), "printed");
  EXPECT_EQ(chosen({estimate("counter_clock", 1, 0.004), estimate("printed", 1, 0.001)}),
            "counter_clock");
  EXPECT_EQ(chosen({estimate("step_time", 1, 0.001), estimate("counter_clock", 1, 1e-9)}),
            "step_time");
  EXPECT_EQ(chosen({estimate("printed", 1, 0.3), estimate("log_summary", 1, kUnknown)}), "printed");
  EXPECT_EQ(chosen({estimate("log_summary", 1, kUnknown), estimate("total_time", 1, kUnknown)}),
            "log_summary");
  EXPECT_EQ(chosen({estimate("printed_mean", 1, 0), estimate("printed_first", 1, 0),
                    estimate("total_time", 1, 0)}),
            "");
}

TEST(ExpectedError, RatesThatTheClockRulesOutAreOffByThatMuch) {
  std::vector<Estimate> list{estimate("counter_clock", 10, 0.01, 0.03),
                             estimate("printed_last", 14, 0.001),
                             estimate("total_time", 9, kUnknown)};
  compare_errors(list);
  EXPECT_NEAR(list[1].error, 0.37, 1e-3);
  EXPECT_EQ(default_estimate(list)->name, "counter_clock");
  EXPECT_NEAR(list[2].error, std::hypot(0.1, 0.01), 1e-9);
}

TEST(ExpectedError, ATotalTwiceOffEveryRateIsOfOtherWork) {
  EXPECT_TRUE(total_is_of_other_work(1, std::vector<double>{2.1, 3}, false));
  EXPECT_FALSE(total_is_of_other_work(1, std::vector<double>{2.1, 3}, true)) << "its own times";
  EXPECT_TRUE(total_is_of_other_work(76, std::vector<double>{4.4, 21}, true)) << "a resumed bar";
  EXPECT_FALSE(total_is_of_other_work(1, std::vector<double>{2.1, 1.2}, false));
  EXPECT_FALSE(total_is_of_other_work(1, {}, false));
}

}  // namespace
}  // namespace bertbench
