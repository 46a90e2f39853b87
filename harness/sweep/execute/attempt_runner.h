// AttemptRunner: where the attempts of a sweep run, as processes of this machine or as jobs of a
// queue (batch_jobs.h). One loop drives either: start what
// there is room for, poll, until nothing waits and nothing runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/sweep/execute/attempt_end.h"
#include "harness/sweep/execute/attempt_queue.h"
#include "harness/sweep/execute/open_attempt.h"
#include "harness/sweep/execute/placement_labels.h"
#include "harness/sweep/observe/node_telemetry.h"
#include "harness/sweep/process/process.h"

namespace bertbench {

class AttemptRunner {
 public:
  AttemptRunner(OpenSweep& sweep, AttemptQueue& queue, PlacementLabels& placement)
      : sweep_(sweep), queue_(queue), placement_(placement) {}
  AttemptRunner(const AttemptRunner&) = delete;
  AttemptRunner& operator=(const AttemptRunner&) = delete;
  virtual ~AttemptRunner() = default;

  /// Nothing runs, and all that ended has been handed over by poll() or stop().
  [[nodiscard]] virtual bool idle() const = 0;
  /// Takes from the queue what there is room for, and starts it.
  virtual Result<void> start() = 0;
  /// Waits for a moment, less when something happens; gives the attempts that have ended since.
  virtual Result<std::vector<EndedAttempt>> poll() = 0;
  /// Ends what runs, and gives it. A second signal gives the trainers no time to end by themselves.
  virtual Result<std::vector<EndedAttempt>> stop() = 0;
  /// Attempts of this cell that have not begun are not needed any more.
  virtual Result<void> drop(std::size_t cell) = 0;
  /// After the last attempt of a sweep that was not stopped.
  virtual void close() = 0;

 protected:
  /// OpenAttempt::begin or ::take_over, ready for report_progress().
  Result<std::unique_ptr<OpenAttempt>> begin(WantedAttempt wanted);
  Result<std::unique_ptr<OpenAttempt>> take_over(WantedAttempt wanted);
  /// What the log of a running attempt shows, for the observer and for the samplers of its nodes.
  void report_progress(OpenAttempt& open, double elapsed_s);
  /// Where nodes are watched: what their samplers left in the folder of the attempt, joined.
  void take_node_telemetry(OpenAttempt& open);
  /// Several host names may be one machine: labels the cell by what their samplers found.
  void label_machines(OpenAttempt& open, const std::vector<NodeTelemetry>& samplers);

  OpenSweep& sweep_;
  AttemptQueue& queue_;
  PlacementLabels& placement_;

 private:
  [[nodiscard]] TrialProgress progress_of(const OpenAttempt& open) const;
  std::set<std::string> reasons_reported_;  // why nodes have no telemetry
};

/// Attempts whose processes this machine starts, one after the other, or the variants of a block
/// together where they take turns.
[[nodiscard]] std::unique_ptr<AttemptRunner> make_local_attempts(OpenSweep& sweep,
                                                                 AttemptQueue& queue,
                                                                 PlacementLabels& placement);

}  // namespace bertbench
