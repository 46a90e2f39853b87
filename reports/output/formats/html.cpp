// The HTML report: one page that answers how fast, how well it scales, and whether to trust it.
#include <fmt/format.h>

#include <ostream>
#include <ranges>

#include "parsers/core/text.h"
#include "reports/output/cell_table.h"
#include "reports/output/html/sections.h"
#include "reports/output/markup.h"
#include "reports/output/phases.h"
#include "reports/output/plot/figures.h"
#include "reports/output/rank_tables.h"
#include "reports/output/remarks.h"
#include "reports/output/report.h"
#include "reports/output/value_text.h"

namespace bertbench::report_html {
namespace {

using html::section;
using html::small;

constexpr std::size_t kMostRemarks = 100;

std::string facts_line(const std::vector<Constant>& constants) {
  std::string out;
  for (const Constant& constant : constants) {
    out += (out.empty() ? "" : " · ") + escape_markup(constant.heading) + " <b>" +
           escape_markup(constant.value) + "</b>";
  }
  return "<p class=\"facts\">" + out + "</p>\n";
}

std::string cells_table(const Table& table, const ResultSet& set) {
  html::SortableTable what{table, "cells"};
  for (const Cell& cell : set.cells) {
    what.titles.push_back(cell.key);
    what.failed.push_back(!cell.throughput.median);
  }
  return html::sortable_table(what);
}

std::string figures_side_by_side(const std::vector<plot::Figure>& figures, const char* css) {
  std::string out;
  for (const plot::Figure& figure : figures) out += html::figure_element(figure);
  return out.empty() ? out : fmt::format("<div class=\"{}\">{}</div>\n", css, out);
}

std::string wide(const std::optional<plot::Figure>& figure, const std::string& note = "") {
  return figure ? note + "<div class=\"scroll\">" + html::figure_element(*figure) + "</div>" : "";
}

std::string scaling(const ResultSet& set) {
  const auto groups = plot::scaling_figures(set);
  if (groups.empty()) return {};
  const std::string first = figures_side_by_side(groups.front(), "plots");
  if (groups.size() == 1) return first;
  std::string more;
  std::size_t plots = 0;
  for (const auto& figures : groups | std::views::drop(1)) {
    more += figures_side_by_side(figures, "plots");
    plots += figures.size();
  }
  return first + fmt::format("<details><summary>{} with further series</summary>\n{}</details>\n",
                             counted(static_cast<long long>(plots), "plot"), more);
}

std::string iterations(const ResultSet& set, const std::string& run_folder) {
  const plot::IterationFigures found = plot::iteration_figures(set, run_folder);
  if (found.figures.empty()) return {};
  std::string out =
      small("A line a trial. Shaded: what was cut as warm-up, then the window that was measured.");
  out += figures_side_by_side(found.figures, "panels");
  return out + html::first_of(found.figures.size(), found.cells,
                              "cells with iterations; the report csv-iterations has all");
}

std::string remark_item(const RemarkGroup& group) {
  const std::string summary = escape_markup(group.summary());
  if (group.remarks.size() == 1) return "<li>" + summary + "</li>\n";
  std::string out = "<li><details><summary>" + summary + "</summary><ul>\n";
  for (std::size_t i = 0; i < group.remarks.size() && i < kMostRemarks; ++i) {
    out +=
        "<li>" + escape_markup(group.remarks[i].who() + ": " + group.remarks[i].text) + "</li>\n";
  }
  if (group.remarks.size() > kMostRemarks) {
    out += fmt::format("<li>and {} more; the JSON report has all</li>\n",
                       group.remarks.size() - kMostRemarks);
  }
  return out + "</ul></details></li>\n";
}

std::string remarks(const ResultSet& set) {
  const std::vector<RemarkGroup> all = grouped_remarks(set);
  if (all.empty()) return {};
  std::string out = "<ul class=\"remarks\">\n";
  for (std::size_t i = 0; i < all.size() && i < kMostRemarks; ++i) out += remark_item(all[i]);
  out += "</ul>";
  if (all.size() > kMostRemarks) {
    out += small(fmt::format("and {} more; the JSON report has all.", all.size() - kMostRemarks));
  }
  return out;
}

std::string how_made(const ResultSet& set) {
  std::string out =
      "<ul>\n<li>throughput is of the whole job: the median over the trials that count</li>\n";
  const auto list = [&](const std::string& what, const std::map<std::string, int>& counts,
                        const char* unit) {
    for (const auto& [text, n] : counts) {
      out += fmt::format("<li>{}: <b>{}</b>", what, escape_markup(text));
      if (counts.size() > 1) out += " (" + counted(n, unit) + ")";
      const std::string_view meaning = estimator_meaning(text);
      if (!meaning.empty()) out += fmt::format(", {}", meaning);
      out += "</li>\n";
    }
  };
  const Provenance made = provenance(set);
  list("window of a trial", made.windows, "trial");
  list("estimator", made.estimators, "trial");
  list("log format", made.formats, "trial");
  out +=
      "<li>interval: of the median by order statistics from 6 trials on; marked (t): of the mean, "
      "Student t</li>\n<li>cv: standard deviation (n - 1) over mean; speedup: ratio of medians; "
      "efficiency: speedup over the ratio of GPUs</li>\n";
  list("FLOPs by formula", flops_formulas(set), "cell");
  const auto sources = memory_sources(set);
  list(fmt::format("peak memory of {}, source", whose_memory(sources)), sources, "cell");
  return out + "</ul>";
}

std::string environment(const ResultSet& set) {
  const auto lines = environment_lines(set);
  if (lines.empty()) return {};
  std::string out =
      fmt::format("<details><summary>{} about machine and software</summary><table><tbody>\n",
                  counted(static_cast<long long>(lines.size()), "fact"));
  for (const auto& [key, value] : lines) {
    out += "<tr><th scope=\"row\">" + escape_markup(key) + "</th><td class=\"wrap\">" +
           escape_markup(value) + "</td></tr>\n";
  }
  return out + "</tbody></table></details>";
}

void render(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  html::PageText page;
  page.title = options.title.empty() ? "Training throughput" : options.title;
  std::vector<Constant> constants;
  const Table all = cell_table(set);
  const Table shown = varying_columns(all, cell_table_keep(all), constants, true);
  page.header = facts_line(constants);
  const Provenance made = provenance(set);
  if (made.simulated) page.body += fmt::format("<p class=\"note\">{}</p>\n", kSimulatedNote);
  if (made.emulated) page.body += fmt::format("<p class=\"note\">{}</p>\n", kEmulatedNote);
  if (const std::string note = preflight_note(set); !note.empty()) {
    page.body += "<p class=\"note\">" + escape_markup(note) + "</p>\n";
  }
  if (set.cells.empty()) {
    page.body +=
        "<p class=\"note\">No cells: nothing was measured.</p>\n"
        "<p><code>bertbench sweep CONFIG --out DIR</code> measures a grid, "
        "<code>bertbench extract LOG... -o results.json</code> reads logs that "
        "exist.</p>\n";
  } else {
    page.body += html::headline(set);
    if (options.baseline != nullptr) {
      page.body += html::comparison_section(*options.baseline, set, options);
    }
    page.body += html::pairs_section(set);
    page.body += section("Scaling", scaling(set));
    page.body += section("Cells", cells_table(shown, set));
    page.body += html::heat_section(set);
    page.body += html::ranks_section(set);
    const auto add_table = [&](const char* heading, const Table& table, const char* id,
                               const char* noun) {
      if (table.rows.empty()) return;
      page.body += section(heading, html::sortable_table({table, id, noun}));
    };
    add_table("Stability", stability_table(SetSource(set)), "stability", "rows");
    add_table("Phases", phases_table(SetSource(set)), "phases", "rows");
    add_table("Parts of a step", parts_table(set), "parts", "cells");
    add_table("Stated by the logs", stated_table(set), "stated", "rows");
    page.body += section("Trials", wide(plot::trials_figure(set)));
    page.body += section("Throughput over iterations", iterations(set, options.run_folder));
    page.body += section(
        "Reconciliation",
        wide(plot::reconciliation_figure(set),
             small("One log holds several answers to \"how fast\". What each would claim too much "
                   "or too little:")));
    page.body += section("Where the time went", wide(plot::timeline_figure(set)));
    page.body += section("Failures, warnings, notices", remarks(set));
    page.body += section("How the numbers were made", how_made(set));
  }
  page.body += section("Environment", environment(set));
  page.footer = "bertbench " + set.tool.version;
  if (!set.tool.commit.empty()) page.footer += " (" + set.tool.commit + ")";
  if (!set.created.empty()) page.footer += ", " + set.created;
  html::write_page(page, out);
}

}  // namespace

extern const Report entry{"html", "one self-contained page with plots, for people to look at",
                          ".html", &render};

}  // namespace bertbench::report_html
