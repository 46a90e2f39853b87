// 8-bit floating-point numbers (Micikevicius et al. 2022, "FP8 formats for deep learning"): E4M3
// has 3 bits of mantissa and numbers up to 448, E5M2 has 2 and goes up to 57344.
#pragma once

#include <bit>
#include <cstdint>

#include "workloads/bert/cuda/device/platform.h"

namespace bert::cuda {

struct Fp8Shape {
  int mantissa, bias;
  std::uint32_t largest;  ///< the code of the largest number
};
__host__ __device__ constexpr Fp8Shape shape_of(Fp8 format) {
  return format == Fp8::e5m2 ? Fp8Shape{2, 15, 0x7b} : Fp8Shape{3, 7, 0x7e};
}

/// 2^exponent, -126 .. 127.
__host__ __device__ inline float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// Nearest number of the format, ties to even; what is larger becomes the largest, NaN stays. As
/// cvt.rn.satfinite of the PTX manual, which is used where the device has it.
__host__ __device__ inline std::uint8_t fp8_of(Fp8 format, float x) {
  const Fp8Shape shape = shape_of(format);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 24 & 0x80;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint8_t>(sign | 0x7f);
  const int least = 1 - shape.bias;  // the exponent of the smallest normal number
  int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent > 15) return static_cast<std::uint8_t>(sign | shape.largest);
  if (exponent < least) exponent = least;
  // In units of the last place: an exact division, rounded by the sum with 2^23.
  const float units = std::bit_cast<float>(magnitude) * power_of_two(shape.mantissa - exponent);
  const auto steps = static_cast<std::uint32_t>((units + 8388608.0F) - 8388608.0F);
  // A carry out of the mantissa makes the next exponent.
  const std::uint32_t code =
      (static_cast<std::uint32_t>(exponent - least) << shape.mantissa) + steps;
  return static_cast<std::uint8_t>(sign | (code > shape.largest ? shape.largest : code));
}

/// The number that a code stands for.
__host__ __device__ inline float float_of(Fp8 format, std::uint8_t code) {
  const Fp8Shape shape = shape_of(format);
  const std::uint32_t magnitude = code & 0x7f;
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80) << 24;
  if (magnitude > shape.largest) {  // E5M2 has an infinity as well
    const bool infinite = format == Fp8::e5m2 && magnitude == 0x7c;
    return std::bit_cast<float>(sign | (infinite ? 0x7f800000U : 0x7fc00000U));
  }
  const std::uint32_t fraction = magnitude & ((1U << shape.mantissa) - 1);
  const int field = static_cast<int>(magnitude >> shape.mantissa);
  const std::uint32_t steps = field == 0 ? fraction : fraction | 1U << shape.mantissa;
  const int exponent = (field == 0 ? 1 : field) - shape.bias - shape.mantissa;
  const float value = static_cast<float>(steps) * power_of_two(exponent);
  return sign == 0 ? value : -value;
}

/// Four numbers as one word, the first in its lowest byte.
template <Fp8 kFormat>
__device__ __forceinline__ std::uint32_t pack_four(const float* x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint16_t low, high;
  if constexpr (kFormat == Fp8::e4m3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
  }
  return low | static_cast<std::uint32_t>(high) << 16;
#else
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(fp8_of(kFormat, x[i])) << (8 * i);
  }
  return word;
#endif
}

/// Four bytes of the eight in `low` and `high`, chosen by the four hexadecimal digits of `which`.
__device__ __forceinline__ std::uint32_t choose_bytes(std::uint32_t low, std::uint32_t high,
                                                      std::uint32_t which) {
#ifdef __CUDACC__
  return __byte_perm(low, high, which);
#else
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t at = which >> (4 * i) & 7;
    out |= ((at < 4 ? low : high) >> (8 * (at % 4)) & 0xff) << (8 * i);
  }
  return out;
#endif
}

}  // namespace bert::cuda
