// Matrix products of bf16 numbers with fp32 sums, by oneDNN.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>

namespace bert {

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

}  // namespace bert
