#include "parsers/generic/shape_meaning.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "parsers/lines/clock.h"

namespace bertbench {
namespace {

using Values = std::vector<double>;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Values values_of(const LineShape& shape, std::size_t i) {
  Values out;
  for (const ShapeLine& line : shape.examples) out.push_back(line.at(i).value * line.at(i).scale);
  return out;
}

double median(Values values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return kNone;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// How a number goes on from line to line.
struct Growth {
  int up = 0, same = 0, down = 0;
  [[nodiscard]] int all() const { return up + same + down; }
};

class Decision {
 public:
  explicit Decision(const LineShape& shape) : shape_(shape), n_(shape.examples.size()) {}

  std::optional<ShapeMeaning> decide() {
    if (!counters()) return std::nullopt;
    count_lines();
    clocks();
    times();
    rates();
    return out_;
  }

 private:
  [[nodiscard]] Meaning meaning(std::size_t i) const { return shape_.examples[0].at(i).meaning; }
  [[nodiscard]] std::size_t fields() const { return shape_.examples[0].key.size(); }

  /// Within an epoch where `epochs` has one for each line; a smaller number after another epoch is
  /// no step back.
  [[nodiscard]] Growth growth(const Values& values, const Values& epochs) const {
    Growth out;
    for (std::size_t i = 1; i < values.size(); ++i) {
      const bool next_epoch = !epochs.empty() && epochs[i] > epochs[i - 1];
      if (next_epoch || values[i] > values[i - 1]) {
        ++out.up;
      } else if (values[i] == values[i - 1]) {
        ++out.same;
      } else {
        ++out.down;
      }
    }
    return out;
  }

  [[nodiscard]] bool whole(std::size_t i) const {
    return std::ranges::all_of(shape_.examples,
                               [&](const ShapeLine& line) { return line.at(i).whole; });
  }
  [[nodiscard]] bool same_total(std::size_t i) const {
    const double total = shape_.examples[0].at(i).total;
    return std::ranges::all_of(shape_.examples,
                               [&](const ShapeLine& line) { return line.at(i).total == total; });
  }

  /// Most of the steps from line to line go up; a few go back where a log holds several launches.
  static bool grows(const Growth& growth) {
    return growth.up > 0 && growth.up >= growth.same && growth.down <= growth.all() / 4;
  }

  bool counters() {
    // The epoch, if any, is the first that never shrinks within a launch.
    std::optional<std::size_t> epoch;
    std::vector<std::size_t> finer;
    for (std::size_t i = 0; i < fields(); ++i) {
      if (!whole(i)) continue;
      const Meaning of = meaning(i);
      if (of == Meaning::epoch && !epoch) {
        epoch = i;
      } else if (of == Meaning::counter || of == Meaning::place) {
        finer.push_back(i);
      }
    }
    // Of two places without words, the first that stands still while the other goes on is the
    // epoch.
    if (!epoch && finer.size() > 1 && meaning(finer[0]) == Meaning::place) {
      const Growth first = growth(values_of(shape_, finer[0]), {});
      if (first.same > first.up) {
        epoch = finer[0];
        finer.erase(finer.begin());
      }
    }
    if (epoch) epochs_ = values_of(shape_, *epoch);
    std::optional<std::size_t> step;
    int best = 0;
    for (const std::size_t i : finer) {
      const Values values = values_of(shape_, i);
      const Growth within = growth(values, epochs_), alone = growth(values, {});
      if (alone.up == 0 && n_ > 1) continue;  // a last step of each epoch, a constant
      // Without an epoch a place may begin again at its total.
      const bool wraps =
          !epoch && shape_.examples[0].at(i).has_total() && same_total(i) && wrapped_all(i, values);
      if (!grows(within) && !wraps && n_ > 1) continue;
      const int worth = 2 * alone.up + (meaning(i) == Meaning::counter ? 1 : 0);
      if (step && worth <= best) continue;
      best = worth;
      step = i;
      out_.wraps = wraps && within.down > 0;
    }
    if (!step) {
      if (!epoch) return false;
      const Growth of = growth(epochs_, {});
      if (n_ > 1 && !grows(of)) return false;
      out_.step = *epoch;
      out_.step_is_epoch = meaning(*epoch) == Meaning::epoch;
      return true;
    }
    out_.step = *step;
    const ShapeLine& first = shape_.examples[0];
    const Values steps = values_of(shape_, *step);
    if (epoch) {
      // A counter that goes on through an epoch's end needs no epoch.
      bool begins_again = false, goes_on = false;
      for (std::size_t i = 1; i < n_; ++i) {
        if (!(epochs_[i] > epochs_[i - 1])) continue;
        begins_again = begins_again || steps[i] <= steps[i - 1];
        goes_on = goes_on || steps[i] > steps[i - 1];
      }
      const bool global = first.at(*step).names_total || (goes_on && !begins_again);
      if (!global) out_.epoch = epoch;
      out_.total_is_of_epoch = !global;
    }
    return true;
  }

  /// Each step back is from near the total to near the begin.
  [[nodiscard]] bool wrapped_all(std::size_t i, const Values& values) const {
    double stride = 0;
    for (std::size_t k = 1; k < values.size(); ++k)
      stride = std::max(stride, values[k] - values[k - 1]);
    const double total = shape_.examples[0].at(i).total;
    for (std::size_t k = 1; k < values.size(); ++k) {
      if (values[k] > values[k - 1]) continue;
      if (values[k] == values[k - 1] || values[k - 1] + stride < total || values[k] > stride)
        return false;
    }
    return stride > 0;
  }

  /// The iterations from line to line, nan where the line before is of another launch or epoch of
  /// unknown length.
  void count_lines() {
    const Values steps = values_of(shape_, out_.step);
    advance_.assign(n_, kNone);
    for (std::size_t i = 1; i < n_; ++i) {
      const bool next_epoch = !epochs_.empty() && epochs_[i] > epochs_[i - 1];
      const double by = steps[i] - steps[i - 1];
      if (by > 0 && (!next_epoch || !out_.epoch)) advance_[i] = by;
    }
    stride_ = median(advance_);
  }

  void clocks() {
    for (std::size_t i = 0; i < fields() && !out_.clock; ++i) {
      if (meaning(i) != Meaning::clock) continue;
      Values stamps = stamps_of(i);
      if (growth(stamps, {}).down > static_cast<int>(n_) / 4) continue;
      out_.clock = i;
      between_.assign(n_, kNone);
      for (std::size_t k = 1; k < n_; ++k) {
        const double took = stamps[k] - stamps[k - 1];
        if (took > 0) between_[k] = took;
      }
    }
  }

  Values stamps_of(std::size_t i) {
    const auto read = [&](bool day_first) {
      Values out;
      for (const ShapeLine& line : shape_.examples) {
        const LineNumber& number = line.at(i);
        const auto text = std::string_view(line.text).substr(number.value_begin,
                                                             number.value_end - number.value_begin);
        const auto stamp = any_stamp_or_time(text, day_first);
        out.push_back(stamp ? stamp->seconds : number.value);
        missed_ = missed_ || (!stamp && text.find('/') != std::string_view::npos);
      }
      return out;
    };
    missed_ = false;
    Values out = read(false);
    if (missed_) {
      out_.day_first = true;
      out = read(true);
    }
    return out;
  }

  /// It grows within each epoch, by more than the drift of a step's time.
  [[nodiscard]] bool is_elapsed(std::size_t i, const Values& values) const {
    constexpr int kLinesThatShow = 8;  ///< of a chance of 1 : 40,000 that times of steps rise so
    constexpr double kTwice = 2;       ///< a time of steps does not double from line to line
    int up = 0, down = 0;
    double low = values[0], most = 0;
    for (std::size_t k = 1; k < n_; ++k) {
      const bool restarts = std::isnan(advance_[k]);
      if (values[k] >= values[k - 1]) {
        up += values[k] > values[k - 1] ? 1 : 0;
      } else if (restarts) {
        low = values[k];
      } else {
        ++down;
      }
      if (low > 0) most = std::max(most, values[k] / low);
    }
    if (down > 0 || up == 0) return false;
    return shape_.examples[0].at(i).since_start || up >= kLinesThatShow || most >= kTwice;
  }

  void times() {
    Values ratios;
    std::optional<std::size_t> best;
    double best_gap = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < fields(); ++i) {
      const Meaning of = meaning(i);
      if (of != Meaning::duration && of != Meaning::per_iteration) continue;
      const Values values = values_of(shape_, i);
      if (!(median(values) > 0)) continue;
      if (of == Meaning::duration && n_ > 1 && is_elapsed(i, values)) {
        const bool first = !out_.elapsed;
        if (first) out_.elapsed = i;
        continue;
      }
      const Growth change = growth(values, {});
      constexpr int kFalls = 4;  // a time left
      if (change.down >= kFalls && change.up == 0) continue;
      const auto kind = kind_of(i, values);
      if (!kind) continue;
      const double gap = kind->gap;
      if (best && gap >= best_gap) continue;
      best = i;
      best_gap = gap;
      out_.seconds.reset();
      out_.seconds_per_iteration.reset();
      (kind->per_iteration ? out_.seconds_per_iteration : out_.seconds) = i;
    }
    if (best) out_.time_is_ambiguous = false;
  }

  struct TimeKind {
    bool per_iteration = false;
    double gap = 0;  ///< from what the clock gives, as a logarithm
  };

  /// Whether a time is that of one iteration or of all since the line before.
  std::optional<TimeKind> kind_of(std::size_t i, const Values& values) {
    constexpr double kLeastOfClock = 0.3,
                     kMostOfClock = 1.3;  ///< of the clock's time: the rest is other work
    const bool labelled = meaning(i) == Meaning::per_iteration;
    const bool one = stride_ == 1 || (n_ == 1 && out_.step_is_epoch);
    const Values& clock = out_.clock ? between_ : elapsed_between();
    if (!clock.empty()) {
      Values all, each;
      for (std::size_t k = 1; k < n_; ++k) {
        all.push_back(values[k] / clock[k]);
        each.push_back(values[k] * advance_[k] / clock[k]);
      }
      const double as_all = median(all), as_each = median(each);
      const auto fits = [&](double ratio) {
        return ratio >= kLeastOfClock && ratio <= kMostOfClock;
      };
      if (std::isfinite(as_all) && std::isfinite(as_each)) {
        if (labelled || !fits(as_all)) {
          if (fits(as_each)) return TimeKind{true, std::abs(std::log(as_each))};
          if (labelled || one) return std::nullopt;
          return std::nullopt;
        }
        return TimeKind{false, std::abs(std::log(as_all))};
      }
    }
    if (labelled || shape_.examples[0].at(i).mean_follows) return TimeKind{true, 0};
    if (one) return TimeKind{false, 0.1};
    if (std::isnan(stride_) && out_.step_is_epoch) return TimeKind{false, 0.1};
    const auto by_rate = kind_by_rate(values);
    if (!by_rate) out_.time_is_ambiguous = true;
    return by_rate;
  }

  /// Rate times time is the iterations of one of the two.
  std::optional<TimeKind> kind_by_rate(const Values& values) const {
    constexpr double kRounding = 0.1;
    for (std::size_t i = 0; i < fields(); ++i) {
      if (meaning(i) != Meaning::rate ||
          shape_.examples[0].at(i).unit != RateUnit::iterations_per_second) {
        continue;
      }
      const Values rates = values_of(shape_, i);
      Values products;
      for (std::size_t k = 0; k < n_; ++k) products.push_back(values[k] * rates[k]);
      const double product = median(products);
      if (std::abs(product / stride_ - 1) < kRounding) return TimeKind{false, 0};
      if (std::abs(product - 1) < kRounding) return TimeKind{true, 0};
    }
    return std::nullopt;
  }

  Values elapsed_between() const {
    if (!out_.elapsed) return {};
    const Values values = values_of(shape_, *out_.elapsed);
    Values out(n_, kNone);
    for (std::size_t k = 1; k < n_; ++k) {
      if (values[k] > values[k - 1]) out[k] = values[k] - values[k - 1];
    }
    return out;
  }

  void rates() {
    const Values clock = out_.clock ? between_ : elapsed_between();
    for (std::size_t i = 0; i < fields() && !out_.rate; ++i) {
      if (meaning(i) != Meaning::rate) continue;
      const RateUnit unit = shape_.examples[0].at(i).unit;
      if (unit == RateUnit::iterations_per_second) {
        if (out_.step_is_epoch) continue;  // of another counter
        Values ratios;
        const Values rates = values_of(shape_, i);
        for (std::size_t k = 1; k < n_ && !clock.empty(); ++k) {
          ratios.push_back(rates[k] * clock[k] / advance_[k]);
        }
        constexpr double kLeastRatio = 0.7, kMostRatio = 3.0;  // the clock has other work in it
        const double ratio = median(ratios);
        if (std::isfinite(ratio) && (ratio < kLeastRatio || ratio > kMostRatio)) continue;
      }
      out_.rate = i;
    }
  }

  const LineShape& shape_;
  std::size_t n_;
  ShapeMeaning out_;
  Values epochs_;   ///< of each line; empty without
  Values advance_;  ///< iterations since the line before
  Values between_;  ///< seconds since the line before, by stamps
  double stride_ = kNone;
  bool missed_ = false;
};

}  // namespace

std::optional<ShapeMeaning> meaning_of(const LineShape& shape) { return Decision(shape).decide(); }

CompanionMeaning companion_of(const LineShape& shape, bool of_each) {
  CompanionMeaning out;
  const ShapeLine& first = shape.examples.front();
  for (std::size_t i = 0; i < first.key.size(); ++i) {
    const LineNumber& number = first.at(i);
    const Values values = values_of(shape, i);
    if (number.meaning == Meaning::rate && !out.rate) out.rate = i;
    if (number.meaning == Meaning::per_iteration && !out.seconds_per_iteration) {
      out.seconds_per_iteration = i;
    }
    if (number.meaning != Meaning::duration || out.elapsed || out.seconds) continue;
    const bool rises = values.size() > 2 &&
                       std::ranges::adjacent_find(values, std::greater_equal<>()) == values.end();
    const bool twice = values.back() >= 2 * values.front();
    if (rises && (number.since_start || twice)) {
      out.elapsed = i;
    } else if (of_each && !rises) {
      out.seconds = i;
    }
  }
  return out;
}

}  // namespace bertbench
