#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/csv.h"
#include "reports/formats/csv_columns.h"
#include "reports/model/result_io.h"
#include "reports/report.h"

namespace bertbench {
namespace {

Result<void> render(const ResultSet& set, const ReportOptions&, std::ostream& out) {
  std::vector<std::string> first = csv_cell_facts();
  for (const char* column :
       {"trial", "attempt", "log", "format", "outcome_status", "outcome_step", "outcome_line",
        "outcome_detail", "iterations_seen", "iterations_dropped", "iterations_used", "window_rule",
        "window_chosen_by", "window_covered", "sequences_per_second", "estimator", "loss_first",
        "loss_last"})
    first.emplace_back(column);
  std::vector<nlohmann::ordered_json> rows;
  const nlohmann::ordered_json json = to_json(set);
  for (const nlohmann::ordered_json& cell : json.at("cells")) {
    nlohmann::ordered_json facts = nlohmann::ordered_json::object();
    for (const std::string& key : csv_cell_facts())
      if (cell.contains(key)) facts[key] = cell[key];
    const nlohmann::ordered_json identity = csv_identity(cell);
    if (identity.contains("identity")) facts["identity"] = identity["identity"];
    for (const nlohmann::ordered_json& trial : cell.at("trials")) {
      nlohmann::ordered_json row = csv_flat(facts);
      row.update(csv_flat(trial));
      rows.push_back(std::move(row));
    }
  }
  out << csv_document(first, rows);
  return {};
}

}  // namespace

extern const Report report_csv_trials;
const Report report_csv_trials{"csv-trials", "one row per trial", ".trials.csv", &render};

}  // namespace bertbench
