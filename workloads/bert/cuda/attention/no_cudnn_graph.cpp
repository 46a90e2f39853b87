// In place of cudnn_graph.cpp where the headers of cuDNN are missing: there is no handle, and so
// nothing else is reached.
#include "workloads/bert/core/module.h"
#include "workloads/bert/cuda/attention/cudnn_graph.h"

namespace bert::cuda {

struct CudnnGraph::Parts {};

CudnnHandle::CudnnHandle() {
  throw NoDevice(
      "--attention cudnn: this build has no cuDNN, as its headers were missing: install the wheel "
      "nvidia-cudnn-frontend and build with -DBB_CUDNN_FRONTEND=DIR (docs/gpu.md), or use "
      "--attention own");
}
CudnnHandle::~CudnnHandle() = default;

std::size_t cudnn_version() { return 0; }

CudnnGraph::CudnnGraph(const CudnnAttentionShape&, const CudnnHandle&) {}
CudnnGraph::~CudnnGraph() = default;
CudnnGraph::CudnnGraph(CudnnGraph&&) noexcept = default;
CudnnGraph& CudnnGraph::operator=(CudnnGraph&&) noexcept = default;
void CudnnGraph::run(const CudnnHandle&, const CudnnPointers&, void*, Stream) const {}

}  // namespace bert::cuda
