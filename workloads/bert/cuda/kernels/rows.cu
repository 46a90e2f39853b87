// Kernels that move and add whole rows: gather, and sums of listed rows.
#include "workloads/bert/cuda/kernels/dispatch.h"

namespace bert::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kChains = kThreads / kWarp;

struct Gather {
  const void* input;
  const std::int32_t* rows;
  std::int64_t count;
  int width;
  void* output;
};

template <typename T>
__global__ void __launch_bounds__(kThreads) gather_kernel(Gather a) {
  const bool whole = a.width % 8 == 0;
  const GroupPlace at;
  const int column = at.column;
  if (at.row >= a.count || column >= a.width) return;
  float values[8];
  load_eight(static_cast<const T*>(a.input) + std::int64_t{a.rows[at.row]} * a.width, column,
             a.width, whole, values);
  store_eight(static_cast<T*>(a.output) + at.row * a.width, column, a.width, whole, values);
}

/// A block takes one run and 256 columns. Warp w adds sources w, w + 8, ... of the run.
template <typename T, typename Output>
__global__ void __launch_bounds__(kThreads) segment_sums_kernel(SegmentSums a) {
  __shared__ float part[kChains][8][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int column = static_cast<int>(blockIdx.y) * 256 + 8 * lane;
  const bool whole = a.width % 8 == 0;
  const std::int64_t run = blockIdx.x;
  const std::int64_t begin = a.starts != nullptr ? a.starts[run] : 0;
  const std::int64_t end = a.starts != nullptr ? a.starts[run + 1] : a.regular_count;
  float sums[8] = {};
  for (std::int64_t j = begin + warp; j < end; j += kChains) {
    const std::int64_t source =
        a.starts != nullptr ? std::int64_t{a.sources[j]} : run + j * a.regular_step;
    float values[8];
    load_eight(static_cast<const T*>(a.input) + source * a.width, column, a.width, whole, values);
    for (int i = 0; i < 8; ++i) sums[i] += values[i];
  }
  for (int i = 0; i < 8; ++i) part[warp][i][lane] = sums[i];
  __syncthreads();
  if (warp != 0) return;
  const std::int64_t target = a.targets != nullptr ? std::int64_t{a.targets[run]} : run;
  Output* out = static_cast<Output*>(a.output) + target * a.width;
  for (int i = 0; i < 8; ++i) {
    if (column + i >= a.width) break;
    float total = to_float(out[column + i]);
    for (int w = 0; w < kChains; ++w) total += part[w][i][lane];
    out[column + i] = from_float<Output>(total);
  }
}

}  // namespace

void gather_rows(DType type, const void* input, const std::int32_t* rows, std::int64_t count,
                 int width, void* output, Stream stream) {
  if (count == 0) return;
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(gather_kernel<T>, blocks_of_groups(count, width), kGroupThreads, 0, stream,
           Gather{input, rows, count, width, output});
  });
}

void segment_sums(DType type, const SegmentSums& a, Stream stream) {
  if (a.runs == 0) return;
  const dim3 grid = blocks(a.runs, ceil_divide(a.width, 256));
  with_type(type, [&]<typename T>(Tag<T>) {
    if (a.to_float) {
      launch(segment_sums_kernel<T, float>, grid, dim3(kThreads), 0, stream, a);
    } else {
      launch(segment_sums_kernel<T, T>, grid, dim3(kThreads), 0, stream, a);
    }
  });
}

}  // namespace bert::cuda
