// Hooks: the commands that a configuration runs around the measured ones, setup and cleanup of the
// sweep and of each attempt (SweepConfig::hooks).
#pragma once

#include <string>
#include <vector>

#include "harness/sweep/execute/open_attempt.h"
#include "harness/sweep/execute/open_sweep.h"

namespace bertbench {

enum class Hook { setup, cleanup };

/// Runs the hook of the sweep to its end, which is after timeout_s at the latest; a request to stop
/// ends a setup, and a second one a cleanup. Its output is <out>/setup.log or cleanup.log; what it
/// leaves running is ended. Returns what went wrong, for the user; empty where nothing did.
std::string run_hook(const OpenSweep& sweep, Hook hook);
/// The same of an attempt, with the log in its folder.
std::string run_hook(const OpenSweep& sweep, const OpenAttempt& open, Hook hook);

}  // namespace bertbench
