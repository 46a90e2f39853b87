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

std::string texts(const Grid& grid, std::size_t row, bool unknown_too) {
  std::string key;
  for (std::size_t n = 0; n < grid.columns.size(); ++n) {
    const Cell& cell = grid.rows[row].cells[n];
    const bool unknown = grid.columns[n].role == Role::none && cell.numbers.empty();
    if (distinguishes(grid.columns[n].role) || (unknown_too && unknown)) key += cell.text + '\x1f';
  }
  return key;
}

// What a ratio is taken of. A time is turned round: half the time is twice as fast.
struct Source {
  Role role;
  int power;
};
constexpr Source kSources[] = {{Role::throughput, 1},
                               {Role::per_gpu, 1},
                               {Role::tokens_per_second, 1},
                               {Role::train_time, -1}};

class RatioBuilder {
 public:
  RatioBuilder(const Grid& grid, std::size_t column) : grid_(grid), column_(column) {
    double largest = 0;
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      if (grid.rows[row].cells[column].numbers.empty()) continue;
      rows_.push_back(row);
      largest = std::max(largest, printed(row));
    }
    const Column& of = grid.columns[column];
    if (of.role == Role::efficiency && largest > 1.5) percent_ = 100;  // "98.2" without its sign
    if (of.variants.size() == 1) variant_ = of.variants[0];
  }

  [[nodiscard]] RuleReadings readings() const {
    RuleReadings rule;
    const Role role = grid_.columns[column_].role;
    const auto* const source = std::ranges::find_if(
        kSources, [&](const Source& each) { return grid_.find(each.role, variant_).has_value(); });
    // `share`: divided by how many times the GPUs (Role::gpus) or nodes (Role::nodes) grew.
    const auto add = [&](Role share, std::string_view how) {
      for (const Grouping& way : groupings()) {
        Reading& reading =
            rule.readings.emplace_back(Reading{fmt::format("{}{}", way.name, how), {}});
        for (const auto& [row, base] : bases(way)) {
          if (auto relation = relate(row, base, *source, share)) {
            reading.relations.push_back(std::move(*relation));
          }
        }
      }
    };
    if (source != std::end(kSources)) {
      if (role != Role::efficiency) add(Role::none, "");
      if (role != Role::speedup) {  // weak and strong scaling may be printed as a share
        add(Role::gpus, ", per GPU");
        add(Role::nodes, ", per node");
      }
    }
    if (role == Role::efficiency) rule.readings.push_back(from_speedup());
    return rule;
  }

 private:
  [[nodiscard]] double printed(std::size_t row) const {
    return grid_.number({row, column_, 0}).value;
  }
  [[nodiscard]] bool prints_one(std::size_t row) const {
    return printed(row) == 1 || (percent_ == 100 && printed(row) == 100);
  }

  [[nodiscard]] std::vector<Grouping> groupings() const {
    // Sections: a row that prints 1 opens one.
    std::map<std::size_t, std::size_t> section;
    std::size_t current = 0;
    for (const std::size_t row : rows_) section[row] = current += prints_one(row) ? 1 : 0;
    return {{"base row of the same configuration",
             [this](std::size_t row) { return texts(grid_, row, false); }},
            {"base row printed as 1 above",
             [section](std::size_t row) { return std::to_string(section.at(row)); }},
            {"base row of the same configuration and text",
             [this](std::size_t row) { return texts(grid_, row, true); }},
            {"one base row for the whole table", [](std::size_t) { return std::string(); }}};
  }

  // The row that the rows of a group refer to: the first that prints 1, else the one with the
  // fewest GPUs, whose own printed value then scales the others.
  [[nodiscard]] std::map<std::size_t, std::size_t> bases(const Grouping& grouping) const {
    std::map<std::string, std::pair<double, std::size_t>> base_of;
    for (const std::size_t row : rows_) {
      const double rank = prints_one(row) ? 0 : world_of(grid_, row).value_or(1e300);
      const std::pair own(rank, row);
      auto& base = base_of.emplace(grouping.key(row), own).first->second;
      base = std::min(base, own);
    }
    std::map<std::size_t, std::size_t> out;
    for (const std::size_t row : rows_) out[row] = base_of[grouping.key(row)].second;
    return out;
  }

  [[nodiscard]] std::optional<Relation> relate(std::size_t row, std::size_t base,
                                               const Source& source, Role share) const {
    Relation relation;
    relation.target = {row, column_, 0};
    relation.factor = percent_;
    relation.base = row == base;
    const std::string& target = grid_.columns[column_].heading;
    if (row == base) {
      if (!prints_one(row)) return std::nullopt;  // a base outside the table: nothing to check
      relation.rule = fmt::format("{} = 1 on the base row", target);
      return relation;
    }
    const auto own = term_of(grid_, row, source.role, source.power, variant_);
    auto of_base = term_of(grid_, base, source.role, -source.power, variant_);
    if (!own || !of_base) return std::nullopt;
    relation.rule = source.power > 0
                        ? fmt::format("{} = {} / that of the base row", target, own->label)
                        : fmt::format("{} = {} of the base row / own", target, own->label);
    of_base->label += " of the base row";
    relation.terms = {*own, *of_base};
    const int worlds = (source.role == Role::per_gpu ? 1 : 0) - (share == Role::gpus ? 1 : 0);
    if (worlds != 0 && !(add_world(grid_, row, worlds, relation.terms) &&
                         add_world(grid_, base, -worlds, relation.terms))) {
      return std::nullopt;
    }
    if (share == Role::nodes) {
      const auto nodes = grid_.cell(row, Role::nodes), fewer = grid_.cell(base, Role::nodes);
      if (!nodes || !fewer) return std::nullopt;
      relation.terms.push_back({nodes, -1, {}, "nodes"});
      relation.terms.push_back({fewer, 1, {}, "nodes of the base row"});
    }
    if (share != Role::none) {
      relation.rule += fmt::format(", by the growth in {}", share == Role::gpus ? "GPUs" : "nodes");
    }
    if (!prints_one(base)) {  // relative to a base outside the table
      relation.factor = 1;
      relation.terms.push_back({CellId{base, column_, 0}, 1, {}, target + " of the first row"});
    }
    return relation;
  }

  // Efficiency from the printed speedup, as many tables compute it.
  [[nodiscard]] Reading from_speedup() const {
    Reading reading{"from the printed speedup", {}};
    for (const std::size_t row : rows_) {
      auto speedup = term_of(grid_, row, Role::speedup, 1);
      Relation relation;
      if (!speedup || !add_world(grid_, row, -1, relation.terms)) continue;
      relation.target = {row, column_, 0};
      relation.factor = percent_;
      relation.rule = "efficiency = speedup / GPUs";
      relation.terms.insert(relation.terms.begin(), std::move(*speedup));
      reading.relations.push_back(std::move(relation));
    }
    return reading;
  }

  const Grid& grid_;
  std::size_t column_;
  std::vector<std::size_t> rows_;  // that have a number in the column
  std::string variant_;
  double percent_ = 1;
};

// Under strong scaling the global batch stays the same: rows that keep it vouch for their batch
// cells when one of them has to be blamed.
void constant_global_batch(const Grid& grid, std::vector<RuleReadings>& rules) {
  if (!grid.has(Role::strong_scaling)) return;
  for (const std::string& variant : grid.variants_of({Role::accumulated_batch})) {
    std::map<std::string, std::map<double, std::vector<Relation>>> groups;  // by length, by product
    const auto length = grid.find(Role::sequence_length, "");
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      const auto batch = grid.cell(row, Role::accumulated_batch, variant);
      Relation relation;
      if (!batch || !add_world(grid, row, -1, relation.terms)) continue;
      relation.supporting = true;
      relation.target = *batch;
      relation.rule = "the global batch stays the same under strong scaling";
      relation.factor = quantity(grid, *batch).nominal * *world_of(grid, row);
      const std::string key = length ? grid.rows[row].cells[length->column].text : std::string();
      groups[key][relation.factor].push_back(std::move(relation));
    }
    Reading& reading = rules.emplace_back(RuleReadings{true, {{"", {}}}}).readings[0];
    for (auto& [key, products] : groups) {
      std::size_t all = 0;
      for (const auto& [product, relations] : products) all += relations.size();
      for (auto& [product, relations] : products) {
        if (relations.size() * 2 <= all) continue;  // not what most rows agree on
        for (Relation& each : relations) reading.relations.push_back(std::move(each));
      }
    }
  }
}

}  // namespace

std::vector<RuleReadings> rules_between_rows(const Grid& grid) {
  std::vector<RuleReadings> rules;
  for (std::size_t column = 0; column < grid.columns.size(); ++column) {
    const Role role = grid.columns[column].role;
    if (role == Role::speedup || role == Role::weak_scaling || role == Role::strong_scaling ||
        role == Role::efficiency) {
      rules.push_back(RatioBuilder(grid, column).readings());
    }
  }
  constant_global_batch(grid, rules);
  return rules;
}

}  // namespace bertbench::audit
