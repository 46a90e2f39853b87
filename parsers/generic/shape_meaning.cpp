#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "parsers/core/median.h"
#include "parsers/core/text.h"
#include "parsers/described/printed_value.h"
#include "parsers/generic/line_shapes.h"
#include "parsers/lines/clock.h"

namespace bertbench {
namespace {

using Values = std::vector<double>;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Of those that are known; nan where none is.
double known_median(Values values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values.empty() ? kNone : median(std::move(values));
}

/// Each less the one before; nan for the first and where it is not above 0.
Values steps_up(const Values& values) {
  Values out(values.size(), kNone);
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[i - 1]) out[i] = values[i] - values[i - 1];
  }
  return out;
}

/// "00:02", "0m 2s" of each line: cut to whole seconds, it may be half as much more.
bool is_whole_and_short(const LineShape& shape, std::size_t i) {
  constexpr double kShortest_s = 10;  // half a second of it is 5 %
  const auto is_cut = [&](const ShapeLine& line) {
    const std::string_view text = line.text_of(i);
    if (text.find_first_of(".,") != text.npos) return false;
    const auto unit = std::ranges::find_if(text, is_any_letter);  // of the first number
    const bool minutes = line.at(i).own_unit && std::any_of(unit, text.end(), is_digit);
    return minutes || text.find(':') != text.npos;
  };
  return std::ranges::all_of(shape.examples, is_cut) &&
         known_median(values_of(shape, i)) < kShortest_s;
}

/// How a number goes on from line to line.
struct Growth {
  int up = 0, same = 0, down = 0;
  [[nodiscard]] int all() const { return up + same + down; }
};

class Decision {
 public:
  explicit Decision(const LineShape& shape)
      : shape_(shape),
        n_(shape.examples.size()),
        of_bar_(shape.examples.front().has_time_of_bar()) {}

  std::optional<ShapeMeaning> decide() {
    if (n_ == 1) return of_one_line();
    if (is_fastprogress() || !counters()) return std::nullopt;
    count_iterations();
    find_clock();
    find_times();
    find_rate();
    leave_what_amounts_do_not_show();
    out_.of_processes = comes_from_processes() && !any_rounded();
    return out_;
  }

 private:
  /// "Epoch 1/4 : |##--| 5.38% [5/93 00:00<00:03]" and then "[2/35 00:00<00:00]": fastprogress
  /// gives the bars of training and validation one name.
  [[nodiscard]] bool is_fastprogress() const {
    const auto place = shape_.place_of(Meaning::place);
    if (!of_bar_ || !place) return false;
    const ShapeLine& line = shape_.examples.front();
    const auto time = std::ranges::find_if(line.numbers, &LineNumber::of_bar);
    return time->value_begin == line.at(*place).total_end + 1;
  }

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
  [[nodiscard]] bool grows(const Growth& growth, bool named = false) const {
    // Of a short log with two launches the begin of the second is one step of three.
    const int of_two = named && growth.up > growth.down ? 1 : 0;
    // Where two processes or streams write each line, it stands still as often, and once more; a
    // bar is redrawn for each value that it shows.
    return growth.up > 0 && (of_bar_ || growth.up + 1 >= growth.same) &&
           growth.down <= std::max(of_two, growth.all() / 4);
  }

  /// "Epoch 1", "Epoch 2", "Epoch 3" of each fold: the counter goes on by as much on each line, and
  /// where it goes back it begins again with the value that it began with.
  [[nodiscard]] static bool begins_again(const Values& values) {
    constexpr int kRisesOfEach = 2;  // lines of a fold but its first, at least, in the mean
    int up = 0, again = 0;
    for (std::size_t k = 1; k < values.size(); ++k) {
      const bool next = values[k] - values[k - 1] == values[1] - values[0];
      if (!next && !(values[k] < values[k - 1] && values[k] == values[0])) return false;
      ++(next ? up : again);
    }
    return values.size() > 1 && values[1] > values[0] && up >= kRisesOfEach * again;
  }

  /// Each value stands there as often as any other but the first and the last, which may be cut: as
  /// many processes write each line, or each of several losses has a line of its own.
  [[nodiscard]] bool comes_in_copies(const Values& values) const {
    constexpr std::size_t kWholeSetsThatShow = 2;
    std::vector<std::size_t> sets = {1};
    for (std::size_t k = 1; k < values.size(); ++k) {
      const bool next_epoch = !epochs_.empty() && epochs_[k] > epochs_[k - 1];
      if (values[k] < values[k - 1] && !next_epoch) return false;
      if (values[k] != values[k - 1] || next_epoch) sets.push_back(0);
      ++sets.back();
    }
    if (sets.size() < kWholeSetsThatShow + 2) return false;
    const std::size_t copies = sets[1];
    return sets.front() <= copies && sets.back() <= copies &&
           std::all_of(sets.begin() + 1, sets.end() - 1,
                       [&](std::size_t set) { return set == copies; });
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
    // A line of each epoch, or a counter that lines with another one have as well, comes first.
    if (finer.empty() && !(epoch && grows(growth(epochs_, {})))) step = amount();
    int best = 0;
    for (const std::size_t i : finer) {
      const Values values = values_of(shape_, i);
      const Growth within = growth(values, epochs_), alone = growth(values, {});
      if (alone.up == 0) continue;  // a last step of each epoch, a constant
      // Without an epoch a place may begin again at its total.
      const bool wraps =
          !epoch && shape_.examples[0].at(i).has_total() && same_total(i) && wrapped_all(i, values);
      const bool named = meaning(i) == Meaning::counter;
      const bool again = named && !epoch && begins_again(values);
      if (!grows(within, named) && !wraps && !again && !comes_in_copies(values)) continue;
      const int worth = 2 * alone.up + (named ? 1 : 0);
      if (step && worth <= best) continue;
      best = worth;
      step = i;
      out_.wraps = wraps && within.down > 0;
    }
    if (!step) {
      if (!epoch || !(grows(growth(epochs_, {})) || begins_again(epochs_))) return false;
      out_.step = *epoch;
      out_.step_is_epoch = meaning(*epoch) == Meaning::epoch;
      return true;
    }
    out_.step = *step;
    const ShapeLine& first = shape_.examples[0];
    if (epoch) {
      const Values steps = values_of(shape_, *step);
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

  /// The first amount that grows. What is rounded may stand still, but does not fall.
  [[nodiscard]] std::optional<std::size_t> amount() {
    for (std::size_t i = 0; i < fields(); ++i) {
      if (meaning(i) != Meaning::amount) continue;
      const Growth change = growth(values_of(shape_, i), epochs_);
      if (!grows(change) && !(change.up > 1 && change.down == 0)) continue;
      out_.amount = shape_.examples[0].at(i).unit;
      return i;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool counts_data() const {
    return out_.amount == RateUnit::sequences_per_second ||
           out_.amount == RateUnit::tokens_per_second;
  }

  [[nodiscard]] bool any_rounded() const {
    return std::ranges::any_of(shape_.examples,
                               [&](const ShapeLine& line) { return line.at(out_.step).rounded; });
  }

  /// What is printed comes before what an amount shows over a clock, and one whose last digit is
  /// not far below its growth shows nothing.
  void leave_what_amounts_do_not_show() {
    constexpr double kCoarse = 0.05;  // last digit, as a share of the growth
    if (out_.amount == RateUnit::unknown) return;
    ShapeTimes& times = out_.times;
    const bool printed = times.rate || times.seconds_per_iteration;
    double digit = 0;
    for (const ShapeLine& line : shape_.examples) {
      digit = std::max(digit, last_digit(line.text_of(out_.step)));
    }
    const bool coarse = digit > kCoarse * (std::ranges::max(steps_) - std::ranges::min(steps_));
    if (printed) {
      times = {.seconds_per_iteration = times.seconds_per_iteration, .rate = times.rate};
    } else if (coarse) {
      times = {};
    }
  }

  /// A line that no other is like has a record where it names all of it: what it counts, and the
  /// rate or the time of an iteration by its unit.
  std::optional<ShapeMeaning> of_one_line() {
    std::optional<std::size_t> step;
    for (std::size_t i = 0; i < fields(); ++i) {
      const Meaning of = meaning(i);
      const bool finer = of == Meaning::counter || (of == Meaning::place && !step);
      if (finer && whole(i)) step = i;
      const LineNumber& number = shape_.examples[0].at(i);
      if (!(number.value > 0) || shape_.is_coarse(i)) continue;
      if (of == Meaning::rate && !out_.times.rate) out_.times.rate = i;
      // By its unit: of several times with names one may be of a part.
      const bool by_unit =
          of == Meaning::per_iteration && (number.own_unit || number.end > number.value_end);
      if (by_unit || shape_.examples[0].is_meter(i)) out_.times.seconds_per_iteration = i;
    }
    if (!step || !out_.times.any()) return std::nullopt;
    out_.step = *step;
    out_.of_one_line = true;
    return out_;
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

  /// Not known where the line before is of another launch or of another epoch.
  void count_iterations() {
    steps_ = values_of(shape_, out_.step);
    advance_ = steps_up(steps_);
    same_step_.resize(n_);
    for (std::size_t i = 1; i < n_; ++i) {
      const bool next_epoch = out_.epoch && epochs_[i] > epochs_[i - 1];
      if (next_epoch) advance_[i] = kNone;
      same_step_[i] = !next_epoch && steps_[i] == steps_[i - 1];
    }
    stride_ = out_.stride = known_median(advance_);
    out_.counts_sequences = std::ranges::all_of(shape_.examples,
                                                [&](const ShapeLine& line) {
                                                  return line.at(out_.step).of_sequences;
                                                }) ||
                            (out_.amount == RateUnit::unknown && begins_with_a_batch());
  }

  /// "[   64/60000]", "[ 6464/60000]", "[12864/60000]" of PyTorch's tutorial: after the first batch
  /// each line comes a number of whole batches later, and not as many as stand on the first one.
  /// Loops print each tenth or hundredth step, and batches are powers of two.
  [[nodiscard]] bool begins_with_a_batch() const {
    constexpr double kLeastBatch = 8, kMostBatch = 65536;  // less may be the step of the first line
    const double batch = steps_.front();
    if (!(batch >= kLeastBatch && batch <= kMostBatch)) return false;
    const bool power = std::has_single_bit(static_cast<std::uint32_t>(batch));
    if (!power || !shape_.examples[0].at(out_.step).has_total()) return false;
    return stride_ > batch && std::ranges::all_of(advance_, [&](double advance) {
             return std::isnan(advance) || std::fmod(advance, batch) == 0;
           });
  }

  void find_clock() {
    for (std::size_t i = 0; i < fields() && !out_.times.clock; ++i) {
      if (meaning(i) != Meaning::clock) continue;
      const Values stamps = stamps_of(i);
      const Growth change = growth(stamps, {});
      // Lines that several processes print for one step may stand in any order.
      int falls_within_step = 0;
      for (std::size_t k = 1; k < n_; ++k) {
        if (same_step_[k] && stamps[k] < stamps[k - 1]) ++falls_within_step;
      }
      // All lines may have the second in which the log was written out.
      const int falls = change.down - falls_within_step;
      if (change.up == 0 || falls > static_cast<int>(n_) / 4) continue;
      if (is_bare(i) && !(stamps.back() > kLeastOfClock_s && is_elapsed(i, stamps))) continue;
      out_.times.clock = i;
      between_ = steps_up(stamps);
      out_.clock_interval_s = known_median(between_);
    }
  }

  /// The 12.345 of "[   12.345] step 20": seconds since the start, or an accuracy or a learning
  /// rate that rises.
  static constexpr double kLeastOfClock_s = 1;
  [[nodiscard]] bool is_bare(std::size_t i) const {
    constexpr double kLatest_s = 1e9;  // since 1970 all are later
    return shape_.examples[0].text_of(i).find_first_not_of("0123456789.") ==
               std::string_view::npos &&
           shape_.examples[0].at(i).value < kLatest_s;
  }

  Values stamps_of(std::size_t i) {
    Values out;
    for (const bool day_first : {false, true}) {
      bool unread = false;
      out.clear();
      for (const ShapeLine& line : shape_.examples) {
        const std::string_view text = line.text_of(i);
        const auto stamp = any_stamp_or_time(text, day_first);
        out.push_back(stamp ? stamp->seconds : line.at(i).value);
        unread = unread || (!stamp && text.find_first_of("/-") != std::string_view::npos);
      }
      out_.day_first = day_first;
      if (!unread) break;
    }
    return out;
  }

  /// It grows within each epoch, by more than the drift of a step's time.
  [[nodiscard]] bool is_elapsed(std::size_t i, const Values& values) const {
    // Times of steps in random order rise eight times in a row once in 40,000 (8!) shapes.
    constexpr int kRisesThatShow = 8;
    constexpr int kRisesOfAClockThatShow = 4;  // "0:00:42" without a word is seldom of one step
    // What it grows to of the first is more than times of steps drift by, and nearly in proportion.
    constexpr double kLeastGrowth = 1.3, kGrowthThatShows = 2, kProportion = 0.8;
    int up = 0, down = 0, again = 0;
    bool grew = false;
    std::size_t from = 0;  // since it began anew
    const Values added = each_of(steps_up(values));
    const double each = known_median(added);
    // Of launches that resume where another ended, one line in so many repeats a step, or fewer.
    constexpr std::ptrdiff_t kLinesOfALaunch = 8;
    const bool of_processes =
        std::ranges::count(same_step_, true) * kLinesOfALaunch > static_cast<std::ptrdiff_t>(n_);
    for (std::size_t k = 1; k < n_; ++k) {
      // Also where it begins again, as after an evaluation: then it has the time of one interval.
      const double begun = values[k] / (each * advance_[k]);
      // Where the counter stands still on many lines, another process prints a clock that is near
      // to the same; a launch that resumes where the one before ended prints one of its own
      // (quoted/generic.a_launch_that_resumes_has_a_clock_of_its_own).
      constexpr double kOtherProcessClock = 0.5;  // share of the time before: a clock of its own
      const bool other_time =
          of_processes && same_step_[k] && values[k] < kOtherProcessClock * values[k - 1];
      const bool restarts =
          (std::isnan(advance_[k]) && !other_time) || (begun > 0.7 && begun < 1.3);
      // The line of a first step has next to no time, whatever the times of the others are of.
      const bool after_first = steps_[k - 1] <= 1;
      if (values[k] >= values[k - 1]) {
        up += values[k] > values[k - 1] && !after_first ? 1 : 0;
      } else if (restarts) {
        again += std::isnan(advance_[k]) ? 0 : 1;
        from = k;
      } else {
        ++down;
      }
      if (after_first && from + 1 == k) from = k;
      const double growth = std::clamp(std::pow(steps_[k] / steps_[from], kProportion),
                                       kLeastGrowth, kGrowthThatShows);
      grew = grew || (values[from] > 0 && values[k] >= growth * values[from]);
    }
    if (stands_still(i, values)) return true;
    if (names_mean(i) || shows_one_time(i, values)) return false;
    if (out_.step_is_epoch && names(i, "epoch")) return false;  // "epoch time 27.25s" is of each
    const ShapeLine& line = shape_.examples[0];
    const LineNumber& number = line.at(i);
    // "10.86s", "10.98s", "11.10s" from the end of the first interval on may be of each, and ever
    // longer; a clock that began long before the loop shows so at step 0.
    const bool may_be_of_each = !number.since_start && !is_time_of_day(i, values) &&
                                begins_late(values) && !grew && steps_[0] + 1 >= stride_ &&
                                values[0] < kLongestInterval_s;
    if (may_be_of_each) return false;
    if (rises_evenly(values, each)) return true;
    if (down > 0 || up <= 2 * again) return false;
    if (is_steps_times_each(values, each)) return true;
    if (number.since_start) return true;
    constexpr std::size_t kLinesThatShow = 3;  // two values rise in half of all cases
    if (n_ < kLinesThatShow) return false;
    const bool has_label = shape_.head || number.begin < number.value_begin;
    const bool is_clock = line.text_of(i).find(':') != std::string_view::npos;
    if (grew) return true;
    // "127.1s", "131.2s" ... "139.3s" of epochs 1 to 10: each takes longer, by less and less.
    constexpr double kUneven = 8;  // times the least that a step adds: whole seconds differ by less
    const bool drifts = begins_late(values) && most_over_least(added) > kUneven;
    return !drifts && up >= (is_clock && !has_label ? kRisesOfAClockThatShow : kRisesThatShow);
  }

  /// "[0:00:20]" on most lines of a loop that prints many a second, then "[0:00:21]": whole seconds
  /// that never fall. Times of steps that differ by so little are cut to one number, or to two in
  /// any order.
  [[nodiscard]] bool stands_still(std::size_t i, const Values& values) const {
    const Growth change = growth(values, {});
    return change.up > 0 && change.down == 0 && shows_whole_seconds(i, values) &&
           change.same >= kLinesToARise * change.up;
  }

  /// "8.1s", "12.9s", "13.0s", "13.0s" ...: on most lines what the line before has, to a fraction
  /// of a second. A clock of such digits goes on.
  [[nodiscard]] bool shows_one_time(std::size_t i, const Values& values) const {
    constexpr int kLinesToAChange = 2;
    const Growth change = growth(values, {});
    const ShapeLine& line = shape_.examples[0];
    return change.same > kLinesToAChange * change.up &&
           last_digit(line.text_of(i)) * line.at(i).scale < 1;
  }

  /// Digits of whole seconds, on so many lines of single steps that their times would differ.
  [[nodiscard]] bool shows_whole_seconds(std::size_t i, const Values& values) const {
    constexpr std::size_t kLinesThatShow = 12;
    const bool by_one = !out_.step_is_epoch && stride_ == 1;
    return by_one && n_ >= kLinesThatShow && meaning(i) == Meaning::duration &&
           std::ranges::all_of(shape_.examples,
                               [&](const ShapeLine& line) {
                                 return line.text_of(i).find('.') == std::string_view::npos;
                               }) &&
           std::ranges::all_of(values, [](double value) { return std::fmod(value, 1) == 0; });
  }
  static constexpr int kLinesToARise = 4;  // that have the second of the line before

  /// Of those that are known.
  static double most_over_least(Values values) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    return values.empty() ? 1 : std::ranges::max(values) / std::ranges::min(values);
  }

  /// "17588s", "17683s", "17777s" at each 250th step: about as much more for each step. Times of
  /// single steps do not rise so, but where every step has a line they may, as a run slows down. It
  /// may begin again between two lines, as with an epoch, whatever it shows on the next one.
  [[nodiscard]] bool rises_evenly(const Values& values, double each) const {
    constexpr int kRisesThatShow = 5;
    constexpr int kRisesToAFall = 4;      // at least
    constexpr double kEvenFactor = 2;     // times `each`, at most, and its inverse at least
    constexpr double kBeginsAgain = 0.7;  // of the time before, at most
    int rises = 0, falls = 0;
    for (std::size_t k = 1; k < n_; ++k) {
      if (!(advance_[k] > 0)) continue;
      if (advance_[k] == 1) return false;
      if (values[k] < kBeginsAgain * values[k - 1]) {
        ++falls;
        continue;
      }
      const double share = (values[k] - values[k - 1]) / (each * advance_[k]);
      if (!(share > 1 / kEvenFactor && share < kEvenFactor)) return false;
      ++rises;
    }
    return rises >= kRisesThatShow && rises >= kRisesToAFall * falls;
  }

  /// Of a time of day without its date, which falls by nearly a day at midnight.
  [[nodiscard]] static Values over_midnights(Values values) {
    constexpr double kDay_s = 86400, kLeastFall = 0.75;  // of a day: a launch later may be at noon
    double days_s = 0;
    double before = values[0];
    for (double& value : values) {
      if (std::exchange(before, value) - value > kLeastFall * kDay_s) days_s += kDay_s;
      value += days_s;
    }
    return values;
  }

  /// "15:20:16" and again, or a few seconds later, on lines that were written faster than that: by
  /// its hours it is no time of a step, and without a word none of an epoch.
  [[nodiscard]] bool is_hour_that_stands(std::size_t i, const Values& values) const {
    constexpr double kMostGrowth = 1.01;  // times the first
    const ShapeLine& line = shape_.examples[0];
    const bool named = std::ranges::any_of(line.label_of(line.at(i)), is_letter);
    return has_layout_of_day(i) && values[0] > kLongestInterval_s && growth(values, {}).down == 0 &&
           values.back() < kMostGrowth * values[0] && !(named && out_.step_is_epoch);
  }

  /// "[10:00:19]", and no "elapsed: 10:00:19".
  [[nodiscard]] bool has_layout_of_day(std::size_t i) const {
    const std::string_view text = shape_.examples[0].text_of(i);
    return !shape_.examples[0].at(i).since_start && text.size() >= 8 && text[2] == ':' &&
           text[5] == ':';
  }

  /// "[10:00:19]" at the 20th step of a second each: a clock without a word, with much more on it
  /// than those steps.
  [[nodiscard]] bool is_time_of_day(std::size_t i, const Values& values) const {
    return has_layout_of_day(i) && begins_late(values);
  }

  /// "t=1 min" next to the stamps of a logger.
  [[nodiscard]] bool is_coarser_than_clock(const Values& values) const {
    constexpr double kMinute_s = 60;
    return out_.times.clock && std::ranges::all_of(values, [](double value) {
             return std::fmod(value, kMinute_s) == 0;
           });
  }

  /// "[10:07]", where hours and minutes look like minutes and seconds: no time of a step stands
  /// there.
  [[nodiscard]] bool is_minute_of_day(std::size_t i, const Values& values) const {
    constexpr double kMinutesOfADay = 24 * 60;
    const std::string_view text = shape_.examples[0].text_of(i);
    return shape_.examples[0].at(i).begin <= 1 && text.size() == 5 && text[2] == ':' &&
           std::ranges::max(values) < kMinutesOfADay;
  }

  /// The first line has more than three times what the steps before it took.
  [[nodiscard]] bool begins_late(const Values& values) const {
    constexpr double kMostOfSteps = 3;
    const double each = known_median(each_of(steps_up(values)));
    return values[0] > kMostOfSteps * each * std::max(1.0, steps_[0]);
  }

  /// It begins with what the steps so far took, or adds about as much for each step, and is no
  /// clock of hours, by which a few steps take next to nothing.
  [[nodiscard]] bool is_clock_of_steps(const Values& values) const {
    constexpr std::size_t kLinesThatShow = 3;
    constexpr double kShortestRun_s = 10, kShortestEpoch_s = 1, kShortestStep_s = 5e-3;
    const double each = known_median(each_of(steps_up(values)));
    const double shortest = out_.step_is_epoch ? kShortestEpoch_s : kShortestStep_s;
    // Of two lines an epoch most of the time may lie where it ends: how long it is no line shows.
    const auto known = std::ranges::count_if(advance_, [](double one) { return one > 0; });
    if (2 * known <= static_cast<std::ptrdiff_t>(n_)) return false;
    return n_ >= kLinesThatShow && std::ranges::max(values) >= kShortestRun_s && each >= shortest &&
           (!begins_late(values) || rises_evenly(values, each));
  }

  /// "Time=07:29:39" on lines of steps, of which none takes an hour: it does not fall.
  [[nodiscard]] bool is_hour_that_rises(const Values& values) const {
    constexpr double kHour_s = 3600;
    const Growth change = growth(values, {});
    return !out_.step_is_epoch && values[0] > kHour_s && change.down == 0 && change.up > 1;
  }

  /// A time per iteration that is the mean of all since the counter, its epoch or the run began.
  [[nodiscard]] bool is_mean_so_far(const Values& values) {
    // The first two lines have what a slow start adds, whatever the times are of.
    constexpr MeanEvidence kSingle{.first_lines = 2, .lines = 6, .moves = 1.05};
    const double of_epoch = spread_as_mean(values, steps_, kSingle);
    const double of_run = out_.epoch ? spread_as_mean(values, steps_of_run(), kSingle) : kNone;
    if (of_run < kOfLines && !(of_epoch < of_run)) {
      out_.mean_through_epochs = true;
      return true;
    }
    return of_epoch < kOfLines || is_mean_of_epochs(values);
  }
  static constexpr double kOfLines = 0.9, kOfSums = 0.5;  ///< spread_as_mean() of means, at most

  /// In epochs of as many lines each: what they have together at each step has less noise.
  [[nodiscard]] bool is_mean_of_epochs(const Values& values) const {
    constexpr std::size_t kEpochsThatShow = 3;
    constexpr MeanEvidence kOfEpochs{.first_lines = 1, .lines = 3, .moves = 1.02, .of_sums = true};
    const auto ends = std::ranges::find_if(advance_.begin() + 1, advance_.end(),
                                           [](double one) { return !(one > 0); });
    const auto lines = static_cast<std::size_t>(ends - advance_.begin());
    const std::size_t epochs = n_ / lines;
    if (epochs < kEpochsThatShow) return false;
    Values sums(lines);
    for (std::size_t k = 0; k < epochs * lines; ++k) {
      if (steps_[k] != steps_[k % lines]) return false;
      sums[k % lines] += values[k];
    }
    return spread_as_mean(sums, Values(steps_.begin(), steps_.begin() + (ends - advance_.begin())),
                          kOfEpochs) < kOfSums;
  }

  /// The iterations since the first epoch of the lines began. An epoch has as many as its total, or
  /// as the largest step that was printed.
  [[nodiscard]] Values steps_of_run() const {
    const double total = shape_.examples[0].at(out_.step).total;
    const double each = total > 0 ? total : std::ranges::max(steps_);
    Values out = steps_;
    for (std::size_t k = 0; k < n_; ++k) out[k] += (epochs_[k] - epochs_[0]) * each;
    return out;
  }

  /// What it takes to show that times are means.
  struct MeanEvidence {
    int first_lines = 0;    ///< of a counter, that are left out
    std::size_t lines = 0;  ///< others, at least
    double moves = 1;       ///< the largest of these over the least, at least; less is noise
    bool of_sums = false;   ///< of epochs
  };

  /// By what each line adds to the sum of a mean over `steps`: the times of the iterations since
  /// the line before. How much they vary, but for those that hold other work, as a share of what
  /// the values themselves do; nan where they are no means. Times of single iterations give a
  /// number far above 1: what they would add varies as many times more as there were lines.
  [[nodiscard]] static double spread_as_mean(const Values& values, Values steps,
                                             const MeanEvidence& least) {
    if (steps[0] == 0) {
      for (double& step : steps) ++step;
    }
    // Of each stretch over which the counter goes on: how its values differ from their middle.
    Values moves, spread, shown, added;
    double smallest = kNone, largest = kNone;
    const auto end_stretch = [&] {
      const auto add_deviations = [](Values& of, Values& to) {
        if (of.empty()) return;
        const double middle = median(Values(of));
        for (const double value : of) to.push_back(std::abs(value / middle - 1));
        of.clear();
      };
      add_deviations(shown, moves);
      add_deviations(added, spread);
    };
    int lines = 0;
    for (std::size_t k = 1; k < values.size(); ++k) {
      const double done = steps[k] - steps[k - 1];
      if (!(done > 0)) end_stretch();
      lines = done > 0 ? lines + 1 : 0;
      if (lines < least.first_lines) continue;
      const double more = values[k] * steps[k] - values[k - 1] * steps[k - 1];
      if (!(more > 0)) return kNone;
      smallest = std::fmin(smallest, values[k]);
      largest = std::fmax(largest, values[k]);
      shown.push_back(values[k]);
      added.push_back(more / done);
    }
    end_stretch();
    if (spread.size() < least.lines || !(largest > least.moves * smallest)) return kNone;
    // Other work between two lines is no part of a sum over epochs, and of few lines any may be.
    const auto usual = [&](Values of) {
      const double sum = std::accumulate(of.begin(), of.end(), 0.0);
      return least.of_sums ? sum / static_cast<double>(of.size()) : median(std::move(of));
    };
    return usual(spread) / usual(moves);
  }

  /// "iter 30/100 - time (sec): 23.05 - samples/sec: 83.28": the time since the counter or its
  /// epoch began is that of as much work for each iteration, and the time from line to line is not.
  [[nodiscard]] bool is_mean_by_clock(const Values& each) const {
    constexpr double kAlike = 1.03, kClear = 1.1;  // most over least, of the one and the other
    if (!out_.times.elapsed || n_ < 3) return false;
    const ShapeLine& line = shape_.examples[0];
    const std::size_t clock = *out_.times.elapsed;
    if (last_digit(line.text_of(clock)) * line.at(clock).scale >= 1) return false;  // too coarse
    const Values elapsed = values_of(shape_, *out_.times.elapsed);
    Values so_far, since_line;
    for (std::size_t k = 0; k < n_; ++k) {
      so_far.push_back(elapsed[k] / each[k] / steps_[k]);
      since_line.push_back(between_[k] / each[k] / advance_[k]);
    }
    return most_over_least(so_far) < kAlike && most_over_least(since_line) > kClear;
  }

  /// "293.1 min" at epoch 46, "299.7 min" at epoch 47: as many times what one adds as there were.
  [[nodiscard]] bool is_steps_times_each(const Values& values, double each) const {
    // Shares of steps times each: start-up, evaluations and a counter from 0 move them.
    constexpr double kLeastOfSteps = 0.8, kMostOfSteps = 1.25;
    constexpr std::size_t kLinesThatShow = 3;
    constexpr double kStepThatShows = 5;  // of the first of two: before it, times that vary fit too
    if (out_.epoch || out_.wraps || !(each > 0)) return false;
    if (n_ < kLinesThatShow && !(steps_[0] >= kStepThatShows)) return false;
    for (std::size_t k = 0; k < n_; ++k) {
      if (k > 0 && !(values[k] > values[k - 1] && steps_[k] > steps_[k - 1])) return false;
      const double ratio = values[k] / (each * std::max(1.0, steps_[k]));
      if (!(ratio >= kLeastOfSteps && ratio <= kMostOfSteps)) return false;
    }
    return true;
  }

  /// Of one iteration, of values that are of all since the line before.
  [[nodiscard]] Values each_of(Values values) const {
    for (std::size_t k = 0; k < n_; ++k) values[k] /= advance_[k];
    return values;
  }

  /// "Epoch: [20][0/43] Time 8.2 (8.2)", "Epoch: [21][0/43] ..." of batches of which each hundredth
  /// has a line: the times are of the first step of each epoch, with the start of its loader.
  [[nodiscard]] bool has_first_steps_alone() const {
    for (std::size_t i = 0; i < fields() && out_.step_is_epoch; ++i) {
      const auto is_first = [&](const ShapeLine& line) {
        return line.at(i).has_total() && line.at(i).total > 1 && line.at(i).value <= 1;
      };
      if (i != out_.step && std::ranges::all_of(shape_.examples, is_first)) return true;
    }
    return false;
  }

  void find_times() {
    const bool of_first_steps = has_first_steps_alone();
    std::optional<TimeKind> best;
    int parts = 0;  // times that neither a clock confirms nor a word names
    for (std::size_t i = 0; i < fields(); ++i) {
      const Meaning of = meaning(i);
      if (of != Meaning::duration && of != Meaning::per_iteration) continue;
      if (of == Meaning::per_iteration && counts_data()) continue;  // of as many as are not known
      if (i > 0 && meaning(i - 1) == Meaning::span && goes_on_by(i - 1)) {
        best = TimeKind{false, 0};
        out_.times.seconds = i;
        out_.times.iterations = i - 1;
        out_.times.seconds_per_iteration.reset();
        continue;
      }
      Values values = values_of(shape_, i);
      if (has_layout_of_day(i)) values = over_midnights(std::move(values));
      // A bar is redrawn hundreds of times in its first second. Where each epoch has a line its
      // time is that of the epoch, and no clock that goes on.
      if (shape_.examples[0].at(i).of_bar && !out_.times.elapsed && !out_.step_is_epoch) {
        out_.times.elapsed = i;
        if (between_.empty()) between_ = steps_up(values);
        continue;
      }
      if (!(known_median(values) > 0)) continue;
      const bool of_day =
          of == Meaning::duration && is_time_of_day(i, values) && is_hour_that_rises(values);
      const bool no_unit = shape_.examples[0].at(i).no_unit;
      const bool goes_on = (of == Meaning::duration || no_unit) && is_elapsed(i, values);
      // Of a column without a unit what begins small and grows as the steps do is in seconds, and
      // what does not grow where a clock confirms it: "time" may be in hours.
      if (no_unit && !(goes_on ? is_clock_of_steps(values) : !between_.empty())) {
        out_.time_without_unit = true;
        continue;
      }
      if (of_day || goes_on) {
        out_.clock_without_unit = out_.clock_without_unit || no_unit;
        const bool of_hours = is_minute_of_day(i, values) && begins_late(values);
        // The steps of the epochs before "ep 47 it 0/1048 17588s" are not counted.
        const bool of_earlier_epochs = !out_.step_is_epoch && stride_ > 1 && !epochs_.empty() &&
                                       epochs_.front() > 1 && begins_late(values);
        if (out_.times.elapsed || of_hours || of_earlier_epochs || is_coarser_than_clock(values))
          continue;
        auto& clock = is_time_of_day(i, values) ? out_.times.clock : out_.times.elapsed;
        if (!clock) clock = i;
        if (between_.empty()) between_ = steps_up(values);
        continue;
      }
      if (of_first_steps) continue;
      // "(total 08:43)" that does not go on is what the program expects of the run.
      const bool layout_of_clock =
          shape_.examples[0].text_of(i).find(':') != std::string_view::npos;
      if (shape_.examples[0].at(i).since_start && layout_of_clock && !out_.step_is_epoch) continue;
      // "epoch_time: 105.0min" of each 50th step is of all of them, or of those that are left.
      if (of == Meaning::duration && !out_.step_is_epoch && names(i, "epoch")) continue;
      if (is_whole_and_short(shape_, i)) out_.too_short_for_seconds = true;
      if (is_minute_of_day(i, values) || is_whole_and_short(shape_, i) || shape_.is_coarse(i)) {
        continue;
      }
      constexpr int kFallsThatShow = 4;
      const Growth change = growth(values, {});
      // "May 01 10:00:00" on each line of a log that was written out at once.
      if (change.same == change.all() && has_layout_of_day(i)) continue;
      if (is_hour_that_stands(i, values)) continue;
      // "[0:00:20]" on all lines that were kept: a clock of whole seconds may stand still so long.
      if (change.same == change.all() && between_.empty() && shows_whole_seconds(i, values)) {
        out_.time_is_ambiguous = true;
        continue;
      }
      const bool falls = change.down >= kFallsThatShow && change.up == 0;
      // A time left falls as well, and as a mean does where it is reckoned from one.
      const bool may_be_left = falls && of == Meaning::duration && !names_mean(i);
      if (!may_be_left && is_mean_so_far(values)) {
        if (between_.empty()) out_.times.mean_so_far = i;
        continue;
      }
      if (falls) continue;  // a mean that too few lines show
      const auto kind = kind_of(i, values);
      if (kind && kind->gap >= kGapUnchecked && !names(i, "time")) ++parts;
      if (!kind || (best && kind->gap >= best->gap)) continue;
      best = kind;
      out_.times.seconds.reset();
      out_.times.seconds_per_iteration.reset();
      (kind->per_iteration ? out_.times.seconds_per_iteration : out_.times.seconds) = i;
    }
    if (best) out_.time_is_ambiguous = false;
    // "sp 34s tr 8s": an iteration plays, then trains, and neither is all of it.
    if (best && best->gap >= kGapUnchecked && parts > 1) {
      out_.times.seconds.reset();
      out_.times.seconds_per_iteration.reset();
      out_.time_is_ambiguous = true;
    }
  }

  /// "Step 500: Ran 499 train steps in 5.77 secs", but not "Episode 8: 310 timesteps in 40.3 s".
  [[nodiscard]] bool goes_on_by(std::size_t span) const {
    std::size_t same = 0;
    for (std::size_t k = 1; k < n_; ++k) {
      same += std::abs(advance_[k] - shape_.examples[k].at(span).value) < 1 ? 1 : 0;
    }
    return 2 * same > n_ - 1;
  }

  struct TimeKind {
    bool per_iteration = false;
    double gap = 0;  ///< logarithm of its ratio to the clock's time; 0 where its label names it
  };
  static constexpr double kGapUnchecked = 0.1;  ///< of a time that no clock or label confirms

  /// Whether a time is that of one iteration or of all since the line before.
  std::optional<TimeKind> kind_of(std::size_t i, const Values& values) {
    const bool labelled = meaning(i) == Meaning::per_iteration;
    if (out_.times.clock && stride_ > 1 &&
        is_meter_of_single_steps(shape_, i, known_median(between_)))
      return std::nullopt;
    if (!between_.empty()) {
      Values all, each;
      for (std::size_t k = 1; k < n_; ++k) {
        all.push_back(values[k] / between_[k]);
        each.push_back(values[k] * advance_[k] / between_[k]);
      }
      // Of the clock's time; the rest is other work. Of less than that it is a part of a step, such
      // as ESPnet's iter_time, which waits for data: the clock alone is right.
      constexpr double kLeastShare = 0.6, kMostShare = 1.3;
      const auto fits = [](double ratio) { return ratio >= kLeastShare && ratio <= kMostShare; };
      const double as_all = known_median(all), as_each = known_median(each);
      if (std::isfinite(as_all) && std::isfinite(as_each)) {
        if (fits(as_all) && (!labelled || !fits(as_each))) {
          if (labelled) {
            out_.called_of_one = true;
            called_of_one_ = values;
          }
          return TimeKind{false, std::abs(std::log(as_all))};
        }
        if (fits(as_each)) return TimeKind{true, std::abs(std::log(as_each))};
        out_.outlasts_clock = std::max(out_.outlasts_clock, std::min(as_all, as_each));
        return std::nullopt;
      }
    }
    if (shape_.examples[0].at(i).of_interval) return TimeKind{false, 0};
    // "avg time: 0.36": of an iteration, as nobody prints the mean of intervals.
    if (labelled || names_mean(i) || shape_.examples[0].is_meter(i)) return TimeKind{true, 0};
    if (const auto each = is_of_each_by_line(values)) return TimeKind{*each, kGapUnchecked};
    if (goes_with_steps(values)) return TimeKind{false, kGapUnchecked};
    const bool one = stride_ == 1 || (std::isnan(stride_) && out_.step_is_epoch);
    auto of_all = is_of_all(values);
    if (one) return TimeKind{of_all == false, kGapUnchecked};
    constexpr double kShortestStep_s = 50e-6;  // no loop has a shorter one
    const bool counts_samples = out_.counts_sequences || counts_data();
    const double usual = known_median(values);
    if (!of_all && !counts_samples && usual * stride_ > kLongestInterval_s) of_all = true;
    if (!of_all && !counts_samples && usual < kShortestStep_s * stride_) of_all = false;
    if (of_all) return TimeKind{!*of_all, kGapUnchecked};
    if (is_before_data_time(i)) out_.before_data_time = i;
    out_.time_is_ambiguous = true;
    return std::nullopt;
  }

  /// Whether a time is of one iteration, by a rate or the time left on the same lines: "time 0.136s
  /// | 7.35 it/s", "690/759 mean 0.313s eta 0:00:22". Nothing where they fit neither, or both.
  [[nodiscard]] std::optional<bool> is_of_each_by_line(const Values& values) const {
    constexpr double kShareOfStride = 0.25;  // of its logarithm: a start moves the time left
    const double most = kShareOfStride * std::log(stride_);
    if (!(most > 0)) return std::nullopt;
    Values by_rate, to_end_of_epoch, to_end_of_run;  // this time over that of one iteration
    for (std::size_t k = 0; k < n_; ++k) {
      const ShapeLine& line = shape_.examples[k];
      for (const LineNumber& number : line.numbers) {
        if (number.meaning == Meaning::rate && number.unit == RateUnit::iterations_per_second) {
          by_rate.push_back(values[k] * number.value * number.scale);
        }
        const LineNumber& step = line.at(out_.step);
        if (number.meaning != Meaning::left || !(step.total > step.value)) continue;
        const double left = step.total - step.value, each = values[k] / number.value / number.scale;
        to_end_of_epoch.push_back(each * left);
        if (!out_.epoch || !line.at(*out_.epoch).has_total()) continue;
        const LineNumber& epoch = line.at(*out_.epoch);
        to_end_of_run.push_back(each * (left + (epoch.total - epoch.value) * step.total));
      }
    }
    const auto fits = [&](const Values& ratios, double ratio) {
      return std::abs(std::log(known_median(ratios) / ratio)) < most;
    };
    for (const Values* ratios : {&by_rate, &to_end_of_epoch, &to_end_of_run}) {
      if (fits(*ratios, 1)) return true;
      if (fits(*ratios, stride_)) return false;
    }
    return std::nullopt;
  }

  /// "steps: 10315, episodes: 100", "steps: 15983, episodes: 200": a line comes once with something
  /// else that is counted, after as many iterations as that took, and the times go with those.
  [[nodiscard]] bool goes_with_steps(const Values& values) const {
    constexpr std::size_t kLinesThatShow = 4;
    constexpr double kClear = 2;  // times as much that the times differ as those of one iteration
    std::set<double> numbers;
    Values all, each;
    for (std::size_t k = 0; k < n_; ++k) {
      if (!(advance_[k] > 0) || !(values[k] > 0)) continue;
      numbers.insert(advance_[k]);
      all.push_back(values[k]);
      each.push_back(values[k] / advance_[k]);
    }
    const auto spread = [](const Values& of) {
      double sum = 0;
      for (const double value : of) sum += std::abs(std::log(value / known_median(of)));
      return sum;
    };
    return all.size() >= kLinesThatShow && 2 * numbers.size() > all.size() &&
           kClear * spread(each) < spread(all);
  }

  /// Whether a time is of all iterations since the line before or of one of them, by the lines
  /// whose counter went on by another number than usual. Nothing where they do not agree.
  [[nodiscard]] std::optional<bool> is_of_all(const Values& values) const {
    constexpr int kMajority = 2;           // times as many lines as show the other
    constexpr int kRisesOfElapsed = 1;     // without a fall: it may be since the epoch began
    constexpr double kLeastStride = 5;     // iterations: a line of one has clearly less than others
    constexpr double kFirst = 0.75;        // of the usual: a first step takes longer than others
    constexpr double kFirstOfEpoch = 0.5;  // that of a later epoch about as long
    constexpr double kSlowestEpoch = 10;   // times others: a start is a small part of an epoch
    const double stride = std::isnan(stride_) ? 1 : stride_, usual = known_median(values);
    Values others;  // than those of first lines
    for (std::size_t k = 0; k < n_; ++k) {
      if (!begins_epoch(k)) others.push_back(values[k]);
    }
    int all = 0, each = 0, up = 0, down = 0;
    for (std::size_t k = 0; k < n_; ++k) {
      const double ratio = values[k] / usual;
      if (!begins_epoch(k)) {
        const bool within = !begins_epoch(k - 1);
        up += within && values[k] > values[k - 1] ? 1 : 0;
        down += within && values[k] < values[k - 1] ? 1 : 0;
        const int shown = shown_by_gap(ratio, advance_[k] / stride);
        all += shown > 0 ? 1 : 0;
        each += shown < 0 ? 1 : 0;
      } else if (steps_[k] > 1) {
        all += holds_slow_start(steps_[k], values[k], others) ? 1 : 0;
      } else if (stride >= kLeastStride) {
        all += ratio > 0 && ratio < (k == 0 ? kFirst : kFirstOfEpoch) ? 1 : 0;
        each += !goes_on_by_stride(k) && is_as_long_as(others, values[k]) ? 1 : 0;
        each += k == 0 && out_.step_is_epoch && ratio * stride > kSlowestEpoch ? 1 : 0;
      }
    }
    if (up > kRisesOfElapsed && down == 0) return std::nullopt;
    if (all > kMajority * each) return true;
    return each > kMajority * all ? std::optional(false) : std::nullopt;
  }

  static constexpr std::size_t kOthersThatShow = 4;  // lines
  [[nodiscard]] bool begins_epoch(std::size_t k) const {
    return k == 0 || (out_.epoch && epochs_[k] > epochs_[k - 1]);
  }

  /// `ratio` and `gap` are a line's time and iterations, as shares of the usual ones. 1: they go
  /// together. -1: the time is the usual one after fewer iterations, or after more where each line
  /// is of one and some are missing (a cut, a filter). 0: they show nothing.
  [[nodiscard]] int shown_by_gap(double ratio, double gap) const {
    constexpr double kOther = 1.4;   // times: iterations that are another number than usual
    constexpr double kAlike = 1.16;  // times the usual, of a time that does not go with them
    constexpr double kClear = 2;     // times as near to the one as to the other
    const bool shorter = gap < 1 / kOther;
    if (!shorter && !(gap > kOther)) return 0;
    const double from_each = std::abs(std::log(ratio)), from_all = std::abs(std::log(ratio / gap));
    if (kClear * from_all < from_each) return 1;
    if (!(kClear * from_each < from_all)) return 0;
    return (shorter ? ratio < kAlike : !(stride_ > 1)) ? -1 : 0;
  }

  /// The line of the first iteration has the time of the others, which differ by little: as a time
  /// of several iterations it would be that by chance
  /// (quoted/generic.a_first_step_as_long_as_the_others).
  [[nodiscard]] static bool is_as_long_as(const Values& others, double value) {
    constexpr double kMostSpread = 1.1, kAlike = 1.01;  // times: of the others, of this one
    if (others.size() < kOthersThatShow) return false;
    const auto [least, most] = std::ranges::minmax(others);
    return least > 0 && most <= kMostSpread * least && value * kAlike >= least &&
           value <= kAlike * most;
  }

  /// The line of an epoch's first step comes as many iterations after the last one of the epoch
  /// before as others do, where that ended at its total: its time shows nothing.
  [[nodiscard]] bool goes_on_by_stride(std::size_t k) const {
    constexpr double kAlike = 0.1;  // of the stride
    const LineNumber& number = shape_.examples[0].at(out_.step);
    if (k == 0 || !number.has_total()) return false;
    const double since = number.total - steps_[k - 1] + steps_[k];
    return std::abs(since - stride_) <= std::max(1.0, kAlike * stride_);
  }

  /// The first line of the log or of an epoch, after the usual number of iterations, has more than
  /// the others, by twice what those differ: a start is in it, so that it is of all since then. A
  /// mean of them holds a start as well: it is none where that start would be too long.
  [[nodiscard]] bool holds_slow_start(double step, double value, const Values& others) const {
    constexpr double kSlowStart = 0.1;       // of the others' median
    constexpr double kOfSpread = 2;          // times what the others differ by
    constexpr double kLongestStart_s = 100;  // of a program that is compiled
    if ((value - known_median(others)) * step <= kLongestStart_s) return false;
    if (step < stride_ - 1 || step > stride_ || others.size() < kOthersThatShow) return false;
    const auto [least, most] = std::ranges::minmax(others);
    const double more = value - most;
    return more > kSlowStart * known_median(others) && more > kOfSpread * (most - least) &&
           growth(others, {}).up > 0;
  }

  /// "time: 0.226, data: 0.002": a part is printed next to the whole that it is of, an iteration.
  [[nodiscard]] bool is_before_data_time(std::size_t i) const {
    const ShapeLine& line = shape_.examples[0];
    const std::string after = lower(std::string_view(line.text).substr(line.at(i).end));
    const auto word = std::ranges::find_if(after, [](char c) { return is_letter(c); });
    return std::string_view(word, after.end()).starts_with("data");
  }

  [[nodiscard]] bool names_mean(std::size_t i) const {
    return names(i, "avg") || names(i, "aver") || names(i, "mean");
  }

  [[nodiscard]] bool names(std::size_t i, std::string_view word) const {
    const ShapeLine& line = shape_.examples[0];
    return lower(line.label_of(line.at(i))).find(word) != std::string::npos;
  }

  void find_rate() {
    for (std::size_t i = 0; i < fields(); ++i) {
      if (meaning(i) != Meaning::rate || shape_.is_coarse(i)) continue;
      if (out_.times.rate && !is_total_of(*out_.times.rate, i)) continue;
      const bool of_iterations = shape_.examples[0].at(i).unit == RateUnit::iterations_per_second;
      if (of_iterations && counts_data()) continue;
      // A mean of all so far does not show what steps take now, but by what each line adds to it.
      Values times;
      for (const double rate : values_of(shape_, i)) times.push_back(1 / rate);
      if (is_mean_by_clock(times) || is_mean_so_far(times)) {
        if (!out_.times.any() || !of_iterations) out_.times.rate_so_far = i;
        continue;
      }
      // "Epoch 3 | 39.0 batches/s" does not show how many an epoch has.
      out_.rate_is_of_batches = of_iterations && out_.step_is_epoch;
      if (of_iterations && !out_.step_is_epoch && !fits_clock(values_of(shape_, i))) continue;
      if (is_of_time(called_of_one_, times)) continue;
      out_.times.rate = i;
      out_.times.rate_so_far.reset();
    }
  }

  /// Lines of one step have other losses or rates: each is of a process of its own. A line that one
  /// process writes twice has the same.
  [[nodiscard]] bool comes_from_processes() const {
    std::size_t same = 0, others = 0;
    for (std::size_t k = 1; k < n_; ++k) {
      if (!same_step_[k]) continue;
      const auto &before = shape_.examples[k - 1].numbers, &now = shape_.examples[k].numbers;
      const bool differs = before.size() == now.size() &&
                           !std::ranges::equal(before, now, [](const auto& a, const auto& b) {
                             const bool measured =
                                 a.meaning == Meaning::loss || a.meaning == Meaning::rate;
                             return !measured || !(std::abs(a.value - b.value) > 0);
                           });
      ++(differs ? others : same);
    }
    return others > same;
  }

  /// "fps step: 1920 fps total: 960": of all work, where the one before it is of a part.
  [[nodiscard]] bool is_total_of(std::size_t before, std::size_t i) const {
    const ShapeLine& line = shape_.examples[0];
    return line.at(i).unit == line.at(before).unit && names(i, "total") && !names(before, "total");
  }

  /// A rate is as much work as always over `seconds`: it goes with a time that is of other work
  /// than the program names.
  [[nodiscard]] static bool is_of_time(const Values& seconds, const Values& inverse_rates) {
    constexpr double kRoundingOfQuotient = 0.02;  // of the quotient, as rounding leaves it
    Values work;
    for (std::size_t k = 0; k < seconds.size(); ++k) work.push_back(seconds[k] / inverse_rates[k]);
    const double usual = known_median(work);
    for (double& one : work) one = std::abs(one / usual - 1);
    return known_median(std::move(work)) < kRoundingOfQuotient;
  }

  /// Rate times the clock's time is the iterations, or more where the clock has other work in it.
  [[nodiscard]] bool fits_clock(const Values& rates) const {
    constexpr double kLeastRatio = 0.7, kMostRatio = 3.0;
    Values ratios;
    for (std::size_t k = 1; k < n_ && !between_.empty(); ++k) {
      ratios.push_back(rates[k] * between_[k] / advance_[k]);
    }
    const double ratio = known_median(ratios);
    return std::isnan(ratio) || (ratio >= kLeastRatio && ratio <= kMostRatio);
  }

  const LineShape& shape_;
  std::size_t n_;
  ShapeMeaning out_;
  Values steps_;                 ///< of each line
  Values epochs_;                ///< likewise; empty without
  Values advance_;               ///< iterations since the line before
  std::vector<bool> same_step_;  ///< the counter is that of the line before
  bool of_bar_ = false;          ///< its lines are redraws of a bar
  Values between_;  ///< seconds since the line before, by stamps or elapsed time; empty without
  double stride_ = kNone;  ///< median of advance_
  /// A time "34.66 sec/batch" that is of all iterations since the line before, by the clock.
  Values called_of_one_;
};

}  // namespace

std::optional<ShapeMeaning> meaning_of(const LineShape& shape) {
  const auto rank = shape.place_of(Meaning::rank);
  if (!rank) return Decision(shape).decide();
  LineShape of_one = shape;
  const double first = shape.examples[0].at(*rank).value;
  std::erase_if(of_one.examples,
                [&](const ShapeLine& line) { return line.at(*rank).value != first; });
  auto out = Decision(of_one).decide();
  if (out && of_one.examples.size() < shape.examples.size()) out->rank = rank;
  return out;
}

bool is_meter_of_single_steps(const LineShape& shape, std::size_t i, double interval_s) {
  constexpr double kSpan_s = 10;  // over less, whole seconds are coarser than a meter
  const double span_s = interval_s * static_cast<double>(shape.examples.size() - 1);
  return span_s >= kSpan_s && shape.examples.front().is_meter(i);
}

ShapeTimes companion_times(const LineShape& shape, bool of_each, double first_step) {
  ShapeTimes out;
  const ShapeLine& first = shape.examples.front();
  if (first.numbers.size() == 1 && first.numbers[0].meaning == Meaning::clock) out.clock = 0;
  for (std::size_t i = 0; i < first.key.size(); ++i) {
    const LineNumber& number = first.at(i);
    if (number.meaning == Meaning::rate && !out.rate && !shape.is_coarse(i)) out.rate = i;
    if (number.meaning == Meaning::per_iteration && !out.seconds_per_iteration) {
      out.seconds_per_iteration = i;
    }
    if (number.meaning != Meaning::duration || out.elapsed || out.seconds) continue;
    const Values values = values_of(shape, i);
    const bool rises = values.size() > 2 &&
                       std::ranges::adjacent_find(values, std::greater_equal<>()) == values.end();
    // "Elapsed time" may be of each: a few of those rise by chance, and by little.
    constexpr std::size_t kRisesThatShow = 8;
    constexpr double kMostOfGrowth = 3;  // times what the steps so far took, by later lines
    const double so_far = known_median(steps_up(values)) * std::max(1.0, first_step);
    const bool begins_late = !(values.front() <= kMostOfGrowth * so_far);
    const bool since_start = number.since_start && (values.size() > kRisesThatShow || !begins_late);
    // "(157.4s total)", "(177.7s total)", "(188.2s total)": of iterations that take ever longer.
    const bool drifts = rises && number.since_start && !since_start;
    // "time_elapsed" that stands still on some lines is no time of each.
    const bool never_falls = std::ranges::is_sorted(values) && values.back() > values.front();
    const bool doubles = values.back() >= 2 * values.front();
    // Whole seconds of a fast loop stand still on some lines: "1", "1", "2", "2", "3".
    constexpr std::size_t kLinesThatShow = 5;
    const bool climbs = never_falls && doubles && values.size() >= kLinesThatShow;
    if (climbs || (rises && (since_start || doubles))) {
      out.elapsed = i;
    } else if (of_each && !is_whole_and_short(shape, i) &&
               (drifts || (!rises && !(number.since_start && never_falls)))) {
      out.seconds = i;
    }
  }
  return out;
}

}  // namespace bertbench
