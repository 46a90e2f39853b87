// bertbench report: a result set as a file for people or for other programs.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/options.h"
#include "reports/measure.h"
#include "reports/model/result_io.h"
#include "reports/render.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> results;
  std::string to, path, title;
  bool json = false;
};

// Where the iteration files of a result lie: its run folder.
std::string run_folder_of(const std::string& result) {
  std::error_code ignored;
  if (fs::is_directory(result, ignored)) return result;
  const fs::path file(result);
  return file.filename() == kResultsFile ? file.parent_path().string() : std::string();
}

// Several results become one set: cells in the order given, speedups computed again over all.
Result<ResultSet> read_all(const std::vector<std::string>& paths, Console& console) {
  ResultSet all;
  for (const std::string& path : paths) {
    auto set = read_result_set(path);
    if (!set) return set;
    if (&path == &paths.front()) {
      all = std::move(*set);
      continue;
    }
    if (set->environment != all.environment) {
      console.note(path, {0, "was measured in another environment than " + paths.front() +
                                 "; the report shows that of the first"});
    }
    for (Cell& cell : set->cells) all.cells.push_back(std::move(cell));
  }
  if (paths.size() > 1) {
    for (const Notice& notice : summarize(all)) console.note("", notice);
  }
  return all;
}

Result<std::vector<const Report*>> choose(const Options& options) {
  if (options.json) return find_reports("json");
  if (!options.to.empty()) return find_reports(options.to);
  if (!options.path.empty() && options.path != "-") {
    if (const Report* report = report_for_path(options.path)) return std::vector{report};
  }
  return find_reports(options.path == "-" ? "json" : "markdown");
}

Result<void> write(const Options& options, const std::vector<const Report*>& reports,
                   const ResultSet& set, Console& console) {
  ReportOptions how;
  how.title = options.title;
  how.run_folder = run_folder_of(options.results.front());
  if (options.path.empty() || options.path == "-") {
    if (reports.size() > 1) {
      return fail("--to", fmt::format("{} reports do not fit on one stdout", reports.size()),
                  "name a folder with -o");
    }
    const auto text = render_text(*reports.front(), set, how);
    if (!text) return tl::unexpected(text.error());
    console.print(*text);
    return {};
  }
  std::error_code ignored;
  if (reports.size() == 1 && !fs::is_directory(options.path, ignored)) {
    auto written = render_file(*reports.front(), set, how, options.path);
    if (written) console.status("wrote " + options.path);
    return written;
  }
  const auto written = render_folder(reports, set, how, options.path);
  if (!written) return tl::unexpected(written.error());
  for (const std::string& path : *written) console.status("wrote " + path);
  return {};
}

ExitCode run(const Options& options, Console& console) {
  const auto reports = choose(options);
  if (!reports) return console.error(reports.error());
  const auto set = read_all(options.results, console);
  if (!set) return console.error(set.error(), ExitCode::nothing_read);
  const auto written = write(options, *reports, *set, console);
  return written ? ExitCode::good : console.error(written.error());
}

CommandRun declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_arguments(app, "RESULT", options->results,
                "Result files or run folders; the cells of several make one report.");
  std::vector<std::string> names;
  for (const Report* report : all_reports()) names.emplace_back(report->name);
  add_text(
      app, "--to", options->to, "NAMES",
      fmt::format("Reports to write, separated by commas: {}, or all.", fmt::join(names, ", ")))
      ->default_str("by the ending of -o, else markdown");
  add_text(app, "-o,--output", options->path, "PATH",
           "A file; for several reports a folder; - for stdout.")
      ->default_str("-");
  add_text(app, "--title", options->title, "TEXT", "Heading of Markdown and HTML.")
      ->default_str("the folder's name");
  add_flag(app, "--json", options->json, "The same as --to json.");
  return [options](Console& console) { return run(*options, console); };
}

constexpr Example kExamples[] = {
    {"bertbench report run", "The run as Markdown, to paste into an issue."},
    {"bertbench report run --to html,csv -o report", "report/report.html and report/report.csv."},
    {"bertbench report run --to dlperf -o bert_result.json", "DLPerf's own JSON."},
};
constexpr ExitCodeRow kStatuses[] = {{ExitCode::good}, {ExitCode::usage}, {ExitCode::nothing_read}};

}  // namespace

extern const Command command_report{
    "report",
    "render results as Markdown, HTML, CSV, JSON",
    "RESULT...",
    "RESULT is what `sweep` or `extract -o` wrote. A file is replaced at once or not at all.",
    kExamples,
    kStatuses,
    declare};

}  // namespace bertbench
