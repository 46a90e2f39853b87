// A share of simulated grids with its interval.
#pragma once

#include <fmt/format.h>

#include <boost/math/distributions/beta.hpp>
#include <string>

namespace bertbench {

/// "  4.02 % (3.75 to 4.30)", 95 % by Clopper and Pearson 1934.
inline std::string share_text(int k, int n) {
  using boost::math::beta_distribution;
  const double low = k == 0 ? 0 : quantile(beta_distribution<>(k, n - k + 1), 0.025);
  const double high = k == n ? 1 : quantile(beta_distribution<>(k + 1, n - k), 0.975);
  return fmt::format("{:6.2f} % ({:.2f} to {:.2f})", 100.0 * k / n, 100 * low, 100 * high);
}

}  // namespace bertbench
