#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "parsers/core/text.h"
#include "reports/model/result_io.h"
#include "reports/output/csv.h"
#include "reports/output/iterations_file.h"
#include "reports/output/report.h"

namespace bertbench::report_csv_iterations {
namespace {

std::string number(double value) { return std::isfinite(value) ? shortest(value) : std::string(); }

/// Rows are written as they are read: 10^7 of them need no memory.
void render(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  for (const std::string& fact : csv_cell_facts()) out << fact << ',';
  out << "trial,attempt,step,time_s,seconds,sequences_per_second,loss,rank_spread,in_window\r\n";
  const SetSource cells(set);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const nlohmann::ordered_json json = to_json(cells.cell(i));  // without the trials: may be many
    std::string facts;
    for (const std::string& fact : csv_cell_facts()) {
      if (json.contains(fact)) {
        facts +=
            json[fact].is_string() ? csv_text(json[fact].get<std::string>()) : json[fact].dump();
      }
      facts += ',';
    }
    for (const Trial& trial : set.cells[i].trials) {
      const std::string head =
          facts + std::to_string(trial.trial) + ',' + std::to_string(trial.attempt) + ',';
      read_iterations(options.run_folder, trial.iterations_file, [&](const IterationRow& row) {
        out << head << number(row.step) << ',' << number(row.time_s) << ',' << number(row.seconds)
            << ',' << number(row.sequences_per_second) << ',' << number(row.loss) << ','
            << number(row.rank_spread) << ',';
        if (trial.window.first_step && trial.window.last_step) {
          out << (row.step > static_cast<double>(*trial.window.first_step) &&
                          row.step <= static_cast<double>(*trial.window.last_step)
                      ? "true"
                      : "false");
        }
        out << "\r\n";
      });
    }
  }
}

}  // namespace

extern const Report entry{"csv-iterations",
                          "one row per iteration of a run folder, with the cell's facts",
                          ".iterations.csv", &render};

}  // namespace bertbench::report_csv_iterations
