#include "tests/workloads/support.h"
#include "tests/workloads/tested_backend.h"
#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/cpu_backend.h"

namespace bert::testing {

std::vector<Precision> tested_precisions() {
  return {{"fp32", 1e-5, 1e-6, 5e-6}, {"bf16", 3e-2, 1e-3, 2e-2}, {"fp16", 5e-3, 1e-3, 5e-3}};
}

std::string reason_without(const std::string& precision) {
  return precision == "bf16" && !Bf16Products::is_native() ? "this processor multiplies no bf16"
                                                           : "";
}

std::unique_ptr<Backend> tested_backend(const BackendOptions& options,
                                        const std::string& precision) {
  return make_cpu_backend(options, precision == "bf16"   ? CpuPrecision::bf16
                                   : precision == "fp16" ? CpuPrecision::fp16
                                                         : CpuPrecision::fp32);
}

std::vector<ModelConfig> tested_models(const std::string&, std::int64_t layers) {
  return {odd_model(layers), odd_gpt2(layers)};
}

}  // namespace bert::testing
