#include "workloads/bert/cuda/device/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "workloads/bert/core/module.h"

namespace bert::cuda {

void* open_library(const std::string& name, const std::string& option, const std::string& product) {
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
  throw NoDevice(option + " needs " + name + " (" + product +
                 "), which is neither where the loader looks nor in /usr/local/cuda: "
                 "add its folder to LD_LIBRARY_PATH");
}

}  // namespace bert::cuda
