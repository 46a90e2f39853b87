// The gate over pairs (`check --paired`): variants of one run held against each other. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/gate/verdicts.h"
#include "reports/stats/stopping.h"

namespace bertbench {

/// Default of GateOptions::floor for pairs. It lies between no loss and the loss of 2 % that must
/// be found; docs/gate.md shows what other values find and fail.
inline constexpr double kPairedFloor = 0.013;

/// Key of a cell's context under which a sweep with "trials": "auto" records its StoppingRule.
inline constexpr const char* kStoppingKey = "stopping";
/// The stopping rule of the run; none where it measured a fixed number of pairs.
[[nodiscard]] std::optional<StoppingRule> stopping_rule_of(const ResultSet& result);
/// True where the pairs of the run ended by a rule that this release does not know, so that no test
/// is exact for them.
[[nodiscard]] bool has_unknown_stopping_rule(const ResultSet& result);

/// Keys of the cells (of the variants other than the base) that the first `looks` of the rule have
/// ended by the trials so far. `so_far` holds the rule in its cells' context.
[[nodiscard]] std::set<std::string> ended_pairs(const ResultSet& so_far, const StoppingRule& rule,
                                                std::size_t looks);

/// Names of the variants that the cells of the result were measured with, in order of appearance.
[[nodiscard]] std::vector<std::string> variants_of(const ResultSet& result);

/// Holds every cell of every other variant against the same cell of the variant `base`. Halves of a
/// pair are trials of one number and session (BlockPlace). A cell regresses when the exact
/// one-sided signed-rank p of its pairs' log ratios passes Holm over the cells compared (at a fifth
/// of alpha where the cell is too noisy for the floor to guard it), and their Hodges-Lehmann loss
/// exceeds the floor. Of four cells or more, what running second in a pair costs them in the median
/// is taken off their ratios first. Variants are meant to differ, so a different context keeps no
/// pair from being compared; a different unit, estimator or window does.
[[nodiscard]] GateReport check_paired(const ResultSet& result, const std::string& base,
                                      const GateOptions& options);

/// As confirm() of verdicts.h, of pairs: `rerun` holds both variants of each flagged cell, measured
/// in turn once more. The flagged cells alone are judged against `base` as at first, with Holm over
/// them.
[[nodiscard]] GateReport confirm_paired(GateReport first, const ResultSet& rerun,
                                        const std::string& base, const GateOptions& options);

}  // namespace bertbench
