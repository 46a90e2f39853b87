// The operations of model/transformer.h on the CPU.
#pragma once

#include <chrono>

#include "workloads/bert/cpu/context.h"
#include "workloads/bert/model/activations.h"
#include "workloads/bert/model/transformer.h"

namespace bert {

/// The work of one micro-step, by operations as transformer.h states them. T: rows, one a token.
struct CpuStep : Context {
  using Element = float;

  const BackendOptions& options;
  Activations<float>& act;
  const Batch& batch;
  double gradient_scale = 1;
  double word_losses = 0, sentence_losses = 0;  ///< sums over rows, over sequences

  std::chrono::steady_clock::time_point forward_done{};
  void end_forward() { forward_done = std::chrono::steady_clock::now(); }

  [[nodiscard]] std::int64_t rows() const { return kept->first_rows.back(); }
  [[nodiscard]] std::int64_t sequences() const { return shape.sequences; }
  [[nodiscard]] std::int64_t masked_rows() const { return shape.sequences * shape.masked; }
  [[nodiscard]] float* row_at(float* values, std::int64_t row) const {
    return values + row * model.hidden;
  }

  void linear(const LinearOffsets& at, std::int64_t rows, const float* x, float* y) const;
  void linear_gelu(const LinearOffsets& at, std::int64_t rows, const float* x, float* wide,
                   float* y) const;
  void linear_input(const LinearOffsets& at, std::int64_t rows, const float* dy, float* dx,
                    bool add) const;
  void linear_input_gelu(const LinearOffsets& at, const LinearOffsets& gelu_at, std::int64_t rows,
                         const float* dy, const float* wide, float* d_wide) const;
  void linear_weight(const LinearOffsets& at, std::int64_t rows, const float* dy,
                     const float* x) const;
  void gelu_backward(const LinearOffsets& at, std::int64_t rows, const float* wide, float* d) const;

  void norm(const NormStep<float>& step, std::int64_t rows) const;
  void norm_again(const NormStep<float>& step) const;
  void norm_backward(const NormStep<float>& step, std::int64_t rows,
                     const NormGradients<float>& d) const;

  void attention(std::size_t layer) const;
  void attention_backward(std::size_t layer, const float* d_attention) const;

  /// Token, position and segment embeddings into the norm's sum.
  void embed(const NormStep<float>& step) const;
  /// Rows of one token are added in the order of their positions in the batch, so the result does
  /// not depend on the threads.
  void add_to_tables(const float* d_sum) const;

  void gather_masked() const;
  void scatter_masked(const float* d_gathered) const;
  void gather_first() const;
  void scatter_first(const float* d_first) const;
  void fill_zero(float* values) const;  ///< [T, h]

  /// Rows of the head that have a label.
  [[nodiscard]] std::int64_t labelled() const;
  /// Of `count` rows of logits, whose labels begin at `first`: the losses, and the gradient of
  /// their mean over `total` rows in place of the logits.
  void cross_entropy(std::int64_t first, std::int64_t count, std::int64_t total);
  /// Where there is a decoder in bf16: decode() instead of the decoder's products and
  /// cross_entropy(). dx: gradient of `rows` rows of x.
  [[nodiscard]] bool decodes() const { return decoder != nullptr && gradients != nullptr; }
  void decode(std::int64_t rows, const float* x, float* dx);
  void next_sentence();
  /// -log softmax over a sequence's tokens, padding left out, of the answer's first and of its last
  /// one; the loss of a sequence is the mean of the two.
  void answer_spans(bool forward_only);

 private:
  [[nodiscard]] const DropoutKey* keys_of(const NormStep<float>& step) const;
  [[nodiscard]] NormForward forward_of(const NormStep<float>& step, const DropoutKey* keys) const;
  void add_word_gradients(const float* d_sum) const;
  /// Of one row's loss, of `rows` rows.
  [[nodiscard]] float gradient_of_loss(std::int64_t rows) const;
  /// Where the bf16 numbers of a kept input of a product are to be written; null for other values.
  [[nodiscard]] Bf16* kept_operand(const float* values) const;
};

}  // namespace bert
