#include "workloads/bert/model/activations.h"

#include <algorithm>

namespace bert {

template <typename Element>
auto Activations<Element>::place_sum(Element*& values, float*& mean, float*& rstd) -> Sum {
  return {place(values, narrow_), place(mean, tokens_ * 4),
          place(rstd, tokens_ * 4 + sizes_.norm_dropout)};
}

/// What is kept of each layer even when the rest is computed again.
template <typename Element>
void Activations<Element>::place_layer_starts(const BackendOptions& options, Sum sum) {
  if (options.model.norm == NormPlace::after) {
    for (auto& layer : layers) alias(layer.residual, place(layer.input, narrow_));
    return;
  }
  // The sums are kept. Inputs follow from them; two are enough where they do, for a layer that is
  // computed again writes the next layer's input in addition to its own.
  std::vector<std::int64_t> inputs;
  for (auto& layer : layers) {
    alias(layer.residual, sum.values);
    alias(layer.input_mean, sum.mean);
    alias(layer.input_rstd, sum.rstd);
    sum = place_sum(layer.output_sum, layer.output_mean, layer.output_rstd);
    if (options.activation_checkpointing && inputs.size() >= 2) {
      inputs.push_back(inputs[inputs.size() - 2]);
      alias(layer.input, inputs.back());
    } else {
      inputs.push_back(place(layer.input, narrow_));
    }
  }
}

template <typename Element>
void Activations<Element>::place_layer(const BackendOptions& options,
                                       LayerActivations<Element>& layer) {
  const std::int64_t wide = tokens_ * options.model.intermediate;
  place(layer.qkv, 3 * narrow_);
  place(layer.softmax, sizes_.softmax);
  place(layer.attention, narrow_);
  place_sum(layer.attention_sum, layer.attention_mean, layer.attention_rstd);
  place(layer.middle, narrow_);
  place(layer.wide, wide * sizes_.element);
  place(layer.activated, wide * sizes_.activated_element.value_or(sizes_.element));
  if (options.model.norm == NormPlace::after) {
    place_sum(layer.output_sum, layer.output_mean, layer.output_rstd);
  }
  place(layer.operands, sizes_.operands);
}

template <typename Element>
void Activations<Element>::place_heads(const BackendOptions& options,
                                       std::int64_t masked_per_sequence) {
  const std::int64_t batch = options.micro_batch_size;
  const std::int64_t logit_bytes = sizes_.logit_columns * sizes_.element;
  const bool next_word = options.model.objective == Objective::next_word;
  const std::int64_t rows = next_word ? tokens_ : batch * masked_per_sequence;
  const std::int64_t at_a_time = next_word ? sizes_.logit_rows : sizes_.masked_logit_rows;
  heads.logit_rows = rows;
  if (at_a_time > 0) {
    heads.logit_rows = std::min(options.logit_rows > 0 ? options.logit_rows : at_a_time, rows);
  }
  if (next_word) {
    place(heads.losses, tokens_ * 4);
    place(heads.logits, heads.logit_rows * logit_bytes);
    return;
  }
  const std::int64_t narrow = rows * options.model.hidden * sizes_.element;
  for (auto* tensor : {&heads.gathered, &heads.transformed, &heads.activated, &heads.normalized,
                       &heads.d_narrow}) {
    place(*tensor, narrow);
  }
  for (auto* tensor : {&heads.mean, &heads.rstd, &heads.losses}) place(*tensor, rows * 4);
  place(heads.logits, heads.logit_rows * logit_bytes);
  for (auto* tensor : {&heads.first_tokens, &heads.pooled, &heads.d_pooled}) {
    place(*tensor, batch * options.model.hidden * sizes_.element);
  }
  place(heads.d_logits, batch * 2 * 4);
  place(heads.sequence_losses, batch * 4);
}

template <typename Element>
Activations<Element>::Activations(const BackendOptions& options, const ActivationSizes& sizes,
                                  std::int64_t masked_per_sequence)
    : sizes_(sizes),
      tokens_(options.micro_batch_size * options.sequence_length),
      narrow_(tokens_ * options.model.hidden * sizes.element),
      plan_(sizes.alignment) {
  const ModelConfig& model = options.model;
  const Sum sum = place_sum(embedding_sum, embedding_mean, embedding_rstd);
  layers.resize(static_cast<std::size_t>(model.layers));
  place_layer_starts(options, sum);
  place(hidden, narrow_);
  const std::int64_t d_output_offset = place(d_output, narrow_);
  alias(d_sum, model.norm == NormPlace::before ? plan_.add(narrow_) : d_output_offset);
  const std::int64_t before_layers = plan_.mark();
  for (auto& layer : layers) {
    if (options.activation_checkpointing) plan_.rewind(before_layers);
    place_layer(options, layer);
  }
  place(partials, sizes.partials);
  place(thread_scratch, sizes.thread_scratch);
  const std::int64_t shared = plan_.mark();
  place(d_narrow, narrow_);
  place(d_wide, tokens_ * std::max(model.intermediate, model.hidden) * sizes.element);
  place(d_qkv, 3 * narrow_);
  place(attention_scratch, sizes.attention_scratch);
  place(operand_scratch, sizes.operand_scratch);
  plan_.rewind(shared);
  place_heads(options, masked_per_sequence);
}

template <typename Element>
void Activations<Element>::bind(void* memory) {
  for (const Slot& slot : slots_) *slot.pointer = static_cast<std::byte*>(memory) + slot.offset;
}

template class Activations<float>;
template class Activations<void>;

}  // namespace bert
