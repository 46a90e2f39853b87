// Two result sets side by side, without a verdict (`compare`). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parsers/core/stated_values.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// What logs state of one GPU: medians over the trials that have it.
struct StatedSides {
  const StatedName* name = nullptr;
  std::optional<double> a, b;
};

struct CellComparison {
  std::string key;
  WorkKind kind = WorkKind::training;
  std::string unit;      ///< of both: name(RateUnit)
  int n_a = 0, n_b = 0;  ///< trials that count; 0 = the cell is missing there or has no number
  std::optional<double> median_a, median_b;
  std::optional<double> cv_a, cv_b;
  std::optional<double> change;      ///< Hodges-Lehmann shift from a to b, exp(shift) - 1
  std::optional<Interval> interval;  ///< exact, absent below four trials a side
  std::optional<double> p;           ///< exact two-sided Mann-Whitney, not adjusted
  std::optional<double> p_adjusted;  ///< after Holm over the cells of this comparison
  bool significant = false;          ///< p_adjusted <= alpha; print `~` otherwise
  std::optional<double> peak_memory_a, peak_memory_b;  ///< bytes on one GPU, as Cell::memory
  std::vector<StatedSides> stated;                     ///< in the order of kStatedNames
  std::vector<std::string> notes;  ///< "need >= 4 trials", differing context, only in A ...
};

[[nodiscard]] std::vector<CellComparison> compare(const ResultSet& a, const ResultSet& b,
                                                  double alpha = 0.05);

}  // namespace bertbench
