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
/// Blocks that a multiprocessor holds at once of forward and of backward; four leave each thread
/// 128 registers.
template <typename T, int kGroups>
constexpr int kForwardBlocksAtOnce = kGroups <= 2 && sizeof(T) == 2 ? 5 : 4;
template <typename T, int kGroups, bool kWhole>
constexpr int kBackwardBlocksAtOnce = sizeof(T) == 2 && kWhole ? (kGroups == 1 ? 5 : 3)
                                      : kGroups == 1           ? 3
                                                               : 2;

template <typename Arguments>
__device__ __forceinline__ std::int64_t place_of_row(const Arguments& a, std::int64_t row) {
  return a.places != nullptr ? std::int64_t{a.places[row]} : row;
}

/// Which columns a thread holds: its warp shares the row with others, groups of 256 columns in
/// turn.
template <int kShare>
struct RowShare {
  int lane = static_cast<int>(threadIdx.x % kWarp);
  int part = static_cast<int>(threadIdx.x / kWarp % kShare);
  /// Its row among the block's.
  int team = kShare == kWarps ? 0 : static_cast<int>(threadIdx.x / kWarp / kShare);
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
__device__ __forceinline__ void finish(const Eight<T>& started, const T* row, int column, int width,
                                       bool whole, float* out) {
  if constexpr (kWhole) {
    finish_eight(started, row, column, width, true, out);
  } else {
    load_eight(row, column, width, whole, out);
  }
}

/// Dropout of one row. Bit 8 g + i of `kept` is that of this lane's element i of group g.
struct RowDropout {
  __device__ RowDropout(bool on, float scale_of_kept, unsigned bits)
      : scale(on ? scale_of_kept : 1.0F), kept(on ? bits : 0xffffffffU) {}
  __device__ __forceinline__ float factor(int group, int i) const {
    return (kept >> (8 * group + i) & 1U) != 0 ? scale : 0.0F;
  }
  float scale;
  unsigned kept;
};

/// Of a row of the padded batch. Found in 32 bits, as a device divides 64 in a call: kMostSequences
/// of 32767 rows are as many.
struct SequencePlace {
  template <typename Arguments>
  __device__ SequencePlace(const Arguments& a, std::int64_t place)
      : sequence(static_cast<std::uint32_t>(place) /
                 static_cast<std::uint32_t>(a.rows_per_sequence)),
        position(static_cast<std::uint32_t>(place) %
                 static_cast<std::uint32_t>(a.rows_per_sequence)) {}
  std::uint32_t sequence, position;
};

/// The bits by dropout's definition.
template <bool kWhole, int kGroups, int kShare, typename Arguments>
__device__ unsigned define_kept(const Arguments& a, std::int64_t place,
                                const RowShare<kShare>& at) {
  if (!a.dropout.on) return 0;
  const SequencePlace in(a, place);
  const std::uint64_t element = std::uint64_t{in.position} * static_cast<std::uint64_t>(a.width);
  return kept_row<kShare, kGroups, kWhole>(key_of(a.dropout, in.sequence), element, a.width,
                                           at.lane, at.part);
}

/// Embeddings: the sum of the row's vectors in three tables.
template <typename T>
__device__ void load_tables(const NormForward& a, std::int64_t row, std::int64_t place, int column,
                            int width, bool whole, float* z) {
  const std::int64_t rows[3] = {a.tokens[row], SequencePlace(a, place).position,
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
///
/// What is optional is asked once for all groups: so the loads of one kind are on their way
/// together.
template <typename T, int kShare, int kGroups, bool kWhole, bool kFull, bool kReplayed>
__global__ void __launch_bounds__(kWarps* kWarp, kForwardBlocksAtOnce<T, kGroups> - kReplayed)
    norm_forward_kernel(NormForward a) {
  __shared__ float exchange[2][kWarps][2];
  if constexpr (kReplayed) read_values(a);
  if constexpr (kFull) a.width = 256 * kShare * kGroups;
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
  Eight<T> started[kGroups] = {};
  Eight<T> residual[kGroups] = {};
  if constexpr (kWhole) {
    if (a.tokens == nullptr) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        started[g] = start_eight(input, at.column(g), width, whole);
      }
    }
    if (a.residual != nullptr) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        residual[g] = start_eight(added, at.column(g), width, whole);
      }
    }
  }
  const unsigned bits = define_kept<kWhole, kGroups>(a, place, at);
  if (kWhole && a.dropout.on) {
    std::uint8_t* kept = a.kept + row * (a.width / 8);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = at.column(g);
      if (column < width) kept[column / 8] = static_cast<std::uint8_t>(bits >> (8 * g));
    }
  }

  float z[kGroups][8];
  if (a.tokens == nullptr) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      finish<kWhole>(started[g], input, at.column(g), width, whole, z[g]);
    }
  } else {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      load_tables<T>(a, row, place, at.column(g), width, whole, z[g]);
    }
  }
  if (a.bias != nullptr) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      float bias[8];
      load_eight(a.bias, at.column(g), width, whole, bias);
      for (int i = 0; i < 8; ++i) z[g][i] += bias[i];
    }
  }
  // Without dropout or residual times 1 and plus 0: cheaper than to ask for each.
  const bool drops_input = a.dropout.on && !a.drops_output;
  const RowDropout of_input(drops_input, a.dropout.key.scale, bits);
  Eight<T> stored[kGroups];
  float total = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int column = at.column(g);
    float values[8] = {};
    if (kWhole || a.residual != nullptr) {
      finish<kWhole>(residual[g], added, column, width, whole, values);
    }
    for (int i = 0; i < 8; ++i) z[g][i] = z[g][i] * of_input.factor(g, i) + values[i];
    stored[g] = pack_eight<T>(z[g]);
    unpack_eight(stored[g], z[g]);
    float part = 0;
    for (int i = 0; i < 8; ++i) part += z[g][i];
    total += part;
  }
  if (a.sum != a.input || a.bias != nullptr || a.residual != nullptr) {
    T* sum = static_cast<T*>(a.sum) + row * a.width;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = at.column(g);
      if (!kWhole) {
        store_eight(sum, column, width, whole, z[g]);
      } else if (column < width) {
        store_eight(sum + column, stored[g]);
      }
    }
  }
  const float inverse = 1.0F / static_cast<float>(a.width);
  total = row_sum(at, exchange[0], total);
  const float mean = total * inverse;
  float squares = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    float part = 0;
    for (int i = 0; i < 8; ++i) {
      const float d = at.column(g) + i < a.width ? z[g][i] - mean : 0.0F;
      part += d * d;
    }
    squares += part;
  }
  squares = row_sum(at, exchange[1], squares);
  const float rstd = 1.0F / sqrtf(squares * inverse + a.epsilon);
  if (active && at.part == 0 && at.lane == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    float gamma[8];
    float beta[8];
    load_eight(a.gamma, at.column(g), width, whole, gamma);
    load_eight(a.beta, at.column(g), width, whole, beta);
    for (int i = 0; i < 8; ++i) z[g][i] = (z[g][i] - mean) * rstd * gamma[i] + beta[i];
  }
  if (a.dropout.on && a.drops_output) {
    const RowDropout of_output(true, a.dropout.key.scale, bits);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      for (int i = 0; i < 8; ++i) z[g][i] *= of_output.factor(g, i);
    }
  }
  T* output = static_cast<T*>(a.output) + row * a.width;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int column = at.column(g);
    stored[g] = pack_eight<T>(z[g]);
    if (!kWhole) {
      store_eight(output, column, width, whole, z[g]);
    } else if (column < width) {
      store_eight(output + column, stored[g]);
    }
  }
  if constexpr (kWhole && sizeof(T) == 2) {
    if (a.largest == nullptr) return;
    std::uint32_t largest = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (at.column(g) < width) largest = larger_magnitudes(largest, stored[g].words[0]);
    }
    keep_largest(largest, a.largest);
  }
}

/// A team of kShare warps takes rows blockIdx * teams + team, + teams * blocks, ... and keeps its
/// column sums in registers; the block's teams add theirs up in order and leave one row of partial
/// sums. As in forward, a team without a row goes on to the barriers; what it adds is 0.
template <typename T, int kShare, int kGroups, bool kWhole, bool kFull, bool kReplayed>
__global__ void __launch_bounds__(kWarps* kWarp,
                                  kBackwardBlocksAtOnce<T, kGroups, kWhole> - kReplayed)
    norm_backward_kernel(NormBackward a) {
  if constexpr (kReplayed) read_values(a);
  constexpr int kTeams = kWarps / kShare;
  constexpr bool kAlone = kShare == 1 || kTeams == 1;  ///< no team waits for another at a barrier
  __shared__ float block_sums[3 * 256 * kShare * kGroups];
  __shared__ float exchange[2][kWarps][2];
  if constexpr (kFull) a.width = 256 * kShare * kGroups;
  const RowShare<kShare> at;
  const bool whole = kWhole || a.width % 8 == 0;
  const float inverse = 1.0F / static_cast<float>(a.width);
  float sums[3][kGroups][8] = {};
  // The same for all rows; of several groups it would take too many registers.
  constexpr bool kHolds = kFull && kGroups == 1;
  float gamma[8] = {};
  if constexpr (kHolds) load_eight(a.gamma, at.column(0), a.width, whole, gamma);
  int turn_of_exchange = 0;
  std::uint32_t largest = 0;

  // Rows of the vectors that a turn reads; while it computes, those of the next are on their way.
  const auto row_of = [&](std::int64_t first) {
    if (kAlone) return first;
    const std::int64_t wanted = first + at.team;
    return wanted < a.rows ? wanted : a.rows - 1;
  };
  const auto vector_of = [&](const void* matrix, std::int64_t row) {
    return static_cast<const T*>(matrix) + row * a.width;
  };
  Eight<T> d_next[kGroups] = {};
  Eight<T> x_next[kGroups] = {};
  Eight<T> bypass_next[kGroups] = {};
  unsigned kept_next = 0;
  float mean_next = 0;
  float rstd_next = 0;
  const auto start = [&](std::int64_t row) {
    mean_next = a.mean[row];
    rstd_next = a.rstd[row];
    if constexpr (kWhole) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        const int column = at.column(g);
        d_next[g] = start_eight(vector_of(a.d_output, row), column, a.width, true);
        x_next[g] = start_eight(vector_of(a.sum, row), column, a.width, true);
        if (a.d_bypass != nullptr) {
          bypass_next[g] = start_eight(vector_of(a.d_bypass, row), column, a.width, true);
        }
        if (a.dropout.on && column < a.width) {
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
    const bool active = kAlone || first + at.team < a.rows;
    const std::int64_t row = row_of(first);
    const int width = active ? a.width : 0;
    float x[kGroups][8];
    float d[kGroups][8];
    Eight<T> bypass[kGroups];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = at.column(g);
      finish<kWhole>(d_next[g], vector_of(a.d_output, row), column, width, whole, d[g]);
      finish<kWhole>(x_next[g], vector_of(a.sum, row), column, width, whole, x[g]);
      bypass[g] = bypass_next[g];
    }
    unsigned kept = kept_next;
    const float mean = mean_next;
    const float rstd = rstd_next;
    if constexpr (!kWhole) kept = define_kept<false, kGroups>(a, place_of_row(a, row), at);
    if (first + step < a.rows) start(row_of(first + step));
    const RowDropout dropout(a.dropout.on, a.dropout.key.scale, kept);
    float total = 0;
    float product = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = at.column(g);
      if constexpr (!kHolds) load_eight(a.gamma, column, width, whole, gamma);
      if (a.dropout.on && a.drops_output) {
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
    const float c1 = rstd * total * inverse;
    const float c2 = rstd * product * inverse;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int column = at.column(g);
      for (int i = 0; i < 8; ++i) d[g][i] = rstd * d[g][i] - c1 - x[g][i] * c2;
      if (a.d_bypass != nullptr) {
        float values[8];
        finish<kWhole>(bypass[g], vector_of(a.d_bypass, row), column, width, whole, values);
        for (int i = 0; i < 8; ++i) d[g][i] += values[i];
      }
      store_eight(static_cast<T*>(a.d_sum) + row * a.width, column, width, whole, d[g]);
      if (a.d_input == nullptr) continue;
      if (a.dropout.on && !a.drops_output) {
        for (int i = 0; i < 8; ++i) d[g][i] *= dropout.factor(g, i);
      }
      for (int i = 0; i < 8; ++i) sums[2][g][i] += d[g][i];
      T* d_input = static_cast<T*>(a.d_input) + row * a.width;
      if constexpr (kWhole) {
        if (column >= width) continue;
        const Eight<T> stored = pack_eight<T>(d[g]);
        store_eight(d_input + column, stored);
        if (sizeof(T) == 2 && a.largest != nullptr) {
          largest = larger_magnitudes(largest, stored.words[0]);
        }
      } else {
        store_eight(d_input, column, width, whole, d[g]);
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
/// is a multiple of 64; kFull: it has exactly these columns, so that none is asked whether it is
/// one.
template <int kShare, int kGroups, bool kWhole, bool kFull>
struct Split {};

/// Odd widths, of small models and tests, have one split for all.
template <typename Body>
void with_forward_split(int width, const Body& body) {
  if (width % 64 != 0) return body(Split<2, 4, false, false>{});
  if (width == 256) return body(Split<1, 1, true, true>{});
  if (width == 512) return body(Split<1, 2, true, true>{});
  if (width == 768) return body(Split<1, 3, true, true>{});
  if (width == 1024) return body(Split<1, 4, true, true>{});
  return body(Split<4, 2, true, false>{});
}
/// Backward holds seven values a column where forward holds two.
template <typename Body>
void with_backward_split(int width, const Body& body) {
  if (width % 64 != 0) return body(Split<2, 4, false, false>{});
  if (width == 256) return body(Split<1, 1, true, true>{});
  if (width == 512) return body(Split<2, 1, true, true>{});
  if (width == 1024) return body(Split<4, 1, true, true>{});
  if (width < 1024) return body(Split<4, 1, true, false>{});
  return body(Split<4, 2, true, false>{});
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
    with_forward_split(a.width, [&]<int kShare, int kGroups, bool kWhole, bool kFull>(
                                    Split<kShare, kGroups, kWhole, kFull>) {
      launch(a.values != nullptr ? norm_forward_kernel<T, kShare, kGroups, kWhole, kFull, true>
                                 : norm_forward_kernel<T, kShare, kGroups, kWhole, kFull, false>,
             blocks(ceil_divide(a.rows, kWarps / kShare)), dim3(kWarps * kWarp), 0, stream, a);
    });
  });
}

void norm_backward(DType type, const NormBackward& a, Stream stream) {
  if (a.rows == 0) return;
  std::int64_t count = 0;
  with_type(type, [&]<typename T>(Tag<T>) {
    with_backward_split(a.width, [&]<int kShare, int kGroups, bool kWhole, bool kFull>(
                                     Split<kShare, kGroups, kWhole, kFull>) {
      count = backward_blocks(a.rows, kWarps / kShare);
      auto kernel = norm_backward_kernel<T, kShare, kGroups, kWhole, kFull, false>;
      // Of other widths forward has kept the bits of dropout.
      if constexpr (!kWhole) {
        if (a.values != nullptr) {
          kernel = norm_backward_kernel<T, kShare, kGroups, kWhole, kFull, true>;
        }
      }
      launch(kernel, blocks(count), dim3(kWarps * kWarp), 0, stream, a);
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
