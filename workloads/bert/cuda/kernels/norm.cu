// LayerNorm with what stands before and after it: the row in registers of one, two or four warps.
#include "workloads/bert/cuda/kernels/device_dropout.h"
#include "workloads/bert/cuda/kernels/dispatch.h"
#include "workloads/bert/cuda/kernels/magnitudes.h"

namespace bert::cuda {
namespace {

constexpr int kWarps = 4;
/// Rows of partial sums: nearly the 660 blocks that the 132 multiprocessors of an H100 hold at once
/// of 16-bit rows of up to 1024 columns; of others they hold fewer.
constexpr std::int64_t kBackwardBlocks = 640;

template <typename Arguments>
__device__ __forceinline__ std::int64_t place_of_row(const Arguments& a, std::int64_t row) {
  return a.places != nullptr ? std::int64_t{a.places[row]} : row;
}

/// Which columns a thread holds: its warp shares the row with others, groups of 256 columns in
/// turn.
template <int kShare>
struct RowShare {
  int lane = static_cast<int>(threadIdx.x) % kWarp;
  int part = static_cast<int>(threadIdx.x) / kWarp % kShare;
  int team = static_cast<int>(threadIdx.x) / kWarp / kShare;  ///< its row among the block's
  __device__ __forceinline__ int column(int group) const {
    return 256 * (kShare * group + part) + 8 * lane;
  }
};

/// Both sums over the whole row, in all its threads. With kShare > 1 all threads of the block call;
/// `exchange` must not be that of the call before.
template <int kShare>
__device__ __forceinline__ void row_sums(const RowShare<kShare>& at, float (*exchange)[2], float& x,
                                         float& y) {
  x = warp_sum(x);
  y = warp_sum(y);
  if constexpr (kShare > 1) {
    const int first = kShare * at.team;
    if (at.lane == 0) {
      exchange[first + at.part][0] = x;
      exchange[first + at.part][1] = y;
    }
    __syncthreads();
    x = exchange[first][0];
    y = exchange[first][1];
#pragma unroll
    for (int other = 1; other < kShare; ++other) {
      x += exchange[first + other][0];
      y += exchange[first + other][1];
    }
  }
}

/// One sum, likewise.
template <int kShare>
__device__ __forceinline__ float row_sum(const RowShare<kShare>& at, float (*exchange)[2],
                                         float x) {
  x = warp_sum(x);
  if constexpr (kShare > 1) {
    const int first = kShare * at.team;
    if (at.lane == 0) exchange[first + at.part][0] = x;
    __syncthreads();
    x = exchange[first][0];
#pragma unroll
    for (int other = 1; other < kShare; ++other) x += exchange[first + other][0];
  }
  return x;
}

/// What start_eight() began where kWhole; else from memory now.
template <bool kWhole, typename T>
__device__ __forceinline__ void finish(const Started<T>& started, const T* row, int column,
                                       int width, bool whole, float* out) {
  if constexpr (kWhole) {
    finish_eight(started, row, column, width, true, out);
  } else {
    load_eight(row, column, width, whole, out);
  }
}

/// Dropout of one row: before and after are never on together. Bit 8 g + i of `kept` is that of
/// this lane's element i of group g.
struct RowDropout {
  __device__ RowDropout(const Dropout& before, const Dropout& after, unsigned bits)
      : before_on(before.on),
        after_on(after.on),
        scale(before.on ? before.key.scale : after.key.scale),
        kept(bits) {}
  __device__ __forceinline__ float factor(int group, int i) const {
    return (kept >> (8 * group + i) & 1U) != 0 ? scale : 0.0F;
  }
  bool before_on, after_on;
  float scale;
  unsigned kept;
};

/// The bits by dropout's definition.
template <bool kWhole, int kShare, typename Arguments>
__device__ unsigned define_kept(const Arguments& a, std::int64_t place,
                                const RowShare<kShare>& at) {
  if (!a.before.on && !a.after.on) return 0;
  const Dropout& dropout = a.before.on ? a.before : a.after;
  // 32 bits: a device divides 64 in a call. kMostSequences of 32767 rows are as many.
  const auto number = static_cast<std::uint32_t>(place);
  const auto rows = static_cast<std::uint32_t>(a.rows_per_sequence);
  const std::uint64_t element =
      static_cast<std::uint64_t>(number % rows) * static_cast<std::uint64_t>(a.width);
  return kept_row<kShare, kWhole>(key_of(dropout, number / rows), element, a.width, at.lane,
                                  at.part);
}

/// Embeddings: the sum of the row's vectors in three tables.
template <typename T>
__device__ void load_tables(const NormForward& a, std::int64_t row, std::int64_t place, int column,
                            int width, bool whole, float* z) {
  const std::int64_t rows[3] = {a.tokens[row], place % a.rows_per_sequence,
                                a.segment != nullptr ? a.segments[row] : 0};
  const void* tables[3] = {a.word, a.position, a.segment};
  float term[8];
  for (int i = 0; i < 8; ++i) z[i] = 0;
#pragma unroll
  for (int t = 0; t < 3; ++t) {
    if (tables[t] == nullptr) continue;
    load_eight(static_cast<const T*>(tables[t]) + rows[t] * a.width, column, width, whole, term);
    for (int i = 0; i < 8; ++i) z[i] += term[i];
  }
}

/// A block has kWarps / kShare rows. Where warps share a row, all threads go on to the barriers: a
/// team beyond the last row reads that row's place and nothing of its values (width 0).
template <typename T, int kShare, int kGroups, bool kWhole>
__global__ void __launch_bounds__(kWarps* kWarp, sizeof(T) == 2 ? 5 : 4)
    norm_forward_kernel(NormForward a) {
  __shared__ float exchange[2][kWarps][2];
  const RowShare<kShare> at;
  const std::int64_t wanted = std::int64_t{blockIdx.x} * (kWarps / kShare) + at.team;
  const bool active = wanted < a.rows;
  if (kShare == 1 && !active) return;
  const std::int64_t row = active ? wanted : a.rows - 1;
  const int width = active ? a.width : 0;
  const bool whole = kWhole || a.width % 8 == 0;
  const std::int64_t place = place_of_row(a, row);
  const T* input = static_cast<const T*>(a.input) + row * a.width;
  const T* added = static_cast<const T*>(a.residual) + row * a.width;
  Started<T> started[kGroups] = {};
  Started<T> residual[kGroups] = {};
  if constexpr (kWhole) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (a.tokens == nullptr) started[g] = start_eight(input, at.column(g), width, whole);
      if (a.residual != nullptr) residual[g] = start_eight(added, at.column(g), width, whole);
    }
  }
  const RowDropout dropout(a.before, a.after, define_kept<kWhole>(a, place, at));
  if constexpr (kWhole) {
    if (a.before.on || a.after.on) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        const int column = at.column(g);
        if (column >= width) continue;
        a.kept[(row * a.width + column) / 8] = static_cast<std::uint8_t>(dropout.kept >> (8 * g));
      }
    }
  }

  const bool changed = a.sum != a.input || a.bias != nullptr || a.residual != nullptr;

  float z[kGroups][8];
  float total = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int column = at.column(g);
    if (a.tokens == nullptr) {
      finish<kWhole>(started[g], input, column, width, whole, z[g]);
    } else {
      load_tables<T>(a, row, place, column, width, whole, z[g]);
    }
    if (a.bias != nullptr) {
      float bias[8];
      load_eight(a.bias, column, width, whole, bias);
      for (int i = 0; i < 8; ++i) z[g][i] += bias[i];
    }
    if (dropout.before_on) {
      for (int i = 0; i < 8; ++i) z[g][i] *= dropout.factor(g, i);
    }
    if (a.residual != nullptr) {
      float values[8];
      finish<kWhole>(residual[g], added, column, width, whole, values);
      for (int i = 0; i < 8; ++i) z[g][i] += values[i];
    }
    for (int i = 0; i < 8; ++i) {
      z[g][i] = rounded<T>(z[g][i]);
      total += z[g][i];
    }
    if (changed) {
      store_eight(static_cast<T*>(a.sum) + row * a.width, column, width, whole, z[g]);
    }
  }
  const float inverse = 1.0F / static_cast<float>(a.width);
  total = row_sum(at, exchange[0], total);
  const float mean = total * inverse;
  float squares = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    for (int i = 0; i < 8; ++i) {
      const float d = at.column(g) + i < a.width ? z[g][i] - mean : 0.0F;
      squares += d * d;
    }
  }
  squares = row_sum(at, exchange[1], squares);
  const float rstd = 1.0F / sqrtf(squares * inverse + a.epsilon);
  std::uint32_t largest = 0;
  if (active && at.part == 0 && at.lane == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int column = at.column(g);
    float gamma[8];
    float beta[8];
    load_eight(a.gamma, column, width, whole, gamma);
    load_eight(a.beta, column, width, whole, beta);
    for (int i = 0; i < 8; ++i) {
      z[g][i] = (z[g][i] - mean) * rstd * gamma[i] + beta[i];
      if (dropout.after_on) z[g][i] *= dropout.factor(g, i);
    }
    store_eight(static_cast<T*>(a.output) + row * a.width, column, width, whole, z[g]);
    if constexpr (kWhole && sizeof(T) == 2) {
      if (column < width) largest = larger_of_eight<T>(largest, z[g]);
    }
  }
  if constexpr (kWhole && sizeof(T) == 2) {
    if (a.largest != nullptr) keep_largest(largest, a.largest);
  }
}

/// A team of kShare warps takes rows blockIdx * teams + team, + teams * blocks, ... and keeps its
/// column sums in registers; the block's teams add theirs up in order and leave one row of partial
/// sums. As in forward, a team without a row goes on to the barriers; what it adds is 0.
template <typename T, int kShare, int kGroups, bool kWhole>
__global__ void __launch_bounds__(kWarps* kWarp, kGroups == 1 ? (sizeof(T) == 2 ? 5 : 3) : 2)
    norm_backward_kernel(NormBackward a) {
  constexpr int kTeams = kWarps / kShare;
  __shared__ float block_sums[3 * 256 * kShare * kGroups];
  __shared__ float exchange[2][kWarps][2];
  const RowShare<kShare> at;
  const bool whole = kWhole || a.width % 8 == 0;
  const float inverse = 1.0F / static_cast<float>(a.width);
  float sums[3][kGroups][8] = {};
  int turn_of_exchange = 0;
  std::uint32_t largest = 0;

  // Rows of the vectors that a turn reads; while it computes, those of the next are on their way.
  const auto row_of = [&](std::int64_t first) {
    const std::int64_t wanted = kShare == 1 ? first : first + at.team;
    return wanted < a.rows ? wanted : a.rows - 1;
  };
  const auto vector_of = [&](const void* matrix, std::int64_t row) {
    return static_cast<const T*>(matrix) + row * a.width;
  };
  Started<T> d_next[kGroups] = {};
  Started<T> x_next[kGroups] = {};
  Started<T> bypass_next[kGroups] = {};
  unsigned kept_next = 0;
  const auto start = [&](std::int64_t row) {
    if constexpr (kWhole) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        const int column = at.column(g);
        d_next[g] = start_eight(vector_of(a.d_output, row), column, a.width, true);
        x_next[g] = start_eight(vector_of(a.sum, row), column, a.width, true);
        if (a.d_bypass != nullptr) {
          bypass_next[g] = start_eight(vector_of(a.d_bypass, row), column, a.width, true);
        }
        if ((a.before.on || a.after.on) && column < a.width) {
          const unsigned bits = a.kept[(row * a.width + column) / 8];
          kept_next = g == 0 ? bits : kept_next | bits << (8 * g);
        }
      }
    }
  };

  const std::int64_t begin = std::int64_t{blockIdx.x} * kTeams + (kShare == 1 ? at.team : 0);
  const std::int64_t step = std::int64_t{gridDim.x} * kTeams;
  if (begin < a.rows) start(row_of(begin));
  for (std::int64_t first = begin; first < a.rows; first += step) {
    const bool active = kShare == 1 || first + at.team < a.rows;
    const std::int64_t row = row_of(first);
    const int width = active ? a.width : 0;
    float x[kGroups][8];
    float d[kGroups][8];
    Started<T> bypass[kGroups];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = at.column(g);
      finish<kWhole>(d_next[g], vector_of(a.d_output, row), column, width, whole, d[g]);
      finish<kWhole>(x_next[g], vector_of(a.sum, row), column, width, whole, x[g]);
      bypass[g] = bypass_next[g];
    }
    unsigned kept = kept_next;
    if constexpr (!kWhole) kept = define_kept<false>(a, place_of_row(a, row), at);
    if (first + step < a.rows) start(row_of(first + step));
    const RowDropout dropout(a.before, a.after, kept);
    const float mean = a.mean[row];
    const float rstd = a.rstd[row];
    float total = 0;
    float product = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = at.column(g);
      float gamma[8];
      load_eight(a.gamma, column, width, whole, gamma);
      if (dropout.after_on) {
        for (int i = 0; i < 8; ++i) d[g][i] *= dropout.factor(g, i);
      }
      for (int i = 0; i < 8; ++i) {
        // Columns beyond the width have d = gamma = 0, so their x never counts.
        x[g][i] = (x[g][i] - mean) * rstd;
        sums[0][g][i] += d[g][i] * x[g][i];
        sums[1][g][i] += d[g][i];
        d[g][i] *= gamma[i];
        total += d[g][i];
        product += d[g][i] * x[g][i];
      }
    }
    row_sums(at, exchange[turn_of_exchange], total, product);
    turn_of_exchange ^= 1;  // a warp may still read the last ones
    const float c1 = total * inverse;
    const float c2 = product * inverse;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = at.column(g);
      for (int i = 0; i < 8; ++i) d[g][i] = rstd * (d[g][i] - c1 - x[g][i] * c2);
      if (a.d_bypass != nullptr) {
        float values[8];
        finish<kWhole>(bypass[g], vector_of(a.d_bypass, row), column, width, whole, values);
        for (int i = 0; i < 8; ++i) d[g][i] += values[i];
      }
      store_eight(static_cast<T*>(a.d_sum) + row * a.width, column, width, whole, d[g]);
      if (a.d_input == nullptr) continue;
      if (dropout.before_on) {
        for (int i = 0; i < 8; ++i) d[g][i] *= dropout.factor(g, i);
      }
      for (int i = 0; i < 8; ++i) sums[2][g][i] += d[g][i];
      store_eight(static_cast<T*>(a.d_input) + row * a.width, column, width, whole, d[g]);
      if constexpr (kWhole && sizeof(T) == 2) {
        if (column < width) largest = larger_of_eight<T>(largest, d[g]);
      }
    }
  }
  if constexpr (kWhole && sizeof(T) == 2) {
    if (a.largest != nullptr) keep_largest(largest, a.largest);
  }

  for (int turn = 0; turn < kTeams; ++turn) {
    if (at.team == turn) {
#pragma unroll
      for (int k = 0; k < 3; ++k) {
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          for (int i = 0; i < 8; ++i) {
            const int group = kShare * (kGroups * k + g) + at.part;
            float& total = block_sums[256 * group + 32 * i + at.lane];
            total = turn == 0 ? sums[k][g][i] : total + sums[k][g][i];
          }
        }
      }
    }
    __syncthreads();
  }
  float* out = a.partials + std::int64_t{blockIdx.x} * 3 * a.width;
  for (int j = static_cast<int>(threadIdx.x); j < 3 * a.width; j += kWarps * kWarp) {
    const int column = j % a.width;
    const int group = kShare * kGroups * (j / a.width) + column / 256;
    out[j] = block_sums[256 * group + 32 * (column % 8) + column % 256 / 8];
  }
}

/// How a row is held: by how many warps, in how many groups of 256 columns each. kWhole: its width
/// is a multiple of 64.
template <int kShare, int kGroups, bool kWhole>
struct Split {};

/// Odd widths, of small models and tests, have one split for all.
template <typename Body>
void with_forward_split(int width, const Body& body) {
  if (width % 64 != 0) return body(Split<2, 4, false>{});
  if (width <= 256) return body(Split<1, 1, true>{});
  if (width <= 512) return body(Split<1, 2, true>{});
  if (width <= 1024) return body(Split<2, 2, true>{});
  return body(Split<4, 2, true>{});
}
/// Backward holds seven values a column where forward holds two.
template <typename Body>
void with_backward_split(int width, const Body& body) {
  if (width % 64 != 0) return body(Split<2, 4, false>{});
  if (width <= 256) return body(Split<1, 1, true>{});
  if (width <= 512) return body(Split<2, 1, true>{});
  if (width <= 1024) return body(Split<4, 1, true>{});
  return body(Split<4, 2, true>{});
}

std::int64_t backward_blocks(std::int64_t rows, int teams) {
  const std::int64_t wanted = ceil_divide(rows, teams);
  return wanted < kBackwardBlocks ? wanted : kBackwardBlocks;
}

}  // namespace

std::int64_t norm_partials_bytes(std::int64_t width) { return kBackwardBlocks * 3 * width * 4; }

void norm_forward(DType type, const NormForward& a, Stream stream) {
  if (a.rows == 0) return;
  with_type(type, [&]<typename T>(Tag<T>) {
    with_forward_split(
        a.width, [&]<int kShare, int kGroups, bool kWhole>(Split<kShare, kGroups, kWhole>) {
          launch(norm_forward_kernel<T, kShare, kGroups, kWhole>,
                 blocks(ceil_divide(a.rows, kWarps / kShare)), dim3(kWarps * kWarp), 0, stream, a);
        });
  });
}

void norm_backward(DType type, const NormBackward& a, Stream stream) {
  if (a.rows == 0) return;
  std::int64_t count = 0;
  with_type(type, [&]<typename T>(Tag<T>) {
    with_backward_split(a.width,
                        [&]<int kShare, int kGroups, bool kWhole>(Split<kShare, kGroups, kWhole>) {
                          count = backward_blocks(a.rows, kWarps / kShare);
                          launch(norm_backward_kernel<T, kShare, kGroups, kWhole>, blocks(count),
                                 dim3(kWarps * kWarp), 0, stream, a);
                        });
  });
  ReducePartials reduce;
  reduce.partials = a.partials;
  reduce.rows = static_cast<int>(count);
  reduce.stride = 3 * a.width;
  reduce.width = a.width;
  reduce.sums[0] = a.sum_gamma;
  reduce.sums[1] = a.sum_beta;
  reduce.sums[2] = a.sum_bias;
  reduce.accumulate = a.accumulate;
  reduce_partials(reduce, stream);
}

}  // namespace bert::cuda
