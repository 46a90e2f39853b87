// The tensor-core kernels that attention_forward() and attention_backward() call.
#pragma once

#include "workloads/bert/cuda/device/platform.h"
#include "workloads/bert/cuda/kernels/kernels.h"

namespace bert::cuda {

inline constexpr int kFlashHead = 64;

/// Where a sequence's rows lie: the first, and how many there are.
struct SequenceRows {
  std::int64_t first;
  int count;
};
__device__ __forceinline__ SequenceRows rows_of(const Attention& a, std::int64_t sequence) {
  if (a.starts == nullptr) return {sequence * a.length, a.length};
  return {a.starts[sequence], a.lengths[sequence]};
}

void flash_forward(DType type, const Attention& arguments, Stream stream);
void flash_backward(DType type, const Attention& arguments, Stream stream);
/// Backward of sequences of 65 to 128 tokens: one block has a head's whole matrix of scores. Leaves
/// one row of partial sums a sequence.
inline constexpr int kWholeHead = 128;
[[nodiscard]] constexpr bool has_whole_head_backward(int length) {
  return length > 64 && length <= kWholeHead;
}
void flash_whole_head_backward(DType type, const Attention& arguments, Stream stream);

}  // namespace bert::cuda
