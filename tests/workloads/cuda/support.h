// Models and backends for the tests of the CUDA backend.
#pragma once

#include <gtest/gtest.h>

#include "tests/workloads/support.h"
#include "workloads/bert/cpu/cpu_backend.h"
#include "workloads/bert/cuda/cuda_backend.h"
#include "workloads/bert/cuda/device/runtime.h"

namespace bert::testing {

/// Heads of 64, so that bf16 and fp16 take the tensor-core kernels.
inline ModelConfig even_model(std::int64_t layers = 2) {
  ModelConfig model = odd_model(layers);
  model.name = "even";
  model.hidden = 128;
  model.heads = 2;
  model.intermediate = 192;
  model.max_positions = 96;
  return model;
}

inline ModelConfig even_gpt2(std::int64_t layers = 2) {
  const ModelConfig even = even_model(layers);
  ModelConfig model = odd_gpt2(layers);
  model.name = "even-gpt2";
  model.hidden = even.hidden;
  model.heads = even.heads;
  model.intermediate = even.intermediate;
  model.max_positions = even.max_positions;
  return model;
}

inline std::unique_ptr<Backend> cuda_backend(const BackendOptions& options,
                                             const std::string& precision,
                                             bool plain_attention = false) {
  return cuda::make_backend({options, precision, 0}, plain_attention);
}

/// Null in a build without oneDNN.
inline std::unique_ptr<Backend> cpu_backend(const BackendOptions& options) {
  try {
    return make_cpu_backend(options);
  } catch (const NoDevice&) {
    return nullptr;
  }
}

/// On a machine without a GPU the tests of a real device are skipped, with the reason.
inline void skip_without_device() {
#ifdef BERT_REAL_DEVICE
  try {
    static_cast<void>(cuda::open_device(0));
  } catch (const NoDevice& error) {
    GTEST_SKIP() << error.what();
  }
#endif
}

}  // namespace bert::testing
