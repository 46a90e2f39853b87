#include "workloads/bert/cuda/activations.h"

#include <algorithm>

#include "workloads/bert/cuda/kernels.h"

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
  place(layer.output_sum, narrow);
  place(layer.output_mean, tokens * 4);
  place(layer.output_rstd, tokens * 4);
}

Activations::Activations(const BackendOptions& options, DType type,
                         std::int64_t masked_per_sequence) {
  const ModelConfig& model = options.model;
  const std::int64_t element = size_of(type);
  const std::int64_t batch = options.micro_batch_size;
  const std::int64_t tokens = batch * options.sequence_length;
  const std::int64_t narrow = tokens * model.hidden * element;

  place(embedding_sum, narrow);
  place(embedding_mean, tokens * 4);
  place(embedding_rstd, tokens * 4);
  layers.resize(static_cast<std::size_t>(model.layers));
  for (LayerActivations& layer : layers) place(layer.input, narrow);
  place(hidden, narrow);
  place(d_hidden, narrow);
  const std::int64_t before_layers = plan_.mark();
  for (LayerActivations& layer : layers) {
    if (options.activation_checkpointing) plan_.rewind(before_layers);
    place_layer(layer, options, element);
  }
  const std::int64_t widest = std::max(model.intermediate, 3 * model.hidden);
  const std::int64_t masked = batch * masked_per_sequence;
  place(partials,
        std::max({norm_partials_bytes(model.hidden), column_partials_bytes(tokens, widest),
                  column_partials_bytes(masked, decoder_columns(model))}));

  const std::int64_t shared = plan_.mark();
  place(d_narrow, narrow);
  place(d_wide, tokens * std::max(model.intermediate, model.hidden) * element);
  place(d_qkv, 3 * narrow);
  place(delta, tokens * model.heads * 4);
  plan_.rewind(shared);
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

void Activations::bind(std::byte* base) {
  for (const Slot& slot : slots_) *slot.pointer = base + kUnit * slot.offset;
}

}  // namespace bert::cuda
