#include "reports/stats/pairs.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "reports/stats/normals.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kHitSigmas = 3.5;                // robust sd below the median of the variant
constexpr std::size_t kFewestPairsForHits = 6;    // fewer do not fix a robust sd
constexpr std::size_t kPairsForEachHit = 3;       // more hits are how the cell behaves
constexpr double kOneSidedHits = 0.05;            // p below which one variant is hit more by itself
constexpr double kGuardedErrors = 2.1;            // standard errors that the floor has to be
constexpr double kSigmasOf95 = 1.96;              // half of a 95 % interval of normal data
constexpr std::size_t kPairsOfWiderInterval = 5;  // that can decide, and have no interval of 95 %
constexpr double kSigmasOf93 = 1.863;             // of one of 93.75 %: all that five pairs span

/// Half by half, what its variant's median does not explain.
std::vector<double> residuals(std::span<const double> halves, std::span<const double> shared) {
  std::vector<double> out(halves.begin(), halves.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= shared[i];
  const double middle = median(out);
  for (double& x : out) x -= middle;
  return out;
}

/// Whether the halves of one variant were hit more often than chance gives where both are as often:
/// exact two-sided sign test over the pairs of which one half was hit.
bool hits_take_sides(std::size_t base, std::size_t now) {
  const boost::math::binomial_distribution<> by_chance(static_cast<double>(base + now), 0.5);
  return 2 * boost::math::cdf(by_chance, static_cast<double>(std::min(base, now))) <= kOneSidedHits;
}

/// paired_power(), or some lower value as soon as it is certain to be below `least`.
double power_above(const PairModel& model, double loss, int draws, double least) {
  const double level = model.alpha / static_cast<double>(std::max<std::size_t>(1, model.cells));
  if (smallest_paired_p(model.pairs) > level) return 0;
  Normals normal(20260103);
  std::vector<double> ratios(model.pairs);
  const double misses_left = (1 - least) * draws + 1;  // one more than may be, as that is rounded
  int found = 0;
  for (int draw = 0; draw < draws && draw - found <= misses_left; ++draw) {
    for (double& x : ratios) x = std::log1p(-loss) + std::numbers::sqrt2 * model.noise * normal();
    const PairTest test = test_pairs(ratios, model.floor);
    const bool significant = test.p_slower <= level * share_of_alpha(test);
    found += significant && test.change.change < -model.floor ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(draws);
}

}  // namespace

std::vector<bool> hit_pairs(const LogPairs& pairs, std::span<const double> shared) {
  const std::size_t n = pairs.size();
  std::vector<bool> hit(n, false);
  if (n < kFewestPairsForHits) return hit;
  const std::vector<double> base = residuals(pairs.base, shared);
  const std::vector<double> now = residuals(pairs.now, shared);
  std::vector<double> all = base;
  all.insert(all.end(), now.begin(), now.end());
  const double sigma = kMadToSigma * median_absolute_deviation(all, 0.0) *
                       std::sqrt(static_cast<double>(n) / static_cast<double>(n - 1));
  const auto is_low = [&](double half) { return sigma > 0 && half < -kHitSigmas * sigma; };
  std::size_t hits = 0, base_alone = 0, now_alone = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool base_low = is_low(base[i]), now_low = is_low(now[i]);
    hit[i] = base_low || now_low;
    hits += hit[i] ? 1 : 0;
    base_alone += base_low && !now_low ? 1 : 0;
    now_alone += now_low && !base_low ? 1 : 0;
  }
  if (kPairsForEachHit * hits > n || hits_take_sides(base_alone, now_alone)) hit.assign(n, false);
  return hit;
}

PairTest test_pairs(std::span<const double> log_ratios, double floor) {
  PairTest out;
  out.n = log_ratios.size();
  out.change = paired_change(log_ratios);
  const SignedRank ranks = signed_rank(log_ratios);
  out.p_slower = ranks.p_less;
  out.p_faster = ranks.p_greater;
  std::vector<double> sizes(log_ratios.begin(), log_ratios.end());
  for (double& x : sizes) x = std::abs(x);
  const double most = hodges_lehmann(sizes);  // with all signs alike
  out.could_lose = -most < std::log1p(-floor);
  out.could_gain = most > std::log1p(floor);
  double error = std::numeric_limits<double>::infinity();
  if (const auto& interval = out.change.interval) {
    error = (interval->high - interval->low) / (2 * kSigmasOf95);
  } else if (log_ratios.size() == kPairsOfWiderInterval) {
    const auto [low, high] = std::ranges::minmax(log_ratios);
    error = (high - low) / (2 * kSigmasOf93);
  }
  out.guarded = floor >= kGuardedErrors * error;
  return out;
}

double paired_power(const PairModel& model, double loss, int draws) {
  return power_above(model, loss, draws, 0);
}

std::optional<std::size_t> pairs_for_loss(PairModel model, double loss, double power,
                                          std::size_t most, int draws) {
  // As trials_for_loss: the fewest from below, large counts in larger strides.
  for (std::size_t n = 5; n <= most; n += 1 + n / 20) {
    model.pairs = n;
    if (power_above(model, loss, draws, power) >= power) return n;
  }
  return std::nullopt;
}

}  // namespace bertbench
