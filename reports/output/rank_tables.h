// What results show of ranks and nodes one by one (RankRecord): tables. The heat map of a trial is
// plot/rank_maps.h.
#pragma once

#include <string>

#include "reports/model/cell_source.h"
#include "reports/model/result_set.h"
#include "reports/output/table.h"

namespace bertbench {

/// A row a cell: how many ranks, their spread, the slowest one, and in how many trials it stays
/// slow. Without rows where no trial has ranks of its own.
[[nodiscard]] Table rank_table(const CellSource& cells);
/// A row a cell and node: least, median and largest own time of its ranks over the trials.
[[nodiscard]] Table node_table(const CellSource& cells);
/// What the numbers of both are.
inline constexpr const char* kRankTimesNote =
    "own times: seconds of a step before the ranks wait for each other";

/// "the preflight of 2026-11-27T09:00:00Z named node 2 (gpu07): ..."; empty where it named nothing
/// or there was none (bertbench doctor --launcher).
[[nodiscard]] std::string preflight_note(const ResultSet& set);

}  // namespace bertbench
