// A matrix product and what the library does around it in the same call, as cuBLASLt describes
// them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/bert/cuda/products/cublaslt_library.h"
#include "workloads/bert/cuda/products/epilogue.h"
#include "workloads/bert/cuda/products/matmul.h"

namespace bert::cuda {

inline constexpr std::int64_t kCublasLtWorkspace = 64LL << 20;

/// Throws with the library's own word on it.
void check_cublas(cublasStatus_t status, const char* call);

/// The library cannot do what was asked; another way may be open.
[[nodiscard]] inline bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
}

/// Everything about a product but its addresses, whose alignments the library is given.
/// Looked up for every product of a step, so no text.
class CublasLtKey {
 public:
  explicit CublasLtKey(const Product& product);
  friend auto operator<=>(const CublasLtKey&, const CublasLtKey&) = default;

 private:
  std::array<std::int64_t, 6> sizes_;          ///< m, n, k, and between rows of a, b, c
  std::array<std::uint32_t, 6> alignments_{};  ///< a, b, c, bias, sums, aux; 0: not there
  DType type_, output_;
  Fp8 a_format_, b_format_;
  Product::Activation activation_;
  bool transpose_a_, transpose_b_, accumulate_;
};

/// The name in files of what one call does for products with the same CublasLtKey.
[[nodiscard]] std::string name_of(const Product& product, const Inside& inside);

/// A row-major matrix of `rows` x `columns`, `ld` elements between rows; the library reads it by
/// columns, as its transpose. `format` other than none: 8-bit numbers, whatever `type` is.
class CublasLtLayout {
 public:
  CublasLtLayout(std::int64_t rows, std::int64_t columns, std::int64_t ld, DType type, Fp8 format);
  ~CublasLtLayout() { cublaslt().layout_destroy(layout_); }
  CublasLtLayout(const CublasLtLayout&) = delete;
  CublasLtLayout& operator=(const CublasLtLayout&) = delete;
  [[nodiscard]] cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

/// One call for all products with the same CublasLtKey. The library's matrices are column-major, so
/// it is asked for c^T = op(b)^T op(a)^T: operands change places, flags stay.
class CublasLtPlan {
 public:
  CublasLtPlan(const Product& product, const Inside& inside, bool tf32);
  ~CublasLtPlan() { cublaslt().desc_destroy(desc_); }
  CublasLtPlan(const CublasLtPlan&) = delete;
  CublasLtPlan& operator=(const CublasLtPlan&) = delete;

  [[nodiscard]] const Inside& inside() const { return inside_; }

  /// Best guess first. Empty when the library cannot do it.
  [[nodiscard]] std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle,
                                                             const Product& product,
                                                             bool deterministic, int most) const;

  /// Whether an algorithm from a file still fits this library and device.
  [[nodiscard]] bool accepts(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& offered) const;

  /// `target` stands in for target_of(product), for searches.
  [[nodiscard]] cublasStatus_t run(cublasLtHandle_t handle, const Product& product, void* target,
                                   const cublasLtMatmulAlgo_t& chosen, const Memory& workspace,
                                   Stream stream);

  cublasLtMatmulAlgo_t algorithm{};
  enum class State : std::uint8_t { untried, usable, refused };
  State state = State::untried;  ///< until an algorithm was looked for

 private:
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check_cublas(cublaslt().desc_set(desc_, attribute, &value, sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  }
  void set_addresses(const Product& product);

  Inside inside_;
  CublasLtLayout a_, b_, d_;  ///< b, a and c of the product
  bool accumulate_;
  cublasLtMatmulDesc_t desc_ = nullptr;
};

}  // namespace bert::cuda
