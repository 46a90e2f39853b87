// Attention on tensor cores for heads of 64: scores never leave the chip (Dao et al. 2022,
// "FlashAttention"). Backward is two kernels, one over keys and one over queries, so that no sum
// needs an atomic: seven products instead of five, and the same bits every time.
//
// A block has four warps and a tile of 64 rows; a warp has 16 of them. Tiles lie in shared memory
// with 8 elements of padding a row, which keeps the 32-bit operand loads free of bank conflicts.
#include "workloads/bert/cuda/device_dropout.h"
#include "workloads/bert/cuda/kernels/attention.h"
#include "workloads/bert/cuda/kernels/dispatch.h"
#include "workloads/bert/cuda/mma.h"

namespace bert::cuda {
namespace {

constexpr int kTile = 64;
constexpr int kLd = kFlashHead + 8;
constexpr int kThreads = 128;
constexpr int kSteps = kFlashHead / 16;   ///< products along the head
constexpr int kColumns = kFlashHead / 8;  ///< accumulators along the head
constexpr float kScale = 0.125F;          ///< 1 / sqrt(64)

template <typename T>
struct alignas(16) Tile {
  T value[kTile * kLd];
};

struct Place {
  int lane, warp, g, t;  ///< g, t: this lane's row and column pair in an accumulator
  int head, keys, hidden;
  std::int64_t sequence;
};
__device__ __forceinline__ Place place_of(const Attention& a) {
  Place p;
  p.lane = static_cast<int>(threadIdx.x) % kWarp;
  p.warp = static_cast<int>(threadIdx.x) / kWarp;
  p.g = p.lane / 4;
  p.t = p.lane % 4;
  p.head = static_cast<int>(blockIdx.y);
  p.sequence = blockIdx.z;
  p.keys = a.lengths[p.sequence];
  p.hidden = a.heads * kFlashHead;
  return p;
}

/// First of the 64 columns of a head: part 0 query, 1 key, 2 value, at position i.
template <typename T>
__device__ __forceinline__ T* qkv_at(const Attention& a, const Place& p, T* qkv, int part, int i) {
  return qkv + (p.sequence * a.length + i) * 3 * p.hidden + part * p.hidden + p.head * kFlashHead;
}
template <typename T>
__device__ __forceinline__ T* out_at(const Attention& a, const Place& p, T* out, int i) {
  return out + (p.sequence * a.length + i) * p.hidden + p.head * kFlashHead;
}

/// Rows beyond the sequence become zeros, so they add nothing to any product.
template <typename T>
__device__ __forceinline__ void load_tile(Tile<T>& tile, const T* from, std::int64_t stride,
                                          int rows) {
  for (int v = static_cast<int>(threadIdx.x); v < kTile * 8; v += kThreads) {
    const int row = v / 8;
    const int column = v % 8 * 8;
    Eight<T> eight;
    if (row < rows) {
      eight = *reinterpret_cast<const Eight<T>*>(from + row * stride + column);
    } else {
      for (int i = 0; i < 8; ++i) eight.value[i] = from_float<T>(0.0F);
    }
    *reinterpret_cast<Eight<T>*>(tile.value + row * kLd + column) = eight;
  }
}

/// kept[r] = dropout bits of query first_query + r against keys first_key .. + 63, for 16 rows.
__device__ __forceinline__ void fill_kept(const Attention& a, const Place& p, int first_query,
                                          int first_key, std::uint64_t* kept) {
  const DropoutKey key = key_of(a.dropout, p.sequence);
  const auto s = static_cast<std::uint64_t>(a.length);
  const auto element = [&](int row) {
    return (static_cast<std::uint64_t>(p.head) * s +
            static_cast<std::uint64_t>(first_query + row)) *
               s +
           static_cast<std::uint64_t>(first_key);
  };
  if (a.length % 64 == 0) {  // two rows a pass
    for (int row = 0; row < 16; row += 2) {
      const KeptGroups groups =
          kept_groups(key, static_cast<std::uint32_t>(element(row) / 64),
                      static_cast<std::uint32_t>(element(row + 1) / 64), p.lane);
      if (p.lane < 2) kept[row + p.lane] = group_bits(groups, p.lane == 1);
    }
  } else {
    for (int row = 0; row < 16; ++row) {
      const std::uint64_t bits = kept_sixty_four(key, element(row), p.lane);
      if (p.lane == 0) kept[row] = bits;
    }
  }
}

__device__ __forceinline__ float keep_factor(const Attention& a, std::uint64_t bits, int key) {
  return (bits >> key & 1U) != 0 ? a.dropout.key.scale : 0.0F;
}

template <typename T>
__device__ __forceinline__ void store_rows(T* first, std::int64_t stride, const Place& p, int rows,
                                           const float (*values)[4], float low, float high) {
  for (int n = 0; n < kColumns; ++n) {
    const int column = 8 * n + 2 * p.t;
    if (p.g < rows) {
      *reinterpret_cast<std::uint32_t*>(first + p.g * stride + column) =
          pack<T>(values[n][0] * low, values[n][1] * low);
    }
    if (p.g + 8 < rows) {
      *reinterpret_cast<std::uint32_t*>(first + (p.g + 8) * stride + column) =
          pack<T>(values[n][2] * high, values[n][3] * high);
    }
  }
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

template <typename T>
__global__ void __launch_bounds__(kThreads) flash_forward_kernel(Attention a) {
  __shared__ Tile<T> tile_key;
  __shared__ Tile<T> tile_value;
  __shared__ std::uint64_t kept[kTile];
  const Place p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);

  load_tile(tile_key, qkv_at(a, p, qkv, 0, first), stride, a.length - first);
  __syncthreads();
  FragmentA query[kSteps];
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    query[k] = load_a(tile_key.value, kLd, 16 * p.warp, 16 * k, p.lane);
  }

  float output[kColumns][4] = {};
  float top[2] = {-INFINITY, -INFINITY};
  float total[2] = {0, 0};
  for (int from = 0; from < p.keys; from += kTile) {
    __syncthreads();
    load_tile(tile_key, qkv_at(a, p, qkv, 1, from), stride, a.length - from);
    load_tile(tile_value, qkv_at(a, p, qkv, 2, from), stride, a.length - from);
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
        const bool used = from + 8 * n + 2 * p.t + i % 2 < p.keys;
        score[n][i] = used ? score[n][i] * kScale : -INFINITY;
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
  store_rows(out_at(a, p, static_cast<T*>(a.output), row), p.hidden, p, a.length - row, output,
             1.0F / total[0], 1.0F / total[1]);
  if (p.t == 0) {
    float* sums = a.log_sums + (p.sequence * a.heads + p.head) * a.length + row;
    for (int r = 0; r < 2; ++r) {
      const int i = p.g + 8 * r;
      if (row + i < a.length) sums[i] = top[r] + logf(total[r]);
    }
  }
}

/// Statistics of 64 queries: log of the softmax's denominator, and delta.
__device__ __forceinline__ void load_statistics(const Attention& a, const Place& p, int first,
                                                float* log_sums, float* delta) {
  const std::int64_t at = (p.sequence * a.heads + p.head) * a.length + first;
  const int i = static_cast<int>(threadIdx.x);
  if (i >= kTile) return;
  const bool inside = first + i < a.length;
  log_sums[i] = inside ? a.log_sums[at + i] : 0.0F;
  delta[i] = inside ? a.delta[at + i] : 0.0F;
}

/// Gradients of 64 keys and values; scores are held transposed, keys along the rows.
template <typename T>
__global__ void __launch_bounds__(kThreads) flash_key_kernel(Attention a) {
  __shared__ Tile<T> tile_query;
  __shared__ Tile<T> tile_d_output;
  __shared__ float log_sums[kTile];
  __shared__ float delta[kTile];
  __shared__ std::uint64_t kept[kTile];
  const Place p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);

  load_tile(tile_query, qkv_at(a, p, qkv, 1, first), stride, a.length - first);
  load_tile(tile_d_output, qkv_at(a, p, qkv, 2, first), stride, a.length - first);
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
  const int queries = first < p.keys ? a.length : 0;  // a tile of padding gets zeros
  for (int from = 0; from < queries; from += kTile) {
    __syncthreads();
    load_tile(tile_query, qkv_at(a, p, qkv, 0, from), stride, a.length - from);
    load_tile(tile_d_output, out_at(a, p, static_cast<const T*>(a.d_output), from), p.hidden,
              a.length - from);
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
          const bool used = first + row < p.keys && from + query < a.length;
          const float w = used ? expf(weight[n][i] * kScale - log_sums[query]) : 0.0F;
          const float factor = a.dropout.on ? keep_factor(a, kept[query], row) : 1.0F;
          weight[n][i] = w * factor;
          d_score[n][i] = w * (d_score[n][i] * factor - delta[query]) * kScale;
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
  store_rows(qkv_at(a, p, d_qkv, 1, row), stride, p, a.length - row, d_key, 1.0F, 1.0F);
  store_rows(qkv_at(a, p, d_qkv, 2, row), stride, p, a.length - row, d_value, 1.0F, 1.0F);
}

/// Gradients of 64 queries.
template <typename T>
__global__ void __launch_bounds__(kThreads) flash_query_kernel(Attention a) {
  __shared__ Tile<T> tile_key;
  __shared__ Tile<T> tile_value;
  __shared__ float log_sums[kTile];
  __shared__ float delta[kTile];
  __shared__ std::uint64_t kept[kTile];
  const Place p = place_of(a);
  const int first = static_cast<int>(blockIdx.x) * kTile;
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);

  load_tile(tile_key, qkv_at(a, p, qkv, 0, first), stride, a.length - first);
  load_tile(tile_value, out_at(a, p, static_cast<const T*>(a.d_output), first), p.hidden,
            a.length - first);
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
  for (int from = 0; from < p.keys; from += kTile) {
    __syncthreads();
    load_tile(tile_key, qkv_at(a, p, qkv, 1, from), stride, a.length - from);
    load_tile(tile_value, qkv_at(a, p, qkv, 2, from), stride, a.length - from);
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
          const float w =
              from + column < p.keys ? expf(weight[n][i] * kScale - row_log[i / 2]) : 0.0F;
          const float factor = a.dropout.on ? keep_factor(a, bits[i / 2], column) : 1.0F;
          d_score[n][i] = w * (d_score[n][i] * factor - row_delta[i / 2]) * kScale;
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
  store_rows(qkv_at(a, p, static_cast<T*>(a.d_qkv), 0, row), stride, p, a.length - row, d_query,
             1.0F, 1.0F);
}

template <typename Body>
void with_half_type(DType type, const Body& body) {
  if (type == DType::bf16) return body(Tag<Bf16>{});
  return body(Tag<Half>{});
}

dim3 grid_of(const Attention& a) {
  return blocks(ceil_divide(a.length, kTile), a.heads, a.sequences);
}

}  // namespace

void flash_forward(DType type, const Attention& a, Stream stream) {
  with_half_type(type, [&]<typename T>(Tag<T>) {
    launch(flash_forward_kernel<T>, grid_of(a), dim3(kThreads), 0, stream, a);
  });
}

void flash_backward(DType type, const Attention& a, Stream stream) {
  with_half_type(type, [&]<typename T>(Tag<T>) {
    launch(flash_key_kernel<T>, grid_of(a), dim3(kThreads), 0, stream, a);
    launch(flash_query_kernel<T>, grid_of(a), dim3(kThreads), 0, stream, a);
  });
}

}  // namespace bert::cuda
