#include "reports/stats/clock.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

// A bar of `n` iterations at `seconds` each that shows whole elapsed seconds.
RunLog bar(std::int64_t n, double seconds, double start = 0.37) {
  std::vector<Record> records;
  for (std::int64_t step = 1; step <= n; ++step) {
    const double shown = std::floor(start + seconds * static_cast<double>(step));
    records.push_back({.step = step, .time_s = shown, .first_time_s = shown});
  }
  return samples::bar_of(std::move(records));
}

std::optional<ClockRate> rate(const RunLog& log, const std::string& rule) {
  return counter_over_clock(log, apply_window(log, samples::window(rule)));
}

// The published bar: counters 661 to 1045 at 3:37 to 5:42, 64 micro-steps a line.
TEST(CounterClock, SevenRedrawsOfThePublishedBarGive384IterationsIn125Seconds) {
  RunLog log = samples::published_bar();
  for (Record& record : log.records) record.first_time_s = kUnknown;
  const auto all = rate(log, "all").value();
  EXPECT_DOUBLE_EQ(all.iterations, 384);
  EXPECT_DOUBLE_EQ(all.seconds, 125);
  EXPECT_NEAR(all.iterations / all.seconds, 3.072, 1e-12);
  EXPECT_NEAR(all.iterations / all.seconds * 1024, 3145.7, 0.05);
  EXPECT_NEAR(all.resolution, 1.0 / 125, 1e-12);
}

// A clock that is set while a training runs, or a machine that sleeps.
TEST(CounterClock, LeavesOutTheOneGapThatOutweighsAllOthers) {
  for (const double resolution : {0.001, 1.0}) {
    RunLog log;
    log.clock_resolution_s = resolution;
    log.clock_is_wall = true;
    for (int step = 1; step <= 100; ++step) {
      const double clock = 0.5 * step + (step >= 70 ? 3600 : 0);
      const double shown = resolution * std::floor(clock / resolution);
      log.records.push_back({.step = step, .time_s = shown, .line = step});
    }
    const auto measured = rate(log, "all").value();
    EXPECT_NEAR(measured.iterations / measured.seconds, 2, 0.05) << resolution;
    const auto jump = clock_jump(log, apply_window(log, samples::window("all"))).value();
    EXPECT_EQ(jump.record, 69U);
    EXPECT_NEAR(jump.seconds, 3600.5, 0.51);
  }
  // The elapsed seconds of a bar that a machine slept under.
  RunLog slept = bar(100, 0.5);
  for (std::size_t i = 69; i < 100; ++i) {
    slept.records[i].first_time_s = slept.records[i].time_s += 3600;
  }
  const auto of_bar = rate(slept, "all").value();
  EXPECT_NEAR(of_bar.iterations / of_bar.seconds, 2, 0.05);
  // Evaluations that come again, and a long one among few steps, are the run's own time.
  RunLog often;
  double clock = 0;
  for (int step = 1; step <= 100; ++step) {
    clock += step % 25 == 0 ? 3600 : 0.5;
    often.records.push_back({.step = step, .time_s = clock});
  }
  EXPECT_FALSE(clock_jump(often, apply_window(often, samples::window("all"))));
  struct Case {
    const char* why;
    int steps;
    double step_s, gap_s;
    bool jump;
  };
  for (const Case& one :
       {Case{"as long as the others together", 300, 0.5, 200, true},
        Case{"200 times a step, and a sixth of the window", 1000, 0.5, 100, false},
        Case{"among ten steps", 10, 0.5, 3600, false}, Case{"among eleven", 11, 0.5, 3600, true},
        Case{"40 times a step", 30, 0.5, 20, false},
        Case{"the others take no time that shows", 30, 0, 60, false}}) {
    RunLog log;
    for (int step = 0; step <= one.steps; ++step) {
      log.records.push_back(
          {.step = step, .time_s = one.step_s * step + (step == one.steps ? one.gap_s : 0)});
    }
    EXPECT_EQ(clock_jump(log, apply_window(log, samples::window("all"))).has_value(), one.jump)
        << one.why;
  }
}

// Where the pace changed near the end, what follows the last roll-over is taken at the new pace:
// over all places in which the second may roll over.
TEST(CounterClock, TheEndOfAWindowIsTakenAtThePaceThere) {
  constexpr int kPhases = 200;
  double off = 0;
  for (int phase = 0; phase < kPhases; ++phase) {
    std::vector<Record> records;
    double now = (phase + 0.5) / kPhases;
    for (std::int64_t step = 101; step <= 540; ++step) {
      now += step <= 520 ? 0.05 : 0.4;
      records.push_back({.step = step, .time_s = std::floor(now)});
    }
    const auto measured = rate(samples::bar_of(std::move(records)), "all").value();
    const double right = 0.05 * 419 + 0.4 * 20;
    off += measured.seconds / measured.iterations * 439 / right - 1;
  }
  EXPECT_NEAR(off / kPhases, 0, 0.007);
}

// Trackio stamps what it sends together once: the clock goes on over the records in between.
TEST(CounterClock, GoesOnOverRecordsWithoutATime) {
  RunLog log = samples::log_of_seconds(std::vector<double>(200, kUnknown));
  log.clock_resolution_s = 1e-3;
  for (std::size_t i = 0; i < 200; i += 5) log.records[i].time_s = 0.25 * static_cast<double>(i);
  const auto measured = rate(log, "20:200").value();
  EXPECT_NEAR(measured.iterations / measured.seconds, 4, 1e-9);
  EXPECT_EQ(measured.iterations, 180);
}

TEST(CounterClock, WholeSecondsReadAtTheRollOverAreWithinTheStatedResolution) {
  for (const double seconds : {0.07, 0.3, 0.31, 0.5, 0.9, 1.7, 6.1}) {
    for (const double start : {0.0, 0.2, 0.5, 0.93}) {
      const RunLog log = bar(200, seconds, start);
      for (const char* rule : {"all", "20:200", "1:120", "last:90"}) {
        const auto measured = rate(log, rule).value();
        // From its creation on, the time before the first step belongs to the bar.
        const bool whole = std::string_view(rule) == "all";
        const double step = seconds + (whole ? start / measured.iterations : 0);
        const double error = measured.iterations / measured.seconds * step - 1;
        EXPECT_LE(std::abs(error), measured.resolution * 1.05 + 1e-9)
            << seconds << " s, start " << start << ", " << rule;
        EXPECT_LE(measured.resolution, 1.0001 / measured.seconds);
      }
    }
  }
}

// Of the tail of a bar whose last redraw comes after nine iterations and each other one after two,
// over all places in which the second may roll over.
TEST(CounterClock, AnUnevenLastRedrawDoesNotBiasTheRate) {
  constexpr int kPhases = 200;
  constexpr double kStep_s = 0.055;
  double sum = 0;
  for (int phase = 0; phase < kPhases; ++phase) {
    std::vector<Record> records;
    const auto draw = [&](std::int64_t step) {
      const double moment = kStep_s * static_cast<double>(step) + (phase + 0.5) / kPhases;
      const double shown = std::floor(moment);
      records.push_back({.step = step, .iterations = 2, .time_s = shown, .first_time_s = shown});
    };
    for (std::int64_t step = 101; step <= 201; step += 2) draw(step);
    draw(210);
    const auto measured = rate(samples::bar_of(std::move(records)), "all").value();
    sum += measured.seconds / measured.iterations / kStep_s;
  }
  EXPECT_NEAR(sum / kPhases, 1, 0.005);  // 0.985 by the seconds alone
}

TEST(CounterClock, ForFortySecondsOfQuickStepsTheErrorIsBelowHalfAPercent) {
  const RunLog log = bar(450, 0.1);
  const auto measured = rate(log, "20:450").value();
  EXPECT_NEAR(measured.iterations / measured.seconds, 10, 0.05);
  EXPECT_LE(measured.resolution, 0.005);
}

TEST(CounterClock, AWindowThatStaysWithinOneSecondGivesNothing) {
  EXPECT_FALSE(rate(bar(100, 0.001, 0.1), "10:20"));
  EXPECT_FALSE(rate(bar(100, 0.001, 0.1), "all"));
}

TEST(CounterClock, AFineClockIsUsedToTheFullFromTheRecordInFront) {
  RunLog log = bar(200, 0.25);
  for (Record& record : log.records) {
    record.time_s = record.first_time_s = 0.25 * static_cast<double>(record.step);
  }
  log.clock_resolution_s = 1e-6;
  const auto measured = rate(log, "100:200").value();
  EXPECT_DOUBLE_EQ(measured.iterations, 100);
  EXPECT_DOUBLE_EQ(measured.seconds, 25);
  EXPECT_LT(measured.resolution, 1e-6);
}

TEST(CounterClock, ABarFromItsCreationIncludesItsSlowFirstStep) {
  RunLog log = bar(200, 0.25, 2.0);  // the first step takes two seconds more
  const auto measured = rate(log, "all").value();
  EXPECT_NEAR(measured.seconds / measured.iterations * 200, 52, 52 * measured.resolution);
  log.records.erase(log.records.begin());  // not from the start: the usual marks
  EXPECT_NEAR(rate(log, "all")->seconds / rate(log, "all")->iterations, 0.25, 0.0025);
}

TEST(CounterClock, ARecordOfSeveralIterationsIsClockedAtItsLastRedraw) {
  RunLog log;
  log.clock_resolution_s = 1e-3;
  for (int i = 1; i <= 10; ++i) {  // lines of growing length, one iteration a second
    const int step = i * (i + 1) / 2;
    log.records.push_back(
        {.step = step, .iterations = i, .time_s = 1.0 * step, .first_time_s = step - i + 1.0});
  }
  const auto measured = rate(log, "all").value();
  EXPECT_DOUBLE_EQ(measured.iterations / measured.seconds, 1);
}

TEST(CounterClock, BarsThatBeginAnewAreAddedUp) {
  RunLog log = bar(60, 1);
  const RunLog second = bar(60, 1);
  log.records.insert(log.records.end(), second.records.begin(), second.records.end());
  const auto measured = rate(log, "all").value();
  EXPECT_DOUBLE_EQ(measured.iterations / measured.seconds, 1);
  EXPECT_GE(measured.iterations, 118);
}

// A wall clock begins with the first record, and goes on where the counter begins anew; a clock
// that is set back measures what lies before and after.
TEST(CounterClock, OfAWallClockNeitherACounterNorAClockThatGoesBackCounts) {
  for (const bool counter : {true, false}) {
    RunLog log;
    log.clock_resolution_s = 1;
    log.clock_is_wall = true;
    for (int i = 0; i < 120; ++i) {
      const int back = i < 60 ? 0 : 50;
      log.records.push_back(
          {.step = 1 + i - (counter ? back : 0), .time_s = 1.0 * i - (counter ? 0 : back)});
    }
    const auto measured = rate(log, "all").value();
    EXPECT_DOUBLE_EQ(measured.iterations / measured.seconds, 1) << counter;
    EXPECT_EQ(measured.iterations, 118);
    log.records.resize(60);
    EXPECT_DOUBLE_EQ(rate(log, "all")->iterations / rate(log, "all")->seconds, 1);
  }
}

// Three bars, of which each cut off up to a second: the counter's marks do not bring it back.
TEST(CounterClock, CountsWhatTheBarsCutOffThatItIsPutTogetherFrom) {
  RunLog log = bar(300, 0.06);
  const double alone = rate(log, "all")->resolution;
  log.clock_resolution_s = 3;
  const auto measured = rate(log, "all");
  EXPECT_NEAR(measured->resolution, alone + 2 / measured->seconds, 1e-9);
}

}  // namespace
}  // namespace bertbench
