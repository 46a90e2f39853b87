// A row-major product as BLAS sees it.
#pragma once

#include "workloads/bert/cuda/products/matmul.h"

namespace bert::cuda {

/// A stored matrix: column-major, `ld` elements between columns.
struct StoredMatrix {
  const void* data = nullptr;
  std::int64_t rows = 0, columns = 0, ld = 0;
};

/// d[m, n] = op(a) op(b), column-major, k = inner size. A row-major matrix read by columns is its
/// transpose, so c^T = op(b)^T op(a)^T: operands change places, flags stay.
struct ColumnMajorProduct {
  bool transpose_a = false, transpose_b = false;
  StoredMatrix a, b, d;
};

[[nodiscard]] inline ColumnMajorProduct column_major(const Product& p) {
  ColumnMajorProduct out;
  out.transpose_a = p.transpose_b;
  out.transpose_b = p.transpose_a;
  out.a = {p.b, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k, p.ldb};
  out.b = {p.a, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m, p.lda};
  out.d = {p.c, p.n, p.m, p.ldc};
  return out;
}

}  // namespace bert::cuda
