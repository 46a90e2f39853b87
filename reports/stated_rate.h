// A log that states sequences/s and tells its time as well tells its rate twice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "parsers/core/run_log.h"

namespace bertbench {

/// What to tell when the sequences/s that the log states and those of its own times and the facts
/// are apart by a factor of 1.9 or more, as they are when a batch, the world size or the
/// accumulation is wrong, or the stated rate is one card's. Each record of the window is compared
/// with itself and the median taken, so that warm-up and stalls do not matter. Nothing when they
/// agree or fewer than three records tell both. `per_iteration`: sequences by the facts.
[[nodiscard]] std::optional<std::string> stated_rate_is_apart(const RunLog& log,
                                                              std::span<const Record> window,
                                                              std::int64_t per_iteration);

}  // namespace bertbench
