#include "reports/studies/audit/relation.h"

#include <algorithm>
#include <cmath>

#include "parsers/core/topology.h"
#include "reports/studies/audit/series.h"

namespace bertbench::audit {
namespace {

// Relative: rounding errors of doubles, far below printed digits.
constexpr double kRoundingGap = 1e-9;

Quantity power_of(const Quantity& value, int power) {
  if (power > 0) return value;
  return {1 / value.nominal, Interval::point(1) / value.interval};
}

Quantity value_of(const Grid& grid, const CellId& cell, const Overrides& overrides) {
  const auto at = overrides.find(cell);
  return at == overrides.end() ? quantity(grid, cell) : at->second;
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"exact", "possible", "truncated", "impossible"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Quantity quantity(const Grid& grid, const CellId& id) {
  const Printed& number = grid.number(id);
  const Role role = grid.columns[id.column].role;
  const bool batch =
      role == Role::batch_size || role == Role::global_batch || role == Role::accumulated_batch;
  // "16K" of a batch is 16384; "3M sequences" was rounded.
  const double exact = batch && number.unit == 1e3 ? number.value / 1e3 * 1024 : number.value;
  const bool whole = is_count(role) && (number.unit == 1 || exact != number.value);
  return {exact, whole ? Interval::point(exact) : number.rounded()};
}

Quantity value_of(const Grid& grid, const Term& term, const Overrides& overrides) {
  return term.cell ? value_of(grid, *term.cell, overrides) : term.constant;
}

Quantity evaluate(const Grid& grid, const Relation& relation, const Overrides& overrides) {
  if (relation.kind != Relation::Kind::product) {
    std::vector<Quantity> values;
    for (const Term& term : relation.terms) values.push_back(value_of(grid, term, overrides));
    return evaluate_series(relation.kind, values);
  }
  Quantity out{relation.factor, Interval::point(relation.factor)};
  for (const Term& term : relation.terms) {
    const Quantity raised = power_of(value_of(grid, term, overrides), term.power);
    out.nominal *= raised.nominal;
    out.interval = out.interval * raised.interval;
  }
  if (!std::isfinite(out.nominal)) out.interval = {};
  return out;
}

Quantity solve(const Grid& grid, const Relation& relation, const CellId& cell,
               const Overrides& overrides) {
  if (cell == relation.target) return evaluate(grid, relation, overrides);
  if (relation.kind != Relation::Kind::product) return {};
  // target = rest * cell^power, so cell = (target / rest)^power.
  Relation rest = relation;
  const auto own = std::ranges::find(rest.terms, cell, &Term::cell);
  const int power = own->power;
  rest.terms.erase(own);
  const Quantity others = evaluate(grid, rest, overrides);
  const Quantity target = value_of(grid, relation.target, overrides);
  return power_of({target.nominal / others.nominal, target.interval / others.interval}, power);
}

Verdict judge(const Grid& grid, const CellId& target, const Quantity& computed,
              const Overrides& overrides) {
  if (!computed.interval.valid()) return Verdict::possible;
  const auto near = [](double a, double b, double within) {
    return std::fabs(a - b) <= within + kRoundingGap * std::max(std::fabs(a), std::fabs(b));
  };
  if (const auto at = overrides.find(target); at != overrides.end()) {
    return computed.interval.meets(at->second.interval) ? Verdict::exact : Verdict::impossible;
  }
  const Quantity own = quantity(grid, target);
  const double half = (own.interval.high - own.interval.low) / 2;
  // A tie (7.125 printed 7.12) rounds up; printed otherwise it is one of several possible.
  const bool tie = half > 0 && near(computed.nominal, own.nominal + half, 0);
  if (near(computed.nominal, own.nominal, half) && !tie) return Verdict::exact;
  if (computed.interval.meets(own.interval)) return Verdict::possible;
  // 10.2 in a column of hundredths is 10.20 for this purpose: 10.28 was not cut to it.
  const Printed& number = grid.number(target);
  const double digit = std::min(number.unit, grid.columns[target.column].digit);
  if (computed.interval.meets(number.truncated(digit)) &&
      !near(computed.interval.low, number.value + digit, 0)) {
    return Verdict::truncated;
  }
  return Verdict::impossible;
}

Term stated(double value, int power, std::string label) {
  return {std::nullopt, power, {value, Interval::point(value)}, std::move(label)};
}

std::optional<Term> term_of(const Grid& grid, std::size_t row, Role role, int power,
                            std::string_view variant, std::size_t part) {
  if (const auto id = grid.cell(row, role, variant, part)) {
    return Term{*id, power, {}, grid.columns[id->column].heading};
  }
  const auto fact = grid.facts.find(role);
  if (fact == grid.facts.end() || grid.has(role)) return std::nullopt;
  return stated(fact->second, power, std::string(name(role)) + " as stated");
}

// How many GPUs a row of a table is of.

bool add_world(const Grid& grid, std::size_t row, int power, std::vector<Term>& terms) {
  const auto add = [&](Role role) {
    auto term = term_of(grid, row, role, power);
    if (term) terms.push_back(std::move(*term));
    return term.has_value();
  };
  if (add(Role::world_size)) return true;
  if (const auto place = grid.find(Role::topology, "")) {
    if (const auto topology = parse_topology(grid.rows[row].cells[place->column].text)) {
      terms.push_back(
          stated(static_cast<double>(topology->world_size()), power, "GPUs of the topology"));
      return true;
    }
  }
  if (term_of(grid, row, Role::gpus_per_node, power) && add(Role::nodes)) {
    return add(Role::gpus_per_node);
  }
  if (grid.gpus_are_per_node) add(Role::nodes);
  return add(Role::gpus);
}

std::optional<double> world_of(const Grid& grid, std::size_t row) {
  Relation world;
  if (!add_world(grid, row, 1, world.terms)) return std::nullopt;
  return evaluate(grid, world, {}).nominal;
}

}  // namespace bertbench::audit
