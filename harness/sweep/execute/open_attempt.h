// OpenAttempt: an attempt whose start is in the journal and whose end is not.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/sweep/execute/attempt_queue.h"
#include "harness/sweep/execute/log_watch.h"
#include "harness/sweep/execute/open_sweep.h"

namespace bertbench {

/// A port that is free now. Two sweeps of one machine may draw the same one; then a rank fails to
/// listen and the trial is tried again with another.
int free_port();

struct OpenAttempt {
  /// Folder, empty log, files, command.json, "started" in the journal.
  static Result<std::unique_ptr<OpenAttempt>> begin(OpenSweep& sweep, WantedAttempt wanted);
  /// An attempt that a job of an earlier start runs: its log and its start stay.
  static Result<std::unique_ptr<OpenAttempt>> take_over(const OpenSweep& sweep,
                                                        WantedAttempt wanted);

  WantedAttempt wanted;
  const PlannedCell& cell;
  std::string path;  ///< of its folder, below the run folder
  Folder folder;
  Descriptor log_fd;  ///< log.txt, readable, O_APPEND; closed with this
  TrialLogs log;      ///< reads log_fd, and what the trainer writes itself
  LaunchPlace place{};
  std::optional<BlockPlace> block{};  ///< of a variant, where it can be half of a pair
  std::vector<ProcessSpec> processes{};
  TrialProgress progress{};
  nlohmann::ordered_json telemetry{};  ///< null: nothing was watched
  bool training_marked = false;        ///< the samplers of its nodes know that steps are logged
  /// The first step that was read, and when: up to there the trainer started up and compiled.
  std::optional<std::pair<std::int64_t, double>> first_step_at{};

  OpenAttempt(const OpenSweep& sweep, WantedAttempt w, Folder f, Descriptor fd, OwnLogs own);
  /// The members that name it in a journal record.
  [[nodiscard]] nlohmann::ordered_json who() const;
};

}  // namespace bertbench
