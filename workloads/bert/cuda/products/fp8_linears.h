// The linear layers of the encoder with operands of 8 bits (--precision fp8): weights and inputs as
// E4M3, gradients as E5M2, each matrix with a scale of its own that follows from its largest
// magnitude. Tensor cores read both operands along k alone, so a matrix that two products read the
// other way round is there as its transpose, too.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "workloads/bert/cuda/kernels/kernels.h"
#include "workloads/bert/cuda/products/matmul.h"
#include "workloads/bert/model/activations.h"
#include "workloads/bert/model/parameters.h"

namespace bert::cuda {

class Fp8Linears {
 public:
  [[nodiscard]] static std::int64_t bytes(const ParameterLayout& layout);
  /// `flash`: attention runs by the tensor-core kernels, which leave the largest magnitudes of what
  /// they write. LayerNorm does for widths of whole groups of 64.
  Fp8Linears(const ParameterLayout& layout, std::int64_t hidden, bool flash);
  /// Of the activations: transposes of a layer's four inputs, and both forms of one operand.
  static void add_sizes(const BackendOptions& options, ActivationSizes& sizes);

  /// Weights were written: the next begin() casts them anew.
  void weights_changed() { current_ = false; }
  /// Before a micro-step. `copy`: the weights, bf16.
  void begin(const std::byte* copy, Stream stream);
  /// Whether begin() has no weights to cast.
  [[nodiscard]] bool has_weights() const { return current_; }
  /// A graph has queued again what begin() had queued.
  void begun() { current_ = true; }

  /// Whether the products of the linear layer whose weight lies there are done in 8 bits.
  [[nodiscard]] bool has(const LinearOffsets& at) const { return find(at) >= 0; }
  /// Where the kernel that makes a linear layer's input, or its gradient, leaves the largest
  /// magnitude; null where none does.
  struct Places {
    std::uint32_t *input = nullptr, *gradient = nullptr;
  };
  [[nodiscard]] Places around_attention(std::size_t layer) const;
  [[nodiscard]] Places around_norm(const NormOffsets& at) const;

  /// The three products of a linear layer, written with bf16 operands, after their operands were
  /// cast, where they are not yet. y = x W^T keeps the transpose of x in `layers` when there is to
  /// be a backward.
  void cast_forward(const LinearOffsets& at, Activations<void>& act, bool keep, Product& product,
                    Stream stream);
  /// dW = dy^T x, with the transpose that forward kept; dy is cast for the next, too.
  void cast_weight(const LinearOffsets& at, Activations<void>& act, Product& product,
                   Stream stream);
  /// dx = dy W, with the dy that the last cast_weight() left, of the same layer.
  void cast_input(const LinearOffsets& at, Activations<void>& act, Product& product) const;

  /// GELU between the two linear layers of a feed-forward block, `at` the first: the second's input
  /// is made of `wide`, cast and ready; in bf16 it is nowhere.
  void cast_gelu(const LinearOffsets& at, Activations<void>& act, std::int64_t rows, bool keep,
                 bool tanh, const void* wide, Stream stream);
  /// And the first's gradient of `d`, the gradient of what GELU gives; `sums` gets its column sums.
  struct GeluGradient {
    const void *d = nullptr, *wide = nullptr;
    float* sums = nullptr;
    bool accumulate = false, tanh = false;
  };
  void cast_gelu_backward(const LinearOffsets& at, Activations<void>& act, std::int64_t rows,
                          const GeluGradient& gradient, Stream stream);

 private:
  /// A matrix that products read in 8 bits.
  struct Operand {
    float* scale = nullptr;            ///< what its numbers are multiplied by
    std::uint32_t* largest = nullptr;  ///< its largest magnitude, see largest_magnitude()
    bool found = false;                ///< by the kernel that makes the matrix
  };
  struct Linear {
    std::int64_t weight_at = 0;  ///< LinearOffsets::weight
    std::int64_t outputs = 0, inputs = 0;
    std::size_t layer = 0;
    std::int64_t kept_columns = 0;  ///< of the layer's inputs that are kept before its own
    std::byte *codes = nullptr, *transposed = nullptr;  ///< of the weight
    Operand weight, input, gradient;
  };
  [[nodiscard]] std::ptrdiff_t find(const LinearOffsets& at) const;
  [[nodiscard]] const Linear& linear(const LinearOffsets& at) const;
  /// Queues the cast of `input` [rows, width], after its largest magnitude where that is not found.
  static void cast(Fp8 format, const Operand& operand, CastFp8 matrix, Stream stream);
  [[nodiscard]] static std::byte* kept_input(const Linear& one, Activations<void>& act);
  /// Where dy lies transposed; as it is, it lies at the beginning.
  [[nodiscard]] static std::byte* gradient_transposed(const Linear& one, std::int64_t rows,
                                                      Activations<void>& act);

  std::vector<Linear> linears_;           ///< by ascending weight
  std::map<std::int64_t, Places> norms_;  ///< by the LayerNorm's weight
  Memory weights_, scales_, largest_;
  bool current_ = false;
  /// The layer whose input, or gradient, has been cast by what made it.
  const Linear* ready_ = nullptr;
};

}  // namespace bert::cuda
