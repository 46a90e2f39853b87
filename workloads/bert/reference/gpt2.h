// GPT-2 of the reference, block by block as Radford et al. 2019 write it: x + attention(ln_1 x),
// then x + ffn(ln_2 x), ln_f at the end. The backends chain the same sums and norms otherwise.
#pragma once

#include "workloads/bert/reference/network.h"

namespace bert::reference {

template <typename Real>
class Gpt2 {
 public:
  Gpt2(const ModelConfig& model, const Batch& batch, std::span<const Real> weights,
       const ReferenceDropout& dropout)
      : net_(model, batch, weights, dropout) {}

  ReferenceStep<Real> run(bool backward) {
    const Index layers = net_.model.layers;
    embed();
    for (Index i = 0; i < layers; ++i) {
      Layer& layer = layers_.emplace_back();
      attention_block(i, layer);
      ffn_block(i, layer);
    }
    const Normalized<Real> last = net_.norm(x_, first_norm(layers));
    Matrix<Real> logits = net_.linear(last.output, net_.layout.decoder);
    net_.step.masked_lm = cross_entropy(logits, net_.batch.labels);
    if (!backward) return std::move(net_.step);
    d_ = net_.norm_backward(net_.linear_backward(logits, last.output, net_.layout.decoder), last,
                            first_norm(layers));
    for (Index i = layers; i-- > 0;) {
      ffn_backward(i);
      attention_backward_block(i);
    }
    embed_backward();
    return std::move(net_.step);
  }

 private:
  struct Layer {
    Normalized<Real> first, second;  ///< ln_1, ln_2
    Matrix<Real> qkv, probabilities, context, wide, activated;
  };

  /// ln_1 of layer i lies at the end of what comes before it; of the layer after the last it is
  /// ln_f.
  [[nodiscard]] NormOffsets first_norm(Index i) const {
    return i == 0 ? net_.layout.embedding_norm : net_.layer(i - 1).output_norm;
  }

  void embed() {
    const Index h = net_.model.hidden;
    x_ = Matrix<Real>(net_.batch.sequences * net_.batch.sequence_length, h);
    for (Index i = 0; i < x_.rows; ++i) {
      const Index token = net_.batch.tokens[static_cast<std::size_t>(i)];
      for (Index j = 0; j < h; ++j) {
        x_.at(i, j) =
            net_.w[net_.layout.word_embeddings + token * h + j] +
            net_.w[net_.layout.position_embeddings + i % net_.batch.sequence_length * h + j];
      }
    }
    net_.drop(x_, DropoutSite::kEmbeddings);
  }
  void embed_backward() {
    const Index h = net_.model.hidden;
    net_.drop(d_, DropoutSite::kEmbeddings);
    for (Index i = 0; i < d_.rows; ++i) {
      const Index token = net_.batch.tokens[static_cast<std::size_t>(i)];
      for (Index j = 0; j < h; ++j) {
        net_.g[net_.layout.word_embeddings + token * h + j] += d_.at(i, j);
        net_.g[net_.layout.position_embeddings + i % net_.batch.sequence_length * h + j] +=
            d_.at(i, j);
      }
    }
  }

  void attention_block(Index i, Layer& layer) {
    const LayerOffsets& at = net_.layer(i);
    layer.first = net_.norm(x_, first_norm(i));
    layer.qkv = net_.linear(layer.first.output, at.qkv);
    layer.context = attention(net_.attention_of(i), layer.qkv, layer.probabilities);
    Matrix<Real> y = net_.linear(layer.context, at.attention_output);
    net_.drop(y, DropoutSite::attention_output(i));
    add_to(x_, y);
  }
  void attention_backward_block(Index i) {
    const LayerOffsets& at = net_.layer(i);
    const Layer& layer = layers_[static_cast<std::size_t>(i)];
    Matrix<Real> dy = d_;
    net_.drop(dy, DropoutSite::attention_output(i));
    const Matrix<Real> d_context = net_.linear_backward(dy, layer.context, at.attention_output);
    const Matrix<Real> d_qkv =
        attention_backward(net_.attention_of(i), layer.qkv, layer.probabilities, d_context);
    add_to(d_, net_.norm_backward(net_.linear_backward(d_qkv, layer.first.output, at.qkv),
                                  layer.first, first_norm(i)));
  }

  void ffn_block(Index i, Layer& layer) {
    const LayerOffsets& at = net_.layer(i);
    layer.second = net_.norm(x_, at.attention_norm);
    layer.wide = net_.linear(layer.second.output, at.intermediate);
    layer.activated = layer.wide;
    net_.gelu(layer.activated);
    Matrix<Real> y = net_.linear(layer.activated, at.output);
    net_.drop(y, DropoutSite::output(i));
    add_to(x_, y);
  }
  void ffn_backward(Index i) {
    const LayerOffsets& at = net_.layer(i);
    const Layer& layer = layers_[static_cast<std::size_t>(i)];
    Matrix<Real> dy = d_;
    net_.drop(dy, DropoutSite::output(i));
    Matrix<Real> d_wide = net_.linear_backward(dy, layer.activated, at.output);
    net_.gelu_backward(d_wide, layer.wide);
    add_to(d_,
           net_.norm_backward(net_.linear_backward(d_wide, layer.second.output, at.intermediate),
                              layer.second, at.attention_norm));
  }

  Network<Real> net_;
  std::vector<Layer> layers_;
  Matrix<Real> x_;  ///< the stream on the way up
  Matrix<Real> d_;  ///< its gradient on the way down
};

}  // namespace bert::reference
