// The iterations of a trial, in the CSV file that a sweep keeps next to its results.
#pragma once

#include <functional>
#include <string>

namespace bertbench {

/// One line: log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread. NaN where the
/// file leaves it out.
struct IterationRow {
  double step, time_s, seconds, sequences_per_second, loss, rank_spread;
};

/// Calls `row` for every line of <run_folder>/<path>, of none where the path leaves the folder.
void read_iterations(const std::string& run_folder, const std::string& path,
                     const std::function<void(const IterationRow&)>& row);

}  // namespace bertbench
