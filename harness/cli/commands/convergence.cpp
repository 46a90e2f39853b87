// bertbench convergence: model quality at the checkpoints of a pre-training.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "parsers/core/text.h"
#include "reports/output/plot/svg.h"
#include "reports/output/render.h"
#include "reports/studies/convergence/study_report.h"

namespace bertbench::command_convergence {
namespace {

struct Options {
  std::vector<std::string> paths, seconds_per_step;
  std::string title = "Convergence study", plots;
  OutputOptions output;
};

// "128=8.19": seconds of a step at this sequence length.
Result<std::map<std::int64_t, double>> rates(const std::vector<std::string>& given) {
  std::map<std::int64_t, double> out;
  for (const std::string& one : given) {
    const auto parts = split(one, '=');
    const auto length = parts.size() == 2 ? to_int(parts[0]) : std::nullopt;
    const double seconds = parts.size() == 2 ? to_double(parts[1]).value_or(0) : 0;
    if (!length || *length < 1 || !(seconds > 0) || seconds > 1e9) {
      return fail("--seconds-per-step", "'" + one + "' is not LENGTH=SECONDS",
                  "for example --seconds-per-step 128=8.19");
    }
    out[*length] = seconds;
  }
  return out;
}

Result<void> write_plots(const Study& study, const std::string& folder, const std::string& stem,
                         Console& console) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) return fail(folder, "cannot be made: " + error.message(), "name another folder");
  for (const plot::Figure& figure : study_figures(study)) {
    const auto path = (fs::path(folder) / (stem + "-" + figure.id + ".svg")).string();
    const auto written = write_file_atomically(path, plot::svg_file(figure));
    if (!written) return written;
    console.status("wrote " + path);
  }
  return {};
}

Result<std::string> machine_form(const Options& options, const Study& study,
                                 const std::string& path, Console& console) {
  if (path.ends_with(".csv")) return study_csv(study);
  if (path.ends_with(".html")) return study_html(study, options.title);
  if (path.ends_with(".md")) {
    const std::filesystem::path file(path);
    const auto written =
        write_plots(study, file.parent_path().string(), file.stem().string(), console);
    if (!written) return tl::unexpected(written.error());
    return study_markdown(study, options.title, file.stem().string());
  }
  return json_text(study_json(study));
}

void print(Console& console, const Study& study) {
  console.print(text_table(study_table(study)));
  const Table stability = stability_table(study);
  if (stability.rows.empty()) return;
  console.print("\nOver seeds (standard deviation n - 1):\n\n" + text_table(stability));
}

ExitCode run(const Options& options, Console& console) {
  const auto seconds = rates(options.seconds_per_step);
  if (!seconds) return console.error(seconds.error());
  Study study;
  for (const std::string& path : options.paths) {
    const auto read = refuse_archive(path).and_then([&] { return read_study(path, study); });
    if (!read) return console.error(read.error(), ExitCode::nothing_read);
  }
  derive(study, *seconds);
  for (const Notice& notice : study.notices) console.note("convergence", notice);
  if (!options.plots.empty()) {
    const auto written = write_plots(study, options.plots, "convergence", console);
    if (!written) return console.error(written.error());
  }
  return answer(
      console, options.output, ExitCode::good,
      [&](const std::string& path) { return machine_form(options, study, path, console); },
      [&] { print(console, study); });
}

void declare(CommandLine& line, Options& options) {
  line.add_arguments(
      "PATH", options.paths,
      "Tables of checkpoints (.csv, .md, .html, or in a page pasted as text), or SQuAD logs "
      "and JSON files.");
  line.add_list("--seconds-per-step", options.seconds_per_step, "LENGTH=S",
                "For rows without hours: seconds of a step at this sequence length; repeatable.");
  line.add_text("--plots", options.plots, "DIR", "Write the plots as SVG files.");
  line.add_text("--title", options.title, "TEXT", "Heading of Markdown and HTML.")
      .default_text("Convergence study");
  add_output(line, options.output, "Write FILE: .html, .md with its plots, .csv, else JSON.");
}

constexpr Example kExamples[] = {
    {"bertbench convergence study.csv -o study.html", "Table, plots and spread over seeds."},
    {"bertbench convergence page.txt", "The table of checkpoints in a page copied from a browser."},
    {"bertbench convergence squad_ckpt_*/phase*_seed*.log", "Scores out of fine-tuning logs."},
    {"bertbench convergence study.md --seconds-per-step 128=8.19",
     "Hours from steps, where the table has none."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good}, {ExitCode::usage}, {ExitCode::nothing_read, "a file holds no score"}};

}  // namespace

extern const Command entry{
    "convergence",
    "SQuAD scores at checkpoints: table, CSV and plots",
    "PATH...",
    "A table has a column step and some of phase, sequence_length, from_step (the phase-1 "
    "checkpoint that a later one went on from), hours, epochs (of fine-tuning), seed, exact_match, "
    "f1, log (a file next to it that holds the score). A log by itself gives its step, phase, seed "
    "and epochs by its path: ckpt_8574, phase2, seed42, epochs2. Plots: exact match at the phase-1 "
    "checkpoints, at the later ones, against hours of pre-training, against epochs of fine-tuning.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_convergence
