#include "harness/cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/options.h"
#include "harness/cli/progress.h"
#include "reports/output/markup.h"
#include "reports/output/render.h"

namespace bertbench {

void add_output(CommandLine& line, OutputOptions& output, const std::string& file_help) {
  line.add_flag("--json", output.json, "Print the machine form (JSON) instead of the table.");
  line.add_output_file("-o,--output", output.path, "FILE", file_help);
}

ExitCode answer(Console& console, const OutputOptions& output, ExitCode status,
                const std::function<Result<std::string>(const std::string& path)>& machine,
                const std::function<void()>& human) {
  const auto in_one_piece = [&](const std::string& path, const TextSink& out) -> Result<void> {
    const auto text = machine(path);
    if (!text) return tl::unexpected(text.error());
    out(*text);
    return {};
  };
  return answer_in_pieces(console, output, status, in_one_piece, human);
}

ExitCode answer(Console& console, const OutputOptions& output, ExitCode status,
                const std::function<nlohmann::ordered_json()>& machine,
                const std::function<void()>& human) {
  const auto text = [&](const std::string&) { return json_text(machine()); };
  return answer(console, output, status, text, human);
}

ExitCode answer_in_pieces(
    Console& console, const OutputOptions& output, ExitCode status,
    const std::function<Result<void>(const std::string& path, const TextSink&)>& machine,
    const std::function<void()>& human) {
  console.progress().stop();
  if (!output.path.empty() && output.path != "-") {
    const auto written = write_file_atomically(
        output.path, [&](const TextSink& out) { return machine(output.path, out); });
    if (!written) return console.error(written.error());
  }
  if (!output.machine_on_stdout()) {
    human();
    return status;
  }
  const auto printed = machine("-", [&](std::string_view text) { console.print(text); });
  if (!printed) return console.error(printed.error());
  return status;
}

namespace {

/// The report that the ending of a path selects, JSON for any other.
Result<const Report*> report_of(const std::string& path) {
  const Report* report = path == "-" ? nullptr : report_for_path(path);
  if (report != nullptr) return report;
  return find_report("json");
}

}  // namespace

Result<std::string> result_text(const ResultSet& set, const std::string& path,
                                const std::string& run_folder) {
  const auto report = report_of(path);
  if (!report) return tl::unexpected(report.error());
  ReportOptions options;
  options.run_folder = run_folder;
  return render_text(**report, set, options);
}

Result<void> write_result(const CellSource& cells, const std::string& path, const TextSink& out) {
  const auto report = report_of(path);
  if (!report) return tl::unexpected(report.error());
  write_report(**report, cells, {}, out);
  return {};
}

Result<void> check_ending(const std::string& path) {
  if (report_for_path(path) != nullptr) return {};
  std::vector<std::string_view> known;
  for (const Report* report : all_reports()) known.push_back(report->extension);
  return check_ending(path, known);
}

Result<void> check_ending(const std::string& path, const std::vector<std::string_view>& known) {
  const std::filesystem::path file(path);
  const auto ends = [&](std::string_view ending) { return path.ends_with(ending); };
  if (!file.has_extension() || std::ranges::any_of(known, ends)) return {};
  return fail("-o " + path, fmt::format("{} is the ending of no report", file.extension().string()),
              fmt::format("use one of {}", fmt::join(known, " ")));
}

std::string json_text(const nlohmann::ordered_json& json) {
  return printable_json(
             json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
         "\n";
}

}  // namespace bertbench
