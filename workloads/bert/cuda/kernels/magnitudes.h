// The largest magnitude of a matrix of bf16, found by the kernel that makes it: the bits of
// magnitudes are in their order, so one maximum of whole numbers serves, in whatever order blocks
// take their turn.
#pragma once

#include "workloads/bert/cuda/device/numbers.h"

namespace bert::cuda {

/// The larger magnitudes of two words of two, each half by itself; `halves` has no signs.
__device__ __forceinline__ std::uint32_t larger_magnitudes(std::uint32_t halves,
                                                           std::uint32_t word) {
  word &= 0x7fff7fff;
#ifdef __CUDACC__
  return __vmaxu2(halves, word);
#else
  const std::uint32_t low = (halves & 0xffff) > (word & 0xffff) ? halves & 0xffff : word & 0xffff;
  const std::uint32_t high = halves >> 16 > word >> 16 ? halves >> 16 : word >> 16;
  return high << 16 | low;
#endif
}
__device__ __forceinline__ std::uint32_t larger_magnitudes(std::uint32_t halves,
                                                           const Words& words) {
#pragma unroll
  for (int k = 0; k < 4; ++k) halves = larger_magnitudes(halves, words.word[k]);
  return halves;
}

/// Takes what the lanes of a warp found to *largest. All lanes of the warp reach it.
__device__ __forceinline__ void keep_largest(std::uint32_t halves, std::uint32_t* largest) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    halves = larger_magnitudes(halves, __shfl_xor_sync(kAllLanes, halves, lanes));
  }
  const std::uint32_t low = halves & 0xffff;
  const std::uint32_t high = halves >> 16;
  const std::uint32_t found = high > low ? high : low;
  // Most warps find nothing larger than what is there: a look saves them the atomic.
  if (threadIdx.x % kWarp == 0 && found > *reinterpret_cast<volatile std::uint32_t*>(largest)) {
    atomicMax(largest, found);
  }
}

}  // namespace bert::cuda
