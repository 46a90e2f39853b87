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

Optimizer::Optimizer(const std::vector<Parameter>& parameters, const Kernels& kernels, int threads,
                     int rank, int shares)
    : parameters_(parameters), kernels_(kernels), threads_(threads), rank_(rank), shares_(shares) {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (std::int64_t begin = 0; begin < parameters_[p].size; begin += kChunk) {
      chunks_.push_back(
          {p, parameters_[p].offset + begin, std::min(kChunk, parameters_[p].size - begin)});
    }
  }
  squares_.resize(chunks_.size());
  partial_.resize(chunks_.size());
  sums_.resize(parameters_.size());
}

std::pair<std::int64_t, std::int64_t> Optimizer::chunks_of(int rank) const {
  const std::int64_t total = chunks_.back().begin + chunks_.back().size;
  const auto first_of = [&](int of) {
    const auto found = std::ranges::lower_bound(chunks_, total * of / shares_, {}, &Chunk::begin);
    return static_cast<std::int64_t>(found - chunks_.begin());
  };
  return {first_of(rank), first_of(rank + 1)};
}

Optimizer::Share Optimizer::share(int rank) const {
  const auto [first, end] = chunks_of(rank);
  if (first == end) return {};
  const std::int64_t begin = chunks_[static_cast<std::size_t>(first)].begin;
  const Chunk& last = chunks_[static_cast<std::size_t>(end - 1)];
  return {begin, last.begin + last.size - begin};
}

void Optimizer::step(const OptimizerOptions& options, double learning_rate, double gradient_factor,
                     double norm, std::int64_t update, const float* gradients, float* weights,
                     float* first, float* second, std::uint16_t* rounded, const Sum& sum) {
  const AdamConstants common = adam_constants(options, gradient_factor, norm, update);
  const std::int64_t own = share().begin;
  const auto range_of = [&](const Chunk& chunk) {
    AdamRange range{common};
    range.size = chunk.size;
    range.weights = weights + chunk.begin;
    range.gradients = gradients + chunk.begin;
    range.first = first + (chunk.begin - own);
    range.second = second + (chunk.begin - own);
    return range;
  };
  const auto round = [&](const Chunk& chunk) {
    if (rounded == nullptr) return;
    kernels_.to_bf16(chunk.size, weights + chunk.begin, rounded + chunk.begin);
  };
  // Plain variables: a structured binding is not visible in a parallel region.
  const std::int64_t begin = chunks_of(rank_).first, end = chunks_of(rank_).second;
  const auto decay_of = [&](const Chunk& chunk) {
    return parameters_[chunk.parameter].decay ? options.weight_decay : 0.0;
  };

  if (options.kind == OptimizerOptions::Kind::adamw) {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = begin; i < end; ++i) {
      const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
      AdamRange range = range_of(chunk);
      range.decay = static_cast<float>(learning_rate * decay_of(chunk));
      range.rate = static_cast<float>(learning_rate);
      kernels_.adamw(range);
      round(chunk);
    }
    return;
  }

  // Other ranks' chunks are zeros here, so that sums over ranks have the bits of one rank's.
  std::fill(partial_.begin(), partial_.end(), LambSums{});
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = begin; i < end; ++i) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
    AdamRange range = range_of(chunk);
    range.decay = static_cast<float>(decay_of(chunk));
    partial_[static_cast<std::size_t>(i)] = kernels_.lamb_moments(range);
  }
  if (shares_ > 1) {
    static_assert(sizeof(LambSums) == 2 * sizeof(double));
    sum({&partial_.front().weights, 2 * partial_.size()});
  }
  std::fill(sums_.begin(), sums_.end(), LambSums{});
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    sums_[chunks_[i].parameter].weights += partial_[i].weights;
    sums_[chunks_[i].parameter].update += partial_[i].update;
  }
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = begin; i < end; ++i) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
    const bool adapts = parameters_[chunk.parameter].decay || options.trust_ratio_without_decay;
    const double ratio = adapts ? trust_ratio(options, sums_[chunk.parameter]) : 1.0;
    AdamRange range = range_of(chunk);
    range.decay = static_cast<float>(decay_of(chunk));
    range.rate = static_cast<float>(learning_rate * ratio);
    kernels_.lamb_apply(range);
    round(chunk);
  }
}

double Optimizer::norm(const float* values) {
  const auto count = static_cast<std::int64_t>(chunks_.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
    squares_[static_cast<std::size_t>(i)] =
        kernels_.sum_of_squares(chunk.size, values + chunk.begin);
  }
  double total = 0;
  for (const double one : squares_) total += one;
  return std::sqrt(total);
}

}  // namespace bert
