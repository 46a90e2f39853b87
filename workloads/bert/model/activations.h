// Activations: where every intermediate result of a step lies in one block of memory, which is
// planned first and asked for once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/model/arena.h"

namespace bert {

/// What backward needs of one layer. T = tokens of the micro-step.
template <typename Element>
struct LayerActivations {
  Element* input = nullptr;          ///< [T, h] what the products read
  Element* residual = nullptr;       ///< [T, h] what the attention's output is added to: input, or
                                     ///< the sum that it is the LayerNorm of
  float* input_mean = nullptr;       ///< [T] of that LayerNorm, where it may be taken again
  float* input_rstd = nullptr;       ///< [T]
  Element* qkv = nullptr;            ///< [T, 3h]
  float* softmax = nullptr;          ///< what the backend keeps of the softmax and its dropout
  Element* attention = nullptr;      ///< [T, h]
  Element* attention_sum = nullptr;  ///< [T, h] before the first LayerNorm
  float* attention_mean = nullptr;   ///< [T]
  float* attention_rstd = nullptr;   ///< [T]
  Element* middle = nullptr;         ///< [T, h] after the first LayerNorm
  Element* wide = nullptr;           ///< [T, I] before GELU, and before the bias if GELU adds it
  Element* activated = nullptr;      ///< [T, I] after GELU
  Element* output_sum = nullptr;     ///< [T, h] before the second LayerNorm
  float* output_mean = nullptr;      ///< [T]
  float* output_rstd = nullptr;      ///< [T]
  std::byte* operands = nullptr;     ///< what the backend keeps of the inputs of its products
};

/// M = B m masked rows. A next_word head has logits and losses [T] alone.
template <typename Element>
struct HeadActivations {
  Element* gathered = nullptr;       ///< [M, h]
  Element* transformed = nullptr;    ///< [M, h] before GELU
  Element* activated = nullptr;      ///< [M, h] after GELU, and LayerNorm's sum
  Element* normalized = nullptr;     ///< [M, h]
  float* mean = nullptr;             ///< [M]
  float* rstd = nullptr;             ///< [M]
  Element* d_narrow = nullptr;       ///< [M, h]
  float* losses = nullptr;           ///< [M]
  Element* logits = nullptr;         ///< [logit_rows, V']
  std::int64_t logit_rows = 0;       ///< M where all of them live at once
  Element* first_tokens = nullptr;   ///< [B, h]
  Element* pooled = nullptr;         ///< [B, h]
  Element* d_pooled = nullptr;       ///< [B, h]
  float* d_logits = nullptr;         ///< [B, 2]
  float* sequence_losses = nullptr;  ///< [B]
};

/// What differs between backends; bytes where no other unit is given.
struct ActivationSizes {
  std::int64_t element = sizeof(float);  ///< of an Element
  std::int64_t alignment = 64;           ///< of every tensor
  std::int64_t softmax = 0;              ///< kept of a layer
  std::int64_t norm_dropout = 0;       ///< kept of the dropout next to a LayerNorm, after its rstd
  std::int64_t attention_scratch = 0;  ///< of attention's backward
  std::int64_t partials = 0;           ///< partial sums of columns
  std::int64_t thread_scratch = 0;     ///< of all threads
  std::int64_t operands = 0;           ///< kept of a layer's inputs of products
  /// Of an element of GELU's result as it is kept, 0 where it is not: as `element` without this.
  std::optional<std::int64_t> activated_element;
  std::int64_t operand_scratch = 0;  ///< of one product's operands
  std::int64_t logit_columns = 0;    ///< V', elements
  std::int64_t logit_rows = 0;       ///< that a next_word head has at a time by default
  /// The same of a head of masked words; 0: all.
  std::int64_t masked_logit_rows = 0;
};

/// Element: float, or void where its type is chosen at run time. Tensors that never live at the
/// same time share memory: the heads' and the layers' backward scratch. With activation
/// checkpointing only what each layer begins with is kept, its input or (NormPlace::before) the sum
/// that the input is made of, and all layers share one set of activations.
template <typename Element>
class Activations {
 public:
  Activations(const BackendOptions& options, const ActivationSizes& sizes,
              std::int64_t masked_per_sequence);

  /// It holds pointers to itself.
  Activations(const Activations&) = delete;
  Activations& operator=(const Activations&) = delete;

  [[nodiscard]] std::int64_t bytes() const { return plan_.total(); }
  /// `memory`: bytes() bytes, aligned to ActivationSizes::alignment, which outlive this.
  void bind(void* memory);
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }  ///< T, the most there are

  Element* embedding_sum = nullptr;  ///< [T, h]
  float *embedding_mean = nullptr, *embedding_rstd = nullptr;
  std::vector<LayerActivations<Element>> layers;
  Element* hidden = nullptr;  ///< [T, h] output of the last layer
  /// [T, h] gradients on their way down, of a LayerNorm's output and of the sum under it: one
  /// array, but two with NormPlace::before, where the model goes on from the sum.
  Element *d_output = nullptr, *d_sum = nullptr;
  Element *d_narrow = nullptr, *d_wide = nullptr, *d_qkv = nullptr;  ///< [T, h], [T, I], [T, 3h]
  /// Of as many bytes as ActivationSizes gives them.
  float* attention_scratch = nullptr;
  float* partials = nullptr;
  float* thread_scratch = nullptr;
  std::byte* operand_scratch = nullptr;
  HeadActivations<Element> heads;

 private:
  struct Slot {
    void** pointer;
    std::int64_t offset;
  };
  /// A sum with the statistics of the LayerNorm over it.
  struct Sum {
    std::int64_t values, mean, rstd;
  };
  /// Plans `bytes` for a tensor and returns its offset.
  template <typename T>
  std::int64_t place(T*& pointer, std::int64_t bytes) {
    const std::int64_t offset = plan_.add(bytes);
    alias(pointer, offset);
    return offset;
  }
  template <typename T>
  void alias(T*& pointer, std::int64_t offset) {
    slots_.push_back({reinterpret_cast<void**>(&pointer), offset});
  }
  Sum place_sum(Element*& values, float*& mean, float*& rstd);
  void place_layer_starts(const BackendOptions& options, Sum sum);
  void place_layer(const BackendOptions& options, LayerActivations<Element>& layer);
  void place_heads(const BackendOptions& options, std::int64_t masked_per_sequence);

  ActivationSizes sizes_;
  std::int64_t tokens_, narrow_;  ///< T; bytes of [T, h]
  ArenaPlan plan_;
  std::vector<Slot> slots_;
};

}  // namespace bert
