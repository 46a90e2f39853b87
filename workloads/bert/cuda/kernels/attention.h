// The tensor-core attention, behind attention_forward() and attention_backward().
#pragma once

#include "workloads/bert/cuda/kernels.h"

namespace bert::cuda {

inline constexpr int kFlashHead = 64;

void flash_forward(DType type, const Attention& arguments, Stream stream);
/// `delta` is filled already.
void flash_backward(DType type, const Attention& arguments, Stream stream);

}  // namespace bert::cuda
