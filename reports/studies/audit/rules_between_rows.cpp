// Rules that compare a row with its base row: speedup, weak and strong scaling, efficiency.
//
// The base row changes inside a table that holds several batch sizes or models, and nothing in
// the print states where. Several ways to find it are tried; the one that explains most of the
// column is used and named.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "reports/studies/audit/relation.h"

namespace bertbench::audit {
namespace {

struct Grouping {
  std::string name;
  std::function<std::string(std::size_t row)> key;
};

bool prints_one(const Grid& grid, std::size_t row, std::size_t column) {
  const auto& numbers = grid.rows[row].cells[column].numbers;
  return !numbers.empty() && (numbers[0].value == 1 || numbers[0].text == "100");
}

std::string texts(const Grid& grid, std::size_t row, bool unknown_too) {
  std::string key;
  for (std::size_t n = 0; n < grid.columns.size(); ++n) {
    const Cell& cell = grid.rows[row].cells[n];
    const bool unknown = grid.columns[n].role == Role::none && cell.numbers.empty();
    if (distinguishes(grid.columns[n].role) || (unknown_too && unknown)) key += cell.text + '\x1f';
  }
  return key;
}

// The row that the rows of a group refer to: the first that prints 1, else the one with the
// fewest GPUs, whose own printed value then scales the others.
std::map<std::size_t, std::size_t> bases(const Grid& grid, std::size_t column,
                                         const Grouping& grouping) {
  std::map<std::string, std::size_t> base_of;
  std::map<std::string, bool> has_one;
  std::map<std::string, double> fewest;
  std::vector<std::string> keys(grid.rows.size());
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    keys[row] = grouping.key(row);
    if (grid.rows[row].cells[column].numbers.empty()) continue;
    const bool one = prints_one(grid, row, column);
    const double world = world_of(grid, row).value_or(1e300);
    auto [at, fresh] = base_of.emplace(keys[row], row);
    if (fresh) {
      has_one[keys[row]] = one;
      fewest[keys[row]] = world;
    } else if ((one && !has_one[keys[row]]) || (!has_one[keys[row]] && world < fewest[keys[row]])) {
      at->second = row;
      has_one[keys[row]] = one;
      fewest[keys[row]] = world;
    }
  }
  std::map<std::size_t, std::size_t> out;
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const auto at = base_of.find(keys[row]);
    if (at != base_of.end()) out[row] = at->second;
  }
  return out;
}

std::vector<Grouping> groupings(const Grid& grid, std::size_t column) {
  // Sections: a row that prints 1 opens one.
  std::vector<std::size_t> section(grid.rows.size());
  std::size_t current = 0;
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    if (prints_one(grid, row, column)) ++current;
    section[row] = current;
  }
  return {{"base row of the same configuration",
           [&grid](std::size_t row) { return texts(grid, row, false); }},
          {"base row printed as 1 above",
           [section](std::size_t row) { return std::to_string(section[row]); }},
          {"base row of the same configuration and text",
           [&grid](std::size_t row) { return texts(grid, row, true); }},
          {"one base row for the whole table", [](std::size_t) { return std::string(); }}};
}

// What a ratio is taken of. A time is turned round: half the time is twice as fast.
struct Source {
  std::size_t column;
  int power;
  bool per_gpu;
};

std::optional<Source> source_of(const Grid& grid, const Column& target) {
  const std::string variant = target.variants.size() == 1 ? target.variants[0] : std::string();
  const auto look = [&](Role role) -> std::optional<std::size_t> {
    const auto place = grid.find(role, variant);
    return place ? std::optional<std::size_t>(place->column) : std::nullopt;
  };
  if (const auto at = look(Role::throughput)) return Source{*at, 1, false};
  if (const auto at = look(Role::per_gpu)) return Source{*at, 1, true};
  if (const auto at = look(Role::tokens_per_second)) return Source{*at, 1, false};
  if (const auto at = look(Role::train_time)) return Source{*at, -1, false};
  return std::nullopt;
}

class RatioBuilder {
 public:
  RatioBuilder(const Grid& grid, std::size_t column) : grid_(grid), column_(column) {
    const Role role = grid.columns[column].role;
    double largest = 0;
    for (const Row& row : grid.rows) {
      for (const Printed& number : row.cells[column].numbers) {
        if (!number.percent) largest = std::max(largest, number.value);
      }
    }
    if (role == Role::efficiency && largest > 1.5) percent_ = 100;  // "98.2" without its sign
  }

  // `share`: divide by how many times the GPUs (Role::gpus) or nodes (Role::nodes) grew.
  Reading build(const Grouping& grouping, const Source& source, std::optional<Role> share,
                const std::string& name) const {
    Reading reading{name, {}};
    for (const auto& [row, base] : bases(grid_, column_, grouping)) {
      if (grid_.rows[row].cells[column_].numbers.empty()) continue;
      if (auto relation = relate(row, base, source, share)) {
        reading.relations.push_back(std::move(*relation));
      }
    }
    return reading;
  }

 private:
  [[nodiscard]] bool is_base_one(std::size_t row) const {
    const auto& number = grid_.rows[row].cells[column_].numbers[0];
    return number.value == 1 || (percent_ == 100 && number.value == 100);
  }

  std::optional<Relation> relate(std::size_t row, std::size_t base, const Source& source,
                                 std::optional<Role> share) const {
    Relation relation;
    relation.target = {row, column_, 0};
    relation.factor = percent_;
    relation.base = row == base;
    const std::string& target = grid_.columns[column_].heading;
    const std::string& from = grid_.columns[source.column].heading;
    if (row == base) {
      if (!is_base_one(row)) return std::nullopt;  // a base outside the table: nothing to check
      relation.rule = fmt::format("{} = 1 on the base row", target);
      return relation;
    }
    const auto& cells = grid_.rows;
    if (cells[row].cells[source.column].numbers.empty() ||
        cells[base].cells[source.column].numbers.empty()) {
      return std::nullopt;
    }
    relation.rule = source.power > 0 ? fmt::format("{} = {} / that of the base row", target, from)
                                     : fmt::format("{} = {} of the base row / own", target, from);
    relation.terms = {
        {CellId{row, source.column, 0}, source.power, {}, from},
        {CellId{base, source.column, 0}, -source.power, {}, from + " of the base row"}};
    if (source.per_gpu && !share &&
        !(add_world(grid_, row, 1, relation.terms) && add_world(grid_, base, -1, relation.terms))) {
      return std::nullopt;
    }
    if (share && !add_share(relation, row, base, source, *share)) return std::nullopt;
    if (!is_base_one(base)) {  // relative to a base outside the table
      relation.factor = 1;
      relation.terms.push_back({CellId{base, column_, 0}, 1, {}, target + " of the first row"});
    }
    return relation;
  }

  bool add_share(Relation& relation, std::size_t row, std::size_t base, const Source& source,
                 Role share) const {
    if (share == Role::gpus) {
      relation.rule += ", by the growth in GPUs";
      if (source.per_gpu) return true;  // already divided
      return add_world(grid_, row, -1, relation.terms) && add_world(grid_, base, 1, relation.terms);
    }
    relation.rule += ", by the growth in nodes";
    const auto place = grid_.find(Role::nodes, "");
    if (!place || grid_.rows[row].cells[place->column].numbers.empty() ||
        grid_.rows[base].cells[place->column].numbers.empty()) {
      return false;
    }
    relation.terms.push_back({CellId{row, place->column, 0}, -1, {}, "nodes"});
    relation.terms.push_back({CellId{base, place->column, 0}, 1, {}, "nodes of the base row"});
    return true;
  }

  const Grid& grid_;
  std::size_t column_;
  double percent_ = 1;
};

// Efficiency from the printed speedup, as many tables compute it.
Reading from_speedup(const Grid& grid, std::size_t column) {
  Reading reading{"from the printed speedup", {}};
  const auto place = grid.find(Role::speedup, "");
  if (!place) return reading;
  double largest = 0;
  for (const Row& row : grid.rows) {
    for (const Printed& n : row.cells[column].numbers) {
      if (!n.percent) largest = std::max(largest, n.value);
    }
  }
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const auto& cells = grid.rows[row].cells;
    if (cells[column].numbers.empty() || cells[place->column].numbers.empty()) continue;
    Relation relation;
    relation.target = {row, column, 0};
    relation.factor = largest > 1.5 ? 100 : 1;
    relation.rule = "efficiency = speedup / GPUs";
    relation.terms = {{CellId{row, place->column, 0}, 1, {}, grid.columns[place->column].heading}};
    if (!add_world(grid, row, -1, relation.terms)) continue;
    reading.relations.push_back(std::move(relation));
  }
  return reading;
}

// Under strong scaling the global batch stays the same: rows that keep it vouch for their batch
// cells when one of them has to be blamed.
void constant_global_batch(const Grid& grid, std::vector<RuleReadings>& rules) {
  if (!grid.has(Role::strong_scaling) || !grid.has(Role::accumulated_batch)) return;
  for (const std::string& variant : grid.variants_of({Role::accumulated_batch})) {
    const auto place = grid.find(Role::accumulated_batch, variant);
    if (!place) continue;
    std::map<std::string, std::map<double, std::vector<Relation>>> groups;  // by length, by product
    std::map<std::string, std::size_t> sizes;
    const auto length = grid.find(Role::sequence_length, "");
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      const CellId cell{row, place->column, place->part};
      const auto batch = quantity(grid, cell);
      const auto world = world_of(grid, row);
      if (!batch || !world) continue;
      Relation relation;
      relation.supporting = true;
      relation.target = cell;
      relation.rule = "the global batch stays the same under strong scaling";
      add_world(grid, row, -1, relation.terms);
      relation.factor = batch->nominal * *world;
      const std::string key = length ? grid.rows[row].cells[length->column].text : std::string();
      ++sizes[key];
      groups[key][relation.factor].push_back(std::move(relation));
    }
    RuleReadings rule{"constant global batch", true, {{"", {}}}};
    for (auto& [key, products] : groups) {
      for (auto& [product, relations] : products) {
        if (relations.size() * 2 <= sizes[key]) continue;  // not what most rows agree on
        for (Relation& each : relations) rule.readings[0].relations.push_back(std::move(each));
      }
    }
    if (!rule.readings[0].relations.empty()) rules.push_back(std::move(rule));
  }
}

}  // namespace

std::vector<RuleReadings> rules_between_rows(const Grid& grid) {
  std::vector<RuleReadings> rules;
  for (std::size_t column = 0; column < grid.columns.size(); ++column) {
    const Role role = grid.columns[column].role;
    const bool ratio =
        role == Role::speedup || role == Role::weak_scaling || role == Role::strong_scaling;
    if (!ratio && role != Role::efficiency) continue;
    RuleReadings rule{std::string(name(role)), true, {}};
    const RatioBuilder build(grid, column);
    if (const auto source = source_of(grid, grid.columns[column])) {
      const auto ways = groupings(grid, column);
      if (ratio) {
        for (const Grouping& way : ways) {
          rule.readings.push_back(build.build(way, *source, std::nullopt, way.name));
        }
      }
      if (role != Role::speedup) {  // weak and strong scaling may be printed as a share
        for (const Role share : {Role::gpus, Role::nodes}) {
          for (const Grouping& way : ways) {
            rule.readings.push_back(
                build.build(way, *source, share,
                            way.name + (share == Role::gpus ? ", per GPU" : ", per node")));
          }
        }
      }
    }
    if (role == Role::efficiency) rule.readings.push_back(from_speedup(grid, column));
    std::erase_if(rule.readings, [](const Reading& r) { return r.relations.empty(); });
    if (!rule.readings.empty()) rules.push_back(std::move(rule));
  }
  constant_global_batch(grid, rules);
  return rules;
}

}  // namespace bertbench::audit
