#include "reports/output/plot/rank_maps.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/output/cell_table.h"

namespace bertbench::plot {
namespace {

HeatMap rank_map(const RankRecord& record, const std::string& title, std::size_t number) {
  HeatMap map;
  map.id = fmt::format("ranks-{}", number);
  map.title = title;
  map.column_label = "to step";
  map.row_label = "rank";
  map.unit = "times the median of the ranks";
  for (const std::int64_t step : record.steps) map.columns.push_back(std::to_string(step));
  for (const RankRecord::Row& row : record.rows) {
    map.rows.push_back(std::to_string(row.rank));
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      Tile& tile = map.tiles.emplace_back();
      const double ratio = c < row.ratio.size() ? row.ratio[c] : 0;
      if (!(ratio > 0)) continue;
      tile.kind = Tile::Kind::measured;
      tile.value = ratio;
      tile.text = fmt::format("{:.2f}", ratio);
      tile.tip =
          fmt::format("rank {}, to step {}: {:.3f} {}", row.rank, map.columns[c], ratio, map.unit);
    }
  }
  set_range(map);
  return map;
}

}  // namespace

HeatMaps rank_maps(const ResultSet& set) {
  HeatMaps out;
  const std::vector<std::string> names = short_names(set);
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Trial* shown = nullptr;
    for (const Trial& trial : set.cells[i].trials) {
      if (!trial.ranks || trial.ranks->rows.empty()) continue;
      const bool names_one = !trial.ranks->stragglers.empty();
      if (shown == nullptr || (names_one && shown->ranks->stragglers.empty())) shown = &trial;
    }
    if (shown == nullptr || ++out.all > kMostMaps) continue;
    out.maps.push_back(
        rank_map(*shown->ranks,
                 fmt::format("{}{}trial {}", names[i], names[i].empty() ? "" : ", ", shown->trial),
                 out.all));
  }
  return out;
}

}  // namespace bertbench::plot
