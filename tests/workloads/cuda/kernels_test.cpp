// Kernels on the emulated device against plain definitions.
#include "workloads/bert/cuda/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/workloads/cuda/values.h"
#include "workloads/bert/cuda/device/mma.h"
#include "workloads/bert/cuda/kernels/device_dropout.h"
#include "workloads/bert/cuda/kernels/gelu.h"

namespace bert::cuda {
namespace {

using testing::difference;
using testing::random_values;
using testing::some_dropout;
using testing::Values;

TEST(CudaNumbers, bf16_rounds_to_nearest_even_and_keeps_nan) {
  const auto bits = [](float x) { return from_float<Bf16>(x).bits; };
  EXPECT_EQ(bits(1.0F), 0x3f80);
  EXPECT_EQ(bits(1.00390625F), 0x3f80) << "a tie goes to even";
  EXPECT_EQ(bits(1.01171875F), 0x3f82);
  EXPECT_EQ(bits(3.4e38F), 0x7f80) << "beyond the largest is infinity";
  EXPECT_TRUE(std::isnan(to_float(from_float<Bf16>(NAN))));
}

struct MaskJob {
  Dropout dropout;
  std::int64_t sequence;
  std::uint64_t first;
  int width;
  std::uint64_t* out;  ///< kept_row of each lane, and of two warps that share the row
};
void mask_kernel(MaskJob job) {
  const int lane = static_cast<int>(threadIdx.x);
  const DropoutKey key = key_of(job.dropout, job.sequence);
  if (job.width <= 1024) job.out[lane] = kept_row<1, 4>(key, job.first, job.width, lane, 0);
  for (int part = 0; part < 2; ++part) {
    job.out[32 + 32 * part + lane] = kept_row<2, 4>(key, job.first, job.width, lane, part);
  }
}

TEST(CudaDropout, masks_are_those_of_the_scalar_definition) {
  for (const std::uint64_t position : {0ULL, 1ULL, 91ULL, 1000ULL}) {
    for (const int width : {36, 40, 128, 768, 1024, 1100, 1600, 2048}) {
      const std::uint64_t first = position * static_cast<std::uint64_t>(width);
      std::uint64_t out[96] = {};
      const std::int64_t far = (1LL << 33) + 5;  // the index's high half is part of the key
      launch(mask_kernel, blocks(1), dim3(32), 0, nullptr,
             MaskJob{some_dropout(far), 2, first, width, out});
      const DropoutKey key = dropout_key(77, 3, 9, far + 2, 0.4);
      for (int column = 0; column < width; ++column) {
        const bool kept = dropout_keeps(key, first + static_cast<std::uint64_t>(column));
        const int lane = column % 256 / 8;
        const int group = column / 256;
        const auto bit_of = [&](int at, int shift) { return out[at] >> (shift + column % 8) & 1U; };
        if (width <= 1024) {
          ASSERT_EQ(bit_of(lane, 8 * group), kept) << width << " column " << column;
        }
        ASSERT_EQ(bit_of(32 + 32 * (group % 2) + lane, 8 * (group / 2)), kept)
            << width << " column " << column << " of a row that two warps share";
      }
    }
  }
}

template <typename T>
struct ProductJob {
  const T *a, *b, *b_rows;  ///< [16, 16], and b both ways
  float *c, *c_rows;        ///< [16, 16]
};
template <typename T>
void product_kernel(ProductJob<T> job) {
  const int lane = static_cast<int>(threadIdx.x);
  const FragmentA a = load_a(job.a, 16, 0, 0, lane);
  const FragmentsB b = load_b(job.b, 16, 0, 0, lane);
  const FragmentsB b_rows = load_b_rows(job.b_rows, 16, 0, 0, lane);
  for (int right = 0; right < 2; ++right) {
    float c[4] = {};
    float c_rows[4] = {};
    multiply_add<T>(c, a, right == 0 ? b.left : b.right);
    multiply_add<T>(c_rows, a, right == 0 ? b_rows.left : b_rows.right);
    for (int i = 0; i < 4; ++i) {
      const int at = (lane / 4 + 8 * (i / 2)) * 16 + 8 * right + 2 * (lane % 4) + i % 2;
      job.c[at] = c[i];
      job.c_rows[at] = c_rows[i];
    }
  }
}

template <typename T>
void check_product() {
  const auto a = random_values<T>(256, 1);
  const auto b = random_values<T>(256, 2);
  Values<T> b_rows(256);
  for (std::size_t k = 0; k < 16; ++k) {
    for (std::size_t j = 0; j < 16; ++j) b_rows[k * 16 + j] = b[j * 16 + k];
  }
  float c[256] = {};
  float c_rows[256] = {};
  launch(product_kernel<T>, blocks(1), dim3(32), 0, nullptr,
         ProductJob<T>{a.data(), b.data(), b_rows.data(), c, c_rows});
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      double want = 0;
      for (std::size_t k = 0; k < 16; ++k) {
        want += static_cast<double>(to_float(a[i * 16 + k])) *
                static_cast<double>(to_float(b[j * 16 + k]));
      }
      EXPECT_NEAR(c[i * 16 + j], want, 1e-4);
      EXPECT_EQ(c_rows[i * 16 + j], c[i * 16 + j]);
    }
  }
}

TEST(CudaMma, fragments_multiply_as_matrices) {
  check_product<Bf16>();
  check_product<Half>();
}

struct AttentionRun {
  std::vector<Bf16> output, d_qkv;
  std::vector<float> log_sums;
  Values<float> sums;  ///< of the columns of d_qkv
};
AttentionRun run_attention(bool plain, int length, const std::vector<std::int32_t>& lengths,
                           bool dropout, bool causal) {
  const auto sequences = static_cast<std::int64_t>(lengths.size());
  const auto rows = static_cast<std::size_t>(sequences * length);
  const auto qkv = random_values<Bf16>(rows * 3 * 128, 3);
  const auto d_output = random_values<Bf16>(rows * 128, 4);
  AttentionRun run;
  run.output.resize(rows * 128);
  run.d_qkv.resize(rows * 3 * 128);
  run.log_sums.resize(rows * 2);
  std::vector<float> delta(rows * 2);
  Values<std::uint32_t> kept(
      static_cast<std::size_t>(attention_kept_bytes(sequences, length, 2) / 4));
  Attention a;
  a.sequences = sequences;
  a.length = length;
  a.heads = 2;
  a.size = 64;
  a.lengths = lengths.data();
  a.qkv = qkv.data();
  a.output = run.output.data();
  a.log_sums = run.log_sums.data();
  if (dropout) a.dropout = some_dropout();
  a.d_output = d_output.data();
  a.delta = delta.data();
  a.kept = kept.data();
  a.causal = causal;
  Values<float> partials(
      static_cast<std::size_t>(attention_partials_bytes(sequences, length, 128) / 4), NAN);
  run.sums = Values<float>(3 * 128, 0.5F);
  a.sums = run.sums.data();
  a.partials = partials.data();
  a.accumulate = true;
  a.d_qkv = run.d_qkv.data();
  attention_forward(DType::bf16, a, plain, nullptr);
  attention_backward(DType::bf16, a, plain, nullptr);
  if (plain) {
    for (std::size_t i = 0; i < run.d_qkv.size(); ++i) {
      run.sums[i % run.sums.size()] += to_float(run.d_qkv[i]);
    }
  }
  return run;
}

TEST(CudaAttention, tensor_core_kernels_agree_with_the_plain_ones) {
  for (const bool dropout : {false, true}) {
    for (const bool causal : {false, true}) {
      for (const int length : {16, 97, 192}) {
        SCOPED_TRACE(::testing::Message()
                     << length << " dropout " << dropout << " causal " << causal);
        const std::vector<std::int32_t> lengths = {length, 1, length / 2};
        const AttentionRun want = run_attention(true, length, lengths, dropout, causal);
        const AttentionRun got = run_attention(false, length, lengths, dropout, causal);
        EXPECT_LE(difference(got.output, want.output), 4e-3);
        EXPECT_LE(difference(got.log_sums, want.log_sums), 1e-5);
        EXPECT_LE(difference(got.d_qkv, want.d_qkv), 1e-2);
        EXPECT_LE(difference(got.sums, want.sums), 1e-2);
      }
    }
  }
}

template <typename T>
void check_gelu(double bound, double relative_bound) {
  for (float x = -8; x <= 8; x += 0.037F) {
    const auto exact = static_cast<double>(x);
    const double erf_form = exact * std::erfc(-exact * M_SQRT1_2) / 2;
    const auto tanh_form = [](double y) {
      return y / 2 * (1 + std::tanh(std::sqrt(M_2_PI) * (y + 0.044715 * y * y * y)));
    };
    if (x > -4) {
      EXPECT_NEAR(gelu<T>(x), erf_form, relative_bound * std::abs(erf_form) + 1e-12) << x;
    }
    EXPECT_NEAR(gelu<T>(x), erf_form, bound) << x;
    EXPECT_NEAR(gelu_tanh<T>(x), tanh_form(exact), bound) << x;
    const double h = 1e-5;
    const auto erf_at = [](double y) { return y * std::erfc(-y * M_SQRT1_2) / 2; };
    EXPECT_NEAR(gelu_slope<T>(x), (erf_at(exact + h) - erf_at(exact - h)) / (2 * h), bound) << x;
    EXPECT_NEAR(gelu_tanh_slope<T>(x), (tanh_form(exact + h) - tanh_form(exact - h)) / (2 * h),
                bound)
        << x;
  }
}

TEST(CudaGelu, both_forms_are_their_formulas_and_slopes_are_their_derivatives) {
  check_gelu<float>(2e-6, 1e-6);
  check_gelu<Bf16>(2e-6, 6e-4);
}

TEST(CudaRows, gather_takes_the_listed_rows_at_every_width) {
  for (const int width : {8, 36, 40, 128, 512, 520, 1024, 2048}) {
    for (const std::size_t count : {1, 3, 4, 5, 33}) {
      const Values<Bf16> input = random_values<Bf16>(static_cast<std::size_t>(9 * width), 1);
      std::vector<std::int32_t> rows;
      for (std::size_t i = 0; i < count; ++i) rows.push_back(static_cast<std::int32_t>(7 * i % 9));
      const std::size_t size = count * static_cast<std::size_t>(width);
      Values<Bf16> output(size + 8, from_float<Bf16>(-1));
      gather_rows(DType::bf16, input.data(), rows.data(), static_cast<std::int64_t>(count), width,
                  output.data(), nullptr);
      for (std::size_t i = 0; i < output.size(); ++i) {
        const std::size_t row = i / static_cast<std::size_t>(width);
        const std::size_t column = i % static_cast<std::size_t>(width);
        const Bf16 wanted = i < size ? input[static_cast<std::size_t>(rows[row] * width) + column]
                                     : from_float<Bf16>(-1);
        ASSERT_EQ(output[i].bits, wanted.bits) << width << " columns, row " << row;
      }
    }
  }
}

TEST(CudaColumns, sums_take_each_row_once_however_rows_are_cut_into_slices) {
  for (const std::int64_t rows : {1, 2, 31, 32, 33, 95, 1000, 4095, 4096, 4097, 5000}) {
    const int width = 44;
    // Powers of two whose sum is exact in any order.
    Values<float> values(static_cast<std::size_t>(rows * width));
    std::vector<float> wanted(width, 0.5F);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 2654435761U % 7) / 4;
      wanted[i % wanted.size()] += values[i];
    }
    Values<float> partials(static_cast<std::size_t>(column_partials_bytes(rows, width)) / 4, NAN);
    Values<float> sums(width, 0.5F);
    ColumnSums a;
    a.rows = rows;
    a.width = width;
    a.stride = width;
    a.values = values.data();
    a.partials = partials.data();
    a.sums = sums.data();
    a.accumulate = true;
    column_sums(DType::f32, a, nullptr);
    EXPECT_TRUE(std::equal(sums.begin(), sums.end(), wanted.begin())) << rows << " rows";
  }
}

TEST(CudaEmbeddings, a_row_has_the_position_of_its_place_however_large_that_is) {
  const int width = 64;
  const int length = 7;
  const std::vector<std::int32_t> places = {0, 6, 7, 13, 1000003, 2147483646, 2147483647};
  const auto rows = places.size();
  const Values<float> word = random_values<float>(static_cast<std::size_t>(3 * width), 1);
  const Values<float> position = random_values<float>(static_cast<std::size_t>(length * width), 2);
  const Values<float> gamma = random_values<float>(static_cast<std::size_t>(2 * width), 3);
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < rows; ++i) tokens.push_back(static_cast<std::int32_t>(i % 3));
  Values<float> sum(rows * static_cast<std::size_t>(width)), output(sum), mean(rows), rstd(rows);
  NormForward f;
  f.rows = static_cast<std::int64_t>(rows);
  f.width = width;
  f.rows_per_sequence = length;
  f.places = places.data();
  f.tokens = tokens.data();
  f.word = word.data();
  f.position = position.data();
  f.gamma = gamma.data();
  f.beta = gamma.data() + width;
  f.epsilon = 1e-5F;
  f.sum = sum.data();
  f.output = output.data();
  f.mean = mean.data();
  f.rstd = rstd.data();
  norm_forward(DType::f32, f, nullptr);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::size_t row = i / width;
    const std::size_t column = i % width;
    const auto place = static_cast<std::size_t>(places[row] % length);
    ASSERT_EQ(sum[i], word[static_cast<std::size_t>(tokens[row]) * width + column] +
                          position[place * width + column])
        << "row " << row;
  }
}

TEST(CudaCrossEntropy, a_logit_that_is_no_number_reaches_the_loss) {
  const Values<float> values = random_values<float>(16, 5);
  alignas(32) float logits[16];
  std::copy(values.begin(), values.end(), logits);
  logits[3] = NAN;
  const std::vector<float> bias(16, 0.0F);
  const std::int32_t label = 0;
  float loss = 0;
  CrossEntropy a;
  a.rows = 1;
  a.classes = 13;
  a.stride = 16;
  a.logits = logits;
  a.bias = bias.data();
  a.labels = &label;
  a.losses = &loss;
  cross_entropy(DType::f32, a, nullptr);
  EXPECT_TRUE(std::isnan(loss));
  EXPECT_EQ(logits[15], 0) << "columns beyond the classes have no gradient";
}

}  // namespace
}  // namespace bert::cuda
