// CpuBackend: the training step on the cores of this machine.
#pragma once

#include <memory>

#include "workloads/bert/core/backend.h"

namespace bert {

/// Of activations and of what products read; weights, their gradients, moments and every sum are
/// fp32 in all of them.
enum class CpuPrecision {
  fp32,
  bf16,  ///< products read bf16, as AVX-512 BF16 or AMX multiplies it; the rest is fp32
  fp16,  ///< emulated: what a GPU stores in fp16 is rounded to it, products are fp32 ones
};

/// Weights are initialised from the seed, as Parameter::initial states. Throws std::bad_alloc when
/// the memory it plans cannot be had; NoDevice where a processor cannot multiply bf16 and in a
/// build without oneDNN. gradients() of fp16 have the loss scale in them.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(
    const BackendOptions& options, CpuPrecision precision = CpuPrecision::fp32);

}  // namespace bert
