#include "workloads/bert/reference/reference.h"

#include <limits>

#include "workloads/bert/reference/gpt2.h"

namespace bert {
namespace {

using reference::Index;
using reference::Matrix;
using reference::Normalized;

template <typename Real>
class Bert {
 public:
  Bert(const ModelConfig& model, const Batch& batch, std::span<const Real> weights,
       const ReferenceDropout& dropout)
      : net_(model, batch, weights, dropout) {}

  ReferenceStep<Real> run(bool backward) {
    embed();
    for (Index i = 0; i < net_.model.layers; ++i) layer_forward(i);
    d_ = Matrix<Real>(x_.rows, x_.columns);
    if (net_.model.objective == Objective::spans) {
      answer_spans();
    } else {
      masked_lm();
      next_sentence();
    }
    if (backward) {
      for (Index i = net_.model.layers; i-- > 0;) layer_backward(i);
      embed_backward();
    }
    return std::move(net_.step);
  }

 private:
  struct Layer {
    Matrix<Real> input, qkv, probabilities, context, wide, activated;
    Normalized<Real> middle, output;
  };

  void embed() {
    const Index h = net_.model.hidden;
    const ParameterLayout& layout = net_.layout;
    Matrix<Real> sum(net_.batch.sequences * net_.batch.sequence_length, h);
    for (Index i = 0; i < sum.rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (Index j = 0; j < h; ++j) {
        sum.at(i, j) =
            net_.w[layout.word_embeddings + net_.batch.tokens[at] * h + j] +
            net_.w[layout.position_embeddings + (i % net_.batch.sequence_length) * h + j] +
            net_.w[layout.segment_embeddings + net_.batch.segments[at] * h + j];
      }
    }
    embedding_ = net_.norm(sum, layout.embedding_norm);
    x_ = embedding_.output;
    net_.drop(x_, DropoutSite::kEmbeddings);
  }

  void embed_backward() {
    const Index h = net_.model.hidden;
    const ParameterLayout& layout = net_.layout;
    net_.drop(d_, DropoutSite::kEmbeddings);
    const Matrix<Real> d_sum = net_.norm_backward(d_, embedding_, layout.embedding_norm);
    for (Index i = 0; i < d_sum.rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (Index j = 0; j < h; ++j) {
        const Real d = d_sum.at(i, j);
        net_.g[layout.word_embeddings + net_.batch.tokens[at] * h + j] += d;
        net_.g[layout.position_embeddings + (i % net_.batch.sequence_length) * h + j] += d;
        net_.g[layout.segment_embeddings + net_.batch.segments[at] * h + j] += d;
      }
    }
  }

  void layer_forward(Index index) {
    const LayerOffsets& at = net_.layer(index);
    Layer layer;
    layer.input = x_;
    layer.qkv = net_.linear(x_, at.qkv);
    layer.context = attention(net_.attention_of(index), layer.qkv, layer.probabilities);
    Matrix<Real> sum = net_.linear(layer.context, at.attention_output);
    net_.drop(sum, DropoutSite::attention_output(index));
    add_to(sum, x_);
    layer.middle = net_.norm(sum, at.attention_norm);
    layer.wide = net_.linear(layer.middle.output, at.intermediate);
    layer.activated = layer.wide;
    net_.gelu(layer.activated);
    sum = net_.linear(layer.activated, at.output);
    net_.drop(sum, DropoutSite::output(index));
    add_to(sum, layer.middle.output);
    layer.output = net_.norm(sum, at.output_norm);
    x_ = layer.output.output;
    layers_.push_back(std::move(layer));
  }

  void layer_backward(Index index) {
    const LayerOffsets& at = net_.layer(index);
    const Layer& layer = layers_[static_cast<std::size_t>(index)];
    Matrix<Real> d_middle = net_.norm_backward(d_, layer.output, at.output_norm);
    Matrix<Real> branch = d_middle;
    net_.drop(branch, DropoutSite::output(index));
    Matrix<Real> d_wide = net_.linear_backward(branch, layer.activated, at.output);
    net_.gelu_backward(d_wide, layer.wide);
    add_to(d_middle, net_.linear_backward(d_wide, layer.middle.output, at.intermediate));
    d_ = net_.norm_backward(d_middle, layer.middle, at.attention_norm);
    branch = d_;
    net_.drop(branch, DropoutSite::attention_output(index));
    const Matrix<Real> d_context = net_.linear_backward(branch, layer.context, at.attention_output);
    const Matrix<Real> d_qkv =
        attention_backward(net_.attention_of(index), layer.qkv, layer.probabilities, d_context);
    add_to(d_, net_.linear_backward(d_qkv, layer.input, at.qkv));
  }

  void masked_lm() {
    const ParameterLayout& layout = net_.layout;
    const std::vector<std::int32_t>& masked = net_.batch.masked;
    Matrix<Real> rows(static_cast<Index>(masked.size()), net_.model.hidden);
    for (Index i = 0; i < rows.rows; ++i) {
      for (Index j = 0; j < rows.columns; ++j) {
        rows.at(i, j) = x_.at(masked[static_cast<std::size_t>(i)], j);
      }
    }
    const Matrix<Real> transformed = net_.linear(rows, layout.transform);
    Matrix<Real> activated = transformed;
    net_.gelu(activated);
    const Normalized<Real> norm = net_.norm(activated, layout.transform_norm);
    Matrix<Real> logits = net_.linear(norm.output, layout.decoder);
    net_.step.masked_lm = cross_entropy(logits, net_.batch.labels);
    Matrix<Real> d = net_.norm_backward(net_.linear_backward(logits, norm.output, layout.decoder),
                                        norm, layout.transform_norm);
    net_.gelu_backward(d, transformed);
    const Matrix<Real> d_rows = net_.linear_backward(d, rows, layout.transform);
    for (Index i = 0; i < rows.rows; ++i) {
      for (Index j = 0; j < rows.columns; ++j) {
        d_.at(masked[static_cast<std::size_t>(i)], j) += d_rows.at(i, j);
      }
    }
  }

  void next_sentence() {
    const Batch& batch = net_.batch;
    const ParameterLayout& layout = net_.layout;
    Matrix<Real> first(batch.sequences, net_.model.hidden);
    for (Index b = 0; b < batch.sequences; ++b) {
      for (Index j = 0; j < first.columns; ++j)
        first.at(b, j) = x_.at(b * batch.sequence_length, j);
    }
    Matrix<Real> pooled = net_.linear(first, layout.pooler);
    for (Real& x : pooled.values) x = std::tanh(x);
    Matrix<Real> logits = net_.linear(pooled, layout.next_sentence);
    net_.step.next_sentence = cross_entropy(logits, batch.next_sentence);
    Matrix<Real> d = net_.linear_backward(logits, pooled, layout.next_sentence);
    for (std::size_t i = 0; i < d.values.size(); ++i) {
      d.values[i] *= 1 - pooled.values[i] * pooled.values[i];
    }
    const Matrix<Real> d_first = net_.linear_backward(d, first, layout.pooler);
    for (Index b = 0; b < batch.sequences; ++b) {
      for (Index j = 0; j < first.columns; ++j) {
        d_.at(b * batch.sequence_length, j) += d_first.at(b, j);
      }
    }
  }

  /// A row of logits for the first and one for the last token of each sequence.
  void answer_spans() {
    const Index s = net_.batch.sequence_length;
    const LinearOffsets& head = net_.layout.next_sentence;
    const Matrix<Real> scores = net_.linear(x_, head);
    Matrix<Real> logits(2 * net_.batch.sequences, s);
    for (Index row = 0; row < logits.rows; ++row) {
      const Index b = row / 2;
      for (Index t = 0; t < s; ++t) {
        logits.at(row, t) = t < net_.batch.lengths[static_cast<std::size_t>(b)]
                                ? scores.at(b * s + t, row % 2)
                                : -std::numeric_limits<Real>::infinity();
      }
    }
    net_.step.next_sentence = cross_entropy(logits, net_.batch.spans);
    Matrix<Real> d_scores(x_.rows, 2);
    for (Index row = 0; row < logits.rows; ++row) {
      for (Index t = 0; t < s; ++t) d_scores.at(row / 2 * s + t, row % 2) = logits.at(row, t);
    }
    d_ = net_.linear_backward(d_scores, x_, head);
  }

  reference::Network<Real> net_;
  Normalized<Real> embedding_;
  std::vector<Layer> layers_;
  Matrix<Real> x_;  ///< hidden states on the way up
  Matrix<Real> d_;  ///< their gradient on the way down
};

/// The network that `model` is, on one batch.
template <typename Real>
ReferenceStep<Real> run_network(const ModelConfig& model, const Batch& batch,
                                std::span<const Real> weights, const ReferenceDropout& dropout,
                                bool backward) {
  if (model.objective == Objective::next_word) {
    return reference::Gpt2<Real>(model, batch, weights, dropout).run(backward);
  }
  return Bert<Real>(model, batch, weights, dropout).run(backward);
}

}  // namespace

template <typename Real>
ReferenceStep<Real> reference_step(const ModelConfig& model, const Batch& batch,
                                   std::span<const Real> weights, const ReferenceDropout& dropout) {
  return run_network(model, batch, weights, dropout, true);
}

template <typename Real>
double reference_loss(const ModelConfig& model, const Batch& batch, std::span<const Real> weights,
                      const ReferenceDropout& dropout) {
  const ReferenceStep<Real> step = run_network(model, batch, weights, dropout, false);
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
