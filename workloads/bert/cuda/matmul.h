// Matrix products of the linear layers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/bert/cuda/runtime.h"

namespace bert::cuda {

/// Row-major c[m, n] = op(a) op(b) (+ bias[n] in every row), or c += with `accumulate`. op(x) is
/// the transpose of what is stored when the flag is set: a is stored [m, k] or [k, m], b [k, n] or
/// [n, k]. Sums are taken in fp32.
struct Product {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  ///< elements between stored rows
  DType type = DType::f32;                 ///< of a, b and bias
  DType output = DType::f32;               ///< of c: `type` or f32
  bool accumulate = false;
  const void* bias = nullptr;  ///< only where output == type
};

class Matmul {
 public:
  virtual ~Matmul() = default;
  virtual void run(const Product& product, Stream stream) = 0;
  /// Device memory that products use beside their operands.
  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  [[nodiscard]] virtual std::vector<std::string> settings() const = 0;
};

struct MatmulOptions {
  bool tf32 = false;  ///< fp32 products on tensor cores, operands rounded to 10 bits of mantissa
  bool deterministic = false;
  std::string algorithm_cache;  ///< file; empty = first choice of the library's heuristic
  std::string device;           ///< its name, part of the file's keys
};

/// cuBLASLt in bert_cuda.so; plain loops in the emulation.
[[nodiscard]] std::unique_ptr<Matmul> make_matmul(const MatmulOptions& options);

}  // namespace bert::cuda
