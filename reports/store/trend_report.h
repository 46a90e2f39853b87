// Trends as a page: a plot a cell of the medians of its runs, its levels, and a table.
#pragma once

#include <string>
#include <vector>

#include "reports/store/trend.h"

namespace bertbench {

/// Cells whose level shifted come first; plots of at most 40 cells, the table has all.
[[nodiscard]] std::string trend_html(const std::vector<Trend>& trends, const std::string& title);

}  // namespace bertbench
