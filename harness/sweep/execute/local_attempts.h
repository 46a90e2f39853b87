// Attempts as processes of this machine.
#pragma once

#include <memory>

#include "harness/sweep/execute/attempt_runner.h"

namespace bertbench {

/// Attempts whose processes this machine starts, one after the other.
[[nodiscard]] std::unique_ptr<AttemptRunner> make_local_attempts(OpenSweep& sweep,
                                                                 AttemptQueue& queue,
                                                                 PlacementLabels& placement);

}  // namespace bertbench
