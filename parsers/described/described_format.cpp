#include "parsers/described/described_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "parsers/assemble/closing_lines.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/training_clock.h"
#include "parsers/core/facts.h"
#include "parsers/core/median.h"
#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"
#include "parsers/described/description.h"
#include "parsers/described/line_values.h"
#include "parsers/described/stated_facts.h"
#include "parsers/formats/format.h"
#include "parsers/lines/whole_number.h"

namespace bertbench {
namespace {

// What counters of a run show over several lines: steps through epochs, facts, time without
// evaluations.

/// The step of a line, counted from 1 and on through epochs.
class StepCounter {
 public:
  struct Printed {
    std::int64_t step = 0;
    std::optional<std::int64_t> epoch, epoch_steps;
    CountsFrom from = CountsFrom::one;
    bool wraps =
        false;  ///< an epoch ends where the step goes back, from near its end if that is known
  };
  /// Nothing where the epoch is before that of the newest line.
  [[nodiscard]] std::optional<std::int64_t> step_of(const Printed& printed) const;
  /// Of an epoch before that, where all have the printed length.
  [[nodiscard]] std::optional<std::int64_t> earlier_step_of(const Printed& printed) const;
  void move_to(const Printed& printed);
  /// A line that parts runs was met: where the next one goes back, no epoch ends.
  void part() { parted_ = true; }
  [[nodiscard]] bool begins_run(const Printed& printed) const {
    return parted_ && printed.wraps && lines_ > 0 && printed.step <= printed_;
  }
  /// The steps from the begin of the last epoch of which lines were met to that of this one, over
  /// those up to its last line: 1 where they are the same, or not known.
  [[nodiscard]] double epochs_per_seen() const { return epochs_per_seen_; }
  /// The same within its epoch, where the line names one.
  [[nodiscard]] std::int64_t within_epoch(const Printed& printed) const {
    return printed.step + shift_of(printed);
  }
  /// The newest line is the first of its epoch, and not of the run.
  [[nodiscard]] bool begins_epoch() const { return lines_ == 1 && lines_steps_ > 0; }
  /// The line is of another epoch than the newest one, whose length is not printed: how many steps
  /// lie between the two is not known.
  [[nodiscard]] bool leaves_unknown_steps(const Printed& printed) const;
  /// The first line of the log showed that it begins at 0.
  [[nodiscard]] bool began_at_zero() const { return shift_ == 1; }
  [[nodiscard]] std::int64_t printed() const { return printed_; }  ///< on the newest line
  /// The steps of the newest epoch, where it has ended, or of all where lines name none. 0 where
  /// its lines leave too many open.
  [[nodiscard]] std::int64_t counted() const;
  [[nodiscard]] bool names_epochs() const { return epoch_ >= 0; }
  /// The last step of a plan of so many epochs, if the length of one is known.
  [[nodiscard]] std::optional<std::int64_t> end_of(std::int64_t epochs) const;
  /// The last step of an epoch, if it is the newest one and its length is printed.
  [[nodiscard]] std::optional<std::int64_t> end_of_epoch(std::int64_t epoch) const;
  /// The newest line stands where an epoch ends: at its total, or where the lines of the one before
  /// ended. Of a plan of so many steps or epochs it is the last one.
  [[nodiscard]] bool ends_epoch(std::optional<std::int64_t> planned,
                                std::optional<std::int64_t> epochs) const;

 private:
  [[nodiscard]] std::int64_t base_of(const Printed& printed) const;
  [[nodiscard]] std::int64_t shift_of(const Printed& printed) const;
  [[nodiscard]] std::optional<std::int64_t> epoch_of(const Printed& printed) const;

  std::int64_t first_epoch_ = -1, epoch_ = -1;
  std::int64_t base_ = 0;         ///< steps of the epochs before
  std::int64_t epoch_steps_ = 0;  ///< printed
  std::int64_t lines_steps_ = 0;  ///< up to the last line of the epoch before
  std::int64_t newest_ = 0;
  std::int64_t lines_ = 0;                 ///< of the newest epoch
  bool parted_ = false;                    ///< since the newest line
  std::int64_t printed_ = 0, stride_ = 0;  ///< of the newest line
  double epochs_per_seen_ = 1;
  std::optional<std::int64_t> shift_;  ///< where the first line shows what the counter begins at
};

/// Facts that follow from two counters which go on together.
class CounterFacts {
 public:
  void take_updates(std::int64_t updates, std::optional<std::int64_t> micro_steps,
                    std::int64_t step);
  void take_sequences(std::int64_t done, std::int64_t step);
  void apply(Facts& facts) const;

 private:
  struct Pair {
    std::int64_t count = -1, step = 0;
  };
  Pair updates_, sequences_;
  std::optional<std::int64_t> accumulation_, batch_;
  bool unsteady_ = false;  ///< updates are of different lengths
};

/// Seconds of an iteration, by the newest intervals; the first of a run may have its start in it.
struct Pace {
  double each_s = kUnknown;
  int intervals = 0;
  int delayed = 0, not_delayed = 0;  ///< lines that might come after a pause
  void add(double seconds) {
    constexpr int kIntervals = 4;   // whose mean it is, nearly: one may be cut to whole seconds
    constexpr double kStart = 1.5;  // times the second interval: the first has the start in it
    const bool start = intervals == 1 && each_s > kStart * seconds;
    if (intervals == 0) each_s = seconds;
    if (!start) intervals = std::min(intervals + 1, kIntervals);
    each_s += (seconds - each_s) / intervals;
  }
};

/// Times without the evaluations and other work between the lines: an interval that holds one
/// counts as long as its iterations took in the newest ones that held none.
class PausedClock {
 public:
  void note_evaluation();
  /// A line of training, before its times are asked for. `line`: its number in the log; 0: what
  /// stands between two lines shows nothing.
  void next(std::int64_t step, std::int64_t line, bool begins_epoch);
  /// `stamp_s`, whose last digit stands for `digit_s`, without what was taken off so far.
  double at(double stamp_s, double digit_s);
  /// A printed time of all iterations since the line before; NaN where it holds an evaluation and
  /// none before it shows how long they take.
  double of_interval(double seconds);
  /// A printed time of all iterations since the line before is of those since the epoch began
  /// alone, `within` of it: it is nearer to what those take, and they are clearly fewer.
  [[nodiscard]] bool restarts(double seconds, double within) const {
    constexpr double kClearlyFewer = 0.8;  // of the iterations since the line before
    return within < kClearlyFewer * iterations_ &&
           seconds < pace_of_interval_.each_s * std::sqrt(within * iterations_);
  }
  /// What to add to a clock that began again since the line before and shows `seconds`: it began
  /// after some of the iterations, or before a start, where they took another time until then.
  double since_restart(double seconds);
  /// A printed time of one iteration; NaN where it holds an evaluation.
  double of_one(double seconds);
  /// A printed rate holds an evaluation or other work before its line: it is lower than others.
  bool rate_holds_evaluation(double rate);
  /// The newest line comes after an evaluation, and none before it shows how long steps take.
  [[nodiscard]] bool begins_after_evaluation() const { return held_ && std::isnan(pace_.each_s); }
  /// A printed time was shortened or left out since this was asked.
  [[nodiscard]] bool shortened() { return std::exchange(shortened_, false); }
  [[nodiscard]] double off_s() const { return clock_.off_s(); }
  [[nodiscard]] bool holds_evaluation() const { return held_; }
  /// Evaluations are between all its lines: it shows no time of a step.
  [[nodiscard]] bool always_holds_evaluations() const {
    return ever_held_ && std::isnan(pace_.each_s) && std::isnan(pace_of_interval_.each_s);
  }

 private:
  static constexpr double kLonger = 1.3;  ///< times what iterations take: more holds other work

  /// What the iterations of the newest line took by `pace`, if that is asked for. Where lines stand
  /// before it that do not stand before others, or the end of an epoch, and it took longer, there
  /// was work that no word of evaluation names.
  double own_s(Pace& pace, double took_s, double digit_s);
  /// A time of one iteration, or the inverse of a rate, holds what stands before its line.
  bool holds_other_work(Pace& pace, double of_one_s);

  TrainingClock clock_;
  bool evaluated_ = false;   ///< since the newest line
  bool held_ = false;        ///< an evaluation or other work is before the newest line
  bool other_work_ = false;  ///< likewise, by its time alone
  bool may_pause_ = false;   ///< more lines are before it than before others, or an epoch's end
  bool ever_held_ = false;
  bool shortened_ = false;
  std::int64_t step_ = -1, line_ = -1;
  std::int64_t fewest_lines_ = std::numeric_limits<std::int64_t>::max();
  double iterations_ = 0;  ///< of the newest line
  double stamp_s_ = kUnknown, interval_s_ = kUnknown;
  std::int64_t advances_ = 0, copies_ = 0;  ///< lines whose counter went on, and stood still
  Pace pace_, pace_of_interval_, pace_of_one_, pace_of_rate_;
};

constexpr std::int64_t kLargestStep = 1'000'000'000'000;

std::optional<std::int64_t> StepCounter::epoch_of(const Printed& printed) const {
  if (printed.epoch || !printed.wraps) return printed.epoch;
  const bool over = printed.step < printed_ && printed_ + stride_ >= epoch_steps_;
  return std::max<std::int64_t>(epoch_, 0) + (over ? 1 : 0);
}

std::int64_t StepCounter::counted() const {
  constexpr std::int64_t kLeastOfUnseen = 10;  // times as many steps: half of those is 5 %
  if (epoch_steps_ > 0) return epoch_steps_;
  const std::int64_t seen = newest_ - base_;
  const std::int64_t unseen =
      std::max<std::int64_t>(0, stride_ - 1);  // at most, after the last line
  // A loop of a round number from 0 on ends as far after its last line. An epoch has any number.
  if (!names_epochs()) return seen + (shift_ == 1 ? unseen : 0);
  return seen >= kLeastOfUnseen * unseen ? seen + unseen / 2 : 0;
}

std::int64_t StepCounter::base_of(const Printed& printed) const {
  const auto epoch = epoch_of(printed);
  if (!epoch || epoch_ < 0 || *epoch == epoch_) return base_;
  // A number beyond the newest goes on through epochs.
  if (epoch_steps_ < 1) return printed.step + shift_of(printed) > newest_ - base_ ? base_ : newest_;
  return base_ + epoch_steps_ * std::min(*epoch - epoch_, kLargestStep / epoch_steps_);
}

std::int64_t StepCounter::shift_of(const Printed& printed) const {
  if (printed.from == CountsFrom::first) return shift_.value_or(printed.step == 0 ? 1 : 0);
  return printed.from == CountsFrom::zero ? 1 : 0;
}

std::optional<std::int64_t> StepCounter::step_of(const Printed& printed) const {
  if (printed.epoch && *printed.epoch < epoch_) return std::nullopt;
  return base_of(printed) + std::min(printed.step, kLargestStep) + shift_of(printed);
}

std::optional<std::int64_t> StepCounter::earlier_step_of(const Printed& printed) const {
  if (!printed.epoch || epoch_steps_ < 1 || *printed.epoch < first_epoch_) return std::nullopt;
  return base_of(printed) + std::min(printed.step, epoch_steps_) + shift_of(printed);
}

bool StepCounter::leaves_unknown_steps(const Printed& printed) const {
  const auto epoch = epoch_of(printed);
  // One step further, as where each is printed, none is left out.
  return epoch && epoch_ >= 0 && *epoch != epoch_ && epoch_steps_ < 1 && stride_ > 1;
}

void StepCounter::move_to(const Printed& printed) {
  parted_ = false;
  const std::int64_t step = step_of(printed).value_or(0);
  if (!shift_) shift_ = printed.step == 0 ? 1 : 0;
  if (const auto epoch = epoch_of(printed)) {
    if (epoch_ < 0) first_epoch_ = *epoch;
    if (epoch_ >= 0 && *epoch > epoch_) {
      lines_ = 0;
      lines_steps_ = newest_ - base_;
      const bool longer = lines_steps_ > 0 && epoch_steps_ > lines_steps_;
      epochs_per_seen_ =
          longer ? static_cast<double>(epoch_steps_) / static_cast<double>(lines_steps_) : 1;
      // Whole epochs between the two count as base_of counts their steps.
      if (epoch_steps_ > 0) epochs_per_seen_ *= static_cast<double>(*epoch - epoch_);
    }
    base_ = base_of(printed);
    epoch_ = *epoch;
    epoch_steps_ = printed.epoch_steps.value_or(0);
  }
  if (printed.step > printed_) stride_ = printed.step - printed_;
  printed_ = printed.step;
  if (step > newest_) ++lines_;
  newest_ = std::max(newest_, step);
}

bool StepCounter::ends_epoch(std::optional<std::int64_t> planned,
                             std::optional<std::int64_t> epochs) const {
  constexpr std::int64_t kLinesThatShow = 3;  // of one or two each may well be the last by chance
  const std::int64_t done = newest_ - base_;
  const bool like_before = lines_steps_ > 0 && done == lines_steps_;
  if (planned) return like_before && *planned <= base_ + epoch_steps_;
  // Whether the first epoch is 0 or 1 is not known here.
  if (lines_ < kLinesThatShow || (epochs && epoch_ < *epochs)) return false;
  // Of the last epoch "[24/24][3500/3517]" is the end as well, where each 50th step has a line.
  const std::int64_t last_interval = epochs ? std::max<std::int64_t>(1, stride_) : 1;
  return like_before || (epoch_steps_ > 0 && done + last_interval > epoch_steps_);
}

std::optional<std::int64_t> StepCounter::end_of(std::int64_t epochs) const {
  const std::int64_t each = epoch_steps_ > 0 ? epoch_steps_ : lines_steps_;
  const bool from_start = first_epoch_ == 0 || first_epoch_ == 1;
  const std::int64_t left = epochs - (epoch_ - first_epoch_);
  if (!from_start || each < 1 || left < 1) return std::nullopt;
  return base_ + each * std::min(left, kLargestStep / each);
}

std::optional<std::int64_t> StepCounter::end_of_epoch(std::int64_t epoch) const {
  if (epoch != epoch_ || epoch_steps_ < 1) return std::nullopt;
  return base_ + epoch_steps_;
}

void CounterFacts::take_updates(std::int64_t updates, std::optional<std::int64_t> micro_steps,
                                std::int64_t step) {
  // Two counters of one line that both count from 0; else only their differences are comparable.
  const Pair before = micro_steps ? Pair{0, 0} : updates_;
  const std::int64_t at = micro_steps.value_or(step);
  updates_ = {updates, at};
  if (before.count < 0 || updates <= before.count || at <= before.step) return;
  const std::int64_t each = (at - before.step) / (updates - before.count);
  const bool whole = (at - before.step) % (updates - before.count) == 0;
  if (micro_steps) {
    if (whole) accumulation_ = each;
    return;
  }
  unsteady_ = unsteady_ || !whole || (accumulation_ && *accumulation_ != each);
  accumulation_ = each;
}

void CounterFacts::take_sequences(std::int64_t done, std::int64_t step) {
  const Pair before = std::exchange(sequences_, {done, step});
  if (before.count < 0 || done <= before.count || step <= before.step) return;
  if ((done - before.count) % (step - before.step) != 0) return;
  batch_ = (done - before.count) / (step - before.step);
}

void CounterFacts::apply(Facts& facts) const {
  if (unsteady_) {
    facts.gradient_accumulation_steps = {};
  } else if (accumulation_ && *accumulation_ <= kLargestFact) {
    facts.gradient_accumulation_steps.set(*accumulation_, FactSource::log);
  }
  if (batch_ && *batch_ <= kLargestFact && !facts.global_batch_size.known()) {
    facts.global_batch_size.set(*batch_, FactSource::log);
  }
}

void PausedClock::note_evaluation() {
  evaluated_ = true;
  clock_.note_evaluation();
}

void PausedClock::next(std::int64_t step, std::int64_t line, bool begins_epoch) {
  held_ = std::exchange(evaluated_, false);
  other_work_ = false;
  ever_held_ = ever_held_ || held_;
  iterations_ = step_ < 0 ? 0 : static_cast<double>(step - step_);
  step_ = step;
  const std::int64_t lines = line - std::exchange(line_, line);
  may_pause_ = iterations_ > 0 && (lines > fewest_lines_ || (line > 0 && begins_epoch));
  if (iterations_ > 0) fewest_lines_ = std::min(fewest_lines_, lines);
}

double PausedClock::own_s(Pace& pace, double took_s, double digit_s) {
  if (!held_ && !may_pause_) return kUnknown;
  const double own = pace.each_s * iterations_;
  if (held_ || std::isnan(own)) return own;
  const bool longer = took_s > kLonger * (own + digit_s);
  ++(longer ? pace.delayed : pace.not_delayed);
  // Where such lines come in time as often, that one comes late has another reason.
  if (longer && pace.delayed > pace.not_delayed) held_ = other_work_ = true;
  return own;
}

double PausedClock::at(double stamp_s, double digit_s) {
  constexpr double kShare = 0.3;      // of an interval: another process prints its line sooner
  constexpr int kAdvances = 3;        // lines whose counter goes on, to one where it stands still
  constexpr double kNoTime_s = 1e-9;  // of such a line's own; 0 would mean that it is not known
  const double took = stamp_s - std::exchange(stamp_s_, stamp_s);
  double own = own_s(pace_, took, digit_s);
  if (iterations_ > 0) {
    if (!held_ && took >= 0) pace_.add(took / iterations_);
    interval_s_ = held_ ? own : took;
    ++advances_;
  } else if (took >= 0 && line_ > 0 && kAdvances * ++copies_ <= advances_ &&
             took > kShare * interval_s_ + digit_s) {
    held_ = true;
    own = kNoTime_s;
  }
  if (held_) clock_.note_evaluation();
  return clock_.at(stamp_s, own);
}

double PausedClock::since_restart(double seconds) {
  const double own = pace_.each_s * iterations_;
  const bool alike = seconds * kLonger > own && seconds < kLonger * own;
  if (!(own > 0) || alike) return 0;
  shortened_ = true;
  return own - seconds;
}

bool PausedClock::holds_other_work(Pace& pace, double of_one_s) {
  const double usual = own_s(pace, of_one_s * iterations_, 0) / iterations_;
  if (held_ && of_one_s > kLonger * usual) return true;
  pace.add(of_one_s);
  return false;
}

double PausedClock::of_one(double seconds) {
  if (!holds_other_work(pace_of_one_, seconds)) return seconds;
  shortened_ = true;
  return kUnknown;
}

bool PausedClock::rate_holds_evaluation(double rate) {
  return holds_other_work(pace_of_rate_, 1 / rate);
}

double PausedClock::of_interval(double seconds) {
  const double own = own_s(pace_of_interval_, seconds, 0);
  if (!held_ && iterations_ > 0) pace_of_interval_.add(seconds / iterations_);
  if (!held_ || !(seconds > own || std::isnan(own))) return seconds;
  shortened_ = true;
  return own;
}

// DescribedParser: the lines of a description's rules become records, facts and statements.

/// A rate as printed, and what its last digit stands for.
struct PrintedRate {
  double value = kUnknown, digit = kUnknown;
};

class DescribedParser final : public LineParser {
 public:
  explicit DescribedParser(const Description& description);

  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;
  [[nodiscard]] bool wants_every_line() const override { return table_ != nullptr; }

 private:
  /// What is known of the open run of a kind.
  struct Track {
    StepCounter counter;
    CounterFacts facts;
    PausedClock clock;
    /// The samples of the first step wait for the second: how many iterations they cover is their
    /// distance, where the line does not state it.
    std::vector<Sample> first;
    bool first_is_mean = false;     ///< their times are those of one iteration
    bool first_is_own = false;      ///< its time is that of one step
    double elapsed_s = kUnknown;    ///< newest, as printed
    double earlier_s = 0;           ///< of the epochs before, where elapsed begins again with each
    double open_s = 0;              ///< what their last seconds leave open, together
    bool elapsed_of_epoch = false;  ///< it begins again with each epoch
    double digit_s = kUnknown;      ///< finest last digit of the clock
    double steps_of_mean = 0;       ///< of the newest line: those of a mean of all so far
    /// Of a line with Field::rate_so_far: its steps, and those over its rate.
    double steps_of_rate = 0, steps_over_rate = kUnknown;
    std::int64_t last_step = -1;
    /// Epoch and step as printed on the newest line of each labelled rank.
    std::map<int, std::pair<std::int64_t, std::int64_t>> ranks;
    /// Of all lines with Field::counted_seconds.
    double counted = 0, counted_s = 0;
    PrintedRate rate;  ///< of the newest record
    bool covers_gap =
        false;  ///< the newest record is of more steps than the one that it has the time of
    std::int64_t settings = 0;  ///< those that its facts hold already
    bool fallback = false;      ///< its records are those of a fallback
  };
  static constexpr std::size_t kMostRanks = 256;  ///< of which lines of a first step are kept
  static void note_rank(const StepCounter::Printed& printed, int rank, Track& of) {
    if (rank < 0 || (of.ranks.size() >= kMostRanks && !of.ranks.contains(rank))) return;
    of.ranks[rank] = {printed.epoch.value_or(0), printed.step};
  }
  [[nodiscard]] Track& track(WorkKind kind) { return tracks_[static_cast<std::size_t>(kind)]; }

  bool read_line(const DescribedRule& rule, const Line& line);
  bool take(const DescribedRule& rule, const Line& line, RunBuilder& out);
  void take_settings(const DescribedRule& rule);
  void note_launch(const DescribedRule& rule, RunBuilder& out);
  void leave_out_coarse(RunBuilder& out);
  bool parts_runs(const DescribedRule& rule);
  void add_settings(Track& of, RunDraft& draft);
  bool add_record(const DescribedRule& rule, const Line& line, RunBuilder& out);
  bool continue_record(const DescribedRule& rule, const Line& line, RunBuilder& out);
  bool take_statement(const DescribedRule& rule, const Line& line, RunBuilder& out);
  void take_outcome(const DescribedRule& rule, const Line& line, RunDraft& draft, RunBuilder& out);
  void take_average(const DescribedRule& rule, const Line& line, RunDraft& draft,
                    const RunBuilder& out);
  bool take_stamp(const DescribedRule& rule, const Line& line, RunBuilder& out);
  void take_counted(const DescribedRule& rule, const Line& line, RunDraft& draft);
  void take_counters(Track& of, RunDraft& draft);

  void add_late(const StepCounter::Printed& printed, Sample sample, RunDraft& draft) const;

  [[nodiscard]] Sample sample_of(const Line& line) const;
  void take_time(const DescribedRule& rule, Track& of, Sample& sample, RunDraft& draft);
  void take_rate(const DescribedRule& rule, Track& of, Sample& sample, RunDraft& draft,
                 const RunBuilder& out);
  [[nodiscard]] std::optional<double> rate_since(Track& of) const;
  [[nodiscard]] std::optional<double> seconds_of_one(const StepCounter::Printed& printed,
                                                     std::int64_t left) const;
  void take_own_step(const DescribedRule& rule, Track& of, Sample& sample, const RunDraft& draft);
  [[nodiscard]] std::optional<std::int64_t> world(const RunBuilder& out) const;
  [[nodiscard]] const DescribedRate& rate_of(const DescribedRule& rule) const;
  RunDraft& run(WorkKind kind, std::int64_t line, RunBuilder& out);
  void begin_again(WorkKind kind, RunBuilder& out);
  void put_first(WorkKind kind, std::optional<std::int64_t> next_step, RunBuilder& out);
  void note(const DescribedRule& rule, DescribedNote::When when);

  const Description& description_;
  LineValues values_;
  const DescribedRule* table_ = nullptr;  ///< whose head was met last
  /// Epoch and step of its newest row; below them a line of numbers is none.
  std::pair<std::int64_t, std::int64_t> row_ = {-1, -1};
  Track tracks_[3];
  YearClock year_;
  struct Plan {
    std::optional<std::int64_t> steps, epochs;
  };
  /// For the runs to come.
  Plan plans_[3];
  Facts stated_;
  std::set<const DescribedRule*> heads_;  ///< with settings that stand before the first step
  std::int64_t settings_ = 0;             ///< counts the changes of stated_
  std::string newest_setting_;            ///< Field::setting
  std::optional<IterationUnit> iteration_;
  double began_s_ = kUnknown;

  std::set<const RunDraft*> paused_;  ///< an evaluation was taken off their clock
  bool gaps_ = false;                 ///< a counter went on by more than one
  std::vector<std::string> noted_;
};

/// How many GPUs make a rate of that of one: the only whole number that the digits of both allow.
std::optional<std::int64_t> gpus_of(PrintedRate all, PrintedRate one) {
  constexpr double kRounding = 1e-9;  // of the division
  const double low = (all.value - all.digit / 2) / (one.value + one.digit / 2) - kRounding;
  const double high = (all.value + all.digit / 2) / (one.value - one.digit / 2) + kRounding;
  return whole_between(low, high);
}

bool stands_on(const Line& line, const DescribedRule& rule) {
  return any_row(line, [&](std::uint32_t row, std::size_t) { return row == rule.literal_index; });
}

void keep_unknown(double& kept, double value) {
  if (std::isnan(kept)) kept = value;
}

/// Of the counter; one that no training reaches ends at a limit.
std::int64_t iterations_of(const DescribedRule& rule, std::int64_t steps) {
  constexpr std::int64_t kMostIterations = 1'000'000'000'000'000;  // beyond it products overflow
  return std::min(steps, kMostIterations / rule.step_iterations) * rule.step_iterations;
}

/// The keys that a log's lines have, as many as fit on two lines of a terminal.
std::string keys_text(const std::vector<std::string>& keys) {
  constexpr std::size_t kLongest = 160;  // bytes
  std::string out;
  for (const std::string& key : keys) {
    if (out.size() + key.size() > kLongest) return out + ", ...";
    out += (out.empty() ? "" : ", ") + key;
  }
  return out;
}

DescribedParser::DescribedParser(const Description& description) : description_(description) {}

bool DescribedParser::parse(const Line& line, RunBuilder& out) {
  bool any = false, recorded = false, trained = false;
  constexpr std::size_t kBits = 64;
  std::uint64_t literals = 0;  // those on the line, a bit each; beyond kBits some share one
  any_row(line, [&](std::uint32_t row, std::size_t) {
    literals |= std::uint64_t{1} << (row % kBits);
    return false;
  });
  for (const DescribedRule& rule : description_.rules) {
    if (!rule.rows && (literals >> (rule.literal_index % kBits) & 1u) == 0) continue;
    // A line of training may hold scores of an evaluation as well.
    if ((recorded && (rule.gives_step || rule.parts_runs)) || (trained && rule.interrupts))
      continue;
    if (rule.rows && stands_on(line, rule)) {
      table_ = &rule;
      row_ = {-1, -1};
      any = true;
      continue;
    }
    if (!read_line(rule, line)) continue;
    const std::int64_t before = track(rule.kind).last_step;
    const bool taken = take(rule, line, out);
    any = any || taken;
    recorded = recorded || (taken && rule.gives_step);
    trained = trained || (rule.kind == WorkKind::training && track(rule.kind).last_step > before);
  }
  return any;
}

bool DescribedParser::read_line(const DescribedRule& rule, const Line& line) {
  if (rule.rows ? table_ != &rule : !stands_on(line, rule)) return false;
  const bool whole = rule.whole && !line.whole.empty();
  const std::string_view text = whole ? line.whole : line.text;
  if (!values_.read(rule, text, line.terminator == 0, description_.day_first,
                    description_.commas)) {
    return false;
  }
  if (!rule.rows) return true;
  const std::pair row(values_.count(Field::epoch).value_or(0),
                      values_.count(Field::step).value_or(-1));
  if (row <= row_) return false;
  row_ = row;
  return true;
}

bool DescribedParser::take(const DescribedRule& rule, const Line& line, RunBuilder& out) {
  const bool is_open = out.open(rule.kind) != nullptr;
  if (rule.within_run && !is_open) return false;
  if (rule.fallback && is_open && !track(rule.kind).fallback) return take_stamp(rule, line, out);
  if (rule.begins_run) {
    out.own_file = out.own_file || line.number == 1;
    begin_again(rule.kind, out);
    stated_ = {};
    plans_[static_cast<std::size_t>(rule.kind)] = {};
    began_s_ = kUnknown;
  }
  if (rule.interrupts) track(WorkKind::training).clock.note_evaluation();
  if (rule.parts_runs && parts_runs(rule)) track(rule.kind).counter.part();
  take_settings(rule);
  note_launch(rule, out);
  bool taken = false;
  if (values_.has(Field::step) && !rule.outcome) {
    taken = add_record(rule, line, out);
  } else if (rule.continues) {
    taken = continue_record(rule, line, out);
  }
  taken = take_statement(rule, line, out) || taken;
  if (taken && values_.too_coarse()) note(rule, DescribedNote::When::too_coarse);
  // A rule without fields notes that its line stands in the log.
  if (taken || !(rule.gives_field || rule.outcome)) note(rule, DescribedNote::When::used);
  if (taken) note(rule, DescribedNote::When::no_gaps);
  return taken;
}

// Trackio stamps the last of the rows that it sends together, which may be of the newest step and
// have no loss.
bool DescribedParser::take_stamp(const DescribedRule& rule, const Line& line, RunBuilder& out) {
  const Track& of = track(rule.kind);
  const Record* last = out.open(rule.kind)->last();
  const bool same = of.counter.printed() == values_.count(Field::step);
  return !same || last == nullptr || last->step != of.last_step || !std::isnan(last->time_s) ||
         continue_record(rule, line, out);
}

/// One with a setting does where it is another than before.
bool DescribedParser::parts_runs(const DescribedRule& rule) {
  if (!rule.gives(Field::setting)) return true;
  const std::string_view setting = values_.text(Field::setting);
  return std::exchange(newest_setting_, std::string(setting)) != setting;
}

// What a line states of the runs to come; the open one takes it with its next record.
void DescribedParser::take_settings(const DescribedRule& rule) {
  if (rule.states_facts) {
    stated_ = merge_facts(merge_facts(facts_of(values_), rule.facts), stated_);
    ++settings_;
  }
  Plan& plan = plans_[static_cast<std::size_t>(rule.kind)];
  if (const auto planned = values_.count(Field::planned)) plan.steps = planned;
  if (const auto epochs = values_.count(Field::epochs)) plan.epochs = epochs;
  if (rule.iteration && !rule.gives_step) iteration_ = rule.iteration;
}

// Settings that were printed before the first step and are printed once more after others: a launch
// that resumes begins with them (quoted/maxtext.a_launch_that_resumes_starts_off_the_clock).
void DescribedParser::note_launch(const DescribedRule& rule, RunBuilder& out) {
  if (rule.gives_step || !rule.states_facts || rule.counts_from == CountsFrom::first) return;
  RunDraft* open = out.open(rule.kind);
  if (open == nullptr || open->count() == 0) {
    heads_.insert(&rule);
  } else if (heads_.contains(&rule)) {
    open->begin_launch();
  }
}

void DescribedParser::add_settings(Track& of, RunDraft& draft) {
  if (of.settings == settings_) return;
  draft.log.facts = merge_facts(draft.log.facts, stated_);
  of.settings = settings_;
}

void DescribedParser::note(const DescribedRule& rule, DescribedNote::When when) {
  if (!rule.note || rule.note->when != when) return;
  if (std::ranges::find(noted_, rule.note->text) == noted_.end()) noted_.push_back(rule.note->text);
}

std::optional<std::int64_t> DescribedParser::world(const RunBuilder& out) const {
  if (out.world) return out.world;
  return stated_.world() ? stated_.world() : description_.facts.world();
}

const DescribedRate& DescribedParser::rate_of(const DescribedRule& rule) const {
  return rule.rate ? *rule.rate : description_.rate;
}

RunDraft& DescribedParser::run(WorkKind kind, std::int64_t line, RunBuilder& out) {
  const bool fresh = out.open(kind) == nullptr;
  RunDraft& draft = out.run(kind, line);
  if (fresh) {
    draft.log.iteration_unit = iteration_.value_or(description_.iteration);
    draft.own_facts = description_.own_facts;
  }
  return draft;
}

void DescribedParser::begin_again(WorkKind kind, RunBuilder& out) {
  put_first(kind, std::nullopt, out);
  out.close(kind);
  track(kind) = {};
}

void DescribedParser::put_first(WorkKind kind, std::optional<std::int64_t> next_step,
                                RunBuilder& out) {
  Track& of = track(kind);
  if (of.first.empty()) return;
  std::vector<Sample> samples;
  samples.swap(of.first);
  const RunDraft* open = out.open(kind);
  const bool clocked = open != nullptr && open->log.clock_is_wall;
  for (Sample& sample : samples) {
    const std::int64_t distance = next_step.value_or(0) - sample.step;
    if (of.first_is_own) {
      if (distance > 1 && clocked) sample.seconds = kUnknown;
    } else if (distance > 0) {
      sample.iterations = std::min(distance, std::max<std::int64_t>(1, sample.step));
    } else if (of.first_is_mean || sample.step <= 1) {
      sample.iterations = 1;
    } else if (of.elapsed_of_epoch &&
               !next_step) {  // a run of one epoch, of which one line is left
      sample.iterations = static_cast<std::int64_t>(of.steps_of_mean);
      sample.seconds = of.elapsed_s;
    } else {
      sample.seconds = kUnknown;  // of a number of iterations that no other line shows
    }
    if (of.first_is_mean) sample.seconds *= static_cast<double>(sample.iterations);
    run(kind, sample.line, out).add(sample);
  }
}

Sample DescribedParser::sample_of(const Line& line) const {
  Sample sample;
  sample.iterations = values_.count(Field::iterations).value_or(0);
  sample.seconds = values_.number(Field::seconds).value_or(kUnknown);
  sample.loss = values_.number(Field::loss);
  sample.line = line.number;
  sample.end_byte = line.end_byte;
  // "40: loss 0.2": what a launcher's label looks like is the step.
  const bool label_counts = std::less<>()(values_.text(Field::step).data(), line.text.data());
  if (!values_.has(Field::step) || !label_counts) sample.rank = line.rank;
  if (const auto rank = values_.count(Field::rank)) {
    sample.rank = static_cast<int>(std::min<std::int64_t>(*rank, 1 << 24));
  }
  const auto work = values_.number(Field::work), rate = values_.number(Field::rate);
  if (work && rate && std::isnan(sample.seconds)) sample.seconds = *work / *rate;
  return sample;
}

void DescribedParser::take_time(const DescribedRule& rule, Track& of, Sample& sample,
                                RunDraft& draft) {
  const auto mean = values_.number(Field::mean_so_far);
  const auto elapsed =
      mean ? std::optional(*mean * of.steps_of_mean) : values_.number(Field::elapsed);
  const double digit = mean ? values_.digit(Field::mean_so_far) * of.steps_of_mean
                            : values_.digit(elapsed ? Field::elapsed : Field::clock);
  const double off_before_s = of.clock.off_s();
  constexpr double kSince1970_s = 1e9;  // 2001: no run lasts that long
  if (elapsed && *elapsed > kSince1970_s) {
    sample.time_s = of.clock.at(*elapsed, digit);
    draft.log.clock_is_wall = true;
  } else if (elapsed) {
    // A clock that begins again with the epoch went on through the steps that no line was of, and
    // within the last whole second that it showed.
    const bool goes_on = mean && rule.mean_through_epochs;
    const bool again = rule.own_epoch && of.counter.begins_epoch() && !goes_on;
    if ((*elapsed < of.elapsed_s || again) && sample.step > of.last_step) {
      const double cut_off_s = mean ? 0 : std::floor(values_.digit(Field::elapsed));
      const double gone_s = (of.elapsed_s + cut_off_s / 2) * of.counter.epochs_per_seen();
      of.earlier_s += gone_s;
      of.open_s += cut_off_s;
      // Where the counter goes on through it, iterations before it are without a time.
      if (rule.counts_from == CountsFrom::first && !of.counter.begins_epoch()) {
        of.earlier_s += of.clock.since_restart(gone_s - of.elapsed_s + *elapsed);
      }
    }
    of.elapsed_s = *elapsed;
    of.elapsed_of_epoch = rule.own_epoch;
    sample.time_s = of.clock.at(of.earlier_s + *elapsed, digit);
    if (draft.count() == 0) draft.set_origin(0);
  } else if (const auto stamp = values_.stamp(Field::clock)) {
    sample.time_s = of.clock.at(year_.at(*stamp), digit);
    draft.log.clock_is_wall = true;
  } else {
    return;
  }
  const double off_s = of.clock.off_s() - off_before_s;
  if (off_s > 0 || of.clock.shortened()) paused_.insert(&draft);
  if (draft.count() > 0) draft.log.leave_out(sample.line, off_s);
  double& resolution = draft.log.clock_resolution_s;
  of.digit_s = std::fmin(of.digit_s, digit);
  resolution = of.digit_s + of.open_s;
}

void DescribedParser::take_rate(const DescribedRule& rule, Track& of, Sample& sample,
                                RunDraft& draft, const RunBuilder& out) {
  const DescribedRate& unit = rate_of(rule);
  auto rate = values_.number(Field::rate);
  if (rate) of.rate = {*rate, values_.digit(Field::rate)};
  if (values_.has(Field::rate_so_far)) rate = rate_since(of);
  if (const auto one = values_.number(Field::rate_per_gpu); one && !draft.log.facts.world()) {
    const auto gpus = gpus_of(of.rate, {*one, values_.digit(Field::rate_per_gpu)});
    if (gpus) draft.log.facts.world_size.set(*gpus, FactSource::log);
  }
  const bool of_own_step = rule.own_step && unit.unit == RateUnit::iterations_per_second;
  const RateUnit known = draft.log.rate_unit;
  const bool other_unit = known != RateUnit::unknown && known != unit.unit;
  if ((!rate && !of_own_step) || other_unit) return;  // a run has rates of one unit
  if (rate) {
    draft.log.rate_unit = unit.unit;
    const auto gpus = unit.of_one_gpu && !draft.rates_of_one_gpu ? world(out) : 1;
    draft.rates_of_one_gpu = draft.rates_of_one_gpu || !gpus;
    sample.rate = *rate * static_cast<double>(gpus.value_or(1));
    if (rule.counts_from == CountsFrom::first && of.clock.rate_holds_evaluation(*rate)) {
      sample.rate = kUnknown;
      paused_.insert(&draft);
    }
  } else {
    draft.log.rate_unit = unit.unit;
    sample.rate = 1 / sample.seconds;
  }
}

/// The rate since an earlier line, by what was added to a mean of all so far: steps over that mean
/// is a time, in which one step does one unit of work. Nothing before its digits show it, and none
/// of a time that holds an evaluation.
std::optional<double> DescribedParser::rate_since(Track& of) const {
  constexpr double kDigitsThatShow = 20;  // of the sum: half of one is then 2.5 %
  const double mean = *values_.number(Field::rate_so_far), steps = of.steps_of_mean;
  const double sum = steps / mean, digit = sum * values_.digit(Field::rate_so_far) / mean;
  const double more = sum - of.steps_over_rate, done = steps - of.steps_of_rate;
  const bool begins = std::isnan(more) || !(done > 0) || of.clock.holds_evaluation();
  if (!begins && !(more > kDigitsThatShow * digit)) return std::nullopt;
  of.steps_of_rate = steps;
  of.steps_over_rate = sum;
  return begins ? std::nullopt : std::optional(done / more);
}

/// As printed, or by the time that is left, as long as its last digit is small next to it. `left`:
/// the steps until the end of all epochs, which it is of where the line names their number; 0: not
/// known.
std::optional<double> DescribedParser::seconds_of_one(const StepCounter::Printed& printed,
                                                      std::int64_t left) const {
  constexpr double kDigitsThatShow = 20;  // half of one is then 2.5 %
  if (const auto one = values_.number(Field::seconds_per_iteration)) return one;
  const auto time = values_.number(Field::time_left);
  if (!values_.has(Field::epochs)) {
    const auto total = printed.epoch_steps ? printed.epoch_steps : values_.count(Field::planned);
    left = total.value_or(printed.step) - printed.step;
  }
  if (!time || left <= 0) return std::nullopt;
  if (*time < kDigitsThatShow * values_.digit(Field::time_left)) return std::nullopt;
  return *time / static_cast<double>(left);
}

bool DescribedParser::add_record(const DescribedRule& rule, const Line& line, RunBuilder& out) {
  const RunDraft* open = out.open(rule.kind);
  if (!rule.fallback && track(rule.kind).fallback) {
    if (open != nullptr && !open->ended_well) out.open(rule.kind)->discard = true;
    begin_again(rule.kind, out);
    open = nullptr;
  }
  const StepCounter::Printed printed{*values_.count(Field::step), values_.count(Field::epoch),
                                     values_.count(Field::epoch_steps), rule.counts_from,
                                     rule.wraps};
  Sample sample = sample_of(line);
  {
    const Track& of = track(rule.kind);
    const auto step = of.counter.step_of(printed);
    sample.step = iterations_of(rule, step.value_or(0));
    bool back = !step || of.counter.begins_run(printed) ||
                (of.first.empty() ? open != nullptr && open->goes_back(sample)
                                  : sample.step < of.first.front().step);
    // The lines of a labelled rank may come in blocks, long after those of another: it begins again
    // where its own ones go back.
    const bool labelled = sample.rank >= 0 && !rule.wraps && !of.ranks.empty();
    if (labelled) {
      const auto own = of.ranks.find(sample.rank);
      back =
          own != of.ranks.end() && std::pair(printed.epoch.value_or(0), printed.step) < own->second;
    }
    const bool copy = sample.step == of.last_step && sample.rank >= 0;
    const bool over =
        open != nullptr &&
        (open->stated_outcome || (open->ended_well && !copy && sample.step <= of.last_step));
    if (back || over) {
      begin_again(rule.kind, out);
      const auto again = track(rule.kind).counter.step_of(printed);
      sample.step = iterations_of(rule, again.value_or(0));
    } else if (labelled && of.first.empty() && (!step || sample.step < of.last_step)) {
      const auto late = step ? step : of.counter.earlier_step_of(printed);
      note_rank(printed, sample.rank, track(rule.kind));
      if (late) sample.step = iterations_of(rule, *late);
      if (late) add_late(printed, std::move(sample), *out.open(rule.kind));
      return true;
    }
  }
  Track& of = track(rule.kind);
  note_rank(printed, sample.rank, of);
  of.fallback = rule.fallback;
  const bool unknown_steps =
      rule.counts_from == CountsFrom::first && of.counter.leaves_unknown_steps(printed);
  if (unknown_steps) of.clock.note_evaluation();
  of.counter.move_to(printed);
  // What a named format reads of its own lines does not depend on other ones.
  of.clock.next(sample.step, rule.counts_from == CountsFrom::first ? line.number : 0,
                of.counter.begins_epoch());
  of.steps_of_mean = static_cast<double>(
      rule.mean_through_epochs ? sample.step : of.counter.within_epoch(printed));
  RunDraft& draft = run(rule.kind, line.number, out);
  add_settings(of, draft);
  if (sample.step > of.last_step) draft.ended_well = false;
  if (rule.iteration) draft.log.iteration_unit = *rule.iteration;
  draft.total_unsure = rule.counts_from == CountsFrom::first && of.counter.began_at_zero();
  draft.ends_silently = rule.counts_from == CountsFrom::first;
  const Plan& plan = plans_[static_cast<std::size_t>(rule.kind)];
  draft.log.planned = plan.steps || !plan.epochs ? plan.steps : of.counter.end_of(*plan.epochs);
  draft.ends_epoch = of.counter.ends_epoch(draft.log.planned, plan.epochs);
  const std::int64_t steps_left = draft.log.planned.value_or(sample.step) - sample.step;
  if (draft.log.planned) draft.log.planned = iterations_of(rule, *draft.log.planned);
  draft.last_line = std::max(draft.last_line, line.number);
  if (!rule.own_step && !std::isnan(sample.seconds) && sample.iterations == 0) {
    if (of.clock.restarts(sample.seconds, of.steps_of_mean)) {
      sample.iterations = static_cast<std::int64_t>(of.steps_of_mean);
    } else {
      // The printed time of an epoch is of that epoch, however long another took.
      if (draft.log.iteration_unit != IterationUnit::epoch) {
        sample.seconds = of.clock.of_interval(sample.seconds);
      }
    }
    if (of.clock.shortened()) paused_.insert(&draft);
  }
  take_rate(rule, of, sample, draft, out);
  take_time(rule, of, sample, draft);
  // No interval shows what a step takes, and this one holds a number of them that is not known.
  if (unknown_steps && of.clock.begins_after_evaluation()) sample.time_s = kUnknown;
  if (rule.own_step) take_own_step(rule, of, sample, draft);
  const bool first = of.last_step < 0;
  const auto mean = seconds_of_one(printed, steps_left);
  if (sample.step > of.last_step && !values_.has(Field::rate)) of.rate = {};
  const std::int64_t before = std::exchange(of.last_step, std::max(of.last_step, sample.step));
  gaps_ = gaps_ || (before >= 0 && sample.step > before + 1);
  take_counters(of, draft);
  const bool again = !of.first.empty() && sample.step == of.first.front().step;
  // A line of step 0 before the evaluation that a run begins with is no begin of its steps.
  if (again && of.clock.holds_evaluation()) {
    for (Sample& one : of.first) one.time_s = kUnknown;
  }
  if ((first && (sample.iterations == 0 || rule.own_step)) || again) {
    if (mean) sample.seconds = *mean;
    if (first) of.first_is_mean = mean.has_value();
    if (first) of.first_is_own = rule.own_step;
    if (of.first.size() < kMostRanks) of.first.push_back(sample);
    return true;
  }
  if (of.clock.begins_after_evaluation()) {
    for (Sample& one : of.first) one.time_s = kUnknown;
  }
  put_first(rule.kind, sample.step, out);
  // On the first line of an epoch a time of one or a rate is of the steps since that began.
  const auto within = static_cast<std::int64_t>(of.steps_of_mean);
  const bool begins = of.counter.begins_epoch() && within > 0 && within < sample.step - before;
  if (begins && rule.counts_from == CountsFrom::first && sample.iterations == 0 &&
      (mean || values_.has(Field::rate))) {
    sample.iterations = within;
  }
  if (mean) {
    if (sample.iterations == 0) {
      // Another process prints the step of the record before.
      const Record* last = draft.last();
      const bool copy = last != nullptr && last->step == sample.step;
      sample.iterations = copy ? last->iterations : std::max<std::int64_t>(1, sample.step - before);
    }
    sample.seconds = of.clock.of_one(*mean) * static_cast<double>(sample.iterations);
    if (of.clock.shortened()) paused_.insert(&draft);
  }
  draft.add(sample);
  return true;
}

/// A line of a rank whose step another rank has printed before: its time alone counts.
void DescribedParser::add_late(const StepCounter::Printed& printed, Sample sample,
                               RunDraft& draft) const {
  const Record* record = draft.record_of(sample);
  if (record == nullptr) return;
  const std::int64_t left = draft.log.planned.value_or(sample.step) - sample.step;
  if (const auto mean = seconds_of_one(printed, left)) {
    sample.seconds = *mean * static_cast<double>(record->iterations);
  }
  draft.last_line = std::max(draft.last_line, sample.line);
  draft.add(sample);
}

// Where other steps are between two lines, a clock measures them all; without one, the line stands
// for its own step alone.
void DescribedParser::take_own_step(const DescribedRule& rule, Track& of, Sample& sample,
                                    const RunDraft& draft) {
  const std::int64_t gap = of.last_step >= 0 ? sample.step - of.last_step : 1;
  if (gap > 1) note(rule, DescribedNote::When::gaps);
  if (gap > 0) of.covers_gap = gap > 1 && draft.log.clock_is_wall;
  sample.iterations = of.covers_gap ? std::max<std::int64_t>(1, gap) : 1;
  if (of.covers_gap) sample.seconds = kUnknown;
}

bool DescribedParser::continue_record(const DescribedRule& rule, const Line& line,
                                      RunBuilder& out) {
  Track& of = track(rule.kind);
  RunDraft* draft = out.open(rule.kind);
  if (draft == nullptr || of.last_step < 0 || draft->ended_well) return false;
  Sample sample = sample_of(line);
  sample.step = of.last_step;
  add_settings(of, *draft);
  take_rate(rule, of, sample, *draft, out);
  take_time(rule, of, sample, *draft);
  take_counters(of, *draft);
  const auto mean = values_.number(Field::seconds_per_iteration);
  draft->last_line = std::max(draft->last_line, line.number);
  if (of.first.empty()) {
    const Record* last = draft->last();
    if (mean && last != nullptr) {
      sample.seconds = of.clock.of_one(*mean) * static_cast<double>(last->iterations);
      if (of.clock.shortened()) paused_.insert(draft);
    }
    draft->add(sample);
    return true;
  }
  Sample& first = of.first.back();
  if (mean && std::isnan(first.seconds)) {
    first.seconds = *mean;
    of.first_is_mean = true;
  }
  keep_unknown(first.seconds, sample.seconds);
  keep_unknown(first.rate, sample.rate);
  keep_unknown(first.time_s, sample.time_s);
  if (!first.loss) first.loss = sample.loss;
  return true;
}

void DescribedParser::take_counters(Track& of, RunDraft& draft) {
  const auto updates = values_.count(Field::updates);
  const auto sequences = values_.count(Field::sequences_done);
  if (!updates && !sequences) return;
  if (updates) of.facts.take_updates(*updates, values_.count(Field::micro_steps), of.last_step);
  if (sequences) of.facts.take_sequences(*sequences, of.last_step);
  of.facts.apply(draft.log.facts);
}

bool DescribedParser::take_statement(const DescribedRule& rule, const Line& line, RunBuilder& out) {
  if (values_.has(Field::began) && (std::isnan(began_s_) || values_.has(Field::ended))) {
    began_s_ = *values_.number(Field::began);
  }
  const auto has = [&](Field field) { return values_.has(field); };
  const bool of_open = has(Field::ended) || has(Field::micro_steps) ||
                       has(Field::counted_seconds) || (has(Field::epoch) && !has(Field::step));
  const bool of_run =
      rule.outcome || std::ranges::any_of(std::array{Field::total_seconds, Field::wall_seconds,
                                                     Field::average_rate, Field::total_sequences,
                                                     Field::skipped_steps, Field::peak_memory},
                                          has);
  if (!of_run && !(of_open && out.open(rule.kind) != nullptr)) return false;
  RunDraft& draft = run(rule.kind, line.number, out);
  draft.last_line = std::max(draft.last_line, line.number);
  RunLog& log = draft.log;
  if (draft.count() == 0) add_settings(track(rule.kind), draft);
  if (const auto seconds = values_.number(Field::total_seconds)) log.totals.training_s = seconds;
  if (const auto seconds = values_.number(Field::wall_seconds)) log.totals.wall_s = seconds;
  if (const auto n = values_.count(Field::total_sequences)) log.totals.sequences = n;
  if (const auto n = values_.count(Field::total_iterations)) {
    log.totals.iterations = n;
    if (const auto seconds = values_.number(Field::total_seconds)) {
      log.summary =
          Stated{static_cast<double>(*n) / *seconds, RateUnit::iterations_per_second, line.number};
    }
  }
  if (const auto ended = values_.number(Field::ended); ended && *ended > began_s_) {
    log.totals.training_s = *ended - began_s_;
  }
  if (const auto epoch = values_.count(Field::epoch); epoch && !values_.has(Field::step)) {
    draft.reached = track(rule.kind).counter.end_of_epoch(*epoch);
    if (draft.log.planned && draft.reached >= draft.log.planned) draft.ended_well = true;
  }
  take_average(rule, line, draft, out);
  take_counted(rule, line, draft);
  if (const auto skipped = values_.count(Field::skipped_steps)) {
    log.totals.skipped_steps = log.totals.skipped_steps.value_or(0) + *skipped;
  }
  if (const auto bytes = values_.count(Field::peak_memory)) {
    MemoryUse memory = log.memory.value_or(MemoryUse{});
    memory.peak_bytes = std::max(memory.peak_bytes, *bytes);
    log.memory = memory;
  }
  if (values_.has(Field::micro_steps)) take_counters(track(rule.kind), draft);
  if (rule.outcome) take_outcome(rule, line, draft, out);
  return true;
}

void DescribedParser::take_counted(const DescribedRule& rule, const Line& line, RunDraft& draft) {
  Track& of = track(rule.kind);
  const auto seconds = values_.number(Field::counted_seconds);
  if (!seconds || of.counter.counted() < 1) return;
  const std::int64_t counted = iterations_of(rule, of.counter.counted());
  if (!of.counter.names_epochs()) {
    draft.log.totals.training_s = *seconds;
    draft.log.totals.iterations = counted;
    return;
  }
  of.counted += static_cast<double>(counted);
  of.counted_s += *seconds;
  draft.log.summary =
      Stated{of.counted / of.counted_s, RateUnit::iterations_per_second, line.number};
}

// A log may state one rate twice, with all its digits and rounded, or in two units: sequences/s
// next to steps/s show the batch.
void DescribedParser::take_average(const DescribedRule& rule, const Line& line, RunDraft& draft,
                                   const RunBuilder& out) {
  const auto rate = values_.number(Field::average_rate);
  if (!rate) return;
  const DescribedRate& of = rate_of(rule);
  const auto gpus = of.of_one_gpu ? world(out) : std::optional<std::int64_t>(1);
  if (!gpus || of.unit == RateUnit::unknown) return;
  const double scale = static_cast<double>(*gpus);
  const auto& before = draft.log.summary;
  if (before && before->unit == RateUnit::sequences_per_second &&
      of.unit == RateUnit::iterations_per_second) {
    const auto batch = TrainerChecks::sequences_per_step(before->value, *rate);
    if (!batch || draft.log.facts.sequences_per_optimizer_step()) return;
    draft.log.facts.global_batch_size.set(*batch, FactSource::log);
    if (rule.iteration) draft.log.iteration_unit = *rule.iteration;
    return;
  }
  const double half = values_.digit(Field::average_rate) / 2 * scale;
  if (before && before->unit == of.unit && std::abs(before->value - *rate * scale) <= half) return;
  draft.log.summary = Stated{*rate * scale, of.unit, line.number};
}

void DescribedParser::take_outcome(const DescribedRule& rule, const Line& line, RunDraft& draft,
                                   RunBuilder& out) {
  put_first(rule.kind, std::nullopt, out);
  if (rule.outcome == Status::completed) {
    draft.ended_well = true;
    // Evaluations on the way, which state no plan of their own, were all that there were to be.
    for (const auto& other : out.drafts()) {
      const bool of_other_kind = other->log.kind != rule.kind && !other->log.planned;
      if (rule.kind == WorkKind::training && of_other_kind) other->ended_well = true;
    }
  } else if (!draft.stated_outcome) {
    constexpr std::size_t kDetail = 300;
    const Record* last = draft.last();
    const auto step = values_.count(Field::step);
    draft.stated_outcome = Outcome{*rule.outcome,
                                   step              ? step
                                   : last != nullptr ? std::optional(last->step)
                                                     : std::nullopt,
                                   line.number,
                                   {log_line(std::string(trim(line.text).substr(0, kDetail)))}};
  }
}

// All seconds of a run count or none: those above a threshold alone would be its slow steps
// (quoted/maxtext.all_seconds_of_a_run_count_or_none).
void DescribedParser::leave_out_coarse(RunBuilder& out) {
  for (const DescribedRule& rule : description_.rules) {
    const auto least =
        std::ranges::find(rule.least, Field::seconds, &std::pair<Field, double>::first);
    if (least == rule.least.end()) continue;
    for (const auto& draft : out.drafts()) {
      std::vector<double> seconds;
      for (const Record& record : draft->records()) {
        if (!std::isnan(record.seconds)) seconds.push_back(record.seconds);
      }
      if (seconds.empty() || draft->log.kind != rule.kind || median(seconds) >= least->second) {
        continue;
      }
      draft->leave_out_seconds();
      note(rule, DescribedNote::When::too_coarse);
    }
  }
}

void DescribedParser::finish(RunBuilder& out) {
  for (std::size_t k = 0; k < 3; ++k) {
    const auto kind = static_cast<WorkKind>(k);
    put_first(kind, std::nullopt, out);
    // Settings after the last line of a run that still goes on are of it, where it knows none.
    RunDraft* open = out.open(kind);
    if (open != nullptr && !open->ended_well) add_settings(track(kind), *open);
  }
  // A log that begins with what begins this format's runs is of this format, whatever else prints
  // into it; but its counter must be one of steps.
  out.own_file = out.own_file && (gaps_ || !track(WorkKind::training).fallback);
  for (const DescribedRule& rule : description_.rules) {
    if (!gaps_ || !rule.note || rule.note->when != DescribedNote::When::no_gaps) continue;
    std::erase(noted_, rule.note->text);
  }
  leave_out_coarse(out);
  std::vector<std::string> notes = description_.notes;
  notes.insert(notes.end(), noted_.begin(), noted_.end());
  for (const auto& draft : out.drafts()) {
    RunLog& log = draft->log;
    log.facts = merge_facts(log.facts, description_.facts);
    for (const std::string& text : notes) {
      log.notices.push_back(make_notice(NoticeCode::format_note, 0, text));
    }
    if (paused_.contains(draft.get())) {
      log.notices.push_back(make_notice(NoticeCode::evaluations_off_the_clock, 0));
    }
    const bool timed = std::ranges::any_of(draft->records(), [](const Record& record) {
      return record.seconds > 0 || record.printed_rate > 0;
    });
    const bool clocked = std::ranges::any_of(
        draft->records(), [](const Record& record) { return !std::isnan(record.time_s); });
    if (!timed && !clocked && !log.summary && !values_.members().empty()) {
      log.notices.push_back(make_notice(NoticeCode::no_known_key, 0, keys_text(values_.members())));
    }
    const bool has_times = std::ranges::any_of(description_.rules, [](const DescribedRule& rule) {
      return rule.gives(Field::clock) || rule.gives(Field::elapsed) || rule.gives(Field::seconds) ||
             rule.gives(Field::seconds_per_iteration);
    });
    const bool rated = std::ranges::any_of(
        draft->records(), [](const Record& record) { return record.printed_rate > 0; });
    // LightGBM prints its metrics between two lines with the time
    // (quoted/generic.evaluations_between_all_lines_leave_no_time_of_a_step).
    if (draft.get() == out.open(log.kind) && draft->count() > 1 &&
        (timed ? clocked && rated : has_times) &&
        track(log.kind).clock.always_holds_evaluations()) {
      log.notices.push_back(make_notice(NoticeCode::evaluations_between_all_lines, 0));
    }
  }
}

}  // namespace

Result<std::shared_ptr<const DescribedFormat>> DescribedFormat::parse(const std::string& text,
                                                                      const std::string& source) {
  auto description = read_description(text, source);
  if (!description) return tl::unexpected(description.error());
  return std::make_shared<const DescribedFormat>(std::move(*description));
}

Result<std::shared_ptr<const DescribedFormat>> DescribedFormat::load(const std::string& path) {
  const auto text = read_whole_file(path, kLargestMib, "a format file holds rules, not logs");
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path);
}

DescribedFormat::DescribedFormat(const std::string& built_in)
    : DescribedFormat(read_description(built_in, "built-in", Checks::none).value()) {}
DescribedFormat::DescribedFormat(std::unique_ptr<const Description> description)
    : description_(std::move(description)) {}
DescribedFormat::~DescribedFormat() = default;

std::string_view DescribedFormat::name() const { return description_->name; }

const std::vector<std::string>& DescribedFormat::literals() const { return description_->literals; }

bool DescribedFormat::yields() const { return description_->yields; }

bool DescribedFormat::has_rows() const {
  return std::ranges::any_of(description_->rules, &DescribedRule::rows);
}

std::unique_ptr<LineParser> DescribedFormat::make() const {
  return std::make_unique<DescribedParser>(*description_);
}

}  // namespace bertbench
