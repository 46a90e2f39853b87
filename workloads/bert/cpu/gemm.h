// Matrix products of linear layers, by oneDNN.
#pragma once

#include <cstdint>
#include <memory>

namespace bert {

/// All matrices are fp32 and row-major. A linear layer has weight [n, k]: y = x weight^T + bias,
/// x [m, k], y [m, n]. One instance belongs to one thread; products use the OpenMP threads that are
/// current for the calling thread.
class Gemm {
 public:
  Gemm();
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// y = x weight^T (+ bias unless null).
  void forward(std::int64_t m, std::int64_t n, std::int64_t k, const float* x, const float* weight,
               const float* bias, float* y);
  /// dx = dy weight, or dx += with `accumulate`.
  static void backward_input(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                             const float* weight, float* dx, bool accumulate);
  /// d_weight = dy^T x, or += with `accumulate`.
  static void backward_weight(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                              const float* x, float* d_weight, bool accumulate);

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

/// c[m, n] = alpha op(a) op(b) + beta c, rows lda, ldb, ldc apart. Sequential inside a parallel
/// region. std::runtime_error when oneDNN refuses.
void sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
           float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
           float beta, float* c, std::int64_t ldc);

}  // namespace bert
