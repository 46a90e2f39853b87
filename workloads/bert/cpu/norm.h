// LayerNorm and GELU over all threads.
#pragma once

#include "workloads/bert/cpu/context.h"

namespace bert {

/// Of rows [begin, end), in the calling thread.
void norm_rows(const Context& context, const NormForward& norm, std::int64_t begin,
               std::int64_t end);

void run_norm_forward(const Context& context, const NormForward& norm, std::int64_t rows);

/// Adds to the gradients named in `sums` (bias may be null).
void run_norm_backward(const Context& context, const NormBackward& norm, std::int64_t rows,
                       const NormSums& sums);

/// gradient *= gelu'(input + bias); adds its column sums to d_bias. `rounded`: as Kernels has it.
void run_gelu_backward(const Context& context, std::int64_t rows, std::int64_t width,
                       const float* input, const float* bias, float* gradient, float* d_bias,
                       std::uint16_t* rounded);

}  // namespace bert
