// What a log shows of its ranks one by one: a RunLog's rank_times become a trial's `ranks`.
#pragma once

#include <optional>

#include "parsers/core/run_log.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// Judged over the stretches inside the steps of `window`, where it names some, else over all but
/// the first. Nothing where fewer than two ranks state their own times.
[[nodiscard]] std::optional<RankRecord> rank_record(const RankTimes& times,
                                                    const WindowUsed& window);

/// The record, and a notice for each rank that stays slow; or the notice that ranks share their
/// step times.
void describe_ranks(const RunLog& log, Trial& trial);

}  // namespace bertbench
