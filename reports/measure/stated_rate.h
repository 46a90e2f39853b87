// Notices about the rates that a log states.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "parsers/core/run_log.h"

namespace bertbench {

/// What to report when the sequences/s that the log states and those of its own times and the facts
/// are apart by a factor of 1.9 or more, as they are when a batch, the world size or the
/// accumulation is wrong, or the stated rate is one card's. Each record of the window is compared
/// with itself and the median taken, so that warm-up and stalls do not matter. Nothing when they
/// agree or fewer than three records have both. `per_iteration`: sequences by the facts.
[[nodiscard]] std::optional<Notice> stated_rate_is_apart(const RunLog& log,
                                                         std::span<const Record> window,
                                                         std::int64_t per_iteration);

/// What to report when the plain mean of the window's printed rates is 3 % or more above the work
/// over the time that they add up to. Rates of intervals that differ, by a warm-up or an evaluation
/// within, have no mean that is a throughput. Nothing when they agree. `unit`: of the rates.
[[nodiscard]] std::optional<Notice> mean_of_rates_misleads(std::span<const Record> window,
                                                           RateUnit unit);

}  // namespace bertbench
