#include "tests/workloads/cuda/support.h"
#include "tests/workloads/tested_backend.h"

namespace bert::testing {

std::vector<Precision> tested_precisions() {
  return {{"fp32", 1e-5, 2e-6, 5e-6}, {"bf16", 3e-2, 3e-2, 2e-2}, {"fp8", 1.5e-1, 1.5e-1, 1e-1}};
}

std::string reason_without(const std::string&) {
#ifdef BERT_REAL_DEVICE
  try {
    static_cast<void>(cuda::open_device(0));
  } catch (const NoDevice& error) {
    return error.what();
  }
#endif
  return "";
}

std::unique_ptr<Backend> tested_backend(const BackendOptions& options,
                                        const std::string& precision) {
  return cuda_backend(options, precision);
}

/// Numbers of fewer bits come in vectors of 16 bytes, to which odd shapes do not add up.
std::vector<ModelConfig> tested_models(const std::string& precision, std::int64_t layers) {
  if (precision != "fp32") return {even_model(layers), even_gpt2(layers)};
  return {odd_model(layers), even_model(layers), odd_gpt2(layers), even_gpt2(layers)};
}

}  // namespace bert::testing
