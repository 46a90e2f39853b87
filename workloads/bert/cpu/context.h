// What every part of the model needs during a step.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workloads/bert/core/batch.h"
#include "workloads/bert/core/model_config.h"
#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/gemm.h"
#include "workloads/bert/cpu/kernels.h"
#include "workloads/bert/model/parameters.h"

namespace bert {

class Bf16Decoder;

/// Row ranges are always cut into this many blocks, and sums over rows are added up block by
/// block, so results do not depend on the number of threads.
inline constexpr std::int64_t kRowBlocks = 32;

/// Shapes of the current micro-step.
struct StepShape {
  std::int64_t sequences = 0;  ///< B
  std::int64_t length = 0;     ///< s
  std::int64_t masked = 0;     ///< m, per sequence
};

/// What a step fills anew, in memory that is asked for once.
struct StepScratch {
  std::vector<DropoutKey> keys;  ///< [B] of the site that is computed
  std::vector<double> losses;    ///< of rows or of sequences
  /// Of the fine-tuned heads: [B, s, 2] for the first and the last token, or [B, 2] for the
  /// classes.
  std::vector<double> answer_logits;
  std::vector<float> d_classifiers;  ///< [B, 2, h + 1]
  /// The rows of one word in their order: the first, or -1 [V]; the next of the same word, or -1
  /// [T].
  std::vector<std::int32_t> first_of_word, next_of_word;
  std::vector<std::int32_t> words;  ///< of the batch, each once
  /// [B + 1] row of each sequence's first token, and the number of rows.
  std::vector<std::int64_t> first_rows;
  std::vector<std::int32_t> places;  ///< [T] row -> place in the batch's [B, s]

  StepScratch(std::int64_t sequences, std::int64_t length, std::int64_t loss_rows,
              std::int64_t hidden);
  /// Rows of a batch: all of its places, or those that hold no padding.
  void lay_out(const Batch& batch, bool unpadded);
};

struct Context {
  const ModelConfig& model;
  const ParameterLayout& layout;
  const Kernels& kernels;
  Gemm& gemm;
  int threads = 1;

  StepScratch* kept = nullptr;     ///< never null while a step is computed
  bool unpadded = false;           ///< rows are tokens that are no padding
  Bf16Linears* bf16 = nullptr;     ///< products in bf16; null: in fp32 by `gemm`
  Bf16Decoder* decoder = nullptr;  ///< in bf16, where gradients of a decoder are computed
  bool fp16 = false;               ///< what a GPU stores in fp16 is rounded to it
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

  /// One key per sequence, until the next call; null when nothing is dropped.
  [[nodiscard]] const DropoutKey* dropout(std::uint32_t site, double probability) const {
    if (!training || probability <= 0) return nullptr;
    kept->keys.clear();
    for (std::int64_t b = 0; b < shape.sequences; ++b) {
      kept->keys.push_back(
          dropout_key(seed, optimizer_step, site, first_sequence + b, probability));
    }
    return kept->keys.data();
  }
  /// Rows of the sequence begin at this one.
  [[nodiscard]] std::int64_t first_row(std::int64_t sequence) const {
    return kept->first_rows[static_cast<std::size_t>(sequence)];
  }
  /// Place in the batch's [B, s] of the token of a row, and back.
  [[nodiscard]] std::size_t place(std::int64_t row) const {
    return static_cast<std::size_t>(kept->places[static_cast<std::size_t>(row)]);
  }
  [[nodiscard]] std::int64_t row_of(std::int64_t place) const {
    return first_row(place / shape.length) + place % shape.length;
  }
};

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

/// body(begin, end) over column strips in parallel: some for each thread, but no narrower than a
/// few cache lines. A wide strip is a long run of memory in each row.
template <typename Body>
void for_columns(const Context& context, std::int64_t columns, const Body& body) {
  constexpr std::int64_t kNarrowest = 128, kStripsOfThread = 8;
  const std::int64_t shared = columns / (kStripsOfThread * context.threads);
  const std::int64_t strip = std::max(kNarrowest, shared / kNarrowest * kNarrowest);
  const std::int64_t strips = (columns + strip - 1) / strip;
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t i = 0; i < strips; ++i) {
    body(i * strip, std::min((i + 1) * strip, columns));
  }
}

/// Partial sums of row blocks. Blocks without rows stay zero.
void clear_partials(const Context& context, std::int64_t width);
/// sums[j] += partials[block][offset + j] over all blocks in order, j < width.
void add_partials(const Context& context, std::int64_t offset, std::int64_t width, float* sums);

}  // namespace bert
