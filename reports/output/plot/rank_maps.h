// Heat maps of ranks: ranks x steps, each rank's own time over the median as colour.
#pragma once

#include "reports/model/result_set.h"
#include "reports/output/plot/heat.h"

namespace bertbench::plot {

/// Ranks x steps, of the first trial of each cell that names a straggler, else of its first one; at
/// most kMostMaps.
[[nodiscard]] HeatMaps rank_maps(const ResultSet& set);

}  // namespace bertbench::plot
