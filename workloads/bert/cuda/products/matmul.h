// Matrix products of the linear layers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/cuda/device/runtime.h"

namespace bert::cuda {

/// Row-major c[m, n] = op(a) op(b) (+ bias[n] in every row), or c += with `accumulate`. op(x) is
/// the transpose of what is stored when the flag is set: a is stored [m, k] or [k, m], b [k, n] or
/// [n, k]. Sums are taken in fp32.
///
/// What stands around a product of a linear layer is asked for with it: a library may do it while
/// the result is still in registers (its "epilogue"), and what it does not do, kernels do after it.
struct Product {
  enum class Activation {
    none,
    gelu,           ///< c = GELU(aux), aux = op(a) op(b) + bias
    gelu_backward,  ///< c = op(a) op(b) * GELU'(aux)
  };
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  ///< elements between stored rows
  DType type = DType::f32;                 ///< of a, b, bias and aux
  DType output = DType::f32;               ///< of c: `type` or f32
  /// Both or none: operands of 8 bits, which only come as transpose_a false and transpose_b true
  /// (k runs along the rows of both), and, in device memory, what their numbers are multiplied by.
  Fp8 a_format = Fp8::none, b_format = Fp8::none;
  const float *a_scale = nullptr, *b_scale = nullptr;
  bool accumulate = false;
  const void* bias = nullptr;  ///< only where output == type
  /// The tanh form, which is the one that cuBLASLt has. Only where output == type, c is dense and
  /// nothing is accumulated.
  Activation activation = Activation::none;
  void* aux = nullptr;  ///< [m, n] dense
  /// Or null: the gradient of a bias, in fp32. With gelu_backward the column sums of c [n]; without
  /// activation the sums over k of op(a) [m], where a is stored transposed: a weight's gradient is
  /// dy^T x, and its bias's the column sums of dy. The first `sum_count` of them.
  float* sums = nullptr;
  std::int64_t sum_count = 0;
  bool accumulate_sums = false;
  float* partials = nullptr;  ///< with `sums`: scratch, column_partials_bytes() of what is summed
};

class Matmul {
 public:
  virtual ~Matmul() = default;
  virtual void run(const Product& product, Stream stream) = 0;
  /// Shapes that come later take the library's first choice: a search during collectives would time
  /// these as well, and wait for other ranks.
  virtual void end_search() {}
  /// Device memory that products use next to their operands.
  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  [[nodiscard]] virtual std::vector<std::string> settings() const = 0;
  /// Which part of what stands around it a product of this shape does itself, for the log: label()
  /// of epilogue.h.
  [[nodiscard]] virtual std::string way_of(const Product& product) = 0;
};

struct MatmulOptions {
  bool tf32 = false;  ///< fp32 products on tensor cores, operands rounded to 10 bits of mantissa
  bool deterministic = false;
  Epilogues epilogues = Epilogues::automatic;
  /// File that keeps what was fastest at a product's first use: algorithms, and ways to do what
  /// stands around it. Empty: the first choice, which is the same in each run.
  std::string algorithm_cache;
  std::string device;         ///< its name, part of the file's keys
  std::int64_t l2_bytes = 0;  ///< of the device: a search runs each product with a cold L2
};

/// cuBLASLt in bert_cuda.so; plain loops in the emulation.
[[nodiscard]] std::unique_ptr<Matmul> make_matmul(const MatmulOptions& options);

}  // namespace bert::cuda
