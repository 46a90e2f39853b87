// The gate over pairs (`check --paired`): variants of one run held against each other. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/gate/verdicts.h"

namespace bertbench {

/// Default of GateOptions::floor for pairs. A loss of 2 % must lie as far above it as no loss lies
/// below: docs/gate.md has what other values find and fail.
inline constexpr double kPairedFloor = 0.013;

/// Names of the variants that the cells of the result were measured with, in order of appearance.
[[nodiscard]] std::vector<std::string> variants_of(const ResultSet& result);

/// Holds every cell of every other variant against the same cell of the variant `base`. Halves of a
/// pair are trials of one number and session (BlockPlace). A cell regresses when the exact
/// one-sided signed-rank p of its pairs' log ratios passes Holm over the cells compared (at a fifth
/// of alpha where the cell is too noisy for the floor to guard it), and their Hodges-Lehmann loss
/// exceeds the floor. Variants are meant to differ, so neither their context
/// nor the environment, which is one, keeps them from being compared; unit, estimator and window do
/// where they differ.
[[nodiscard]] GateReport check_paired(const ResultSet& result, const std::string& base,
                                      const GateOptions& options);

}  // namespace bertbench
