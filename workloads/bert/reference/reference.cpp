#include "workloads/bert/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "workloads/bert/core/batch.h"
#include "workloads/bert/core/gelu.h"
#include "workloads/bert/core/model_config.h"
#include "workloads/bert/model/dropout.h"
#include "workloads/bert/model/parameters.h"

namespace bert::reference {
namespace {

// The layers of the reference, one loop nest each, forward and backward.

using Index = std::int64_t;

/// Row-major matrix.
template <typename Real>
struct Matrix {
  Matrix() = default;
  Matrix(Index r, Index c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  Real& at(Index row, Index column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  [[nodiscard]] Real at(Index row, Index column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  Index rows = 0, columns = 0;
  std::vector<Real> values;
};

/// y = x weight^T + bias, weight [outputs, x.columns].
template <typename Real>
Matrix<Real> linear(const Matrix<Real>& x, Index outputs, const Real* weight, const Real* bias) {
  Matrix<Real> y(x.rows, outputs);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index o = 0; o < outputs; ++o) {
      Real sum = bias == nullptr ? Real{0} : bias[o];
      for (Index k = 0; k < x.columns; ++k) sum += x.at(i, k) * weight[o * x.columns + k];
      y.at(i, o) = sum;
    }
  }
  return y;
}

/// Adds to d_weight and d_bias (may be null); returns dx.
template <typename Real>
Matrix<Real> linear_backward(const Matrix<Real>& dy, const Matrix<Real>& x, const Real* weight,
                             Real* d_weight, Real* d_bias) {
  Matrix<Real> dx(x.rows, x.columns);
  for (Index i = 0; i < dy.rows; ++i) {
    for (Index o = 0; o < dy.columns; ++o) {
      const Real d = dy.at(i, o);
      if (d_bias != nullptr) d_bias[o] += d;
      for (Index k = 0; k < x.columns; ++k) {
        d_weight[o * x.columns + k] += d * x.at(i, k);
        dx.at(i, k) += d * weight[o * x.columns + k];
      }
    }
  }
  return dx;
}

/// Of the tanh form: x (1 + tanh u) / 2.
template <typename Real>
Real tanh_argument(Real x) {
  return std::sqrt(2 / std::numbers::pi_v<Real>) * (x + Real(0.044715) * x * x * x);
}

template <typename Real>
Real gelu(Gelu form, Real x) {
  if (form == Gelu::tanh) return x * (1 + std::tanh(tanh_argument(x))) / 2;
  return x * std::erfc(-x * Real(std::numbers::sqrt2 / 2)) / 2;
}

template <typename Real>
Real gelu_slope(Gelu form, Real x) {
  if (form == Gelu::tanh) {
    const Real t = std::tanh(tanh_argument(x));
    const Real d_argument =
        std::sqrt(2 / std::numbers::pi_v<Real>) * (1 + 3 * Real(0.044715) * x * x);
    return (1 + t) / 2 + x * (1 - t * t) / 2 * d_argument;
  }
  const Real distribution = std::erfc(-x * Real(std::numbers::sqrt2 / 2)) / 2;
  const Real density = std::exp(-x * x / 2) * Real(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return distribution + x * density;
}

template <typename Real>
struct Normalized {
  Matrix<Real> output;
  Matrix<Real> centered;   ///< (x - mean) / deviation
  std::vector<Real> rstd;  ///< 1 / deviation, per row
};

template <typename Real>
Normalized<Real> layer_norm(const Matrix<Real>& x, const Real* gamma, const Real* beta,
                            double epsilon) {
  Normalized<Real> norm{Matrix<Real>(x.rows, x.columns), Matrix<Real>(x.rows, x.columns), {}};
  const auto n = static_cast<Real>(x.columns);
  for (Index i = 0; i < x.rows; ++i) {
    Real mean = 0;
    for (Index j = 0; j < x.columns; ++j) mean += x.at(i, j);
    mean /= n;
    Real variance = 0;
    for (Index j = 0; j < x.columns; ++j) variance += (x.at(i, j) - mean) * (x.at(i, j) - mean);
    variance /= n;
    const Real rstd = 1 / std::sqrt(variance + static_cast<Real>(epsilon));
    norm.rstd.push_back(rstd);
    for (Index j = 0; j < x.columns; ++j) {
      norm.centered.at(i, j) = (x.at(i, j) - mean) * rstd;
      norm.output.at(i, j) = norm.centered.at(i, j) * gamma[j] + beta[j];
    }
  }
  return norm;
}

template <typename Real>
Matrix<Real> layer_norm_backward(const Matrix<Real>& dy, const Normalized<Real>& norm,
                                 const Real* gamma, Real* d_gamma, Real* d_beta) {
  Matrix<Real> dx(dy.rows, dy.columns);
  const auto n = static_cast<Real>(dy.columns);
  for (Index i = 0; i < dy.rows; ++i) {
    Real total = 0;
    Real product = 0;
    for (Index j = 0; j < dy.columns; ++j) {
      d_gamma[j] += dy.at(i, j) * norm.centered.at(i, j);
      d_beta[j] += dy.at(i, j);
      total += dy.at(i, j) * gamma[j];
      product += dy.at(i, j) * gamma[j] * norm.centered.at(i, j);
    }
    for (Index j = 0; j < dy.columns; ++j) {
      dx.at(i, j) = norm.rstd[static_cast<std::size_t>(i)] *
                    (dy.at(i, j) * gamma[j] - total / n - norm.centered.at(i, j) * product / n);
    }
  }
  return dx;
}

/// One key per sequence; empty when nothing is dropped.
std::vector<DropoutKey> dropout_keys(const ReferenceDropout& dropout, const Batch& batch,
                                     std::uint32_t site, double probability) {
  std::vector<DropoutKey> out;
  if (!dropout.training || probability <= 0) return out;
  for (Index b = 0; b < batch.sequences; ++b) {
    out.push_back(dropout_key(dropout.seed, dropout.optimizer_step, site, batch.first_sequence + b,
                              probability));
  }
  return out;
}

/// 1 / (1 - p) where the element is kept, else 0.
template <typename Real>
Real dropout_factor(const DropoutKey& key, Index element) {
  return dropout_keeps(key, static_cast<std::uint64_t>(element)) ? static_cast<Real>(key.scale)
                                                                 : Real{0};
}

/// Dropout of [B s, width] in place; backward is the same on the gradient.
template <typename Real>
void apply_dropout(Matrix<Real>& x, Index rows_per_sequence, const std::vector<DropoutKey>& keys) {
  if (keys.empty()) return;
  for (Index i = 0; i < x.rows; ++i) {
    const DropoutKey& key = keys[static_cast<std::size_t>(i / rows_per_sequence)];
    for (Index j = 0; j < x.columns; ++j) {
      x.at(i, j) *= dropout_factor<Real>(key, (i % rows_per_sequence) * x.columns + j);
    }
  }
}

/// Mean of -log softmax[label] over rows; turns the logits into its gradient.
template <typename Real>
double cross_entropy(Matrix<Real>& logits, const std::vector<std::int32_t>& labels) {
  if (logits.rows == 0) return 0;
  double loss = 0;
  const auto rows = static_cast<Real>(logits.rows);
  for (Index i = 0; i < logits.rows; ++i) {
    const Index label = labels[static_cast<std::size_t>(i)];
    Real top = logits.at(i, 0);
    for (Index j = 0; j < logits.columns; ++j) top = std::max(top, logits.at(i, j));
    Real total = 0;
    for (Index j = 0; j < logits.columns; ++j) total += std::exp(logits.at(i, j) - top);
    loss += static_cast<double>(std::log(total) - (logits.at(i, label) - top));
    for (Index j = 0; j < logits.columns; ++j) {
      const Real p = std::exp(logits.at(i, j) - top) / total;
      logits.at(i, j) = (p - (j == label ? Real{1} : Real{0})) / rows;
    }
  }
  return loss / static_cast<double>(logits.rows);
}

template <typename Real>
void add_to(Matrix<Real>& sum, const Matrix<Real>& term) {
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += term.values[i];
}

// Self-attention of the reference: query, key and value lie side by side in qkv [B s, 3h].

struct AttentionShape {
  Index sequences, length, heads, size;
  const std::int32_t* lengths;
  std::vector<DropoutKey> keys;  ///< one per sequence, or empty
  Mask mask;

  /// Keys 0 .. n - 1 that query i of sequence b sees.
  [[nodiscard]] Index seen(Index b, Index i) const {
    return mask == Mask::causal ? std::min<Index>(lengths[b], i + 1) : lengths[b];
  }

  [[nodiscard]] Index hidden() const { return heads * size; }
  [[nodiscard]] Index row(Index b, Index head, Index i) const {
    return (b * heads + head) * length + i;
  }
  template <typename Real>
  [[nodiscard]] Real factor(Index b, Index head, Index i, Index j) const {
    if (keys.empty()) return 1;
    return dropout_factor<Real>(keys[static_cast<std::size_t>(b)],
                                (head * length + i) * length + j);
  }
};

/// Returns the context [B s, h]; fills probabilities [B H s, s] (before dropout).
template <typename Real>
Matrix<Real> attention(const AttentionShape& shape, const Matrix<Real>& qkv,
                       Matrix<Real>& probabilities) {
  const Index h = shape.hidden();
  const Real scale = 1 / std::sqrt(static_cast<Real>(shape.size));
  Matrix<Real> output(qkv.rows, h);
  probabilities = Matrix<Real>(shape.sequences * shape.heads * shape.length, shape.length);
  for (Index b = 0; b < shape.sequences; ++b) {
    const Index first = b * shape.length;
    for (Index head = 0; head < shape.heads; ++head) {
      const Index at = head * shape.size;
      for (Index i = 0; i < shape.length; ++i) {
        const Index row = shape.row(b, head, i);
        const Index keys = shape.seen(b, i);
        Real top = 0;
        for (Index j = 0; j < keys; ++j) {
          Real score = 0;
          for (Index d = 0; d < shape.size; ++d) {
            score += qkv.at(first + i, at + d) * qkv.at(first + j, h + at + d);
          }
          probabilities.at(row, j) = score * scale;
          top = j == 0 ? score * scale : std::max(top, score * scale);
        }
        Real total = 0;
        for (Index j = 0; j < keys; ++j) {
          probabilities.at(row, j) = std::exp(probabilities.at(row, j) - top);
          total += probabilities.at(row, j);
        }
        for (Index j = 0; j < keys; ++j) {
          probabilities.at(row, j) /= total;
          const Real p = probabilities.at(row, j) * shape.factor<Real>(b, head, i, j);
          for (Index d = 0; d < shape.size; ++d) {
            output.at(first + i, at + d) += p * qkv.at(first + j, 2 * h + at + d);
          }
        }
      }
    }
  }
  return output;
}

template <typename Real>
Matrix<Real> attention_backward(const AttentionShape& shape, const Matrix<Real>& qkv,
                                const Matrix<Real>& probabilities, const Matrix<Real>& d_output) {
  const Index h = shape.hidden();
  const Real scale = 1 / std::sqrt(static_cast<Real>(shape.size));
  Matrix<Real> d_qkv(qkv.rows, qkv.columns);
  std::vector<Real> d_probability(static_cast<std::size_t>(shape.length));
  for (Index b = 0; b < shape.sequences; ++b) {
    const Index first = b * shape.length;
    for (Index head = 0; head < shape.heads; ++head) {
      const Index at = head * shape.size;
      for (Index i = 0; i < shape.length; ++i) {
        const Index row = shape.row(b, head, i);
        const Index keys = shape.seen(b, i);
        Real product = 0;
        for (Index j = 0; j < keys; ++j) {
          const Real factor = shape.factor<Real>(b, head, i, j);
          const Real p = probabilities.at(row, j);
          Real d = 0;
          for (Index k = 0; k < shape.size; ++k) {
            d += d_output.at(first + i, at + k) * qkv.at(first + j, 2 * h + at + k);
            d_qkv.at(first + j, 2 * h + at + k) += p * factor * d_output.at(first + i, at + k);
          }
          d_probability[static_cast<std::size_t>(j)] = d * factor;
          product += d * factor * p;
        }
        for (Index j = 0; j < keys; ++j) {
          const Real d_score = probabilities.at(row, j) *
                               (d_probability[static_cast<std::size_t>(j)] - product) * scale;
          for (Index k = 0; k < shape.size; ++k) {
            d_qkv.at(first + i, at + k) += d_score * qkv.at(first + j, h + at + k);
            d_qkv.at(first + j, h + at + k) += d_score * qkv.at(first + i, at + k);
          }
        }
      }
    }
  }
  return d_qkv;
}

// What BERT and GPT-2 of the reference have alike: weights, gradients and dropout of one step, and
// the layers that ParameterLayout names.

template <typename Real>
struct Network {
  Network(const ModelConfig& of, const Batch& with, std::span<const Real> weights,
          const ReferenceDropout& drops)
      : model(of), batch(with), layout(of), w(weights.data()), dropout(drops) {
    step.gradients.resize(static_cast<std::size_t>(layout.total));
    g = step.gradients.data();
  }

  /// As the functions above: backward adds to the gradients and returns that of the
  /// input.
  [[nodiscard]] Matrix<Real> linear(const Matrix<Real>& x, const LinearOffsets& at) const {
    return reference::linear(x, at.outputs, w + at.weight,
                             at.bias == kAbsent ? nullptr : w + at.bias);
  }
  Matrix<Real> linear_backward(const Matrix<Real>& dy, const Matrix<Real>& x,
                               const LinearOffsets& at) {
    return reference::linear_backward(dy, x, w + at.weight, g + at.weight,
                                      at.bias == kAbsent ? nullptr : g + at.bias);
  }
  [[nodiscard]] Normalized<Real> norm(const Matrix<Real>& x, const NormOffsets& at) const {
    return layer_norm(x, w + at.weight, w + at.bias, model.layer_norm_epsilon);
  }
  Matrix<Real> norm_backward(const Matrix<Real>& dy, const Normalized<Real>& of,
                             const NormOffsets& at) {
    return layer_norm_backward(dy, of, w + at.weight, g + at.weight, g + at.bias);
  }
  void gelu(Matrix<Real>& x) const {
    for (Real& value : x.values) value = reference::gelu(model.gelu, value);
  }
  /// `x`: what gelu() was given.
  void gelu_backward(Matrix<Real>& dy, const Matrix<Real>& x) const {
    for (std::size_t i = 0; i < dy.values.size(); ++i) {
      dy.values[i] *= gelu_slope(model.gelu, x.values[i]);
    }
  }
  /// Of the hidden states at a DropoutSite; in place, forward and backward alike.
  void drop(Matrix<Real>& x, std::uint32_t site) const {
    apply_dropout(x, batch.sequence_length,
                  dropout_keys(dropout, batch, site, model.hidden_dropout));
  }
  [[nodiscard]] AttentionShape attention_of(Index i) const {
    return {batch.sequences,
            batch.sequence_length,
            model.heads,
            model.head_size(),
            batch.lengths.data(),
            dropout_keys(dropout, batch, DropoutSite::attention(i), model.attention_dropout),
            model.mask};
  }
  [[nodiscard]] const LayerOffsets& layer(Index i) const {
    return layout.layers[static_cast<std::size_t>(i)];
  }

  const ModelConfig& model;
  const Batch& batch;
  ParameterLayout layout;
  const Real* w;
  Real* g = nullptr;  ///< gradients of `step`
  ReferenceDropout dropout;
  ReferenceStep<Real> step;
};

// GPT-2 of the reference, block by block as Radford et al. 2019 write it: x + attention(ln_1 x),
// then x + ffn(ln_2 x), ln_f at the end. The backends chain the same sums and norms otherwise.

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

}  // namespace
}  // namespace bert::reference

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
