// The kernels as the host sees them. Each call queues work on a stream and returns. Nothing here
// adds by atomics: every sum is taken in an order that depends on shapes alone, so the same inputs
// give the same bits.
//
// "T" is the activations' type, given as DType; gradients, statistics and master weights are fp32.
// Rows are dense unless a stride is named.
#pragma once

#include <cstdint>

#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/model/adam.h"
#include "workloads/bert/model/dropout.h"

namespace bert::cuda {

/// Most sequences of a batch: the attention kernels' grid has them along z.
inline constexpr std::int64_t kMostSequences = 65535;

/// Widest row that the LayerNorm kernels hold in registers.
inline constexpr std::int64_t kWidestNorm = 2048;

/// What changes from micro-step to micro-step and is neither a shape nor an address. A graph queues
/// kernels with the arguments that they were recorded with, so where the arguments' `values` point
/// to these, in device memory, a variant of the kernel (kReplayed) takes them from there.
struct StepValues {
  std::int64_t first_sequence = 0;  ///< of Dropout
  std::uint32_t step = 0;           ///< of DropoutKey
  float word_scale = 0;             ///< of CrossEntropy
  float sentence_scale = 0;         ///< of NextSentence
};
void store_step_values(const StepValues& values, StepValues* to, Stream stream);

/// Dropout of one site for a micro-batch; key.sequence and the high half in key.site are unset.
struct Dropout {
  DropoutKey key{};
  std::int64_t first_sequence = 0;
  bool on = false;
};

/// A row's position and its dropout follow from its place in the padded batch, sequence *
/// rows_per_sequence + position: the row itself, unless padding was left out and `places` is given.
///
/// sum = input + bias + residual, output = LayerNorm(sum). Dropout acts on input + bias or, where
/// `drops_output` is true, on the output. With `tokens` the input
/// is word[token] + position[row in sequence] + segment[segment] (if any). `sum` is rounded to T
/// before LayerNorm reads it, as backward will.
struct NormForward {
  std::int64_t rows = 0;
  int width = 0;
  int rows_per_sequence = 1;
  const std::int32_t* places = nullptr;  ///< [rows] or null
  const void* input = nullptr;           ///< T [rows, width]
  const std::int32_t* tokens = nullptr;  ///< [rows] or null
  const std::int32_t* segments = nullptr;
  const void *word = nullptr, *position = nullptr, *segment = nullptr;  ///< T tables
  const float* bias = nullptr;                                          ///< [width] or null
  const void* residual = nullptr;                                       ///< T or null
  const float *gamma = nullptr, *beta = nullptr;
  Dropout dropout;
  bool drops_output = false;
  /// [rows, width / 8] bits of the elements that dropout keeps, for backward; where the width is a
  /// multiple of 64, else unused.
  std::uint8_t* kept = nullptr;
  float epsilon = 0;
  void* sum = nullptr;     ///< T, may be the input
  void* output = nullptr;  ///< T
  float *mean = nullptr, *rstd = nullptr;
  /// Or null: becomes what largest_magnitude() makes of it and the output. bf16, where the width is
  /// a multiple of 64.
  std::uint32_t* largest = nullptr;
  const StepValues* values = nullptr;  ///< or null
};
void norm_forward(DType type, const NormForward& arguments, Stream stream);

/// Bytes of `partials` that a kernel over this shape needs.
[[nodiscard]] std::int64_t norm_partials_bytes(std::int64_t width);
[[nodiscard]] std::int64_t column_partials_bytes(std::int64_t rows, std::int64_t width);

struct NormBackward {
  std::int64_t rows = 0;
  int width = 0;
  int rows_per_sequence = 1;
  const std::int32_t* places = nullptr;  ///< as in NormForward
  const void* d_output = nullptr;
  const void* sum = nullptr;
  const float *mean = nullptr, *rstd = nullptr, *gamma = nullptr;
  Dropout dropout;  ///< and the next, as in NormForward
  bool drops_output = false;
  const std::uint8_t* kept = nullptr;  ///< as forward left it
  const void* d_bypass = nullptr;  ///< or null: what else reaches `sum`, added to d_sum; may be it
  void* d_sum = nullptr;           ///< may be d_output
  void* d_input = nullptr;  ///< or null: d_sum through the dropout of input + bias; may be d_output
  float* partials = nullptr;
  float *sum_gamma = nullptr, *sum_beta = nullptr;
  float* sum_bias = nullptr;         ///< column sums of d_input, or null
  bool accumulate = false;           ///< the three sums add to what is there
  std::uint32_t* largest = nullptr;  ///< as NormForward's, of d_input
  const StepValues* values = nullptr;
};
void norm_backward(DType type, const NormBackward& arguments, Stream stream);

/// output = gelu(input + bias). Erf form, or tanh (Hendrycks and Gimpel 2016).
struct GeluForward {
  std::int64_t rows = 0;
  int width = 0;
  const void* input = nullptr;
  const float* bias = nullptr;      ///< or null
  const void* bias_copy = nullptr;  ///< T, in its place
  void* biased = nullptr;           ///< or null: input + bias; may be the input
  void* output = nullptr;
  bool tanh = false;
};
void gelu_forward(DType type, const GeluForward& arguments, Stream stream);

/// Column sums of a [rows, width] matrix, in two stages.
struct ColumnSums {
  enum class Mode : int {
    plain,
    gelu_backward,  ///< values *= gelu'(input + bias) first, in place; bias may be null
    of_segment,     ///< rows whose segments[row] == segment alone
  };
  Mode mode = Mode::plain;
  std::int64_t rows = 0;
  int width = 0;
  std::int64_t stride = 0;  ///< elements between rows; must be `width` for gelu_backward
  void* values = nullptr;   ///< T
  const void* input = nullptr;
  const float* bias = nullptr;
  bool tanh = false;
  const std::int32_t* segments = nullptr;
  int segment = 0;
  float* partials = nullptr;
  float* sums = nullptr;  ///< or null
  bool accumulate = false;
};
void column_sums(DType type, const ColumnSums& arguments, Stream stream);

/// values += bias, where a product could not do it itself.
void add_bias(DType type, std::int64_t rows, int width, const void* bias, void* values,
              Stream stream);

/// sums[i] = values[i] in fp32, or += with `accumulate`.
void add_sums(DType type, const void* values, std::int64_t count, float* sums, bool accumulate,
              Stream stream);

/// output[i] = input[rows[i]].
void gather_rows(DType type, const void* input, const std::int32_t* rows, std::int64_t count,
                 int width, void* output, Stream stream);

/// output[targets[i]] += sum of input[sources[j]], starts[i] <= j < starts[i + 1], in eight
/// interleaved chains of ascending j.
struct SegmentSums {
  const std::int32_t* targets = nullptr;  ///< [runs]; null: run i has target i
  const std::int32_t* starts = nullptr;   ///< [runs + 1]
  const std::int32_t* sources = nullptr;
  std::int64_t runs = 0;
  int regular_count = 0, regular_step = 0;  ///< without lists: sources i + j * step, j < count
  int width = 0;
  const void* input = nullptr;  ///< T
  void* output = nullptr;       ///< T, or fp32 with `to_float`
  bool to_float = false;
};
void segment_sums(DType type, const SegmentSums& arguments, Stream stream);

/// Row of logits + bias (or null) -> (softmax - one hot) * scale in place; columns from `classes`
/// to `stride` become 0. losses[row] = -log softmax[label].
struct CrossEntropy {
  std::int64_t rows = 0;
  int classes = 0;
  std::int64_t stride = 0;
  void* logits = nullptr;
  const float* bias = nullptr;
  const std::int32_t* labels = nullptr;
  float scale = 1;
  float* losses = nullptr;
  const StepValues* values = nullptr;  ///< or null
};
void cross_entropy(DType type, const CrossEntropy& arguments, Stream stream);

/// Next-sentence head: pooled = tanh(pooled + pooler_bias) in place, two-class cross entropy,
/// gradients of the classifier and of the pooler product's output.
struct NextSentence {
  std::int64_t sequences = 0;
  int width = 0;
  void* pooled = nullptr;  ///< T [B, h]; d_classifier null: no gradients of the classifier
  const float* pooler_bias = nullptr;
  const float *classifier = nullptr, *classifier_bias = nullptr;  ///< [2, h], [2]
  const std::int32_t* labels = nullptr;
  float scale = 1;            ///< of the gradient of one sequence
  void* d_pooled = nullptr;   ///< T [B, h]
  float* d_logits = nullptr;  ///< [B, 2]
  float* losses = nullptr;    ///< [B]
  float *d_classifier = nullptr, *d_classifier_bias = nullptr;
  bool accumulate = false;
  const StepValues* values = nullptr;  ///< or null
};
void next_sentence(DType type, const NextSentence& arguments, Stream stream);

/// *total = sum of values, in double.
void sum_values(const float* values, std::int64_t count, double* total, Stream stream);

/// to[i] = T(from[i]).
void cast_from_float(DType type, const float* from, void* to, std::int64_t count, Stream stream);

/// *largest = the larger of it and the bits of the largest magnitude of `values`, bf16; `count` is
/// a multiple of 8. The bits of magnitudes are in their order, and NaN is above all.
void largest_magnitude(const void* values, std::int64_t count, std::uint32_t* largest,
                       Stream stream);

/// Rows of a matrix whose transpose is an operand in 8 bits: rows of those are whole groups of 16.
constexpr std::int64_t fp8_row_count(std::int64_t rows) { return (rows + 15) / 16 * 16; }

/// A matrix [rows, width], the width a multiple of 16, in 8 bits: times the power of two that
/// brings its largest magnitude, or a bound of it, into the upper half of the format's range
/// (current scaling: of this matrix, not of an earlier step).
struct CastFp8 {
  enum class Source : int {
    input,          ///< E4M3 or E5M2
    gelu,           ///< GELU(input), E4M3; the bound is the largest magnitude of the input
    gelu_backward,  ///< input * GELU'(wide), E5M2; that times the largest slope
  };
  Source source = Source::input;
  std::int64_t rows = 0;
  int width = 0;
  const void* input = nullptr;             ///< bf16
  const std::uint32_t* largest = nullptr;  ///< largest_magnitude() of the input
  void* output = nullptr;                  ///< [rows, width] or null
  void* transposed = nullptr;      ///< [width, fp8_row_count(rows)], 0 beyond the rows; or null
  float* inverse_scale = nullptr;  ///< what takes the numbers back
  bool tanh = false;               ///< GELU's form
  // gelu_backward:
  const void* wide = nullptr;  ///< bf16
  float* partials = nullptr;   ///< scratch of cast_partials_bytes()
  float* sums = nullptr;       ///< [width]: column sums
  bool accumulate = false;     ///< the sums add to what is there
};
void cast_fp8(Fp8 format, const CastFp8& arguments, Stream stream);
[[nodiscard]] std::int64_t cast_partials_bytes(std::int64_t rows, std::int64_t width);

/// qkv [B s, 3 h] holds query, key and value side by side; head n uses columns n d .. n d + d - 1
/// of each. Keys from lengths[b] on are padding. With `starts`, padding is not there: sequence b is
/// rows starts[b] .. starts[b] + lengths[b] - 1 of qkv and the outputs. Causal: position i sees the
/// keys 0 .. i alone.
struct Attention {
  std::int64_t sequences = 0;
  int length = 0, heads = 0, size = 0;
  bool causal = false;
  bool padded = true;  ///< some sequence may be shorter than `length`
  const std::int32_t* lengths = nullptr;
  const std::int32_t* starts = nullptr;  ///< [B] or null
  const void* qkv = nullptr;
  void* output = nullptr;     ///< T [B s, h]: forward writes, backward reads
  float* log_sums = nullptr;  ///< [B, heads, s]: log of the softmax's denominator, likewise
  Dropout dropout;
  /// Of attention_kept_bytes(), with dropout, in the tensor-core kernels: forward writes which
  /// elements are kept, backward reads it.
  std::uint32_t* kept = nullptr;
  /// Or null: as NormForward::largest, of output and of d_qkv; the tensor-core kernels' alone.
  std::uint32_t *largest = nullptr, *d_largest = nullptr;
  // Backward:
  const void* d_output = nullptr;
  float* delta = nullptr;  ///< [B, heads, s] scratch: row sums of d_output * output
  void* d_qkv = nullptr;
  /// The tensor-core kernels' alone: column sums of d_qkv, which are the gradient of its bias.
  float* sums = nullptr;               ///< [3 h] or null
  float* partials = nullptr;           ///< scratch of attention_partials_bytes()
  bool accumulate = false;             ///< the sums add to what is there
  const StepValues* values = nullptr;  ///< or null
};
/// Tensor-core kernels for bf16 and fp16 with heads of 64; plain fp32 arithmetic for all else.
[[nodiscard]] bool has_flash_attention(DType type, int size);
/// Of Attention::kept: one bit a score, of lengths rounded up to a multiple of 64.
[[nodiscard]] std::int64_t attention_kept_bytes(std::int64_t sequences, std::int64_t length,
                                                std::int64_t heads);
/// Of Attention::partials: one fp32 row of 3 h sums for every 64 rows of a sequence.
[[nodiscard]] std::int64_t attention_partials_bytes(std::int64_t sequences, std::int64_t length,
                                                    std::int64_t hidden);
void attention_forward(DType type, const Attention& arguments, bool plain, Stream stream);
void attention_backward(DType type, const Attention& arguments, bool plain, Stream stream);

/// What a library's attention reads next to the matrices, in device memory.
struct LibraryInputs {
  std::int64_t* seed = nullptr;           ///< of dropout, and an offset
  std::int32_t* query_lengths = nullptr;  ///< [B]; padded queries are computed like others
  std::int32_t* qkv_starts = nullptr;     ///< [B + 1]: elements of qkv before each sequence, in all
  std::int32_t* output_starts = nullptr;  ///< likewise of the output
};
[[nodiscard]] std::int64_t library_inputs_bytes(std::int64_t sequences);
/// The arrays in memory of that size.
[[nodiscard]] LibraryInputs library_inputs_at(void* memory, std::int64_t sequences);
/// Fills them for a call: the starts where `attention` has some, the seed with dropout, of the
/// same numbers as the kernels' masks.
void library_inputs(const Attention& attention, const LibraryInputs& inputs, Stream stream);

/// A piece of one parameter tensor, so that one launch serves all of them.
struct Chunk {
  std::int64_t begin = 0;
  std::int64_t local = 0;  ///< of its first element in the moments, which may be a share
  std::int32_t size = 0;
  std::int32_t parameter = 0;
};
inline constexpr std::int64_t kChunk = 16384;

struct OptimizerArguments : AdamConstants {
  const Chunk* chunks = nullptr;
  std::int64_t count = 0;                ///< of chunks
  const std::uint8_t* decays = nullptr;  ///< [parameters]
  const float* gradients = nullptr;
  float *weights = nullptr, *first = nullptr, *second = nullptr;
  void* copy = nullptr;              ///< T, or null when products read the fp32 weights
  float decay = 0;                   ///< AdamW: learning rate * weight decay; LAMB: weight decay
  float rate = 0;                    ///< learning rate
  double* sums = nullptr;            ///< LAMB: [chunks, 2] squares of weights and update
  double* parameter_sums = nullptr;  ///< LAMB: [parameters, 2]
  float* ratios = nullptr;           ///< LAMB: [parameters]
  const std::int32_t* first_chunk = nullptr;  ///< [parameters + 1]
  std::int32_t parameters = 0;
  float min_trust = 0, max_trust = 0;
  bool trust_without_decay = false;
};
void adamw(DType copy, const OptimizerArguments& arguments, Stream stream);
/// LAMB's two halves: moments and the sums that trust ratios are made of, which ranks that share
/// the parameters among them add up in between; ratios and weights.
void lamb_moments(const OptimizerArguments& arguments, Stream stream);
void lamb_weights(DType copy, const OptimizerArguments& arguments, Stream stream);

/// *total = sum of squares of all chunks; `partial` has one double a chunk.
void sum_of_squares(const Chunk* chunks, std::int64_t count, const float* values, double* partial,
                    double* total, Stream stream);

}  // namespace bert::cuda
