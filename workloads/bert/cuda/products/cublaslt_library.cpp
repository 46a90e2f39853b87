#include "workloads/bert/cuda/products/cublaslt_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "workloads/bert/core/module.h"

namespace bert::cuda {
namespace {

void* open_library() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  std::vector<std::string> tries = {name};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* folder = std::getenv(variable); folder != nullptr) {
      tries.push_back(std::string(folder) + "/lib64/" + name);
      tries.push_back(std::string(folder) + "/lib/" + name);
    }
  }
  tries.push_back("/usr/local/cuda/lib64/" + name);
  tries.push_back("/usr/local/cuda/lib/" + name);
  for (const std::string& path : tries) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
      return handle;
    }
  }
  throw NoDevice("--backend cuda needs " + name +
                 " (cuBLASLt), which is neither where the loader looks nor in /usr/local/cuda: "
                 "add its folder to LD_LIBRARY_PATH");
}

template <typename Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) {
    throw NoDevice(std::string("libcublasLt.so has no ") + name +
                   ": it is older than the header that bert_cuda.so was built with");
  }
}

CublasLt load() {
  void* handle = open_library();
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
