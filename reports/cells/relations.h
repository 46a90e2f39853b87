// What follows for a cell from the other cells of its result: base, speedup, efficiency, and the
// warning of lengths that vary. Works on a few figures of each, as a result may have very many.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/core/notice.h"
#include "reports/cells/summarize.h"

namespace bertbench {

struct CellFigures {
  CellFigures() = default;
  /// Of a summarized cell; both it and its key are to outlive them.
  CellFigures(const Cell& cell, const Identity& its_identity, const std::string& its_key);

  const Identity* identity = nullptr;  ///< cells that share one object are related quickly
  const std::string* key = nullptr;    ///< of the identity
  WorkKind kind = WorkKind::training;
  bool emulated = false;
  std::optional<std::int64_t> world, global_batch;  ///< as of the cell
  double rate = kUnknown;                           ///< median in sequences/s, above 0, else NaN
  std::size_t run = 0;                              ///< which of several, by Cell::result
  bool strong = false;  ///< its speedup is over the same global batch alone

  // What relate() finds.
  std::uint32_t twin = 1;  ///< 1 for the first cell of its key, 2 for the second and so on
  std::uint32_t base = 0, precision_base = 0;
  /// Rate over the base's rate; that over the ratio of their GPUs (scaling_efficiency() in
  /// reports/stats/scaling.h); rate over that of the same cell in TF32 or FP32. Fractions, not
  /// percent.
  double speedup = kUnknown, efficiency = kUnknown, precision_speedup = kUnknown;
  std::string_view scaling;

  [[nodiscard]] bool has_rate() const { return rate > 0; }
  /// The key that no other cell has: "#2" after that of the second one.
  [[nodiscard]] std::string unique_key() const;
};

struct Relations {
  std::vector<Notice> notices;                           ///< what a reader should know
  std::vector<std::pair<std::size_t, Notice>> warnings;  ///< of cells by their index
};

/// `cells` are in the order of the result. Of the options, `flops_formula` is ignored.
[[nodiscard]] Relations relate(std::span<CellFigures> cells, const SummaryOptions& options);

/// Writes what relate() found for a summarized cell into it, and its FLOPs by `flops_formula` (see
/// count_flops()).
void put_relations(Cell& cell, const CellFigures& figures, std::span<const CellFigures> all,
                   std::string_view flops_formula);

}  // namespace bertbench
