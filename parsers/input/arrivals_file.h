// The arrivals that somebody recorded next to a log.
#pragma once

#include <string>
#include <vector>

#include "parsers/core/arrivals.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// What the file of arrivals (kArrivalsSuffix) of the log at `path` holds; nothing where there is
/// none. No link is followed.
[[nodiscard]] std::vector<Arrival> read_arrivals(const std::string& path);

/// To all runs of one log.
void give_arrivals(std::vector<RunLog>& runs, std::vector<Arrival> arrivals);

}  // namespace bertbench
