// What the tensor-core attention kernels share: tiles of 64 rows in shared memory, dropout bits of
// a tile, places of a lane.
//
// A block has four warps and a tile of 64 rows; a warp has 16 of them. Tiles lie in shared memory
// with 8 elements of padding a row, which keeps the 32-bit operand loads free of bank conflicts.
#pragma once

#include "workloads/bert/cuda/device/mma.h"
#include "workloads/bert/cuda/kernels/attention.h"
#include "workloads/bert/cuda/kernels/device_dropout.h"
#include "workloads/bert/cuda/kernels/dispatch.h"

namespace bert::cuda {

inline constexpr int kTile = 64;
inline constexpr int kLd = kFlashHead + 8;
inline constexpr int kFlashThreads = 128;
inline constexpr int kSteps = kFlashHead / 16;   ///< products along the head
inline constexpr int kColumns = kFlashHead / 8;  ///< accumulators along the head
inline constexpr float kScoreScale = 0.125F;     ///< 1 / sqrt(64)

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

/// Rows beyond the sequence become zeros, so they add nothing to any product.
template <typename T>
__device__ __forceinline__ void load_tile(Tile<T>& tile, const T* from, std::int64_t stride,
                                          int rows) {
  for (int v = static_cast<int>(threadIdx.x); v < kTile * 8; v += kFlashThreads) {
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
__device__ __forceinline__ void fill_kept(const Attention& a, const FlashPlace& p, int first_query,
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
__device__ __forceinline__ void store_rows(T* first, std::int64_t stride, const FlashPlace& p,
                                           int rows, const float (*values)[4], float low,
                                           float high) {
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

template <typename Body>
void with_half_type(DType type, const Body& body) {
  if (type == DType::bf16) return body(Tag<Bf16>{});
  return body(Tag<Half>{});
}

inline dim3 flash_grid(const Attention& a) {
  return blocks(ceil_divide(a.length, kTile), a.heads, a.sequences);
}

}  // namespace bert::cuda
