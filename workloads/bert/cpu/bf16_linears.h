// Products of the CPU backend in bf16: fp32 operands become bf16 on their way into a product, and
// the sums are fp32.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/bert/cpu/kernels.h"
#include "workloads/bert/model/arena.h"

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

/// Bf16 numbers on 2 MiB pages where the system has them.
class Bf16Buffer {
 public:
  Bf16Buffer() = default;
  explicit Bf16Buffer(std::int64_t size) : size_(size), memory_((size + 1) / 2) {}
  [[nodiscard]] Bf16* data() const { return reinterpret_cast<Bf16*>(memory_.data()); }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::int64_t size_ = 0;
  Buffer memory_;
};

class Bf16Linears {
 public:
  /// `weights`: elements of all; `head_operand`: the most of one operand of a head's product.
  Bf16Linears(const Kernels& kernels, int threads, std::int64_t weights, std::int64_t head_operand);

  /// The most elements of a product's operand: of a gradient, which has its transpose next to it,
  /// and of an input.
  struct Room {
    std::int64_t gradient = 0, input = 0;
  };
  /// Memory for such operands, so that no step allocates.
  void reserve(const Room& room);
  [[nodiscard]] static std::int64_t bytes(int threads, std::int64_t weights,
                                          std::int64_t head_operand, const Room& room);
  /// Copies the fp32 weights: once for all products until they change.
  void take_weights(const float* weights);
  /// That copy, for those who change the weights and round them themselves.
  [[nodiscard]] Bf16* weights() const { return weights_.data(); }

  /// The bf16 numbers of `input` stay in `operand` from the forward() that takes it to its
  /// backward_weight(). The addresses, and not the values, are kept.
  void keep_input(const float* input, Bf16* operand);
  void forget_inputs() { inputs_.clear(); }
  [[nodiscard]] bool keeps(const float* input) const { return find(input) != nullptr; }

  // As those of Gemm. `weight`: offset of its first element in the weights.
  void forward(std::int64_t m, std::int64_t n, std::int64_t k, const float* x, std::int64_t weight,
               const float* bias, float* y);
  /// Room for the bf16 numbers of a kept input, which the caller writes before forward() takes
  /// them, or for those of a `dy`, before backward_weight() does; in the second case nothing may
  /// come in between. The fp32 values are then not read.
  Bf16* operand_of(const float* values);
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
  struct Input {
    const float* values;
    Bf16* operand;
    bool given = false;  ///< by operand_of(), until forward()
  };
  [[nodiscard]] const Input* find(const float* values) const;
  [[nodiscard]] Input* find(const float* values);
  void convert(std::int64_t size, const float* from, Bf16* to) const;
  /// gradient_ [rows, width] into transposed_.
  void transpose(std::int64_t rows, std::int64_t width) const;

  const Kernels& kernels_;
  int threads_;
  Bf16Products products_;
  Bf16Buffer weights_, gradient_, transposed_, input_;
  std::vector<HeadScratch> heads_;
  std::vector<Input> inputs_;
  const float* given_ = nullptr;  ///< by operand_of(), until backward_weight()
  const float* gradient_is_ =
      nullptr;  ///< the fp32 values of gradient_ where the next call may want them
};

}  // namespace bert
