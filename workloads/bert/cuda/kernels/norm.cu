// LayerNorm with what stands before and after it: one warp a row, the row in registers.
#include "workloads/bert/cuda/device_dropout.h"
#include "workloads/bert/cuda/kernels/dispatch.h"

namespace bert::cuda {
namespace {

constexpr int kWarps = 4;
constexpr std::int64_t kBackwardBlocks = 256;  ///< rows of partial sums

template <typename Arguments>
__device__ __forceinline__ std::int64_t place_of_row(const Arguments& a, std::int64_t row) {
  return a.places != nullptr ? std::int64_t{a.places[row]} : row;
}

/// Dropout of one row: before and after are never on together.
struct RowDropout {
  __device__ RowDropout(const Dropout& before, const Dropout& after, std::int64_t place,
                        int rows_per_sequence, int width, int lane)
      : before_on(before.on), after_on(after.on) {
    if (!before.on && !after.on) return;
    const Dropout& dropout = before.on ? before : after;
    scale = dropout.key.scale;
    const auto element =
        static_cast<std::uint64_t>(place % rows_per_sequence) * static_cast<std::uint64_t>(width);
    kept = kept_row(key_of(dropout, place / rows_per_sequence), element, width, lane);
  }
  __device__ __forceinline__ float factor(int group, int i) const {
    return (kept >> (8 * group + i) & 1U) != 0 ? scale : 0.0F;
  }
  bool before_on, after_on;
  float scale = 1;
  unsigned kept = 0;
};

template <typename T>
__device__ void load_input(const NormForward& a, std::int64_t row, std::int64_t place, int column,
                           bool whole, float* z) {
  if (a.tokens == nullptr) {
    load_eight(static_cast<const T*>(a.input) + row * a.width, column, a.width, whole, z);
    return;
  }
  const std::int64_t rows[3] = {a.tokens[row], place % a.rows_per_sequence,
                                a.segment != nullptr ? a.segments[row] : 0};
  const void* tables[3] = {a.word, a.position, a.segment};
  float term[8];
  for (int i = 0; i < 8; ++i) z[i] = 0;
#pragma unroll
  for (int t = 0; t < 3; ++t) {
    if (tables[t] == nullptr) continue;
    load_eight(static_cast<const T*>(tables[t]) + rows[t] * a.width, column, a.width, whole, term);
    for (int i = 0; i < 8; ++i) z[i] += term[i];
  }
}

template <typename T, int kGroups>
__global__ void __launch_bounds__(kWarps* kWarp) norm_forward_kernel(NormForward a) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (row >= a.rows) return;
  const bool whole = a.width % 8 == 0;
  const std::int64_t place = place_of_row(a, row);
  const RowDropout dropout(a.before, a.after, place, a.rows_per_sequence, a.width, lane);

  const bool changed = a.sum != a.input || a.bias != nullptr || a.residual != nullptr;

  float z[kGroups][8];
  float total = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int column = 256 * g + 8 * lane;
    load_input<T>(a, row, place, column, whole, z[g]);
    if (a.bias != nullptr) {
      float bias[8];
      load_eight(a.bias, column, a.width, whole, bias);
      for (int i = 0; i < 8; ++i) z[g][i] += bias[i];
    }
    if (dropout.before_on) {
      for (int i = 0; i < 8; ++i) z[g][i] *= dropout.factor(g, i);
    }
    if (a.residual != nullptr) {
      float residual[8];
      load_eight(static_cast<const T*>(a.residual) + row * a.width, column, a.width, whole,
                 residual);
      for (int i = 0; i < 8; ++i) z[g][i] += residual[i];
    }
    for (int i = 0; i < 8; ++i) {
      z[g][i] = rounded<T>(z[g][i]);
      total += z[g][i];
    }
    if (changed) {
      store_eight(static_cast<T*>(a.sum) + row * a.width, column, a.width, whole, z[g]);
    }
  }
  const float inverse = 1.0F / static_cast<float>(a.width);
  const float mean = warp_sum(total) * inverse;
  float squares = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    for (int i = 0; i < 8; ++i) {
      const float d = 256 * g + 8 * lane + i < a.width ? z[g][i] - mean : 0.0F;
      squares += d * d;
    }
  }
  const float rstd = 1.0F / sqrtf(warp_sum(squares) * inverse + a.epsilon);
  if (lane == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int column = 256 * g + 8 * lane;
    float gamma[8];
    float beta[8];
    load_eight(a.gamma, column, a.width, whole, gamma);
    load_eight(a.beta, column, a.width, whole, beta);
    for (int i = 0; i < 8; ++i) {
      z[g][i] = (z[g][i] - mean) * rstd * gamma[i] + beta[i];
      if (dropout.after_on) z[g][i] *= dropout.factor(g, i);
    }
    store_eight(static_cast<T*>(a.output) + row * a.width, column, a.width, whole, z[g]);
  }
}

/// One warp takes rows blockIdx * 4 + warp, + 4 * blocks, ... and keeps its column sums in
/// registers; the block's warps add theirs up in order and leave one row of partial sums.
template <typename T, int kGroups>
__global__ void __launch_bounds__(kWarps* kWarp, 2) norm_backward_kernel(NormBackward a) {
  __shared__ float block_sums[3 * 256 * kGroups];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const bool whole = a.width % 8 == 0;
  const float inverse = 1.0F / static_cast<float>(a.width);
  float sums[3][kGroups][8] = {};

  for (std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp; row < a.rows;
       row += std::int64_t{gridDim.x} * kWarps) {
    const RowDropout dropout(a.before, a.after, place_of_row(a, row), a.rows_per_sequence, a.width,
                             lane);
    const float mean = a.mean[row];
    const float rstd = a.rstd[row];
    float x[kGroups][8];
    float d[kGroups][8];
    float total = 0;
    float product = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = 256 * g + 8 * lane;
      float gamma[8];
      load_eight(static_cast<const T*>(a.d_output) + row * a.width, column, a.width, whole, d[g]);
      load_eight(static_cast<const T*>(a.sum) + row * a.width, column, a.width, whole, x[g]);
      load_eight(a.gamma, column, a.width, whole, gamma);
      if (dropout.after_on) {
        for (int i = 0; i < 8; ++i) d[g][i] *= dropout.factor(g, i);
      }
      for (int i = 0; i < 8; ++i) {
        // Columns beyond the width have d = gamma = 0, so their x never counts.
        x[g][i] = (x[g][i] - mean) * rstd;
        sums[0][g][i] += d[g][i] * x[g][i];
        sums[1][g][i] += d[g][i];
        d[g][i] *= gamma[i];
        total += d[g][i];
        product += d[g][i] * x[g][i];
      }
    }
    const float c1 = warp_sum(total) * inverse;
    const float c2 = warp_sum(product) * inverse;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = 256 * g + 8 * lane;
      for (int i = 0; i < 8; ++i) d[g][i] = rstd * (d[g][i] - c1 - x[g][i] * c2);
      if (a.d_beside != nullptr) {
        float beside[8];
        load_eight(static_cast<const T*>(a.d_beside) + row * a.width, column, a.width, whole,
                   beside);
        for (int i = 0; i < 8; ++i) d[g][i] += beside[i];
      }
      store_eight(static_cast<T*>(a.d_sum) + row * a.width, column, a.width, whole, d[g]);
      if (a.d_input == nullptr) continue;
      if (dropout.before_on) {
        for (int i = 0; i < 8; ++i) d[g][i] *= dropout.factor(g, i);
      }
      for (int i = 0; i < 8; ++i) sums[2][g][i] += d[g][i];
      store_eight(static_cast<T*>(a.d_input) + row * a.width, column, a.width, whole, d[g]);
    }
  }

  for (int turn = 0; turn < kWarps; ++turn) {
    if (warp == turn) {
#pragma unroll
      for (int k = 0; k < 3; ++k) {
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          for (int i = 0; i < 8; ++i) {
            float& sum = block_sums[256 * (kGroups * k + g) + 32 * i + lane];
            sum = turn == 0 ? sums[k][g][i] : sum + sums[k][g][i];
          }
        }
      }
    }
    __syncthreads();
  }
  float* out = a.partials + std::int64_t{blockIdx.x} * 3 * a.width;
  for (int j = static_cast<int>(threadIdx.x); j < 3 * a.width; j += kWarps * kWarp) {
    const int column = j % a.width;
    out[j] = block_sums[256 * (kGroups * (j / a.width) + column / 256) + 32 * (column % 8) +
                        column % 256 / 8];
  }
}

std::int64_t backward_blocks(std::int64_t rows) {
  const std::int64_t wanted = ceil_divide(rows, kWarps);
  return wanted < kBackwardBlocks ? wanted : kBackwardBlocks;
}

}  // namespace

std::int64_t norm_partials_bytes(std::int64_t width) { return kBackwardBlocks * 3 * width * 4; }

void norm_forward(DType type, const NormForward& a, Stream stream) {
  if (a.rows == 0) return;
  with_type(type, [&]<typename T>(Tag<T>) {
    with_groups(a.width, [&]<int kGroups>(Number<kGroups>) {
      launch(norm_forward_kernel<T, kGroups>, blocks(ceil_divide(a.rows, kWarps)),
             dim3(kWarps * kWarp), 0, stream, a);
    });
  });
}

void norm_backward(DType type, const NormBackward& a, Stream stream) {
  if (a.rows == 0) return;
  const std::int64_t count = backward_blocks(a.rows);
  with_type(type, [&]<typename T>(Tag<T>) {
    with_groups(a.width, [&]<int kGroups>(Number<kGroups>) {
      launch(norm_backward_kernel<T, kGroups>, blocks(count), dim3(kWarps * kWarp), 0, stream, a);
    });
  });
  ReducePartials reduce;
  reduce.partials = a.partials;
  reduce.rows = static_cast<int>(count);
  reduce.stride = 3 * a.width;
  reduce.width = a.width;
  reduce.sums[0] = a.sum_gamma;
  reduce.sums[1] = a.sum_beta;
  reduce.sums[2] = a.sum_bias;
  reduce.accumulate = a.accumulate;
  reduce_partials(reduce, stream);
}

}  // namespace bert::cuda
