// A bar's smoothed rates, computed as tqdm computes them and printed as it prints them, read back.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "parsers/formats/tqdm/tqdm_bar.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

/// Steps whose pace changes within the run, as on a machine that others use.
std::vector<double> uneven_steps(int n) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i) {
    out.push_back(i == 0 ? 1.4 : 0.2 + 0.15 * std::sin(i * 0.3) * (i > n / 2 ? 0.3 : 1));
  }
  return out;
}

/// it/s or s/it of two decimals.
double printed(double rate) {
  return rate > 1 ? std::round(rate * 100) / 100 : 1 / (std::round(100 / rate) / 100);
}

class TqdmRate {
 public:
  explicit TqdmRate(BarReading way) : way_(way) {}
  double next(double iterations, double seconds) {
    constexpr double kNew = 0.3;
    n_ += iterations;
    t_ += seconds;
    iterations_ = kNew * iterations + (1 - kNew) * iterations_;
    seconds_ = kNew * seconds + (1 - kNew) * seconds_;
    const double own = seconds / iterations;
    interval_ = std::isnan(interval_) ? own : kNew * own + (1 - kNew) * interval_;
    switch (way_) {
      case two_means:
        return iterations_ / seconds_;
      case mean_of_times:
        return 1 / interval_;
      case newest_interval:
        return 1 / own;
      default:
        return n_ / t_;
    }
  }

 private:
  BarReading way_;
  double n_ = 0, t_ = 0, iterations_ = 0, seconds_ = 0, interval_ = kUnknown;
};

TEST(BarTimes, GiveTheMomentsBackWhateverWayTheBarSmooths) {
  for (const BarReading way : {two_means, mean_of_times, newest_interval, overall_mean}) {
    TqdmRate rate(way);
    BarTimes times;
    times.begin(0);
    double now = 0, worst = 0;
    std::int64_t done = 0;
    for (const double seconds : uneven_steps(80)) {
      const std::int64_t more = done % 7 == 3 ? 2 : 1;  // a quick step has no redraw of its own
      const double took = seconds * static_cast<double>(more);
      done += more;
      now += took;
      const BarSeconds found =
          times.see(done, printed(rate.next(static_cast<double>(more), took)), std::floor(now));
      worst = std::max(worst, std::abs(static_cast<double>(found[way]) - now));
    }
    EXPECT_LT(worst, way == overall_mean ? 0.05 : 0.02) << way;
  }
}

TEST(BarTimes, RedrawsThatRepeatTheRateAreNoUpdates) {
  TqdmRate rate(two_means);
  BarTimes times;
  times.begin(0);
  double now = 0;
  BarSeconds found{};
  for (int i = 1; i <= 30; ++i) {
    now += i % 5 == 0 ? 0.5 : 0.25;
    const double shown = printed(rate.next(1, i % 5 == 0 ? 0.5 : 0.25));
    found = times.see(i, shown, std::floor(now));
    const BarSeconds again = times.see(i, shown, std::floor(now));  // set_postfix
    EXPECT_EQ(again[two_means], found[two_means]);
  }
  EXPECT_NEAR(found[two_means], now, 0.02);
}

TEST(BarTimes, ALogWithoutItsHeadBeginsAtTheSecondThatItShows) {
  TqdmRate rate(two_means);
  BarTimes times;
  double now = 0, first = kUnknown;
  BarSeconds begin{}, found{};
  for (int i = 1; i <= 60; ++i) {
    now += 0.3;
    const double shown = printed(rate.next(1, 0.3));
    if (i < 20) continue;
    found = times.see(i, shown, std::floor(now));
    if (i == 20) {
      begin = found;
      first = now;
      EXPECT_EQ(begin[two_means], std::floor(now));
    }
  }
  EXPECT_NEAR(found[two_means] - begin[two_means], now - first, 0.02);
}

TEST(BarTimes, WithoutARateNothingIsTold) {
  BarTimes times;
  EXPECT_TRUE(std::isnan(times.see(3, kUnknown, 2)[two_means]));
  times.begin(0);
  EXPECT_TRUE(std::isnan(times.see(1, kUnknown, 2)[two_means]));
  EXPECT_TRUE(std::isnan(times.see(0, 1.0, 2)[overall_mean]));
}

}  // namespace
}  // namespace bertbench
