#include <functional>
#include <nlohmann/json.hpp>

#include "reports/model/result_io.h"
#include "reports/output/csv.h"
#include "reports/output/report.h"

namespace bertbench::report_csv_trials {
namespace {

void each_row(const CellSource& cells,
              const std::function<void(const nlohmann::ordered_json&)>& visit) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const nlohmann::ordered_json cell = to_json(cells.cell(i));
    nlohmann::ordered_json facts = nlohmann::ordered_json::object();
    for (const std::string& key : csv_cell_facts())
      if (cell.contains(key)) facts[key] = cell[key];
    const nlohmann::ordered_json identity = csv_identity(cell);
    if (identity.contains("identity")) facts["identity"] = identity["identity"];
    const nlohmann::ordered_json flat = csv_flat(facts);
    cells.each_trial(i, [&](const Trial& trial) {
      nlohmann::ordered_json row = flat;
      row.update(csv_flat(to_json(trial)));
      visit(row);
    });
  }
}

void write(const CellSource& cells, const ReportOptions&, const TextSink& out) {
  CsvTable table(csv_columns(
      "trial,attempt,log,format,outcome_status,outcome_step,outcome_line,outcome_detail,"
      "iterations_seen,iterations_dropped,iterations_used,window_rule,window_chosen_by,"
      "window_covered,sequences_per_second,estimator,loss_first,loss_last,simulated"));
  each_row(cells, [&](const nlohmann::ordered_json& row) { table.add_keys(row); });
  out(table.header());
  each_row(cells, [&](const nlohmann::ordered_json& row) { out(table.line(row)); });
}

}  // namespace

extern const Report entry{
    "csv-trials", "one row per trial", ".trials.csv", &render_cells<write>, nullptr, &write};

}  // namespace bertbench::report_csv_trials
