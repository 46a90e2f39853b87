#include "workloads/bert/cpu/initialize.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "workloads/bert/philox.h"

namespace bert {
namespace {

/// Inverse of the normal distribution function for 0.02 < p < 0.98: Acklam's rational
/// approximation (2003), relative error 1.2e-9. Truncation at two deviations keeps p inside.
double inverse_normal(double p) {
  constexpr double kTail = 0.02425;
  if (p < kTail || p > 1 - kTail) {
    const bool lower = p < kTail;
    const double q = std::sqrt(-2 * std::log(lower ? p : 1 - p));
    const double x =
        (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
           2.549732539343734e+00) *
              q +
          4.374664141464968e+00) *
             q +
         2.938163982698783e+00) /
        ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
          3.754408661907416e+00) *
             q +
         1);
    return lower ? x : -x;
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
            1.383577518672690e+02) *
               r -
           3.066479806614716e+01) *
              r +
          2.506628277459239e+00) *
         q /
         (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
            6.680131188771972e+01) *
               r -
           1.328068155288572e+01) *
              r +
          1);
}

void fill_truncated_normal(const Parameter& parameter, std::uint32_t index, std::uint64_t seed,
                           double deviation, int threads, float* out) {
  constexpr double kLow = 0.022750131948179195;  // Phi(-2)
  const std::int64_t blocks = (parameter.size + 3) / 4;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto low = static_cast<std::uint32_t>(block);
    const auto high = static_cast<std::uint32_t>(block >> 32);
    constexpr std::uint32_t kPurpose = 0x494E4954U;  // apart from the dropout streams
    const auto words =
        philox({low, high, index, kPurpose},
               {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const std::int64_t count = std::min<std::int64_t>(4, parameter.size - 4 * block);
    for (std::int64_t i = 0; i < count; ++i) {
      const double uniform = (words[static_cast<std::size_t>(i)] + 0.5) / 4294967296.0;
      const double p = kLow + uniform * (1 - 2 * kLow);
      out[4 * block + i] = static_cast<float>(deviation * inverse_normal(p));
    }
  }
}

}  // namespace

void initialize_weights(const ModelConfig& config, const ParameterLayout& layout,
                        std::uint64_t seed, int threads, float* weights) {
  std::uint32_t index = 0;
  for (const Parameter& parameter : layout.parameters) {
    float* out = weights + parameter.offset;
    if (parameter.decay) {
      fill_truncated_normal(parameter, index, seed, config.initializer_range, threads, out);
    } else {
      const bool one = std::string_view(parameter.name).ends_with("LayerNorm.weight");
      std::fill_n(out, parameter.size, one ? 1.0F : 0.0F);
    }
    ++index;
  }
}

}  // namespace bert
