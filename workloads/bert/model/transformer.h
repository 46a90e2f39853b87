// One step of a transformer in the operations of a backend: what is computed from what, in which
// order, is written here alone. BERT: Devlin et al. 2018; GPT-2: Radford et al. 2019.
//
// A Step has model, layout, options, the activations `act` (shapes: activations.h), `accumulate`
// (gradients of weights add to what is there, else they are written) and these operations. W
// [outputs, inputs] and b are the tensors of `at`; unbiased() leaves b out.
//
//   linear(at, rows, x, y)                y = x W^T + b
//   linear_gelu(at, rows, x, wide, y)     y = GELU(x W^T + b), whose argument stays in `wide`
//   linear_input(at, rows, dy, dx, add)   dx = dy W, or dx += dy W
//   linear_input_gelu(at, gelu_at, rows, dy, wide, d)
//                                         linear_input(), then gelu_backward() of gelu_at
//   linear_weight(at, rows, dy, x)        gradients of W (dy^T x) and b (column sums of dy)
//   gelu_backward(at, rows, wide, d)      d *= GELU'(wide); gradient of b
//   norm, norm_backward                   see NormStep, NormGradients; gradients of its parameters
//   norm_again(step)                      the output of norm() again, from the sum that was kept
//   attention(i)                          of layer i: qkv -> attention
//   attention_backward(i, d)              gradient of that: act.d_qkv, and that of the bias of qkv
//   embed, add_to_tables                  sum of the tables' rows and its norm; their gradients
//   gather_masked, gather_first           rows of act.hidden for the heads
//   scatter_masked, scatter_first         their gradients, added to act.d_output
//   cross_entropy(first, count, total)    losses; logits become the gradient of the mean of `total`
//   next_sentence()                       losses, act.heads.d_pooled, the classifier's gradients
//   answer_spans(forward_only)            losses, act.d_output, the classifier's gradients
//
// `d_` is the gradient of what follows it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "workloads/bert/model/activations.h"
#include "workloads/bert/model/dropout.h"
#include "workloads/bert/model/parameters.h"

namespace bert {

/// output = after(LayerNorm(sum)), sum = before(sum + bias) + residual, per row of the hidden size.
/// `before` and `after` are the dropout of a site; at most one of them is there.
template <typename Element>
struct NormStep {
  NormOffsets at;
  Element* sum = nullptr;
  Element* output = nullptr;
  float *mean = nullptr, *rstd = nullptr;
  std::int64_t bias = kAbsent;  ///< offset of that of the product that made the sum
  const Element* residual = nullptr;
  std::optional<std::uint32_t> before = std::nullopt, after = std::nullopt;
};

/// Gradients around a LayerNorm. d_bypass, or null: the gradient that reaches `sum` by another way
/// than this LayerNorm; it is added to d_sum.
/// d_input, or null: d_sum through the dropout `before`.
template <typename Element>
struct NormGradients {
  Element *d_output = nullptr, *d_sum = nullptr;
  const Element* d_bypass = nullptr;
  Element* d_input = nullptr;
};

/// What a block adds to is the last sum, not the LayerNorm of it.
inline bool has_stream_of_sums(const ModelConfig& model) { return model.norm == NormPlace::before; }

template <class Step>
NormStep<typename Step::Element> embedding_norm(Step& s) {
  NormStep<typename Step::Element> norm{s.layout.embedding_norm, s.act.embedding_sum,
                                        s.act.layers[0].input, s.act.embedding_mean,
                                        s.act.embedding_rstd};
  // Dropout acts on the sum where that is the stream, else on the LayerNorm's output.
  (has_stream_of_sums(s.model) ? norm.before : norm.after) = DropoutSite::kEmbeddings;
  return norm;
}

template <class Step>
NormStep<typename Step::Element> attention_norm(Step& s, std::size_t i) {
  const auto& act = s.act.layers[i];
  const LayerOffsets& at = s.layout.layers[i];
  return {at.attention_norm,  act.attention_sum,
          act.middle,         act.attention_mean,
          act.attention_rstd, at.attention_output.bias,
          act.residual,       DropoutSite::attention_output(static_cast<std::int64_t>(i))};
}

template <class Step>
NormStep<typename Step::Element> output_norm(Step& s, std::size_t i) {
  const auto& act = s.act.layers[i];
  const LayerOffsets& at = s.layout.layers[i];
  return {at.output_norm,
          act.output_sum,
          i + 1 < s.act.layers.size() ? s.act.layers[i + 1].input : s.act.hidden,
          act.output_mean,
          act.output_rstd,
          at.output.bias,
          has_stream_of_sums(s.model) ? act.attention_sum : act.middle,
          DropoutSite::output(static_cast<std::int64_t>(i))};
}

template <class Step>
NormStep<typename Step::Element> transform_norm(Step& s) {
  const auto& act = s.act.heads;
  return {s.layout.transform_norm, act.activated, act.normalized, act.mean, act.rstd};
}

template <class Step>
void layer_forward(Step& s, std::size_t i) {
  const auto& act = s.act.layers[i];
  const LayerOffsets& at = s.layout.layers[i];
  const std::int64_t rows = s.rows();
  s.linear(at.qkv, rows, act.input, act.qkv);
  s.attention(i);
  s.linear(at.attention_output.unbiased(), rows, act.attention, act.attention_sum);
  s.norm(attention_norm(s, i), rows);
  s.linear_gelu(at.intermediate, rows, act.middle, act.wide, act.activated);
  s.linear(at.output.unbiased(), rows, act.activated, act.output_sum);
  s.norm(output_norm(s, i), rows);
}

/// `input` again from `residual`, for NormPlace::before; the same bits as forward gave it.
template <class Step>
void layer_input_again(Step& s, std::size_t i) {
  const auto& act = s.act.layers[i];
  s.norm_again({i == 0 ? s.layout.embedding_norm : s.layout.layers[i - 1].output_norm, act.residual,
                act.input, act.input_mean, act.input_rstd});
}

/// On entry act.d_output is the gradient of the layer's output and, with a stream of sums,
/// act.d_sum that of its sum; on return both are those of the layer's input. norm_backward() gives
/// the gradient of the sum, which is also the residual's. Without a stream the residual is what the
/// products read, so theirs is added to it; with one it is the sum before, and theirs is written.
template <class Step>
void layer_backward(Step& s, std::size_t i) {
  const auto& act = s.act.layers[i];
  const LayerOffsets& at = s.layout.layers[i];
  const std::int64_t rows = s.rows();
  const bool stream = has_stream_of_sums(s.model);
  auto* const d = s.act.d_output;
  auto* const d_narrow = s.act.d_narrow;
  auto* const d_wide = s.act.d_wide;
  const NormGradients<typename Step::Element> gradients{d, s.act.d_sum,
                                                        stream ? s.act.d_sum : nullptr, d_narrow};

  s.norm_backward(output_norm(s, i), rows, gradients);
  s.linear_weight(at.output.unbiased(), rows, d_narrow, act.activated);
  s.linear_input_gelu(at.output, at.intermediate, rows, d_narrow, act.wide, d_wide);
  s.linear_weight(at.intermediate.unbiased(), rows, d_wide, act.middle);
  s.linear_input(at.intermediate, rows, d_wide, d, !stream);

  s.norm_backward(attention_norm(s, i), rows, gradients);
  s.linear_weight(at.attention_output.unbiased(), rows, d_narrow, act.attention);
  s.linear_input(at.attention_output, rows, d_narrow, d_wide, false);
  s.attention_backward(i, d_wide);  // and the gradients of at.qkv
  s.linear_input(at.qkv, rows, s.act.d_qkv, d, !stream);
}

template <class Step>
void forward(Step& s) {
  s.embed(embedding_norm(s));
  for (std::size_t i = 0; i < s.act.layers.size(); ++i) layer_forward(s, i);
}

/// A backend may never have whole rows of logits: its decode(rows, x, dx) gives the losses and all
/// gradients of the decoder where decodes() is true.
template <class Step>
bool decodes(const Step& s) {
  if constexpr (requires { s.decodes(); }) return s.decodes();
  return false;
}
template <class Step, class Values>
bool decode(Step& s, std::int64_t rows, const Values* x, Values* dx) {
  if constexpr (requires { s.decode(rows, x, dx); }) {
    if (s.decodes()) s.decode(rows, x, dx);
  }
  return decodes(s);
}

/// Logits of a part of the rows live at once: those of all would be 50257 numbers a token.
template <class Step>
void next_word(Step& s, bool forward_only) {
  const std::int64_t rows = s.rows();
  if (!forward_only && decode(s, rows, s.act.hidden, s.act.d_output)) return;
  const bool accumulate = s.accumulate;
  auto* const logits = s.act.heads.logits;
  for (std::int64_t first = 0; first < rows; first += s.act.heads.logit_rows) {
    const std::int64_t count = std::min(s.act.heads.logit_rows, rows - first);
    auto* const input = s.row_at(s.act.hidden, first);
    s.linear(s.layout.decoder, count, input, logits);
    s.cross_entropy(first, count, rows);
    if (forward_only) continue;
    s.linear_weight(s.layout.decoder, count, logits, input);
    s.linear_input(s.layout.decoder, count, logits, s.row_at(s.act.d_output, first), false);
    s.accumulate = true;  // to the gradient that the first part has written
  }
  s.accumulate = accumulate;
}

template <class Step>
void masked_words_forward(Step& s, bool forward_only) {
  const auto& act = s.act.heads;
  const std::int64_t rows = s.masked_rows();
  s.gather_masked();
  s.linear_gelu(s.layout.transform, rows, act.gathered, act.transformed, act.activated);
  s.norm(transform_norm(s), rows);
  if (!forward_only && decode(s, rows, act.normalized, act.d_narrow)) return;
  for (std::int64_t first = 0; first < rows; first += act.logit_rows) {
    const std::int64_t count = std::min(act.logit_rows, rows - first);
    s.linear(s.layout.decoder.unbiased(), count, s.row_at(act.normalized, first), act.logits);
    s.cross_entropy(first, count, rows);  // which adds the decoder's bias
  }
}

template <class Step>
void masked_words_backward(Step& s) {
  const auto& act = s.act.heads;
  const std::int64_t rows = s.masked_rows();
  if (!decodes(s)) {
    s.linear_weight(s.layout.decoder, rows, act.logits, act.normalized);
    s.linear_input(s.layout.decoder, rows, act.logits, act.d_narrow, false);
  }
  s.norm_backward(transform_norm(s), rows, {act.d_narrow, act.d_narrow});
  s.gelu_backward(s.layout.transform, rows, act.transformed, act.d_narrow);
  s.linear_weight(s.layout.transform.unbiased(), rows, act.d_narrow, act.gathered);
  auto* const d_gathered = act.normalized;  // no longer needed
  s.linear_input(s.layout.transform, rows, act.d_narrow, d_gathered, false);
  s.scatter_masked(d_gathered);
}

/// With the gradients of the classifier, which is two columns wide.
template <class Step>
void next_sentence_forward(Step& s) {
  const auto& act = s.act.heads;
  s.gather_first();
  s.linear(s.layout.pooler.unbiased(), s.sequences(), act.first_tokens, act.pooled);
  s.next_sentence();  // which adds the pooler's bias
}

template <class Step>
void next_sentence_backward(Step& s) {
  const auto& act = s.act.heads;
  s.linear_weight(s.layout.pooler, s.sequences(), act.d_pooled, act.first_tokens);
  auto* const d_first = act.pooled;  // no longer needed
  s.linear_input(s.layout.pooler, s.sequences(), act.d_pooled, d_first, false);
  s.scatter_first(d_first);
}

/// Between the last work of forward and the first of backward, for a step that times them.
template <class Step>
void end_forward(Step& s) {
  if constexpr (requires { s.end_forward(); }) s.end_forward();
}

/// Both heads, forward and unless `forward_only` backward: leaves the gradients at the last layer's
/// end.
template <class Step>
void heads(Step& s, bool forward_only) {
  if (s.model.objective == Objective::next_word) {
    end_forward(s);
    return next_word(s, forward_only);
  }
  if constexpr (requires { s.answer_spans(forward_only); }) {
    if (s.model.objective == Objective::spans) {
      end_forward(s);
      return s.answer_spans(forward_only);
    }
  }
  const bool decoded = !forward_only && decodes(s);
  if (decoded) end_forward(s);  // as with next words
  masked_words_forward(s, forward_only);
  next_sentence_forward(s);
  if (forward_only) return;
  if (!decoded) end_forward(s);
  s.fill_zero(s.act.d_output);
  masked_words_backward(s);
  next_sentence_backward(s);
}

/// After heads(): layers and embeddings, from the end. finished(offset, size) is called when the
/// work that completes this range of gradients is done, or has been queued.
template <class Step, class Finished>
void backward(Step& s, const Finished& finished) {
  const ParameterLayout& at = s.layout;
  if (at.heads < at.total) finished(at.heads, at.total - at.heads);
  const bool stream = has_stream_of_sums(s.model);
  if (stream) s.fill_zero(s.act.d_sum);  // it ends with the LayerNorm before the head
  const std::size_t count = s.act.layers.size();
  for (std::size_t i = count; i-- > 0;) {
    // Checkpointing: all layers share one set of activations; the last layer's are still there.
    if (s.options.activation_checkpointing && i + 1 < count) {
      if (stream) layer_input_again(s, i);
      layer_forward(s, i);
    }
    layer_backward(s, i);
    finished(at.layers[i].begin, at.layers[i].end - at.layers[i].begin);
  }
  auto* const d = s.act.d_output;
  if (stream) {
    s.norm_backward(embedding_norm(s), s.rows(), {d, s.act.d_sum, s.act.d_sum, d});
  } else {
    s.norm_backward(embedding_norm(s), s.rows(), {d, s.act.d_sum});
  }
  s.add_to_tables(d);
  finished(0, at.layers.front().begin);
}

}  // namespace bert
