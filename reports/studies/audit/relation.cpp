#include "reports/studies/audit/relation.h"

#include <algorithm>
#include <cmath>

#include "parsers/core/topology.h"
#include "reports/studies/audit/series.h"

namespace bertbench::audit {
namespace {

// Relative: rounding errors of doubles, far below printed digits.
constexpr double kRoundingGap = 1e-9;

const Printed* printed(const Grid& grid, const CellId& id) {
  if (id.row >= grid.rows.size() || id.column >= grid.columns.size()) return nullptr;
  const auto& numbers = grid.rows[id.row].cells[id.column].numbers;
  if (numbers.empty()) return nullptr;
  return &numbers[id.part < numbers.size() ? id.part : 0];
}

Quantity power_of(Quantity value, int power) {
  Quantity out{1, Interval::point(1)};
  for (int n = 0; n < std::abs(power); ++n) {
    out.nominal *= value.nominal;
    out.interval = out.interval * value.interval;
  }
  if (power < 0) {
    out.nominal = 1 / out.nominal;
    out.interval = Interval::point(1) / out.interval;
  }
  return out;
}

std::optional<Quantity> value_of(const Grid& grid, const CellId& cell, const Overrides& overrides) {
  const auto at = overrides.find(cell);
  return at == overrides.end() ? quantity(grid, cell) : std::optional<Quantity>(at->second);
}

std::optional<Quantity> value_of(const Grid& grid, const Term& term, const Overrides& overrides) {
  return term.cell ? value_of(grid, *term.cell, overrides) : std::optional<Quantity>(term.constant);
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"exact", "possible", "truncated", "impossible"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::optional<Quantity> quantity(const Grid& grid, const CellId& id) {
  const Printed* number = printed(grid, id);
  if (number == nullptr) return std::nullopt;
  const Role role = grid.columns[id.column].role;
  if (is_count(role) && !number->has_point) {
    // "16K" of a batch is 16384; "3M sequences" was rounded.
    const bool batch =
        role == Role::batch_size || role == Role::global_batch || role == Role::accumulated_batch;
    if (number->binary_value && number->unit == 1e3 && batch) {
      return Quantity{*number->binary_value, Interval::point(*number->binary_value)};
    }
    if (!number->binary_value && number->unit <= 1) {
      return Quantity{number->value, Interval::point(number->value)};
    }
  }
  return Quantity{number->value, number->rounded()};
}

Quantity evaluate(const Grid& grid, const Relation& relation, const Overrides& overrides) {
  if (relation.kind != Relation::Kind::product) {
    std::vector<Quantity> values;
    for (const Term& term : relation.terms) {
      const auto value = value_of(grid, term, overrides);
      if (value) values.push_back(*value);
    }
    return evaluate_series(relation.kind, values);
  }
  Quantity out{relation.factor, Interval::point(relation.factor)};
  for (const Term& term : relation.terms) {
    const auto value = value_of(grid, term, overrides);
    if (!value) return {};
    const Quantity raised = power_of(*value, term.power);
    out.nominal *= raised.nominal;
    out.interval = out.interval * raised.interval;
  }
  if (!std::isfinite(out.nominal) || !std::isfinite(out.interval.low) ||
      !std::isfinite(out.interval.high)) {
    out.interval = {};
  }
  return out;
}

Quantity solve(const Grid& grid, const Relation& relation, const CellId& cell,
               const Overrides& overrides) {
  if (cell == relation.target) return evaluate(grid, relation, overrides);
  if (relation.kind != Relation::Kind::product) return {};
  int power = 0;
  for (const Term& term : relation.terms) {
    if (term.cell == cell) power += term.power;
  }
  if (power != 1 && power != -1) return {};
  // target = rest * cell^power, so cell = (target / rest)^power.
  Relation rest = relation;
  std::erase_if(rest.terms, [&](const Term& term) { return term.cell == cell; });
  const Quantity others = evaluate(grid, rest, overrides);
  const auto target = value_of(grid, relation.target, overrides);
  if (!target || !others.interval.valid()) return {};
  const Quantity ratio{target->nominal / others.nominal, target->interval / others.interval};
  return power_of(ratio, power);
}

Verdict judge(const Grid& grid, const CellId& target, const Quantity& computed,
              const Overrides& overrides) {
  const Printed* number = printed(grid, target);
  if (number == nullptr || !computed.interval.valid()) return Verdict::possible;
  const auto near = [](double a, double b, double within) {
    return std::fabs(a - b) <= within + kRoundingGap * std::max(std::fabs(a), std::fabs(b));
  };
  if (const auto at = overrides.find(target); at != overrides.end()) {
    return computed.interval.meets(at->second.interval) ? Verdict::exact : Verdict::impossible;
  }
  const Quantity own = *quantity(grid, target);
  const bool count = own.interval.low == own.interval.high;
  const double half = count ? 0 : number->unit / 2;
  // A tie (7.125 printed 7.12) rounds up; printed otherwise it is one of several possible.
  const bool tie = half > 0 && near(computed.nominal, own.nominal + half, 0);
  if (near(computed.nominal, own.nominal, half) && !tie) return Verdict::exact;
  if (computed.interval.meets(own.interval)) return Verdict::possible;
  // 10.2 in a column of hundredths is 10.20 for this purpose: 10.28 was not cut to it.
  const double digit = std::min(number->unit, grid.columns[target.column].digit);
  if (!count && computed.interval.meets(number->truncated(digit)) &&
      !near(computed.interval.low, number->value + digit, 0)) {
    return Verdict::truncated;
  }
  return Verdict::impossible;
}

// How many GPUs a row of a table is of.

bool add_world(const Grid& grid, std::size_t row, int power, std::vector<Term>& terms) {
  const auto number = [&](Role role) -> std::optional<CellId> {
    const auto place = grid.find(role, "");
    if (!place || grid.rows[row].cells[place->column].numbers.empty()) return std::nullopt;
    return CellId{row, place->column, 0};
  };
  const auto constant = [&](double value, std::string label) {
    terms.push_back({std::nullopt, power, {value, Interval::point(value)}, std::move(label)});
    return true;
  };
  const auto push = [&](const CellId& id) {
    terms.push_back({id, power, {}, grid.columns[id.column].heading});
    return true;
  };
  const auto fact = [&](Role role) -> std::optional<double> {
    const auto at = grid.facts.find(role);
    return at == grid.facts.end() ? std::nullopt : std::optional<double>(at->second);
  };
  if (const auto world = number(Role::world_size)) return push(*world);
  if (const auto place = grid.find(Role::topology, "")) {
    if (const auto topology = parse_topology(grid.rows[row].cells[place->column].text)) {
      return constant(static_cast<double>(topology->world_size()), "GPUs of the topology");
    }
  }
  const auto nodes = number(Role::nodes), gpus = number(Role::gpus);
  const auto per_node = number(Role::gpus_per_node);
  if (per_node && nodes) return push(*nodes) && push(*per_node);
  if (gpus) {
    if (nodes && grid.gpus_are_per_node) push(*nodes);
    return push(*gpus);
  }
  if (per_node && fact(Role::nodes))
    return constant(*fact(Role::nodes), "nodes as stated") && push(*per_node);
  if (nodes && fact(Role::gpus_per_node)) {
    return constant(*fact(Role::gpus_per_node), "GPUs per node as stated") && push(*nodes);
  }
  if (const auto world = fact(Role::world_size)) return constant(*world, "world size as stated");
  if (const auto total = fact(Role::gpus)) return constant(*total, "GPUs as stated");
  return false;
}

std::optional<double> world_of(const Grid& grid, std::size_t row) {
  std::vector<Term> terms;
  if (!add_world(grid, row, 1, terms)) return std::nullopt;
  double world = 1;
  for (const Term& term : terms) {
    world *= term.cell ? quantity(grid, *term.cell)->nominal : term.constant.nominal;
  }
  return world;
}

}  // namespace bertbench::audit
