#include "workloads/bert/cpu/optimizer.h"

#include <algorithm>
#include <cmath>

namespace bert {
namespace {

/// Small enough that a chunk's four streams stay in a core's cache between LAMB's two passes of
/// one tensor, large enough that scheduling costs nothing.
constexpr std::int64_t kChunk = 32768;

double trust_ratio(const OptimizerOptions& options, const LambSums& sums) {
  double ratio = 1;
  if (sums.weights > 0 && sums.update > 0) ratio = std::sqrt(sums.weights / sums.update);
  if (options.min_trust > 0) ratio = std::max(ratio, options.min_trust);
  if (options.max_trust > 0) ratio = std::min(ratio, options.max_trust);
  return ratio;
}

}  // namespace

Optimizer::Optimizer(const std::vector<Parameter>& parameters, const Kernels& kernels, int threads)
    : parameters_(parameters), kernels_(kernels), threads_(threads) {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (std::int64_t begin = 0; begin < parameters_[p].size; begin += kChunk) {
      chunks_.push_back(
          {p, parameters_[p].offset + begin, std::min(kChunk, parameters_[p].size - begin)});
    }
  }
}

void Optimizer::step(const OptimizerOptions& options, double learning_rate, double gradient_factor,
                     double norm, std::int64_t update, const float* gradients, float* weights,
                     float* first, float* second) const {
  const AdamConstants common = adam_constants(options, gradient_factor, norm, update);
  const auto range_of = [&](const Chunk& chunk) {
    AdamRange range{common};
    range.size = chunk.size;
    range.weights = weights + chunk.begin;
    range.gradients = gradients + chunk.begin;
    range.first = first + chunk.begin;
    range.second = second + chunk.begin;
    return range;
  };
  const auto count = static_cast<std::int64_t>(chunks_.size());
  const auto decay_of = [&](const Chunk& chunk) {
    return parameters_[chunk.parameter].decay ? options.weight_decay : 0.0;
  };

  if (options.kind == OptimizerOptions::Kind::adamw) {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
      AdamRange range = range_of(chunk);
      range.decay = static_cast<float>(learning_rate * decay_of(chunk));
      range.rate = static_cast<float>(learning_rate);
      kernels_.adamw(range);
    }
    return;
  }

  std::vector<LambSums> partial(chunks_.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
    AdamRange range = range_of(chunk);
    range.decay = static_cast<float>(decay_of(chunk));
    partial[static_cast<std::size_t>(i)] = kernels_.lamb_moments(range);
  }
  std::vector<LambSums> sums(parameters_.size());
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    sums[chunks_[i].parameter].weights += partial[i].weights;
    sums[chunks_[i].parameter].update += partial[i].update;
  }
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
    const bool adapts = parameters_[chunk.parameter].decay || options.trust_ratio_without_decay;
    const double ratio = adapts ? trust_ratio(options, sums[chunk.parameter]) : 1.0;
    AdamRange range = range_of(chunk);
    range.decay = static_cast<float>(decay_of(chunk));
    range.rate = static_cast<float>(learning_rate * ratio);
    kernels_.lamb_apply(range);
  }
}

double Optimizer::norm(const float* values) const {
  std::vector<double> partial(chunks_.size());
  const auto count = static_cast<std::int64_t>(chunks_.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
    partial[static_cast<std::size_t>(i)] =
        kernels_.sum_of_squares(chunk.size, values + chunk.begin);
  }
  double total = 0;
  for (const double one : partial) total += one;
  return std::sqrt(total);
}

}  // namespace bert
