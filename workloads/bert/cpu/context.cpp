#include "workloads/bert/cpu/context.h"

#include <cstring>

namespace bert {

void Context::stored(std::int64_t count, float* values) const {
  if (!fp16) return;
  for_row_blocks(*this, count, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    kernels.round_to_fp16(end - begin, values + begin, values + begin);
  });
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
