// Trainer: the loop around a backend, a communicator, data and a log.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/failure.h"
#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/log/log_style.h"
#include "workloads/bert/log/timings.h"
#include "workloads/bert/train/options.h"

namespace bert {

/// RankTimes: what a step takes this rank by itself. Ranks wait for each other in every step, so
/// that all have the same step time; what is left without the waiting shows which of them is slow.
/// Prints a line for every stretch of a run, at most kMostLines of them:
///   rank_time rank=3 node=1:gpu07 steps=11:20 own_s=0.01234
/// own_s: mean seconds of a step from the end of the one before, less what the rank waited inside
/// collectives and for checkpoints. Monotonic clock. The line is read from any log (docs/ranks.md).
class RankTimes {
 public:
  static constexpr std::int64_t kMostLines = 64;

  /// `who` is "rank=3 node=1:gpu07"; null `out`: nothing is measured or printed. Steps first ..
  /// last are to be done. `redrawn`: the log's newest line may be a bar that has no end yet.
  RankTimes(std::string who, std::int64_t first, std::int64_t last, bool redrawn,
            std::ostream* out);

  /// The first step begins.
  void begin();
  /// Seconds that this step waited for others.
  void waited(double seconds) { waited_s_ += seconds; }
  /// Calls `collective`, all of whose time is waiting.
  template <class Collective>
  void wait(Collective&& collective) {
    const double start = now();
    collective();
    waited(now() - start);
  }
  void step_done(std::int64_t step);

 private:
  static double now();  ///< seconds, monotonic

  std::string who_;
  std::int64_t first_, last_, stretch_;
  bool redrawn_;
  std::ostream* out_;
  double begin_s_ = 0;   ///< of the stretch
  double waited_s_ = 0;  ///< within it
};

// Turns: trainers of one machine that compute one at a time, for a moment each, so that whatever
// the machine does meanwhile it does to all of them. Whoever started them gives the turns.
//
// Over a stream socket, a byte each way: the trainer's asks for a turn and gives back the one that
// it has; the answer is the next turn. Where the other end is closed the trainer runs on by itself.

/// The clock of a trainer that takes turns: it stands still while another one computes, so that log
/// and timings are those of a run by itself. `clock` outlives it.
class Turns : public Clock {
 public:
  /// Turns of at least `turn_s` seconds, over `socket`, which stays open. A usage error where it is
  /// no socket.
  [[nodiscard]] static Result<Turns> over(int socket, double turn_s, Clock& clock);

  [[nodiscard]] Stamp now() override;
  /// Between two steps, and before the first: waits for a turn where there is none, or where this
  /// one has lasted.
  void next_step();

 private:
  Turns(int socket, double turn_s, Clock& clock)
      : clock_(clock), socket_(socket), turn_s_(turn_s) {}

  Clock& clock_;
  int socket_;  ///< below 0: nobody gives turns any more
  double turn_s_;
  double until_s_ = -1;  ///< by clock_: the turn lasts
  double waited_s_ = 0;
};

/// What the loop works with. References outlive the call; pointers may be null.
struct TrainerParts {
  const TrainOptions& options;
  Backend& backend;
  Communicator& communicator;
  const SequenceSource& source;
  const DataOptions& data;
  Clock& clock;
  RunFacts facts;                   ///< first_step and schedule are set by train()
  LogStyle* log = nullptr;          ///< rank 0 only
  std::ostream* log_out = nullptr;  ///< the log's stream, to notice that it broke
  TimingsFile* timings = nullptr;   ///< rank 0 only
  std::function<int()> stop_signal = [] { return 0; };
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::ostream* rank_out = nullptr;  ///< where this rank prints its own times; null: nowhere
  /// Called before each step; may wait, where `clock` stands still meanwhile.
  std::function<void()> next_step = [] {};
};

/// Trains from the resumed step (or 1) to options.steps or a signal. Weights are made equal on all
/// ranks first. Step t, micro-step k of rank r reads the sequences from
///   ((t - 1) * A + k) * W * B + r * B   (A accumulation steps, W ranks, B micro batch)
/// on, so W ranks get what one rank with W times the batch gets.
[[nodiscard]] Result<RunEnd> train(TrainerParts parts);

}  // namespace bert
