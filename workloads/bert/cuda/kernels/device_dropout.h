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

/// Dropout of this micro-step in place of the one that was recorded.
template <typename Arguments>
__device__ __forceinline__ void read_values(Arguments& a) {
  a.dropout.key.step = a.values->step;
  a.dropout.first_sequence = a.values->first_sequence;
}

/// 2 bits + 1 where value + addend has 33 bits, else 2 bits.
__device__ __forceinline__ unsigned append_carry(unsigned bits, std::uint32_t value,
                                                 std::uint32_t addend) {
#ifdef __CUDACC__  // two instructions; of a comparison the compiler makes four
  unsigned out;
  asm("{.reg .u32 sum; add.cc.u32 sum, %1, %2; addc.u32 %0, %3, %3;}"
      : "=r"(out)
      : "r"(value), "r"(addend), "r"(bits));
  return out;
#else
  return 2 * bits + (value + addend < value ? 1 : 0);
#endif
}

/// Whether the eight elements of a Philox block are kept: bit i is that of element 8 block + i.
__device__ __forceinline__ unsigned kept_eight(const DropoutKey& key, std::uint32_t block) {
  const auto words = dropout_words(key, block);
  // From the threshold on a number gives a carry. Where the element's half of a word is the upper
  // one, the lower cannot change that.
  const std::uint32_t addend = 0U - (key.threshold << 16);
  unsigned kept = 0;
#pragma unroll
  for (int i = 7; i >= 0; --i) {
    const std::uint32_t word = words[static_cast<std::size_t>(i / 2)];
    kept = append_carry(kept, i % 2 != 0 ? word : word << 16, addend);
  }
  return kept;
}
/// dropout_keeps() without an index into registers.
__device__ __forceinline__ bool keeps(const DropoutKey& key, std::uint64_t element) {
  return (kept_eight(key, static_cast<std::uint32_t>(element / 8)) >> (element % 8) & 1U) != 0;
}

/// Kept bits of this lane's columns of a row, 8 bits a group of 256 columns. The row's groups are
/// dealt out to `kShare` warps in turn: this one has groups part, part + kShare, ..., kGroups at
/// most. `first` is the element of column 0. kWhole: the width is known to be a multiple of 8.
template <int kShare, int kGroups, bool kWhole = false>
__device__ __forceinline__ unsigned kept_row(const DropoutKey& key, std::uint64_t first, int width,
                                             int lane, int part) {
  unsigned mask = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int column = 256 * (kShare * g + part) + 8 * lane;
    if (column >= width) continue;
    const std::uint64_t element = first + static_cast<std::uint64_t>(column);
    if (kWhole || width % 8 == 0) {
      mask |= kept_eight(key, static_cast<std::uint32_t>(element / 8)) << (8 * g);
    } else if constexpr (!kWhole) {  // models of odd sizes: one element at a time
#pragma unroll 1
      for (unsigned i = 0; i < 8; ++i) {
        if (keeps(key, element + i)) mask |= 1U << (8 * static_cast<unsigned>(g) + i);
      }
    }
  }
  return mask;
}

}  // namespace bert::cuda
