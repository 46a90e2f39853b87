// The layers of the reference, one loop nest each, forward and backward.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "workloads/bert/core/batch.h"
#include "workloads/bert/core/gelu.h"
#include "workloads/bert/model/dropout.h"
#include "workloads/bert/reference/reference.h"

namespace bert::reference {

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
inline std::vector<DropoutKey> dropout_keys(const ReferenceDropout& dropout, const Batch& batch,
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

}  // namespace bert::reference
