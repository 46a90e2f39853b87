// What device code is written against: CUDA under nvcc, the emulation under a plain C++ compiler.
// A kernel takes one struct by value, so that one launch() serves both.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#include <cuda_runtime.h>

#define BERT_DYNAMIC_SHARED(type, name)                               \
  extern __shared__ __align__(16) unsigned char bert_shared_memory[]; \
  type* name = reinterpret_cast<type*>(bert_shared_memory)
#else
#include "workloads/bert/cuda/emulated/device.h"
#endif

#include "workloads/bert/cuda/device/runtime.h"

namespace bert::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr int kWarp = 32;

#ifdef __CUDACC__
/// Bytes of shared memory that a block gets without asking.
inline constexpr std::size_t kSharedUnasked = 48 << 10;

template <typename Arguments>
void launch(void (*kernel)(Arguments), dim3 grid, dim3 block, std::size_t shared_bytes,
            Stream stream, Arguments arguments) {
  void* pointers[] = {&arguments};
  const void* function = reinterpret_cast<const void*>(kernel);
  if (shared_bytes > kSharedUnasked) {
    check_status(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(shared_bytes)),
                 "cudaFuncSetAttribute");
  }
  check_launch(cudaLaunchKernel(function, grid, block, pointers, shared_bytes,
                                static_cast<cudaStream_t>(stream)),
               function, stream);
}
#else
template <typename Arguments>
void launch(void (*kernel)(Arguments), dim3 grid, dim3 block, std::size_t shared_bytes,
            Stream stream, Arguments arguments) {
  emulated::submit(
      stream, [=] { emulated::run_grid(grid, block, shared_bytes, [&] { kernel(arguments); }); });
}
#endif

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Blocks along x, as CUDA counts them.
inline dim3 blocks(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1) {
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}

}  // namespace bert::cuda
