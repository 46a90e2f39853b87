#include "reports/measure/expected_error.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

double square(double x) { return x * x; }

// The power of ten that all values are multiples of: the last digit that was printed. 0 where more
// digits stand than matter, as in DLLogger's lines.
double digit_of(std::span<const double> values) {
  constexpr double kRounding = 1e-6;  // of a value that went through a double
  const auto [low, high] = std::ranges::minmax(values);
  if (low == high) return 0;  // no last digit shows
  double digit = 1;
  for (int decimals = 0; decimals <= 9; ++decimals, digit /= 10) {
    const bool all = std::ranges::all_of(values, [&](double value) {
      const double n = value / digit;
      return std::abs(n - std::round(n)) <= kRounding * std::max(1.0, std::abs(n)) && n < 1e12;
    });
    if (all) return digit;
  }
  return 0;
}

double deviation_of(std::span<const double> values) {
  return values.size() > 1 ? standard_deviation(values) : 0;
}

}  // namespace

double error_of_printed(std::span<const Record> window, double Record::*value) {
  const bool rates = value == &Record::printed_rate;
  std::vector<double> values, times;  // as printed; seconds an iteration that they imply
  double iterations = 0, missing = 0, missing_records = 0;
  for (const Record& record : window) {
    const double own = record.*value;
    const auto work = static_cast<double>(std::max<std::int64_t>(1, record.iterations));
    if (!(own > 0) || !std::isfinite(own)) {
      if (values.empty()) continue;  // where the window begins, for every clock
      missing += work;
      missing_records += 1;
      continue;
    }
    iterations += work;
    values.push_back(own);
    times.push_back(rates ? 1 / own : own / work);
  }
  if (values.empty()) return kUnknown;
  const auto n = static_cast<double>(times.size());
  const double digits = digit_of(values) / std::sqrt(12.0) / mean(values) / std::sqrt(n);
  const double mean_time = mean(times);
  const double variation = mean_time > 0 ? deviation_of(times) / mean_time : 0;
  // The sum of own seconds is that of all iterations by what a record is: only rates may be of one.
  const double per_record = iterations / n;
  const double sampled = rates ? std::max(0.0, 1 - 1 / per_record) : 0;
  const double spread = variation * std::sqrt(sampled / n);
  const double gaps =
      missing > 0 ? variation * missing / (iterations + missing) / std::sqrt(missing_records) : 0;
  return std::sqrt(square(digits) + square(spread) + square(gaps));
}

double error_of_smoothed(const Record* before, std::span<const Record> window) {
  constexpr double kHalfDigit = 0.005;   // of tqdm's rates, it/s or s/it with two decimals
  constexpr double kTrails = 0.7 / 0.3;  // of tqdm's smoothing, see the header
  constexpr double kHole = 2;            // times the usual iterations of a redraw
  double seconds = 0, n = 0, rounding = 0;
  std::vector<double> works;
  const Record* first = before;
  const Record* last = nullptr;
  for (const Record& record : window) {
    const double rate = record.printed_rate;
    if (!(rate > 0) || !std::isfinite(rate)) continue;
    works.push_back(static_cast<double>(std::max<std::int64_t>(1, record.iterations)));
    seconds += works.back() / rate;
    rounding += square(kHalfDigit * std::min(rate, 1 / rate)) / 3;
    n += 1;
    last = &record;
    if (first == nullptr || !(first->printed_rate > 0)) first = &record;
  }
  if (last == nullptr || !(seconds > 0)) return kUnknown;
  // Each redraw is of as many iterations as a record is on the average. In a log with a hole the
  // record after it had redraws that are not there
  // (quoted/tqdm.redraws_that_were_left_out_leave_the_expected_error_as_it_is).
  const double average = static_cast<double>(window.back().step - first->step) /
                         std::max(1.0, n - (first == before ? 0 : 1));
  const double per_redraw = std::min(average, kHole * median(std::move(works)));
  const double change = per_redraw * (1 / last->printed_rate - 1 / first->printed_rate);
  return std::sqrt(square(kTrails * change / seconds) + rounding / square(n));
}

double excess_of_mean(std::span<const Record> window, double Record::*rate) {
  double sum = 0, lines = 0, iterations = 0, time = 0;
  for (const Record& record : window) {
    const double own = record.*rate;
    if (!(own > 0) || !std::isfinite(own)) continue;
    const auto work = static_cast<double>(std::max<std::int64_t>(1, record.iterations));
    sum += own;
    lines += 1;
    iterations += work;
    time += work / own;
  }
  return lines > 0 && time > 0 ? sum / lines / (iterations / time) - 1 : kUnknown;
}

}  // namespace bertbench
