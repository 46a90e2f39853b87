#include "reports/output/pairs_table.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "reports/output/value_text.h"

namespace bertbench {
namespace {

std::string rate_of_pair(const std::optional<double>& rate) {
  return rate ? number_text(*rate) : "-";
}

}  // namespace

Table pairs_table(const GateReport& report, PairsAs as) {
  const bool ratios = as == PairsAs::ratios;
  const auto change = [&](double value) {
    return ratios ? fmt::format("{:.4f}", 1 + value) : change_text(value);
  };
  Table table{{{"verdict"},
               {"cell"},
               {report.paired, true},
               {ratios ? "variant" : "now", true},
               {"unit"},
               {ratios ? "ratio" : "change", true},
               {"interval", true},
               {"pairs", true},
               {"p slower", true}},
              {}};
  for (const CellVerdict& cell : report.cells) {
    const Interval& interval = cell.interval;
    std::string pairs = std::to_string(cell.n_new);
    if (cell.pairs_left_out > 0) pairs += fmt::format(" (+{})", cell.pairs_left_out);
    table.rows.push_back(
        {ratios ? std::string(name(cell.speed)) : verdict_text(cell),
         key_with_kind(cell.key, cell.kind), rate_of_pair(cell.reference),
         rate_of_pair(cell.median_new), cell.unit, cell.change ? change(*cell.change) : "-",
         interval.coverage > 0 ? change(interval.low) + " to " + change(interval.high) : "-", pairs,
         cell.change ? fmt::format("{:.3g}", cell.p_adjusted) : "-"});
  }
  return table;
}

}  // namespace bertbench
