// Attention on tensor cores, backward: two kernels, one over queries and one over keys, so that no
// sum needs an atomic: seven products instead of five, and the same bits every time. The first
// leaves each query's delta to the second.
#include "workloads/bert/cuda/kernels/flash_tile.h"

namespace bert::cuda {
namespace {

constexpr int kBlocks = 3;    ///< on a multiprocessor; leaves each thread 168 registers
constexpr int kHalf = 32;     ///< keys whose scores a thread of the query kernel holds at a time
constexpr int kQuarter = 16;  ///< queries whose scores a thread of the key kernel holds at a time

/// sum over the head of d_output * output for rows g and g + 8 of the warp's: the part of this
/// lane's columns. `d_output` are the operands of the same rows.
template <typename T>
__device__ __forceinline__ void add_delta(const FragmentA* d_output, const T* output,
                                          std::int64_t stride, int rows, const FlashPlace& p,
                                          float* delta) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = p.g + 8 * (i % 2);
      if (row >= rows) continue;
      const T* at = output + row * stride + 16 * k + 8 * (i / 2) + 2 * p.t;
      T two[2];
      T d_two[2];
      memcpy(two, __builtin_assume_aligned(at, 4), 4);
      memcpy(d_two, &d_output[k].part[i], 4);
      delta[i % 2] += to_float(two[0]) * to_float(d_two[0]) + to_float(two[1]) * to_float(d_two[1]);
    }
  }
}

/// Where a block leaves column sums of one part (0 query, 1 key, 2 value) of its rows of d_qkv.
__device__ __forceinline__ float* partials_of(const Attention& a, const FlashPlace& p, int part) {
  const std::int64_t row = p.sequence * gridDim.x + blockIdx.x;
  return a.partials + (row * 3 + part) * p.hidden + p.head * kFlashHead;
}
/// Room for each warp's sums, in a tile that is not read any more.
template <typename T>
__device__ __forceinline__ auto sums_of(Tile<T>& tile) {
  return reinterpret_cast<float(*)[kFlashHead]>(tile.value);
}
/// A block without rows has sums, too: every partial row is added up.
__device__ __forceinline__ void leave_no_sums(const Attention& a, const FlashPlace& p, int part) {
  if (a.sums == nullptr || threadIdx.x >= kFlashHead) return;
  partials_of(a, p, part)[threadIdx.x] = 0;
}
/// Column sums of `scale` times the block's 64 rows; of each warp in `warps`.
__device__ __forceinline__ void leave_sums(const Attention& a, const FlashPlace& p, int part,
                                           const float (*values)[4], float scale,
                                           float (*warps)[kFlashHead]) {
  if (a.sums == nullptr) return;
#pragma unroll
  for (int n = 0; n < kColumns; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float sum = values[n][j] + values[n][j + 2];
      for (int lanes = 4; lanes < kWarp; lanes *= 2) sum += __shfl_xor_sync(kAllLanes, sum, lanes);
      if (p.g == 0) warps[p.warp][8 * n + 2 * p.t + j] = sum;
    }
  }
  __syncthreads();
  const int column = static_cast<int>(threadIdx.x);
  if (column < kFlashHead) {
    float sum = 0;
    for (int w = 0; w < kFlashThreads / kWarp; ++w) sum += warps[w][column];
    partials_of(a, p, part)[column] = sum * scale;
  }
  __syncthreads();
}

/// Gradients of 64 queries; delta.
template <typename T, bool kDropout>
__global__ void __launch_bounds__(kFlashThreads, kBlocks) flash_query_kernel(Attention a) {
  __shared__ Tile<T> tile_query;
  __shared__ Tile<T> tile_key[2];
  __shared__ Tile<T> tile_value[2];
  const FlashPlace p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  if (first >= p.rows) {  // the whole block: shorter than the longest sequence may be
    return leave_no_sums(a, p, 0);
  }
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);
  std::uint32_t next_kept = 0;
  const auto start = [&](int stage, int from) {
    if constexpr (kDropout) next_kept = kept_of_tile(a, p, first, from)[threadIdx.x];
    start_tile(tile_key[stage], qkv_at(p, qkv, 1, from), stride, p.rows - from);
    start_tile(tile_value[stage], qkv_at(p, qkv, 2, from), stride, p.rows - from);
    close_copies();
  };

  start_tile(tile_query, qkv_at(p, qkv, 0, first), stride, p.rows - first);
  start_tile(tile_value[1], out_at(p, static_cast<const T*>(a.d_output), first), p.hidden,
             p.rows - first);
  close_copies();
  start(0, 0);
  wait_for_copies<1>();
  __syncthreads();
  const OwnRows<T> query{tile_query.value, p};
  FragmentA d_output[kSteps];
  load_own_rows(tile_value[1], p, d_output);

  const int row = first + 16 * p.warp;
  float delta[2] = {0, 0};
  add_delta(d_output, out_at(p, static_cast<const T*>(a.output), row), p.hidden, p.rows - row, p,
            delta);
  float log_sum[2] = {0, 0};  // in units of exp2()
  const std::int64_t statistics = (p.sequence * a.heads + p.head) * a.length + row;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    delta[r] = quad_sum(delta[r]);
    const int i = p.g + 8 * r;
    if (row + i >= p.rows) continue;
    log_sum[r] = a.log_sums[statistics + i] * kLog2E;
    if (p.t == 0) a.delta[statistics + i] = delta[r];
  }

  float d_query[kColumns][4] = {};
  const int keys = keys_of_tile(a, p, first);
  int stage = 0;
  for (int from = 0; from < keys; from += kTile, stage ^= 1) {
    const std::uint32_t kept = next_kept;
    wait_for_copies<0>();
    __syncthreads();
    if (from + kTile < keys) start(stage ^ 1, from + kTile);
    const bool all = sees_all(a, p, first, from);
#pragma unroll 1
    for (int half = 0; half < kTile; half += kHalf) {
      const std::uint32_t kept_half = kept >> (2 * (half / 8));
      float weight[kHalf / 8][4] = {};
      float d_score[kHalf / 8][4] = {};
      multiply_tile<T, kHalf / 8>(query, tile_key[stage].value, half, p.lane, weight);
      multiply_tile<T, kHalf / 8>(d_output, tile_value[stage].value, half, p.lane, d_score);
#pragma unroll
      for (int n = 0; n < kHalf / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int column = half + 8 * n + 2 * p.t + i % 2;
          float w = fast_exp2(weight[n][i] * kScoreScaleLog2 - log_sum[i / 2]);
          if (!all && !sees(a, p, row + p.g + 8 * (i / 2), from + column)) w = 0;
          float d = d_score[n][i];
          if constexpr (kDropout) {
            const int bit = 16 * (i / 2) + 2 * n + i % 2;
            d = (kept_half >> bit & 1U) != 0 ? d * a.dropout.key.scale : 0.0F;
          }
          d_score[n][i] = w * (d - delta[i / 2]);
        }
      }
      add_weighted_rows<T, kHalf / 8>(d_score, tile_key[stage].value, half, p.lane, d_query);
    }
  }
  __syncthreads();
  store_rows(tile_key[0].value, qkv_at(p, static_cast<T*>(a.d_qkv), 0, row), stride, p,
             p.rows - row, d_query, kScoreScale, kScoreScale, a.d_largest);
  leave_sums(a, p, 0, d_query, kScoreScale, sums_of(tile_key[1]));
}

/// Gradients of 64 keys and values; scores are held transposed, keys along the rows.
template <typename T, bool kDropout>
__global__ void __launch_bounds__(kFlashThreads, kBlocks) flash_key_kernel(Attention a) {
  __shared__ Tile<T> tile_value;
  __shared__ Tile<T> tile_query[2];
  __shared__ Tile<T> tile_d_output[2];
  __shared__ float statistics[2][2][kTile];  ///< log of the softmax's denominator, and delta
  __shared__ std::uint32_t kept[2][kFlashThreads];
  const FlashPlace p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  if (first >= p.rows) {  // the whole block: shorter than the longest sequence may be
    leave_no_sums(a, p, 1);
    return leave_no_sums(a, p, 2);
  }
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);
  const int thread = static_cast<int>(threadIdx.x);
  // What this thread brings of a tile of queries: copies, and two words that it holds until the
  // tile's turn.
  float next_statistic = 0;
  std::uint32_t next_kept = 0;
  const auto start = [&](int stage, int from) {
    start_tile(tile_query[stage], qkv_at(p, qkv, 0, from), stride, p.rows - from);
    start_tile(tile_d_output[stage], out_at(p, static_cast<const T*>(a.d_output), from), p.hidden,
               p.rows - from);
    close_copies();
    const float* source = thread < kTile ? a.log_sums : a.delta;
    const int i = from + thread % kTile;
    next_statistic = i < p.rows ? source[(p.sequence * a.heads + p.head) * a.length + i] : 0.0F;
    if constexpr (kDropout) next_kept = kept_of_tile(a, p, from, first)[thread];
  };

  const int queries = first < p.keys ? p.rows : 0;  // a tile of padding gets zeros
  // Causal: earlier tiles of queries see none of these keys.
  int from = a.causal ? first : 0;
  start_tile(tile_query[1], qkv_at(p, qkv, 1, first), stride, p.rows - first);
  start_tile(tile_value, qkv_at(p, qkv, 2, first), stride, p.rows - first);
  close_copies();
  if (from < queries) {
    start(0, from);
    wait_for_copies<1>();
  } else {
    wait_for_copies<0>();
  }
  __syncthreads();
  FragmentA key[kSteps];
  load_own_rows(tile_query[1], p, key);
  const OwnRows<T> value{tile_value.value, p};

  float d_key[kColumns][4] = {};
  float d_value[kColumns][4] = {};
  // Of this lane's two keys in the words that forward left: g + 8 r is key 8 n + 2 t + j.
  const int kept_column = p.g / 2;
  const int kept_bit = 4 * p.warp + p.g % 2;
  int stage = 0;
  for (; from < queries; from += kTile, stage ^= 1) {
    wait_for_copies<0>();
    statistics[stage][thread / kTile][thread % kTile] =
        thread < kTile ? next_statistic * kLog2E : next_statistic;
    if constexpr (kDropout) kept[stage][thread] = next_kept;
    __syncthreads();
    if (from + kTile < queries) start(stage ^ 1, from + kTile);
    const bool all = sees_all(a, p, from, first);
#pragma unroll 1
    for (int part = 0; part < kTile; part += kQuarter) {
      float weight[kQuarter / 8][4] = {};
      float d_score[kQuarter / 8][4] = {};
      multiply_tile<T, kQuarter / 8>(key, tile_query[stage].value, part, p.lane, weight);
      multiply_tile<T, kQuarter / 8>(value, tile_d_output[stage].value, part, p.lane, d_score);
#pragma unroll
      for (int n = 0; n < kQuarter / 8; ++n) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int query = part + 8 * n + 2 * p.t + j;
          const float log_sum = statistics[stage][0][query];
          const float delta = statistics[stage][1][query];
          std::uint32_t bits = 0;  // bit 0: of key g, bit 2: of key g + 8
          if constexpr (kDropout) {
            const int word = 32 * (part / 16) + 4 * (2 * p.t + j) + kept_column;
            bits = kept[stage][word] >> (16 * (n % 2) + kept_bit);
          }
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const int i = 2 * r + j;
            float w = fast_exp2(weight[n][i] * kScoreScaleLog2 - log_sum);
            if (!all && !sees(a, p, from + query, first + 16 * p.warp + p.g + 8 * r)) w = 0;
            float d = d_score[n][i];
            weight[n][i] = w;
            if constexpr (kDropout) {
              const bool keep = (bits >> (2 * r) & 1U) != 0;
              d = keep ? d * a.dropout.key.scale : 0.0F;
              weight[n][i] = keep ? w : 0.0F;
            }
            d_score[n][i] = w * (d - delta);
          }
        }
      }
      add_weighted_rows<T, kQuarter / 8>(weight, tile_d_output[stage].value, part, p.lane, d_value);
      add_weighted_rows<T, kQuarter / 8>(d_score, tile_query[stage].value, part, p.lane, d_key);
    }
  }
  const int row = first + 16 * p.warp;
  T* d_qkv = static_cast<T*>(a.d_qkv);
  const float scale = kDropout ? a.dropout.key.scale : 1.0F;
  __syncthreads();
  store_rows(tile_query[0].value, qkv_at(p, d_qkv, 1, row), stride, p, p.rows - row, d_key,
             kScoreScale, kScoreScale, a.d_largest);
  store_rows(tile_query[0].value, qkv_at(p, d_qkv, 2, row), stride, p, p.rows - row, d_value, scale,
             scale, a.d_largest);
  leave_sums(a, p, 1, d_key, kScoreScale, sums_of(tile_query[1]));
  leave_sums(a, p, 2, d_value, scale, sums_of(tile_query[1]));
}

}  // namespace

std::int64_t attention_partials_bytes(std::int64_t sequences, std::int64_t length,
                                      std::int64_t hidden) {
  return sequences * ceil_divide(length, kTile) * 3 * hidden * 4;
}

void flash_backward(DType type, const Attention& a, Stream stream) {
  std::int64_t rows_of_sums = a.sequences * ceil_divide(a.length, kTile);
  if (has_whole_head_backward(a.length)) {
    flash_whole_head_backward(type, a, stream);
    rows_of_sums = a.sequences;
  } else {
    with_half_type(type, [&]<typename T>(Tag<T>) {
      const bool dropout = a.dropout.on;
      const dim3 grid = flash_grid(a);
      launch(dropout ? flash_query_kernel<T, true> : flash_query_kernel<T, false>, grid,
             dim3(kFlashThreads), 0, stream, a);
      launch(dropout ? flash_key_kernel<T, true> : flash_key_kernel<T, false>, grid,
             dim3(kFlashThreads), 0, stream, a);
    });
  }
  reduce_partials(a.partials, rows_of_sums, 3 * a.heads * kFlashHead, a.sums, a.accumulate, stream);
}

}  // namespace bert::cuda
