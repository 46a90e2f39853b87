#include "reports/studies/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "reports/studies/audit/culprits.h"
#include "reports/studies/audit/series.h"

namespace bertbench::audit {
namespace {

double explained(const Grid& grid, const Reading& reading) {
  double score = 0;
  for (const Relation& relation : reading.relations) {
    if (relation.base) continue;
    switch (judge(grid, relation.target, evaluate(grid, relation, {}), {})) {
      case Verdict::exact:
      case Verdict::possible:
        score += 1;
        break;
      case Verdict::truncated:
        score += 0.5;
        break;
      case Verdict::impossible:
        break;
    }
  }
  return score;
}

// Chooses how each column is understood and gathers what follows from it.
std::vector<Relation> choose(const Grid& grid, std::vector<RuleReadings> rules, TableAudit& out) {
  std::vector<Relation> relations;
  for (RuleReadings& rule : rules) {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t n = 0; n < rule.readings.size(); ++n) {
      const double score = explained(grid, rule.readings[n]);
      if (score > most) {
        most = score;
        best = n;
      }
    }
    Reading& reading = rule.readings[best];
    const auto checked =
        static_cast<double>(std::count_if(reading.relations.begin(), reading.relations.end(),
                                          [](const Relation& r) { return !r.base; }));
    if (!rule.definitional && checked >= 3 && most < checked / 3) {
      out.notices.push_back(make_notice(
          NoticeCode::rule_rarely_holds, grid.line, reading.relations.front().rule, most, checked,
          grid.columns[reading.relations.front().target.column].heading));
      continue;
    }
    if (best > 0 && !reading.name.empty()) {
      out.readings.push_back(fmt::format(
          "{}: {}", grid.columns[reading.relations.front().target.column].heading, reading.name));
    }
    for (Relation& relation : reading.relations) relations.push_back(std::move(relation));
  }
  return relations;
}

std::int64_t line_of(const Grid& grid, const CellId& cell) {
  const auto& own = grid.rows[cell.row].cell_lines;
  if (cell.column < own.size()) return own[cell.column];
  return grid.transposed && grid.columns[cell.column].line > 0 ? grid.columns[cell.column].line
                                                               : grid.rows[cell.row].line;
}

CheckedCell describe(const Grid& grid, const CellId& id) {
  CheckedCell out;
  const Cell& cell = grid.rows[id.row].cells[id.column];
  const Column& column = grid.columns[id.column];
  out.line = line_of(grid, id);
  out.row = id.row;
  out.column = id.column;
  out.part = id.part;
  out.heading = column.heading;
  out.text = cell.text;
  out.role = column.role;
  if (!cell.numbers.empty()) {
    out.number = cell.numbers[id.part < cell.numbers.size() ? id.part : 0].text;
  }
  return out;
}

std::string printed_like(const Grid& grid, const CellId& id, double value) {
  const auto& numbers = grid.rows[id.row].cells[id.column].numbers;
  const Printed& number = numbers[id.part < numbers.size() ? id.part : 0];
  if (is_count(grid.columns[id.column].role)) {
    return fixed_digits(value, value == std::floor(value) ? 0 : 2);
  }
  const double unit = std::min(number.unit, grid.columns[id.column].digit);
  if (number.percent && number.text.find('%') != std::string::npos) {
    return fixed_digits(value * 100, decimals_of(unit * 100)) + "%";
  }
  return number.percent ? fixed_digits(value * 100, decimals_of(unit * 100))
                        : fixed_digits(value, decimals_of(unit));
}

std::vector<Operand> operands(const Grid& grid, const Relation& relation, const CellId& accused) {
  std::vector<Operand> out;
  const auto push = [&](const CellId& id, const std::string& label) {
    out.push_back({label, describe(grid, id).number, line_of(grid, id)});
  };
  if (accused != relation.target)
    push(relation.target, grid.columns[relation.target.column].heading);
  for (const Term& term : relation.terms) {
    if (!term.cell) {
      out.push_back({term.label, fmt::format("{}", term.constant.nominal), 0});
    } else if (*term.cell != accused) {
      push(*term.cell, term.label);
    }
  }
  return out;
}

// Say it the way readers check it: work over steps is a step's work, not the batch.
std::string note_on_sequences(const Grid& grid, std::span<const Relation> relations,
                              const CellId& cell) {
  std::string note;
  for (const Relation& relation : relations) {
    if (relation.target != cell || relation.terms.size() != 2) continue;
    const auto value_of = [&](const Term& term) {
      return term.cell ? quantity(grid, *term.cell) : std::nullopt;
    };
    const auto own = quantity(grid, cell);
    const auto steps = value_of(relation.terms[0]);
    const auto batch = value_of(relation.terms[1]);
    if (!own || !steps || !batch) continue;
    note = fmt::format("{} / {} = {:.0f} a step, not {:.0f}", own->nominal, steps->nominal,
                       own->nominal / steps->nominal, batch->nominal);
  }
  return note;
}

CheckedCell impossible_cell(const Grid& grid, std::span<const Relation> relations,
                            const Culprit& culprit) {
  CheckedCell cell = describe(grid, culprit.cell);
  cell.verdict = Verdict::impossible;
  cell.computed = culprit.should_be.nominal;
  cell.interval = culprit.should_be.interval;
  cell.should_be = printed_like(grid, culprit.cell, cell.computed);
  for (const std::size_t n : culprit.relations) {
    if (relations[n].supporting) continue;
    if (cell.rule.empty()) {
      cell.rule = relations[n].rule;
      cell.from = operands(grid, relations[n], culprit.cell);
    } else if (cell.rule.find(relations[n].rule) == std::string::npos && cell.rule.size() < 400) {
      cell.rule += "; " + relations[n].rule;
    }
  }
  if (cell.role == Role::sequences && cell.from.size() == 2) {
    cell.note = note_on_sequences(grid, relations, culprit.cell);
  }
  return cell;
}

CheckedCell judged_cell(const Grid& grid, const Relation& relation, const Quantity& computed,
                        Verdict verdict) {
  CheckedCell cell = describe(grid, relation.target);
  cell.verdict = verdict;
  cell.computed = computed.nominal;
  cell.interval = computed.interval;
  cell.should_be = printed_like(grid, relation.target, computed.nominal);
  cell.rule = relation.rule;
  cell.from = operands(grid, relation, relation.target);
  cell.base = relation.base;
  if (relation.kind == Relation::Kind::deviation && verdict != Verdict::impossible) {
    cell.note = doubt_about_deviation(grid, relation, computed);
  }
  return cell;
}

std::string why_nothing_is_checked(std::span<const Column> columns) {
  std::string known;
  for (const Column& column : columns) {
    if (column.role == Role::none || column.role == Role::ignore) continue;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", column.heading, name(column.role));
  }
  return known.empty() ? "no column is understood" : fmt::format("no rule ties {}", known);
}

}  // namespace

TableAudit audit_table(const SourceTable& source, const AuditOptions& options) {
  TableAudit out;
  Grid grid = make_grid(source, options.grid);
  out.line = grid.line;
  out.title = grid.title;
  out.columns = grid.columns;
  out.notices = grid.notices;

  std::vector<RuleReadings> rules = row_rules(grid, options.flops);
  for (auto* more : {&rules_between_rows, &series_rules}) {
    for (RuleReadings& rule : (*more)(grid)) rules.push_back(std::move(rule));
  }
  const std::vector<Relation> relations = choose(grid, std::move(rules), out);
  const Culprits blame = find_culprits(grid, relations);

  std::map<CellId, CheckedCell> cells;
  for (const Culprit& culprit : blame.culprits) {
    cells.emplace(culprit.cell, impossible_cell(grid, relations, culprit));
  }
  for (const Relation& relation : relations) {
    if (relation.supporting) continue;
    const auto known = cells.find(relation.target);
    if (known != cells.end() && known->second.verdict == Verdict::impossible) continue;
    const Quantity computed = evaluate(grid, relation, blame.corrected);
    if (!computed.interval.valid()) continue;
    const Verdict verdict = judge(grid, relation.target, computed, blame.corrected);
    // A cell that several rules give is as good as the worst of them.
    if (known != cells.end() && verdict <= known->second.verdict) continue;
    cells.insert_or_assign(relation.target, judged_cell(grid, relation, computed, verdict));
  }
  for (auto& [id, cell] : cells) out.cells.push_back(std::move(cell));
  if (out.cells.empty())
    out.notices.push_back(
        make_notice(NoticeCode::nothing_to_check, out.line, why_nothing_is_checked(out.columns)));
  return out;
}

PageAudit audit_page(std::string_view text, std::string_view path, const AuditOptions& options) {
  PageOptions page_options;
  page_options.format = options.format;
  for (const auto& [role, heading] : options.grid.columns) page_options.names.push_back(heading);
  Page page = read_page(text, path, page_options);
  PageAudit out;
  for (const SourceTable& table : page.tables) {
    out.tables.push_back(audit_table(table, options));
    out.tables.back().file = std::string(path);
  }
  out.notices = std::move(page.notices);
  return out;
}

std::vector<TableAudit> audit_text(std::string_view text, std::string_view path,
                                   const AuditOptions& options) {
  return audit_page(text, path, options).tables;
}

Counts count(const std::vector<TableAudit>& tables) {
  Counts counts;
  for (const TableAudit& table : tables) {
    for (const CheckedCell& cell : table.cells) {
      switch (cell.verdict) {
        case Verdict::exact:
          ++counts.exact;
          break;
        case Verdict::possible:
          ++counts.possible;
          break;
        case Verdict::truncated:
          ++counts.truncated;
          break;
        case Verdict::impossible:
          ++counts.impossible;
          break;
      }
    }
  }
  return counts;
}

bool is_finding(const CheckedCell& cell) {
  return cell.verdict == Verdict::impossible || cell.verdict == Verdict::truncated ||
         !cell.note.empty();
}

std::string interval_text(const Interval& interval) {
  if (!interval.valid()) return "-";
  if (interval.low == interval.high) return fmt::format("{:.10g}", interval.low);
  // Enough digits that the ends differ by at least a few units of the last one.
  const double width = interval.high - interval.low;
  const int digits = static_cast<int>(std::clamp(std::ceil(-std::log10(width)) + 1, 0.0, 12.0));
  return fmt::format("[{:.{}f}, {:.{}f}]", interval.low, digits, interval.high, digits);
}

}  // namespace bertbench::audit
