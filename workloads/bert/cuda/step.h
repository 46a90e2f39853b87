// Forward and backward of one micro-step, as a queue of products and kernels on one stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cuda/activations.h"
#include "workloads/bert/cuda/kernels/kernels.h"
#include "workloads/bert/cuda/products/matmul.h"
#include "workloads/bert/model/parameters.h"

namespace bert::cuda {

/// A batch in device memory. Activations have a row a token: of the padded batch, or unpadded
/// those of the sequences one behind the other and a tail that makes shapes repeat. The tail is
/// computed like tokens, but its gradient is 0, and attention leaves it out.
struct DeviceBatch {
  std::int64_t sequences = 0, length = 0, masked_rows = 0;
  std::int64_t row_count = 0, token_count = 0;  ///< with the tail, without
  bool unpadded = false;
  std::int64_t first_sequence = 0;
  const std::int32_t *tokens = nullptr, *segments = nullptr, *lengths = nullptr, *masked = nullptr,
                     *labels = nullptr, *next_sentence = nullptr;
  const std::int32_t* first_rows = nullptr;  ///< [sequences]
  const std::int32_t* places = nullptr;      ///< [row_count] unpadded; see NormForward
  /// Tokens by position, unpadded.
  const std::int32_t *position_targets = nullptr, *position_starts = nullptr,
                     *position_sources = nullptr;
  std::int64_t position_runs = 0;
  /// Tokens by id, and masked rows by position; see RowRuns.
  const std::int32_t *word_targets = nullptr, *word_starts = nullptr, *word_sources = nullptr;
  std::int64_t word_runs = 0;
  const std::int32_t *masked_targets = nullptr, *masked_starts = nullptr, *masked_sources = nullptr;
  std::int64_t masked_runs = 0;

  [[nodiscard]] std::int64_t rows() const { return row_count; }
};

/// Everything that a step reads and writes. `weights` and `gradients` are fp32, `copy` is what
/// products read: the weights in `type`.
struct Step {
  const BackendOptions& options;
  const ParameterLayout& layout;
  Activations& act;
  Matmul& matmul;
  Stream stream = nullptr;
  DType type = DType::f32;
  bool plain_attention = false;
  const float* weights = nullptr;
  const std::byte* copy = nullptr;
  float* gradients = nullptr;

  DeviceBatch batch{};
  double gradient_scale = 1;
  bool training = false;
  bool accumulate = false;  ///< gradients add to what is there
  std::int64_t optimizer_step = 0;
  double* losses = nullptr;  ///< [2] sums: masked LM over rows, next sentence over sequences

  [[nodiscard]] const ModelConfig& model() const { return options.model; }
  /// What a block adds to is the last sum, not the LayerNorm of it.
  [[nodiscard]] bool stream_of_sums() const { return model().norm == NormPlace::before; }
  [[nodiscard]] const void* copy_at(std::int64_t offset) const {
    return copy + offset * size_of(type);
  }
  [[nodiscard]] Dropout dropout(std::uint32_t site, double probability) const;
  [[nodiscard]] NormForward norm(std::int64_t rows, const float* gamma, const float* beta) const;

  /// Zeros in the rows of [rows, width] that attention left out.
  void clear_tail(void* values, std::int64_t width) const;

  /// GELU stands around products; of the erf form cuBLASLt knows nothing.
  [[nodiscard]] bool gelu_in_products() const { return model().gelu == Gelu::tanh; }

  /// The three products of a linear layer with weight [outputs, inputs] at `weight`; rows of x and
  /// y are dense. `bias` (offset) may be kNone.
  [[nodiscard]] Product linear_product(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                                       const void* x, std::int64_t weight, std::int64_t bias,
                                       void* y) const;
  [[nodiscard]] Product input_product(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                                      const void* dy, std::int64_t weight, void* dx) const;
  /// With the gradient of the bias, `bias_size` elements of it (the decoder's has fewer than there
  /// are outputs).
  [[nodiscard]] Product weight_product(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                                       const void* dy, const void* x, std::int64_t weight,
                                       std::int64_t bias, std::int64_t bias_size) const;
  /// The two products that GELU stands around: aux is its input, sums the gradient of its bias.
  [[nodiscard]] Product with_gelu(Product product, void* aux) const;
  [[nodiscard]] Product with_gelu_backward(Product product, void* aux, std::int64_t bias) const;

  static constexpr std::int64_t kNone = -1;
  /// y = GELU(aux), aux = x W^T + bias, the latter without the bias where the GELU has the erf
  /// form; gelu_slopes() then asks for the bias.
  void linear_gelu(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const void* x,
                   std::int64_t weight, std::int64_t bias, void* aux, void* y);
  /// values [rows, width] *= GELU'(aux), and the gradient of the bias.
  void gelu_slopes(std::int64_t rows, std::int64_t width, void* values, const void* aux,
                   std::int64_t bias) const;
  void linear(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const void* x,
              std::int64_t weight, std::int64_t bias, void* y);
  void linear_input(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const void* dy,
                    std::int64_t weight, void* dx, bool add);
  void linear_weight(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const void* dy,
                     const void* x, std::int64_t weight, std::int64_t bias = kNone,
                     std::int64_t bias_size = 0);
};

/// For the log: which of a layer's biases, GELUs and their gradients its products do themselves.
[[nodiscard]] std::vector<std::string> epilogue_settings(Step& step);

/// `forward` queues all but the heads. `heads` queues both heads forward and, unless
/// `forward_only`, their backward; it leaves the gradients at the last layer's end.
void forward(Step& step);
void heads(Step& step, bool forward_only);
/// After heads(): layers and embeddings, from the end. finished(offset, size) is called on the host
/// when the work that completes this range of gradients has been queued.
void backward(Step& step, const GradientReady& finished);

}  // namespace bert::cuda
