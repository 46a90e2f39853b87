// The operations of model/transformer.h as a queue of products and kernels on one stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cuda/attention/library_attention.h"
#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/cuda/kernels/kernels.h"
#include "workloads/bert/cuda/products/fp8_linears.h"
#include "workloads/bert/cuda/products/matmul.h"
#include "workloads/bert/model/activations.h"
#include "workloads/bert/model/parameters.h"
#include "workloads/bert/model/transformer.h"

namespace bert::cuda {

/// Run i adds the rows sources[starts[i]] .. sources[starts[i + 1] - 1] to row targets[i], in
/// device memory.
struct DeviceRuns {
  const std::int32_t *targets = nullptr, *starts = nullptr, *sources = nullptr;
  std::int64_t count = 0;
};

/// A batch in device memory. Activations have a row a token: of the padded batch, or unpadded those
/// of one sequence after the other and a tail that makes shapes repeat. The tail is computed like
/// tokens, but its gradient is 0, and attention leaves it out.
struct DeviceBatch {
  std::int64_t sequences = 0, length = 0, masked_rows = 0;
  std::int64_t row_count = 0, token_count = 0;  ///< with the tail, without
  bool unpadded = false;
  bool padded = true;  ///< some sequence is shorter than `length`
  std::int64_t first_sequence = 0;
  const std::int32_t *tokens = nullptr, *segments = nullptr, *lengths = nullptr, *masked = nullptr,
                     *labels = nullptr, *next_sentence = nullptr;
  const std::int32_t* first_rows = nullptr;  ///< [sequences]
  const std::int32_t* places = nullptr;      ///< [row_count] unpadded; see NormForward
  /// Tokens by id, masked rows by position, and, unpadded, tokens by position.
  DeviceRuns words, masked_positions, positions;
};

/// Everything that a step reads and writes. `weights` and `gradients` are fp32, `copy` is what
/// products read: the weights in `type`.
struct Step {
  using Element = void;

  const BackendOptions& options;
  const ParameterLayout& layout;
  Activations<void>& act;
  Matmul& matmul;
  const ModelConfig& model = options.model;
  Stream stream = nullptr;
  DType type = DType::f32;
  bool plain_attention = false;
  Fp8Linears* fp8 = nullptr;                      ///< with --precision fp8
  LibraryAttention* attention_library = nullptr;  ///< in place of the kernels
  const float* weights = nullptr;
  const std::byte* copy = nullptr;
  float* gradients = nullptr;

  DeviceBatch batch{};
  double gradient_scale = 1;
  bool training = false;
  bool accumulate = false;  ///< gradients add to what is there
  std::int64_t optimizer_step = 0;
  /// Or null: own_values() in device memory, for kernels that a graph queues again.
  const StepValues* step_values = nullptr;
  double* losses = nullptr;  ///< [2] sums: of words over rows, next sentence over sequences
  std::function<void()> forward_done = {};  ///< called where backward begins; empty: nobody asks
  void end_forward() const {
    if (forward_done) forward_done();
  }

  [[nodiscard]] std::int64_t rows() const { return batch.row_count; }
  [[nodiscard]] std::int64_t sequences() const { return batch.sequences; }
  [[nodiscard]] std::int64_t masked_rows() const { return batch.masked_rows; }
  [[nodiscard]] void* row_at(void* values, std::int64_t row) const {
    return static_cast<std::byte*>(values) + row * model.hidden * size_of(type);
  }

  /// The three products of a linear layer; rows of x and y are dense.
  void linear(const LinearOffsets& at, std::int64_t rows, const void* x, void* y);
  void linear_input(const LinearOffsets& at, std::int64_t rows, const void* dy, void* dx, bool add);
  void linear_weight(const LinearOffsets& at, std::int64_t rows, const void* dy, const void* x);
  /// `wide` is left without its bias where the GELU has the erf form; gelu_backward() then adds it.
  /// In 8 bits `wide` has its bias, and y and d_wide are not written but cast.
  void linear_gelu(const LinearOffsets& at, std::int64_t rows, const void* x, void* wide, void* y);
  void linear_input_gelu(const LinearOffsets& at, const LinearOffsets& gelu_at, std::int64_t rows,
                         const void* dy, void* wide, void* d_wide);
  void gelu_backward(const LinearOffsets& at, std::int64_t rows, const void* wide, void* d);

  void norm(const NormStep<void>& step, std::int64_t rows) const;
  void norm_again(const NormStep<void>& step) const { norm(step, rows()); }
  void norm_backward(const NormStep<void>& step, std::int64_t rows,
                     const NormGradients<void>& d) const;

  void attention(std::size_t layer) const;
  void attention_backward(std::size_t layer, const void* d_attention);

  void embed(const NormStep<void>& step) const;
  void add_to_tables(void* d_sum) const;

  void gather_masked() const;
  void scatter_masked(const void* d_gathered) const;
  void gather_first() const;
  void scatter_first(const void* d_first) const;
  void fill_zero(void* values) const;  ///< [T, h]

  void cross_entropy(std::int64_t first, std::int64_t count, std::int64_t total) const;
  void next_sentence() const;

  [[nodiscard]] StepValues own_values() const;
  /// Queues the sums of the losses, after heads().
  void sum_losses() const;
  /// For the log: which of a layer's biases, GELUs and their gradients its products do themselves.
  [[nodiscard]] std::vector<std::string> epilogue_settings() const;

 private:
  [[nodiscard]] const void* copy_at(std::int64_t offset) const {
    return copy + offset * size_of(type);
  }
  /// GELU is computed inside products: in its tanh form, the only one that cuBLASLt has.
  [[nodiscard]] bool gelu_in_products() const { return model.gelu == Gelu::tanh; }
  [[nodiscard]] std::int64_t columns(const LinearOffsets& at) const;
  [[nodiscard]] bool in_fp8(const LinearOffsets& at) const {
    return fp8 != nullptr && fp8->has(at);
  }
  [[nodiscard]] Product linear_product(const LinearOffsets& at, std::int64_t rows, const void* x,
                                       void* y) const;
  [[nodiscard]] Product input_product(const LinearOffsets& at, std::int64_t rows, const void* dy,
                                      void* dx) const;
  [[nodiscard]] Product weight_product(const LinearOffsets& at, std::int64_t rows, const void* dy,
                                       const void* x) const;
  /// The two products that GELU belongs to: `wide` is its input, `bias` gets its gradient.
  [[nodiscard]] Product with_gelu(Product product, void* wide) const;
  [[nodiscard]] Product with_gelu_backward(Product product, void* wide, std::int64_t bias) const;

  /// That the loss of a word or sentence counts in the gradient of the mean over `count` of them.
  [[nodiscard]] float loss_scale(std::int64_t count) const {
    return static_cast<float>(gradient_scale / static_cast<double>(count));
  }
  /// Rows whose word is predicted.
  [[nodiscard]] std::int64_t word_rows() const {
    return model.objective == Objective::next_word ? rows() : masked_rows();
  }
  [[nodiscard]] Dropout dropout(std::optional<std::uint32_t> site, double probability) const;
  [[nodiscard]] NormForward forward_of(const NormStep<void>& step, std::int64_t rows) const;
  /// Whether the own tensor-core attention runs, which leaves the sums of query, key and value
  /// itself.
  [[nodiscard]] bool on_tensor_cores() const;
  [[nodiscard]] Attention attention_of(std::size_t layer) const;
  void clear_gradient(std::int64_t offset, std::int64_t size) const;
  void clear_tail(void* values, std::int64_t width) const;
  void add_runs(const DeviceRuns& runs, const void* input, void* output, bool to_float) const;
};

/// Decoder columns as products see them. The rows beyond the vocabulary are the first of the
/// position table, which follows it: their logits are ignored and their gradient is 0.
[[nodiscard]] constexpr std::int64_t decoder_columns(const ModelConfig& model) {
  const std::int64_t padded = (model.vocabulary + 7) / 8 * 8;
  return padded - model.vocabulary <= model.max_positions ? padded : model.vocabulary;
}

[[nodiscard]] ActivationSizes activation_sizes(const BackendOptions& options, DType type,
                                               std::int64_t masked_per_sequence, bool fp8 = false);

}  // namespace bert::cuda
