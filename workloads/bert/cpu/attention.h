// Multi-head self-attention between the fused QKV product and the output product.
#pragma once

#include "workloads/bert/cpu/context.h"

namespace bert {

/// qkv [T, 3h] (query, key, value side by side) -> probabilities [B, H, s, s] (kept for backward,
/// columns from a sequence's length on are not written) and context [T, h].
/// `lengths` [B]: keys at or beyond a sequence's length are masked.
void attention_forward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                       const float* qkv, float* probabilities, float* output);

/// d_output [T, h] -> d_qkv [T, 3h]; adds its column sums to the gradient of the QKV bias.
/// `bias_partials` [B, 3h] is scratch.
void attention_backward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                        const float* qkv, const float* probabilities, const float* d_output,
                        float* d_qkv, float* bias_partials);

/// Floats of scratch that one thread needs.
[[nodiscard]] std::int64_t attention_scratch(std::int64_t sequence_length);

}  // namespace bert
