#include "reports/output/html/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "parsers/core/text.h"
#include "reports/gate/paired.h"
#include "reports/output/cell_table.h"
#include "reports/output/comparison_table.h"
#include "reports/output/gate_reports.h"
#include "reports/output/markup.h"
#include "reports/output/plot/figures.h"
#include "reports/output/plot/heat.h"
#include "reports/output/plot/rank_maps.h"
#include "reports/output/rank_tables.h"
#include "reports/output/remarks.h"
#include "reports/output/value_text.h"

namespace bertbench::html {
namespace {

/// "84.4 %" in one piece, however narrow the card.
std::string unbroken(std::string text) {
  for (std::size_t at = 0; (at = text.find(" %", at)) != std::string::npos;) {
    text.replace(at, 1, "\u00A0");
  }
  return text;
}

std::string card(const std::string& question, const std::string& answer, const std::string& unit,
                 const std::vector<std::string>& lines) {
  std::string out =
      "<article><h2>" + question + "</h2><p class=\"big\">" + escape_markup(unbroken(answer)) +
      (unit.empty() ? "" : " <small>" + escape_markup(unit) + "</small>") + "</p><ul>";
  for (const std::string& line : lines) out += "<li>" + escape_markup(line) + "</li>";
  return out + "</ul></article>\n";
}

/// "5510040" -> "5 510 040" with narrow blanks that do not break: a number to be read aloud.
std::string grouped(const std::string& number) {
  if (number.find('.') != number.npos) return number;
  std::string out;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (i > 0 && (number.size() - i) % 3 == 0) out += "\u202F";
    out += number[i];
  }
  return out;
}

/// Training before evaluation, sequences before iterations: only like is compared with like.
std::tuple<bool, bool, double> rank(const Cell& cell) {
  return {cell.kind == WorkKind::training,
          cell.throughput.unit == name(RateUnit::sequences_per_second), *cell.throughput.median};
}

std::string how_fast(const ResultSet& set, const std::vector<std::string>& names) {
  const Cell* best = nullptr;
  std::size_t at = 0;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    if (!cell.throughput.median) continue;
    if (best == nullptr || rank(*best) < rank(cell)) {
      best = &cell;
      at = i;
    }
  }
  if (best == nullptr) {
    return card("How fast?", "no number", "",
                {"no trial covered its window; see the failures below"});
  }
  std::vector<std::string> lines;
  lines.push_back((set.cells.size() > 1 ? "fastest cell: " : "") + names[at]);
  if (best->kind != WorkKind::training) {
    lines.push_back(std::string(name(best->kind)) + ": no training has a number");
  }
  if (const auto shown = shown_interval(*best)) {
    lines.push_back(fmt::format("{} to {} ({} interval of the {}, n\u00A0=\u00A0{})",
                                number_text(shown->interval.low), number_text(shown->interval.high),
                                percent_text(shown->interval.coverage, 0),
                                shown->of_mean ? "mean" : "median", best->throughput.n));
  } else {
    lines.push_back(fmt::format("n = {}: no interval from so few trials", best->throughput.n));
  }
  if (best->sequences_per_second_per_gpu) {
    lines.push_back(number_text(*best->sequences_per_second_per_gpu) + " " + best->throughput.unit +
                    fmt::format(" per {}", gpu_word(*best)));
  }
  if (best->mfu) {
    lines.push_back("MFU " + percent_text(*best->mfu) + " of " + best->peak + ", " +
                    best->flops_formula);
  } else if (best->tflops_per_gpu) {
    lines.push_back(fmt::format("{} TFLOPS per {} by {}; no peak known, so no MFU",
                                number_text(*best->tflops_per_gpu), gpu_word(*best),
                                best->flops_formula));
  }
  if (const std::string memory = memory_text(best->memory, true); !memory.empty()) {
    lines.push_back("peak memory " + memory +
                    (best->memory->source.empty() ? "" : " (" + best->memory->source + ")"));
  }
  if (best->energy_per_sequence_j && best->power_w) {
    lines.push_back(fmt::format("{} a sequence at {} while it trains",
                                energy_text(*best->energy_per_sequence_j),
                                power_text(*best->power_w)));
  }
  return card("How fast?", grouped(number_text(*best->throughput.median)), best->throughput.unit,
              lines);
}

std::string how_well(const ResultSet& set, const std::vector<std::string>& names) {
  // The largest job of each base, in the order of the bases.
  std::vector<std::size_t> largest;
  std::map<std::string, std::size_t> place;  // of a base in `largest`
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    if (!cell.scaling_efficiency || !cell.speedup || !cell.identity.world_size()) continue;
    if (cell.speedup->base == cell.key) continue;
    const auto [found, added] = place.emplace(cell.speedup->base, largest.size());
    if (added) {
      largest.push_back(i);
    } else if (std::size_t& known = largest[found->second];
               *set.cells[known].identity.world_size() < *cell.identity.world_size()) {
      known = i;
    }
  }
  if (largest.empty()) {
    return card("How well does it scale?", "not measured", "",
                {"that needs a cell and its base: the same configuration on fewer GPUs"});
  }
  double low = 1e9, high = 0;
  std::vector<std::string> lines;
  for (const std::size_t at : largest) {
    const Cell& cell = set.cells[at];
    low = std::min(low, *cell.scaling_efficiency);
    high = std::max(high, *cell.scaling_efficiency);
    if (lines.size() < 4) {
      lines.push_back(
          fmt::format("{}: {}, {} on {} {}s{}", names[at], percent_text(*cell.scaling_efficiency),
                      ratio_text(cell.speedup->value), *cell.identity.world_size(), gpu_word(cell),
                      cell.scaling.empty() ? "" : ", " + cell.scaling + " scaling"));
    }
  }
  if (largest.size() > lines.size()) {
    lines.push_back(fmt::format("and {} more", largest.size() - lines.size()));
  }
  const std::string answer = high - low < 0.0005
                                 ? percent_text(high)
                                 : fmt::format("{} to {}", percent_text(low), percent_text(high));
  return card("How well does it scale?", answer, "efficiency at the largest job", lines);
}

std::string can_i_trust(const ResultSet& set) {
  const std::vector<ResultCheck> checks = result_checks(set);
  const auto doubts = std::ranges::count(checks, false, &ResultCheck::good);
  std::string lines;
  for (const ResultCheck& check : checks) {
    lines += fmt::format("<li class=\"{}\"><span aria-hidden=\"true\">{}</span> {}</li>",
                         check.good ? "good" : "doubt", check.good ? "✓" : "✗",
                         escape_markup(check.text));
  }
  const bool grave = std::ranges::any_of(checks, &ResultCheck::grave);
  const std::string answer = grave ? "no" : doubts == 0 ? "yes" : "with care";
  const std::string small =
      doubts == 0 ? fmt::format("all {} checks hold", checks.size())
                  : fmt::format("{} of {} {} not hold", doubts,
                                counted(static_cast<long long>(checks.size()), "check"),
                                doubts == 1 ? "does" : "do");
  return "<article class=\"trust\"><h2>Can I trust it?</h2><p class=\"big\">" + answer +
         " <small>" + small + "</small></p><ul>" + lines + "</ul></article>\n";
}

}  // namespace

std::string headline(const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  return "<div class=\"cards\">\n" + how_fast(set, names) + how_well(set, names) +
         can_i_trust(set) + "</div>\n";
}

namespace {

constexpr std::size_t kFirstRows = 300;
constexpr std::size_t kWrapped = 40;  // longer text breaks into lines

std::string cell_of(const TableColumn& column, const std::string& text) {
  const char* css = column.right             ? " class=\"right\""
                    : text.size() > kWrapped ? " class=\"wrap\""
                                             : "";
  return fmt::format("<td{}>{}</td>", css, escape_markup(text));
}

}  // namespace

std::string sortable_table(const SortableTable& what) {
  const Table& table = what.table;
  // Without the script there is nothing that a box could filter, so it is hidden.
  std::string out = fmt::format(
      "<p class=\"filter\" data-filter=\"{0}\" hidden><label>Filter <input type=\"search\" "
      "placeholder=\"words of a row\"></label> <output></output></p>\n"
      "<div class=\"scroll\"><table class=\"sortable\" id=\"{0}\"><thead><tr>",
      what.id);
  for (const TableColumn& column : table.columns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.right ? " class=\"right\"" : "",
                       escape_markup(column.heading));
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (r == kFirstRows) out += "</tbody><tbody hidden>\n";
    out += r < what.failed.size() && what.failed[r] ? "<tr class=\"failed\"" : "<tr";
    if (r < what.titles.size()) out += " title=\"" + escape_markup(what.titles[r]) + "\"";
    out += ">";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      out += cell_of(table.columns[c], c < table.rows[r].size() ? table.rows[r][c] : std::string());
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (table.rows.size() > kFirstRows) {
    out += fmt::format(
        "<button class=\"more\" type=\"button\" data-more=\"{}\">Show all {} {}</button>"
        "<noscript><style>tbody[hidden]{{display:table-row-group}}</style></noscript>\n",
        what.id, table.rows.size(), what.noun);
  }
  return out;
}

std::string comparison_section(const ResultSet& baseline, const ResultSet& set,
                               const ReportOptions& options) {
  const std::vector<CellComparison> cells = compare(baseline, set, options.alpha);
  const ComparisonSummary sum = summary_of(cells);
  std::string body = fmt::format(
      "<p class=\"sides\">A <b>{}</b>{}<br>B <b>{}</b>{}</p>\n<p><b>{}</b></p>\n",
      escape_markup(options.baseline_name.empty() ? "baseline" : options.baseline_name),
      escape_markup(baseline.created.empty() ? "" : ", " + baseline.created),
      escape_markup(options.result_name.empty() ? "this result" : options.result_name),
      escape_markup(set.created.empty() ? "" : ", " + set.created), escape_markup(sum.sentence));
  if (const auto figure = plot::comparison_figure(cells, set)) body += figure_element(*figure);
  const Table table = comparison_table(cells);
  SortableTable what{table, "comparison"};
  for (const CellComparison& cell : cells) {
    what.titles.push_back(cell.key);
    what.failed.push_back(cell.significant && cell.change && *cell.change < 0);
  }
  body += sortable_table(what);
  body += small(fmt::format(
      "change: the Hodges-Lehmann shift from A to B with its exact interval (of each cell by "
      "itself); p: exact two-sided Mann-Whitney test, then after Holm's correction over all cells "
      "compared; ~ where the latter is above {}.",
      options.alpha));
  if (const Table stated = stated_comparison_table(cells); !stated.rows.empty()) {
    body += "<p><b>Stated by the logs</b></p>\n" +
            sortable_table({stated, "stated-comparison", "rows"});
  }
  return section("A against B", body);
}

namespace {

std::string matrix(const plot::HeatMap& map) {
  const Table table = plot::heat_table(map);
  std::string out = fmt::format("<table class=\"matrix\"><caption>{}: {}</caption><thead><tr>",
                                escape_markup(map.title), map.unit);
  for (const TableColumn& column : table.columns) {
    out += "<th scope=\"col\" class=\"right\">" + escape_markup(column.heading) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr><th scope=\"row\" class=\"right\">" + escape_markup(row.front()) + "</th>";
    for (std::size_t c = 1; c < row.size(); ++c) {
      out += "<td class=\"right\">" + escape_markup(row[c]) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string side_by_side(const plot::HeatMaps& found) {
  std::string out = "<div class=\"plots\">";
  for (const plot::HeatMap& map : found.maps) {
    out += "<figure class=\"heat\" id=\"plot-" + map.id + "\"><div class=\"map\">" +
           plot::inline_svg(map) + "</div><figcaption>" + escape_markup(map.title) +
           "</figcaption><details><summary>As a table</summary><div class=\"scroll\">" +
           matrix(map) + "</div></details></figure>\n";
  }
  return out + "</div>\n";
}

}  // namespace

std::string pairs_section(const ResultSet& set) {
  const std::vector<std::string> variants = variants_of(set);
  const bool too_many = std::ranges::any_of(
      set.cells, [](const Cell& cell) { return cell.trials.size() > kMostPairs; });
  if (variants.size() < 2 || too_many || has_unknown_stopping_rule(set)) return {};
  const std::optional<StoppingRule> rule = stopping_rule_of(set);
  GateOptions options;
  options.floor = rule ? rule->floor : kPairedFloor;
  if (rule) options.alpha = rule->alpha;
  const GateReport report = check_paired(set, rule ? rule->base : variants.front(), options);
  if (report.compared == 0) return {};
  std::string body = small(fmt::format(
      "Each variant against '{}' as check --paired judges it: floor {:.3g} %, alpha {}. Ratio: "
      "Hodges-Lehmann's estimate by the pairs, with its interval; pairs: those that count (+ those "
      "left out, "
      "as one half was hit); p: exact one-sided signed rank, after Holm. Memory, loss and parts of "
      "a step are not in these verdicts.",
      report.paired, 100 * options.floor, options.alpha));
  const Table table = pairs_table(report, PairsAs::ratios);
  SortableTable what{table, "pairs"};
  for (const CellVerdict& cell : report.cells) {
    what.titles.push_back(reason_text(cell));
    what.failed.push_back(cell.speed == Verdict::regression);
  }
  body += sortable_table(what);
  const plot::PairFigures found = plot::pair_figures(report, set);
  body += small(
      "A thin line a pair, purple where it was left out; the thick line is the ratio, from the "
      "median of the base, with its interval.");
  body += "<div class=\"panels\">";
  for (const plot::Figure& figure : found.figures) body += figure_element(figure);
  body += "</div>\n";
  body += first_of(found.figures.size(), found.cells, "cells, the largest changes");
  return section("Pairs", body);
}

std::string heat_section(const ResultSet& set) {
  const plot::HeatMaps found = plot::heat_maps(set);
  if (found.maps.empty()) return {};
  std::string body = small("The rate per " +
                           std::string(found.maps.front().unit.ends_with("rank") ? "rank" : "GPU") +
                           ": the lighter, the faster. Arrow keys go from tile to tile.");
  body += side_by_side(found);
  body += first_of(found.maps.size(), found.all, "maps; the table of cells has all numbers");
  return section("Batch and topology", body);
}

std::string ranks_section(const ResultSet& set) {
  const SetSource cells(set);
  const Table ranks = rank_table(cells);
  if (ranks.rows.empty()) return {};
  const plot::HeatMaps maps = plot::rank_maps(set);
  std::string body = small(std::string(kRankTimesNote) + ". Lighter: slower than the other ranks.");
  body += sortable_table({ranks, "ranks"});
  if (!maps.maps.empty()) body += side_by_side(maps);
  body += first_of(maps.maps.size(), maps.all, "maps");
  body += sortable_table({node_table(cells), "nodes", "nodes"});
  return section("Ranks and nodes", body);
}

}  // namespace bertbench::html
