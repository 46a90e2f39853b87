// What counters of a run say over several lines: steps through epochs, facts, time without
// evaluations.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "parsers/assemble/training_clock.h"
#include "parsers/core/facts.h"
#include "parsers/described/description.h"

namespace bertbench {

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
  void move_to(const Printed& printed);
  /// The steps from the begin of the last epoch of which lines were met to that of this one, over
  /// those up to its last line: 1 where they are the same, or not known.
  [[nodiscard]] double epochs_per_seen() const { return epochs_per_seen_; }
  /// The same within its epoch, where the line names one.
  [[nodiscard]] std::int64_t within_epoch(const Printed& printed) const {
    return printed.step + shift_of(printed);
  }
  /// The line is of another epoch than the newest one, whose length is not printed: how many steps
  /// lie between the two is not known.
  [[nodiscard]] bool leaves_unknown_steps(const Printed& printed) const;
  /// The first line of the log showed that it begins at 0.
  [[nodiscard]] bool began_at_zero() const { return shift_ == 1; }
  /// The last step of a plan of so many epochs, if the length of one is known.
  [[nodiscard]] std::optional<std::int64_t> end_of(std::int64_t epochs) const;
  /// The last step of an epoch, if it is the newest one and its length is printed.
  [[nodiscard]] std::optional<std::int64_t> end_of_epoch(std::int64_t epoch) const;

 private:
  [[nodiscard]] std::int64_t base_of(const Printed& printed) const;
  [[nodiscard]] std::int64_t shift_of(const Printed& printed) const;
  [[nodiscard]] std::optional<std::int64_t> epoch_of(const Printed& printed) const;

  std::int64_t first_epoch_ = -1, epoch_ = -1;
  std::int64_t base_ = 0;         ///< steps of the epochs before
  std::int64_t epoch_steps_ = 0;  ///< printed
  std::int64_t lines_steps_ = 0;  ///< up to the last line of the epoch before
  std::int64_t newest_ = 0;
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

/// Times without the evaluations between the lines: an interval that holds one counts as long as
/// its iterations took in the newest one that held none.
class PausedClock {
 public:
  void note_evaluation();
  /// A line of training, before its times are asked for.
  void next(std::int64_t step);
  /// `stamp_s` without what was taken off so far.
  double at(double stamp_s);
  /// A printed time of all iterations since the line before; NaN where it holds an evaluation and
  /// none before it shows how long they take.
  double of_interval(double seconds);
  /// The newest line comes after an evaluation, and none before it shows how long steps take.
  [[nodiscard]] bool begins_after_evaluation() const { return held_ && std::isnan(each_s_); }
  [[nodiscard]] bool paused() const { return clock_.off_s() > 0 || shortened_; }
  /// Evaluations are between all its lines: it shows no time of a step.
  [[nodiscard]] bool always_holds_evaluations() const {
    return ever_held_ && std::isnan(each_s_) && std::isnan(each_of_interval_s_);
  }

 private:
  TrainingClock clock_;
  bool evaluated_ = false;  ///< since the newest line
  bool held_ = false;       ///< between the newest line and the one before
  bool ever_held_ = false;
  bool shortened_ = false;
  std::int64_t step_ = -1;
  double iterations_ = 0;  ///< of the newest line
  double stamp_s_ = kUnknown, each_s_ = kUnknown, each_of_interval_s_ = kUnknown;
};

}  // namespace bertbench
