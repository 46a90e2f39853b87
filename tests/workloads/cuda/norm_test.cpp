// The LayerNorm kernels at every way in which rows are held, against the formulas in double.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/workloads/cuda/values.h"
#include "workloads/bert/model/dropout.h"

namespace bert::cuda {
namespace {

using testing::difference;
using testing::random_values;
using testing::some_dropout;
using testing::Values;

template <typename T>
std::vector<double> doubles(const Values<T>& values) {
  std::vector<double> out;
  for (const T& value : values) out.push_back(static_cast<double>(to_float(value)));
  return out;
}
Values<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

/// Rows with bias, dropout before or after, a residual; sums and gradients by the definitions.
struct NormCase {
  std::int64_t rows = 0;
  int width = 0;
  bool after = false;  ///< where dropout stands
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(rows * width); }
  /// All rows are of one sequence.
  [[nodiscard]] double factor(std::size_t at) const {
    const Dropout dropout = some_dropout(0);
    return dropout_keeps(dropout.key, at) ? static_cast<double>(dropout.key.scale) : 0.0;
  }
};

template <typename T>
struct Run {
  Values<T> input, residual, sum, output, d_output, bypass, d_sum, d_input;
  Values<float> bias, gamma, beta, mean, rstd, sum_gamma, sum_beta, sum_bias;

  explicit Run(const NormCase& one) {
    const auto width = static_cast<std::size_t>(one.width);
    const auto rows = static_cast<std::size_t>(one.rows);
    input = random_values<T>(one.size(), 1);
    residual = random_values<T>(one.size(), 2);
    d_output = random_values<T>(one.size(), 3);
    bypass = random_values<T>(one.size(), 4);
    bias = random_values<float>(width, 5);
    gamma = random_values<float>(width, 6);
    beta = random_values<float>(width, 7);
    sum = output = d_sum = d_input = Values<T>(one.size());
    mean = rstd = Values<float>(rows);
    sum_gamma = sum_beta = sum_bias = Values<float>(width, 0.5F);
  }

  void run(DType type, const NormCase& one) {
    NormForward f;
    f.rows = one.rows;
    f.width = one.width;
    f.rows_per_sequence = static_cast<int>(one.rows);
    f.input = input.data();
    f.bias = bias.data();
    f.residual = residual.data();
    f.gamma = gamma.data();
    f.beta = beta.data();
    f.dropout = some_dropout(0);
    f.drops_output = one.after;
    f.epsilon = 1e-5F;
    f.sum = sum.data();
    f.output = output.data();
    f.mean = mean.data();
    f.rstd = rstd.data();
    Values<std::uint8_t> kept(static_cast<std::size_t>(one.rows * one.width / 8 + 1));
    f.kept = kept.data();
    norm_forward(type, f, nullptr);

    Values<float> partials(static_cast<std::size_t>(norm_partials_bytes(one.width)) / 4);
    NormBackward b;
    b.rows = one.rows;
    b.width = one.width;
    b.rows_per_sequence = f.rows_per_sequence;
    b.d_output = d_output.data();
    b.sum = sum.data();
    b.mean = mean.data();
    b.rstd = rstd.data();
    b.gamma = gamma.data();
    b.dropout = f.dropout;
    b.drops_output = f.drops_output;
    b.kept = kept.data();
    b.d_bypass = bypass.data();
    b.d_sum = d_sum.data();
    b.d_input = d_input.data();
    b.partials = partials.data();
    b.sum_gamma = sum_gamma.data();
    b.sum_beta = sum_beta.data();
    b.sum_bias = sum_bias.data();
    b.accumulate = true;
    norm_backward(type, b, nullptr);
  }

  /// Output, d_sum and d_input, then the three sums, as they should be. LayerNorm and its gradient
  /// start from `sum` as it was rounded.
  [[nodiscard]] std::vector<std::vector<double>> expected(const NormCase& one) const {
    const auto width = static_cast<std::size_t>(one.width);
    const auto x = doubles(sum);
    const auto d_y = doubles(d_output);
    const auto more = doubles(bypass);
    std::vector<double> y(one.size()), d_s(one.size()), d_in(one.size());
    std::vector<double> sums[3];
    for (auto& each : sums) each.assign(width, 0.5);
    for (std::size_t begin = 0; begin < one.size(); begin += width) {
      double m = 0, v = 0, c1 = 0, c2 = 0;
      for (std::size_t j = 0; j < width; ++j) m += x[begin + j] / static_cast<double>(width);
      for (std::size_t j = 0; j < width; ++j) v += std::pow(x[begin + j] - m, 2);
      const double r = 1 / std::sqrt(v / static_cast<double>(width) + 1e-5);
      std::vector<double> d(width);
      for (std::size_t j = 0; j < width; ++j) {
        const double hat = (x[begin + j] - m) * r;
        const double factor = one.factor(begin + j);
        y[begin + j] = (hat * static_cast<double>(gamma[j]) + static_cast<double>(beta[j])) *
                       (one.after ? factor : 1);
        d[j] = d_y[begin + j] * (one.after ? factor : 1);
        sums[0][j] += d[j] * hat;
        sums[1][j] += d[j];
        d[j] *= static_cast<double>(gamma[j]);
        c1 += d[j] / static_cast<double>(width);
        c2 += d[j] * hat / static_cast<double>(width);
      }
      for (std::size_t j = 0; j < width; ++j) {
        const double hat = (x[begin + j] - m) * r;
        d_s[begin + j] = r * (d[j] - c1 - hat * c2) + more[begin + j];
        d_in[begin + j] = d_s[begin + j] * (one.after ? 1 : one.factor(begin + j));
        sums[2][j] += d_in[begin + j];
      }
    }
    return {y, d_s, d_in, sums[0], sums[1], sums[2]};
  }
};

template <typename T>
void check(DType type, const NormCase& one, double bound) {
  Run<T> run(one);
  run.run(type, one);
  const auto in = doubles(run.input);
  const auto residual = doubles(run.residual);
  std::vector<double> sum;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double biased =
        in[i] + static_cast<double>(run.bias[i % static_cast<std::size_t>(one.width)]);
    sum.push_back(biased * (one.after ? 1 : one.factor(i)) + residual[i]);
  }
  const auto want = run.expected(one);
  const std::string where =
      std::to_string(one.width) + " columns, dropout " + (one.after ? "after" : "before");
  const auto compare = [&](const char* name, const auto& got, const std::vector<double>& wanted,
                           double limit) {
    EXPECT_LE(difference(floats(doubles(got)), floats(wanted)), limit) << name << ", " << where;
  };
  compare("sum", run.sum, sum, bound);
  compare("output", run.output, want[0], bound);
  compare("d_sum", run.d_sum, want[1], bound);
  compare("d_input", run.d_input, want[2], bound);
  compare("gamma", run.sum_gamma, want[3], 1e-5);
  compare("beta", run.sum_beta, want[4], 1e-5);
  compare("bias", run.sum_bias, want[5], 1e-5);
}

// Widths: groups of 256 columns in one, two and four warps; in the middle of a group, of eight
// columns, at the end. Rows: more than the 640 blocks of backward have teams
// for, in a number that leaves teams without a row.
TEST(CudaNorm, rows_of_every_width_are_normalised_and_differentiated_by_the_formulas) {
  for (const int width :
       {36, 64, 200, 256, 512, 768, 1000, 1024, 1032, 1101, 1280, 1600, 2041, 2048}) {
    for (const bool after : {false, true}) check<float>(DType::f32, {7, width, after}, 2e-6);
  }
  for (const int width : {256, 768, 1024, 1280, 2048})
    check<Bf16>(DType::bf16, {5, width, false}, 3e-3);
  check<Half>(DType::f16, {5, 1600, true}, 4e-4);
}

TEST(CudaNorm, teams_of_warps_take_several_rows_each) {
  check<float>(DType::f32, {2 * 640 + 3, 1032, false}, 2e-6);
  check<float>(DType::f32, {2 * 640 + 3, 40, false}, 2e-6);
  check<float>(DType::f32, {640 + 3, 64, true}, 2e-6);
  check<float>(DType::f32, {4 * 640 + 3, 256, true}, 2e-6);
  check<Bf16>(DType::bf16, {2 * 640 + 3, 512, false}, 3e-3);
  check<Bf16>(DType::bf16, {640 + 3, 768, false}, 3e-3);
}

}  // namespace
}  // namespace bert::cuda
