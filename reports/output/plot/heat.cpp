// What the heat maps show.
#include "reports/output/plot/heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reports/output/plot/groups.h"
#include "reports/output/value_text.h"

namespace bertbench::plot {
namespace {

constexpr std::size_t kMostPlaces = 40;  // rows or columns that a reader can tell apart

using Column = std::pair<std::int64_t, std::string>;  // GPUs, topology: sorted by size

Column column_of(const Cell& cell) {
  return {*cell.identity.world_size(), topology_text(cell.identity)};
}

/// The failure in a word that fits a tile.
std::string failure_word(const Cell& cell) {
  if (ran_out_of_memory(cell)) return "OOM";
  for (const Trial& trial : cell.trials) {
    if (is_failure(trial.outcome.status)) {
      return trial.outcome.status == Status::out_of_memory ? "OOM"
             : trial.outcome.status == Status::truncated   ? "cut off"  // nine letters do not fit
                                                         : std::string(name(trial.outcome.status));
    }
  }
  return "no rate";
}

std::string tip_of(const Cell& cell, const std::string& unit) {
  std::string tip = fmt::format("{}, micro batch {}", topology_text(cell.identity),
                                *cell.identity.micro_batch_size);
  const auto& rate = cell.sequences_per_second_per_gpu;
  tip += rate ? fmt::format(": {} {}", number_text(*rate), unit) : ": no number";
  if (cell.throughput.median && rate) {
    tip += fmt::format(", {} {} in all, n = {}", number_text(*cell.throughput.median),
                       cell.throughput.unit, cell.throughput.n);
  }
  if (cell.throughput.cv) tip += ", cv " + percent_text(*cell.throughput.cv);
  if (cell.scaling_efficiency) tip += ", efficiency " + percent_text(*cell.scaling_efficiency);
  if (const std::string failed = failures_text(cell); !failed.empty()) tip += ", " + failed;
  return tip;
}

Tile tile_of(const Cell& cell, const std::string& unit) {
  Tile tile;
  tile.tip = tip_of(cell, unit);
  if (const auto rate = cell.sequences_per_second_per_gpu) {
    tile.kind = Tile::Kind::measured;
    tile.value = *rate;
    tile.text = number_text(*rate);
    tile.flawed = std::ranges::any_of(
        cell.trials, [](const Trial& trial) { return is_failure(trial.outcome.status); });
  } else {
    tile.kind = Tile::Kind::failed;
    tile.text = failure_word(cell);
  }
  return tile;
}

/// A result can hold several cells of one place (separate logs): the first with a number stands.
void put(const Cell& cell, const std::string& unit, Tile& place) {
  Tile tile = tile_of(cell, unit);
  if (place.kind == Tile::Kind::empty ||
      (place.kind == Tile::Kind::failed && tile.kind == Tile::Kind::measured)) {
    place = std::move(tile);
  }
}

HeatMap map_of(const CellGroup& group, std::size_t number) {
  std::set<std::int64_t> batches;
  std::set<Column> topologies;
  for (const Cell* cell : group.cells) {
    batches.insert(*cell->identity.micro_batch_size);
    topologies.insert(column_of(*cell));
  }
  HeatMap map;
  map.id = fmt::format("heat-{}", number);
  map.title = group.name;
  map.column_label = "topology";
  map.row_label = "micro batch";
  map.unit = fmt::format("sequences/s per {}", gpu_word(*group.cells.front()));
  for (const std::int64_t batch : batches) map.rows.push_back(std::to_string(batch));
  for (const Column& column : topologies) map.columns.push_back(column.second);
  map.tiles.resize(map.rows.size() * map.columns.size());
  for (const Cell* cell : group.cells) {
    const auto row = std::distance(batches.begin(), batches.find(*cell->identity.micro_batch_size));
    const auto column = std::distance(topologies.begin(), topologies.find(column_of(*cell)));
    put(*cell, map.unit,
        map.tiles[static_cast<std::size_t>(row) * map.columns.size() +
                  static_cast<std::size_t>(column)]);
  }
  map.low = 1;  // no value: an empty range
  for (const Tile& tile : map.tiles) {
    if (tile.kind != Tile::Kind::measured) continue;
    const bool first = map.high < map.low;
    map.low = first ? tile.value : std::min(map.low, tile.value);
    map.high = first ? tile.value : std::max(map.high, tile.value);
  }
  return map;
}

bool has_two_axes(const CellGroup& group) {
  std::set<std::int64_t> batches;
  std::set<std::string> topologies;
  for (const Cell* cell : group.cells) {
    batches.insert(*cell->identity.micro_batch_size);
    topologies.insert(topology_text(cell->identity));
  }
  const auto fits = [](std::size_t places) { return places >= 2 && places <= kMostPlaces; };
  return fits(batches.size()) && fits(topologies.size());
}

}  // namespace

HeatMaps heat_maps(const ResultSet& set) {
  const std::vector<CellGroup> groups = groups_of(
      set,
      [](const Cell& cell) { return cell.identity.micro_batch_size && cell.identity.world_size(); },
      [](Identity& identity) {
        identity.nodes = identity.gpus_per_node = identity.micro_batch_size = std::nullopt;
      },
      has_two_axes);
  HeatMaps out;
  out.all = groups.size();
  for (const CellGroup& group : groups) {
    if (out.maps.size() == kMostMaps) break;
    out.maps.push_back(map_of(group, out.maps.size() + 1));
  }
  return out;
}

Table heat_table(const HeatMap& map) {
  Table table{{{map.row_label, true}}, {}};
  for (const std::string& column : map.columns) table.columns.push_back({column, true});
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    std::vector<std::string> row{map.rows[r]};
    for (std::size_t c = 0; c < map.columns.size(); ++c) row.push_back(map.at(r, c).text);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace bertbench::plot
