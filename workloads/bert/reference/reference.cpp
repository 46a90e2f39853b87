#include "workloads/bert/reference/reference.h"

#include <limits>

#include "workloads/bert/model/parameters.h"
#include "workloads/bert/reference/attention.h"
#include "workloads/bert/reference/gpt2.h"
#include "workloads/bert/reference/operations.h"

namespace bert {
namespace {

using reference::Index;
using reference::Matrix;
using reference::Normalized;

template <typename Real>
class Network {
 public:
  Network(const ModelConfig& model, const Batch& batch, std::span<const Real> weights,
          const ReferenceDropout& dropout)
      : model_(model), batch_(batch), layout_(model), w_(weights.data()), dropout_(dropout) {
    step_.gradients.resize(static_cast<std::size_t>(layout_.total));
    g_ = step_.gradients.data();
  }

  ReferenceStep<Real> run(bool backward) {
    embed();
    for (Index i = 0; i < model_.layers; ++i) layer_forward(i);
    d_ = Matrix<Real>(x_.rows, x_.columns);
    if (model_.objective == Objective::spans) {
      answer_spans();
    } else {
      masked_lm();
      next_sentence();
    }
    if (backward) {
      for (Index i = model_.layers; i-- > 0;) layer_backward(i);
      embed_backward();
    }
    return std::move(step_);
  }

 private:
  struct Layer {
    Matrix<Real> input, qkv, probabilities, context, wide, activated;
    Normalized<Real> middle, output;
    std::vector<DropoutKey> attention_keys, attention_output_keys, output_keys;
  };

  std::vector<DropoutKey> keys(std::uint32_t site, double probability) const {
    return reference::dropout_keys(dropout_, batch_, site, probability);
  }

  reference::AttentionShape attention_shape(const Layer& layer) const {
    return {batch_.sequences,      batch_.sequence_length, model_.heads, model_.head_size(),
            batch_.lengths.data(), &layer.attention_keys,  model_.mask};
  }

  void embed() {
    const Index h = model_.hidden;
    Matrix<Real> sum(batch_.sequences * batch_.sequence_length, h);
    for (Index i = 0; i < sum.rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (Index j = 0; j < h; ++j) {
        sum.at(i, j) = w_[layout_.word_embeddings + batch_.tokens[at] * h + j] +
                       w_[layout_.position_embeddings + (i % batch_.sequence_length) * h + j] +
                       w_[layout_.segment_embeddings + batch_.segments[at] * h + j];
      }
    }
    embedding_ = reference::layer_norm(sum, w_ + layout_.embedding_norm.weight,
                                       w_ + layout_.embedding_norm.bias, model_.layer_norm_epsilon);
    embedding_keys_ = keys(DropoutSite::kEmbeddings, model_.hidden_dropout);
    x_ = embedding_.output;
    reference::apply_dropout(x_, batch_.sequence_length, embedding_keys_);
  }

  void embed_backward() {
    const Index h = model_.hidden;
    reference::apply_dropout(d_, batch_.sequence_length, embedding_keys_);
    const Matrix<Real> d_sum = reference::layer_norm_backward(
        d_, embedding_, w_ + layout_.embedding_norm.weight, g_ + layout_.embedding_norm.weight,
        g_ + layout_.embedding_norm.bias);
    for (Index i = 0; i < d_sum.rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (Index j = 0; j < h; ++j) {
        const Real d = d_sum.at(i, j);
        g_[layout_.word_embeddings + batch_.tokens[at] * h + j] += d;
        g_[layout_.position_embeddings + (i % batch_.sequence_length) * h + j] += d;
        g_[layout_.segment_embeddings + batch_.segments[at] * h + j] += d;
      }
    }
  }

  void layer_forward(Index index) {
    const LayerOffsets& at = layout_.layers[static_cast<std::size_t>(index)];
    Layer layer;
    layer.attention_keys = keys(DropoutSite::attention(index), model_.attention_dropout);
    layer.attention_output_keys = keys(DropoutSite::attention_output(index), model_.hidden_dropout);
    layer.output_keys = keys(DropoutSite::output(index), model_.hidden_dropout);
    layer.input = x_;
    layer.qkv = reference::linear(x_, 3 * model_.hidden, w_ + at.qkv.weight, w_ + at.qkv.bias);
    layer.context = reference::attention(attention_shape(layer), layer.qkv, layer.probabilities);
    Matrix<Real> sum =
        reference::linear(layer.context, model_.hidden, w_ + at.attention_output.weight,
                          w_ + at.attention_output.bias);
    reference::apply_dropout(sum, batch_.sequence_length, layer.attention_output_keys);
    reference::add_to(sum, x_);
    layer.middle = reference::layer_norm(sum, w_ + at.attention_norm.weight,
                                         w_ + at.attention_norm.bias, model_.layer_norm_epsilon);
    layer.wide = reference::linear(layer.middle.output, model_.intermediate,
                                   w_ + at.intermediate.weight, w_ + at.intermediate.bias);
    layer.activated = layer.wide;
    for (Real& x : layer.activated.values) x = reference::gelu(model_.gelu, x);
    sum = reference::linear(layer.activated, model_.hidden, w_ + at.output.weight,
                            w_ + at.output.bias);
    reference::apply_dropout(sum, batch_.sequence_length, layer.output_keys);
    reference::add_to(sum, layer.middle.output);
    layer.output = reference::layer_norm(sum, w_ + at.output_norm.weight, w_ + at.output_norm.bias,
                                         model_.layer_norm_epsilon);
    x_ = layer.output.output;
    layers_.push_back(std::move(layer));
  }

  void layer_backward(Index index) {
    const LayerOffsets& at = layout_.layers[static_cast<std::size_t>(index)];
    const Layer& layer = layers_[static_cast<std::size_t>(index)];
    Matrix<Real> d_middle =
        reference::layer_norm_backward(d_, layer.output, w_ + at.output_norm.weight,
                                       g_ + at.output_norm.weight, g_ + at.output_norm.bias);
    Matrix<Real> branch = d_middle;
    reference::apply_dropout(branch, batch_.sequence_length, layer.output_keys);
    Matrix<Real> d_wide = reference::linear_backward(branch, layer.activated, w_ + at.output.weight,
                                                     g_ + at.output.weight, g_ + at.output.bias);
    for (std::size_t i = 0; i < d_wide.values.size(); ++i) {
      d_wide.values[i] *= reference::gelu_slope(model_.gelu, layer.wide.values[i]);
    }
    reference::add_to(d_middle, reference::linear_backward(
                                    d_wide, layer.middle.output, w_ + at.intermediate.weight,
                                    g_ + at.intermediate.weight, g_ + at.intermediate.bias));
    d_ = reference::layer_norm_backward(d_middle, layer.middle, w_ + at.attention_norm.weight,
                                        g_ + at.attention_norm.weight, g_ + at.attention_norm.bias);
    branch = d_;
    reference::apply_dropout(branch, batch_.sequence_length, layer.attention_output_keys);
    const Matrix<Real> d_context =
        reference::linear_backward(branch, layer.context, w_ + at.attention_output.weight,
                                   g_ + at.attention_output.weight, g_ + at.attention_output.bias);
    const Matrix<Real> d_qkv = reference::attention_backward(attention_shape(layer), layer.qkv,
                                                             layer.probabilities, d_context);
    reference::add_to(d_, reference::linear_backward(d_qkv, layer.input, w_ + at.qkv.weight,
                                                     g_ + at.qkv.weight, g_ + at.qkv.bias));
  }

  void masked_lm() {
    const Index h = model_.hidden;
    Matrix<Real> rows(static_cast<Index>(batch_.masked.size()), h);
    for (Index i = 0; i < rows.rows; ++i) {
      for (Index j = 0; j < h; ++j) {
        rows.at(i, j) = x_.at(batch_.masked[static_cast<std::size_t>(i)], j);
      }
    }
    const Matrix<Real> transformed =
        reference::linear(rows, h, w_ + layout_.transform.weight, w_ + layout_.transform.bias);
    Matrix<Real> activated = transformed;
    for (Real& x : activated.values) x = reference::gelu(model_.gelu, x);
    const Normalized<Real> norm =
        reference::layer_norm(activated, w_ + layout_.transform_norm.weight,
                              w_ + layout_.transform_norm.bias, model_.layer_norm_epsilon);
    Matrix<Real> logits = reference::linear(
        norm.output, model_.vocabulary, w_ + layout_.word_embeddings, w_ + layout_.decoder.bias);
    step_.masked_lm = reference::cross_entropy(logits, batch_.labels);
    const Matrix<Real> d_norm =
        reference::linear_backward(logits, norm.output, w_ + layout_.word_embeddings,
                                   g_ + layout_.word_embeddings, g_ + layout_.decoder.bias);
    Matrix<Real> d = reference::layer_norm_backward(
        d_norm, norm, w_ + layout_.transform_norm.weight, g_ + layout_.transform_norm.weight,
        g_ + layout_.transform_norm.bias);
    for (std::size_t i = 0; i < d.values.size(); ++i) {
      d.values[i] *= reference::gelu_slope(model_.gelu, transformed.values[i]);
    }
    const Matrix<Real> d_rows =
        reference::linear_backward(d, rows, w_ + layout_.transform.weight,
                                   g_ + layout_.transform.weight, g_ + layout_.transform.bias);
    for (Index i = 0; i < rows.rows; ++i) {
      for (Index j = 0; j < h; ++j) {
        d_.at(batch_.masked[static_cast<std::size_t>(i)], j) += d_rows.at(i, j);
      }
    }
  }

  void next_sentence() {
    const Index h = model_.hidden;
    Matrix<Real> first(batch_.sequences, h);
    for (Index b = 0; b < batch_.sequences; ++b) {
      for (Index j = 0; j < h; ++j) first.at(b, j) = x_.at(b * batch_.sequence_length, j);
    }
    Matrix<Real> pooled =
        reference::linear(first, h, w_ + layout_.pooler.weight, w_ + layout_.pooler.bias);
    for (Real& x : pooled.values) x = std::tanh(x);
    Matrix<Real> logits = reference::linear(pooled, Index{2}, w_ + layout_.next_sentence.weight,
                                            w_ + layout_.next_sentence.bias);
    step_.next_sentence = reference::cross_entropy(logits, batch_.next_sentence);
    Matrix<Real> d = reference::linear_backward(logits, pooled, w_ + layout_.next_sentence.weight,
                                                g_ + layout_.next_sentence.weight,
                                                g_ + layout_.next_sentence.bias);
    for (std::size_t i = 0; i < d.values.size(); ++i) {
      d.values[i] *= 1 - pooled.values[i] * pooled.values[i];
    }
    const Matrix<Real> d_first = reference::linear_backward(
        d, first, w_ + layout_.pooler.weight, g_ + layout_.pooler.weight, g_ + layout_.pooler.bias);
    for (Index b = 0; b < batch_.sequences; ++b) {
      for (Index j = 0; j < h; ++j) d_.at(b * batch_.sequence_length, j) += d_first.at(b, j);
    }
  }

  /// A row of logits for the first and one for the last token of each sequence.
  void answer_spans() {
    const Index s = batch_.sequence_length;
    const Matrix<Real> scores = reference::linear(x_, Index{2}, w_ + layout_.next_sentence.weight,
                                                  w_ + layout_.next_sentence.bias);
    Matrix<Real> logits(2 * batch_.sequences, s);
    for (Index row = 0; row < logits.rows; ++row) {
      const Index b = row / 2;
      for (Index t = 0; t < s; ++t) {
        logits.at(row, t) = t < batch_.lengths[static_cast<std::size_t>(b)]
                                ? scores.at(b * s + t, row % 2)
                                : -std::numeric_limits<Real>::infinity();
      }
    }
    step_.next_sentence = reference::cross_entropy(logits, batch_.spans);
    Matrix<Real> d_scores(x_.rows, 2);
    for (Index row = 0; row < logits.rows; ++row) {
      for (Index t = 0; t < s; ++t) d_scores.at(row / 2 * s + t, row % 2) = logits.at(row, t);
    }
    d_ = reference::linear_backward(d_scores, x_, w_ + layout_.next_sentence.weight,
                                    g_ + layout_.next_sentence.weight,
                                    g_ + layout_.next_sentence.bias);
  }

  const ModelConfig& model_;
  const Batch& batch_;
  ParameterLayout layout_;
  const Real* w_;
  Real* g_ = nullptr;
  ReferenceDropout dropout_;
  ReferenceStep<Real> step_;
  Normalized<Real> embedding_;
  std::vector<DropoutKey> embedding_keys_;
  std::vector<Layer> layers_;
  Matrix<Real> x_;  ///< hidden states on the way up
  Matrix<Real> d_;  ///< their gradient on the way down
};

}  // namespace

template <typename Real>
ReferenceStep<Real> reference_step(const ModelConfig& model, const Batch& batch,
                                   std::span<const Real> weights, const ReferenceDropout& dropout) {
  if (model.objective == Objective::next_word) {
    return reference::Gpt2<Real>(model, batch, weights, dropout).run(true);
  }
  return Network<Real>(model, batch, weights, dropout).run(true);
}

template <typename Real>
double reference_loss(const ModelConfig& model, const Batch& batch, std::span<const Real> weights,
                      const ReferenceDropout& dropout) {
  const ReferenceStep<Real> step =
      model.objective == Objective::next_word
          ? reference::Gpt2<Real>(model, batch, weights, dropout).run(false)
          : Network<Real>(model, batch, weights, dropout).run(false);
  return step.masked_lm + step.next_sentence;
}

template ReferenceStep<float> reference_step(const ModelConfig&, const Batch&,
                                             std::span<const float>, const ReferenceDropout&);
template ReferenceStep<double> reference_step(const ModelConfig&, const Batch&,
                                              std::span<const double>, const ReferenceDropout&);
template double reference_loss(const ModelConfig&, const Batch&, std::span<const float>,
                               const ReferenceDropout&);
template double reference_loss(const ModelConfig&, const Batch&, std::span<const double>,
                               const ReferenceDropout&);

}  // namespace bert
