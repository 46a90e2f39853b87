// One self-contained page: no outside reference, every string through escape_markup, a content
// security policy that allows this one script only.
#include <fmt/format.h>

#include <ostream>

#include "reports/cell_table.h"
#include "reports/html/headline.h"
#include "reports/html/plots.h"
#include "reports/markup.h"
#include "reports/present.h"
#include "reports/report.h"

namespace bertbench {

extern const char* const kReportStyle;
extern const char* const kReportScript;

namespace {

constexpr std::size_t kFirstRows = 300;  // the rest waits for a click
constexpr std::size_t kMostRemarks = 200;

/// A policy wants base64 where CMake gives hexadecimal digits.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto nibble = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  };
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 6) {  // 3 bytes, 4 digits of base 64
    unsigned bits = 0;
    for (std::size_t k = i; k < i + 6; ++k)
      bits = bits << 4U | (k < hex.size() ? nibble(hex[k]) : 0);
    const std::size_t bytes = std::min<std::size_t>(3, (hex.size() - i) / 2);
    for (std::size_t d = 0; d < 4; ++d) {
      out += d <= bytes ? kDigits[bits >> (18 - 6 * d) & 63U] : '=';
    }
  }
  return out;
}

void facts_line(const std::vector<Constant>& constants, std::ostream& out) {
  out << "<p class=\"facts\">";
  const char* separator = "";
  for (const Constant& constant : constants) {
    out << separator << escape_markup(constant.heading) << " <b>" << escape_markup(constant.value)
        << "</b>";
    separator = " · ";
  }
  out << "</p>\n";
}

void cells_section(const Table& table, const ResultSet& set, std::ostream& out) {
  out << "<section><h2>Cells</h2><div class=\"scroll\"><table class=\"sortable\"><thead><tr>";
  for (const TableColumn& column : table.columns) {
    out << "<th scope=\"col\"" << (column.right ? " class=\"right\"" : "") << ">"
        << escape_markup(column.heading) << "</th>";
  }
  out << "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (r == kFirstRows) out << "</tbody><tbody hidden>\n";
    out << "<tr" << (set.cells[r].throughput.median ? "" : " class=\"failed\"") << " title=\""
        << escape_markup(set.cells[r].key) << "\">";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string& text = c < table.rows[r].size() ? table.rows[r][c] : std::string();
      out << "<td"
          << (table.columns[c].right ? " class=\"right\""
              : text.size() > 60     ? " class=\"wrap\""
                                     : "")
          << ">" << escape_markup(text) << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</tbody></table></div>";
  if (table.rows.size() > kFirstRows) {
    out << fmt::format(
        "<button class=\"more\" type=\"button\">Show all {} cells</button>"
        "<noscript><style>tbody[hidden]{{display:table-row-group}}</style></noscript>",
        table.rows.size());
  }
  out << "</section>\n";
}

void remarks_section(const ResultSet& set, std::ostream& out) {
  const std::vector<std::string> names = short_names(set);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    for (const std::string& warning : cell.warnings) lines.push_back(names[i] + ": " + warning);
    for (const Trial& trial : cell.trials) {
      const std::string who = fmt::format("{}, trial {}: ", names[i], trial.trial);
      if (is_failure(trial.outcome.status)) {
        std::string text = who + std::string(name(trial.outcome.status));
        if (trial.outcome.step) text += fmt::format(" at step {}", *trial.outcome.step);
        if (!trial.outcome.detail.empty()) text += ": " + trial.outcome.detail;
        if (!trial.log.empty()) text += " (" + trial.log;
        if (!trial.log.empty() && trial.outcome.line > 0) {
          text += fmt::format(", line {}", trial.outcome.line);
        }
        lines.push_back(text + (trial.log.empty() ? "" : ")"));
      }
      for (const Notice& notice : trial.notices) {
        lines.push_back(who + (notice.line > 0 ? fmt::format("line {}: ", notice.line) : "") +
                        notice.text);
      }
    }
  }
  if (lines.empty()) return;
  out << "<section><h2>Failures, warnings, notices</h2><ul class=\"remarks\">\n";
  for (std::size_t i = 0; i < lines.size() && i < kMostRemarks; ++i) {
    out << "<li>" << escape_markup(lines[i]) << "</li>\n";
  }
  out << "</ul>";
  if (lines.size() > kMostRemarks) {
    out << fmt::format("<p class=\"small\">and {} more; the JSON report has all.</p>",
                       lines.size() - kMostRemarks);
  }
  out << "</section>\n";
}

void made_section(const ResultSet& set, std::ostream& out) {
  const Provenance made = provenance(set);
  const auto list = [&](const char* what, const std::map<std::string, int>& counts) {
    for (const auto& [text, n] : counts) {
      out << "<li>" << what << ": <b>" << escape_markup(text) << "</b>";
      if (counts.size() > 1) out << fmt::format(" ({} trials)", n);
      const std::string_view meaning = estimator_meaning(text);
      if (!meaning.empty()) out << ", " << meaning;
      out << "</li>\n";
    }
  };
  out << "<section><h2>How the numbers were made</h2><ul>\n<li>throughput is of the whole job: the "
         "median over the trials that count</li>\n";
  list("window of a trial", made.windows);
  list("estimator", made.estimators);
  list("log format", made.formats);
  out << "<li>interval: of the median by order statistics from 6 trials on; marked (t): of the "
         "mean, "
         "Student t</li>\n<li>cv: standard deviation (n - 1) over mean; speedup: ratio of medians; "
         "efficiency: speedup over the ratio of GPUs</li>\n";
  std::map<std::string, int> formulas;
  for (const Cell& cell : set.cells) {
    if (cell.tflops_per_gpu) {
      ++formulas[cell.flops_formula + ", " +
                 (cell.peak.empty() ? "no peak known" : "peak " + cell.peak)];
    }
  }
  list("FLOPs by formula", formulas);
  out << "</ul></section>\n";
}

void environment_section(const ResultSet& set, std::ostream& out) {
  const auto environment = environment_lines(set);
  if (environment.empty()) return;
  out << "<section><h2>Environment</h2><details><summary>" << environment.size()
      << " facts about machine and software</summary><table><tbody>\n";
  for (const auto& [key, value] : environment) {
    out << "<tr><th scope=\"row\">" << escape_markup(key) << "</th><td class=\"wrap\">"
        << escape_markup(value) << "</td></tr>\n";
  }
  out << "</tbody></table></details></section>\n";
}

Result<void> render(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  const std::string title = options.title.empty() ? "BERT training throughput" : options.title;
  out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; script-src 'sha256-"
      << base64_of_hex(BB_SCRIPT_SHA256)
      << "'; base-uri 'none'; form-action 'none'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
      << escape_markup(title) << "</title>\n<style>\n"
      << kReportStyle << "</style></head><body>\n<header><h1>" << escape_markup(title) << "</h1>\n";
  std::vector<Constant> constants;
  const Table all = cell_table(set);
  const Table shown = varying_columns(all, cell_table_keep(all), constants, true);
  facts_line(constants, out);
  out << "</header>\n";
  if (provenance(set).emulated) out << "<p class=\"note\">" << kEmulatedNote << "</p>\n";
  if (set.cells.empty()) {
    out << "<p class=\"note\">No cells: nothing was measured.</p>\n";
  } else {
    out << html::headline(set) << html::scaling_section(set);
    cells_section(shown, set, out);
    out << html::heat_section(set) << html::trials_section(set)
        << html::iterations_section(set, options.run_folder) << html::estimators_section(set);
    remarks_section(set, out);
    made_section(set, out);
  }
  environment_section(set, out);
  out << "<footer>bertbench " << escape_markup(set.tool_version) << " ("
      << escape_markup(set.tool_commit) << "), " << escape_markup(set.created)
      << "</footer>\n<script>" << kReportScript << "</script>\n</body></html>\n";
  return {};
}

}  // namespace

extern const Report report_html;
const Report report_html{"html", "one self-contained page with plots, for people to look at",
                         ".html", &render};

}  // namespace bertbench
