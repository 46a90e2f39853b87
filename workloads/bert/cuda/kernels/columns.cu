// Sums over rows in two stages, GELU, bias: kernels that walk columns.
#include "workloads/bert/cuda/kernels/dispatch.h"
#include "workloads/bert/cuda/kernels/gelu.h"

namespace bert::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowWarps = kThreads / kWarp;
constexpr std::int64_t kSlices = 128;  ///< rows of partial sums
constexpr int kReduceRows = 8;

/// On a multiprocessor at once; leaves each thread 64 registers, in fp32 80.
template <typename T>
constexpr int kSumBlocks = sizeof(T) == 2 ? 4 : 3;

/// Each slice has `rows_each` rows, the first `longer` one more: found by the host, as a device
/// divides 64 bits in a call.
struct SlicedSums : ColumnSums {
  std::int64_t rows_each = 0, longer = 0;
  __device__ std::int64_t begin_of(std::int64_t slice) const {
    return slice * rows_each + (slice < longer ? slice : longer);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads, kSumBlocks<T>) column_sums_kernel(SlicedSums a) {
  __shared__ float part[kRowWarps][8][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int column = static_cast<int>(blockIdx.x) * 256 + 8 * lane;
  // Rows may be padded, as the decoder's are: then whole groups are read, and what is beyond the
  // width is summed for nothing.
  const int padded = (a.width + 7) / 8 * 8;
  const bool whole = a.stride % 8 == 0 && padded <= a.stride;
  const int width = whole ? padded : a.width;
  const std::int64_t begin = a.begin_of(blockIdx.y);
  const std::int64_t end = a.begin_of(std::int64_t{blockIdx.y} + 1);
  float bias[8] = {};
  if (a.mode == ColumnSums::Mode::gelu_backward && a.bias != nullptr) {
    load_eight(a.bias, column, width, whole, bias);
  }
  float sums[8] = {};
  const bool gelu = a.mode == ColumnSums::Mode::gelu_backward;
  const auto values_at = [&](std::int64_t row) {
    return static_cast<T*>(a.values) + row * a.stride;
  };
  const auto input_at = [&](std::int64_t row) {
    return static_cast<const T*>(a.input) + row * a.width;
  };
  // While a row is computed, the next one is on its way.
  Eight<T> d_next = {};
  Eight<T> x_next = {};
  const auto start = [&](std::int64_t row) {
    d_next = start_eight(values_at(row), column, width, whole);
    if (gelu) x_next = start_eight(input_at(row), column, width, whole);
  };
  if (begin + warp < end) start(begin + warp);
  for (std::int64_t row = begin + warp; row < end; row += kRowWarps) {
    float d[8];
    float x[8];
    finish_eight(d_next, values_at(row), column, width, whole, d);
    if (gelu) finish_eight(x_next, input_at(row), column, width, whole, x);
    if (row + kRowWarps < end) start(row + kRowWarps);
    if (a.mode == ColumnSums::Mode::of_segment && a.segments[row] != a.segment) continue;
    if (gelu) {
      for (int i = 0; i < 8; ++i) {
        d[i] *= a.tanh ? gelu_tanh_slope<T>(x[i] + bias[i]) : gelu_slope<T>(x[i] + bias[i]);
      }
      store_eight(values_at(row), column, width, whole, d);
    }
    for (int i = 0; i < 8; ++i) sums[i] += d[i];
  }
  for (int i = 0; i < 8; ++i) part[warp][i][lane] = sums[i];
  __syncthreads();
  const int own = static_cast<int>(threadIdx.x);
  const int target = static_cast<int>(blockIdx.x) * 256 + own;
  if (target >= a.width) return;
  float total = 0;
  for (int w = 0; w < kRowWarps; ++w) total += part[w][own % 8][own / 8];
  a.partials[std::int64_t{blockIdx.y} * a.width + target] = total;
}

/// 32 columns a block; thread row r adds partial rows r, r + 8, ...
__global__ void __launch_bounds__(kWarp* kReduceRows) reduce_partials_kernel(ReducePartials a) {
  __shared__ float part[kReduceRows][kWarp];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kWarp + x;
  const int which = static_cast<int>(blockIdx.y);
  float total = 0;
  if (column < a.width) {
    const float* in = a.partials + which * a.width + column;
    for (int row = y; row < a.rows; row += kReduceRows) total += in[std::int64_t{row} * a.stride];
  }
  part[y][x] = total;
  __syncthreads();
  if (y != 0 || column >= a.width || a.sums[which] == nullptr) return;
  for (int row = 1; row < kReduceRows; ++row) total += part[row][x];
  float& sum = a.sums[which][column];
  sum = a.accumulate ? sum + total : total;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) gelu_forward_kernel(GeluForward a) {
  const bool whole = a.width % 8 == 0;
  const GroupPlace at;
  const std::int64_t row = at.row;
  const int column = at.column;
  if (row >= a.rows || column >= a.width) return;
  float x[8];
  float bias[8] = {};
  load_eight(static_cast<const T*>(a.input) + row * a.width, column, a.width, whole, x);
  if (a.bias != nullptr) load_eight(a.bias, column, a.width, whole, bias);
  if (a.bias_copy != nullptr) {
    load_eight(static_cast<const T*>(a.bias_copy), column, a.width, whole, bias);
  }
  for (int k = 0; k < 8; ++k) x[k] += bias[k];
  if (a.biased != nullptr) {  // backward will read it rounded, so forward does
    for (int k = 0; k < 8; ++k) x[k] = rounded<T>(x[k]);
    store_eight(static_cast<T*>(a.biased) + row * a.width, column, a.width, whole, x);
  }
  for (int k = 0; k < 8; ++k) x[k] = a.tanh ? gelu_tanh<T>(x[k]) : gelu<T>(x[k]);
  store_eight(static_cast<T*>(a.output) + row * a.width, column, a.width, whole, x);
}

struct AddBias {
  std::int64_t rows;
  int width;
  const void* bias;
  void* values;
};
template <typename T>
__global__ void __launch_bounds__(kThreads) add_bias_kernel(AddBias a) {
  const bool whole = a.width % 8 == 0;
  const GroupPlace at;
  const int column = at.column;
  if (at.row >= a.rows || column >= a.width) return;
  T* row = static_cast<T*>(a.values) + at.row * a.width;
  float x[8];
  float bias[8];
  load_eight(row, column, a.width, whole, x);
  load_eight(static_cast<const T*>(a.bias), column, a.width, whole, bias);
  for (int k = 0; k < 8; ++k) x[k] += bias[k];
  store_eight(row, column, a.width, whole, x);
}

struct AddSums {
  const void* values;
  std::int64_t count;
  float* sums;
  bool accumulate;
};
template <typename T>
__global__ void __launch_bounds__(kThreads) add_sums_kernel(AddSums a) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= a.count) return;
  const float value = to_float(static_cast<const T*>(a.values)[i]);
  a.sums[i] = a.accumulate ? a.sums[i] + value : value;
}

struct Cast {
  const float* from;
  void* to;
  std::int64_t count;
};
template <typename T>
__global__ void __launch_bounds__(kThreads) cast_kernel(Cast a) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
#pragma unroll 1  // else the number of turns is found by a division
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < a.count; i += step) {
    static_cast<T*>(a.to)[i] = from_float<T>(a.from[i]);
  }
}

std::int64_t slices_of(std::int64_t rows) {
  const std::int64_t wanted = ceil_divide(rows, 32);
  return wanted < kSlices ? wanted : kSlices;
}

}  // namespace

std::int64_t column_partials_bytes(std::int64_t rows, std::int64_t width) {
  return slices_of(rows) * width * 4;
}

void column_sums(DType type, const ColumnSums& a, Stream stream) {
  if (a.rows == 0) return;
  const std::int64_t slices = slices_of(a.rows);
  const SlicedSums sliced{a, a.rows / slices, a.rows % slices};
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(column_sums_kernel<T>, blocks(ceil_divide(a.width, 256), slices), dim3(kThreads), 0,
           stream, sliced);
  });
  reduce_partials(a.partials, slices, a.width, a.sums, a.accumulate, stream);
}

void reduce_partials(const ReducePartials& a, Stream stream) {
  const int sums = a.stride / a.width;
  launch(reduce_partials_kernel, blocks(ceil_divide(a.width, kWarp), sums),
         dim3(kWarp, kReduceRows), 0, stream, a);
}

void reduce_partials(const float* partials, std::int64_t rows, int width, float* sums,
                     bool accumulate, Stream stream) {
  if (sums == nullptr) return;
  ReducePartials reduce;
  reduce.partials = partials;
  reduce.rows = static_cast<int>(rows);
  reduce.stride = reduce.width = width;
  reduce.sums[0] = sums;
  reduce.accumulate = accumulate;
  reduce_partials(reduce, stream);
}

void gelu_forward(DType type, const GeluForward& a, Stream stream) {
  if (a.rows == 0) return;
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(gelu_forward_kernel<T>, blocks_of_groups(a.rows, a.width), kGroupThreads, 0, stream, a);
  });
}

void add_bias(DType type, std::int64_t rows, int width, const void* bias, void* values,
              Stream stream) {
  if (rows == 0) return;
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(add_bias_kernel<T>, blocks_of_groups(rows, width), kGroupThreads, 0, stream,
           AddBias{rows, width, bias, values});
  });
}

void add_sums(DType type, const void* values, std::int64_t count, float* sums, bool accumulate,
              Stream stream) {
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(add_sums_kernel<T>, blocks(ceil_divide(count, kThreads)), dim3(kThreads), 0, stream,
           AddSums{values, count, sums, accumulate});
  });
}

void cast_from_float(DType type, const float* from, void* to, std::int64_t count, Stream stream) {
  if (count == 0) return;
  const std::int64_t wanted = ceil_divide(count, kThreads);
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(cast_kernel<T>, blocks(wanted < 2048 ? wanted : 2048), dim3(kThreads), 0, stream,
           Cast{from, to, count});
  });
}

}  // namespace bert::cuda
