// The row kernels of every instruction set that runs here, against plain arithmetic in double.
#include "workloads/bert/cpu/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "workloads/bert/model/philox.h"

namespace bert {
namespace {

class EveryBuild : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    build_ = kernels_named(GetParam());
    if (build_ == nullptr) GTEST_SKIP() << "this processor has no " << GetParam();
  }
  const Kernels* build_ = nullptr;
};

TEST(Philox, equals_the_vectors_published_by_its_authors) {
  // Random123 1.14, kat_vectors, philox4x32 10 and 7.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(philox<7>({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
  EXPECT_EQ(philox<7>({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (std::array<std::uint32_t, 4>{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}));
  EXPECT_EQ(philox<7>({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}));
}

TEST(Dropout, element_e_has_half_e_modulo_8_of_seven_rounds_of_philox) {
  const DropoutKey key =
      dropout_key(0x299f31d0a4093822ULL, 0x03707344, 0x13198a2e, 0x85a308d3, 0.5);
  // Block 3 of elements; the counter's other words and the key are those of the published vector.
  const auto words = philox<7>({3, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  for (std::uint64_t i = 0; i < 8; ++i) {
    const std::uint32_t half = i % 2 == 0 ? words[i / 2] & 0xffff : words[i / 2] >> 16;
    EXPECT_EQ(dropout_keeps(key, 24 + i), half >= 32768) << i;
  }
}

TEST(Dropout, a_probability_is_rounded_to_16_bits_and_the_scale_keeps_the_mean) {
  const auto threshold_of = [](double probability) {
    const DropoutKey key = dropout_key(1, 2, 3, 4, probability);
    EXPECT_NEAR(static_cast<double>(key.scale) * (65536 - key.threshold) / 65536, 1, 1e-7);
    return key.threshold;
  };
  EXPECT_EQ(threshold_of(0.1), 6554);
  EXPECT_EQ(threshold_of(0.5), 32768);
  EXPECT_EQ(threshold_of(0.999), 65470);
  EXPECT_EQ(threshold_of(1e-9), 1) << "the least that can be dropped";
  EXPECT_EQ(threshold_of(1 - 1e-9), 65535) << "the most";
}

/// Pairs of elements that are both kept, as a share of all pairs, against independent draws.
TEST(Dropout, elements_are_independent_of_their_neighbours_and_of_other_masks) {
  constexpr std::uint64_t kPairs = 1 << 19;
  constexpr double kProbability = 0.1;
  constexpr double kBoth = (1 - kProbability) * (1 - kProbability);
  const double bound = 5 * std::sqrt(kBoth * (1 - kBoth) / kPairs);
  const auto share = [](const DropoutKey& one, const DropoutKey& other, std::uint64_t distance) {
    std::uint64_t both = 0;
    for (std::uint64_t i = 0; i < kPairs; ++i) {
      // No element is in two pairs.
      const std::uint64_t element = i / distance * 2 * distance + i % distance;
      both += dropout_keeps(one, element) && dropout_keeps(other, element + distance) ? 1 : 0;
    }
    return static_cast<double>(both) / kPairs;
  };
  const DropoutKey key = dropout_key(1, 2, 3, 4, kProbability);
  // 1: the halves of a word; 2, 4: words of a block; 8 and more: blocks, rows of 64 and of 768.
  for (const std::uint64_t distance : {1, 2, 4, 8, 16, 64, 768}) {
    EXPECT_NEAR(share(key, key, distance), kBoth, bound) << "at a distance of " << distance;
  }
  EXPECT_NEAR(share(key, dropout_key(2, 2, 3, 4, kProbability), 1), kBoth, bound) << "seeds";
  EXPECT_NEAR(share(key, dropout_key(1, 3, 3, 4, kProbability), 1), kBoth, bound) << "steps";
  EXPECT_NEAR(share(key, dropout_key(1, 2, 4, 4, kProbability), 1), kBoth, bound) << "sites";
  EXPECT_NEAR(share(key, dropout_key(1, 2, 3, 5, kProbability), 1), kBoth, bound) << "sequences";
}

TEST_P(EveryBuild, drops_exactly_what_the_scalar_definition_drops) {
  const DropoutKey key = dropout_key(0x123456789abcdefULL, 77, 5, (3LL << 32) + 9, 0.1);
  for (const std::uint64_t first : {0U, 1U, 7U, 8U, 63U, 64U, 100U, 1000U}) {
    for (const std::uint64_t count : {1U, 57U, 64U, 128U, 333U}) {
      std::vector<float> factors(count + 64);
      build_->dropout_factors(key, first, static_cast<std::int64_t>(count), factors.data());
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(factors[i] != 0, dropout_keeps(key, first + i)) << first << " + " << i;
        ASSERT_TRUE(factors[i] == 0 || factors[i] == key.scale);
      }
    }
  }
}

/// The nearest number with `digits` bits of mantissa after the first, in steps of at least `least`.
double nearest(double x, int digits, double least) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double step = std::max(std::ldexp(1.0, std::ilogb(x) - digits), least);
  return std::nearbyint(x / step) * step;
}

/// Random bits: every exponent, and the numbers where rounding changes its rule.
std::vector<float> numbers_of_all_sizes() {
  std::vector<float> numbers = {0.0F,       -0.0F,           1.0F,      65504.0F,  65519.99F,
                                65520.0F,   -65520.0F,       0x1p-14F,  0x1p-24F,  0x1p-25F,
                                0x1.8p-25F, 0x1p-149F,       0x1.01p0F, 0x1.03p0F, 0x1.002p0F,
                                0x1.006p0F, 0x1.fffffep127F, HUGE_VALF, -HUGE_VALF};
  for (std::uint32_t i = 0; i < 4000; ++i) {
    const std::uint32_t bits = philox({i, 0, 0, 0}, {5, 6})[0];
    const auto number = std::bit_cast<float>(bits);
    if (!std::isnan(number)) numbers.push_back(number);
    // Most of fp32 is beyond fp16: the same digits within its range.
    numbers.push_back(std::bit_cast<float>((bits & 0x87FFFFFFU) | 0x38000000U));
    numbers.push_back(std::bit_cast<float>((bits & 0x81FFFFFFU) | 0x32000000U));
  }
  return numbers;
}

TEST_P(EveryBuild, rounds_to_the_nearest_bf16_and_fp16) {
  const std::vector<float> in = numbers_of_all_sizes();
  const auto count = static_cast<std::int64_t>(in.size());
  std::vector<std::uint16_t> bf16(in.size());
  std::vector<float> fp16(in.size());
  build_->to_bf16(count, in.data(), bf16.data());
  build_->round_to_fp16(count, in.data(), fp16.data());
  // A range of any length gives the same bits and nothing after them.
  for (const std::int64_t length : {0, 1, 15, 16, 17, 33, 47, 63}) {
    std::vector<std::uint16_t> part(64, 0xABCD);
    build_->to_bf16(length, in.data(), part.data());
    for (std::size_t i = 0; i < part.size(); ++i) {
      ASSERT_EQ(part[i], i < static_cast<std::size_t>(length) ? bf16[i] : 0xABCD) << length;
    }
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto wide = static_cast<double>(in[i]);
    const double want_bf16 = nearest(wide, 7, 0x1p-133);
    const auto got_bf16 = std::bit_cast<float>(static_cast<std::uint32_t>(bf16[i]) << 16);
    const bool flushed = std::abs(wide) < 0x1p-126 && got_bf16 == 0;
    ASSERT_TRUE(flushed || got_bf16 == static_cast<float>(want_bf16)) << in[i] << " " << got_bf16;
    ASSERT_EQ(std::signbit(got_bf16), std::signbit(in[i])) << in[i];
    const double want_fp16 = nearest(wide, 10, 0x1p-24);
    ASSERT_EQ(static_cast<double>(fp16[i]),
              std::abs(want_fp16) > 65504 ? std::copysign(HUGE_VAL, wide) : want_fp16)
        << in[i];
    ASSERT_EQ(std::signbit(fp16[i]), std::signbit(in[i])) << in[i];
  }
  const std::vector<float> no_numbers = {std::nanf(""), std::bit_cast<float>(0x7FFFFFFFU),
                                         std::bit_cast<float>(0xFF800001U)};
  build_->to_bf16(3, no_numbers.data(), bf16.data());
  build_->round_to_fp16(3, no_numbers.data(), fp16.data());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bf16[i]) << 16))) << i;
    EXPECT_TRUE(std::isnan(fp16[i])) << i;
  }
}

TEST_P(EveryBuild, keeps_the_share_it_should) {
  constexpr std::int64_t kCount = 1 << 20;
  std::vector<float> factors(kCount + 64);
  for (const double probability : {0.1, 0.5}) {
    double kept = 0;
    double sum = 0;
    build_->dropout_factors(dropout_key(1, 1, 0, 0, probability), 0, kCount, factors.data());
    for (std::int64_t i = 0; i < kCount; ++i) {
      kept += factors[static_cast<std::size_t>(i)] != 0 ? 1 : 0;
      sum += static_cast<double>(factors[static_cast<std::size_t>(i)]);
    }
    const double deviation = std::sqrt(probability * (1 - probability) / kCount);
    EXPECT_NEAR(kept / kCount, 1 - probability, 4 * deviation);
    EXPECT_NEAR(sum / kCount, 1, 4 * deviation / (1 - probability));
  }
}

TEST_P(EveryBuild, exponential_is_within_its_stated_error) {
  std::vector<float> x;
  for (double v = -87; v < 88; v += 0.00037) x.push_back(static_cast<float>(v));
  std::vector<float> y(x.size());
  build_->exponential(static_cast<std::int64_t>(x.size()), x.data(), y.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = std::exp(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) - want) / want);
  }
  EXPECT_LE(worst, 2.5e-7);
  const float low = -200;
  float out = 1;
  build_->exponential(1, &low, &out);
  EXPECT_EQ(out, 0);
}

double distribution(double x) { return std::erfc(-x * std::numbers::sqrt2 / 2) / 2; }

TEST_P(EveryBuild, gelu_and_its_slope_are_within_their_stated_error) {
  std::vector<float> x;
  for (double v = -9; v < 9; v += 0.0007) x.push_back(static_cast<float>(v));
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<float> y(x.size());
  std::vector<float> d(x.size(), 1.0F);
  std::vector<float> bias(x.size());
  std::vector<float> d_bias(x.size());
  build_->gelu_forward(Gelu::erf, 1, n, x.data(), bias.data(), y.data(), nullptr);
  build_->gelu_backward(Gelu::erf, 1, n, x.data(), bias.data(), d.data(), d_bias.data(), nullptr);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto v = static_cast<double>(x[i]);
    const double want = v * distribution(v);
    // exp(-x^2/2) carries the rounding of x^2/2, so the bound widens in the far tail.
    const double relative = 6e-7 + 1e-7 * v * v;
    ASSERT_NEAR(static_cast<double>(y[i]), want, relative * std::abs(want) + 1e-37) << v;
    const double slope =
        distribution(v) + v * std::exp(-v * v / 2) / std::sqrt(2 * std::numbers::pi);
    ASSERT_NEAR(static_cast<double>(d[i]), slope, 6e-7) << v;
    ASSERT_EQ(d[i], d_bias[i]);
  }
}

TEST_P(EveryBuild, the_tanh_form_of_gelu_and_its_slope_are_within_their_stated_error) {
  std::vector<float> x = {-1e6F, -40.0F, 40.0F, 1e6F};
  for (double v = -6; v < 6; v += 0.0007) x.push_back(static_cast<float>(v));
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<float> y(x.size());
  std::vector<float> d(x.size(), 1.0F);
  const std::vector<float> bias(x.size());
  std::vector<float> d_bias(x.size());
  build_->gelu_forward(Gelu::tanh, 1, n, x.data(), bias.data(), y.data(), nullptr);
  build_->gelu_backward(Gelu::tanh, 1, n, x.data(), bias.data(), d.data(), d_bias.data(), nullptr);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto v = static_cast<double>(x[i]);
    const double u = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
    const double factor = 1 / (1 + std::exp(-2 * u));
    const double d_u = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * v * v);
    // exp(-2 u) carries the rounding of u, so the bound widens in the lower tail.
    const double relative = 6e-7 + 3e-7 * std::abs(std::min(u, 0.0));
    ASSERT_NEAR(static_cast<double>(y[i]), v * factor, relative * std::abs(v * factor) + 1e-30)
        << v;
    const double slope = factor + v * factor * (1 - factor) * 2 * d_u;
    ASSERT_NEAR(static_cast<double>(d[i]), std::isfinite(slope) ? slope : 0, 1.2e-6) << v;
    ASSERT_EQ(d[i], d_bias[i]);
  }
}

TEST_P(EveryBuild, a_causal_row_gives_nothing_to_what_comes_after_it) {
  constexpr std::int64_t kRows = 3, kKeys = 7, kFirst = 2;  // queries 2, 3, 4
  SoftmaxRows shape;
  shape.rows = kRows;
  shape.keys = shape.ld = kKeys;
  shape.first_row = kFirst;
  shape.causal = true;
  const DropoutKey dropout = dropout_key(1, 2, 3, 4, 0.4);
  shape.dropout = &dropout;
  shape.elements_per_row = kKeys;
  std::vector<float> scores(kRows * kKeys, 0.5F);
  std::vector<float> dropped(kRows * kKeys, NAN), again(kRows * kKeys, NAN), scratch(200);
  build_->softmax_forward(shape, scores.data(), dropped.data(), scratch.data());
  std::vector<float> gradient(kRows * kKeys, 1.0F);
  build_->softmax_backward(shape, scores.data(), gradient.data(), again.data(), scratch.data());
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const auto i = static_cast<std::size_t>(row * kKeys + j);
      const bool seen = j <= kFirst + row;
      const double want = seen ? 1.0 / static_cast<double>(kFirst + row + 1) : 0;
      ASSERT_NEAR(static_cast<double>(scores[i]), want, 1e-6);
      ASSERT_EQ(dropped[i], again[i]);
      if (!seen) {
        ASSERT_EQ(dropped[i], 0);
        ASSERT_EQ(gradient[i], 0);
      }
    }
  }
}

TEST_P(EveryBuild, cross_entropy_without_a_bias_is_that_with_zeros) {
  const std::vector<float> given = {1.0F, -2.0F, 3.5F, 0.0F, 0.25F};
  const std::vector<float> zeros(5);
  std::vector<float> a = given, b = given;
  EXPECT_EQ(build_->cross_entropy(5, a.data(), nullptr, 2, 0.5F),
            build_->cross_entropy(5, b.data(), zeros.data(), 2, 0.5F));
  EXPECT_EQ(a, b);
}

TEST_P(EveryBuild, cross_entropy_survives_large_logits) {
  std::vector<float> logits = {1000.0F, -1000.0F, 999.0F, 0.0F, 1000.0F};
  const std::vector<float> bias = {0.0F, 0.0F, 1.0F, 0.0F, -2.0F};
  const double loss = build_->cross_entropy(5, logits.data(), bias.data(), 4, 2.0F);
  const double total = 2 + std::exp(-2.0);
  EXPECT_NEAR(loss, std::log(total) + 2, 1e-6);
  EXPECT_NEAR(static_cast<double>(logits[0]), 2 / total, 1e-6);
  EXPECT_NEAR(static_cast<double>(logits[4]), 2 * (std::exp(-2.0) / total - 1), 1e-6);
  EXPECT_EQ(logits[1], 0);
}

/// 700 columns: more than are rounded at a time, and a rest.
class Rounded : public EveryBuild {
 protected:
  static constexpr std::int64_t kRows = 3, kWidth = 700;
  static std::vector<float> random(std::uint32_t stream, std::int64_t size = kRows * kWidth) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t word = philox({static_cast<std::uint32_t>(i), stream, 0, 0}, {1, 1})[0];
      values[i] = static_cast<float>(word) / 0x1p30F - 2.0F;
    }
    return values;
  }
  void expect_rounded(const std::vector<float>& exact, const std::vector<std::uint16_t>& rounded) {
    std::vector<std::uint16_t> wanted(exact.size());
    build_->to_bf16(static_cast<std::int64_t>(exact.size()), exact.data(), wanted.data());
    EXPECT_EQ(rounded, wanted);
  }
  const std::vector<float> input_ = random(1), bias_ = random(2, kWidth);
  std::vector<std::uint16_t> rounded_ = std::vector<std::uint16_t>(kRows * kWidth);
};

TEST_P(Rounded, gelu_and_its_gradient_have_the_bits_of_the_exact_ones) {
  for (const Gelu form : {Gelu::erf, Gelu::tanh}) {
    std::vector<float> exact(input_.size()), untouched(input_.size(), 7.0F);
    build_->gelu_forward(form, kRows, kWidth, input_.data(), bias_.data(), exact.data(), nullptr);
    build_->gelu_forward(form, kRows, kWidth, input_.data(), bias_.data(), untouched.data(),
                         rounded_.data());
    expect_rounded(exact, rounded_);
    EXPECT_EQ(untouched, std::vector<float>(input_.size(), 7.0F));

    const std::vector<float> given = random(3);
    std::vector<float> gradient = given, stays = given, sums(kWidth), same_sums(kWidth);
    build_->gelu_backward(form, kRows, kWidth, input_.data(), bias_.data(), gradient.data(),
                          sums.data(), nullptr);
    build_->gelu_backward(form, kRows, kWidth, input_.data(), bias_.data(), stays.data(),
                          same_sums.data(), rounded_.data());
    expect_rounded(gradient, rounded_);
    EXPECT_EQ(stays, given);
    EXPECT_EQ(same_sums, sums);
  }
}

TEST_P(Rounded, powers_of_e_are_summed_exactly) {
  for (const float* bias : {static_cast<const float*>(nullptr), bias_.data()}) {
    const std::vector<float> shifts = {0.5F, 1.0F, -1.0F};
    std::vector<float> tops = {100.0F, -100.0F, -100.0F};
    std::vector<double> totals = {1, 2, 3};
    build_->powers(kRows, kWidth, input_.data(), bias, shifts.data(), rounded_.data(), tops.data(),
                   totals.data());
    for (std::size_t i = 0; i < kRows; ++i) {
      double total = static_cast<double>(i + 1);
      float top = i == 0 ? 100.0F : -100.0F;
      for (std::size_t j = 0; j < kWidth; ++j) {
        const float x = input_[i * kWidth + j] + (bias == nullptr ? 0.0F : bias[j]);
        const double power = std::exp(static_cast<double>(x - shifts[i]));
        const std::uint32_t bits = rounded_[i * kWidth + j];
        ASSERT_NEAR(static_cast<double>(std::bit_cast<float>(bits << 16)), power,
                    power * 0x1.01p-8);
        total += power;
        top = std::max(top, x);
      }
      EXPECT_EQ(tops[i], top);
      EXPECT_NEAR(totals[i], total, 1e-6 * total);
    }
  }
}

/// Tiles of 32, and what is left of rows and of columns.
TEST_P(Rounded, numbers_are_transposed_and_summed_with_weights) {
  for (const auto& [rows, columns] : {std::pair{3, 700}, {32, 64}, {100, 21}, {67, 31}, {1, 1}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const std::int64_t from_ld = columns + 5, to_ld = rows + 3;
    const std::vector<float> exact = random(8, rows * from_ld);
    std::vector<std::uint16_t> from(exact.size());
    std::vector<std::uint16_t> wanted(static_cast<std::size_t>(columns * to_ld));
    build_->to_bf16(static_cast<std::int64_t>(exact.size()), exact.data(), from.data());
    std::vector<std::uint16_t> to = wanted;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        wanted[static_cast<std::size_t>(j * to_ld + i)] =
            from[static_cast<std::size_t>(i * from_ld + j)];
      }
    }
    build_->transpose_bf16(rows, columns, from.data(), from_ld, to.data(), to_ld);
    EXPECT_EQ(to, wanted);
    const std::vector<float> weights = random(9, columns);
    std::vector<float> sums = random(10, rows);
    const std::vector<float> before = sums;
    build_->weighted_sums(rows, columns, from.data(), weights.data(), sums.data());
    for (std::int64_t i = 0; i < rows; ++i) {
      auto sum = static_cast<double>(before[static_cast<std::size_t>(i)]);
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::uint32_t bits = from[static_cast<std::size_t>(i * columns + j)];
        sum += static_cast<double>(std::bit_cast<float>(bits << 16)) *
               static_cast<double>(weights[static_cast<std::size_t>(j)]);
      }
      EXPECT_NEAR(static_cast<double>(sums[static_cast<std::size_t>(i)]), sum, 1e-4);
    }
  }
}

TEST_P(Rounded, layer_norm_and_its_gradient_are_rounded_next_to_the_exact_ones) {
  const std::vector<float> gamma = random(4, kWidth), residual = random(5);
  std::vector<float> sum(input_.size()), output(input_.size()), mean(kRows), rstd(kRows);
  std::vector<float> scratch(2 * kWidth + 128);
  NormForward norm;
  norm.width = kWidth;
  norm.input = input_.data();
  norm.bias = norm.beta = bias_.data();
  norm.residual = residual.data();
  norm.gamma = gamma.data();
  norm.epsilon = 1e-12F;
  norm.sum = sum.data();
  norm.output = output.data();
  norm.rounded = rounded_.data();
  norm.mean = mean.data();
  norm.rstd = rstd.data();
  build_->norm_forward(norm, 0, kRows, scratch.data());
  expect_rounded(output, rounded_);
  std::ranges::fill(rounded_, std::uint16_t{0});
  norm.again = true;
  build_->norm_forward(norm, 0, kRows, scratch.data());
  expect_rounded(output, rounded_);

  const std::vector<float> d_output = random(6), d_bypass = random(7);
  for (const float* bypass : {static_cast<const float*>(nullptr), d_bypass.data()}) {
    std::vector<float> d_sum(input_.size()), d_input(input_.size()), sums(3 * kWidth);
    NormBackward back;
    back.width = kWidth;
    back.d_output = d_output.data();
    back.sum = sum.data();
    back.mean = mean.data();
    back.rstd = rstd.data();
    back.gamma = gamma.data();
    back.d_bypass = bypass;
    back.d_sum = d_sum.data();
    back.d_input = d_input.data();
    back.rounded = rounded_.data();
    build_->norm_backward(back, {sums.data(), sums.data() + kWidth, sums.data() + 2 * kWidth}, 0,
                          kRows, scratch.data());
    expect_rounded(d_input, rounded_);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Rounded, ::testing::Values("sse2", "avx2", "avx512"),
                         [](const auto& build) { return std::string(build.param); });

TEST_P(EveryBuild, layer_norm_of_a_constant_row_is_finite) {
  const std::vector<float> x(37, 3.0F);
  const std::vector<float> one(37, 1.0F);
  const std::vector<float> zero(37, 0.0F);
  std::vector<float> sum(37), y(37), scratch(400);
  float mean = 0;
  float rstd = 0;
  NormForward norm;
  norm.width = 37;
  norm.input = x.data();
  norm.gamma = one.data();
  norm.beta = zero.data();
  norm.epsilon = 1e-12F;
  norm.sum = sum.data();
  norm.output = y.data();
  norm.mean = &mean;
  norm.rstd = &rstd;
  build_->norm_forward(norm, 0, 1, scratch.data());
  for (const float v : y) EXPECT_NEAR(static_cast<double>(v), 0, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryBuild, ::testing::Values("sse2", "avx2", "avx512"),
                         [](const auto& build) { return std::string(build.param); });

}  // namespace
}  // namespace bert
