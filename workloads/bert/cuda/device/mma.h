// Tensor-core products of one warp: c[16, 8] += a[16, 16] b[16, 8], bf16 or fp16 in, fp32 out
// (PTX mma.m16n8k16, sm_80 and later). Lane 4 g + t holds of c: rows g and g + 8, columns 2 t and
// 2 t + 1. Of a: the same rows, columns 2 t, 2 t + 1 (+ 8); of b: column g, rows 2 t, 2 t + 1
// (+ 8). So the c of one product can be packed into the a of the next without an exchange.
#pragma once

#include "workloads/bert/cuda/device/numbers.h"

namespace bert::cuda {

struct FragmentA {
  std::uint32_t part[4];
};
struct FragmentB {
  std::uint32_t part[2];
};

template <typename T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  struct Two {
    T value[2];
  };
  const Two two{{from_float<T>(low), from_float<T>(high)}};
  std::uint32_t bits;
  memcpy(&bits, &two, sizeof bits);
  return bits;
}

template <typename T>
__device__ __forceinline__ std::uint32_t two_at(const T* address) {
  return *reinterpret_cast<const std::uint32_t*>(address);
}

/// Two accumulators side by side, 16 columns in all, as the left operand of the next product.
template <typename T>
__device__ __forceinline__ FragmentA pack_a(const float* left, const float* right) {
  return {{pack<T>(left[0], left[1]), pack<T>(left[2], left[3]), pack<T>(right[0], right[1]),
           pack<T>(right[2], right[3])}};
}

/// a[i][k] = tile[(row + i) * ld + column + k].
template <typename T>
__device__ __forceinline__ FragmentA load_a(const T* tile, int ld, int row, int column, int lane) {
  const T* at = tile + (row + lane / 4) * ld + column + 2 * (lane % 4);
  return {{two_at(at), two_at(at + 8 * ld), two_at(at + 8), two_at(at + 8 * ld + 8)}};
}

/// b[k][j] = tile[(row + j) * ld + column + k]: rows of the tile are columns of b.
template <typename T>
__device__ __forceinline__ FragmentB load_b(const T* tile, int ld, int row, int column, int lane) {
  const T* at = tile + (row + lane / 4) * ld + column + 2 * (lane % 4);
  return {{two_at(at), two_at(at + 8)}};
}

#ifdef __CUDACC__

/// b[k][j] = tile[(row + k) * ld + column + j].
template <typename T>
__device__ __forceinline__ FragmentB load_b_rows(const T* tile, int ld, int row, int column,
                                                 int lane) {
  const T* at = tile + (row + lane % 16) * ld + column;
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
  FragmentB b;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b.part[0]), "=r"(b.part[1])
               : "r"(address)
               : "memory");
  return b;
}

template <typename T>
__device__ __forceinline__ void multiply_add(float* c, const FragmentA& a, const FragmentB& b) {
  if constexpr (sizeof(T) == 2 && __is_same(T, Bf16)) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]), "r"(b.part[0]),
          "r"(b.part[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]), "r"(b.part[0]),
          "r"(b.part[1]));
  }
}

#else  // What the two instructions do, by their definition in the PTX manual (9.7.14).

template <typename T>
FragmentB load_b_rows(const T* tile, int ld, int row, int column, int lane) {
  __syncwarp();  // ldmatrix is a collective
  const T* at = tile + (row + 2 * (lane % 4)) * ld + column + lane / 4;
  FragmentB b;
  for (int part = 0; part < 2; ++part) {
    const T two[2] = {at[8 * part * ld], at[(8 * part + 1) * ld]};
    std::memcpy(&b.part[part], two, sizeof two);
  }
  return b;
}

template <typename T>
void multiply_add(float* c, const FragmentA& a, const FragmentB& b) {
  T parts[12];
  std::memcpy(parts, a.part, sizeof a.part);
  std::memcpy(parts + 8, b.part, sizeof b.part);
  float own[12];
  for (int i = 0; i < 12; ++i) own[i] = to_float(parts[i]);
  const unsigned char* all = emulated::gather(own, sizeof own, kAllLanes);
  const auto value = [all](int source, int i) {
    float x;
    std::memcpy(&x, all + 64 * source + 4 * i, sizeof x);
    return x;
  };
  const int lane = emulated::lane();
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + 8 * (i / 2);
    const int column = 2 * (lane % 4) + i % 2;
    float sum = c[i];
    for (int k = 0; k < 16; ++k) {
      const int pair = k % 8 / 2;
      sum += value(row % 8 * 4 + pair, 2 * (row / 8 + 2 * (k / 8)) + k % 2) *
             value(column * 4 + pair, 8 + 2 * (k / 8) + k % 2);
    }
    c[i] = sum;
  }
}

#endif

}  // namespace bert::cuda
