// GPT-2 of the reference, block by block as Radford et al. 2019 write it: x + attention(ln_1 x),
// then x + ffn(ln_2 x), ln_f at the end. The backends chain the same sums and norms otherwise.
#pragma once

#include "workloads/bert/model/parameters.h"
#include "workloads/bert/reference/attention.h"
#include "workloads/bert/reference/operations.h"

namespace bert::reference {

template <typename Real>
class Gpt2 {
 public:
  Gpt2(const ModelConfig& model, const Batch& batch, std::span<const Real> weights,
       const ReferenceDropout& dropout)
      : model_(model), batch_(batch), layout_(model), w_(weights.data()), dropout_(dropout) {
    step_.gradients.resize(static_cast<std::size_t>(layout_.total));
    g_ = step_.gradients.data();
  }

  ReferenceStep<Real> run(bool backward) {
    embed();
    for (Index i = 0; i < model_.layers; ++i) {
      Layer& layer = layers_.emplace_back();
      attention_block(i, layer);
      ffn_block(i, layer);
    }
    last_ = norm(x_, last_norm());
    Matrix<Real> logits =
        linear(last_.output, model_.vocabulary, w_ + layout_.word_embeddings, no_bias());
    step_.masked_lm = cross_entropy(logits, batch_.labels);
    if (!backward) return std::move(step_);
    d_ = norm_backward(linear_backward(logits, last_.output, w_ + layout_.word_embeddings,
                                       g_ + layout_.word_embeddings, static_cast<Real*>(nullptr)),
                       last_, last_norm());
    for (Index i = model_.layers; i-- > 0;) {
      ffn_backward(i);
      attention_backward_block(i);
    }
    embed_backward();
    return std::move(step_);
  }

 private:
  struct Layer {
    Normalized<Real> first, second;  ///< ln_1, ln_2
    Matrix<Real> qkv, probabilities, context, wide, activated;
    std::vector<DropoutKey> attention_keys;
  };
  struct NormOffsets {
    Index weight, bias;
  };

  static const Real* no_bias() { return nullptr; }
  [[nodiscard]] const LayerOffsets& at(Index i) const {
    return layout_.layers[static_cast<std::size_t>(i)];
  }
  /// ln_1 of layer i lies at the end of what comes before it.
  [[nodiscard]] NormOffsets first_norm(Index i) const {
    if (i == 0) return {layout_.embedding_norm.weight, layout_.embedding_norm.bias};
    return {at(i - 1).output_norm.weight, at(i - 1).output_norm.bias};
  }
  [[nodiscard]] NormOffsets last_norm() const { return first_norm(model_.layers); }

  Normalized<Real> norm(const Matrix<Real>& x, NormOffsets offsets) const {
    return layer_norm(x, w_ + offsets.weight, w_ + offsets.bias, model_.layer_norm_epsilon);
  }
  Matrix<Real> norm_backward(const Matrix<Real>& dy, const Normalized<Real>& of,
                             NormOffsets offsets) {
    return layer_norm_backward(dy, of, w_ + offsets.weight, g_ + offsets.weight, g_ + offsets.bias);
  }
  /// In place, forward and backward alike.
  void drop(Matrix<Real>& x, std::uint32_t site) const {
    apply_dropout(x, batch_.sequence_length,
                  dropout_keys(dropout_, batch_, site, model_.hidden_dropout));
  }
  [[nodiscard]] AttentionShape shape(const Layer& layer) const {
    return {batch_.sequences,      batch_.sequence_length, model_.heads, model_.head_size(),
            batch_.lengths.data(), &layer.attention_keys,  model_.mask};
  }

  void embed() {
    const Index h = model_.hidden;
    x_ = Matrix<Real>(batch_.sequences * batch_.sequence_length, h);
    for (Index i = 0; i < x_.rows; ++i) {
      const Index token = batch_.tokens[static_cast<std::size_t>(i)];
      for (Index j = 0; j < h; ++j) {
        x_.at(i, j) = w_[layout_.word_embeddings + token * h + j] +
                      w_[layout_.position_embeddings + i % batch_.sequence_length * h + j];
      }
    }
    drop(x_, DropoutSite::kEmbeddings);
  }
  void embed_backward() {
    const Index h = model_.hidden;
    drop(d_, DropoutSite::kEmbeddings);
    for (Index i = 0; i < d_.rows; ++i) {
      const Index token = batch_.tokens[static_cast<std::size_t>(i)];
      for (Index j = 0; j < h; ++j) {
        g_[layout_.word_embeddings + token * h + j] += d_.at(i, j);
        g_[layout_.position_embeddings + i % batch_.sequence_length * h + j] += d_.at(i, j);
      }
    }
  }

  void attention_block(Index i, Layer& layer) {
    layer.attention_keys =
        dropout_keys(dropout_, batch_, DropoutSite::attention(i), model_.attention_dropout);
    layer.first = norm(x_, first_norm(i));
    layer.qkv =
        linear(layer.first.output, 3 * model_.hidden, w_ + at(i).qkv.weight, w_ + at(i).qkv.bias);
    layer.context = attention(shape(layer), layer.qkv, layer.probabilities);
    Matrix<Real> y = linear(layer.context, model_.hidden, w_ + at(i).attention_output.weight,
                            w_ + at(i).attention_output.bias);
    drop(y, DropoutSite::attention_output(i));
    add_to(x_, y);
  }
  void attention_backward_block(Index i) {
    const Layer& layer = layers_[static_cast<std::size_t>(i)];
    Matrix<Real> dy = d_;
    drop(dy, DropoutSite::attention_output(i));
    const Matrix<Real> d_context =
        linear_backward(dy, layer.context, w_ + at(i).attention_output.weight,
                        g_ + at(i).attention_output.weight, g_ + at(i).attention_output.bias);
    const Matrix<Real> d_qkv =
        attention_backward(shape(layer), layer.qkv, layer.probabilities, d_context);
    add_to(d_, norm_backward(linear_backward(d_qkv, layer.first.output, w_ + at(i).qkv.weight,
                                             g_ + at(i).qkv.weight, g_ + at(i).qkv.bias),
                             layer.first, first_norm(i)));
  }

  void ffn_block(Index i, Layer& layer) {
    layer.second = norm(x_, {at(i).attention_norm.weight, at(i).attention_norm.bias});
    layer.wide = linear(layer.second.output, model_.intermediate, w_ + at(i).intermediate.weight,
                        w_ + at(i).intermediate.bias);
    layer.activated = layer.wide;
    for (Real& x : layer.activated.values) x = gelu(model_.gelu, x);
    Matrix<Real> y =
        linear(layer.activated, model_.hidden, w_ + at(i).output.weight, w_ + at(i).output.bias);
    drop(y, DropoutSite::output(i));
    add_to(x_, y);
  }
  void ffn_backward(Index i) {
    const Layer& layer = layers_[static_cast<std::size_t>(i)];
    Matrix<Real> dy = d_;
    drop(dy, DropoutSite::output(i));
    Matrix<Real> d_wide = linear_backward(dy, layer.activated, w_ + at(i).output.weight,
                                          g_ + at(i).output.weight, g_ + at(i).output.bias);
    for (std::size_t k = 0; k < d_wide.values.size(); ++k) {
      d_wide.values[k] *= gelu_slope(model_.gelu, layer.wide.values[k]);
    }
    add_to(d_, norm_backward(
                   linear_backward(d_wide, layer.second.output, w_ + at(i).intermediate.weight,
                                   g_ + at(i).intermediate.weight, g_ + at(i).intermediate.bias),
                   layer.second, {at(i).attention_norm.weight, at(i).attention_norm.bias}));
  }

  const ModelConfig& model_;
  const Batch& batch_;
  ParameterLayout layout_;
  const Real* w_;
  Real* g_ = nullptr;
  ReferenceDropout dropout_;
  ReferenceStep<Real> step_;
  std::vector<Layer> layers_;
  Normalized<Real> last_;
  Matrix<Real> x_;  ///< the stream on the way up
  Matrix<Real> d_;  ///< its gradient on the way down
};

}  // namespace bert::reference
