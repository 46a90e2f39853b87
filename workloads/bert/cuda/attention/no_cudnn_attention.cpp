// In place of cudnn_attention.cpp where the headers of cuDNN are missing.
#include "workloads/bert/core/module.h"
#include "workloads/bert/cuda/attention/library_attention.h"

namespace bert::cuda {

std::unique_ptr<LibraryAttention> make_library_attention(const BackendOptions&, DType,
                                                         const DeviceFacts&) {
  throw NoDevice(
      "--attention cudnn: this build has no cuDNN, as its headers were missing: install the wheel "
      "nvidia-cudnn-frontend and build with -DBB_CUDNN_FRONTEND=DIR (docs/gpu.md), or use "
      "--attention own");
}

}  // namespace bert::cuda
