// Trend: each cell's medians over the stored runs, and where their level shifted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/model/cell_match.h"
#include "reports/store/store.h"

namespace bertbench {

struct TrendPoint {
  StoredRun run;
  double median = 0;  ///< of the trials that count
  int n = 0;
  /// Of the environment, what is known of this run (b) and of the one before (a) and differs: a new
  /// kernel, driver, governor, library.
  std::vector<ContextDifference> machine_changes;
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

/// "kernel 6.1 -> 6.2, driver 550 -> 560"; empty where nothing changed.
[[nodiscard]] std::string machine_changes_text(const TrendPoint& point);

/// One trend a cell, its kind of work, machine and unit, as rates of different ones have no common
/// level. Shifts are the change points of the medians without spikes
/// (reports/stats/change_points.h): of steady series of 20 to 200 runs at most 2.3 % have any.
[[nodiscard]] std::vector<Trend> trends(std::span<const std::pair<StoredRun, ResultSet>> runs);

/// A page: a plot a cell of the medians of its runs and its levels, and a table. Cells whose level
/// shifted come first; plots of at most 40 cells, the table has all.
[[nodiscard]] std::string trend_html(const std::vector<Trend>& trends, const std::string& title);

}  // namespace bertbench
