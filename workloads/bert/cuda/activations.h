// Where every intermediate result of a step lies in device memory: planned on the host, asked for
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/model/arena.h"

namespace bert::cuda {

/// What backward needs of one layer; T = tokens of the micro-step, "T" types are the activations'.
struct LayerActivations {
  void* input = nullptr;          ///< [T, h]
  void* residual = nullptr;       ///< [T, h] input, or the sum that it is the LayerNorm of
  void* qkv = nullptr;            ///< [T, 3h]
  void* attention = nullptr;      ///< [T, h]
  float* log_sums = nullptr;      ///< [B, heads, s]
  void* attention_sum = nullptr;  ///< [T, h] before the first LayerNorm
  float* attention_mean = nullptr;
  float* attention_rstd = nullptr;  ///< [T]
  void* middle = nullptr;           ///< [T, h] after the first LayerNorm
  void* wide = nullptr;             ///< [T, I] before bias and GELU
  void* activated = nullptr;        ///< [T, I] after GELU
  void* output_sum = nullptr;       ///< [T, h] before the second LayerNorm
  float* output_mean = nullptr;
  float* output_rstd = nullptr;  ///< [T]
};

/// BackendOptions::logit_rows of this backend's choice.
inline constexpr std::int64_t kLogitRows = 8192;

/// M = B m masked rows, V' = decoder columns rounded up to a multiple of 8.
struct HeadActivations {
  void *gathered = nullptr, *transformed = nullptr, *activated = nullptr, *normalized = nullptr,
       *d_narrow = nullptr;                                   ///< [M, h]
  float *mean = nullptr, *rstd = nullptr, *losses = nullptr;  ///< [M]
  void* logits = nullptr;  ///< [M, V'], or [logit_rows, V'] of a next_word head
  std::int64_t logit_rows = 0;
  void *first_tokens = nullptr, *pooled = nullptr, *d_pooled = nullptr, *d_first = nullptr;
  float *d_logits = nullptr, *sequence_losses = nullptr;  ///< [B, 2], [B]
};

/// Tensors that never live at the same time share memory: the heads' and the layers' backward
/// scratch; with activation checkpointing, all layers but what they begin with, their input or
/// (NormPlace::before) the sum that it is made of. Every tensor begins at a multiple of 256
/// bytes.
class Activations {
 public:
  Activations(const BackendOptions& options, DType type, std::int64_t masked_per_sequence);

  [[nodiscard]] std::int64_t bytes() const { return kUnit * plan_.total(); }
  void bind(std::byte* base);

  void* embedding_sum = nullptr;  ///< [T, h]
  float *embedding_mean = nullptr, *embedding_rstd = nullptr;
  std::vector<LayerActivations> layers;
  void* hidden = nullptr;  ///< [T, h] output of the last layer
  /// [T, h] gradients on their way down, of a LayerNorm's output and of the sum under it: one
  /// array, but two with NormPlace::before, where the model goes on from the sum.
  void *d_hidden = nullptr, *d_sum = nullptr;
  float* partials = nullptr;
  HeadActivations heads;
  void *d_narrow = nullptr, *d_wide = nullptr, *d_qkv = nullptr;  ///< [T, h], [T, I], [T, 3h]
  float* delta = nullptr;                                         ///< [B, heads, s]

 private:
  /// ArenaPlan rounds to 16 units: 256 bytes.
  static constexpr std::int64_t kUnit = 16;
  struct Slot {
    void** pointer;
    std::int64_t offset;
  };
  /// Returns the tensor's offset.
  template <typename T>
  std::int64_t place(T*& pointer, std::int64_t bytes) {
    const std::int64_t units = (bytes + kUnit - 1) / kUnit;
    slots_.push_back({reinterpret_cast<void**>(&pointer), plan_.add(units)});
    return slots_.back().offset;
  }
  void alias(void*& pointer, std::int64_t offset) { slots_.push_back({&pointer, offset}); }
  void place_layer_starts(const BackendOptions& options, std::int64_t element, std::int64_t sum);
  void place_heads(const BackendOptions& options, std::int64_t element, std::int64_t masked);
  void place_layer(LayerActivations& layer, const BackendOptions& options, std::int64_t element);

  ArenaPlan plan_;
  std::vector<Slot> slots_;
};

/// Decoder columns as products see them. The rows beyond the vocabulary are the first of the
/// position table, which follows it: their logits are ignored and their gradient is 0.
[[nodiscard]] constexpr std::int64_t decoder_columns(const ModelConfig& model) {
  const std::int64_t padded = (model.vocabulary + 7) / 8 * 8;
  return padded - model.vocabulary <= model.max_positions ? padded : model.vocabulary;
}

}  // namespace bert::cuda
