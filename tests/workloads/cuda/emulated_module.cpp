// bert_cuda.so of tests/gpu/rehearse: the backend on the emulated device, loaded as bert_train
// loads that of a real one.
#include "workloads/bert/core/module.h"
#include "workloads/bert/cuda/cuda_backend.h"

namespace {

std::unique_ptr<bert::Backend> make(const bert::BackendRequest& request) {
  return bert::cuda::make_backend(request, false);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const bert::Module* bert_module() {
  static const bert::Module module{bert::kModuleAbi, "cuda, emulated", make, nullptr};
  return &module;
}
