// Copies stretches of one RankTimes to another: those of one run in a log, or of the logs of a
// restarted run.
#pragma once

#include <cstddef>

#include "parsers/core/rank_times.h"

namespace bertbench {

/// Adds the columns [begin, end) of `from` to `to`, of each rank those after its newest step there.
void add_stretches(RankTimes& to, const RankTimes& from, std::size_t begin, std::size_t end);

}  // namespace bertbench
