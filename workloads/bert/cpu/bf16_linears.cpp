#include "workloads/bert/cpu/bf16_linears.h"

#include <omp.h>

#include <algorithm>
#include <utility>

namespace bert {
namespace {

/// Elements that a thread converts at a time.
constexpr std::int64_t kConvertPart = 1 << 14;

/// A copy without gaps of `rows` rows that lie `ld` apart.
void pack(const Kernels& kernels, std::int64_t rows, std::int64_t width, const float* from,
          std::int64_t ld, Bf16* to) {
  if (ld == width) return kernels.to_bf16(rows * width, from, to);
  for (std::int64_t row = 0; row < rows; ++row) {
    kernels.to_bf16(width, from + row * ld, to + row * width);
  }
}

}  // namespace

Bf16Linears::Bf16Linears(const Kernels& kernels, int threads, std::int64_t weights,
                         std::int64_t head_operand)
    : kernels_(kernels),
      threads_(threads),
      products_(threads),
      weights_(static_cast<std::size_t>(weights)) {
  for (int i = 0; i < threads; ++i) {
    heads_.emplace_back();
    heads_.back().first.resize(static_cast<std::size_t>(head_operand));
    heads_.back().second.resize(static_cast<std::size_t>(head_operand));
  }
}

void Bf16Linears::reserve(std::int64_t first, std::int64_t second) {
  first_.resize(std::max(first_.size(), static_cast<std::size_t>(first)));
  second_.resize(std::max(second_.size(), static_cast<std::size_t>(second)));
}

std::int64_t Bf16Linears::bytes(int threads, std::int64_t weights, std::int64_t head_operand,
                                std::int64_t first, std::int64_t second) {
  return static_cast<std::int64_t>(sizeof(Bf16)) *
         (weights + 2 * threads * head_operand + first + second);
}

void Bf16Linears::convert(std::int64_t size, const float* from, Bf16* to) const {
  const std::int64_t parts = (size + kConvertPart - 1) / kConvertPart;
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = part * kConvertPart;
    kernels_.to_bf16(std::min(kConvertPart, size - begin), from + begin, to + begin);
  }
}

void Bf16Linears::take_weights(const float* weights) {
  convert(static_cast<std::int64_t>(weights_.size()), weights, weights_.data());
}

void Bf16Linears::forward(std::int64_t m, std::int64_t n, std::int64_t k, const float* x,
                          std::int64_t weight, const float* bias, float* y) {
  first_is_ = nullptr;
  convert(m * k, x, first_.data());
  products_.multiply({false, true, m, n, k, k, k, n, false, bias != nullptr}, first_.data(),
                     weights_.data() + weight, bias, y);
}

void Bf16Linears::backward_input(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                                 std::int64_t weight, float* dx, bool accumulate) {
  if (std::exchange(first_is_, nullptr) != dy) convert(m * n, dy, first_.data());
  products_.multiply({false, false, m, k, n, n, k, k, accumulate, false}, first_.data(),
                     weights_.data() + weight, nullptr, dx);
}

void Bf16Linears::backward_weight(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                                  const float* x, float* d_weight, bool accumulate) {
  convert(m * n, dy, first_.data());
  first_is_ = dy;
  convert(m * k, x, second_.data());
  products_.multiply({true, false, n, k, m, n, k, k, accumulate, false}, first_.data(),
                     second_.data(), nullptr, d_weight);
}

void Bf16Linears::head(const HeadProduct& p) {
  HeadScratch& own = heads_[static_cast<std::size_t>(omp_get_thread_num())];
  const std::int64_t a_rows = p.transpose_a ? p.k : p.m, a_width = p.transpose_a ? p.m : p.k;
  const std::int64_t b_rows = p.transpose_b ? p.n : p.k, b_width = p.transpose_b ? p.k : p.n;
  pack(kernels_, a_rows, a_width, p.a, p.lda, own.first.data());
  pack(kernels_, b_rows, b_width, p.b, p.ldb, own.second.data());
  own.products.multiply(
      {p.transpose_a, p.transpose_b, p.m, p.n, p.k, a_width, b_width, p.ldc, p.accumulate, false},
      own.first.data(), own.second.data(), nullptr, p.c);
}

}  // namespace bert
