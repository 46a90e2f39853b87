// The pre-training heads, with the word embedding as decoder: masked words and next sentence
// (through the pooler), or the next word at every position.
#pragma once

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cpu/context.h"

namespace bert {

/// BackendOptions::logit_rows of this backend's choice.
inline constexpr std::int64_t kLogitRows = 1024;

/// M = B m masked rows. A next_word head has logits [logit_rows, V] and nothing else.
struct HeadScratch {
  float* gathered = nullptr;     ///< [M, h]
  float* transformed = nullptr;  ///< [M, h] before bias and GELU
  float* activated = nullptr;    ///< [M, h] after GELU, and LayerNorm's sum
  float* normalized = nullptr;   ///< [M, h]
  float* mean = nullptr;         ///< [M]
  float* rstd = nullptr;         ///< [M]
  float* d_narrow = nullptr;     ///< [M, h]
  float* logits = nullptr;       ///< [M, V]
  std::int64_t logit_rows = 0;
  float* first_tokens = nullptr;  ///< [B, h]
  float* pooled = nullptr;        ///< [B, h]
  float* d_pooled = nullptr;      ///< [B, h]
};

/// Forward and backward at once: hidden [T, h] -> losses, gradients of the heads' parameters and of
/// the tied word embedding, and `d_hidden` [T, h], which is overwritten.
Loss heads_step(const Context& context, const Batch& batch, double gradient_scale,
                const HeadScratch& scratch, const float* hidden, float* d_hidden);

}  // namespace bert
