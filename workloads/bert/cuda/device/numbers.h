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

/// Vectors of 16 and 8 bytes as plain words.
struct alignas(16) Words {
  std::uint32_t word[4];
};
struct alignas(8) TwoWords {
  std::uint32_t word[2];
};
struct alignas(16) Floats {
  float value[4];
};

/// Two 16-bit numbers in one word, `low` first in memory.
template <typename T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  struct Two {
    T value[2];
  };
  const Two two{{from_float<T>(low), from_float<T>(high)}};
  std::uint32_t bits;
  memcpy(&bits, &two, sizeof bits);
  return bits;
}
#ifdef __CUDACC__  // one conversion of two numbers, which the compiler does not find by itself
template <>
__device__ __forceinline__ std::uint32_t pack<Bf16>(float low, float high) {
  const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
  std::uint32_t bits;
  memcpy(&bits, &two, sizeof bits);
  return bits;
}
template <>
__device__ __forceinline__ std::uint32_t pack<Half>(float low, float high) {
  const __half2 two = __floats2half2_rn(low, high);
  std::uint32_t bits;
  memcpy(&bits, &two, sizeof bits);
  return bits;
}
#endif

/// Both numbers of such a word.
template <typename T>
__device__ __forceinline__ void unpack(std::uint32_t word, float* two) {
  T values[2];
  memcpy(values, &word, sizeof values);
  two[0] = to_float(values[0]);
  two[1] = to_float(values[1]);
}
#ifdef __CUDACC__  // one instruction each; the compiler would first give each number a register
template <>
__device__ __forceinline__ void unpack<Bf16>(std::uint32_t word, float* two) {
  two[0] = __uint_as_float(word << 16);
  two[1] = __uint_as_float(word & 0xffff0000U);
}
template <>
__device__ __forceinline__ void unpack<Half>(std::uint32_t word, float* two) {
  __half2 values;
  memcpy(&values, &word, sizeof values);
  two[0] = __low2float(values);
  two[1] = __high2float(values);
}
#endif

/// 2^x and 1 / x of the special-function unit: within 2 and 1 units in the last place of fp32 (PTX
/// manual, ex2.approx and rcp.approx); results below the smallest normal number become 0.
__device__ __forceinline__ float fast_exp2(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}
__device__ __forceinline__ float fast_reciprocal(float x) {
#ifdef __CUDACC__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0F / x;
#endif
}
inline constexpr float kLog2E = 1.44269504F;  ///< exp(x) = 2^(kLog2E x)

/// 16 bytes to global memory. By an intrinsic: the compiler has taken plain stores of a struct
/// apart, into as many as eight.
__device__ __forceinline__ void store_words(void* to, const Words& words) {
#ifdef __CUDACC__
  __stwb(static_cast<uint4*>(to),
         make_uint4(words.word[0], words.word[1], words.word[2], words.word[3]));
#else
  *static_cast<Words*>(to) = words;
#endif
}

/// Eight neighbours as they lie in memory. Held in words, as the compiler gives each 16-bit number
/// of a struct a register of its own.
template <typename T>
struct Eight {
  Words words[sizeof(T) / 2];
};
template <typename T>
__device__ __forceinline__ Eight<T> pack_eight(const float* values) {
  Eight<T> eight;
  if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      eight.words[0].word[i] = pack<T>(values[2 * i], values[2 * i + 1]);
    }
  } else {
    memcpy(&eight, values, sizeof eight);
  }
  return eight;
}
template <typename T>
__device__ __forceinline__ void unpack_eight(const Eight<T>& eight, float* values) {
  if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack<T>(eight.words[0].word[i], values + 2 * i);
  } else {
    memcpy(values, &eight, sizeof eight);
  }
}

/// Starts to load columns column .. column + 7 of a row of `width`, where they are a whole group;
/// the work between this and finish_eight() hides the time that memory takes.
template <typename T>
__device__ __forceinline__ Eight<T> start_eight(const T* row, int column, int width, bool whole) {
  Eight<T> started = {};
  if (!whole || column >= width) return started;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) {
    started.words[i] = reinterpret_cast<const Words*>(row + column)[i];
  }
  return started;
}
/// The same columns as floats; beyond the width 0. `whole`: width and address are multiples of 8,
/// so a group lies inside the row or outside it.
template <typename T>
__device__ __forceinline__ void finish_eight(const Eight<T>& started, const T* row, int column,
                                             int width, bool whole, float* out) {
  if (whole && column < width) return unpack_eight(started, out);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out[i] = !whole && column + i < width ? to_float(row[column + i]) : 0.0F;
  }
}
template <typename T>
__device__ __forceinline__ void load_eight(const T* row, int column, int width, bool whole,
                                           float* out) {
  finish_eight(start_eight(row, column, width, whole), row, column, width, whole, out);
}

template <typename T>
__device__ __forceinline__ void store_eight(T* to, const Eight<T>& eight) {
  store_words(to, eight.words[0]);
  if constexpr (sizeof(T) == 4) store_words(to + 4, eight.words[1]);
}
template <typename T>
__device__ __forceinline__ void store_eight(T* row, int column, int width, bool whole,
                                            const float* values) {
  if (whole) {
    if (column < width) store_eight(row + column, pack_eight<T>(values));
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
