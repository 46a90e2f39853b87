// The folder of a queue's job, <out>/jobs/<name>, and the marks in it and in the folders of its
// attempts (batch_system.h lists them).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/sweep/plan/batch_system.h"
#include "harness/sweep/process/folder.h"

namespace bertbench {

/// Text of a mark, "" when it is not there.
std::string read_mark(const Folder& folder, const char* name);

/// Name of the job that runs an attempt whose end is not in the journal, if it still counts.
std::optional<std::string> job_of(const Folder& root, const Folder& attempt);

/// Makes void and cancels the jobs of earlier starts that are not in `keep`, and cancels what the
/// queue still holds of those that have ended.
Result<void> end_jobs(const Folder& root, const BatchSystem& batch,
                      const std::set<std::string>& keep);

/// Cancels those of jobs that have ended which the queue holds as if they had not: a controller
/// that was started anew may believe in them again.
void cancel_revived(const BatchSystem& batch, const std::vector<std::string>& ended);

}  // namespace bertbench
