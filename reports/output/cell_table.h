// The table of cells that people read: one row per cell, every column that can be known.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/stated_values.h"
#include "reports/model/cell_source.h"
#include "reports/model/result_set.h"
#include "reports/output/table.h"

namespace bertbench {

/// Whether its key does not show which log a cell stands for: model or topology are unknown, or a
/// twin has the same facts ("#2").
[[nodiscard]] bool needs_name_of_log(const Cell& cell);

/// All columns, in reading order: facts, further axes, then n, rate, interval, cv, speedup,
/// efficiency, per GPU, TFLOPS, MFU, HFU, peak memory, power, energy, times, failures; the log of
/// each cell of one trial, where a cell needs_name_of_log(). Unknown
/// cells are empty, a failed cell has how it failed. Use varying_columns(table,
/// cell_table_keep(table), ...) for what to show.
[[nodiscard]] Table cell_table(const ResultSet& set);

/// Cell::stability of every cell that has one, a row each quality: cell, quality, n, mean, standard
/// deviation (n - 1), least, most. Without rows where no cell has any.
[[nodiscard]] Table stability_table(const CellSource& cells);

/// A part of a cell's step: its time, and its share of the step where step times are known.
struct CellPart {
  std::string part;    ///< one of kStepPartNames
  double seconds = 0;  ///< median over the trials of Trial::parts
  std::optional<double> share;
};
/// In the order of kStepPartNames; empty where no trial of the cell knows any.
[[nodiscard]] std::vector<CellPart> parts_of(const std::vector<Trial>& trials);
/// "forward 12.1 ms (31 %), optimizer 3.2 ms (8 %)"; empty without parts.
[[nodiscard]] std::string parts_text(const std::vector<CellPart>& parts);
/// parts_of() each cell of the set, a row each cell, a column each part that any of them has.
/// Without rows where no cell has any.
[[nodiscard]] Table parts_table(const ResultSet& set);

/// A value that the logs of a cell print of one GPU, and the same as bertbench computes it.
struct StatedComparison {
  const StatedName* name = nullptr;
  double stated = 0;  ///< median over the trials of Trial::stated
  std::size_t n = 0;  ///< trials that have it
  /// TFLOPS by the cell's formula; power as it was watched, over GPUs; that times the seconds of an
  /// iteration; tokens/s over GPUs. Absent where an input is unknown.
  std::optional<double> computed;
};
/// In the order of kStatedNames; empty where no trial of the cell has any.
[[nodiscard]] std::vector<StatedComparison> stated_of(const Cell& cell);
/// "812.5 TFLOP/s (computed 805.1), 623.1 W"; empty without values.
[[nodiscard]] std::string stated_text(const std::vector<StatedComparison>& values);
/// stated_of() each cell of the set, a row each value: cell, what, stated, n, computed, difference
/// of what is stated from what is computed, the last two where any is computed. Without rows where
/// no log states any.
[[nodiscard]] Table stated_table(const ResultSet& set);

/// Headings that stay even when all rows agree: the measured columns.
[[nodiscard]] std::vector<std::string> cell_table_keep(const Table& table);

/// "sequences/s", or "throughput" when the cells differ in unit.
[[nodiscard]] std::string rate_heading(const ResultSet& set);

/// "bert-large bf16 s128 b64 2n8g", of the facts that vary over the set only; the key if none do.
[[nodiscard]] std::vector<std::string> short_names(const ResultSet& set);
[[nodiscard]] std::vector<std::string> short_names(const CellSource& cells);

}  // namespace bertbench
