// Trainer: the loop around a backend, a communicator, data and a log.
#pragma once

#include <functional>
#include <iosfwd>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/failure.h"
#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/log/log_style.h"
#include "workloads/bert/log/timings.h"
#include "workloads/bert/train/options.h"

namespace bert {

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
};

/// Trains from the resumed step (or 1) to options.steps or a signal. Weights are made equal on all
/// ranks first. Step t, micro-step k of rank r reads the sequences from
///   ((t - 1) * A + k) * W * B + r * B   (A accumulation steps, W ranks, B micro batch)
/// on, so W ranks see what one rank with W times the batch sees.
[[nodiscard]] Result<RunEnd> train(TrainerParts parts);

}  // namespace bert
