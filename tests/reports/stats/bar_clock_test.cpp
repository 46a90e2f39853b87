
#include "reports/stats/bar_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reports/measure/measure.h"
#include "reports/stats/clock.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

// A bar of steps of these seconds whose moments are read as `way`, the others' running away from
// its clock; `shift`: of the moments, as where a log has lost its head.
RunLog bar(const std::vector<double>& steps, BarReading way, double shift = 0) {
  std::vector<Record> records;
  double now = 0;
  for (const double step : steps) {
    now += step;
    Record& record = records.emplace_back();
    record.step = static_cast<std::int64_t>(records.size());
    record.time_s = record.first_time_s = std::floor(now);
    record.printed_rate = record.printed_first = 1 / step;
    for (std::size_t i = 0; i < kBarReadings; ++i) {
      const double pace = i == way ? 1 : 1.3 + 0.2 * static_cast<double>(i);
      record.bar_s[i] = static_cast<float>(pace * now + shift);
    }
  }
  return samples::bar_of(std::move(records));
}

// The pace changes within the run: slow, then quick at the end, as with two ranks on a busy
// machine.
std::vector<double> changing() {
  std::vector<double> out(50, 0.3);
  out.resize(60, 0.1);
  return out;
}

std::optional<BarRate> bar_rate(const RunLog& log, const std::string& rule) {
  return counter_over_bar_rates(log, apply_window(log, samples::window(rule)));
}

TEST(BarClock, TheWayThatFitsTheShownSecondsIsTaken) {
  for (const BarReading way : {two_means, mean_of_times, newest_interval, overall_mean}) {
    for (const double shift : {0.0, -0.4}) {
      const auto found = bar_rate(bar(changing(), way, shift), "5:60").value();
      EXPECT_EQ(found.iterations, 55);
      EXPECT_NEAR(found.seconds, 45 * 0.3 + 1, 0.01) << way;
      EXPECT_LT(found.error, 0.005);
    }
  }
}

TEST(BarClock, MomentsThatMissTheShownSecondsGiveNothing) {
  RunLog log = bar(changing(), two_means);
  for (Record& record : log.records) {
    for (float& s : record.bar_s) s *= 1.3F;
  }
  EXPECT_FALSE(bar_rate(log, "all"));
  for (Record& record : log.records) record.bar_s = kNoBarSeconds;
  EXPECT_FALSE(bar_rate(log, "all"));
  EXPECT_FALSE(bar_rate(bar({0.3, 0.3}, two_means), "all"));
}

// A bar that begins anew, was drawn twice, lost what it showed or was merged is no stretch of one.
TEST(BarClock, AStretchThatDoesNotGoOnGivesNothing) {
  const std::pair<const char*, void (*)(Record&)> damages[] = {
      {"counter", [](Record& record) { record.step -= 7; }},
      {"clock", [](Record& record) { record.first_time_s = record.time_s -= 7; }},
      {"time", [](Record& record) { record.time_s = kUnknown; }},
      {"moments", [](Record& record) { record.bar_s = kNoBarSeconds; }},
      {"merged", [](Record& record) { record.merged = 2; }}};
  const RunLog good = bar(changing(), two_means);
  RunLog first = good;
  first.records[4].merged = 2;
  EXPECT_FALSE(bar_rate(first, "5:60"));
  for (const auto& [what, damage] : damages) {
    for (const std::size_t at : {30U, 58U, 59U}) {
      RunLog log = good;
      damage(log.records[at]);
      const bool cut_off =
          at == 59 && (std::string_view(what) == "time" || std::string_view(what) == "moments");
      EXPECT_EQ(bar_rate(log, "5:60").has_value(), cut_off) << what << at;
      EXPECT_TRUE(bar_rate(log, "5:30")) << what << at << ": beyond the window";
    }
  }
}

TEST(BarClock, FromItsCreationTheFirstStepCounts) {
  std::vector<double> steps(40, 0.3);
  steps[0] = 2.5;
  const auto found = bar_rate(bar(steps, two_means), "all").value();
  EXPECT_EQ(found.iterations, 40);
  EXPECT_NEAR(found.seconds, 2.5 + 39 * 0.3, 0.01);
}

// A bar that is closed shows its mean rate: what the smoothing's solution makes of that is no time.
TEST(BarClock, TheLastRedrawOfAClosedBarIsNoMarkWhereItShowsTheMean) {
  RunLog log = bar(changing(), two_means);
  log.records.back().bar_s[two_means] += 0.3F;
  log.records.back().bar_s[overall_mean] = static_cast<float>(log.records.back().time_s) + 0.2F;
  const auto found = bar_rate(log, "5:60").value();
  EXPECT_EQ(found.iterations, 55);
  EXPECT_NEAR(found.seconds, 45 * 0.3 + 1, 0.01) << "at the rate before";
  EXPECT_GT(found.error, 0.003);
  // Nor does it show the smoothing of a window before it; of three redraws two are left.
  log.records.back().bar_s[two_means] += 1.5F;
  EXPECT_NEAR(bar_rate(log, "5:50").value().seconds, 45 * 0.3, 0.01);
  EXPECT_FALSE(bar_rate(log, "58:60"));
  EXPECT_TRUE(bar_rate(bar(changing(), two_means), "58:60"));
}

TEST(BarClock, WaysThatFitAlikeAddTheirSpread) {
  RunLog log = bar(std::vector<double>(12, 0.1), two_means);
  for (Record& record : log.records) {
    record.bar_s[mean_of_times] = record.bar_s[two_means] * 0.9F;
  }
  const auto found = bar_rate(log, "2:12").value();
  EXPECT_GT(found.error, 0.08);
}

TEST(BarClock, OfSeveralBarsTheSecondsThatWereCutOffAreAnError) {
  RunLog log = bar(changing(), two_means);
  const double alone = bar_rate(log, "5:60")->error;
  log.clock_resolution_s = 1.5;
  EXPECT_NEAR(bar_rate(log, "5:60")->error, std::hypot(alone, 0.5 / 14.5), 1e-4);
}

// BERT's SQuAD on 16 GPUs: the first step takes 17 times as long as the others.
TEST(BarClock, SmoothedRatesDoNotSpreadASlowFirstStepOverOthers) {
  std::vector<double> steps{5.8};
  for (int i = 0; i < 173; ++i) steps.push_back(0.338 + 0.002 * (i % 3));
  RunLog log = bar(steps, mean_of_times);
  double smoothed = steps.front();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) smoothed += 0.3 * (steps[i] - smoothed);
    log.records[i].printed_rate = log.records[i].printed_first = 1 / smoothed;
  }
  const auto times = iteration_times(log);
  ASSERT_EQ(times.size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_NEAR(times[i], steps[i], 1e-4) << i;
  EXPECT_EQ(apply_window(log, samples::window("auto")).first, 5) << "a batch of MSER-5";
  for (Record& record : log.records) record.bar_s = kNoBarSeconds;
  EXPECT_NEAR(iteration_times(log)[2], smoothed + 0.49 * (5.8 - smoothed), 0.01) << "as printed";
}

TEST(BarClock, MomentsAfterDaysAreTooCoarseForTheTimeOfAStep) {
  EXPECT_FALSE(bar_iteration_times(bar(changing(), two_means)).empty());
  EXPECT_TRUE(bar_iteration_times(bar(changing(), two_means, 1e6)).empty());
  const auto headless = bar_iteration_times(bar(changing(), two_means, 5));
  EXPECT_TRUE(std::isnan(headless[0])) << "what came before is not known";
  EXPECT_NEAR(headless[1], 0.3, 1e-5);
}

TEST(BarClock, StandsBesideTheWholeSecondsAndIsTakenWhereTheseAreCoarse) {
  const RunLog log = bar(changing(), two_means);
  const Trial trial = measure_trial(log, samples::facts(8, 1, 1, 2), samples::with_window("5:60"));
  EXPECT_EQ(trial.estimator, "unsmoothed");
  EXPECT_NEAR(*trial.sequences_per_second, 16 * 55 / 14.5, 0.1);
  EXPECT_LT(trial.expected_error.at("unsmoothed"), 0.005);
  EXPECT_GT(trial.expected_error.at("counter_clock"), 0.01);
  EXPECT_LT(std::abs(trial.estimators.at("counter_clock") / (16 * 55 / 14.5) - 1),
            2 * trial.expected_error.at("counter_clock"));
}

}  // namespace
}  // namespace bertbench
