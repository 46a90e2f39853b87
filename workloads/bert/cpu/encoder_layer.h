// One layer, forward and backward: attention and FFN, each with dropout, residual and the LayerNorm
// over their sum. Where a model has LayerNorm before its blocks (GPT-2), the one over a layer's
// last sum is the next layer's first: the same products and kernels in the same order, but the
// residual is the sum and not what LayerNorm makes of it.
#pragma once

#include "workloads/bert/cpu/context.h"

namespace bert {

/// What backward needs of one layer. T = tokens of the micro-step.
struct LayerActivations {
  float* input = nullptr;          ///< [T, h] what the products read
  float* residual = nullptr;       ///< [T, h] what the attention's output is added to: input, or
                                   ///< the sum that it is the LayerNorm of
  float* input_mean = nullptr;     ///< [T] of that LayerNorm, where it may be taken again
  float* input_rstd = nullptr;     ///< [T]
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

/// `input` again from `residual`, for NormPlace::before; the same bits as forward gave it.
void layer_input_again(const Context& context, std::int64_t layer, const LayerActivations& act);

/// `d` holds the gradients at the layer's end and ends as those at its beginning.
void layer_backward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                    const LayerActivations& act, const LayerScratch& scratch,
                    const GradientFlow& d);

}  // namespace bert
