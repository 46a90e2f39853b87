#include "workloads/bert/cpu/norm.h"

namespace bert {

void run_norm_forward(const Context& context, const NormForward& norm, std::int64_t rows) {
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    context.kernels.norm_forward(norm, begin, end, context.thread_scratch());
  });
}

void run_norm_backward(const Context& context, const NormBackward& norm, std::int64_t rows,
                       const NormSums& sums) {
  const std::int64_t n = norm.width;
  clear_partials(context, 3 * n);
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t block) {
    float* partial = context.partials + block * context.partials_width;
    context.kernels.norm_backward(norm, {partial, partial + n, partial + 2 * n}, begin, end,
                                  context.thread_scratch());
  });
  add_partials(context, 0, n, sums.gamma);
  add_partials(context, n, n, sums.beta);
  if (sums.bias != nullptr) add_partials(context, 2 * n, n, sums.bias);
}

void run_gelu_backward(const Context& context, std::int64_t rows, std::int64_t width,
                       const float* input, const float* bias, float* gradient, float* d_bias) {
  clear_partials(context, width);
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t block) {
    context.kernels.gelu_backward(context.model.gelu, end - begin, width, input + begin * width,
                                  bias, gradient + begin * width,
                                  context.partials + block * context.partials_width);
  });
  add_partials(context, 0, width, d_bias);
}

}  // namespace bert
