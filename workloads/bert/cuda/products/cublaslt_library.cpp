#include "workloads/bert/cuda/products/cublaslt_library.h"

#include <dlfcn.h>

#include "workloads/bert/core/module.h"
#include "workloads/bert/cuda/device/shared_library.h"

namespace bert::cuda {
namespace {

template <typename Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) {
    throw NoDevice(std::string("libcublasLt.so has no ") + name +
                   ": it is older than the header that bert_cuda.so was built with");
  }
}

CublasLt load() {
  void* handle = open_library("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR),
                              "--backend cuda", "cuBLASLt");
  CublasLt lt{};
  find(handle, "cublasLtCreate", lt.create);
  find(handle, "cublasLtDestroy", lt.destroy);
  find(handle, "cublasLtGetVersion", lt.version);
  find(handle, "cublasLtGetStatusString", lt.status_string);
  find(handle, "cublasLtMatmul", lt.matmul);
  find(handle, "cublasLtMatmulDescCreate", lt.desc_create);
  find(handle, "cublasLtMatmulDescDestroy", lt.desc_destroy);
  find(handle, "cublasLtMatmulDescSetAttribute", lt.desc_set);
  find(handle, "cublasLtMatrixLayoutCreate", lt.layout_create);
  find(handle, "cublasLtMatrixLayoutDestroy", lt.layout_destroy);
  find(handle, "cublasLtMatmulPreferenceCreate", lt.preference_create);
  find(handle, "cublasLtMatmulPreferenceDestroy", lt.preference_destroy);
  find(handle, "cublasLtMatmulPreferenceSetAttribute", lt.preference_set);
  find(handle, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic);
  find(handle, "cublasLtMatmulAlgoCheck", lt.algorithm_check);
  return lt;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt lt = load();
  return lt;
}

}  // namespace bert::cuda
