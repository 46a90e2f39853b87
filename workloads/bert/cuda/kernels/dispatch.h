// From run-time types and widths to template arguments; second stage of the column sums.
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
