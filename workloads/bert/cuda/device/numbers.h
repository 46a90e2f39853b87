// bf16 and fp16 in device code, and eight values at a time.
#pragma once

#include "workloads/bert/cuda/device/platform.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace bert::cuda {

#ifdef __CUDACC__
using Bf16 = __nv_bfloat16;
using Half = __half;
__device__ __forceinline__ float to_float(Bf16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float to_float(Half x) { return __half2float(x); }
template <typename T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ Bf16 from_float<Bf16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ __forceinline__ Half from_float<Half>(float x) {
  return __float2half_rn(x);
}
#else
/// Upper half of a float, rounded to nearest even.
struct Bf16 {
  std::uint16_t bits;
};
__extension__ typedef _Float16 Half;
inline float to_float(Bf16 x) {
  const std::uint32_t bits = std::uint32_t{x.bits} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline float to_float(Half x) { return static_cast<float>(x); }
template <typename T>
T from_float(float x);
template <>
inline Bf16 from_float<Bf16>(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (x != x) return Bf16{static_cast<std::uint16_t>(bits >> 16 | 0x40)};
  return Bf16{static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <>
inline Half from_float<Half>(float x) {
  return static_cast<Half>(x);
}
#endif
__device__ __forceinline__ float to_float(float x) { return x; }
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}

/// Eight neighbours, loaded and stored as one vector of 16 bytes (32 for float).
template <typename T>
struct alignas(sizeof(T) == 2 ? 16 : 32) Eight {
  T value[8];
};

/// Columns column .. column + 7 of a row of `width` as floats; beyond the width 0. `whole`: width
/// and address are multiples of 8, so a group lies inside the row or outside it.
template <typename T>
__device__ __forceinline__ void load_eight(const T* row, int column, int width, bool whole,
                                           float* out) {
  if (whole && column < width) {
    const Eight<T> eight = *reinterpret_cast<const Eight<T>*>(row + column);
#pragma unroll
    for (int i = 0; i < 8; ++i) out[i] = to_float(eight.value[i]);
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out[i] = !whole && column + i < width ? to_float(row[column + i]) : 0.0F;
  }
}

template <typename T>
__device__ __forceinline__ void store_eight(T* row, int column, int width, bool whole,
                                            const float* values) {
  if (whole) {
    if (column >= width) return;
    Eight<T> eight;
#pragma unroll
    for (int i = 0; i < 8; ++i) eight.value[i] = from_float<T>(values[i]);
    *reinterpret_cast<Eight<T>*>(row + column) = eight;
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (column + i < width) row[column + i] = from_float<T>(values[i]);
  }
}

template <typename T>
__device__ __forceinline__ float rounded(float x) {
  return to_float(from_float<T>(x));
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kAllLanes, x, lanes);
  return x;
}
__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kAllLanes, x, lanes);
  return x;
}
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, x, lanes);
    x = other > x ? other : x;
  }
  return x;
}

}  // namespace bert::cuda
