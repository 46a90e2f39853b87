#include "reports/output/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parsers/core/text.h"
#include "reports/output/value_text.h"

namespace bertbench {
namespace {

std::string side(const std::optional<double>& median, const std::optional<double>& cv,
                 const std::string& unit) {
  if (!median) return "-";
  std::string text = number_text(*median) + unit;
  if (cv) text += fmt::format(" ± {:.1f} %", *cv * 100);
  return text;
}

std::string p_words(const std::optional<double>& p) { return p ? fmt::format("{:.3g}", *p) : "-"; }

}  // namespace

Table comparison_table(const std::vector<CellComparison>& cells, Remarks remarks) {
  const bool one_unit = std::ranges::all_of(
      cells, [&](const CellComparison& cell) { return cell.unit == cells.front().unit; });
  const bool training_only = std::ranges::all_of(
      cells, [](const CellComparison& cell) { return cell.kind == WorkKind::training; });
  Table table{columns_of({"cell", ">A", ">B", ">change", "interval", ">n", ">p", ">after Holm"})};
  if (!training_only) table.columns.insert(table.columns.begin() + 1, {"kind"});
  const bool memory = std::ranges::any_of(
      cells, [](const CellComparison& cell) { return cell.peak_memory_a || cell.peak_memory_b; });
  if (memory) {
    table.columns.push_back({"memory A", true});
    table.columns.push_back({"memory B", true});
  }
  if (remarks == Remarks::last_column) table.columns.push_back({"remarks"});
  for (const CellComparison& cell : cells) {
    const std::string unit = one_unit || cell.unit.empty() ? std::string() : " " + cell.unit;
    table.rows.push_back(
        {cell.key, side(cell.median_a, cell.cv_a, unit), side(cell.median_b, cell.cv_b, unit),
         !cell.change       ? "-"
         : cell.significant ? change_text(*cell.change)
                            : "~",
         cell.interval ? fmt::format("{} to {}", change_text(cell.interval->low),
                                     change_text(cell.interval->high))
                       : "-",
         fmt::format("{}+{}", cell.n_a, cell.n_b), p_words(cell.p), p_words(cell.p_adjusted)});
    if (!training_only) {
      auto& row = table.rows.back();
      row.insert(row.begin() + 1, std::string(name(cell.kind)));
    }
    if (memory) {
      for (const auto& bytes : {cell.peak_memory_a, cell.peak_memory_b}) {
        table.rows.back().push_back(bytes ? bytes_text(*bytes) : "-");
      }
    }
    if (remarks == Remarks::last_column) {
      table.rows.back().push_back(fmt::format("{}", fmt::join(cell.notes, "; ")));
    }
  }
  return table;
}

Table stated_comparison_table(const std::vector<CellComparison>& cells) {
  Table table{columns_of({"cell", "of one GPU", ">A", ">B", ">change"})};
  const auto text = [](const std::optional<double>& value) {
    return value ? number_text(*value) : "-";
  };
  for (const CellComparison& cell : cells) {
    for (const StatedSides& sides : cell.stated) {
      const bool both = sides.a && sides.b && *sides.a > 0;
      table.rows.push_back({key_with_kind(cell.key, cell.kind), std::string(sides.name->unit),
                            text(sides.a), text(sides.b),
                            both ? change_text(*sides.b / *sides.a - 1) : "-"});
    }
  }
  return table;
}

ComparisonSummary summary_of(const std::vector<CellComparison>& cells) {
  ComparisonSummary sum;
  double logs = 0;
  for (const CellComparison& cell : cells) {
    if (cell.n_a > 0 && cell.n_b == 0) ++sum.only_a;
    if (cell.n_b > 0 && cell.n_a == 0) ++sum.only_b;
    if (!cell.change) continue;
    ++sum.compared;
    logs += std::log1p(*cell.change);
    if (!cell.significant) {
      ++sum.undecided;
    } else {
      ++(*cell.change < 0 ? sum.slower : sum.faster);
    }
  }
  if (sum.compared == 0) {
    sum.sentence = "No cell has a number on both sides.";
    return sum;
  }
  sum.geometric_mean_change = std::expm1(logs / sum.compared);
  sum.sentence = fmt::format(
      "{} compared: {} faster, {} slower, {} without a significant change; "
      "geometric mean of the changes {}.",
      counted(sum.compared, "cell"), sum.faster, sum.slower, sum.undecided,
      change_text(sum.geometric_mean_change));
  if (sum.only_a + sum.only_b > 0) {
    sum.sentence += fmt::format(" Only in A: {}; only in B: {}.", sum.only_a, sum.only_b);
  }
  return sum;
}

}  // namespace bertbench
