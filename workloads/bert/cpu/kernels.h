// Row kernels of the CPU backend: everything but the matrix products. Each works on a range of
// rows or elements in one thread; callers split the range. Three builds (AVX-512, AVX2, SSE2) of
// the same source are reached through one table.
#pragma once

#include <cstdint>

#include "workloads/bert/core/gelu.h"
#include "workloads/bert/model/adam.h"
#include "workloads/bert/model/dropout.h"

namespace bert {

/// output = after(LayerNorm(sum)), sum = before(input + bias) + residual, per row of `width`.
/// LayerNorm: (sum - mean) / sqrt(variance + epsilon) * gamma + beta (Ba et al. 2016).
struct NormForward {
  std::int64_t width = 0;
  std::int64_t rows_per_sequence = 1;  ///< row r belongs to sequence r / rows_per_sequence
  const float* input = nullptr;        ///< [rows, width], may be `sum`
  const float* bias = nullptr;         ///< [width]; may be null without a residual
  const float* residual = nullptr;     ///< [rows, width] or null
  const float* gamma = nullptr;        ///< [width]
  const float* beta = nullptr;         ///< [width]
  const DropoutKey* before = nullptr;  ///< one per sequence, or null: no dropout
  const DropoutKey* after = nullptr;   ///< one per sequence, or null
  float epsilon = 0;
  float* sum = nullptr;              ///< [rows, width], kept for backward
  float* output = nullptr;           ///< [rows, width]
  std::uint16_t* rounded = nullptr;  ///< [rows, width] or null: `output` as to_bf16() gives it
  float* mean = nullptr;             ///< [rows]
  float* rstd = nullptr;             ///< [rows], 1 / standard deviation
  bool again = false;                ///< sum, mean and rstd are there: write the output alone
};

/// Gradients of NormForward. The three sums are added to, over the rows of the range.
struct NormBackward {
  std::int64_t width = 0;
  std::int64_t rows_per_sequence = 1;
  const float* d_output = nullptr;  ///< [rows, width]
  const float* sum = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const float* gamma = nullptr;
  const DropoutKey* before = nullptr;
  const DropoutKey* after = nullptr;
  /// [rows, width] or null: gradient of `sum` by another way than this LayerNorm, for a model that
  /// goes on from the sum. Is added to d_sum; may be d_sum; needs d_input.
  const float* d_bypass = nullptr;
  float* d_sum = nullptr;    ///< [rows, width], also the residual's gradient; may be d_output
  float* d_input = nullptr;  ///< [rows, width] or null: d_sum through the dropout `before`; may be
                             ///< d_output when d_sum is not
  std::uint16_t* rounded = nullptr;  ///< [rows, width] or null: `d_input` as to_bf16() gives it
};
struct NormSums {
  float* gamma = nullptr;  ///< [width]
  float* beta = nullptr;   ///< [width]
  float* bias = nullptr;   ///< [width] or null: sum of d_input
};

/// Rows of one attention head of one sequence. Scores have `rows` x `keys` used entries, rows `ld`
/// apart.
struct SoftmaxRows {
  std::int64_t rows = 0;
  std::int64_t keys = 0;
  std::int64_t first_row = 0;  ///< query that row 0 is
  bool causal = false;         ///< query q sees keys 0 .. q; the others become 0
  std::int64_t ld = 0;
  float scale = 1;                      ///< 1 / sqrt(head size)
  const DropoutKey* dropout = nullptr;  ///< of this sequence, or null
  std::uint64_t first_element = 0;      ///< of row 0
  std::uint64_t elements_per_row = 0;
};

struct AdamRange : AdamConstants {
  std::int64_t size = 0;
  float* weights = nullptr;
  const float* gradients = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  float decay = 0;  ///< AdamW: learning_rate * weight_decay; LAMB: weight_decay
  float rate = 0;   ///< AdamW: learning rate; LAMB: learning rate * trust ratio
};

struct LambSums {
  double weights = 0;  ///< sum of squares
  double update = 0;   ///< sum of squares
};

struct Kernels {
  const char* name;
  /// `scratch`: 2 * width + 128 floats.
  void (*norm_forward)(const NormForward& args, std::int64_t begin, std::int64_t end,
                       float* scratch);
  void (*norm_backward)(const NormBackward& args, const NormSums& sums, std::int64_t begin,
                        std::int64_t end, float* scratch);
  /// output = gelu(input + bias); rows are dense. Error of what multiplies x: at most 6e-7 of its
  /// value in the erf form, 1.2e-6 in the tanh form (tests state it). Where `rounded` is not null,
  /// it gets the result as to_bf16() gives it and `output` is left alone.
  void (*gelu_forward)(Gelu form, std::int64_t rows, std::int64_t width, const float* input,
                       const float* bias, float* output, std::uint16_t* rounded);
  /// gradient *= gelu'(input + bias); adds the column sums of the new gradient to d_bias. Where
  /// `rounded` is not null, it gets the new gradient as to_bf16() gives it and `gradient` stays.
  void (*gelu_backward)(Gelu form, std::int64_t rows, std::int64_t width, const float* input,
                        const float* bias, float* gradient, float* d_bias, std::uint16_t* rounded);
  /// scores -> probabilities in place; dropped (may be null without dropout) = dropout of them.
  void (*softmax_forward)(const SoftmaxRows& shape, float* scores, float* dropped, float* scratch);
  /// d_dropped -> d_scores in place; writes dropout(probabilities) to `dropped` unless it is null.
  void (*softmax_backward)(const SoftmaxRows& shape, const float* probabilities, float* d_dropped,
                           float* dropped, float* scratch);
  /// Row of logits + bias (or null) -> (softmax - one hot) * scale in place. Returns
  /// -log softmax[label].
  double (*cross_entropy)(std::int64_t classes, float* logits, const float* bias,
                          std::int64_t label, float scale);
  /// output = e^(logits + bias - shift of the row) as to_bf16() gives it; rows are dense, bias
  /// [columns] or null. Of each row, adds the sum of exact powers to its total and makes its top
  /// the largest of logits + bias and what it was. Where one is more than 88 above its row's shift,
  /// the row's powers have no meaning.
  void (*powers)(std::int64_t rows, std::int64_t columns, const float* logits, const float* bias,
                 const float* shifts, std::uint16_t* output, float* tops, double* totals);
  /// sums[j] += sum over rows of values[r * ld + j], j < width.
  void (*column_sums)(std::int64_t rows, std::int64_t width, std::int64_t ld, const float* values,
                      float* sums);
  void (*add)(std::int64_t size, const float* values, float* sums);  ///< sums += values
  double (*sum_of_squares)(std::int64_t size, const float* values);
  void (*adamw)(const AdamRange& range);
  LambSums (*lamb_moments)(const AdamRange& range);  ///< updates moments, not weights
  void (*lamb_apply)(const AdamRange& range);
  /// factors[i] = scale or 0 for `count` elements from `first`, for tests.
  void (*dropout_factors)(const DropoutKey& key, std::uint64_t first, std::int64_t count,
                          float* factors);
  void (*exponential)(std::int64_t size, const float* input, float* output);  ///< for tests
  /// The nearest bf16 numbers, ties to even, as their bits; NaN stays NaN. AVX-512 BF16 rounds
  /// numbers below 2^-126 to 0, as its products take them.
  void (*to_bf16)(std::int64_t size, const float* input, std::uint16_t* output);
  /// to[j * to_ld + i] = from[i * from_ld + j] for rows i and columns j.
  void (*transpose_bf16)(std::int64_t rows, std::int64_t columns, const std::uint16_t* from,
                         std::int64_t from_ld, std::uint16_t* to, std::int64_t to_ld);
  /// sums[i] += sum over columns j of the bf16 number values[i * columns + j] times weights[j].
  void (*weighted_sums)(std::int64_t rows, std::int64_t columns, const std::uint16_t* values,
                        const float* weights, float* sums);
  /// The nearest fp16 numbers, ties to even, as fp32: subnormal ones below 2^-14, infinity from
  /// 65520 on. May work in place.
  void (*round_to_fp16)(std::int64_t size, const float* input, float* output);
};

/// The best build for this processor. BERT_ISA=sse2|avx2|avx512 asks for a lower one.
[[nodiscard]] const Kernels& kernels();

/// The build of this name; null where there is none or this processor cannot run it.
[[nodiscard]] const Kernels* kernels_named(const char* name);

extern const Kernels kKernelsSse2;
extern const Kernels kKernelsAvx2;
extern const Kernels kKernelsAvx512;

}  // namespace bert
