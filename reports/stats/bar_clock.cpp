#include "reports/stats/bar_clock.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "reports/stats/clock.h"

namespace bertbench {
namespace {

constexpr double kHalfDigit = 0.005;       ///< of a rate with two decimals, it/s or s/it
constexpr std::size_t kFewestRedraws = 3;  ///< redraws
/// Seconds that lie between the moment that a rate is of and the one that the bar's clock shows
/// next to it: the bar is formatted in between.
constexpr double kFormatting_s = 0.01;
constexpr double kSureSigmas = 3;            ///< standard deviations
constexpr std::size_t kRecordsAround = 512;  ///< records before and after the window
/// How often the sum of the intervals holds the rates at its ends, squared: 1/0.3 and 0.7/0.3
/// times.
constexpr double kEnds = 1 / 0.09 + 0.49 / 0.09;

// What the rounding leaves open of one rate, relative, one standard deviation of a uniform error.
double rounding_of(double rate) { return kHalfDigit * std::min(rate, 1 / rate) / std::sqrt(3.0); }

// By how much the moments of one reading miss the seconds that the bar shows, whatever its shift.
struct Fit {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  void see(double shown_s, double upto_s, double moment_s) {
    low = std::max(low, shown_s - moment_s);
    high = std::min(high, upto_s - moment_s);
  }
  [[nodiscard]] double miss_s() const { return std::max(0.0, low - high); }
};

class Reader {
 public:
  Reader(const RunLog& log, const Window& window)
      : records_(log.records), begin_(window.first), end_(window.last), log_(log) {
    window_first_ = begin_;
    // The record before the window ends where the window begins.
    if (begin_ > 0) --begin_;
    while (begin_ < end_ && !known(begin_)) ++begin_;
    while (end_ > begin_ && !known(end_ - 1)) --end_;
  }

  struct Found {
    BarRate rate = {};
    BarReading reading = two_means;
    double miss_s = 0;
    double between = 0;      ///< iterations/s between the first and the last redraw
    bool unshifted = false;  ///< the moments fit as they are, from the bar's creation on
    std::size_t last = 0;    ///< the newest record whose moment is a mark
  };

  [[nodiscard]] std::optional<Found> read() {
    if (end_ < begin_ + kFewestRedraws || !goes_forward()) return std::nullopt;
    // What stands around a short window also shows how the bar smooths.
    from_ = begin_;
    upto_ = end_;
    while (from_ > 0 && begin_ - from_ < kRecordsAround && follows(from_)) --from_;
    while (upto_ < records_.size() && upto_ - end_ < kRecordsAround && follows(upto_)) ++upto_;
    const double rounding = mean_rounding();
    std::vector<Found> found;
    for (const BarReading reading : {two_means, mean_of_times, newest_interval, overall_mean}) {
      if (auto one = read_as(reading, rounding)) found.push_back(*one);
    }
    // The moments of a bar that was seen from its creation on need no shift.
    if (std::ranges::any_of(found, &Found::unshifted)) {
      std::erase_if(found, [](const Found& one) { return !one.unshifted; });
    }
    if (found.empty()) return std::nullopt;
    Found taken = *std::ranges::min_element(found, {}, &Found::miss_s);
    const auto [low, high] = std::ranges::minmax(found | std::views::transform(&Found::between));
    const double other = std::max(high - taken.between, taken.between - low) / taken.between;
    const double cut_off = std::max(log_.clock_resolution_s - 1, 0.0) / taken.rate.seconds;
    taken.rate.error = std::hypot(taken.rate.error, other, cut_off);
    return taken;
  }

 private:
  [[nodiscard]] bool known(std::size_t i) const {
    return std::isfinite(records_[i].bar_s[two_means]) && std::isfinite(records_[i].time_s);
  }

  // Record `i` goes on where the one before it stood, by counter and clock.
  [[nodiscard]] bool follows(std::size_t i) const {
    const Record& before = records_[i - 1];
    const Record& after = records_[i];
    return known(i - 1) && known(i) && after.step > before.step &&
           clock_of(after) >= clock_of(before) && after.merged == 1 && before.merged == 1;
  }

  // One stretch of one bar, or of bars that follow one another.
  [[nodiscard]] bool goes_forward() const {
    for (std::size_t i = begin_ + 1; i < end_; ++i) {
      if (!follows(i)) return false;
    }
    return true;
  }

  [[nodiscard]] double mean_rounding() const {
    double sum = 0, n = 0;
    for (std::size_t i = begin_; i < end_; ++i) {
      if (!(records_[i].printed_rate > 0)) continue;
      sum += rounding_of(records_[i].printed_rate);
      n += 1;
    }
    return n > 0 ? sum / n : 0;
  }

  // A record keeps the second of its first redraw and of its last one. Of one counter value that
  // was drawn again the moment lies between; records that were joined have that of the last one's.
  [[nodiscard]] double shown_from(std::size_t i) const {
    const Record& record = records_[i];
    const bool joined = record.iterations > 1 && i + 1 < records_.size();
    return std::isnan(record.first_time_s) || joined ? record.time_s : record.first_time_s;
  }

  // A bar is created at counter 0. Not where a log has lost its head: what it shows first is then
  // far from 0 next to its other intervals.
  [[nodiscard]] bool from_zero() const {
    const Record& first = records_[0];
    if (from_ != 0 || first.step != first.iterations) return false;
    std::int64_t longest = 0;
    for (std::size_t i = 1; i < upto_; ++i) {
      longest = std::max(longest, records_[i].step - records_[i - 1].step);
    }
    return first.step <= 2 * longest;
  }

  [[nodiscard]] std::optional<Found> read_as(BarReading reading, double rounding) const {
    Fit fit;
    const auto moment = [&](std::size_t i) {
      return static_cast<double>(records_[i].bar_s[reading]);
    };
    std::size_t last = end_ - 1;
    // A bar that is closed shows the mean rate of all its time. Where the log's last redraw may be
    // that one and the moments differ, the redraw before is the mark.
    if (end_ == records_.size()) {
      const auto as_mean = static_cast<double>(records_[last].bar_s[overall_mean]);
      const bool fits = as_mean >= shown_from(last) && as_mean < records_[last].time_s + 1;
      if (fits && std::abs(as_mean - moment(last)) > kFormatting_s) --last;
    }
    if (last < begin_ + kFewestRedraws - 1) return std::nullopt;
    // The log's last redraw may be that of a bar that was closed: it shows nothing of the
    // smoothing.
    std::size_t fit_end = upto_ == end_ ? last + 1 : upto_;
    if (fit_end == records_.size() && upto_ > end_) --fit_end;
    for (std::size_t i = from_; i < fit_end; ++i) {
      fit.see(shown_from(i), records_[i].time_s + 1, moment(i));
    }
    // Relative, of the time from `begin_s` to the last moment.
    const auto digits_from = [&](double begin_s, double intervals) {
      if (reading == overall_mean) {  // each moment is n over a rounded rate
        return rounding * std::hypot(moment(last), begin_s) / (moment(last) - begin_s);
      }
      if (reading == newest_interval) return rounding / std::sqrt(intervals);
      return rounding * std::sqrt(intervals - 1 + kEnds) / intervals;
    };
    const auto intervals = static_cast<double>(last - begin_);
    if (!(moment(last) > moment(begin_))) return std::nullopt;
    // The sum of the rounding errors walks off the clock, the farther the longer the stretch is.
    const auto fitted = static_cast<double>(fit_end - 1 - from_);
    const double fitted_s = moment(fit_end - 1) - moment(from_);
    const double walk = reading == overall_mean
                            ? rounding * moment(fit_end - 1)
                            : rounding * std::sqrt(fitted - 1 + kEnds) / fitted * fitted_s;
    const double allowed_s = kFormatting_s + kSureSigmas * walk;
    Found out{.reading = reading, .last = last};
    out.miss_s = fit.miss_s();
    if (out.miss_s > allowed_s) return std::nullopt;
    out.unshifted = from_zero() && fit.low <= allowed_s && fit.high >= -allowed_s;
    // For a window from its creation on that is a mark as well.
    const bool at_zero = out.unshifted && window_first_ == 0 && begin_ == 0;
    const double begin_s = at_zero ? 0 : moment(begin_);
    const std::int64_t counted = at_zero ? 0 : records_[begin_].step;
    const double digits = digits_from(begin_s, intervals + (at_zero ? 1 : 0));
    // What a redraw that is no mark has counted is taken to go on at the newest rate, and may have
    // taken between nothing and twice that.
    const auto left = static_cast<double>(records_[end_ - 1].step - records_[last].step);
    const double left_s = left > 0 ? left / records_[last].printed_rate : 0;
    out.between = static_cast<double>(records_[last].step - records_[begin_].step) /
                  (moment(last) - moment(begin_));
    BarRate& rate = out.rate;
    rate.iterations = static_cast<double>(records_[last].step - counted) + left;
    rate.seconds = moment(last) - begin_s + left_s;
    const double guessed = 2 * left_s / std::sqrt(12.0) / rate.seconds;
    rate.error = std::hypot(digits, out.miss_s / rate.seconds, guessed);
    return out;
  }

  std::span<const Record> records_;
  std::size_t begin_, end_;  ///< marks of the window
  std::size_t from_ = 0,
              upto_ = 0;  ///< the redraws by which the ways of smoothing are distinguished
  std::size_t window_first_ = 0;
  const RunLog& log_;
};

/// Only a bar's elapsed time is in whole seconds and none of the day.
std::optional<Reader::Found> read_bar(const RunLog& log, const Window& window) {
  if (log.clock_is_wall || !(log.clock_resolution_s >= 1)) return std::nullopt;
  return Reader(log, window).read();
}

}  // namespace

std::optional<BarRate> counter_over_bar_rates(const RunLog& log, const Window& window) {
  const auto found = read_bar(log, window);
  return found ? std::optional(found->rate) : std::nullopt;
}

std::vector<double> bar_iteration_times(const RunLog& log) {
  const auto& records = log.records;
  Window all;
  all.last = records.size();
  const auto found = read_bar(log, all);
  if (!found) return {};
  const auto moment = [&](std::size_t i) {
    return static_cast<double>(records[i].bar_s[found->reading]);
  };
  std::vector<double> times(records.size(), kUnknown);
  for (std::size_t i = 0; i <= found->last; ++i) {
    if (i == 0 && !found->unshifted) continue;
    const double seconds = i == 0 ? moment(0) : moment(i) - moment(i - 1);
    times[i] = seconds / static_cast<double>(std::max<std::int64_t>(1, records[i].iterations));
  }
  // Moments are held in 24 bits: after days of a bar they are coarser than its steps.
  constexpr double kRounding = 0x1p-24;  // of a moment
  constexpr double kSharp = 0.01;        // of a redraw's time
  const double coarsest_s = moment(found->last) * kRounding;
  const double redraw_s = (moment(found->last) - moment(0)) / static_cast<double>(found->last);
  if (coarsest_s > kSharp * redraw_s) return {};
  return times;
}

}  // namespace bertbench
