#include <ostream>

#include "parsers/core/text.h"
#include "reports/output/dlperf.h"
#include "reports/output/report.h"
#include "reports/output/table.h"

namespace bertbench::report_dlperf_text {
namespace {

/// A Python string literal. Control characters are escaped as a terminal needs it.
std::string quoted(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string doubled;
  for (const char c : text) {
    if (c == quote || c == '\\') doubled += '\\';
    doubled += c;
  }
  return quote + escape_for_terminal(doubled) + quote;
}

/// One line a log, `PATH {trial: speed, ...}` with all speeds of its cell so far.
void log_lines(const DlperfResult& result, std::ostream& out) {
  std::map<std::pair<std::string, std::string>, std::string> so_far;
  for (const DlperfLog& log : result.logs) {
    std::string& speeds = so_far[{log.model, log.topology}];
    if (!speeds.empty()) speeds += ", ";
    speeds += std::to_string(log.trial) + ": " + python_number(log.speed);
    out << escape_for_terminal(log.log) << " {" << speeds << "}\n";
  }
}

/// pprint.PrettyPrinter(indent=1): sorted keys, one per line, because no cell fits in 80 columns.
void pretty(const DlperfResult& result, std::ostream& out) {
  out << "{";
  std::string model_indent;
  for (const auto& [model, cells] : result.models) {
    const std::string model_key = quoted(model) + ": {";
    out << model_indent << model_key;
    const std::size_t depth = 1 + display_width(model_key);
    std::string cell_indent;
    for (const auto& [topology, cell] : cells) {
      const std::string cell_key = quoted(topology) + ": {";
      const std::string blanks(depth + display_width(cell_key), ' ');
      out << cell_indent << cell_key << "'average_speed': " << python_number(cell.average_speed);
      if (cell.batch_size_per_device)
        out << ",\n" << blanks << "'batch_size_per_device': " << *cell.batch_size_per_device;
      out << ",\n" << blanks << "'median_speed': " << python_number(cell.median_speed);
      if (cell.speedup) out << ",\n" << blanks << "'speedup': " << python_number(*cell.speedup);
      out << "}";
      cell_indent = ",\n" + std::string(depth, ' ');
    }
    out << "}";
    model_indent = ",\n ";
  }
  out << "}\n";
}

void render(const ResultSet& set, const ReportOptions&, std::ostream& out) {
  const DlperfResult result = dlperf_result(set);
  log_lines(result, out);
  pretty(result, out);
}

}  // namespace

extern const Report entry{"dlperf-text", "what DLPerf's extract scripts print", ".dlperf.txt",
                          &render};

}  // namespace bertbench::report_dlperf_text
