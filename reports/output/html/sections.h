// The sections of the HTML report. Each returns HTML, or nothing when there is nothing to show.
#pragma once

#include <string>

#include "reports/model/result_set.h"
#include "reports/output/html/page.h"
#include "reports/output/report.h"
#include "reports/output/table.h"

namespace bertbench::html {

/// Three cards: the rate, how it scales, and reasons not to trust it. A card without an
/// answer names what is missing.
[[nodiscard]] std::string headline(const ResultSet& set);

/// A table whose headings sort and whose rows a text filters. `titles` (may be empty) and `failed`
/// are of the rows; rows beyond the first 300 wait for a click.
struct SortableTable {
  const Table& table;
  std::string id;
  std::string noun = "cells";
  std::vector<std::string> titles{};
  std::vector<bool> failed{};
};
[[nodiscard]] std::string sortable_table(const SortableTable& what);

/// Two result sets side by side: what became faster and slower, a plot and a table.
[[nodiscard]] std::string comparison_section(const ResultSet& baseline, const ResultSet& set,
                                             const ReportOptions& options);

/// Of a run with variants: its pairs held against their base by the gate's defaults, as a table and
/// a plot a cell.
[[nodiscard]] std::string pairs_section(const ResultSet& set);

/// Batch against topology, the per-GPU rate as shade, where both vary.
[[nodiscard]] std::string heat_section(const ResultSet& set);

/// Ranks and nodes one by one: who is slow, and when.
[[nodiscard]] std::string ranks_section(const ResultSet& set);

}  // namespace bertbench::html
