#include <fmt/format.h>

#include <cmath>

#include "reports/output/comparison_table.h"
#include "reports/output/html/sections.h"
#include "reports/output/markup.h"
#include "reports/output/plot/figures.h"
#include "reports/output/value_text.h"

namespace bertbench::html {

std::string comparison_section(const ResultSet& baseline, const ResultSet& set,
                               const ReportOptions& options) {
  const std::vector<CellComparison> cells = compare(baseline, set, options.alpha);
  const ComparisonSummary sum = summary_of(cells);
  std::string body = fmt::format(
      "<p class=\"sides\">A <b>{}</b>{}<br>B <b>{}</b>{}</p>\n<p><b>{}</b></p>\n",
      escape_markup(options.baseline_name.empty() ? "baseline" : options.baseline_name),
      escape_markup(baseline.created.empty() ? "" : ", " + baseline.created),
      escape_markup(options.result_name.empty() ? "this result" : options.result_name),
      escape_markup(set.created.empty() ? "" : ", " + set.created), escape_markup(sum.sentence));
  if (const auto figure = plot::comparison_figure(cells, set)) body += figure_element(*figure);
  const Table table = comparison_table(cells);
  SortableTable what{table, "comparison", "cells", {}, {}};
  for (const CellComparison& cell : cells) {
    what.titles.push_back(cell.key);
    what.failed.push_back(cell.significant && cell.change && *cell.change < 0);
  }
  body += sortable_table(what);
  body += small(fmt::format(
      "change: the Hodges-Lehmann shift from A to B with its exact interval (of each cell by "
      "itself); p: exact two-sided Mann-Whitney test, then after Holm's correction over all cells "
      "compared; ~ where the latter is above {}.",
      options.alpha));
  return section("A against B", body);
}

}  // namespace bertbench::html
