// Trend: each cell's medians over the stored runs, and where their level shifted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/store/store.h"

namespace bertbench {

struct TrendPoint {
  StoredRun run;
  double median = 0;  ///< of the trials that count
  int n = 0;
};

struct TrendShift {
  std::size_t at = 0;            ///< index of the first point of the new level
  double before = 0, after = 0;  ///< medians of the levels
  double change = 0;             ///< after / before - 1
};

struct Trend {
  std::string key, machine, unit;
  WorkKind kind = WorkKind::training;
  std::vector<TrendPoint> points;  ///< in order of storing
  std::vector<TrendShift> shifts;  ///< only with kLeastForChangePoints points
};

/// One trend a cell, its kind of work, machine and unit, as rates of different ones have no common
/// level.
[[nodiscard]] std::vector<Trend> trends(std::span<const std::pair<StoredRun, ResultSet>> runs);

/// A page: a plot a cell of the medians of its runs and its levels, and a table. Cells whose level
/// shifted come first; plots of at most 40 cells, the table has all.
[[nodiscard]] std::string trend_html(const std::vector<Trend>& trends, const std::string& title);

}  // namespace bertbench
