#include "reports/stats/signed_rank.h"

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

// Differences: of more, the normal approximation differs from the exact tail by less than the p is
// printed with.
constexpr std::size_t kMostCountedExactly = 400;

/// Ranks times two, so that shared ranks are whole numbers.
struct DoubledRanks {
  std::vector<std::size_t> ranks;  ///< of the differences other than zero
  std::size_t positive = 0;        ///< sum of those of the positive ones
  std::size_t total = 0;           ///< sum of all
  bool one_to_n = true;            ///< neither ties nor zeros: 2, 4 ... 2n
};

DoubledRanks doubled_ranks(std::span<const double> differences) {
  std::vector<double> sorted(differences.begin(), differences.end());
  std::ranges::sort(sorted, {}, [](double x) { return std::abs(x); });
  DoubledRanks out;
  out.ranks.reserve(sorted.size());
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t end = first + 1;
    while (end < sorted.size() && std::abs(sorted[end]) == std::abs(sorted[first])) ++end;
    const std::size_t rank = first + end + 1;  // twice the mean of first + 1 ... end
    out.one_to_n &= end == first + 1 && sorted[first] != 0;
    for (std::size_t i = first; i < end && sorted[first] != 0; ++i) {
      out.ranks.push_back(rank);
      out.total += rank;
      if (sorted[i] > 0) out.positive += rank;
    }
    first = end;
  }
  return out;
}

/// P(S <= s) for s = 0 .. top, where S is the sum of those ranks whose sign is positive.
std::vector<double> sum_distribution(const std::vector<std::size_t>& ranks, std::size_t top) {
  std::vector<double> chance(top + 1, 0.0);
  chance[0] = 1;
  std::size_t reach = 0;  // the largest sum so far
  for (const std::size_t rank : ranks) {
    reach = std::min(top, reach + rank);
    for (double& x : std::span(chance).first(reach + 1)) x /= 2;
    for (std::size_t s = reach; s >= rank; --s) chance[s] += chance[s - rank];
  }
  std::partial_sum(chance.begin(), chance.end(), chance.begin());
  return chance;
}

/// The same for the ranks 1 to n, the lower half of all sums. It depends on n alone: a grid of
/// thousands of cells asks for it again and again.
const std::vector<double>& untied_distribution(std::size_t n) {
  static std::mutex mutex;
  static std::map<std::size_t, std::vector<double>> cache;
  const std::lock_guard lock(mutex);
  auto& entry = cache[n];
  if (entry.empty()) {
    std::vector<std::size_t> ranks(n);
    std::iota(ranks.begin(), ranks.end(), std::size_t{1});
    entry = sum_distribution(ranks, n * (n + 1) / 4);
  }
  return entry;
}

/// P(S <= s) for a sum below half of all; 0 for s below 0.
double lower_tail(const DoubledRanks& of, std::ptrdiff_t s) {
  if (s < 0) return 0;
  const auto at = static_cast<std::size_t>(s);
  if (of.one_to_n) return untied_distribution(of.ranks.size())[at / 2];
  return sum_distribution(of.ranks, at).back();
}

void approximate(const DoubledRanks& of, SignedRank& out) {
  double squares = 0;
  for (const std::size_t rank : of.ranks) {
    squares += static_cast<double>(rank) * static_cast<double>(rank) / 4;
  }
  const boost::math::normal_distribution<double> normal(static_cast<double>(of.total) / 4,
                                                        std::sqrt(squares / 4));
  out.exact = false;
  out.p_less = boost::math::cdf(normal, out.w + 0.5);
  out.p_greater = boost::math::cdf(boost::math::complement(normal, out.w - 0.5));
}

}  // namespace

SignedRank signed_rank(std::span<const double> differences) {
  const DoubledRanks ranks = doubled_ranks(differences);
  SignedRank out;
  out.n = ranks.ranks.size();
  out.w = static_cast<double>(ranks.positive) / 2;
  if (out.n > kMostCountedExactly) {
    approximate(ranks, out);
  } else {
    // The distribution is symmetric: P(S >= s) = P(S <= total - s).
    const std::size_t small = std::min(ranks.positive, ranks.total - ranks.positive);
    const auto s = static_cast<std::ptrdiff_t>(small);
    const double low = lower_tail(ranks, s);
    // In the untied case doubled sums are even: the next smaller one is s - 2.
    const double high = 1 - lower_tail(ranks, s - (ranks.one_to_n ? 2 : 1));
    out.p_less = ranks.positive == small ? low : high;
    out.p_greater = ranks.positive == small ? high : low;
  }
  out.p_two_sided = std::min(1.0, 2 * std::min(out.p_less, out.p_greater));
  return out;
}

double smallest_paired_p(std::size_t n) {
  return std::ldexp(1.0, -static_cast<int>(std::min<std::size_t>(n, 2000)));
}

std::size_t pairs_needed(double level) {
  std::size_t n = 0;
  while (n < 2000 && smallest_paired_p(n) > level) ++n;
  return n;
}

std::optional<std::size_t> critical_signed_rank(std::size_t n, double level) {
  if (smallest_paired_p(n) > level) return std::nullopt;
  const auto& chance = untied_distribution(n);
  const auto above = std::ranges::upper_bound(chance, level);
  return static_cast<std::size_t>(above - chance.begin()) - 1;
}

namespace {

std::vector<double> walsh_means(std::span<const double> values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  return means;
}

/// 1-based ranks among the Walsh means of an interval's low end, and its coverage.
std::optional<std::pair<std::size_t, double>> interval_rank(std::size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  if (n <= kMostCountedExactly) {
    const auto w = critical_signed_rank(n, tail);
    if (!w) return std::nullopt;
    return std::pair(*w + 1, 1 - 2 * untied_distribution(n)[*w]);
  }
  const auto count = static_cast<double>(n);
  const boost::math::normal_distribution<double> normal(
      count * (count + 1) / 4, std::sqrt(count * (count + 1) * (2 * count + 1) / 24));
  return std::pair(static_cast<std::size_t>(boost::math::quantile(normal, tail)), confidence);
}

}  // namespace

double hodges_lehmann(std::span<const double> values) { return median(walsh_means(values)); }

PairedChange paired_change(std::span<const double> log_ratios, double confidence) {
  std::vector<double> means = walsh_means(log_ratios);
  PairedChange out;
  out.change = std::expm1(median(means));
  const auto rank = interval_rank(log_ratios.size(), confidence);
  if (!rank) return out;
  const auto at = [&](std::size_t i) {
    const auto nth = means.begin() + static_cast<std::ptrdiff_t>(i);
    std::ranges::nth_element(means, nth);
    return std::expm1(*nth);
  };
  const double low = at(rank->first - 1);
  out.interval = Interval{low, at(means.size() - rank->first), rank->second};
  return out;
}

}  // namespace bertbench
