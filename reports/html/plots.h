// The plots of the HTML report. Each returns a section of HTML, or nothing when the result set
// has not what it would show.
#pragma once

#include <string>

#include "reports/model/result_set.h"

namespace bertbench::html {

/// Throughput and efficiency against GPUs: medians with intervals, trials as points, the ideal line
/// of each series from its base. Needs a series with two numbers of GPUs.
[[nodiscard]] std::string scaling_section(const ResultSet& set);

/// Every trial against the median of its cell, in percent: outliers and drift are seen at once.
[[nodiscard]] std::string trials_section(const ResultSet& set);

/// Throughput over steps, a panel a cell, a line a trial, with the measured window shaded. Reads
/// <run_folder>/<Trial::iterations_file>; nothing without a run folder.
[[nodiscard]] std::string iterations_section(const ResultSet& set, const std::string& run_folder);

/// Batch against topology, the per-GPU rate as shade, where both vary.
[[nodiscard]] std::string heat_section(const ResultSet& set);

/// What the other estimators of a log say, against the one that was used.
[[nodiscard]] std::string estimators_section(const ResultSet& set);

}  // namespace bertbench::html
