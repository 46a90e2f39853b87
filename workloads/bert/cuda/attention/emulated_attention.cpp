// What a library's attention is to the rest of the backend, by the plain kernels: for tests.
#include "workloads/bert/cuda/attention/library_attention.h"

namespace bert::cuda {
namespace {

class PlainAttention final : public LibraryAttention {
 public:
  explicit PlainAttention(DType type) : type_(type) {}
  void forward(const Attention& a, Stream stream) override {
    attention_forward(type_, a, true, stream);
  }
  void backward(const Attention& a, Stream stream) override {
    attention_backward(type_, a, true, stream);
  }
  [[nodiscard]] std::int64_t bytes() const override { return 0; }
  [[nodiscard]] const void* scratch() const override { return nullptr; }
  [[nodiscard]] std::string description() const override {
    return "attention: plain kernels in place of a library";
  }

 private:
  DType type_;
};

}  // namespace

std::unique_ptr<LibraryAttention> make_library_attention(const BackendOptions&, DType type,
                                                         const DeviceFacts&) {
  return std::make_unique<PlainAttention>(type);
}

}  // namespace bert::cuda
