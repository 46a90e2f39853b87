#include "workloads/bert/cpu/activations.h"

#include <algorithm>

#include "workloads/bert/cpu/attention.h"

namespace bert {

void Activations::place(float** pointer, std::int64_t elements) {
  slots_.push_back({pointer, plan_.add(elements)});
}

void Activations::place_layer(LayerActivations& layer, const BackendOptions& options) {
  const ModelConfig& model = options.model;
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  const std::int64_t h = model.hidden;
  place(&layer.qkv, tokens * 3 * h);
  place(&layer.probabilities, tokens * model.heads * options.sequence_length);
  place(&layer.attention, tokens * h);
  place(&layer.attention_sum, tokens * h);
  place(&layer.attention_mean, tokens);
  place(&layer.attention_rstd, tokens);
  place(&layer.middle, tokens * h);
  place(&layer.wide, tokens * model.intermediate);
  place(&layer.activated, tokens * model.intermediate);
  place(&layer.output_sum, tokens * h);
  place(&layer.output_mean, tokens);
  place(&layer.output_rstd, tokens);
}

Activations::Activations(const BackendOptions& options, std::int64_t masked_per_sequence) {
  const ModelConfig& model = options.model;
  const std::int64_t batch = options.micro_batch_size;
  const std::int64_t tokens = batch * options.sequence_length;
  const std::int64_t h = model.hidden;
  const std::int64_t widest = std::max(model.intermediate, 3 * h);

  place(&embedding.sum, tokens * h);
  place(&embedding.mean, tokens);
  place(&embedding.rstd, tokens);
  layers.resize(static_cast<std::size_t>(model.layers));
  for (LayerActivations& layer : layers) place(&layer.input, tokens * h);
  place(&hidden, tokens * h);
  place(&d_hidden, tokens * h);
  const std::int64_t before_layers = plan_.mark();
  for (LayerActivations& layer : layers) {
    if (options.activation_checkpointing) plan_.rewind(before_layers);
    place_layer(layer, options);
  }
  partials_width = widest;
  place(&partials, kRowBlocks * partials_width);
  thread_scratch_size = std::max(2 * h + 256, attention_scratch(options.sequence_length));
  thread_scratch_size = (thread_scratch_size + 31) / 16 * 16;
  place(&thread_scratch, options.threads * thread_scratch_size);

  const std::int64_t shared = plan_.mark();
  place(&scratch.d_narrow, tokens * h);
  place(&scratch.d_wide, tokens * std::max(model.intermediate, h));
  place(&scratch.d_qkv, tokens * 3 * h);
  place(&scratch.bias_partials, batch * 3 * h);
  plan_.rewind(shared);
  const std::int64_t masked = batch * masked_per_sequence;
  place(&heads.gathered, masked * h);
  place(&heads.transformed, masked * h);
  place(&heads.activated, masked * h);
  place(&heads.normalized, masked * h);
  place(&heads.mean, masked);
  place(&heads.rstd, masked);
  place(&heads.d_narrow, masked * h);
  place(&heads.logits, masked * model.vocabulary);
  place(&heads.first_tokens, batch * h);
  place(&heads.pooled, batch * h);
  place(&heads.d_pooled, batch * h);
  total_ = plan_.total();
}

void Activations::bind(float* base) {
  for (const Slot& slot : slots_) *slot.pointer = base + slot.offset;
}

}  // namespace bert
