// DllRun: the training runs of what both writings of NVIDIA's DLLogger (text and JSON) hold.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/assemble/assembler.h"
#include "parsers/core/facts.h"
#include "parsers/core/record.h"

namespace bertbench {

/// Its counter decides where a run begins.
inline constexpr Begin kDllTraining{.clock = {.resolution_s = 1e-6, .wall = true},
                                    .restart = Restart::never};

/// One line of a training iteration.
struct DllStep {
  double iteration = 0;
  std::optional<double> epoch;    ///< stated at least where the iteration goes back
  std::optional<double> skipped;  ///< updates skipped so far by the loss scaler, if it is printed
  std::optional<double> loss;
  double time_s = kUnknown;
  double rate = kUnknown;  ///< samples/s of the whole job
  bool last = false;       ///< the line with the final loss
};

/// The closing line. Rates are of the whole job.
struct DllClosing {
  std::optional<double> rate;
  std::optional<double> training_s, wall_s;
};

class DllRun {
 public:
  /// The iteration's number stands still while the loss scaler skips updates, yet those steps take
  /// their full time: the counter of a record is the applied and the skipped updates together.
  /// Where the lines stand for several iterations each, so does the first of a run. Returns that
  /// counter, below 0 where the line's number is damaged.
  std::int64_t read_step(const DllStep& step, Emit emit);
  void read_closing(const DllClosing& closing, Emit emit);
  void note_micro_batch(std::int64_t sequences) { micro_batch_ = sequences; }
  /// ConvNets' arguments: the batch of one GPU, and that of an update of the weights, of which an
  /// iteration may be a part (-1: is all).
  void read_convnet(std::int64_t batch, std::int64_t world, std::int64_t optimizer_batch);
  /// What read_convnet found, for a run that may have no records.
  void fill_convnet(Facts& facts) const;

 private:
  /// The counters after a line: applied iterations of the run, updates skipped so far.
  struct Count {
    std::int64_t iteration = 0, skipped = 0;
    std::int64_t skipped_in_all = 0;  ///< as this line states, for the whole run
  };
  bool begins_epoch(const DllStep& step);
  void begin_run(Emit emit);
  void state_micro_batch(Emit emit);
  [[nodiscard]] IterationUnit unit() const;
  [[nodiscard]] Count count(const DllStep& step) const;

  std::optional<std::int64_t> micro_batch_;
  std::optional<std::int64_t> world_, accumulation_;  ///< ConvNets'
  std::int64_t iteration_ = -1, skipped_ = 0;         ///< of the record before
  std::int64_t first_ = 0, second_ = 0;               ///< counters of the run's first records
  std::int64_t base_ = 0;                             ///< iterations of the epochs before
  std::optional<double> epoch_;
  std::int64_t stride_ = 1;  ///< iterations from one line to the next
  double time_s_ = kUnknown;
  bool closed_ = false, reported_ = false, stated_ = false;
};

}  // namespace bertbench
