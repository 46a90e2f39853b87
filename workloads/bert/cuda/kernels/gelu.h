// GELU and its slope, erf and tanh forms.
#pragma once

#include "workloads/bert/cuda/device/numbers.h"

namespace bert::cuda {

/// Phi, the normal distribution, and its density, as exactly as activations of type T can hold.
struct Normal {
  float phi, density;
};
template <typename T>
__device__ __forceinline__ Normal normal_of(float x) {
  if constexpr (sizeof(T) == 4) {
    // erfc and not 1 + erf: its relative error stays small where Phi is near 0.
    return {0.5F * erfcf(-0.70710678F * x), 0.39894228F * expf(-0.5F * x * x)};
  } else {
    // Abramowitz and Stegun 7.1.26 for half of erfc(|x| / sqrt(2)): 17 instructions where erfcf has
    // 51. Largest error 8e-8, relative 5e-4 down to x = -4, where bf16 rounds at 2e-3.
    const float t = fast_reciprocal(1.0F + 0.231641888F * fabsf(x));  // 0.3275911 / sqrt(2)
    const float bell = fast_exp2(-0.5F * kLog2E * x * x);
    const float polynomial =
        t * (0.127414796F +
             t * (-0.142248368F + t * (0.710706871F + t * (-0.726576014F + t * 0.530702715F))));
    const float tail = polynomial * bell;
    return {x < 0.0F ? tail : 1.0F - tail, 0.39894228F * bell};
  }
}

/// x Phi(x).
template <typename T>
__device__ __forceinline__ float gelu(float x) {
  return x * normal_of<T>(x).phi;
}

template <typename T>
__device__ __forceinline__ float gelu_slope(float x) {
  const Normal normal = normal_of<T>(x);
  return normal.phi + x * normal.density;
}

/// 1 / (1 + exp(-2 u)) = (1 + tanh(u)) / 2 of the tanh form's u: no difference of numbers near 1.
template <typename T>
__device__ __forceinline__ float tanh_gate(float x) {
  const float u = 0.79788456F * (x + 0.044715F * x * x * x);
  if constexpr (sizeof(T) == 4) return 1.0F / (1.0F + expf(-2.0F * u));
  return fast_reciprocal(1.0F + fast_exp2(-2.0F * kLog2E * u));
}

template <typename T>
__device__ __forceinline__ float gelu_tanh(float x) {
  return x * tanh_gate<T>(x);
}

template <typename T>
__device__ __forceinline__ float gelu_tanh_slope(float x) {
  const float gate = tanh_gate<T>(x);
  const float du = 0.79788456F * (1.0F + 3.0F * 0.044715F * x * x);
  return gate + 2.0F * x * gate * (1.0F - gate) * du;
}

}  // namespace bert::cuda
