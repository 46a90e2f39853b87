#include "reports/stats/rank_test.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <vector>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kExactWork = 1e8;

// Sizes of the groups of equal values, in order of the values.
std::vector<std::size_t> tie_groups(std::span<const double> a, std::span<const double> b) {
  std::vector<double> pooled(a.begin(), a.end());
  pooled.insert(pooled.end(), b.begin(), b.end());
  std::ranges::sort(pooled);
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    if (i > 0 && pooled[i] == pooled[i - 1]) {
      ++groups.back();
    } else {
      groups.push_back(1);
    }
  }
  return groups;
}

// Probabilities of the doubled rank sum (midranks become integers) of k values drawn without
// order from the pooled values: ways[j][s] counts the splits that put j values in the sample.
std::vector<double> rank_sum_distribution(const std::vector<std::size_t>& groups, std::size_t k) {
  const std::size_t total = std::accumulate(groups.begin(), groups.end(), std::size_t{0});
  const std::size_t top = 2 * total * k;  // k times the largest doubled rank
  std::vector<std::vector<double>> ways(k + 1, std::vector<double>(top + 1, 0.0));
  ways[0][0] = 1;
  std::size_t before = 0;
  for (const std::size_t size : groups) {
    const std::size_t doubled_rank = 2 * before + size + 1;
    for (std::size_t member = 0; member < size; ++member) {
      for (std::size_t j = std::min(k, before + member + 1); j >= 1; --j) {
        auto& to = ways[j];
        const auto& from = ways[j - 1];
        for (std::size_t s = doubled_rank; s <= top; ++s) to[s] += from[s - doubled_rank];
      }
    }
    before += size;
  }
  auto distribution = std::move(ways[k]);
  const double splits = std::accumulate(distribution.begin(), distribution.end(), 0.0);
  for (double& x : distribution) x /= splits;
  return distribution;
}

// The tie-free case depends on the sizes alone: a grid of thousands of cells asks for it again
// and again.
std::vector<double> distribution_of(const std::vector<std::size_t>& groups, std::size_t k) {
  const std::size_t total = std::accumulate(groups.begin(), groups.end(), std::size_t{0});
  if (groups.size() != total) return rank_sum_distribution(groups, k);
  static std::mutex mutex;
  static std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> cache;
  const std::lock_guard lock(mutex);
  auto& entry = cache[{total, k}];
  if (entry.empty()) entry = rank_sum_distribution(groups, k);
  return entry;
}

// Doubled rank sum of `sample` among the pooled values.
std::size_t doubled_rank_sum(std::span<const double> sample, std::span<const double> other) {
  std::size_t sum = 0;
  for (const double x : sample) {
    std::size_t below = 0;
    std::size_t equal = 0;
    for (const auto& values : {sample, other}) {
      for (const double y : values) {
        below += y < x ? 1 : 0;
        equal += y == x ? 1 : 0;
      }
    }
    sum += 2 * below + equal + 1;
  }
  return sum;
}

MannWhitney approximate(double u, double n, double m, const std::vector<std::size_t>& groups) {
  const double total = n + m;
  double ties = 0;
  for (const std::size_t size : groups) {
    const auto t = static_cast<double>(size);
    ties += t * t * t - t;
  }
  const double variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)));
  MannWhitney out;
  out.u = u;
  out.exact = false;
  if (variance > 0) {
    const boost::math::normal_distribution<double> normal(n * m / 2, std::sqrt(variance));
    out.p_less = boost::math::cdf(normal, u + 0.5);
    out.p_greater = boost::math::cdf(boost::math::complement(normal, u - 0.5));
  }
  return out;
}

}  // namespace

MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b) {
  const std::size_t n = a.size();
  const std::size_t m = b.size();
  const auto groups = tie_groups(a, b);
  // The larger sample's rank sum is the rest of the whole: count over the smaller one.
  const bool flip = n > m;
  const std::size_t k = std::min(n, m);
  const std::size_t rank_sum = flip ? doubled_rank_sum(b, a) : doubled_rank_sum(a, b);
  const std::size_t least = k * (k + 1);  // of the doubled rank sum
  // Pairs in which the small sample's value is the larger one (ties half).
  const double wins = static_cast<double>(rank_sum - least) / 2;
  const double pairs = static_cast<double>(n) * static_cast<double>(m);
  const double u = flip ? wins : pairs - wins;  // pairs with a < b

  const auto total = static_cast<double>(n + m);
  MannWhitney out;
  if (total * static_cast<double>(k) * 2 * total * static_cast<double>(k) > kExactWork) {
    out = approximate(u, static_cast<double>(n), static_cast<double>(m), groups);
  } else {
    const auto distribution = distribution_of(groups, k);
    double low = 0;   // P(rank sum <= observed)
    double high = 0;  // P(rank sum >= observed)
    for (std::size_t s = 0; s < distribution.size(); ++s) {
      if (s <= rank_sum) low += distribution[s];
      if (s >= rank_sum) high += distribution[s];
    }
    out.u = u;
    out.p_less = std::min(1.0, flip ? low : high);
    out.p_greater = std::min(1.0, flip ? high : low);
  }
  out.p_two_sided = std::min(1.0, 2 * std::min(out.p_less, out.p_greater));
  return out;
}

double smallest_p(std::size_t n, std::size_t m) {
  double splits = 1;  // C(more + i, i) at each step, a whole number; infinite where p rounds to 0
  const auto [fewer, more] = std::minmax(n, m);
  for (std::size_t i = 1; i <= fewer; ++i) {
    splits = splits * static_cast<double>(more + i) / static_cast<double>(i);
  }
  return 1 / splits;
}

std::size_t trials_needed(double level, std::size_t m) {
  if (!(level > 0)) return 0;
  for (std::size_t n = 1; n <= 1000; ++n) {
    if (smallest_p(n, m == 0 ? n : m) <= level) return n;
  }
  return 0;
}

std::optional<ShiftRanks> shift_ranks(std::size_t n, std::size_t m, double confidence) {
  const std::size_t k = std::min(n, m);
  const auto total = static_cast<double>(n + m);
  const std::size_t pairs = n * m;
  if (total * static_cast<double>(k) * 2 * total * static_cast<double>(k) > kExactWork) {
    const double sd = std::sqrt(static_cast<double>(pairs) * (total + 1) / 12);
    const boost::math::normal_distribution<double> normal(static_cast<double>(pairs) / 2, sd);
    const double cut = boost::math::quantile(normal, (1 - confidence) / 2);
    if (cut < 1) return std::nullopt;
    const auto low = static_cast<std::size_t>(cut);
    return ShiftRanks{low, pairs + 1 - low, confidence};
  }
  // Without ties P(U < low) is the chance that the shift lies below the low-th difference.
  const auto distribution = distribution_of(std::vector<std::size_t>(n + m, 1), k);
  const std::size_t least = k * (k + 1);
  std::optional<ShiftRanks> best;
  double below = 0;
  for (std::size_t low = 1; low <= (pairs + 1) / 2; ++low) {
    below += distribution[least + 2 * (low - 1)];  // P(U <= low - 1)
    const double coverage = 1 - 2 * below;
    if (coverage < confidence) break;
    best = ShiftRanks{low, pairs + 1 - low, coverage};
  }
  return best;
}

Shift relative_shift(std::span<const double> base, std::span<const double> sample,
                     double confidence) {
  std::vector<double> differences;
  differences.reserve(base.size() * sample.size());
  for (const double b : base) {
    for (const double s : sample) differences.push_back(std::log(s / b));
  }
  // Thousands of trials a side make millions of differences: they are not sorted for three of them.
  const auto at_rank = [&](std::size_t rank) {
    const auto place = differences.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::ranges::nth_element(differences, place);
    return std::expm1(*place);
  };
  Shift out;
  out.change = std::expm1(median(differences));
  if (const auto ranks = shift_ranks(base.size(), sample.size(), confidence)) {
    out.interval = Interval{at_rank(ranks->low), at_rank(ranks->high), ranks->coverage};
  }
  return out;
}

}  // namespace bertbench
