#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/model/result_io.h"
#include "reports/output/csv.h"
#include "reports/output/iterations.h"
#include "reports/output/iterations_file.h"
#include "reports/output/report.h"

namespace bertbench::report_csv_iterations {
namespace {

/// Rows are written as they are read: 10^7 of them need no memory.
void render(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  out << fmt::format("{}", fmt::join(csv_cell_facts(), ","))
      << ",trial,attempt,step,time_s,seconds,sequences_per_second,loss,rank_spread,in_window\r\n";
  const SetSource cells(set);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string facts = CsvTable(csv_cell_facts()).line(to_json(cells.cell(i)));
    facts.resize(facts.size() - 2);  // without the line's end
    for (const Trial& trial : set.cells[i].trials) {
      const std::string head = fmt::format("{},{},{},", facts, trial.trial, trial.attempt);
      read_iterations(options.run_folder, trial.iterations_file, [&](const IterationRow& row) {
        out << head;
        for (const double value : {row.step, row.time_s, row.seconds, row.sequences_per_second,
                                   row.loss, row.rank_spread}) {
          out << iteration_number(value) << ',';
        }
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
