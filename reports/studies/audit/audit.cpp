#include "reports/studies/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "parsers/core/text.h"
#include "reports/studies/audit/series.h"

namespace bertbench::audit {
namespace {

double explained(const Grid& grid, const Reading& reading) {
  double score = 0;
  for (const Relation& relation : reading.relations) {
    if (relation.base) continue;
    constexpr double kScores[] = {1, 1, 0.5, 0};  // in the order of Verdict
    const Verdict verdict = judge(grid, relation.target, evaluate(grid, relation, {}), {});
    score += kScores[static_cast<std::size_t>(verdict)];
  }
  return score;
}

// Chooses how each column is understood and gathers what follows from it.
std::vector<Relation> choose(const Grid& grid, std::vector<RuleReadings> rules, TableAudit& out) {
  std::vector<Relation> relations;
  for (RuleReadings& rule : rules) {
    std::erase_if(rule.readings, [](const Reading& each) { return each.relations.empty(); });
    if (rule.readings.empty()) continue;
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
    if (best > 0) {
      out.readings.push_back(fmt::format(
          "{}: {}", grid.columns[reading.relations.front().target.column].heading, reading.name));
    }
    for (Relation& relation : reading.relations) relations.push_back(std::move(relation));
  }
  return relations;
}

std::int64_t line_of(const Grid& grid, const CellId& cell) {
  const auto& own = grid.rows[cell.row].cell_lines;
  return cell.column < own.size() ? own[cell.column] : grid.rows[cell.row].line;
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
  out.number = grid.number(id).text;
  return out;
}

std::string printed_like(const Grid& grid, const CellId& id, double value) {
  const Printed& number = grid.number(id);
  const double unit = std::min(number.unit, grid.columns[id.column].digit);
  return number.percent ? fixed_digits(value * 100, decimals_of(unit * 100)) + "%"
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

CheckedCell impossible_cell(const Grid& grid, std::span<const Relation> relations,
                            const Culprit& culprit) {
  CheckedCell cell = describe(grid, culprit.cell);
  cell.verdict = Verdict::impossible;
  cell.computed = culprit.should_be.nominal;
  cell.interval = culprit.should_be.interval;
  cell.should_be = printed_like(grid, culprit.cell, cell.computed);
  for (const std::size_t n : culprit.relations) {
    const Relation& relation = relations[n];
    if (cell.rule.empty()) {
      cell.rule = relation.rule;
      cell.from = operands(grid, relation, culprit.cell);
      // In the way in which readers check it: work over steps is a step's work, not the batch.
      if (cell.role == Role::sequences && relation.terms.size() == 2) {
        const double own = quantity(grid, culprit.cell).nominal;
        const double steps = value_of(grid, relation.terms[0], {}).nominal;
        const double batch = value_of(grid, relation.terms[1], {}).nominal;
        cell.note =
            fmt::format("{} / {} = {:.0f} a step, not {:.0f}", own, steps, own / steps, batch);
      }
    } else if (!has_text(cell.rule, relation.rule)) {
      cell.rule += "; " + relation.rule;
    }
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
  if (relation.kind == Relation::Kind::deviation) {
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
    std::size_t width = 0;
    for (const SourceRow& row : table.rows) width = std::max(width, row.cells.size());
    if (width * table.rows.size() > kMaxCells) {  // with those that short rows lack
      page.notices.push_back(make_notice(NoticeCode::table_unreadable, table.line,
                                         "the table has more cells than are read"));
      continue;
    }
    out.tables.push_back(audit_table(table, options));
    out.tables.back().file = std::string(path);
  }
  out.notices = std::move(page.notices);
  return out;
}

Counts count(const std::vector<TableAudit>& tables) {
  std::array<std::size_t, 4> of{};  // by Verdict
  for (const TableAudit& table : tables) {
    for (const CheckedCell& cell : table.cells) ++of[static_cast<std::size_t>(cell.verdict)];
  }
  return {.exact = of[0], .possible = of[1], .truncated = of[2], .impossible = of[3]};
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

namespace {

// Beyond this the table is nonsense as a whole; each derived cell then answers for itself.
constexpr std::size_t kMostViolations = 500;

bool power_of_two(double value) {
  int exponent = 0;
  return value >= 1 && std::frexp(value, &exponent) == 0.5;
}

// A count must be whole: the power of two in the interval, else the whole number nearest, which
// settles nothing where the interval holds none.
Quantity as_count(const Quantity& value) {
  const double slack = 1e-9 * std::fabs(value.interval.high);
  const double low = std::max(1.0, std::ceil(value.interval.low - slack));
  const double high = std::floor(value.interval.high + slack);
  double best = std::max(low, std::min(high, std::round(value.nominal)));
  const double power = std::exp2(std::round(std::log2(best)));
  if (power >= low && power <= high) best = power;
  return {best, Interval::point(best)};
}

class Search {
 public:
  Search(const Grid& grid, const std::vector<Relation>& relations)
      : grid_(grid), relations_(relations) {
    for (std::size_t n = 0; n < relations.size(); ++n) {
      for (const CellId& cell : cells_of(relations[n])) by_cell_[cell].push_back(n);
      if (!holds(n, blame_.corrected)) violated_.insert(n);
    }
  }

  Culprits run() {
    while (!violated_.empty()) {
      const std::optional<Candidate> best =
          violated_.size() > kMostViolations ? std::nullopt : best_candidate();
      if (!best) {  // contradictions left that no single cell settles
        for (const std::size_t n : violated_) accuse_target(n);
        break;
      }
      blame_.corrected[best->cell] = best->value;
      for (const std::size_t n : best->fixed) violated_.erase(n);
      blame_.culprits.push_back({best->cell, best->value, best->fixed});
      // A correction that breaks another relation must not go round in circles: cells are
      // corrected once, and `suspects` shrinks.
      for (const std::size_t n : by_cell_[best->cell]) {
        if (!holds(n, blame_.corrected)) violated_.insert(n);
      }
    }
    return std::move(blame_);
  }

 private:
  struct Candidate {
    CellId cell;
    Quantity value;
    std::vector<std::size_t> fixed;
    int score = 0, binary = 0, derived = 0;
    [[nodiscard]] std::tuple<int, int, int, std::size_t> rank() const {
      return {score, binary, derived, cell.column};
    }
  };

  static std::set<CellId> cells_of(const Relation& relation) {
    std::set<CellId> cells = {relation.target};
    for (const Term& term : relation.terms) {
      if (term.cell) cells.insert(*term.cell);
    }
    return cells;
  }

  [[nodiscard]] bool holds(std::size_t n, const Overrides& overrides) const {
    const Relation& relation = relations_[n];
    return judge(grid_, relation.target, evaluate(grid_, relation, overrides), overrides) !=
           Verdict::impossible;
  }

  std::optional<Candidate> best_candidate() {
    std::set<CellId> suspects;
    for (const std::size_t n : violated_) {
      for (const CellId& cell : cells_of(relations_[n])) suspects.insert(cell);
    }
    std::optional<Candidate> best;
    for (const CellId& cell : suspects) {
      if (blame_.corrected.contains(cell)) continue;
      for (const Candidate& each : candidates(cell)) {
        if (!best || each.rank() > best->rank()) best = each;
      }
    }
    return best;
  }

  // Values for `cell` that settle at least one violated relation: what all of them ask for
  // together, and what each asks for alone.
  std::vector<Candidate> candidates(const CellId& cell) {
    std::vector<std::size_t> mine;
    for (const std::size_t n : by_cell_[cell]) {
      if (violated_.contains(n)) mine.push_back(n);
    }
    std::vector<Quantity> values;
    constexpr double kAny = std::numeric_limits<double>::infinity();
    Quantity together{0, {-kAny, kAny}};
    for (const std::size_t n : mine) {
      const Quantity asked = solve(grid_, relations_[n], cell, blame_.corrected);
      if (!asked.interval.valid()) continue;
      if (values.size() < 8) values.push_back(asked);
      // The narrowest demand names the value, the intersection bounds it.
      const bool narrower =
          asked.interval.high - asked.interval.low < together.interval.high - together.interval.low;
      if (narrower) together.nominal = asked.nominal;
      together.interval = together.interval.intersect(asked.interval);
    }
    if (values.size() > 1 && together.interval.valid()) {
      together.nominal =
          std::clamp(together.nominal, together.interval.low, together.interval.high);
      values.insert(values.begin(), together);
    }
    std::vector<Candidate> out;
    const bool count = is_count(grid_.columns[cell.column].role);
    for (Quantity value : values) {
      if (count) value = as_count(value);
      Candidate candidate{cell, value, {}, 0, 0, 0};
      Overrides changed = blame_.corrected;
      changed[cell] = value;
      for (const std::size_t n : by_cell_[cell]) {
        const bool held = !violated_.contains(n), holds_now = holds(n, changed);
        if (!held && holds_now) {
          candidate.fixed.push_back(n);
          if (relations_[n].target == cell) candidate.derived = 1;
        }
        candidate.score += (holds_now ? 1 : 0) - (held ? 1 : 0);
      }
      if (candidate.fixed.empty()) continue;
      if (count) {
        candidate.binary = (power_of_two(value.nominal) ? 1 : 0) -
                           (power_of_two(quantity(grid_, cell).nominal) ? 1 : 0);
      }
      out.push_back(std::move(candidate));
    }
    return out;
  }

  void accuse_target(std::size_t n) {
    const Relation& relation = relations_[n];
    const Quantity value = evaluate(grid_, relation, blame_.corrected);
    blame_.culprits.push_back({relation.target, value, {n}});
  }

  const Grid& grid_;
  const std::vector<Relation>& relations_;
  std::map<CellId, std::vector<std::size_t>> by_cell_;
  std::set<std::size_t> violated_;
  Culprits blame_;
};

}  // namespace

Culprits find_culprits(const Grid& grid, const std::vector<Relation>& relations) {
  return Search(grid, relations).run();
}

}  // namespace bertbench::audit
