// Numbers of 8 bits, the kernels that make them, and products of them on the emulated device.
#include "workloads/bert/cuda/device/fp8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/workloads/cuda/support.h"
#include "tests/workloads/cuda/values.h"
#include "workloads/bert/cuda/kernels/kernels.h"

namespace bert::cuda {
namespace {

using testing::random_values;
using testing::Values;

constexpr Fp8 kFormats[] = {Fp8::e4m3, Fp8::e5m2};

/// Table 1 of Micikevicius et al. 2022.
TEST(Fp8, has_the_numbers_of_the_paper) {
  EXPECT_EQ(float_of(Fp8::e4m3, 0x7e), 448);
  EXPECT_EQ(float_of(Fp8::e4m3, 0x08), std::ldexp(1.0F, -6)) << "the smallest normal";
  EXPECT_EQ(float_of(Fp8::e4m3, 0x01), std::ldexp(1.0F, -9)) << "the smallest";
  EXPECT_EQ(float_of(Fp8::e5m2, 0x7b), 57344);
  EXPECT_EQ(float_of(Fp8::e5m2, 0x04), std::ldexp(1.0F, -14));
  EXPECT_EQ(float_of(Fp8::e5m2, 0x01), std::ldexp(1.0F, -16));
  EXPECT_EQ(float_of(Fp8::e5m2, 0xfc), -INFINITY);
  EXPECT_TRUE(std::isnan(float_of(Fp8::e4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(float_of(Fp8::e5m2, 0x7d)));
}

TEST(Fp8, every_code_comes_back_and_what_lies_between_goes_to_the_nearer) {
  for (const Fp8 format : kFormats) {
    const auto last = static_cast<int>(shape_of(format).largest);
    for (int code = 0; code <= last; ++code) {
      const float x = float_of(format, static_cast<std::uint8_t>(code));
      ASSERT_EQ(fp8_of(format, x), code);
      ASSERT_EQ(fp8_of(format, -x), code | 0x80);
      if (code == last) break;
      const float next = float_of(format, static_cast<std::uint8_t>(code + 1));
      const float middle = (x + next) / 2;
      ASSERT_EQ(fp8_of(format, middle), code % 2 == 0 ? code : code + 1) << "a tie goes to even";
      ASSERT_EQ(fp8_of(format, std::nextafter(middle, 0.0F)), code);
      ASSERT_EQ(fp8_of(format, std::nextafter(middle, 1e9F)), code + 1);
    }
    EXPECT_EQ(fp8_of(format, 1e9F), last) << "beyond the largest is the largest";
    EXPECT_EQ(fp8_of(format, -INFINITY), last | 0x80);
    EXPECT_TRUE(std::isnan(float_of(format, fp8_of(format, NAN))));
    EXPECT_EQ(fp8_of(format, 1e-30F), 0);
  }
}

struct Cast {
  std::vector<std::uint8_t> codes, transposed;
  float inverse_scale = 0;
};

Cast cast_of(Fp8 format, const Values<Bf16>& values, std::int64_t rows, int width) {
  Cast out;
  std::uint32_t largest = 0;
  Values<std::uint8_t> codes(values.size(), 0xaa);
  Values<std::uint8_t> transposed(static_cast<std::size_t>(width * fp8_row_count(rows)), 0xaa);
  CastFp8 cast;
  cast.rows = rows;
  cast.width = width;
  cast.input = values.data();
  largest_magnitude(values.data(), static_cast<std::int64_t>(values.size()), &largest, nullptr);
  cast.largest = &largest;
  cast.output = codes.data();
  cast.transposed = transposed.data();
  cast.inverse_scale = &out.inverse_scale;
  cast_fp8(format, cast, nullptr);
  out.codes.assign(codes.begin(), codes.end());
  out.transposed.assign(transposed.begin(), transposed.end());
  return out;
}

TEST(Fp8, a_matrix_and_its_transpose_are_cast_by_the_definition) {
  for (const Fp8 format : kFormats) {
    for (const auto& [rows, width] :
         {std::pair<std::int64_t, int>{1, 16}, {37, 48}, {128, 128}, {300, 272}}) {
      const auto values = random_values<Bf16>(static_cast<std::size_t>(rows * width), 3);
      const Cast cast = cast_of(format, values, rows, width);
      float largest = 0;
      for (const Bf16 x : values) largest = std::max(largest, std::fabs(to_float(x)));
      const float top = largest / cast.inverse_scale;
      const float limit = float_of(format, static_cast<std::uint8_t>(shape_of(format).largest));
      EXPECT_LE(top, limit);
      EXPECT_GT(2 * top, limit) << "the range is used";
      EXPECT_EQ(std::exp2(std::round(std::log2(cast.inverse_scale))), cast.inverse_scale);
      const std::int64_t stride = fp8_row_count(rows);
      for (int column = 0; column < width; ++column) {
        for (std::int64_t row = 0; row < stride; ++row) {
          const auto at = static_cast<std::size_t>(row * width + column);
          const std::uint8_t wanted =
              row < rows ? fp8_of(format, to_float(values[at]) / cast.inverse_scale) : 0;
          ASSERT_EQ(cast.transposed[static_cast<std::size_t>(column * stride + row)], wanted);
          if (row < rows) {
            ASSERT_EQ(cast.codes[at], wanted);
          }
        }
      }
    }
  }
}

TEST(Fp8, zeros_and_extreme_matrices_keep_a_scale_that_is_a_number) {
  for (const float x : {0.0F, 1e-38F, 3e38F}) {
    const Values<Bf16> values(16 * 16, from_float<Bf16>(x));
    const Cast cast = cast_of(Fp8::e4m3, values, 16, 16);
    EXPECT_TRUE(std::isnormal(cast.inverse_scale)) << x;
    EXPECT_TRUE(std::isnormal(cast.inverse_scale * cast.inverse_scale)) << x;
  }
}

TEST(Fp8, an_infinity_or_nan_shows_as_nan) {
  for (const float x : {INFINITY, NAN}) {
    Values<Bf16> values(16 * 16, from_float<Bf16>(1));
    values[37] = from_float<Bf16>(x);
    EXPECT_TRUE(std::isnan(float_of(Fp8::e4m3, cast_of(Fp8::e4m3, values, 16, 16).codes[37])));
    EXPECT_TRUE(std::isnan(float_of(Fp8::e5m2, cast_of(Fp8::e5m2, values, 16, 16).codes[37])));
  }
}

/// Half of the last place of E4M3 is 2^-4 of a number: a scaled matrix is that close, element by
/// element, down to its smallest normal number.
TEST(Fp8, what_comes_back_is_as_close_as_three_bits_allow) {
  const auto values = random_values<Bf16>(64 * 64, 9);
  for (const Fp8 format : kFormats) {
    const Cast cast = cast_of(format, values, 64, 64);
    const double unit = format == Fp8::e4m3 ? 1.0 / 16 : 1.0 / 8;
    const double least =
        std::ldexp(1.0, 1 - shape_of(format).bias) * static_cast<double>(cast.inverse_scale);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(to_float(values[i]));
      const double back = static_cast<double>(float_of(format, cast.codes[i]) * cast.inverse_scale);
      ASSERT_LE(std::fabs(back - x), std::max(std::fabs(x), least) * unit);
    }
  }
}

/// GELU and its gradient on the way, as fp64 has them, within half of the last place.
TEST(Fp8, gelu_and_its_gradient_are_cast_with_column_sums) {
  const std::int64_t rows = 150;
  const int width = 144;
  const auto z = random_values<Bf16>(static_cast<std::size_t>(rows * width), 5);
  const auto d = random_values<Bf16>(z.size(), 6);
  for (const bool tanh : {false, true}) {
    for (const bool backward : {false, true}) {
      const Fp8 format = backward ? Fp8::e5m2 : Fp8::e4m3;
      std::uint32_t largest = 0;
      float scale = 0;
      Values<std::uint8_t> codes(z.size());
      Values<std::uint8_t> transposed(static_cast<std::size_t>(width * fp8_row_count(rows)));
      Values<float> sums(static_cast<std::size_t>(width), 1.0F);
      Values<float> partials(static_cast<std::size_t>(cast_partials_bytes(rows, width)) /
                             sizeof(float));
      CastFp8 cast;
      cast.source = backward ? CastFp8::Source::gelu_backward : CastFp8::Source::gelu;
      cast.rows = rows;
      cast.width = width;
      cast.input = backward ? d.data() : z.data();
      cast.wide = z.data();
      cast.largest = &largest;
      cast.output = codes.data();
      cast.transposed = transposed.data();
      cast.inverse_scale = &scale;
      cast.tanh = tanh;
      cast.partials = partials.data();
      cast.sums = sums.data();
      cast.accumulate = true;
      largest_magnitude(cast.input, static_cast<std::int64_t>(z.size()), &largest, nullptr);
      cast_fp8(format, cast, nullptr);
      const double unit = backward ? 1.0 / 8 : 1.0 / 16;
      const double least = std::ldexp(static_cast<double>(scale), 1 - shape_of(format).bias);
      for (int column = 0; column < width; ++column) {
        double sum = 1;
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto at = static_cast<std::size_t>(row * width + column);
          const double x = static_cast<double>(to_float(z[at]));
          const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
          const double phi = tanh ? (1 + std::tanh(inner)) / 2 : std::erfc(-x / std::sqrt(2)) / 2;
          const double slope =
              tanh ? phi + x * 2 * phi * (1 - phi) * std::sqrt(2 / M_PI) * (1 + 0.134145 * x * x)
                   : phi + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
          const double wanted = backward ? static_cast<double>(to_float(d[at])) * slope : x * phi;
          sum += wanted;
          const double got = static_cast<double>(float_of(format, codes[at]) * scale);
          ASSERT_LE(std::fabs(got - wanted), std::max(std::fabs(wanted), least) * unit * 1.001);
          ASSERT_EQ(transposed[static_cast<std::size_t>(column * fp8_row_count(rows) + row)],
                    codes[at]);
        }
        if (backward) {
          ASSERT_NEAR(sums[static_cast<std::size_t>(column)], sum, 1e-4);
        }
      }
    }
  }
}

/// Micro-steps read the weights that they were cast from, an update has them cast again.
TEST(Fp8, training_goes_on_from_a_state_to_the_same_bits) {
  const ModelConfig model = bert::testing::even_model();
  const BackendOptions options = bert::testing::options_for(model, 2, 24);
  UpdateRequest request;
  request.learning_rate = 1e-3;
  const auto step = [&](Backend& backend, std::int64_t number) {
    backend.zero_gradients();
    for (std::int64_t micro = 0; micro < 2; ++micro) {
      backend.forward_backward(bert::testing::make_batch(model, 2, 24, 3, 4 * number + 2 * micro),
                               0.5, true, number, {});
    }
    request.update = number;
    backend.update(request);
  };
  const auto whole = bert::testing::cuda_backend(options, "fp8");
  step(*whole, 1);
  const auto later = bert::testing::cuda_backend(options, "fp8");
  for (const StateArray array :
       {StateArray::weights, StateArray::first_moments, StateArray::second_moments}) {
    later->write_state(array, 0, bert::testing::state_of(*whole, array));
  }
  step(*whole, 2);
  step(*later, 2);
  EXPECT_EQ(bert::testing::state_of(*later, StateArray::weights),
            bert::testing::state_of(*whole, StateArray::weights));
}

}  // namespace
}  // namespace bert::cuda
