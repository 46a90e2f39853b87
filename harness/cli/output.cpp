#include "harness/cli/output.h"

#include <CLI/CLI.hpp>

#include "harness/cli/options.h"
#include "reports/render.h"

namespace bertbench {

void add_output(CLI::App& app, OutputOptions& output, const std::string& file_help) {
  add_flag(app, "--json", output.json, "Print the machine form (JSON) instead of the table.");
  add_text(app, "-o,--output", output.path, "FILE", file_help);
}

ExitCode answer(Console& console, const OutputOptions& output, ExitCode status,
                const std::function<Result<std::string>(const std::string& path)>& machine,
                const std::function<void()>& human) {
  console.progress().stop();
  if (!output.path.empty() && output.path != "-") {
    const auto text = machine(output.path);
    if (!text) return console.error(text.error());
    if (const auto written = write_file_atomically(output.path, *text); !written) {
      return console.error(written.error());
    }
  }
  if (!output.machine_on_stdout()) {
    human();
    return status;
  }
  const auto text = machine("-");
  if (!text) return console.error(text.error());
  console.print(*text);
  return status;
}

Result<std::string> result_text(const ResultSet& set, const std::string& path,
                                const std::string& run_folder) {
  const Report* report = path == "-" ? nullptr : report_for_path(path);
  if (report == nullptr) {
    const auto json = find_report("json");
    if (!json) return tl::unexpected(json.error());
    report = *json;
  }
  ReportOptions options;
  options.run_folder = run_folder;
  return render_text(*report, set, options);
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace bertbench
