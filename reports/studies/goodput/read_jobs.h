// The jobs of a training out of its logs.
#pragma once

#include <string>
#include <vector>

#include "parsers/core/error.h"
#include "reports/studies/goodput/goodput.h"

namespace bertbench {

/// The runs of a log with the times of their lines. A stamp is a date with a time of day anywhere
/// in a line ("2026-11-21T04:27:42.811Z"), time zones not looked at.
[[nodiscard]] Result<std::vector<JobLog>> read_jobs(const std::string& path);

}  // namespace bertbench
