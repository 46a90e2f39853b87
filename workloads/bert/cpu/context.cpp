#include "workloads/bert/cpu/context.h"

#include <algorithm>
#include <cstring>

namespace bert {

void Context::stored(std::int64_t count, float* values) const {
  if (!fp16) return;
  for_row_blocks(*this, count, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    kernels.round_to_fp16(end - begin, values + begin, values + begin);
  });
}

StepScratch::StepScratch(std::int64_t sequences, std::int64_t length, std::int64_t loss_rows,
                         std::int64_t hidden) {
  const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  keys.reserve(count(sequences));
  losses.reserve(count(std::max(loss_rows, sequences)));
  answer_logits.reserve(count(2 * sequences * length));
  d_classifiers.reserve(count(2 * sequences * (hidden + 1)));
  next_of_word.reserve(count(sequences * length));
  words.reserve(count(sequences * length));
  first_rows.reserve(count(sequences + 1));
  places.reserve(count(sequences * length));
}

void StepScratch::lay_out(const Batch& batch, bool unpadded) {
  first_rows.assign(1, 0);
  places.clear();
  for (std::int64_t b = 0; b < batch.sequences; ++b) {
    const std::int64_t tokens =
        unpadded ? batch.lengths[static_cast<std::size_t>(b)] : batch.sequence_length;
    for (std::int64_t i = 0; i < tokens; ++i) {
      places.push_back(static_cast<std::int32_t>(b * batch.sequence_length + i));
    }
    first_rows.push_back(static_cast<std::int64_t>(places.size()));
  }
}

void clear_partials(const Context& context, std::int64_t width) {
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t block = 0; block < kRowBlocks; ++block) {
    std::memset(context.partials + block * context.partials_width, 0,
                static_cast<std::size_t>(width) * sizeof(float));
  }
}

void add_partials(const Context& context, std::int64_t offset, std::int64_t width, float* sums) {
  for_columns(context, width, [&](std::int64_t begin, std::int64_t end) {
    context.kernels.column_sums(kRowBlocks, end - begin, context.partials_width,
                                context.partials + offset + begin, sums + begin);
  });
}

}  // namespace bert
