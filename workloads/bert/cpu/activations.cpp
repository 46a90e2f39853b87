#include "workloads/bert/cpu/activations.h"

#include <algorithm>

#include "workloads/bert/cpu/attention.h"

namespace bert {

std::int64_t Activations::place(float** pointer, std::int64_t elements) {
  alias(pointer, plan_.add(elements));
  return slots_.back().offset;
}

Activations::Sum Activations::place_sum(float** values, float** mean, float** rstd,
                                        const BackendOptions& options) {
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  Sum sum{};
  sum.values = place(values, tokens * options.model.hidden);
  sum.mean = place(mean, tokens);
  sum.rstd = place(rstd, tokens);
  return sum;
}

/// What is kept of each layer even when the rest is computed again.
void Activations::place_layer_starts(const BackendOptions& options, Sum sum) {
  const ModelConfig& model = options.model;
  const std::int64_t narrow = options.micro_batch_size * options.sequence_length * model.hidden;
  if (model.norm == NormPlace::after) {
    for (LayerActivations& layer : layers) alias(&layer.residual, place(&layer.input, narrow));
    return;
  }
  // The sums are kept. Inputs follow from them; two are enough where they do, for a layer that is
  // computed again writes its successor's beside its own.
  std::vector<std::int64_t> inputs;
  for (LayerActivations& layer : layers) {
    alias(&layer.residual, sum.values);
    alias(&layer.input_mean, sum.mean);
    alias(&layer.input_rstd, sum.rstd);
    sum = place_sum(&layer.output_sum, &layer.output_mean, &layer.output_rstd, options);
    if (options.activation_checkpointing && inputs.size() >= 2) {
      inputs.push_back(inputs[inputs.size() - 2]);
      alias(&layer.input, inputs.back());
    } else {
      inputs.push_back(place(&layer.input, narrow));
    }
  }
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
  if (model.norm == NormPlace::after) {
    place_sum(&layer.output_sum, &layer.output_mean, &layer.output_rstd, options);
  }
}

void Activations::place_heads(const BackendOptions& options, std::int64_t masked_per_sequence) {
  const ModelConfig& model = options.model;
  const std::int64_t batch = options.micro_batch_size;
  const std::int64_t h = model.hidden;
  if (model.objective == Objective::next_word) {
    heads.logit_rows = std::min(options.logit_rows > 0 ? options.logit_rows : kLogitRows,
                                batch * options.sequence_length);
    place(&heads.logits, heads.logit_rows * model.vocabulary);
    return;
  }
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
}

Activations::Activations(const BackendOptions& options, std::int64_t masked_per_sequence) {
  const ModelConfig& model = options.model;
  const std::int64_t batch = options.micro_batch_size;
  const std::int64_t tokens = batch * options.sequence_length;
  const std::int64_t h = model.hidden;
  const std::int64_t widest = std::max(model.intermediate, 3 * h);

  const Sum sum = place_sum(&embedding.sum, &embedding.mean, &embedding.rstd, options);
  layers.resize(static_cast<std::size_t>(model.layers));
  place_layer_starts(options, sum);
  place(&hidden, tokens * h);
  const std::int64_t d_output = place(&d.output, tokens * h);
  if (model.norm == NormPlace::before) {
    place(&d.sum, tokens * h);
  } else {
    alias(&d.sum, d_output);
  }
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
  place_heads(options, masked_per_sequence);
  total_ = plan_.total();
}

void Activations::bind(float* base) {
  for (const Slot& slot : slots_) *slot.pointer = base + slot.offset;
}

}  // namespace bert
