// When the pairs of a sweep may end before the last one is measured, and what a p value is worth
// that was looked at more than once. Pure.
//
// A group-sequential design with few early looks at a strict level (Haybittle 1971, Peto et al.
// 1976): most of the error is kept for the last look, so that it hardly differs from a test of a
// fixed number. Each look k has a weight w_k, and the weights sum to 1: by Bonferroni's inequality
// the smallest p_k / w_k is a valid p value whatever the reason for which the pairs ended.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/stats/pairs.h"

namespace bertbench {

/// Loss of speed that a sweep with pairs is to find, as a fraction: above the floor of pairs, so
/// that a gate can fail for it.
inline constexpr double kLossOfPairs = 0.02;

/// As a sweep with "trials": "auto" records it in its results; `check --paired` applies it.
struct StoppingRule {
  std::string base;                    ///< the variant that the others are held against
  std::vector<int> looks;              ///< numbers of the trials after which a cell may end, rising
  int tests = 1;                       ///< cells that are compared
  double alpha = 0.05, floor = 0.013;  ///< as of the gate
  double loss = kLossOfPairs;          ///< which a cell that ends early as unchanged does not have
};
[[nodiscard]] nlohmann::ordered_json to_json(const StoppingRule& rule);
/// None where the value is no rule of this design.
[[nodiscard]] std::optional<StoppingRule> stopping_rule(const nlohmann::ordered_json& json);

/// Names the design. Another one gets another name: results of either can then be distinguished.
inline constexpr const char* kStoppingRule = "haybittle_peto_signed_rank/2";

/// Looks for at most `most` pairs (2 or more): at a half, five, six and seven eighths, and at all.
[[nodiscard]] std::vector<int> stopping_looks(int most);

/// Share of the error that look `k` of `looks` may spend.
[[nodiscard]] double look_weight(const std::vector<int>& looks, std::size_t k);

/// What a change has to exceed at look k, as a logarithm: the floor, and early as much as would
/// still exceed it at the last look if no further pair showed any (O'Brien and Fleming 1979).
[[nodiscard]] double look_floor(const StoppingRule& rule, std::size_t k, double log_floor);

enum class LookOutcome { goes_on, slower, no_loss };

/// What pairs show at look k, of the log ratios that count. `no_loss`: a loss of rule.loss is
/// refuted, so that the cell ends as it is. Never goes_on at the last look.
[[nodiscard]] LookOutcome outcome_at_look(const StoppingRule& rule, std::size_t k,
                                          std::span<const double> log_ratios, const PairTest& test);

/// Of sweeps that stop by the rule, simulated as paired_power() does. `noise`: sd of a trial, as a
/// fraction of its rate; `loss` as a fraction.
struct StoppingPower {
  double found = 0;  ///< share of cells with the loss that are regressions at the end
  double pairs = 0;  ///< on average until a cell ends
};
[[nodiscard]] StoppingPower stopping_power(const StoppingRule& rule, double noise, double loss,
                                           int draws = 1000);

}  // namespace bertbench
