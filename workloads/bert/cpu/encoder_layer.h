// One post-LN encoder layer, forward and backward.
#pragma once

#include "workloads/bert/cpu/context.h"

namespace bert {

/// What backward needs of one layer. T = tokens of the micro-step.
struct LayerActivations {
  float* input = nullptr;          ///< [T, h]
  float* qkv = nullptr;            ///< [T, 3h]
  float* probabilities = nullptr;  ///< [B, H, s, s]
  float* attention = nullptr;      ///< [T, h]
  float* attention_sum = nullptr;  ///< [T, h] before the first LayerNorm
  float* attention_mean = nullptr;
  float* attention_rstd = nullptr;  ///< [T]
  float* middle = nullptr;          ///< [T, h] after the first LayerNorm
  float* wide = nullptr;            ///< [T, I] before bias and GELU
  float* activated = nullptr;       ///< [T, I] after GELU
  float* output_sum = nullptr;      ///< [T, h] before the second LayerNorm
  float* output_mean = nullptr;
  float* output_rstd = nullptr;  ///< [T]
};

/// Gradients on their way through the layers.
struct LayerScratch {
  float* d_narrow = nullptr;       ///< [T, h]
  float* d_wide = nullptr;         ///< [T, I]
  float* d_qkv = nullptr;          ///< [T, 3h]
  float* bias_partials = nullptr;  ///< [B, 3h]
};

void layer_forward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                   const LayerActivations& act, float* output);

/// `d_output` [T, h] holds the gradient of the output and ends as that of the input.
void layer_backward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                    const LayerActivations& act, const LayerScratch& scratch, float* d_output);

}  // namespace bert
