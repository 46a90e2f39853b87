// dropout.h on the device: the same masks as the CPU backend's.
#pragma once

#include "workloads/bert/cuda/device/numbers.h"
#include "workloads/bert/cuda/kernels/kernels.h"
#include "workloads/bert/model/dropout.h"

namespace bert::cuda {

__device__ __forceinline__ DropoutKey key_of(const Dropout& dropout, std::int64_t sequence) {
  const auto index = static_cast<std::uint64_t>(dropout.first_sequence + sequence);
  DropoutKey key = dropout.key;
  key.sequence = static_cast<std::uint32_t>(index);
  key.site ^= static_cast<std::uint32_t>(index >> 32) << 16;
  return key;
}

/// Lanes 0-15 compute the blocks of one group of 64 elements, lanes 16-31 those of another: bits
/// [0, 16) and [16, 32) of word[w] say which of elements 16 w .. 16 w + 15 of each are kept.
struct KeptGroups {
  unsigned word[4];
};
__device__ __forceinline__ KeptGroups kept_groups(const DropoutKey& key, std::uint32_t low_group,
                                                  std::uint32_t high_group, int lane) {
  const std::uint32_t group = lane < 16 ? low_group : high_group;
  const auto words =
      philox({16 * group + static_cast<std::uint32_t>(lane % 16), key.sequence, key.site, key.step},
             {key.key0, key.key1});
  KeptGroups kept;
#pragma unroll
  for (int w = 0; w < 4; ++w) kept.word[w] = __ballot_sync(kAllLanes, words[w] >= key.threshold);
  return kept;
}
/// Kept bits of this lane's 8 elements first + 8 lane .. + 7 of a group of 256, first % 64 == 0.
__device__ __forceinline__ unsigned kept_eight(const DropoutKey& key, std::uint64_t first,
                                               int lane) {
  const auto group = static_cast<std::uint32_t>(first / 64);
  unsigned mask = 0;
#pragma unroll
  for (int pass = 0; pass < 2; ++pass) {
    const auto low = group + 2 * static_cast<std::uint32_t>(pass);
    const KeptGroups kept = kept_groups(key, low, low + 1, lane);
    const int w = lane % 8 / 2;
    unsigned word = kept.word[0];
    word = w == 1 ? kept.word[1] : word;
    word = w == 2 ? kept.word[2] : word;
    word = w == 3 ? kept.word[3] : word;
    const unsigned own = word >> (16 * (lane / 8 % 2) + 8 * (lane % 2)) & 0xffU;
    mask = lane / 16 == pass ? own : mask;
  }
  return mask;
}

/// Kept bits of this lane's columns of a row, 8 bits a group of 256 columns. The row's groups are
/// dealt out to `kShare` warps in turn: this one has groups part, part + kShare, ..., at most four.
/// `first` is the element of column 0. All lanes of the warp call. kWhole: the width is known to be
/// a multiple of 64.
template <int kShare, bool kWhole = false>
__device__ __forceinline__ unsigned kept_row(const DropoutKey& key, std::uint64_t first, int width,
                                             int lane, int part) {
  unsigned mask = 0;
  if (kWhole || width % 64 == 0) {
    int shift = 0;
#pragma unroll 1
    for (int column = 256 * part; column < width; column += 256 * kShare) {
      mask |= kept_eight(key, first + static_cast<std::uint64_t>(column), lane) << shift;
      shift += 8;
    }
    return mask;
  }
  if constexpr (!kWhole) {  // models of odd sizes: one element at a time
#pragma unroll 1
    for (int i = 0; i < 32; ++i) {
      const int group = kShare * (i / 8) + part;
      const auto column = static_cast<std::uint64_t>(256 * group + 8 * lane + i % 8);
      if (dropout_keeps(key, first + column)) mask |= 1U << i;
    }
  }
  return mask;
}

}  // namespace bert::cuda
