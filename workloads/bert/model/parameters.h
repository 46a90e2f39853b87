// ParameterLayout: where each tensor of Hugging Face's BertForPreTraining or GPT2LMHeadModel lies
// in the flat buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/model_config.h"

namespace bert {

/// Offsets in elements. Order = order of first use in forward, so that backward finishes gradients
/// from the end of the buffer to its start: embeddings, layers 0..L-1, heads. The tied decoder is
/// the word embedding itself and becomes final last. Tensors join without gaps. Query, key and
/// value lie side by side so that one product serves the three.
///
/// A layer ends with the LayerNorm over its sum, in either place: with NormPlace::before that is
/// the one whose output the next layer (or the head) begins with, and the embeddings end with the
/// first layer's own.
struct LayerOffsets {
  std::int64_t begin = 0, end = 0;
  std::int64_t qkv_weight = 0;  ///< [3h, h]: query, key, value
  std::int64_t qkv_bias = 0;    ///< [3h]
  std::int64_t attention_output_weight = 0, attention_output_bias = 0;  ///< [h, h], [h]
  std::int64_t attention_norm_weight = 0, attention_norm_bias = 0;      ///< [h]
  std::int64_t intermediate_weight = 0, intermediate_bias = 0;          ///< [I, h], [I]
  std::int64_t output_weight = 0, output_bias = 0;                      ///< [h, I], [h]
  std::int64_t output_norm_weight = 0, output_norm_bias = 0;            ///< [h]
};

struct ParameterLayout {
  /// Offset of a tensor that the model does not have.
  static constexpr std::int64_t kAbsent = -1;

  explicit ParameterLayout(const ModelConfig& config);

  std::vector<Parameter> parameters;
  std::vector<LayerOffsets> layers;
  std::int64_t word_embeddings = 0;                                 ///< [V, h]
  std::int64_t position_embeddings = 0;                             ///< [P, h]
  std::int64_t segment_embeddings = kAbsent;                        ///< [S, h]
  std::int64_t embedding_norm_weight = 0, embedding_norm_bias = 0;  ///< [h]
  std::int64_t heads = 0;  ///< start of the heads, end of the last layer
  std::int64_t pooler_weight = kAbsent, pooler_bias = kAbsent;                  ///< [h, h], [h]
  std::int64_t transform_weight = kAbsent, transform_bias = kAbsent;            ///< [h, h], [h]
  std::int64_t transform_norm_weight = kAbsent, transform_norm_bias = kAbsent;  ///< [h]
  std::int64_t next_sentence_weight = kAbsent, next_sentence_bias = kAbsent;    ///< [2, h], [2]
  std::int64_t decoder_bias = kAbsent;                                          ///< [V]
  std::int64_t total = 0;                                                       ///< elements in all
};

/// std::invalid_argument naming the rule when a shape cannot be a model.
void check_config(const ModelConfig& config);

}  // namespace bert
