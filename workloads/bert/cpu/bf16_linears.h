// Products of the CPU backend in bf16: fp32 operands become bf16 on their way into a product, and
// the sums are fp32.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/bert/cpu/kernels.h"

namespace bert {

// Matrix products of bf16 numbers with fp32 sums, by oneDNN.

/// The bits of a bf16 number.
using Bf16 = std::uint16_t;

/// c[m, n] = op(a) op(b) (+ c), op(a) [m, k], op(b) [k, n]; rows are lda, ldb, ldc apart as they
/// lie in memory, so those of a transposed a are [k, m].
struct Bf16Shape {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
  bool with_bias = false;  ///< [n], added to every row
  auto operator<=>(const Bf16Shape&) const = default;
};

/// One instance serves one thread at a time and keeps what oneDNN made of each shape.
class Bf16Products {
 public:
  /// `threads`: that a product uses; 1 inside a parallel region.
  explicit Bf16Products(int threads);
  ~Bf16Products();
  Bf16Products(Bf16Products&&) noexcept;
  Bf16Products& operator=(Bf16Products&&) = delete;

  /// `bias` is not read without with_bias.
  void multiply(const Bf16Shape& shape, const Bf16* a, const Bf16* b, const float* bias, float* c);

  /// This processor multiplies bf16 by itself: AVX-512 BF16 or AMX, and oneDNN may use it.
  [[nodiscard]] static bool is_native();

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

/// A product of one attention head: c[m, n] = op(a) op(b) (+ c), as Bf16Shape.
struct HeadProduct {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;
};

class Bf16Linears {
 public:
  /// `weights`: elements of all; `head_operand`: the most of one operand of a head's product.
  Bf16Linears(const Kernels& kernels, int threads, std::int64_t weights, std::int64_t head_operand);

  /// Room for products whose operands have at most `first` and `second` elements.
  void reserve(std::int64_t first, std::int64_t second);
  [[nodiscard]] static std::int64_t bytes(int threads, std::int64_t weights,
                                          std::int64_t head_operand, std::int64_t first,
                                          std::int64_t second);
  /// Copies the fp32 weights: once for all products until they change.
  void take_weights(const float* weights);

  // As those of Gemm. `weight`: offset of its first element in the weights.
  void forward(std::int64_t m, std::int64_t n, std::int64_t k, const float* x, std::int64_t weight,
               const float* bias, float* y);
  /// Room for the bf16 numbers of `dy`, which the caller writes before backward_weight() takes
  /// them. Only forward() may come in between.
  Bf16* operand_of(const float* dy);
  /// A dy that backward_weight() had just before is not converted again: it is unchanged since.
  void backward_input(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                      std::int64_t weight, float* dx, bool accumulate);
  void backward_weight(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                       const float* x, float* d_weight, bool accumulate);

  /// Inside a parallel region of as many threads as the constructor was given.
  void head(const HeadProduct& product);

 private:
  /// What one thread needs for the products of heads.
  struct HeadScratch {
    Bf16Products products{1};
    std::vector<Bf16> first, second;
  };
  void convert(std::int64_t size, const float* from, Bf16* to) const;

  const Kernels& kernels_;
  int threads_;
  Bf16Products products_;
  std::vector<Bf16> weights_, first_, second_;
  std::vector<HeadScratch> heads_;
  const float* given_ = nullptr;  ///< by operand_of(), until backward_weight()
  const float* first_is_ =
      nullptr;  ///< the fp32 values of first_ where the next call may want them
};

}  // namespace bert
