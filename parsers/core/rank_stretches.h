// Some stretches of RankTimes as, or after, others: of one of the runs in a log, of the logs of one
// run.
#pragma once

#include <cstddef>

#include "parsers/core/rank_times.h"

namespace bertbench {

/// Adds the columns [begin, end) of `from` to `to`, of each rank those after its newest step there.
void add_stretches(RankTimes& to, const RankTimes& from, std::size_t begin, std::size_t end);

}  // namespace bertbench
