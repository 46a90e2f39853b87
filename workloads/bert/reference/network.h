// What BERT and GPT-2 of the reference have alike: weights, gradients and dropout of one step, and
// the layers that ParameterLayout names.
#pragma once

#include "workloads/bert/model/parameters.h"
#include "workloads/bert/reference/attention.h"
#include "workloads/bert/reference/operations.h"

namespace bert::reference {

template <typename Real>
struct Network {
  Network(const ModelConfig& of, const Batch& with, std::span<const Real> weights,
          const ReferenceDropout& drops)
      : model(of), batch(with), layout(of), w(weights.data()), dropout(drops) {
    step.gradients.resize(static_cast<std::size_t>(layout.total));
    g = step.gradients.data();
  }

  /// As the functions of operations.h: backward adds to the gradients and returns that of the
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

}  // namespace bert::reference
