// Whether two readings of a log are the same, to the bit.
#pragma once

#include <string>
#include <vector>

#include "parsers/core/run_log.h"

namespace bertbench::fuzz {

/// Empty when they are the same, else what differs first.
[[nodiscard]] std::string difference_of(const std::vector<RunLog>& a, const std::vector<RunLog>& b);

}  // namespace bertbench::fuzz
