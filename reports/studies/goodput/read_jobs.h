// Reads the jobs of a training from its logs.
#pragma once

#include <string>
#include <vector>

#include "parsers/core/error.h"
#include "reports/studies/goodput/goodput.h"

namespace bertbench {

/// The runs of a log with the times of their lines. A stamp is a date with a time of day
/// ("2026-11-21T04:27:42.811Z") at the front of a line, after labels or in a bracket, or in the
/// member `time` of an object; time zones not looked at. Left out are stamps that go backwards and
/// those that have no neighbour within a day. Errors: as read_log; no regular file, as the path is
/// opened twice.
[[nodiscard]] Result<std::vector<JobLog>> read_jobs(const std::string& path);

}  // namespace bertbench
