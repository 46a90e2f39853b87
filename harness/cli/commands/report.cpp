// bertbench report: a result set as a file for people or for other programs.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "parsers/core/text.h"
#include "reports/cells/summarize.h"
#include "reports/model/result_io.h"
#include "reports/output/render.h"

namespace bertbench::command_report {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> results;
  std::string to, path, title, baseline;
  double alpha = 0.05;
  std::optional<double> peak, sequences;
  std::string flops_formula;
  bool json = false;
};

/// Several results become one set: cells in the order given, speedups computed again over all.
/// Cells have the name of their result, unless no two results hold the same: then they are parts of
/// one grid. `names`: the paths as they were given.
Result<ResultSet> read_all(const std::vector<OpenedRun>& runs,
                           const std::vector<std::string>& names, Console& console) {
  ResultSet all;
  std::map<std::string, std::size_t> result_of;  // of a key, the first that holds it
  bool parts = true;
  std::map<std::string, int> seen;  // a result may be named twice
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto set = settled(runs[i].results(), names[i], console);
    if (!set || runs.size() == 1) return set;
    if (i == 0) {
      all = std::move(*set);
      set->cells = std::exchange(all.cells, {});
    } else if (set->environment != all.environment) {
      console.note(names[i], make_notice(NoticeCode::other_environment, 0, names.front()));
    }
    std::string name = names[i];
    if (const int n = ++seen[name]; n > 1) name += fmt::format("#{}", n);
    for (Cell& cell : set->cells) {
      parts = result_of.emplace(cell.identity.key(), i).first->second == i && parts;
      cell.result = name + (cell.result.empty() ? "" : ": " + cell.result);
      all.cells.push_back(std::move(cell));
    }
  }
  for (Cell& cell : all.cells) {
    if (parts) cell.result.clear();
  }
  for (const Notice& notice : summarize(all)) console.note("", notice);
  return all;
}

Result<std::vector<const Report*>> choose(const Options& options) {
  if (options.json) return find_reports("json");
  if (!options.to.empty()) return find_reports(options.to);
  if (const Report* report = report_for_path(options.path)) return std::vector{report};
  std::error_code unknown;  // a folder may have a dot in its name
  if (!fs::is_directory(options.path, unknown)) {
    if (const auto good = check_ending(options.path); !good) return tl::unexpected(good.error());
  }
  return find_reports(options.path == "-" ? "json" : "markdown");
}

/// A run folder names what it holds; a file on its own and several results do not.
std::string default_title(const std::vector<std::string>& results) {
  const std::string folder = results.size() == 1 ? run_folder_of(results.front()) : std::string();
  if (folder.empty()) return {};
  std::error_code unknown;
  fs::path path = fs::weakly_canonical(folder, unknown);
  if (unknown) return {};
  if (!path.has_filename()) path = path.parent_path();  // "run/"
  return "Training throughput: " + path.filename().string();
}

/// `results`: the paths of the options, archives as the folders into which they are unpacked.
Result<void> write(const Options& options, const std::vector<std::string>& results,
                   const std::vector<const Report*>& reports, const ResultSet& set,
                   const ResultSet* baseline, Console& console) {
  ReportOptions how;
  how.title = options.title.empty() ? default_title(results) : options.title;
  how.baseline = baseline;
  how.baseline_name = options.baseline;
  how.result_name = options.results.front();
  how.alpha = options.alpha;
  how.run_folder = run_folder_of(results.front());
  if (options.path.empty() || options.path == "-") {
    if (reports.size() > 1) {
      return fail("--to", fmt::format("{} reports do not fit on one stdout", reports.size()),
                  "name a folder with -o");
    }
    console.print(render_text(*reports.front(), set, how));
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

  std::vector<OpenedRun> runs;
  std::vector<std::string> results;
  for (const std::string& path : options.results) {
    auto run = OpenedRun::open(path);
    if (!run) return console.error(run.error(), ExitCode::nothing_read);
    results.push_back(run->path());
    runs.push_back(std::move(*run));
  }
  auto set = read_all(runs, options.results, console);
  if (!set) return console.error(set.error(), ExitCode::nothing_read);
  apply_assumptions(*set, {options.peak, options.sequences, options.flops_formula});
  std::optional<ResultSet> baseline;
  if (!options.baseline.empty()) {
    auto read = read_results(options.baseline, console);
    if (!read) return console.error(read.error(), ExitCode::nothing_read);
    baseline = std::move(*read);
  }
  const auto written =
      write(options, results, *reports, *set, baseline ? &*baseline : nullptr, console);
  return written ? ExitCode::good : console.error(written.error());
}

void declare(CommandLine& line, Options& options) {
  line.add_arguments(
      "RESULT", options.results,
      "Result files, run folders or their archives; the cells of several make one report, "
      "with a column that names their result where two have a cell in common.");
  std::vector<std::string> names;
  for (const Report* report : all_reports()) names.emplace_back(report->name);
  line.add_text(
          "--to", options.to, "NAMES",
          fmt::format("Reports to write, separated by commas: {}, or all.", fmt::join(names, ", ")))
      .default_text("by the ending of -o, else markdown");
  names.emplace_back("all");
  line.complete("--to", std::move(names));
  line.add_output_file("-o,--output", options.path, "PATH",
                       "A file; for several reports a folder; - for stdout.")
      .default_text("-");
  line.add_text("--title", options.title, "TEXT", "Heading of Markdown and HTML.")
      .default_text("the folder's name");
  line.add_text("--baseline", options.baseline, "RESULT",
                "An earlier result: Markdown and HTML show what changed since.");
  add_share(line, "--alpha", options.alpha, "Of that comparison, over all cells.")
      .default_text("0.05");
  add_positive(line, "--peak", options.peak, "TFLOPS",
               "Dense peak of one GPU, for MFU and HFU, where the list of hardware has none.");
  add_flops_formula(line, options.flops_formula, "that of the result");
  add_positive(line, "--train-sequences", options.sequences, "N",
               "Sequences of a whole training: adds the time that it takes at each rate.");
  line.add_flag("--json", options.json, "The same as --to json.");
}

constexpr Example kExamples[] = {
    {"bertbench report run", "The run as Markdown, to paste into an issue."},
    {"bertbench report run --to html,csv -o report", "report/report.html and report/report.csv."},
    {"bertbench report run --baseline before -o report.html", "With what changed since `before`."},
    {"bertbench report run --to dlperf -o bert_result.json", "DLPerf's own JSON."},
};
constexpr ExitCodeRow kStatuses[] = {{ExitCode::good}, {ExitCode::usage}, {ExitCode::nothing_read}};

}  // namespace

extern const Command entry{
    "report",
    "render results as Markdown, HTML, CSV, JSON",
    "RESULT...",
    "RESULT is what `sweep` or `extract -o` wrote. A file is replaced at once or not at all. "
    "Markdown in a file gets its plots as SVG files next to it.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_report
