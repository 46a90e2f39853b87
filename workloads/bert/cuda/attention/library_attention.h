// Attention by a library (--attention cudnn), in place of the kernels of kernels.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cuda/kernels/kernels.h"

namespace bert::cuda {

/// Reads and writes what attention_forward() and attention_backward() do, but for the tensor-core
/// kernels' own: kept bits, column sums and largest magnitudes. Dropout keeps other elements than
/// the kernels do, the same in forward and backward.
class LibraryAttention {
 public:
  virtual ~LibraryAttention() = default;
  virtual void forward(const Attention& arguments, Stream stream) = 0;
  virtual void backward(const Attention& arguments, Stream stream) = 0;
  /// Device memory next to the activations.
  [[nodiscard]] virtual std::int64_t bytes() const = 0;
  /// Where its scratch lies; calls of a new shape may bring it elsewhere.
  [[nodiscard]] virtual const void* scratch() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;
};

/// cuDNN in bert_cuda.so; the plain kernels in the emulation. NoDevice without the library or in a
/// build without its headers, std::invalid_argument for what it cannot compute.
[[nodiscard]] std::unique_ptr<LibraryAttention> make_library_attention(
    const BackendOptions& options, DType type, const DeviceFacts& device);

}  // namespace bert::cuda
