// ParameterLayout: where each tensor of Hugging Face's BertForPreTraining or GPT2LMHeadModel lies
// in the flat buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/model_config.h"

namespace bert {

/// Offset of a tensor that the model, or a layer of it, does not have.
inline constexpr std::int64_t kAbsent = -1;

/// Offsets in elements of a linear layer: weight [outputs, inputs], bias [outputs].
struct LinearOffsets {
  std::int64_t weight = kAbsent, bias = kAbsent;
  std::int64_t outputs = 0, inputs = 0;
  [[nodiscard]] LinearOffsets unbiased() const { return {weight, kAbsent, outputs, inputs}; }
};

/// Of a LayerNorm: weight (gamma) and bias (beta), [h] each.
struct NormOffsets {
  std::int64_t weight = kAbsent, bias = kAbsent;
};

/// Order = order of first use in forward, so that backward finishes gradients from the end of the
/// buffer to its start: embeddings, layers 0..L-1, heads. The tied decoder is the word embedding
/// itself and becomes final last. Tensors join without gaps. Query, key and value are neighbours,
/// so that one product serves the three.
///
/// A layer ends with the LayerNorm over its sum, in either place: with NormPlace::before that is
/// the one whose output the next layer (or the head) begins with, and the embeddings end with the
/// first layer's own.
struct LayerOffsets {
  std::int64_t begin = 0, end = 0;
  LinearOffsets qkv, attention_output, intermediate, output;  ///< [3h, h], [h, h], [I, h], [h, I]
  NormOffsets attention_norm, output_norm;
};

struct ParameterLayout {
  explicit ParameterLayout(const ModelConfig& config);

  std::vector<Parameter> parameters;
  std::vector<LayerOffsets> layers;
  std::int64_t word_embeddings = 0;           ///< [V, h]
  std::int64_t position_embeddings = 0;       ///< [P, h]
  std::int64_t segment_embeddings = kAbsent;  ///< [S, h]
  NormOffsets embedding_norm;
  std::int64_t heads = 0;  ///< start of the heads, end of the last layer
  LinearOffsets pooler, transform, next_sentence, decoder;  ///< [h, h], [h, h], [2, h], [V, h]
  NormOffsets transform_norm;
  std::int64_t total = 0;  ///< elements in all
};

/// std::invalid_argument naming the rule when a shape cannot be a model.
void check_config(const ModelConfig& config);

}  // namespace bert
