// Self-attention of the reference: query, key and value lie side by side in qkv [B s, 3h].
#pragma once

#include <algorithm>

#include "workloads/bert/core/model_config.h"
#include "workloads/bert/reference/operations.h"

namespace bert::reference {

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

}  // namespace bert::reference
