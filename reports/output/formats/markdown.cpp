#include <fmt/format.h>

#include <ostream>

#include "parsers/core/text.h"
#include "reports/output/cell_table.h"
#include "reports/output/comparison_table.h"
#include "reports/output/phases.h"
#include "reports/output/plot/figures.h"
#include "reports/output/plot/heat.h"
#include "reports/output/plot/rank_maps.h"
#include "reports/output/plot/svg.h"
#include "reports/output/rank_tables.h"
#include "reports/output/remarks.h"
#include "reports/output/report.h"
#include "reports/output/value_text.h"

namespace bertbench::report_markdown {
namespace {

void list_counts(const char* what, const std::map<std::string, int>& counts, std::ostream& out) {
  if (counts.empty()) return;
  out << "- " << what << ": ";
  const char* separator = "";
  for (const auto& [text, n] : counts) {
    out << separator << markdown_text(text);
    if (counts.size() > 1) out << " (" << counted(n, "trial") << ")";
    separator = "; ";
  }
  out << "\n";
}

std::string names_of(const std::map<std::string, int>& counts, const char* separator) {
  std::string out;
  for (const auto& [name, n] : counts) out += (out.empty() ? "" : separator) + markdown_text(name);
  return out;
}

/// What a reader needs to judge the numbers; docs/numbers.md has it at length.
void legend(const ResultSet& set, const Provenance& made, std::ostream& out) {
  out << "## How the numbers were made\n\n";
  out << "- " << rate_heading(set) << ": of the whole job; median over the n trials that count\n";
  list_counts("window of a trial", made.windows, out);
  list_counts("estimator", made.estimators, out);
  for (const auto& [estimator, n] : made.estimators) {
    const std::string_view meaning = estimator_meaning(estimator);
    if (!meaning.empty()) out << "    - " << estimator << ": " << meaning << "\n";
  }
  bool median = false, mean = false;
  std::map<std::string, int> bases;
  double coverage_median = 1, coverage_mean = 1;
  for (const Cell& cell : set.cells) {
    if (const auto shown = shown_interval(cell)) {
      (shown->of_mean ? mean : median) = true;
      double& least = shown->of_mean ? coverage_mean : coverage_median;
      least = std::min(least, shown->interval.coverage);
    }
    if (cell.speedup) ++bases[cell.speedup->base];
  }
  if (median)
    out << "- interval: of the median, exact order statistics, coverage "
        << percent_text(coverage_median) << (mean ? " or more" : " at least") << "\n";
  if (mean)
    out << "- interval marked (t): of the mean, Student t, coverage " << percent_text(coverage_mean)
        << " (fewer than 6 trials give no interval of the median)\n";
  out << "- cv: standard deviation (n - 1) over mean\n";
  if (!bases.empty()) {
    out << "- speedup: ratio of medians; efficiency: speedup over the ratio of GPUs; base "
        << names_of(bases, ", ") << "\n";
  }
  if (const auto formulas = flops_formulas(set); !formulas.empty()) {
    out << "- TFLOPS, MFU (model FLOPs) and HFU (with recomputation) by formula "
        << names_of(formulas, "; ") << "\n";
  }
  if (const auto sources = memory_sources(set); !sources.empty()) {
    out << fmt::format("- peak memory: of {}, the most of a cell's trials, source {}\n",
                       whose_memory(sources), names_of(sources, ", "));
  }
  out << fmt::format("- {}: {} count, {} failed, {} retried\n", counted(made.trials, "trial"),
                     made.counted, made.failed, made.retried);
}

void remarks(const ResultSet& set, std::ostream& out) {
  const std::vector<RemarkGroup> all = grouped_remarks(set);
  if (all.empty()) return;
  out << "\n## Failures, warnings and notices\n\n";
  for (const RemarkGroup& group : all) out << "- " << markdown_text(group.summary()) << "\n";
}

/// A plot that lies next to the text as a file of its own.
struct Picture {
  std::string id, title, svg;
};

std::vector<Picture> pictures_of(const ResultSet& set, const ReportOptions& options) {
  std::vector<plot::Figure> all;
  if (auto scaling = plot::scaling_figures(set); !scaling.empty()) all = std::move(scaling.front());
  if (auto figure = plot::trials_figure(set)) all.push_back(std::move(*figure));
  if (auto figure = plot::reconciliation_figure(set)) all.push_back(std::move(*figure));
  if (auto figure = plot::timeline_figure(set)) all.push_back(std::move(*figure));
  if (options.baseline != nullptr) {
    if (auto figure =
            plot::comparison_figure(compare(*options.baseline, set, options.alpha), set)) {
      all.push_back(std::move(*figure));
    }
  }
  std::vector<Picture> out;
  for (plot::Figure& figure : all) {
    out.push_back({figure.id, figure.title, plot::svg_file(std::move(figure))});
  }
  for (const plot::HeatMaps& found : {plot::heat_maps(set), plot::rank_maps(set)}) {
    for (const plot::HeatMap& map : found.maps) {
      out.push_back({map.id, map.title + ": " + map.unit, plot::svg_file(map)});
    }
  }
  return out;
}

std::string file_of(const Picture& picture, const ReportOptions& options) {
  return options.companion_stem + "-" + picture.id + ".svg";
}

std::vector<Companion> companions(const ResultSet& set, const ReportOptions& options) {
  std::vector<Companion> out;
  for (Picture& picture : pictures_of(set, options)) {
    out.push_back({file_of(picture, options), std::move(picture.svg)});
  }
  return out;
}

void plots(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  if (options.companion_stem.empty()) return;
  for (const Picture& picture : pictures_of(set, options)) {
    out << markdown_picture(picture.title, file_of(picture, options));
  }
}

void comparison(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  if (options.baseline == nullptr) return;
  const auto cells = compare(*options.baseline, set, options.alpha);
  out << "\n## A against B\n\n- A: "
      << markdown_text(options.baseline_name.empty() ? "baseline" : options.baseline_name)
      << "\n- B: "
      << markdown_text(options.result_name.empty() ? "this result" : options.result_name) << "\n\n"
      << summary_of(cells).sentence << "\n\n"
      << markdown_table(comparison_table(cells)) << "\n";
  if (const Table stated = stated_comparison_table(cells); !stated.rows.empty()) {
    out << "\nStated by the logs:\n\n" << markdown_table(stated) << "\n";
  }
}

void render(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  out << "# " << markdown_text(options.title.empty() ? "Training throughput" : options.title)
      << "\n\n";
  const Provenance made = provenance(set);
  if (made.simulated) out << "> **" << kSimulatedNote << "**\n\n";
  if (made.emulated) out << "> **" << kEmulatedNote << "**\n\n";
  if (const std::string note = preflight_note(set); !note.empty()) {
    out << "> " << markdown_text(note) << "\n\n";
  }
  if (set.cells.empty()) {
    out << "No cells: nothing was measured.\n";
    return;
  }
  std::vector<Constant> constants;
  const Table all = cell_table(set);
  const Table shown = varying_columns(all, cell_table_keep(all), constants, true);
  for (std::size_t i = 0; i < constants.size(); ++i)
    out << (i == 0 ? "" : " · ") << markdown_text(constants[i].heading) << " **"
        << markdown_text(constants[i].value) << "**";
  if (!constants.empty()) out << "\n\n";
  out << markdown_table(shown);
  plots(set, options, out);
  const SetSource cells(set);
  const auto add = [&](const char* heading, const Table& table) {
    if (!table.rows.empty()) out << "\n## " << heading << "\n\n" << markdown_table(table);
  };
  add("Stability", stability_table(cells));
  add("Phases", phases_table(cells));
  if (const Table ranks = rank_table(cells); !ranks.rows.empty()) {
    out << "\n## Ranks and nodes\n\n"
        << kRankTimesNote << "\n\n"
        << markdown_table(ranks) << "\n"
        << markdown_table(node_table(cells));
  }
  add("Parts of a step", parts_table(set));
  add("Stated by the logs", stated_table(set));
  comparison(set, options, out);
  out << "\n";
  legend(set, made, out);
  remarks(set, out);
  Table environment{columns_of({"what", "value"})};
  for (const auto& [key, value] : environment_lines(set)) environment.rows.push_back({key, value});
  add("Environment", environment);
  out << "\nbertbench " << markdown_text(set.tool.version);
  if (!set.tool.commit.empty()) out << " (" << markdown_text(set.tool.commit) << ")";
  if (!set.created.empty()) out << ", " << markdown_text(set.created);
  out << "\n";
}

}  // namespace

extern const Report entry{"markdown", "a table for a README or an issue: only what varies", ".md",
                          &render, &companions};

}  // namespace bertbench::report_markdown
