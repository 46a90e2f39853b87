#include <fmt/format.h>

#include <ostream>

#include "reports/cell_table.h"
#include "reports/present.h"
#include "reports/report.h"

namespace bertbench {
namespace {

void list_counts(const char* what, const std::map<std::string, int>& counts, std::ostream& out) {
  out << "- " << what << ": ";
  const char* separator = "";
  for (const auto& [text, n] : counts) {
    out << separator << markdown_text(text);
    if (counts.size() > 1) out << fmt::format(" ({} trials)", n);
    separator = "; ";
  }
  out << "\n";
}

/// What a reader needs to judge the numbers; docs/how-a-number-is-made.md says it at length.
void legend(const ResultSet& set, std::ostream& out) {
  const Provenance made = provenance(set);
  out << "## How the numbers were made\n\n";
  out << "- " << rate_heading(set) << ": of the whole job; median over the n trials that count\n";
  if (!made.windows.empty()) list_counts("window of a trial", made.windows, out);
  if (!made.estimators.empty()) list_counts("estimator", made.estimators, out);
  for (const auto& [estimator, n] : made.estimators) {
    const std::string_view meaning = estimator_meaning(estimator);
    if (!meaning.empty()) out << "    - " << estimator << ": " << meaning << "\n";
  }
  bool median = false, mean = false, base = false, flops = false;
  double coverage_median = 1, coverage_mean = 1;
  for (const Cell& cell : set.cells) {
    if (const auto shown = shown_interval(cell)) {
      (shown->of_mean ? mean : median) = true;
      double& least = shown->of_mean ? coverage_mean : coverage_median;
      least = std::min(least, shown->interval.coverage);
    }
    base = base || cell.speedup.has_value();
    flops = flops || cell.tflops_per_gpu.has_value();
  }
  if (median)
    out << "- interval: of the median, exact order statistics, coverage "
        << percent_text(coverage_median) << (mean ? " or more" : " at least") << "\n";
  if (mean)
    out << "- interval marked (t): of the mean, Student t, coverage " << percent_text(coverage_mean)
        << " (fewer than 6 trials give no interval of the median)\n";
  out << "- cv: standard deviation (n - 1) over mean\n";
  if (base) {
    std::map<std::string, int> bases;
    for (const Cell& cell : set.cells)
      if (cell.speedup) ++bases[cell.speedup->base];
    out << "- speedup: ratio of medians; efficiency: speedup over the ratio of GPUs; base ";
    const char* separator = "";
    for (const auto& entry : bases) {
      out << separator << markdown_text(entry.first);
      separator = ", ";
    }
    out << "\n";
  }
  if (flops) {
    std::map<std::string, int> formulas;
    for (const Cell& cell : set.cells) {
      if (!cell.tflops_per_gpu) continue;
      const std::string peak = cell.peak.empty() ? "no peak known" : "peak " + cell.peak;
      ++formulas[(cell.flops_formula.empty() ? "unknown" : cell.flops_formula) + ", " + peak];
    }
    out << "- TFLOPS, MFU (model FLOPs) and HFU (with recomputation) by formula ";
    const char* separator = "";
    for (const auto& entry : formulas) {
      out << separator << markdown_text(entry.first);
      separator = "; ";
    }
    out << "\n";
  }
  out << fmt::format("- {} trials: {} count, {} failed, {} retried\n", made.trials, made.counted,
                     made.failed, made.retried);
}

void remarks(const ResultSet& set, std::ostream& out) {
  const std::vector<std::string> names = short_names(set);
  std::string text;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    for (const std::string& warning : cell.warnings)
      text += "- " + markdown_text(names[i]) + ": " + markdown_text(warning) + "\n";
    for (const Trial& trial : cell.trials) {
      const Outcome& outcome = trial.outcome;
      if (is_failure(outcome.status)) {
        text += fmt::format("- {}, trial {}: {}", markdown_text(names[i]), trial.trial,
                            name(outcome.status));
        if (outcome.step) text += fmt::format(" at step {}", *outcome.step);
        if (!outcome.detail.empty()) text += ": " + markdown_text(outcome.detail);
        if (!trial.log.empty()) {
          text += " (" + markdown_text(trial.log);
          if (outcome.line > 0) text += fmt::format(", line {}", outcome.line);
          text += ")";
        }
        text += "\n";
      }
      for (const Notice& notice : trial.notices) {
        text += fmt::format("- {}, trial {}", markdown_text(names[i]), trial.trial);
        if (notice.line > 0) text += fmt::format(", line {}", notice.line);
        text += ": " + markdown_text(notice.text) + "\n";
      }
    }
  }
  if (!text.empty()) out << "\n## Failures, warnings and notices\n\n" << text;
}

Result<void> render(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  out << "# " << markdown_text(options.title.empty() ? "BERT training throughput" : options.title)
      << "\n\n";
  if (provenance(set).emulated) out << "> **" << kEmulatedNote << "**\n\n";
  if (set.cells.empty()) {
    out << "No cells: nothing was measured.\n";
    return {};
  }
  std::vector<Constant> constants;
  const Table all = cell_table(set);
  const Table shown = varying_columns(all, cell_table_keep(all), constants, true);
  for (std::size_t i = 0; i < constants.size(); ++i)
    out << (i == 0 ? "" : " · ") << constants[i].heading << " **"
        << markdown_text(constants[i].value) << "**";
  if (!constants.empty()) out << "\n\n";
  out << markdown_table(shown) << "\n";
  legend(set, out);
  remarks(set, out);
  const auto environment = environment_lines(set);
  if (!environment.empty()) {
    out << "\n## Environment\n\n";
    Table table{{{"what"}, {"value"}}, {}};
    for (const auto& [key, value] : environment) table.rows.push_back({key, value});
    out << markdown_table(table);
  }
  out << "\nbertbench " << markdown_text(set.tool_version);
  if (!set.tool_commit.empty()) out << " (" << markdown_text(set.tool_commit) << ")";
  if (!set.created.empty()) out << ", " << markdown_text(set.created);
  out << "\n";
  return {};
}

}  // namespace

extern const Report report_markdown;
const Report report_markdown{"markdown", "a table for a README or an issue: only what varies",
                             ".md", &render};

}  // namespace bertbench
