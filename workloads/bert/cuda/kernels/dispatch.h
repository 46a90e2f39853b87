// From run-time types to template arguments; the grid of kernels that walk rows and columns; second
// stage of the column sums.
#pragma once

#include "workloads/bert/cuda/device/numbers.h"
#include "workloads/bert/cuda/kernels/kernels.h"

namespace bert::cuda {

template <typename T>
struct Tag {};
template <int kValue>
struct Number {};

template <typename Body>
void with_type(DType type, const Body& body) {
  switch (type) {
    case DType::f32:
      return body(Tag<float>{});
    case DType::bf16:
      return body(Tag<Bf16>{});
    case DType::f16:
      return body(Tag<Half>{});
  }
}

/// Eight columns of one row for each thread: 64 groups of eight and four rows a block, so that no
/// index needs a division.
struct GroupPlace {
  std::int64_t row = std::int64_t{blockIdx.x} * 4 + threadIdx.y;
  int column = static_cast<int>(blockIdx.y * 64 + threadIdx.x) * 8;
};
inline constexpr dim3 kGroupThreads(64, 4);
inline dim3 blocks_of_groups(std::int64_t rows, int width) {
  return blocks(ceil_divide(rows, 4), ceil_divide(width, 64 * 8));
}

/// sums[k][j] (+)= sum over rows of partials[row * stride + k * width + j]; null sums are skipped.
struct ReducePartials {
  const float* partials = nullptr;
  int rows = 0, stride = 0, width = 0;
  float* sums[3] = {};
  bool accumulate = false;
};
void reduce_partials(const ReducePartials& arguments, Stream stream);
/// The same for one sum of rows that lie without gaps; null sums: nothing is done.
void reduce_partials(const float* partials, std::int64_t rows, int width, float* sums,
                     bool accumulate, Stream stream);

}  // namespace bert::cuda
