// AttemptQueue: the attempts that this start still has to launch, in order, and how long they will
// take by what others of their cells took. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/plan/plan.h"
#include "parsers/core/notice.h"

namespace bertbench {

struct WantedAttempt {
  PlannedTrial trial;
  int attempt = 1;
  int last_attempt = 1;  ///< the number up to which the trial is tried again
  int position = 0;      ///< of the trial among those of this start, 1-based; 0 = not taken yet
  bool again = false;    ///< an attempt of this start came before it
  std::vector<Notice> earlier{};  ///< notices of the attempts before it
};

class AttemptQueue {
 public:
  /// A trial that this start wants. Before the first take().
  void add(WantedAttempt wanted);
  /// A trial that runs since an earlier start: it counts, and does not wait.
  void add_running(WantedAttempt& wanted);
  /// An attempt more of a trial that was taken: before all that waits.
  void put_first(WantedAttempt wanted) { waiting_.push_front(std::move(wanted)); }
  /// Takes the trials of this cell out of the queue; only one trial where it is given.
  void drop(std::size_t cell, std::optional<int> trial = {});

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Trials that were added, dropped ones as well.
  [[nodiscard]] int trials() const { return trials_; }
  /// The first that waits. The queue must not be empty.
  [[nodiscard]] const WantedAttempt& front() const { return waiting_.front(); }
  WantedAttempt take();
  /// The first that waits, and with it all others of its group.
  std::vector<WantedAttempt> take_group(
      const std::function<std::string(const WantedAttempt&)>& group_of);

  /// Records how long an attempt of this cell took that covered its window.
  void took(std::size_t cell, double seconds) { durations_[cell].push_back(seconds); }
  /// Seconds until the whole sweep ends when a trial of `cell` runs for `remaining_s` more (NaN:
  /// as long as others of its cell took). NaN while nothing of the kind has been measured.
  [[nodiscard]] double eta(std::size_t cell, double remaining_s);

 private:
  void number(WantedAttempt& wanted);
  double seconds_of_waiting();

  std::deque<WantedAttempt> waiting_;
  int trials_ = 0, taken_ = 0;
  std::map<std::size_t, std::vector<double>> durations_;
  std::chrono::steady_clock::time_point summed_at_{};
  double sum_s_ = 0;  // of all that waits, at summed_at_
};

}  // namespace bertbench
