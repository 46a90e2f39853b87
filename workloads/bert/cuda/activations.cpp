#include "workloads/bert/cuda/activations.h"

#include <algorithm>

#include "workloads/bert/cuda/kernels/kernels.h"

namespace bert::cuda {

void Activations::place_layer(LayerActivations& layer, const BackendOptions& options,
                              std::int64_t element) {
  const ModelConfig& model = options.model;
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  const std::int64_t narrow = tokens * model.hidden * element;
  const std::int64_t wide = tokens * model.intermediate * element;
  place(layer.qkv, 3 * narrow);
  place(layer.attention, narrow);
  place(layer.log_sums, tokens * model.heads * 4);
  place(layer.attention_sum, narrow);
  place(layer.attention_mean, tokens * 4);
  place(layer.attention_rstd, tokens * 4);
  place(layer.middle, narrow);
  place(layer.wide, wide);
  place(layer.activated, wide);
  if (model.norm == NormPlace::after) {
    place(layer.output_sum, narrow);
    place(layer.output_mean, tokens * 4);
    place(layer.output_rstd, tokens * 4);
  }
}

/// As the CPU backend does it: cpu/activations.cpp.
void Activations::place_layer_starts(const BackendOptions& options, std::int64_t element,
                                     std::int64_t sum) {
  const ModelConfig& model = options.model;
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  const std::int64_t narrow = tokens * model.hidden * element;
  if (model.norm == NormPlace::after) {
    for (LayerActivations& layer : layers) alias(layer.residual, place(layer.input, narrow));
    return;
  }
  std::vector<std::int64_t> inputs;
  for (LayerActivations& layer : layers) {
    alias(layer.residual, sum);
    sum = place(layer.output_sum, narrow);
    place(layer.output_mean, tokens * 4);
    place(layer.output_rstd, tokens * 4);
    if (options.activation_checkpointing && inputs.size() >= 2) {
      inputs.push_back(inputs[inputs.size() - 2]);
      alias(layer.input, inputs.back());
    } else {
      inputs.push_back(place(layer.input, narrow));
    }
  }
}

void Activations::place_heads(const BackendOptions& options, std::int64_t element,
                              std::int64_t masked) {
  const ModelConfig& model = options.model;
  const std::int64_t batch = options.micro_batch_size;
  if (model.objective == Objective::next_word) {
    place(heads.losses, masked * 4);
    heads.logit_rows = std::min(options.logit_rows > 0 ? options.logit_rows : kLogitRows, masked);
    place(heads.logits, heads.logit_rows * decoder_columns(model) * element);
    return;
  }
  const std::int64_t masked_rows = masked * model.hidden * element;
  place(heads.gathered, masked_rows);
  place(heads.transformed, masked_rows);
  place(heads.activated, masked_rows);
  place(heads.normalized, masked_rows);
  place(heads.d_narrow, masked_rows);
  place(heads.mean, masked * 4);
  place(heads.rstd, masked * 4);
  place(heads.losses, masked * 4);
  place(heads.logits, masked * decoder_columns(model) * element);
  const std::int64_t first_rows = batch * model.hidden * element;
  place(heads.first_tokens, first_rows);
  place(heads.pooled, first_rows);
  place(heads.d_pooled, first_rows);
  place(heads.d_first, first_rows);
  place(heads.d_logits, batch * 2 * 4);
  place(heads.sequence_losses, batch * 4);
}

Activations::Activations(const BackendOptions& options, DType type,
                         std::int64_t masked_per_sequence) {
  const ModelConfig& model = options.model;
  const std::int64_t element = size_of(type);
  const std::int64_t batch = options.micro_batch_size;
  const std::int64_t tokens = batch * options.sequence_length;
  const std::int64_t narrow = tokens * model.hidden * element;

  const std::int64_t sum = place(embedding_sum, narrow);
  place(embedding_mean, tokens * 4);
  place(embedding_rstd, tokens * 4);
  layers.resize(static_cast<std::size_t>(model.layers));
  place_layer_starts(options, element, sum);
  place(hidden, narrow);
  const std::int64_t d_output = place(d_hidden, narrow);
  if (model.norm == NormPlace::before) {
    place(d_sum, narrow);
  } else {
    alias(d_sum, d_output);
  }
  const std::int64_t before_layers = plan_.mark();
  for (LayerActivations& layer : layers) {
    if (options.activation_checkpointing) plan_.rewind(before_layers);
    place_layer(layer, options, element);
  }
  const std::int64_t widest = std::max(model.intermediate, 3 * model.hidden);
  const std::int64_t masked = batch * masked_per_sequence;
  const bool next_word = model.objective == Objective::next_word;
  place(partials,
        std::max({norm_partials_bytes(model.hidden), column_partials_bytes(tokens, widest),
                  next_word ? 0 : column_partials_bytes(masked, decoder_columns(model))}));

  const std::int64_t shared = plan_.mark();
  place(d_narrow, narrow);
  place(d_wide, tokens * std::max(model.intermediate, model.hidden) * element);
  place(d_qkv, 3 * narrow);
  place(delta, tokens * model.heads * 4);
  plan_.rewind(shared);
  place_heads(options, element, masked);
}

void Activations::bind(std::byte* base) {
  for (const Slot& slot : slots_) *slot.pointer = base + kUnit * slot.offset;
}

}  // namespace bert::cuda
