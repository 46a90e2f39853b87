// FLOP accounting: what one training sequence costs, by every formula in use, side by side.
//
// Symbols: L layers, h hidden, I feed-forward width, s tokens per sequence, V vocabulary,
// m predicted (masked) positions per sequence, N parameters. A multiply-add counts as 2 FLOPs.
// Vector work (LayerNorm, softmax, GELU, dropout, optimizer) is counted by none of the formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

enum class ModelFamily {
  bert,  ///< encoder with pooler, MLM head (transform + tied decoder) and NSP head
  gpt2,  ///< decoder; the tied head is computed at every position
};

/// Shape of a transformer, in elements; all > 0.
struct ModelShape {
  std::string name;  ///< "bert-large", "gpt2-medium"
  ModelFamily family = ModelFamily::bert;
  std::int64_t layers = 0, hidden = 0, heads = 0, intermediate = 0;
  std::int64_t vocabulary = 0, max_positions = 0;
  std::int64_t segment_types = 0;  ///< 0 for gpt2
  bool operator==(const ModelShape&) const = default;
};

/// A built-in model by name, or a JSON file (a path with '/' or ending in ".json", keys as in
/// configs/models/*.json). Upper case, '_' and the suffixes "-uncased" and "-cased" are
/// understood, and "gpt2-small" means "gpt2". Case matters for a vocabulary: "-cased" BERT has
/// 28996 entries. Unknown: an Error that lists the names and the nearest.
[[nodiscard]] Result<ModelShape> model_shape(std::string_view name);

/// Built-in names, smallest first: bert-tiny .. bert-large, gpt2-tiny .. gpt2-xl.
[[nodiscard]] std::vector<std::string> known_models();

/// Trainable parameters, exact: BertForPreTraining (tied decoder counted once, pooler and both
/// heads included) or GPT2LMHeadModel. A double because products of it go beyond 2^53 nowhere
/// but in FLOP formulas; the value itself is an integer.
[[nodiscard]] double parameter_count(const ModelShape& shape);

/// Of those, the embedding tables and their LayerNorm (bert) or the two tables (gpt2).
[[nodiscard]] double embedding_parameters(const ModelShape& shape);

/// FLOPs of one training sequence (forward, backward of inputs and of weights), unrounded.
struct FlopsPerSequence {
  /// 3 (L (4hs^2 + 24sh^2) + 2shV), 4 instead of 3 when checkpointing: the Transformers
  /// benchmark notebook. Head at every position, without transform and pooler.
  double notebook = 0;
  /// 72 s L h^2 (1 + s/6h + V/12Lh); checkpointing: 96 and V/16Lh, so the head is not
  /// recomputed. Narayanan et al. 2021 (Megatron-LM), B = 1.
  double megatron = 0;
  /// s (6N + 12 L h s): Chowdhery et al. 2022 (PaLM, appendix B) with N = all parameters. Never
  /// counts recomputation.
  double palm = 0;
  /// The same with N without embeddings: the encoder, pooler and head transform.
  double palm_encoder = 0;
  /// The default, numerator of MFU: 3 (linear + attention + head at m positions + pooler), with
  ///   linear    = L (8sh^2 + 4shI)
  ///   attention = L 4s^2h                    no causal halving
  ///   head      = m (2h^2 + 2hV)             gpt2: m = s and no transform, s 2hV
  ///   pooler    = 2h^2 + 4h                  with the NSP head; gpt2: 0
  double masked_head = 0;
  /// masked_head's terms with the head at every position (m = s): what a trainer does that
  /// computes all logits.
  double all_positions = 0;
  /// Numerator of HFU: masked_head, plus one more forward of the layers (linear + attention) when
  /// checkpointing. Recomputation inside fused attention kernels is not known, so not counted.
  double hardware = 0;
  std::int64_t masked = 0;  ///< m as used
  bool checkpointing = false;
};

/// `masked`: predicted positions per sequence; default masked_positions(sequence_length), and s
/// for gpt2. sequence_length >= 1.
[[nodiscard]] FlopsPerSequence flops_per_sequence(const ModelShape& shape,
                                                  std::int64_t sequence_length,
                                                  bool checkpointing = false,
                                                  std::optional<std::int64_t> masked = {});

/// ceil(20/128 s): 20 at 128, 80 at 512, as NVIDIA's DeepLearningExamples; 15 % rounded up.
[[nodiscard]] std::int64_t masked_positions(std::int64_t sequence_length);

/// What a formula makes of activation checkpointing.
enum class Recomputation {
  added,    ///< not in the formula; one more forward of the layers makes its hardware FLOPs
  counted,  ///< in the formula itself
  unknown,  ///< the formula leaves it open: no hardware FLOPs when checkpointing
};

/// One formula, for tables and help: its JSON key, what it counts, where it comes from.
struct FlopsFormula {
  std::string_view key, counts, source;
  double FlopsPerSequence::*value;
  Recomputation recomputation;
};
/// All of them, the default (masked_head) first.
[[nodiscard]] const std::vector<FlopsFormula>& flops_formulas();

/// The formula of that key; empty means the default. Unknown: an Error of `where` with the nearest
/// name.
[[nodiscard]] Result<const FlopsFormula*> flops_formula(std::string_view key,
                                                        const std::string& where);

/// Model shapes as JSON files, configs/models/*.json.
/// Reads one configs/models file. Unknown keys, missing keys and numbers <= 0 are errors.
[[nodiscard]] Result<ModelShape> read_model_file(const std::string& path);

}  // namespace bertbench
