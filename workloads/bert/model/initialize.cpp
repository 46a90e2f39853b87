#include "workloads/bert/model/initialize.h"

#include <algorithm>
#include <cmath>

#include "workloads/bert/model/philox.h"

namespace bert {
namespace {

/// Inverse of the normal distribution function for 0 < p < 1: Acklam's rational approximation
/// (2003), relative error 1.2e-9.
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

void fill_normal(const Parameter& parameter, std::uint32_t index, std::uint64_t seed, int threads,
                 float* out) {
  const bool truncated = parameter.initial == Parameter::Initial::truncated_normal;
  const double low = truncated ? 0.022750131948179195 : 0;  // Phi(-2)
  const std::int64_t blocks = (parameter.size + 3) / 4;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto low_word = static_cast<std::uint32_t>(block);
    const auto high_word = static_cast<std::uint32_t>(block >> 32);
    constexpr std::uint32_t kPurpose = 0x494E4954U;  // apart from the dropout streams
    const auto words =
        philox({low_word, high_word, index, kPurpose},
               {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const std::int64_t count = std::min<std::int64_t>(4, parameter.size - 4 * block);
    for (std::int64_t i = 0; i < count; ++i) {
      const double uniform = (words[static_cast<std::size_t>(i)] + 0.5) / 4294967296.0;
      const double p = low + uniform * (1 - 2 * low);
      out[4 * block + i] = static_cast<float>(parameter.deviation * inverse_normal(p));
    }
  }
}

}  // namespace

void initialize_weights(const ParameterLayout& layout, std::uint64_t seed, int threads,
                        float* weights) {
  std::uint32_t index = 0;
  for (const Parameter& parameter : layout.parameters) {
    float* out = weights + parameter.offset;
    if (parameter.initial == Parameter::Initial::zeros) {
      std::fill_n(out, parameter.size, 0.0F);
    } else if (parameter.initial == Parameter::Initial::ones) {
      std::fill_n(out, parameter.size, 1.0F);
    } else {
      fill_normal(parameter, index, seed, threads, out);
    }
    ++index;
  }
}

}  // namespace bert
