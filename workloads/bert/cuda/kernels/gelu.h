// GELU and its slope, erf and tanh forms.
#pragma once

#include "workloads/bert/cuda/device/platform.h"

namespace bert::cuda {

/// x Phi(x). erfc and not 1 + erf: its relative error stays small where Phi is near 0.
__device__ __forceinline__ float gelu(float x) { return 0.5F * x * erfcf(-0.70710678F * x); }

__device__ __forceinline__ float gelu_slope(float x) {
  return 0.5F * erfcf(-0.70710678F * x) + 0.39894228F * x * expf(-0.5F * x * x);
}

__device__ __forceinline__ float gelu_tanh(float x) {
  return 0.5F * x * (1.0F + tanhf(0.79788456F * (x + 0.044715F * x * x * x)));
}

__device__ __forceinline__ float gelu_tanh_slope(float x) {
  const float t = tanhf(0.79788456F * (x + 0.044715F * x * x * x));
  return 0.5F * (1.0F + t) +
         0.5F * x * (1.0F - t * t) * 0.79788456F * (1.0F + 3.0F * 0.044715F * x * x);
}

}  // namespace bert::cuda
