// One call of cuDNN's scaled dot-product attention. The library is loaded when it is first used;
// its graphs are built by cudnn-frontend, whose headers cudnn_graph.cpp alone includes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "workloads/bert/cuda/device/runtime.h"

namespace bert::cuda {

/// The matrices lie as in struct Attention (kernels.h): qkv [B s, 3 h], output [B s, h],
/// log_sums [B, heads, s].
struct CudnnAttentionShape {
  int capability = 90;  ///< of the device: 90 = 9.0
  DType type = DType::bf16;
  std::int64_t sequences = 0, length = 0, heads = 0, size = 0;
  bool causal = false;
  bool padded = false;  ///< lengths of queries and keys are given
  bool packed = false;  ///< so are places of sequences: padding is not there
  bool deterministic = false;
  double dropout = 0;
  bool backward = false;
  auto operator<=>(const CudnnAttentionShape&) const = default;
};

/// What a call reads and writes, in device memory.
enum class CudnnTensor : std::uint8_t {
  query,  ///< this and the next two are the parts of qkv in its order
  key,
  value,
  output,
  log_sums,
  d_output,
  d_query,  ///< likewise of d_qkv
  d_key,
  d_value,
  query_lengths,  ///< int32 [B], with `padded`
  key_lengths,
  qkv_starts,  ///< int32 [B + 1] elements before each sequence and in all, with `packed`
  output_starts,
  seed,    ///< int64, of dropout
  offset,  ///< int64
  count
};
using CudnnPointers = std::array<void*, static_cast<std::size_t>(CudnnTensor::count)>;

/// A cudnnHandle_t of the current device.
class CudnnHandle {
 public:
  /// NoDevice naming what was looked for when there is no libcudnn.so, or what the build lacks.
  CudnnHandle();
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  [[nodiscard]] void* get() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

/// 91900 = 9.19.0. Throws as CudnnHandle.
[[nodiscard]] std::size_t cudnn_version();

class CudnnGraph {
 public:
  /// std::invalid_argument with cuDNN's own words where it has no kernel for the shape.
  CudnnGraph(const CudnnAttentionShape& shape, const CudnnHandle& handle);
  ~CudnnGraph();
  CudnnGraph(CudnnGraph&&) noexcept;
  CudnnGraph& operator=(CudnnGraph&&) noexcept;

  [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// Queues the call. Pointers that the shape has no use for may be null.
  void run(const CudnnHandle& handle, const CudnnPointers& pointers, void* workspace,
           Stream stream) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace bert::cuda
