// What every part of the model needs during a step.
#pragma once

#include <omp.h>

#include <cstdint>
#include <vector>

#include "workloads/bert/core/batch.h"
#include "workloads/bert/core/model_config.h"
#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/gemm.h"
#include "workloads/bert/cpu/kernels.h"
#include "workloads/bert/model/parameters.h"

namespace bert {

/// Row ranges are always cut into this many blocks, and sums over rows are added up block by
/// block, so results do not depend on the number of threads.
inline constexpr std::int64_t kRowBlocks = 32;

/// Shapes of the current micro-step.
struct StepShape {
  std::int64_t sequences = 0;  ///< B
  std::int64_t length = 0;     ///< s
  std::int64_t masked = 0;     ///< m, per sequence
  [[nodiscard]] std::int64_t tokens() const { return sequences * length; }
};

struct Context {
  const ModelConfig& model;
  const ParameterLayout& layout;
  const Kernels& kernels;
  Gemm& gemm;
  int threads = 1;

  Bf16Linears* bf16 = nullptr;  ///< products in bf16; null: in fp32 by `gemm`
  bool fp16 = false;            ///< what a GPU stores in fp16 is rounded to it
  float* weights = nullptr;
  float* gradients = nullptr;
  float* partials = nullptr;  ///< [kRowBlocks, partials_width]
  std::int64_t partials_width = 0;
  float* scratch = nullptr;  ///< [threads, scratch_size]
  std::int64_t scratch_size = 0;

  // Of the current micro-step:
  StepShape shape{};
  bool training = false;
  bool accumulate = false;  ///< products add to the gradient buffer (else they write it)
  std::uint64_t seed = 0;
  std::int64_t optimizer_step = 0;
  std::int64_t first_sequence = 0;

  [[nodiscard]] float* thread_scratch() const {
    return scratch + omp_get_thread_num() * scratch_size;
  }

  /// After the last write to values that a GPU would hold in memory between two operations.
  void stored(std::int64_t count, float* values) const;

  /// One key per sequence; empty when nothing is dropped.
  [[nodiscard]] std::vector<DropoutKey> dropout(std::uint32_t site, double probability) const {
    std::vector<DropoutKey> keys;
    if (!training || probability <= 0) return keys;
    for (std::int64_t b = 0; b < shape.sequences; ++b) {
      keys.push_back(dropout_key(seed, optimizer_step, site, first_sequence + b, probability));
    }
    return keys;
  }
};

inline const DropoutKey* data_or_null(const std::vector<DropoutKey>& keys) {
  return keys.empty() ? nullptr : keys.data();
}

/// body(begin, end, block) over row blocks, in parallel. `body` must not throw.
template <typename Body>
void for_row_blocks(const Context& context, std::int64_t rows, const Body& body) {
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t block = 0; block < kRowBlocks; ++block) {
    const std::int64_t begin = rows * block / kRowBlocks;
    const std::int64_t end = rows * (block + 1) / kRowBlocks;
    if (begin < end) body(begin, end, block);
  }
}

/// body(begin, end) over column strips of at least a few cache lines, in parallel.
template <typename Body>
void for_columns(const Context& context, std::int64_t columns, const Body& body) {
  constexpr std::int64_t kStrip = 128;
  const std::int64_t strips = (columns + kStrip - 1) / kStrip;
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t strip = 0; strip < strips; ++strip) {
    const std::int64_t begin = strip * kStrip;
    body(begin, begin + kStrip < columns ? begin + kStrip : columns);
  }
}

/// Partial sums of row blocks. Blocks without rows stay zero.
void clear_partials(const Context& context, std::int64_t width);
/// sums[j] += partials[block][offset + j] over all blocks in order, j < width.
void add_partials(const Context& context, std::int64_t offset, std::int64_t width, float* sums);

}  // namespace bert
