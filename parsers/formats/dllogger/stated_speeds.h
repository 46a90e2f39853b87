// What NVIDIA's speech models and NCF state of a whole run, and what it is worth.
#pragma once

#include <cstdint>

#include "parsers/core/notice.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// Tacotron 2 and WaveGlow: items/s of all GPUs, by the newest epoch's statement.
[[nodiscard]] Notice stated_items(double per_second, std::int64_t line);

/// NCF closes with the rate of its best epoch.
void state_best_epoch(double rate, std::int64_t line, RunLog& log);

}  // namespace bertbench
