#include "reports/store/trend.h"

#include <map>
#include <tuple>

#include "reports/model/cell_match.h"
#include "reports/stats/change_points.h"
#include "reports/stats/summary.h"

namespace bertbench {

std::vector<Trend> trends(std::span<const std::pair<StoredRun, ResultSet>> runs) {
  std::map<std::tuple<std::string, WorkKind, std::string, std::string>, Trend> by_cell;
  for (const auto& [stored, results] : runs) {
    for (const Cell& cell : results.cells) {
      const Sample sample = sample_of(cell);
      if (sample.values.empty()) continue;
      Trend& trend = by_cell[{cell.key, cell.kind, stored.machine, sample.unit}];
      trend.key = cell.key;
      trend.kind = cell.kind;
      trend.machine = stored.machine;
      trend.unit = sample.unit;
      trend.points.push_back(
          {stored, median(sample.values), static_cast<int>(sample.values.size())});
    }
  }
  std::vector<Trend> out;
  for (auto& [name, trend] : by_cell) {
    std::vector<double> series;
    for (const TrendPoint& point : trend.points) series.push_back(point.median);
    auto edges = change_points(series);
    edges.push_back(series.size());
    std::size_t begin = 0;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      const std::span<const double> all(series);
      const double before = median(all.subspan(begin, edges[i] - begin));
      const double after = median(all.subspan(edges[i], edges[i + 1] - edges[i]));
      trend.shifts.push_back({edges[i], before, after, after / before - 1});
      begin = edges[i];
    }
    out.push_back(std::move(trend));
  }
  return out;
}

}  // namespace bertbench
