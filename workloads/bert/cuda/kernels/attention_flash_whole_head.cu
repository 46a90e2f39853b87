// Attention on tensor cores, backward of short sequences: a block of eight warps has the whole
// matrix of scores of one head, up to 128 x 128. Each of the five products is computed once:
// weights and the gradients of scores go through shared memory to the warps that add them up over
// queries.
#include "workloads/bert/cuda/kernels/flash_tile.h"

namespace bert::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kBlocks = 2;                 ///< on a multiprocessor: 107 KiB and 128 registers
constexpr int kScoresLd = kWholeHead + 8;  ///< the padding keeps ldmatrix free of bank conflicts
constexpr int kChunk = 16;                 ///< keys whose scores a thread holds at a time
constexpr int kChunks = kWholeHead / kChunk;

template <typename T>
struct WholeHead {
  T query[kWholeHead * kLd], key[kWholeHead * kLd], value[kWholeHead * kLd],
      d_output[kWholeHead * kLd];
  T scores[kWholeHead * kScoresLd];  ///< weights of values; then gradients of scores
  /// Of each query. Every thread could hold those of its two, but registers are short.
  float delta[kWholeHead], log_sum[kWholeHead];  ///< the latter in units of exp2()
};
/// In the place of the keys, once no product reads them.
using Sums = float[3][kWarps][kFlashHead];
static_assert(sizeof(Sums) <= sizeof(WholeHead<std::uint16_t>::key));

/// As start_tile(), all rows of the head. Each address is made anew: with one that goes on from row
/// to row the compiler is a register short.
template <typename T>
__device__ __forceinline__ void start_head(T* tile, const T* from, std::int64_t stride, int rows) {
  constexpr int kRows = kThreads / 8;
  const int column = static_cast<int>(threadIdx.x % 8 * 8);
  int row = static_cast<int>(threadIdx.x / 8);
#pragma unroll
  for (int pass = 0; pass < kWholeHead / kRows; ++pass, row += kRows) {
    const bool inside = row < rows;
    start_copy(tile + row * kLd + column, from + (inside ? row : 0) * stride + column, inside);
  }
}

/// Column sums of a warp's 16 rows.
__device__ __forceinline__ void leave_warp_sums(const FlashPlace& p, const float (*values)[4],
                                                float* sums) {
#pragma unroll
  for (int n = 0; n < kColumns; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float sum = values[n][j] + values[n][j + 2];
#pragma unroll
      for (int lanes = 4; lanes < kWarp; lanes *= 2) sum += __shfl_xor_sync(kAllLanes, sum, lanes);
      if (p.g == 0) sums[8 * n + 2 * p.t + j] = sum;
    }
  }
}

/// The warp's 16 rows of the matrix in shared memory: columns 16 k .. 16 k + 15.
template <typename T>
__device__ __forceinline__ void store_part(T* scores, const FlashPlace& p, int k,
                                           const FragmentA& part) {
  T* at = scores + (16 * p.warp + p.g) * kScoresLd + 16 * k + 2 * p.t;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<std::uint32_t*>(at + i % 2 * 8 * kScoresLd + i / 2 * 8) = part.part[i];
  }
}

template <typename T, bool kDropout>
__global__ void __launch_bounds__(kThreads, kBlocks) whole_head_kernel(Attention a) {
  BERT_DYNAMIC_SHARED(WholeHead<T>, shared);
  float d_query[kColumns][4] = {};
  FragmentA d_scores[kWholeHead / 16];  // 16 keys each
  const FlashPlace p = place_of(a);
  const std::int64_t stride = std::int64_t{3} * p.hidden;
  const T* qkv = static_cast<const T*>(a.qkv);
  start_head(shared->query, qkv_at(p, qkv, 0, 0), stride, p.rows);
  start_head(shared->d_output, out_at(p, static_cast<const T*>(a.d_output), 0), p.hidden, p.rows);
  start_head(shared->key, qkv_at(p, qkv, 1, 0), stride, p.rows);
  start_head(shared->value, qkv_at(p, qkv, 2, 0), stride, p.rows);
  close_copies();

  // Of this lane's two rows, while copies are on their way.
  const int row = 16 * p.warp;
  std::uint32_t kept[2] = {};  // keys below 64, and from 64 on
  int seen[2] = {};
  std::uint32_t output[kSteps][4] = {};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int i = row + p.g + 8 * r;
    if constexpr (kDropout) {
      kept[r] = kept_of_tile(a, p, row, kTile * r)[threadIdx.x % kFlashThreads];
    }
    if (i >= p.rows) {
      if (p.t == 0) shared->log_sum[i] = 0;
      continue;
    }
    // Of the keys that the row sees, those from this lane's first column on.
    seen[r] = (a.causal && i < p.keys ? i + 1 : p.keys) - 2 * p.t;
    if (p.t == 0) {
      shared->log_sum[i] = a.log_sums[(p.sequence * a.heads + p.head) * a.length + i] * kLog2E;
    }
    const T* at = out_at(p, static_cast<const T*>(a.output), i) + 2 * p.t;
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      output[k][r] = *reinterpret_cast<const std::uint32_t*>(at + 16 * k);
      output[k][r + 2] = *reinterpret_cast<const std::uint32_t*>(at + 16 * k + 8);
    }
  }
  wait_for_copies<0>();
  __syncthreads();

  const float scale = kDropout ? a.dropout.key.scale : 1.0F;
  const bool hides = a.causal || p.keys < kWholeHead;  ///< some row does not see all columns
  const OwnRows<T> query{shared->query, p};
  const OwnRows<T> d_output{shared->d_output, p};
  float delta[2] = {};
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    const FragmentA d = d_output[k];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      T two[2];
      T d_two[2];
      memcpy(two, &output[k][i], 4);
      memcpy(d_two, &d.part[i], 4);
      delta[i % 2] += to_float(two[0]) * to_float(d_two[0]) + to_float(two[1]) * to_float(d_two[1]);
    }
  }
  volatile float* const own_delta = shared->delta + row + p.g;
  const volatile float* const own_log_sum = shared->log_sum + row + p.g;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    delta[r] = quad_sum(delta[r]);
    if (p.t == 0) own_delta[8 * r] = delta[r];
  }
  __syncwarp();

#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    float weight[kChunk / 8][4] = {};
    float d_score[kChunk / 8][4] = {};
    multiply_tile<T, kChunk / 8>(query, shared->key, kChunk * c, p.lane, weight);
    multiply_tile<T, kChunk / 8>(d_output, shared->value, kChunk * c, p.lane, d_score);
    const float row_delta[2] = {own_delta[0], own_delta[8]};
    const float log_sum[2] = {own_log_sum[0], own_log_sum[8]};
#pragma unroll
    for (int n = 0; n < kChunk / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        weight[n][i] = fast_exp2(weight[n][i] * kScoreScaleLog2 - log_sum[i / 2]);
      }
    }
    if (hides) {
#pragma unroll
      for (int n = 0; n < kChunk / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (kChunk * c + 8 * n + i % 2 >= seen[i / 2]) weight[n][i] = 0;
        }
      }
    }
#pragma unroll
    for (int n = 0; n < kChunk / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float w = weight[n][i];
        float d = d_score[n][i];
        if constexpr (kDropout) {
          const int column = kChunk * c % kTile / 8 + n;
          const int bit = 16 * (i / 2) + 2 * column + i % 2;
          const bool keep = (kept[kChunk * c / kTile] >> bit & 1U) != 0;
          d = keep ? d : 0.0F;
          weight[n][i] = keep ? w : 0.0F;
        }
        d_score[n][i] = w * (d * scale - row_delta[i / 2]);
      }
    }
#pragma unroll
    for (int k = 0; k < kChunk / 16; ++k) {
      const int part = kChunk / 16 * c + k;
      store_part(shared->scores, p, part, pack_a<T>(weight[2 * k], weight[2 * k + 1]));
      d_scores[part] = pack_a<T>(d_score[2 * k], d_score[2 * k + 1]);
      add_product<T>(d_scores[part], shared->key, 16 * part, p.lane, d_query);
    }
  }
  __syncthreads();  // weights are there; nothing reads keys and values any more

  T* d_qkv = static_cast<T*>(a.d_qkv);
  auto* const sums = reinterpret_cast<Sums*>(shared->key);
  const int rows = p.rows - row;
  // Parts of 16 queries. Causal: earlier ones see none of this warp's keys.
  const int first_part = a.causal ? p.warp : 0;
  const int parts = (p.rows + 15) / 16;
  store_rows(shared->value, qkv_at(p, d_qkv, 0, row), stride, p, rows, d_query, kScoreScale,
             kScoreScale, a.d_largest);
  leave_warp_sums(p, d_query, (*sums)[0][p.warp]);
  {
    float d_value[kColumns][4] = {};
#pragma unroll 1
    for (int k = first_part; k < parts; ++k) {
      add_product<T>(load_a_columns(shared->scores, kScoresLd, 16 * k, row, p.lane),
                     shared->d_output, 16 * k, p.lane, d_value);
    }
    store_rows(shared->value, qkv_at(p, d_qkv, 2, row), stride, p, rows, d_value, scale, scale,
               a.d_largest);
    leave_warp_sums(p, d_value, (*sums)[2][p.warp]);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kWholeHead / 16; ++k) store_part(shared->scores, p, k, d_scores[k]);
  __syncthreads();
  {
    float d_key[kColumns][4] = {};
#pragma unroll 1
    for (int k = first_part; k < parts; ++k) {
      add_product<T>(load_a_columns(shared->scores, kScoresLd, 16 * k, row, p.lane), shared->query,
                     16 * k, p.lane, d_key);
    }
    store_rows(shared->value, qkv_at(p, d_qkv, 1, row), stride, p, rows, d_key, kScoreScale,
               kScoreScale, a.d_largest);
    leave_warp_sums(p, d_key, (*sums)[1][p.warp]);
  }
  if (a.sums == nullptr) return;
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= 3 * kFlashHead) return;
  const int part = thread / kFlashHead;
  const int column = thread % kFlashHead;
  float sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += (*sums)[part][w][column];
  a.partials[(p.sequence * 3 + part) * p.hidden + p.head * kFlashHead + column] =
      sum * (part < 2 ? kScoreScale : scale);
}

}  // namespace

void flash_whole_head_backward(DType type, const Attention& a, Stream stream) {
  with_half_type(type, [&]<typename T>(Tag<T>) {
    launch(a.dropout.on ? whole_head_kernel<T, true> : whole_head_kernel<T, false>,
           blocks(1, a.heads, a.sequences), dim3(kThreads), sizeof(WholeHead<T>), stream, a);
  });
}

}  // namespace bert::cuda
