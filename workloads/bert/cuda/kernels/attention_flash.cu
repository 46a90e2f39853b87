// Attention on tensor cores for heads of 64, forward: scores never leave the chip (Dao et al. 2022,
// "FlashAttention").
#include "workloads/bert/cuda/kernels/flash_tile.h"

namespace bert::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kFlashThreads) flash_forward_kernel(Attention a) {
  __shared__ Tile<T> tile_key;
  __shared__ Tile<T> tile_value;
  __shared__ std::uint64_t kept[kTile];
  const FlashPlace p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  if (first >= p.rows) return;  // the whole block: shorter than the longest sequence may be
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);

  load_tile(tile_key, qkv_at(p, qkv, 0, first), stride, p.rows - first);
  __syncthreads();
  FragmentA query[kSteps];
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    query[k] = load_a(tile_key.value, kLd, 16 * p.warp, 16 * k, p.lane);
  }

  float output[kColumns][4] = {};
  float top[2] = {-INFINITY, -INFINITY};
  float total[2] = {0, 0};
  const int keys = keys_of_tile(a, p, first);
  for (int from = 0; from < keys; from += kTile) {
    __syncthreads();
    load_tile(tile_key, qkv_at(p, qkv, 1, from), stride, p.rows - from);
    load_tile(tile_value, qkv_at(p, qkv, 2, from), stride, p.rows - from);
    if (a.dropout.on) fill_kept(a, p, first + 16 * p.warp, from, kept + 16 * p.warp);
    __syncthreads();

    float score[kTile / 8][4] = {};
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        multiply_add<T>(score[n], query[k], load_b(tile_key.value, kLd, 8 * n, 16 * k, p.lane));
      }
    }
    float highest[2] = {top[0], top[1]};
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = from + 8 * n + 2 * p.t + i % 2;
        const bool used = sees(a, p, first + 16 * p.warp + p.g + 8 * (i / 2), key);
        score[n][i] = used ? score[n][i] * kScoreScale : -INFINITY;
        highest[i / 2] = fmaxf(highest[i / 2], score[n][i]);
      }
    }
    float shrink[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      highest[r] = quad_max(highest[r]);
      shrink[r] = expf(top[r] - highest[r]);
      total[r] *= shrink[r];
      top[r] = highest[r];
    }
    const std::uint64_t bits[2] = {kept[16 * p.warp + p.g], kept[16 * p.warp + p.g + 8]};
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float weight = expf(score[n][i] - top[i / 2]);
        total[i / 2] += weight;
        score[n][i] =
            a.dropout.on ? weight * keep_factor(a, bits[i / 2], 8 * n + 2 * p.t + i % 2) : weight;
      }
    }
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) output[n][i] *= shrink[i / 2];
    }
#pragma unroll
    for (int k = 0; k < kTile / 16; ++k) {
      const FragmentA weights = pack_a<T>(score[2 * k], score[2 * k + 1]);
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
        multiply_add<T>(output[n], weights,
                        load_b_rows(tile_value.value, kLd, 16 * k, 8 * n, p.lane));
      }
    }
  }

  total[0] = quad_sum(total[0]);
  total[1] = quad_sum(total[1]);
  const int row = first + 16 * p.warp;
  store_rows(out_at(p, static_cast<T*>(a.output), row), p.hidden, p, p.rows - row, output,
             1.0F / total[0], 1.0F / total[1]);
  if (p.t == 0) {
    float* sums = a.log_sums + (p.sequence * a.heads + p.head) * a.length + row;
    for (int r = 0; r < 2; ++r) {
      const int i = p.g + 8 * r;
      if (row + i < p.rows) sums[i] = top[r] + logf(total[r]);
    }
  }
}

}  // namespace

void flash_forward(DType type, const Attention& a, Stream stream) {
  with_half_type(type, [&]<typename T>(Tag<T>) {
    launch(flash_forward_kernel<T>, flash_grid(a), dim3(kFlashThreads), 0, stream, a);
  });
}

}  // namespace bert::cuda
