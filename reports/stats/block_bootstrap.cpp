#include "reports/stats/block_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kMostValues = 4096;

// Autocovariances at lags 0 .. most.
std::vector<double> autocovariances(std::span<const double> y, std::size_t most) {
  const double centre = mean(y);
  std::vector<double> out(most + 1, 0);
  for (std::size_t lag = 0; lag <= most; ++lag) {
    for (std::size_t i = lag; i < y.size(); ++i) {
      out[lag] += (y[i] - centre) * (y[i - lag] - centre);
    }
    out[lag] /= static_cast<double>(y.size());
  }
  return out;
}

// Uniform in [0, bound) without the library's distributions, whose results differ by vendor. The
// bias of the multiplication is below bound / 2^64.
std::size_t below(std::mt19937_64& random, std::size_t bound) {
  return static_cast<std::size_t>((Wide{random()} * bound) >> 64);
}

}  // namespace

std::size_t block_length(std::span<const double> series) {
  const std::size_t n = series.size();
  if (n < 4) return 1;
  const double size = static_cast<double>(n);
  const auto in_a_row =
      static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(std::log10(size)))));
  const std::size_t most =
      std::min(n - 1, static_cast<std::size_t>(std::ceil(std::sqrt(size))) + in_a_row);
  const auto r = autocovariances(series, most);
  if (!(r[0] > 0)) return 1;
  // m: the last lag before `in_a_row` insignificant ones.
  const double significant = 2 * std::sqrt(std::log10(size) / size);
  std::size_t m = 0;
  for (std::size_t lag = 1; lag <= most && lag <= m + in_a_row; ++lag) {
    if (std::abs(r[lag]) > significant * r[0]) m = lag;
  }
  const std::size_t reach = std::min(2 * std::max<std::size_t>(m, 1), most);
  double g0 = r[0];
  double weighted = 0;
  for (std::size_t lag = 1; lag <= reach; ++lag) {
    const double t = static_cast<double>(lag) / static_cast<double>(reach);
    const double taper = t <= 0.5 ? 1 : 2 * (1 - t);  // flat-top lag window
    g0 += 2 * taper * r[lag];
    weighted += 2 * taper * static_cast<double>(lag) * r[lag];
  }
  const double d = 4.0 / 3.0 * g0 * g0;
  const double bound = std::ceil(std::min(3 * std::sqrt(size), size / 3));
  if (!(d > 0)) return static_cast<std::size_t>(bound);
  const double b = std::cbrt(2 * weighted * weighted / d * size);
  return static_cast<std::size_t>(std::clamp(std::ceil(b), 1.0, bound));
}

std::optional<BlockInterval> bootstrap_mean(std::span<const double> series, double confidence,
                                            std::size_t resamples) {
  if (series.size() < kLeastForBootstrap) return std::nullopt;
  const std::size_t batch = (series.size() + kMostValues - 1) / kMostValues;
  std::vector<double> y;
  for (std::size_t i = 0; i + batch <= series.size(); i += batch) {
    y.push_back(mean(series.subspan(i, batch)));
  }
  const std::size_t n = y.size();
  const std::size_t block = block_length(y);
  std::vector<double> sum(n + 1, 0);  // about the first value: keeps the differences exact enough
  for (std::size_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + (y[i] - y[0]);

  std::mt19937_64 random(20171217);  // any fixed number: the interval must not change by rerunning
  std::vector<double> means(resamples);
  for (double& value : means) {
    double total = 0;
    for (std::size_t taken = 0; taken < n; taken += block) {
      const std::size_t length = std::min(block, n - taken);
      const std::size_t at = below(random, n - block + 1);
      total += sum[at + length] - sum[at];
    }
    value = y[0] + total / static_cast<double>(n);
  }
  const double tail = (1 - confidence) / 2;
  BlockInterval out;
  out.interval = {quantile(means, tail), quantile(means, 1 - tail), confidence};
  out.block = block * batch;
  return out;
}

}  // namespace bertbench
