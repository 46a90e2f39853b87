// Attention on tensor cores, backward: two kernels, one over keys and one over queries, so that no
// sum needs an atomic: seven products instead of five, and the same bits every time.
#include "workloads/bert/cuda/kernels/flash_tile.h"

namespace bert::cuda {
namespace {

/// Statistics of 64 queries: log of the softmax's denominator, and delta.
__device__ __forceinline__ void load_statistics(const Attention& a, const FlashPlace& p, int first,
                                                float* log_sums, float* delta) {
  const std::int64_t at = (p.sequence * a.heads + p.head) * a.length + first;
  const int i = static_cast<int>(threadIdx.x);
  if (i >= kTile) return;
  const bool inside = first + i < p.rows;
  log_sums[i] = inside ? a.log_sums[at + i] : 0.0F;
  delta[i] = inside ? a.delta[at + i] : 0.0F;
}

/// Gradients of 64 keys and values; scores are held transposed, keys along the rows.
template <typename T>
__global__ void __launch_bounds__(kFlashThreads) flash_key_kernel(Attention a) {
  __shared__ Tile<T> tile_query;
  __shared__ Tile<T> tile_d_output;
  __shared__ float log_sums[kTile];
  __shared__ float delta[kTile];
  __shared__ std::uint64_t kept[kTile];
  const FlashPlace p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  if (first >= p.rows) return;  // the whole block: shorter than the longest sequence may be
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);

  load_tile(tile_query, qkv_at(p, qkv, 1, first), stride, p.rows - first);
  load_tile(tile_d_output, qkv_at(p, qkv, 2, first), stride, p.rows - first);
  __syncthreads();
  FragmentA key[kSteps];
  FragmentA value[kSteps];
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    key[k] = load_a(tile_query.value, kLd, 16 * p.warp, 16 * k, p.lane);
    value[k] = load_a(tile_d_output.value, kLd, 16 * p.warp, 16 * k, p.lane);
  }

  float d_key[kColumns][4] = {};
  float d_value[kColumns][4] = {};
  const int queries = first < p.keys ? p.rows : 0;  // a tile of padding gets zeros
  // Causal: earlier tiles of queries see none of these keys.
  for (int from = a.causal ? first : 0; from < queries; from += kTile) {
    __syncthreads();
    load_tile(tile_query, qkv_at(p, qkv, 0, from), stride, p.rows - from);
    load_tile(tile_d_output, out_at(p, static_cast<const T*>(a.d_output), from), p.hidden,
              p.rows - from);
    load_statistics(a, p, from, log_sums, delta);
    if (a.dropout.on) fill_kept(a, p, from + 16 * p.warp, first, kept + 16 * p.warp);
    __syncthreads();
    for (int half = 0; half < kTile; half += 32) {
      float weight[4][4] = {};
      float d_score[4][4] = {};
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int k = 0; k < kSteps; ++k) {
          multiply_add<T>(weight[n], key[k],
                          load_b(tile_query.value, kLd, half + 8 * n, 16 * k, p.lane));
          multiply_add<T>(d_score[n], value[k],
                          load_b(tile_d_output.value, kLd, half + 8 * n, 16 * k, p.lane));
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int query = half + 8 * n + 2 * p.t + i % 2;
          const int row = 16 * p.warp + p.g + 8 * (i / 2);
          const bool used = sees(a, p, from + query, first + row) && from + query < p.rows;
          const float w = used ? expf(weight[n][i] * kScoreScale - log_sums[query]) : 0.0F;
          const float factor = a.dropout.on ? keep_factor(a, kept[query], row) : 1.0F;
          weight[n][i] = w * factor;
          d_score[n][i] = w * (d_score[n][i] * factor - delta[query]) * kScoreScale;
        }
      }
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const FragmentA weights = pack_a<T>(weight[2 * k], weight[2 * k + 1]);
        const FragmentA d_scores = pack_a<T>(d_score[2 * k], d_score[2 * k + 1]);
#pragma unroll
        for (int n = 0; n < kColumns; ++n) {
          multiply_add<T>(d_value[n], weights,
                          load_b_rows(tile_d_output.value, kLd, half + 16 * k, 8 * n, p.lane));
          multiply_add<T>(d_key[n], d_scores,
                          load_b_rows(tile_query.value, kLd, half + 16 * k, 8 * n, p.lane));
        }
      }
    }
  }
  const int row = first + 16 * p.warp;
  T* d_qkv = static_cast<T*>(a.d_qkv);
  store_rows(qkv_at(p, d_qkv, 1, row), stride, p, p.rows - row, d_key, 1.0F, 1.0F);
  store_rows(qkv_at(p, d_qkv, 2, row), stride, p, p.rows - row, d_value, 1.0F, 1.0F);
}

/// Gradients of 64 queries.
template <typename T>
__global__ void __launch_bounds__(kFlashThreads) flash_query_kernel(Attention a) {
  __shared__ Tile<T> tile_key;
  __shared__ Tile<T> tile_value;
  __shared__ float log_sums[kTile];
  __shared__ float delta[kTile];
  __shared__ std::uint64_t kept[kTile];
  const FlashPlace p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  if (first >= p.rows) return;  // the whole block: shorter than the longest sequence may be
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);

  load_tile(tile_key, qkv_at(p, qkv, 0, first), stride, p.rows - first);
  load_tile(tile_value, out_at(p, static_cast<const T*>(a.d_output), first), p.hidden,
            p.rows - first);
  load_statistics(a, p, first, log_sums, delta);
  __syncthreads();
  FragmentA query[kSteps];
  FragmentA d_output[kSteps];
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    query[k] = load_a(tile_key.value, kLd, 16 * p.warp, 16 * k, p.lane);
    d_output[k] = load_a(tile_value.value, kLd, 16 * p.warp, 16 * k, p.lane);
  }
  const int rows[2] = {16 * p.warp + p.g, 16 * p.warp + p.g + 8};
  const float row_log[2] = {log_sums[rows[0]], log_sums[rows[1]]};
  const float row_delta[2] = {delta[rows[0]], delta[rows[1]]};

  float d_query[kColumns][4] = {};
  const int keys = keys_of_tile(a, p, first);
  for (int from = 0; from < keys; from += kTile) {
    __syncthreads();
    load_tile(tile_key, qkv_at(p, qkv, 1, from), stride, p.rows - from);
    load_tile(tile_value, qkv_at(p, qkv, 2, from), stride, p.rows - from);
    if (a.dropout.on) fill_kept(a, p, first + 16 * p.warp, from, kept + 16 * p.warp);
    __syncthreads();
    const std::uint64_t bits[2] = {kept[rows[0]], kept[rows[1]]};
    for (int half = 0; half < kTile; half += 32) {
      float weight[4][4] = {};
      float d_score[4][4] = {};
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int k = 0; k < kSteps; ++k) {
          multiply_add<T>(weight[n], query[k],
                          load_b(tile_key.value, kLd, half + 8 * n, 16 * k, p.lane));
          multiply_add<T>(d_score[n], d_output[k],
                          load_b(tile_value.value, kLd, half + 8 * n, 16 * k, p.lane));
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int column = half + 8 * n + 2 * p.t + i % 2;
          const bool used = sees(a, p, first + rows[i / 2], from + column);
          const float w = used ? expf(weight[n][i] * kScoreScale - row_log[i / 2]) : 0.0F;
          const float factor = a.dropout.on ? keep_factor(a, bits[i / 2], column) : 1.0F;
          d_score[n][i] = w * (d_score[n][i] * factor - row_delta[i / 2]) * kScoreScale;
        }
      }
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const FragmentA d_scores = pack_a<T>(d_score[2 * k], d_score[2 * k + 1]);
#pragma unroll
        for (int n = 0; n < kColumns; ++n) {
          multiply_add<T>(d_query[n], d_scores,
                          load_b_rows(tile_key.value, kLd, half + 16 * k, 8 * n, p.lane));
        }
      }
    }
  }
  const int row = first + 16 * p.warp;
  store_rows(qkv_at(p, static_cast<T*>(a.d_qkv), 0, row), stride, p, p.rows - row, d_query, 1.0F,
             1.0F);
}

}  // namespace

void flash_backward(DType type, const Attention& a, Stream stream) {
  with_half_type(type, [&]<typename T>(Tag<T>) {
    launch(flash_key_kernel<T>, flash_grid(a), dim3(kFlashThreads), 0, stream, a);
    launch(flash_query_kernel<T>, flash_grid(a), dim3(kFlashThreads), 0, stream, a);
  });
}

}  // namespace bert::cuda
