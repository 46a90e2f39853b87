#include "workloads/bert/cpu/norm.h"

#include <algorithm>

namespace bert {
namespace {

template <class Value>
void advance(Value*& values, std::int64_t by) {
  if (values != nullptr) values += by;
}

void advance_own(NormForward& norm, std::int64_t by) {
  advance(norm.input, by);
  advance(norm.residual, by);
  advance(norm.output, by);
  advance(norm.rounded, by);
}
void advance_own(NormBackward& norm, std::int64_t by) {
  advance(norm.d_output, by);
  advance(norm.d_bypass, by);
  advance(norm.d_sum, by);
  advance(norm.d_input, by);
  advance(norm.rounded, by);
}

/// The rows of one sequence, which begin at `row`, as those of sequence 0.
template <class Norm>
Norm of_sequence(Norm norm, std::int64_t row, std::int64_t sequence) {
  advance_own(norm, row * norm.width);
  advance(norm.sum, row * norm.width);
  advance(norm.mean, row);
  advance(norm.rstd, row);
  advance(norm.before, sequence);
  advance(norm.after, sequence);
  return norm;
}

/// call(norm, begin, end) for rows [begin, end), so that the kernel finds each row's place in its
/// sequence, by which dropout is drawn: sequences of different lengths are calls of their own.
template <class Norm, class Call>
void each_sequence(const Context& context, const Norm& norm, std::int64_t begin, std::int64_t end,
                   const Call& call) {
  const bool drops = norm.before != nullptr || norm.after != nullptr;
  if (!context.unpadded || !drops) return call(norm, begin, end);
  const auto& first_rows = context.kept->first_rows;
  auto next = std::upper_bound(first_rows.begin(), first_rows.end(), begin);
  while (begin < end) {
    const std::int64_t row = *(next - 1);
    const std::int64_t stop = std::min(end, *next);
    call(of_sequence(norm, row, next - 1 - first_rows.begin()), begin - row, stop - row);
    begin = stop;
    ++next;
  }
}

}  // namespace

void norm_rows(const Context& context, const NormForward& norm, std::int64_t begin,
               std::int64_t end) {
  each_sequence(context, norm, begin, end,
                [&](const NormForward& one, std::int64_t from, std::int64_t to) {
                  context.kernels.norm_forward(one, from, to, context.thread_scratch());
                });
}

void run_norm_forward(const Context& context, const NormForward& norm, std::int64_t rows) {
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    norm_rows(context, norm, begin, end);
  });
}

void run_norm_backward(const Context& context, const NormBackward& norm, std::int64_t rows,
                       const NormSums& sums) {
  const std::int64_t n = norm.width;
  clear_partials(context, 3 * n);
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t block) {
    float* partial = context.partials + block * context.partials_width;
    each_sequence(context, norm, begin, end,
                  [&](const NormBackward& one, std::int64_t from, std::int64_t to) {
                    context.kernels.norm_backward(one, {partial, partial + n, partial + 2 * n},
                                                  from, to, context.thread_scratch());
                  });
  });
  add_partials(context, 0, n, sums.gamma);
  add_partials(context, n, n, sums.beta);
  if (sums.bias != nullptr) add_partials(context, 2 * n, n, sums.bias);
}

void run_gelu_backward(const Context& context, std::int64_t rows, std::int64_t width,
                       const float* input, const float* bias, float* gradient, float* d_bias,
                       std::uint16_t* rounded) {
  clear_partials(context, width);
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t block) {
    context.kernels.gelu_backward(context.model.gelu, end - begin, width, input + begin * width,
                                  bias, gradient + begin * width,
                                  context.partials + block * context.partials_width,
                                  rounded == nullptr ? nullptr : rounded + begin * width);
  });
  add_partials(context, 0, width, d_bias);
}

}  // namespace bert
