#include "reports/output/rank_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "parsers/core/median.h"
#include "reports/output/value_text.h"

namespace bertbench {
namespace {

std::string rank_text(const RankRecord::Rank& rank) {
  return fmt::format("{}{}", rank.rank, rank.node.empty() ? "" : " on " + rank.node);
}

/// The rank that is the slowest in most trials of a cell.
struct Slowest {
  std::string name;
  std::vector<double> ratios;
  int named = 0;  ///< trials in which it stays slow
};

}  // namespace

Table rank_table(const CellSource& cells) {
  Table table{
      columns_of({"cell", ">ranks", ">spread", "slowest rank", ">above the others", "stays slow"})};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::map<std::int64_t, Slowest> slowest;
    std::vector<double> spreads;
    std::int64_t ranks = 0;
    cells.each_trial(i, [&](const Trial& trial) {
      if (!trial.ranks) return;
      ranks = std::max(ranks, trial.ranks->ranks);
      spreads.push_back(trial.ranks->spread);
      const RankRecord::Rank& rank = trial.ranks->slowest;
      Slowest& entry = slowest[rank.rank];
      entry.name = rank_text(rank);
      entry.ratios.push_back(rank.ratio);
      const auto& named = trial.ranks->stragglers;
      entry.named += std::ranges::count(named, rank.rank, &RankRecord::Rank::rank) > 0 ? 1 : 0;
    });
    if (spreads.empty()) continue;
    const auto& most = std::ranges::max_element(slowest, {}, [](const auto& entry) {
                         return entry.second.ratios.size();
                       })->second;
    const Cell cell = cells.cell(i);
    table.rows.push_back({key_with_kind(cell.key, cell.kind), std::to_string(ranks),
                          percent_text(median(spreads)), most.name,
                          percent_text(median(most.ratios) - 1),
                          fmt::format("in {} of {} trials", most.named, spreads.size())});
  }
  return table;
}

Table node_table(const CellSource& cells) {
  Table table{columns_of({"cell", "node", ">ranks", ">min, s", ">median, s", ">max, s"})};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    struct Times {
      std::int64_t ranks = 0;
      double min = 0, max = 0;
      std::vector<double> medians;
    };
    std::map<std::string, Times> nodes;
    cells.each_trial(i, [&](const Trial& trial) {
      if (!trial.ranks) return;
      for (const RankRecord::Node& node : trial.ranks->nodes) {
        Times& times = nodes[node.node];
        const bool first = times.medians.empty();
        times.ranks = std::max(times.ranks, node.ranks);
        times.min = first ? node.min_s : std::min(times.min, node.min_s);
        times.max = first ? node.max_s : std::max(times.max, node.max_s);
        times.medians.push_back(node.median_s);
      }
    });
    std::vector<std::pair<double, std::vector<std::string>>> rows;
    const Cell cell = cells.cell(i);
    for (auto& [node, times] : nodes) {
      const double middle = median(std::move(times.medians));
      rows.emplace_back(
          middle, std::vector<std::string>{key_with_kind(cell.key, cell.kind),
                                           node.empty() ? "unknown" : node,
                                           std::to_string(times.ranks), number_text(times.min),
                                           number_text(middle), number_text(times.max)});
    }
    std::ranges::stable_sort(rows, std::greater<>(), [](const auto& row) { return row.first; });
    for (auto& row : rows) table.rows.push_back(std::move(row.second));
  }
  return table;
}

std::string preflight_note(const ResultSet& set) {
  const auto& environment = *set.environment;
  const auto preflight = environment.find("preflight");
  if (preflight == environment.end()) return {};
  const auto outliers = preflight->find("outliers"), created = preflight->find("created");
  std::string out;
  if (outliers == preflight->end()) return {};
  for (const auto& outlier : *outliers) {
    if (outlier.is_string()) out += (out.empty() ? "" : "; ") + outlier.get<std::string>();
  }
  const bool dated = created != preflight->end() && created->is_string();
  return out.empty() ? out
                     : fmt::format("the preflight{} named {}",
                                   dated ? " of " + created->get<std::string>() : "", out);
}

}  // namespace bertbench
