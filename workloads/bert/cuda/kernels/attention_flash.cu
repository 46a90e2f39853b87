// Attention on tensor cores for heads of 64, forward: scores never leave the chip (Dao et al. 2022,
// "FlashAttention").
#include "workloads/bert/cuda/kernels/flash_tile.h"

namespace bert::cuda {
namespace {

/// On a multiprocessor of sm_90; leaves each thread 128 registers. Shared memory of sm_80 holds
/// three.
constexpr int kBlocks = 4;

template <typename T, bool kDropout, bool kReplayed>
__global__ void __launch_bounds__(kFlashThreads, kBlocks - kReplayed)
    flash_forward_kernel(Attention a) {
  if constexpr (kReplayed) read_values(a);
  __shared__ Tile<T> tile_query;
  __shared__ Tile<T> tile_key[2];
  __shared__ Tile<T> tile_value[2];
  const FlashPlace p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  if (first >= p.rows) return;  // the whole block: shorter than the longest sequence may be
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);
  const auto start = [&](int stage, int from) {
    start_tile(tile_key[stage], qkv_at(p, qkv, 1, from), stride, p.rows - from);
    start_tile(tile_value[stage], qkv_at(p, qkv, 2, from), stride, p.rows - from);
    close_copies();
  };

  start_tile(tile_query, qkv_at(p, qkv, 0, first), stride, p.rows - first);
  start(0, 0);
  const OwnRows<T> query{tile_query.value, p};

  float output[kColumns][4] = {};
  float top[2] = {-INFINITY, -INFINITY};  // of scores, in units of exp2()
  float total[2] = {0, 0};
  const DropoutKey key = key_of(a.dropout, p.sequence);
  const int row = first + 16 * p.warp;
  const int keys = keys_of_tile(a, p, first);
  int stage = 0;
  for (int from = 0; from < keys; from += kTile, stage ^= 1) {
    wait_for_copies<0>();
    __syncthreads();
    if (from + kTile < keys) start(stage ^ 1, from + kTile);

    float score[kTile / 8][4] = {};
    multiply_tile<T, kTile / 8>(query, tile_key[stage].value, 0, p.lane, score);
    if (!sees_all(a, p, first, from)) {
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int column = from + 8 * n + 2 * p.t + i % 2;
          if (!sees(a, p, row + p.g + 8 * (i / 2), column)) score[n][i] = -INFINITY;
        }
      }
    }
    float shrink[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float highest = score[0][2 * r];
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
        highest = fmaxf(highest, fmaxf(score[n][2 * r], score[n][2 * r + 1]));
      }
      highest = fmaxf(top[r], quad_max(highest) * kScoreScaleLog2);
      shrink[r] = fast_exp2(top[r] - highest);
      total[r] *= shrink[r];
      top[r] = highest;
    }
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        score[n][i] = fast_exp2(score[n][i] * kScoreScaleLog2 - top[i / 2]);
        total[i / 2] += score[n][i];
        output[n][i] *= shrink[i / 2];
      }
    }
    if constexpr (kDropout) {
      const std::uint32_t kept = kept_bits(a, p, key, row, from);
      kept_of_tile(a, p, first, from)[threadIdx.x] = kept;
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if ((kept >> (16 * (i / 2) + 2 * n + i % 2) & 1U) == 0) score[n][i] = 0;
        }
      }
    }
    add_weighted_rows<T, kTile / 8>(score, tile_value[stage].value, 0, p.lane, output);
  }

  total[0] = quad_sum(total[0]);
  total[1] = quad_sum(total[1]);
  const float scale = kDropout ? key.scale : 1.0F;
  __syncthreads();
  store_rows(tile_key[0].value, out_at(p, static_cast<T*>(a.output), row), p.hidden, p,
             p.rows - row, output, scale * fast_reciprocal(total[0]),
             scale * fast_reciprocal(total[1]), a.largest);
  if (p.t == 0) {
    float* sums = a.log_sums + (p.sequence * a.heads + p.head) * a.length + row;
    for (int r = 0; r < 2; ++r) {
      const int i = p.g + 8 * r;
      if (row + i < p.rows) sums[i] = top[r] * kLn2 + logf(total[r]);
    }
  }
}

}  // namespace

std::int64_t attention_kept_bytes(std::int64_t sequences, std::int64_t length, std::int64_t heads) {
  const std::int64_t whole = ceil_divide(length, kTile) * kTile;
  return sequences * heads * whole * whole / 8;
}

void flash_forward(DType type, const Attention& a, Stream stream) {
  with_half_type(type, [&]<typename T>(Tag<T>) {
    const auto kernel = a.values != nullptr ? flash_forward_kernel<T, true, true>
                        : a.dropout.on      ? flash_forward_kernel<T, true, false>
                                            : flash_forward_kernel<T, false, false>;
    launch(kernel, flash_grid(a), dim3(kFlashThreads), 0, stream, a);
  });
}

}  // namespace bert::cuda
