// The counter of a log over the times at which its lines came.
#include "reports/stats/arrival_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/measure/estimators.h"
#include "reports/measure/measure.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

constexpr std::int64_t kLineBytes = 10;

/// Times at which steps ended: `pace(i)` seconds for step i, from 1 on.
template <class Pace>
std::vector<double> ends_of(int steps, Pace pace) {
  std::vector<double> out;
  double now = 0;
  for (int i = 1; i <= steps; ++i) out.push_back(now += pace(i));
  return out;
}

/// A log of a line a step, whose bytes are written at `written`, looked at every `gap` seconds.
RunLog watched(const std::vector<double>& written, double gap, bool file_times) {
  RunLog log;
  ArrivalRecorder recorder;
  std::size_t there = 0;
  for (double now = 0; there < written.size(); now += gap) {
    const std::size_t before = there;
    while (there < written.size() && written[there] <= now) ++there;
    const bool grew = there > before;
    recorder.look(100 + now, kLineBytes * static_cast<std::int64_t>(there),
                  grew && file_times ? now - written[there - 1] : kUnknown);
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i) + 1;
    log.records.push_back({.step = step, .line = step, .end_byte = kLineBytes * step - 1});
  }
  log.arrivals = std::make_shared<const std::vector<Arrival>>(recorder.all());
  return log;
}

double true_rate(const std::vector<double>& ends, const Window& window) {
  const std::size_t before = window.first > 0 ? window.first - 1 : 0;
  return static_cast<double>(window.last - 1 - before) / (ends[window.last - 1] - ends[before]);
}

double rate_of(const ArrivalRate& rate) { return rate.iterations / rate.seconds; }

Window window_of(std::size_t first, std::size_t last) {
  Window out;
  out.first = first;
  out.last = last;
  out.covered = true;
  return out;
}

// Keras: an epoch is a record, and its bar is redrawn after each step.
TEST(ArrivalClock, TakesTheCountersWithinARecord) {
  // The first step compiles.
  const auto ends = ends_of(200, [](int i) { return i == 1 ? 3.0 : 0.05 + 0.01 * std::sin(i); });
  RunLog log = watched(ends, 0.25, true);
  for (const Record& record : log.records) {
    for (int drawn = 0; drawn < 2; ++drawn) log.counters.add({record.step, record.end_byte});
  }
  Record first, rest;
  first.step = 1;
  rest.step = 200;
  rest.iterations = 199;
  rest.seconds = ends.back() - ends.front();
  log.records = {first, rest};
  const Window window = apply_window(log, {});
  EXPECT_EQ(window.first_step, 1);
  const auto rate = counter_over_arrivals(log, window).value();
  EXPECT_NEAR(rate_of(rate) * rest.seconds / 199, 1, 0.01);
  Window half = window;
  half.first_step = 100;
  const auto second = counter_over_arrivals(log, half).value();
  EXPECT_NEAR(second.iterations, 100, 6) << "those of the window alone";
  log.counters.clear();
  EXPECT_FALSE(counter_over_arrivals(log, window));
}

TEST(ArrivalClock, GivesTheRateWithinItsError) {
  struct Case {
    double step_s, gap_s;
    std::size_t first, last;
  };
  for (const bool file_times : {true, false}) {
    for (const Case& one : {Case{0.01, 0.25, 100, 2000}, Case{0.3, 0.25, 20, 200},
                            Case{2.5, 0.25, 0, 40}, Case{0.07, 0.25, 0, 300}}) {
      const auto ends = ends_of(static_cast<int>(one.last) + 50,
                                [&](int i) { return one.step_s * (1 + 0.2 * std::sin(1.7 * i)); });
      const auto log = watched(ends, one.gap_s, file_times);
      const auto window = window_of(one.first, one.last);
      const auto rate = counter_over_arrivals(log, window).value();
      ASSERT_GT(rate.seconds, 0);
      const double off = std::abs(rate_of(rate) / true_rate(ends, window) - 1);
      EXPECT_LT(off, std::max(3 * rate.error, 0.002)) << one.step_s << file_times;
      EXPECT_LT(off, 0.01) << one.step_s << file_times;
      EXPECT_LT(rate.error, file_times ? 0.005 : 0.02) << one.step_s << file_times;
      // The gap between looks at both ends, over the window; or the steps of the file's clock.
      EXPECT_NEAR(rate.resolution, 2 * (file_times ? 0.01 : one.gap_s) / rate.seconds,
                  0.1 * rate.resolution);
      EXPECT_EQ(rate.burst_share, 0);
    }
  }
}

TEST(ArrivalClock, NoOneWatched) {
  RunLog log = watched(ends_of(50, [](int) { return 0.1; }), 0.25, true);
  log.arrivals = nullptr;
  EXPECT_FALSE(counter_over_arrivals(log, window_of(0, 50)));
}

// The harness began to watch when half of the log was there.
TEST(ArrivalClock, LinesThatNobodyWatchedHaveNoTime) {
  const auto ends = ends_of(400, [](int) { return 0.1; });
  RunLog log = watched(ends, 0.25, true);
  auto arrivals = *log.arrivals;
  arrivals.erase(arrivals.begin(), arrivals.begin() + std::ssize(arrivals) / 2);
  log.arrivals = std::make_shared<const std::vector<Arrival>>(arrivals);
  EXPECT_FALSE(counter_over_arrivals(log, window_of(0, 150)));
  const auto rate = counter_over_arrivals(log, window_of(0, 400)).value();
  EXPECT_NEAR(rate_of(rate), 10, 0.05);
}

TEST(ArrivalClock, ThinnedArrivalsGiveTheSameRate) {
  const auto ends = ends_of(4000, [](int i) { return i < 2000 ? 0.05 : 0.1; });
  RunLog log = watched(ends, 0.25, true);
  std::vector<Arrival> thin;
  for (std::size_t i = 0; i < log.arrivals->size(); i += 8) thin.push_back((*log.arrivals)[i]);
  log.arrivals = std::make_shared<const std::vector<Arrival>>(thin);
  const auto window = window_of(500, 3500);
  const auto rate = counter_over_arrivals(log, window).value();
  EXPECT_NEAR(rate_of(rate) / true_rate(ends, window), 1, 0.01);
}

// A buffer that is emptied when it is full, and one that is emptied at the end.
TEST(ArrivalClock, BurstsAreFoundAndNeverTheDefault) {
  const auto ends = ends_of(2000, [](int) { return 0.02; });
  auto written = ends;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::size_t full = (i / 150 + 1) * 150;
    written[i] = ends[std::min(full, ends.size()) - 1];
  }
  RunLog log = watched(written, 0.25, true);
  const auto rate = counter_over_arrivals(log, window_of(0, 2000)).value();
  EXPECT_TRUE(rate.in_bursts());
  EXPECT_NEAR(rate_of(rate), 50, 1) << "it is still shown";
  MeasureOptions options;
  options.window = samples::window("all");
  const Trial trial = measure_trial(log, {}, options);
  EXPECT_EQ(trial.estimator, "");
  EXPECT_THAT(samples::notices(trial), testing::HasSubstr("came in bursts"));

  const auto at_end = watched(std::vector<double>(2000, ends.back()), 0.25, true);
  const auto one = counter_over_arrivals(at_end, window_of(0, 2000)).value();
  EXPECT_EQ(one.seconds, 0);
  EXPECT_EQ(one.burst_share, 1);
}

// The record before the first mark is of the window where the window begins with the run.
TEST(ArrivalClock, WhatTheFirstRecordTookIsInTheError) {
  const auto ends = ends_of(100, [](int i) { return 0.5 + 0.2 * std::sin(i); });
  RunLog log = watched(ends, 0.25, true);
  for (Record& record : log.records) {
    record.iterations = 10;
    record.step *= 10;
  }
  Window window = window_of(0, 100);
  window.first_step = 0;
  window.last_step = 1000;
  Window without = window;
  without.first_step = 10;
  const auto rate = counter_over_arrivals(log, window);
  const auto rate_without = counter_over_arrivals(log, without);
  ASSERT_TRUE(rate && rate_without);
  EXPECT_EQ(rate->iterations, rate_without->iterations);
  // Ten of a thousand steps, whose pace varies by a quarter or so.
  EXPECT_GT(rate->error, rate_without->error + 0.001);
}

/// Lines of `bytes` each, and looks a second apart that found the log grown to these sizes.
RunLog looked_at(std::int64_t lines, std::int64_t bytes, const std::vector<std::int64_t>& sizes) {
  RunLog log;
  for (std::int64_t step = 1; step <= lines; ++step) {
    log.records.push_back({.step = step, .line = step, .end_byte = bytes * step - 1});
  }
  std::vector<Arrival> arrivals;
  for (const std::int64_t size : sizes) {
    arrivals.push_back({.from = arrivals.empty() ? 0 : arrivals.back().to,
                        .to = size,
                        .look_s = 100 + static_cast<double>(arrivals.size()),
                        .age_s = 0,
                        .gap_s = 1,
                        .quiet_s = 1});
  }
  log.arrivals = std::make_shared<const std::vector<Arrival>>(std::move(arrivals));
  return log;
}

// Whole blocks of a file system are what a buffer was emptied for, unless a line is so long.
TEST(ArrivalClock, WholeBlocksOfSeveralLinesAreBursts) {
  for (const auto& [bytes, share] : {std::pair(2048, 1.0), {4096, 0.0}, {2000, 0.0}}) {
    const std::int64_t look = bytes == 2000 ? 4000 : 4096;
    const RunLog log = looked_at(8, bytes, {look, 2 * look, 3 * look});
    EXPECT_EQ(counter_over_arrivals(log, window_of(0, log.records.size()))->burst_share, share)
        << bytes;
  }
}

TEST(ArrivalClock, OfFewLooksWhatIsKnownIsInTheError) {
  // Marks at steps 2, 4 and 6, at half a second a step; the window begins with the run.
  Window window = window_of(0, 6);
  window.first_step = 0;
  const auto rate = counter_over_arrivals(looked_at(6, 10, {20, 40, 60}), window).value();
  EXPECT_DOUBLE_EQ(rate_of(rate), 2);
  // Two steps before the first mark, whose pace is known as badly as a uniform one.
  EXPECT_NEAR(rate.error, 2 * 0.5 / std::sqrt(12.0) / 3, 1e-4);
  EXPECT_NEAR(rate.resolution, 0.02 / 2, 1e-9);
  // A look that found the begin of another line: the record may have come half a second before.
  EXPECT_NEAR(counter_over_arrivals(looked_at(6, 10, {25, 45, 65}), window)->resolution, 0.5, 1e-9);
  // One that found more than the window is no mark of it.
  EXPECT_EQ(counter_over_arrivals(looked_at(9, 10, {20, 40, 60, 80}), window_of(0, 5))->iterations,
            2);
  EXPECT_EQ(counter_over_arrivals(looked_at(9, 10, {60}), window_of(0, 5))->seconds, 0);
  EXPECT_FALSE(counter_over_arrivals(looked_at(9, 10, {20, 40}), window_of(5, 5)));
  RunLog anew = looked_at(6, 10, {20, 40, 60});
  anew.records[3].step = 1;
  EXPECT_EQ(counter_over_arrivals(anew, window)->seconds, 0);
}

// Fast steps in a program that writes out each line, and evaluations between them.
TEST(ArrivalClock, APauseIsNoBurst) {
  const auto ends = ends_of(3000, [](int i) { return i % 300 == 0 ? 3.0 : 0.01; });
  const auto rate = counter_over_arrivals(watched(ends, 0.25, true), window_of(0, 3000)).value();
  EXPECT_FALSE(rate.in_bursts());
}

TEST(ArrivalClock, IsTheRateOfALogWithACounterAlone) {
  const auto ends = ends_of(300, [](int) { return 0.1; });
  const Trial trial =
      measure_trial(watched(ends, 0.25, true), {}, samples::with_window("steps:50:250"));
  EXPECT_EQ(trial.estimator, "arrival");
  EXPECT_NEAR(trial.estimators.at("arrival"), 10, 0.05);
  EXPECT_GT(trial.resolution.at("arrival"), 0);
  EXPECT_LT(trial.expected_error.at("arrival"), 0.005);
}

TEST(ArrivalClock, APrintedRateFarFromItIsReported) {
  const auto ends = ends_of(300, [](int) { return 0.1; });
  RunLog log = watched(ends, 0.25, true);
  log.rate_unit = RateUnit::iterations_per_second;
  for (const double rate : {10.02, 10.2, 11.0, 9.0}) {
    for (Record& record : log.records) record.printed_rate = rate;
    const Trial trial = measure_trial(log, {}, samples::with_window("all"));
    const auto differs = [](const Notice& notice) {
      return notice.code == NoticeCode::arrival_differs;
    };
    EXPECT_EQ(std::ranges::any_of(trial.notices, differs), std::abs(rate - 10) > 0.5) << rate;
    // A rate that leaves what the clock allows is off by as much.
    EXPECT_EQ(trial.estimator, rate == 10.02 ? "printed" : "arrival") << rate;
  }
}

// "forward 0.03s" or milliseconds without their unit: what the number of an unknown line means is a
// guess, which the arrivals refute.
TEST(ArrivalClock, AGuessedTimeFarFromItIsNotTaken) {
  const auto ends = ends_of(300, [](int) { return 0.1; });
  for (const double seconds : {0.01, 0.09, 100.0}) {
    RunLog log = watched(ends, 0.25, true);
    for (Record& record : log.records) record.seconds = seconds;
    EXPECT_EQ(measure_trial(log, {}, samples::with_window("all")).estimator, "step_time");
    log.notices.push_back(make_notice(NoticeCode::generic_shape, 1, "step 1 forward 0.01s"));
    EXPECT_EQ(measure_trial(log, {}, samples::with_window("all")).estimator,
              seconds == 0.09 ? "step_time" : "arrival")
        << seconds;
  }
}

}  // namespace
}  // namespace bertbench
