#include "reports/output/csv.h"

#include <nlohmann/json.hpp>

#include "reports/model/cell_match.h"
#include "reports/model/result_io.h"
#include "reports/output/report.h"
#include "reports/output/value_text.h"
#include "reports/stats/summary.h"

namespace bertbench::report_csv {

namespace {

nlohmann::ordered_json row_of(const CellSource& cells, std::size_t i) {
  auto row = csv_flat(csv_identity(to_json(cells.cell(i))));
  // No keys of the JSON, where they follow from the trials: a table of cells has no trials.
  FailureWords failures;
  StatedByTrials stated;
  std::string log;
  cells.each_trial(i, [&](const Trial& trial) {
    failures.add(trial);
    add_stated(stated, trial);
    log = trial.log;
  });
  row["failures"] = failures.text();
  row["log"] = cells.trials(i) == 1 ? log : "";
  for (const auto& [key, values] : stated) row["stated_" + key] = median(values);
  return row;
}

void write(const CellSource& cells, const ReportOptions&, const TextSink& out) {
  CsvTable table(csv_columns(
      "throughput_unit,throughput_n,throughput_mean,throughput_median,throughput_stddev,"
      "throughput_cv,throughput_median_interval_low,throughput_median_interval_high,"
      "throughput_median_interval_coverage,throughput_mean_interval_low,"
      "throughput_mean_interval_high,throughput_mean_interval_coverage,"
      "sequences_per_second_per_gpu,speedup_value,speedup_base,scaling_efficiency,scaling,"
      "precision_speedup_value,precision_speedup_base,time_to_train_s,"
      "time_to_train_speedup_value,time_to_train_speedup_base,power_w,energy_per_sequence_j,"
      "memory_peak_bytes,memory_capacity_bytes,memory_source,tflops_per_gpu,mfu,hfu,"
      "flops_formula,peak,emulated,simulated,failures,log,warnings"));
  for (std::size_t i = 0; i < cells.size(); ++i) table.add_keys(row_of(cells, i));
  out(table.header());
  for (std::size_t i = 0; i < cells.size(); ++i) out(table.line(row_of(cells, i)));
}

}  // namespace

extern const Report entry{"csv",   "one row per cell, for spreadsheets and data frames",
                          ".csv",  &render_cells<write>,
                          nullptr, &write};

}  // namespace bertbench::report_csv
