// Tensor-core products of one warp: c[16, 8] += a[16, 16] b[16, 8], bf16 or fp16 in, fp32 out
// (PTX mma.m16n8k16, sm_80 and later). Lane 4 g + t holds of c: rows g and g + 8, columns 2 t and
// 2 t + 1. Of a: the same rows, columns 2 t, 2 t + 1 (+ 8); of b: column g, rows 2 t, 2 t + 1
// (+ 8). So the c of one product can be packed into the a of the next without an exchange.
#pragma once

#ifndef __CUDACC__
#include <cstdlib>
#endif

#include "workloads/bert/cuda/device/numbers.h"

namespace bert::cuda {

struct FragmentA {
  std::uint32_t part[4];
};
struct FragmentB {
  std::uint32_t part[2];
};

/// Two accumulators side by side, 16 columns in all, as the left operand of the next product.
template <typename T>
__device__ __forceinline__ FragmentA pack_a(const float* left, const float* right) {
  return {{pack<T>(left[0], left[1]), pack<T>(left[2], left[3]), pack<T>(right[0], right[1]),
           pack<T>(right[2], right[3])}};
}

/// Two operands b side by side, 16 columns in all.
struct FragmentsB {
  FragmentB left, right;
};

// Operands from a tile in shared memory whose rows lie at multiples of 16 bytes: one ldmatrix for
// four 8 x 8 matrices. `lane` names the row that this lane gives the address of.
#ifdef __CUDACC__

/// The four matrices whose rows lie at the addresses of lanes 0 - 7, 8 - 15, 16 - 23 and 24 - 31.
template <bool kTransposed, typename T>
__device__ __forceinline__ void load_matrices(const T* at, std::uint32_t* part) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
                 : "r"(address));
  }
}

#else  // By its definition in the PTX manual (9.7.14).

template <bool kTransposed, typename T>
void load_matrices(const T* at, std::uint32_t* part) {
  if (reinterpret_cast<std::uintptr_t>(at) % 16 != 0) std::abort();
  const unsigned char* all = emulated::gather(&at, sizeof at, kAllLanes);
  const int lane = emulated::lane();
  for (int matrix = 0; matrix < 4; ++matrix) {
    T two[2];
    for (int i = 0; i < 2; ++i) {
      const int row = kTransposed ? 2 * (lane % 4) + i : lane / 4;
      const int column = kTransposed ? lane / 4 : 2 * (lane % 4) + i;
      const T* first;
      std::memcpy(&first, all + 64 * (8 * matrix + row), sizeof first);
      two[i] = first[column];
    }
    std::memcpy(&part[matrix], two, sizeof two);
  }
}

#endif

/// a[i][k] = tile[(row + i) * ld + column + k].
template <typename T>
__device__ __forceinline__ FragmentA load_a(const T* tile, int ld, int row, int column, int lane) {
  FragmentA a;
  load_matrices<false>(tile + (row + lane % 16) * ld + column + 8 * (lane / 16), a.part);
  return a;
}

/// a[i][k] = tile[(row + k) * ld + column + i]: columns of the tile are rows of a.
template <typename T>
__device__ __forceinline__ FragmentA load_a_columns(const T* tile, int ld, int row, int column,
                                                    int lane) {
  FragmentA a;
  load_matrices<true>(tile + (row + (lane & 7) + (lane & 16) / 2) * ld + column + (lane & 8),
                      a.part);
  return a;
}

/// b[k][j] = tile[(row + j) * ld + column + k]: rows of the tile are columns of b. The right one
/// begins at row + 8.
template <typename T>
__device__ __forceinline__ FragmentsB load_b(const T* tile, int ld, int row, int column, int lane) {
  std::uint32_t part[4];
  load_matrices<false>(tile + (row + lane % 8 + 8 * (lane / 16)) * ld + column + 8 * (lane / 8 % 2),
                       part);
  return {{{part[0], part[1]}}, {{part[2], part[3]}}};
}

/// b[k][j] = tile[(row + k) * ld + column + j]; the right one begins at column + 8.
template <typename T>
__device__ __forceinline__ FragmentsB load_b_rows(const T* tile, int ld, int row, int column,
                                                  int lane) {
  std::uint32_t part[4];
  load_matrices<true>(tile + (row + lane % 16) * ld + column + 8 * (lane / 16), part);
  return {{{part[0], part[1]}}, {{part[2], part[3]}}};
}

/// 16 bytes from global to shared memory while the thread goes on, zeros where `inside` is false;
/// there after wait_for_copies() and a barrier.
__device__ __forceinline__ void start_copy(void* shared, const void* global, bool inside) {
#ifdef __CUDACC__
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
               "r"(inside ? 16 : 0)
               : "memory");
#else
  *static_cast<Words*>(shared) = inside ? *static_cast<const Words*>(global) : Words{};
#endif
}
/// What was started since the last call becomes one group.
__device__ __forceinline__ void close_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Until all groups of this thread but the latest kPending have arrived.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

#ifdef __CUDACC__

template <typename T>
__device__ __forceinline__ void multiply_add(float* c, const FragmentA& a, const FragmentB& b) {
  if constexpr (sizeof(T) == 2 && __is_same(T, Bf16)) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]), "r"(b.part[0]),
          "r"(b.part[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]), "r"(b.part[0]),
          "r"(b.part[1]));
  }
}

#else  // By its definition in the same place.

template <typename T>
void multiply_add(float* c, const FragmentA& a, const FragmentB& b) {
  T parts[12];
  std::memcpy(parts, a.part, sizeof a.part);
  std::memcpy(parts + 8, b.part, sizeof b.part);
  float own[12];
  for (int i = 0; i < 12; ++i) own[i] = to_float(parts[i]);
  const unsigned char* all = emulated::gather(own, sizeof own, kAllLanes);
  // Of this lane's two rows of a and two columns of b, number k: each four lanes hold one.
  float rows[16][2];
  float columns[16][2];
  const int lane = emulated::lane();
  for (int pair = 0; pair < 4; ++pair) {
    float of_a[8];
    std::memcpy(of_a, all + 64 * (lane / 4 * 4 + pair), sizeof of_a);
    float of_b[2][4];
    for (int column = 0; column < 2; ++column) {
      const int source = (2 * (lane % 4) + column) * 4 + pair;
      std::memcpy(of_b[column], all + 64 * source + sizeof of_a, sizeof of_b[column]);
    }
    for (int i = 0; i < 4; ++i) {
      const int k = 2 * pair + 8 * (i / 2) + i % 2;
      for (int j = 0; j < 2; ++j) {
        rows[k][j] = of_a[4 * (i / 2) + 2 * j + i % 2];
        columns[k][j] = of_b[j][i];
      }
    }
  }
  for (int k = 0; k < 16; ++k) {
    for (int i = 0; i < 4; ++i) c[i] += rows[k][i / 2] * columns[k][i % 2];
  }
}

#endif

}  // namespace bert::cuda
