// ActivationPlan: where every intermediate result of a step lies in one buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cpu/embeddings.h"
#include "workloads/bert/cpu/encoder_layer.h"
#include "workloads/bert/cpu/heads.h"
#include "workloads/bert/model/arena.h"

namespace bert {

/// Offsets first, pointers after `bind`. The heads' tensors and the layers' backward scratch never
/// live at the same time and share memory. With activation checkpointing only what each layer
/// begins with is kept, its input or (NormPlace::before) the sum that the input is made of, and all
/// layers share one set of activations.
class Activations {
 public:
  Activations(const BackendOptions& options, std::int64_t masked_per_sequence);

  [[nodiscard]] std::int64_t elements() const { return total_; }
  void bind(float* base);

  EmbeddingActivations embedding;
  std::vector<LayerActivations> layers;
  float* hidden = nullptr;  ///< [T, h] output of the last layer
  GradientFlow d;
  HeadScratch heads;
  LayerScratch scratch;
  float* partials = nullptr;  ///< [kRowBlocks, partials_width]
  std::int64_t partials_width = 0;
  float* thread_scratch = nullptr;  ///< [threads, thread_scratch_size]
  std::int64_t thread_scratch_size = 0;

 private:
  struct Slot {
    float** pointer;
    std::int64_t offset;
  };
  /// Returns the tensor's offset.
  std::int64_t place(float** pointer, std::int64_t elements);
  void alias(float** pointer, std::int64_t offset) { slots_.push_back({pointer, offset}); }
  /// A sum with the statistics of the LayerNorm over it.
  struct Sum {
    std::int64_t values, mean, rstd;
  };
  void place_layer_starts(const BackendOptions& options, Sum sum);
  Sum place_sum(float** values, float** mean, float** rstd, const BackendOptions& options);
  void place_layer(LayerActivations& layer, const BackendOptions& options);
  void place_heads(const BackendOptions& options, std::int64_t masked_per_sequence);

  ArenaPlan plan_;
  std::vector<Slot> slots_;
  std::int64_t total_ = 0;
};

}  // namespace bert
