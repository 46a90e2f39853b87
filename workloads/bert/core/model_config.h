// ModelConfig: shapes and block layout of a transformer, and the named models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/bert/core/gelu.h"

namespace bert {

/// Where LayerNorm stands in a block.
enum class NormPlace {
  after,   ///< x = LN(x + block(x)); one more after the embeddings (Devlin et al. 2018)
  before,  ///< x = x + block(LN(x)); one more at the end (Radford et al. 2019)
};

/// What a token attends to, padding aside.
enum class Mask { none, causal /* itself and what stands before it */ };

/// What training predicts.
enum class Objective {
  masked_words,  ///< masked positions, through a transform, and the next sentence, from the pooler
  next_word,     ///< at every position the token after it; no parameters of its own
  // Fine-tuning. The parameters are those of masked_words, so that a checkpoint serves both.
  spans,    ///< first and last token of an answer, by the two rows of the next-sentence classifier
            ///< on every token (SQuAD; Devlin et al. 2018, 4.2)
  classes,  ///< one of two classes of a sequence, by pooler and next-sentence classifier (GLUE)
};

/// Shapes in elements; all > 0 (segment_types: >= 0), heads divides hidden. The word embedding is
/// the decoder of either head.
struct ModelConfig {
  std::string name;
  NormPlace norm = NormPlace::after;
  Mask mask = Mask::none;
  Objective objective = Objective::masked_words;
  /// masked_words: the head is computed at every position, as Hugging Face's BERT does; the loss is
  /// that of the masked ones all the same.
  bool head_everywhere = false;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t intermediate = 0;  ///< FFN width, 4 * hidden in every named model
  std::int64_t vocabulary = 30522;
  std::int64_t max_positions = 512;
  std::int64_t segment_types = 2;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double layer_norm_epsilon = 1e-12;
  double initializer_range = 0.02;
  Gelu gelu = Gelu::erf;

  [[nodiscard]] std::int64_t head_size() const { return hidden / heads; }
  /// Positions per sequence that have a word as their label: all, masked_positions(), or none.
  [[nodiscard]] std::int64_t predicted_positions(std::int64_t sequence_length) const;
};

/// bert-tiny 2/128, bert-mini 4/256, bert-small 4/512, bert-medium 8/512 (Turc et al. 2019),
/// bert-base 12/768, bert-large 24/1024 (Devlin et al. 2018); gpt2 12/768, gpt2-medium 24/1024,
/// gpt2-large 36/1280, gpt2-xl 48/1600 (Radford et al. 2019), gpt2-tiny 2/128; heads = hidden / 64.
[[nodiscard]] std::optional<ModelConfig> named_model(std::string_view name);
[[nodiscard]] std::vector<std::string> model_names();

/// Masked positions per sequence: ceil(20/128 * s), so 20 at 128 and 80 at 512 as in NVIDIA's
/// DeepLearningExamples. This is the 15 % of the BERT paper, rounded up.
[[nodiscard]] std::int64_t masked_positions(std::int64_t sequence_length);

}  // namespace bert
