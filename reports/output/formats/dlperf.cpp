#include "reports/output/dlperf.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/output/report.h"

namespace bertbench::report_dlperf {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// As Python's json.dump without indent writes it.
void render(const ResultSet& set, const ReportOptions&, std::ostream& out) {
  out << "{";
  const char* between_models = "";
  const DlperfResult result = dlperf_result(set);
  for (const auto& [model, cells] : result.models) {
    out << between_models << quoted(model) << ": {";
    between_models = ", ";
    const char* between_cells = "";
    for (const auto& [topology, cell] : cells) {
      out << between_cells << quoted(topology)
          << ": {\"average_speed\": " << python_number(cell.average_speed);
      between_cells = ", ";
      if (cell.batch_size_per_device)
        out << ", \"batch_size_per_device\": " << *cell.batch_size_per_device;
      out << ", \"median_speed\": " << python_number(cell.median_speed);
      if (cell.speedup) out << ", \"speedup\": " << python_number(*cell.speedup);
      out << "}";
    }
    out << "}";
  }
  out << "}\n";
}

}  // namespace

extern const Report entry{"dlperf", "result JSON as DLPerf's extract scripts save it",
                          ".dlperf.json", &render};

}  // namespace bertbench::report_dlperf
