// bert_cuda.so: what bert_train loads for --backend cuda.
#include "workloads/bert/core/module.h"

#include <cuda_runtime_api.h>

#include <string>

#include "workloads/bert/cuda/cuda_backend.h"

namespace {

std::unique_ptr<bert::Backend> make(const bert::BackendRequest& request) {
  return bert::cuda::make_backend(request, false);
}

const std::string kName = "cuda " + std::to_string(CUDART_VERSION / 1000) + "." +
                          std::to_string(CUDART_VERSION % 1000 / 10);

}  // namespace

extern "C" __attribute__((visibility("default"))) const bert::Module* bert_module() {
  static const bert::Module module = [] {
    bert::Module m;
    m.name = kName.c_str();
    m.make_backend = make;
    return m;
  }();
  return &module;
}
