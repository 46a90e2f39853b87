// Attempts as jobs of a queue.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/sweep/execute/attempt_runner.h"
#include "harness/sweep/plan/batch_system.h"

namespace bertbench {

/// What jobs of earlier starts still run.
struct EarlierJobs {
  std::map<std::string, std::vector<WantedAttempt>> wanted;  ///< job -> attempts to take over
  std::set<std::string> spared;  ///< run trials as well that this start leaves out (--only)
};

/// Attempts as jobs of a queue. Takes over the jobs of earlier starts that still count; spared ones
/// go on by themselves, and all others are cancelled.
[[nodiscard]] Result<std::unique_ptr<AttemptRunner>> make_batch_jobs(OpenSweep& sweep,
                                                                     AttemptQueue& queue,
                                                                     PlacementLabels& placement,
                                                                     const BatchSystem& batch,
                                                                     EarlierJobs earlier);

}  // namespace bertbench
