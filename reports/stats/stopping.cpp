#include "reports/stats/stopping.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>

#include "reports/stats/normals.h"

namespace bertbench {
namespace {

constexpr double kEarlyWeight = 0.02;  // of all early looks together
// Level at which a look refutes the loss: at four looks it costs less power than the simulation of
// docs/gate.md can show.
constexpr double kNoLossLevel = 0.0002;

}  // namespace

nlohmann::ordered_json to_json(const StoppingRule& rule) {
  const auto& [base, looks, tests, alpha, floor, loss] = rule;
  return {{"rule", kStoppingRule}, {"base", base},   {"looks", looks}, {"tests", tests},
          {"alpha", alpha},        {"floor", floor}, {"loss", loss}};
}

std::optional<StoppingRule> stopping_rule(const nlohmann::ordered_json& json) {
  if (!json.is_object() || json.value("rule", nlohmann::ordered_json()) != kStoppingRule) {
    return std::nullopt;
  }
  StoppingRule out;
  try {
    json.at("base").get_to(out.base);
    json.at("looks").get_to(out.looks);
    json.at("tests").get_to(out.tests);
    json.at("alpha").get_to(out.alpha);
    json.at("floor").get_to(out.floor);
    json.at("loss").get_to(out.loss);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  const bool rising =
      !out.looks.empty() && out.looks.front() >= 1 &&
      std::ranges::adjacent_find(out.looks, std::greater_equal<>()) == out.looks.end() &&
      std::cmp_less_equal(out.looks.back(), kMostPairs);
  const auto is_share = [](double x) { return x > 0 && x < 1; };
  const bool good = rising && out.tests >= 1 && is_share(out.alpha) && out.floor >= 0 &&
                    out.floor < 1 && is_share(out.loss);
  return good ? std::optional(std::move(out)) : std::nullopt;
}

std::vector<int> stopping_looks(int most) {
  std::vector<int> out;
  const int least = static_cast<int>(pairs_needed(kNoLossLevel));  // fewer can refute nothing
  for (int eighths = 4; eighths < 8; ++eighths) {
    const int look = (most * eighths + 7) / 8;
    if (look >= least) out.push_back(look);
  }
  out.push_back(most);
  return out;
}

double look_weight(const std::vector<int>& looks, std::size_t k) {
  const std::size_t early = looks.size() - 1;
  if (early == 0) return 1;
  return k == early ? 1 - kEarlyWeight : kEarlyWeight / static_cast<double>(early);
}

double look_floor(const StoppingRule& rule, std::size_t k, double log_floor) {
  return log_floor * rule.looks.back() / rule.looks[k];
}

LookOutcome outcome_at_look(const StoppingRule& rule, std::size_t k,
                            std::span<const double> log_ratios, const PairTest& test) {
  const double level = rule.alpha * share_of_alpha(test) * look_weight(rule.looks, k) / rule.tests;
  const double change = std::log1p(test.change.change);
  if (test.p_slower <= level && change < look_floor(rule, k, std::log1p(-rule.floor))) {
    return LookOutcome::slower;
  }
  if (k + 1 == rule.looks.size()) return LookOutcome::no_loss;
  std::vector<double> beyond(log_ratios.begin(), log_ratios.end());
  for (double& x : beyond) x -= std::log1p(-rule.loss);
  return signed_rank(beyond).p_greater <= kNoLossLevel ? LookOutcome::no_loss
                                                       : LookOutcome::goes_on;
}

StoppingPower stopping_power(const StoppingRule& rule, double noise, double loss, int draws) {
  Normals normal(20261127);
  std::vector<double> ratios(static_cast<std::size_t>(rule.looks.back()));
  double found = 0, pairs = 0;
  for (int draw = 0; draw < draws; ++draw) {
    for (double& x : ratios) x = std::log1p(-loss) + std::numbers::sqrt2 * noise * normal();
    for (std::size_t k = 0; k < rule.looks.size(); ++k) {
      const auto so_far = std::span(ratios).first(static_cast<std::size_t>(rule.looks[k]));
      const LookOutcome outcome = outcome_at_look(rule, k, so_far, test_pairs(so_far, rule.floor));
      if (outcome == LookOutcome::goes_on) continue;
      found += outcome == LookOutcome::slower ? 1 : 0;
      pairs += rule.looks[k];
      break;
    }
  }
  return {found / draws, pairs / draws};
}

}  // namespace bertbench
