// What the tensor-core attention kernels share: tiles of 64 rows in shared memory, dropout bits of
// a tile, places of a lane.
//
// A block has four warps and a tile of 64 rows; a warp has 16 of them. Tiles lie in shared memory
// with 8 elements of padding a row, which keeps ldmatrix free of bank conflicts. The tiles that a
// block walks over have two places each: one is copied while the other is computed with.
#pragma once

#include "workloads/bert/cuda/device/mma.h"
#include "workloads/bert/cuda/kernels/attention.h"
#include "workloads/bert/cuda/kernels/device_dropout.h"
#include "workloads/bert/cuda/kernels/dispatch.h"
#include "workloads/bert/cuda/kernels/magnitudes.h"

namespace bert::cuda {

inline constexpr int kTile = 64;
inline constexpr int kLd = kFlashHead + 8;
inline constexpr int kFlashThreads = 128;
inline constexpr int kSteps = kFlashHead / 16;   ///< products along the head
inline constexpr int kColumns = kFlashHead / 8;  ///< accumulators along the head
inline constexpr float kScoreScale = 0.125F;     ///< 1 / sqrt(64)
/// Of a score inside exp2().
inline constexpr float kScoreScaleLog2 = kScoreScale * kLog2E;
inline constexpr float kLn2 = 0.693147181F;

template <typename T>
struct alignas(16) Tile {
  T value[kTile * kLd];
};

struct FlashPlace {
  int lane, warp, g, t;  ///< g, t: this lane's row and column pair in an accumulator
  int head, keys, hidden;
  int rows;  ///< of the sequence
  std::int64_t sequence, first_row;
};
__device__ __forceinline__ FlashPlace place_of(const Attention& a) {
  FlashPlace p;
  p.lane = static_cast<int>(threadIdx.x) % kWarp;
  p.warp = static_cast<int>(threadIdx.x) / kWarp;
  p.g = p.lane / 4;
  p.t = p.lane % 4;
  p.head = static_cast<int>(blockIdx.y);
  p.sequence = blockIdx.z;
  p.keys = a.lengths[p.sequence];
  const SequenceRows rows = rows_of(a, p.sequence);
  p.first_row = rows.first;
  p.rows = rows.count;
  p.hidden = a.heads * kFlashHead;
  return p;
}

/// Whether a query's row uses a key's column of its scores.
__device__ __forceinline__ bool sees(const Attention& a, const FlashPlace& p, int query, int key) {
  return key < p.keys && (!a.causal || key <= query);
}
/// Whether every query from `first_query` on sees every key of the tile from `first_key` on.
__device__ __forceinline__ bool sees_all(const Attention& a, const FlashPlace& p, int first_query,
                                         int first_key) {
  return first_key + kTile <= p.keys && (!a.causal || first_key + kTile - 1 <= first_query);
}
/// Keys that any query of the tile from `first` on sees.
__device__ __forceinline__ int keys_of_tile(const Attention& a, const FlashPlace& p, int first) {
  return a.causal && first + kTile < p.keys ? first + kTile : p.keys;
}

/// First of the 64 columns of a head: part 0 query, 1 key, 2 value, at position i.
template <typename T>
__device__ __forceinline__ T* qkv_at(const FlashPlace& p, T* qkv, int part, int i) {
  return qkv + (p.first_row + i) * 3 * p.hidden + part * p.hidden + p.head * kFlashHead;
}
template <typename T>
__device__ __forceinline__ T* out_at(const FlashPlace& p, T* out, int i) {
  return out + (p.first_row + i) * p.hidden + p.head * kFlashHead;
}

/// Starts to copy 64 rows. Those beyond the sequence become zeros, so they add nothing to any
/// product.
template <typename T>
__device__ __forceinline__ void start_tile(Tile<T>& tile, const T* from, std::int64_t stride,
                                           int rows) {
  constexpr int kRows = kFlashThreads / 8;  ///< that all threads copy at once
  const int column = static_cast<int>(threadIdx.x % 8 * 8);
  int row = static_cast<int>(threadIdx.x / 8);
  from += row * stride + column;
#pragma unroll
  for (int pass = 0; pass < kTile / kRows; ++pass, row += kRows, from += kRows * stride) {
    start_copy(tile.value + row * kLd + column, from, row < rows);
  }
}

/// The lane's operands of its warp's 16 rows, along the whole head.
template <typename T>
__device__ __forceinline__ void load_own_rows(const Tile<T>& tile, const FlashPlace& p,
                                              FragmentA* rows) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    rows[k] = load_a(tile.value, kLd, 16 * p.warp, 16 * k, p.lane);
  }
}

/// The same, one step along the head after the other, from memory at each use: where registers are
/// short.
template <typename T>
struct OwnRows {
  const T* tile;
  const FlashPlace& p;
  __device__ __forceinline__ FragmentA operator[](int k) const {
    return load_a(tile, kLd, 16 * p.warp, 16 * k, p.lane);
  }
};

/// score[n] += own rows times columns first + 8 n .. + 7 of the transposed tile.
template <typename T, int kCount, typename Rows>
__device__ __forceinline__ void multiply_tile(const Rows& rows, const T* tile, int first, int lane,
                                              float (*score)[4]) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    const FragmentA own = rows[k];
#pragma unroll
    for (int n = 0; n < kCount; n += 2) {
      const FragmentsB b = load_b(tile, kLd, first + 8 * n, 16 * k, lane);
      multiply_add<T>(score[n], own, b.left);
      multiply_add<T>(score[n + 1], own, b.right);
    }
  }
}

/// sum[n] += the weights times the tile's rows first .. first + 15.
template <typename T>
__device__ __forceinline__ void add_product(const FragmentA& weights, const T* tile, int first,
                                            int lane, float (*sum)[4]) {
#pragma unroll
  for (int n = 0; n < kColumns; n += 2) {
    const FragmentsB b = load_b_rows(tile, kLd, first, 8 * n, lane);
    multiply_add<T>(sum[n], weights, b.left);
    multiply_add<T>(sum[n + 1], weights, b.right);
  }
}

/// sum[n] += weights of the tile's rows first .. first + 8 kCount - 1 times those rows.
template <typename T, int kCount>
__device__ __forceinline__ void add_weighted_rows(const float (*weights)[4], const T* tile,
                                                  int first, int lane, float (*sum)[4]) {
#pragma unroll
  for (int k = 0; k < kCount / 2; ++k) {
    add_product<T>(pack_a<T>(weights[2 * k], weights[2 * k + 1]), tile, first + 16 * k, lane, sum);
  }
}

/// Byte b of lane t of four neighbours holds two bits for each of them; afterwards lane t has in
/// bits 2 s, 2 s + 1 of byte b those that lane s held for it.
__device__ __forceinline__ std::uint32_t exchange_in_quads(std::uint32_t bits, int t) {
#pragma unroll
  for (int lanes = 1; lanes <= 2; ++lanes) {
    // Two by two: of each byte's pairs of fields, the lower lane gives its upper, the upper its
    // lower one.
    const bool upper = (t & lanes) != 0;
    const int shift = 2 * lanes;
    const std::uint32_t low = lanes == 1 ? 0x33333333U : 0x0F0F0F0FU;
    const std::uint32_t own = upper ? ~low : low;
    const std::uint32_t other = __shfl_xor_sync(kAllLanes, bits, lanes);
    bits = (bits & own) | ((upper ? other >> shift : other << shift) & ~own);
  }
  return bits;
}

/// Dropout of 16 queries against 64 keys, as a lane holds their scores: bit 16 r + 2 n + j is that
/// of query `query` + g + 8 r and key `from` + 8 n + 2 t + j. All lanes of the warp call.
__device__ __forceinline__ std::uint32_t kept_bits(const Attention& a, const FlashPlace& p,
                                                   const DropoutKey& key, int query, int from) {
  std::uint32_t bits = 0;
  if (a.length % 8 == 0) {
    const auto blocks_of_row = static_cast<std::uint32_t>(a.length / 8);
    // Keys from + 8 n .. + 7 are a block. This lane draws those of n = t and n = t + 4.
    const std::uint32_t first =
        static_cast<std::uint32_t>(p.head * a.length + query + p.g) * blocks_of_row +
        static_cast<std::uint32_t>(from / 8 + p.t);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      bits |= kept_eight(key, first + i / 2 * 8 * blocks_of_row + i % 2 * 4) << (8 * i);
    }
    return exchange_in_quads(bits, p.t);
  }
  for (int r = 0; r < 2; ++r) {  // one element at a time
    const std::uint64_t first =
        static_cast<std::uint64_t>(p.head * a.length + query + p.g + 8 * r) *
            static_cast<std::uint64_t>(a.length) +
        static_cast<std::uint64_t>(from + 2 * p.t);
#pragma unroll 1
    for (int i = 0; i < 16; ++i) {
      if (keeps(key, first + static_cast<std::uint64_t>(8 * (i / 2) + i % 2))) {
        bits |= 1U << (16 * r + i);
      }
    }
  }
  return bits;
}

/// The words of a tile of 64 queries and 64 keys in Attention::kept: one a lane of four warps.
__device__ __forceinline__ std::uint32_t* kept_of_tile(const Attention& a, const FlashPlace& p,
                                                       int query, int key) {
  const std::int64_t tiles = ceil_divide(a.length, kTile);
  const std::int64_t tile =
      ((p.sequence * a.heads + p.head) * tiles + query / kTile) * tiles + key / kTile;
  return a.kept + tile * kFlashThreads;
}

/// The warp's 16 rows, each value times that of its row; through `tile`, which no other warp may
/// still read, so that memory gets 16 bytes a lane. `largest`, or null: see keep_largest().
template <typename T>
__device__ __forceinline__ void store_rows(T* tile, T* first, std::int64_t stride,
                                           const FlashPlace& p, int rows, const float (*values)[4],
                                           float low, float high,
                                           std::uint32_t* largest = nullptr) {
  T* own = tile + 16 * p.warp * kLd;
#pragma unroll
  for (int n = 0; n < kColumns; ++n) {
    T* at = own + p.g * kLd + 8 * n + 2 * p.t;
    *reinterpret_cast<std::uint32_t*>(at) = pack<T>(values[n][0] * low, values[n][1] * low);
    *reinterpret_cast<std::uint32_t*>(at + 8 * kLd) =
        pack<T>(values[n][2] * high, values[n][3] * high);
  }
  __syncwarp();
  std::uint32_t found = 0;
#pragma unroll
  for (int pass = 0; pass < 4; ++pass) {
    const int row = 4 * pass + p.lane / 8;
    const int column = p.lane % 8 * 8;
    if (row >= rows) continue;
    const Words words = *reinterpret_cast<const Words*>(own + row * kLd + column);
    *reinterpret_cast<Words*>(first + row * stride + column) = words;
    if (largest != nullptr) found = larger_magnitudes(found, words);
  }
  if (largest != nullptr) keep_largest(found, largest);
  __syncwarp();
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

template <typename Body>
void with_half_type(DType type, const Body& body) {
  if (type == DType::bf16) return body(Tag<Bf16>{});
  return body(Tag<Half>{});
}

inline dim3 flash_grid(const Attention& a) {
  return blocks(ceil_divide(a.length, kTile), a.heads, a.sequences);
}

}  // namespace bert::cuda
