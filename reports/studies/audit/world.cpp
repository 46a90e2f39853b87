// How many GPUs a row of a table speaks of.
#include "parsers/core/topology.h"
#include "reports/studies/audit/relation.h"

namespace bertbench::audit {

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
