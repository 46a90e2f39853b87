// What all cells of a run gained or lost together, and whether the machine itself did. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "reports/model/result_set.h"

namespace bertbench {

/// Fewer cells do not separate what they share from what is their own.
inline constexpr std::size_t kCellsForSharedShift = 4;

struct SharedShift {
  std::size_t cells = 0;
  double shift = 0;  ///< median of the cells' log ratios now / baseline
  /// Log ratio of the machine's own speed, by the harness's probe: of products and of copies the
  /// one that is nearer to `shift`. Absent where a side was not probed.
  std::optional<double> probe;

  /// What cells and probe both lost, as a log ratio; 0 where either did not.
  [[nodiscard]] double of_machine() const;
};

/// `changes` are the log ratios of the cells that were compared. Absent for too few of them.
[[nodiscard]] std::optional<SharedShift> shared_shift(std::span<const double> changes,
                                                      const ResultSet& now,
                                                      std::span<const ResultSet* const> runs);

/// "changed by -3.1 % by its probe", "was not probed".
[[nodiscard]] std::string probe_words(const SharedShift& shared);

}  // namespace bertbench
