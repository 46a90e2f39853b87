// Attention in plain fp32 arithmetic, for every type and head size: what runs for fp32 and tf32,
// and the oracle of the tensor-core kernels. One warp a query (or key); a score row in shared
// memory.
#include "workloads/bert/cuda/kernels/attention.h"
#include "workloads/bert/cuda/kernels/device_dropout.h"
#include "workloads/bert/cuda/kernels/dispatch.h"

namespace bert::cuda {
namespace {

constexpr int kWarps = 4;

/// Which head of which sequence, and which of its rows, this warp works on.
template <typename T>
struct Place {
  __device__ Place(const Attention& a)
      : lane(static_cast<int>(threadIdx.x) % kWarp),
        row(static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp),
        head(static_cast<int>(blockIdx.y)),
        sequence(blockIdx.z),
        rows(rows_of(a, sequence)),
        hidden(a.heads * a.size),
        keys(a.lengths[sequence]),
        key(key_of(a.dropout, sequence)) {}

  int lane, row, head;
  std::int64_t sequence;
  SequenceRows rows;
  int hidden, keys;
  DropoutKey key;

  /// Keys 0 .. n - 1 that this row sees as a query.
  __device__ int seen(const Attention& a) const {
    return a.causal && row + 1 < keys ? row + 1 : keys;
  }
  /// First query that sees this row as a key.
  __device__ int first_query(const Attention& a) const { return a.causal ? row : 0; }

  /// part 0 query, 1 key, 2 value, of position i.
  __device__ std::int64_t at(const Attention& a, int part, int i) const {
    return (rows.first + i) * 3 * hidden + part * hidden + head * a.size;
  }
  __device__ std::int64_t out(const Attention& a, int i) const {
    return (rows.first + i) * hidden + head * a.size;
  }
  __device__ std::int64_t sums(const Attention& a, int i) const {
    return (sequence * a.heads + head) * a.length + i;
  }
  __device__ float factor(const Attention& a, int query, int j) const {
    if (!a.dropout.on) return 1;
    const auto s = static_cast<std::uint64_t>(a.length);
    const std::uint64_t element =
        (static_cast<std::uint64_t>(head) * s + static_cast<std::uint64_t>(query)) * s +
        static_cast<std::uint64_t>(j);
    return keeps(key, element) ? key.scale : 0.0F;
  }
};

template <typename T>
__device__ __forceinline__ float dot(const T* a, const T* b, int size) {
  float sum = 0;
  for (int d = 0; d < size; ++d) sum += to_float(a[d]) * to_float(b[d]);
  return sum;
}

__device__ __forceinline__ float score_scale(int size) {
  return 1.0F / sqrtf(static_cast<float>(size));
}

template <typename T, bool kReplayed>
__global__ void __launch_bounds__(kWarps* kWarp) plain_forward_kernel(Attention a) {
  if constexpr (kReplayed) read_values(a);
  BERT_DYNAMIC_SHARED(float, rows);
  const Place<T> p(a);
  if (p.row >= p.rows.count) return;
  float* weights = rows + threadIdx.x / kWarp * static_cast<unsigned>(a.length);
  const T* qkv = static_cast<const T*>(a.qkv);
  const T* query = qkv + p.at(a, 0, p.row);
  const float scale = score_scale(a.size);
  const int keys = p.seen(a);
  float top = -INFINITY;
  for (int j = p.lane; j < keys; j += kWarp) {
    const float s = dot(query, qkv + p.at(a, 1, j), a.size) * scale;
    weights[j] = s;
    top = s <= top ? top : s;
  }
  top = warp_max(top);
  float total = 0;
  for (int j = p.lane; j < keys; j += kWarp) {
    const float e = expf(weights[j] - top);
    total += e;
    weights[j] = e * p.factor(a, p.row, j);
  }
  total = warp_sum(total);
  __syncwarp();
  T* output = static_cast<T*>(a.output) + p.out(a, p.row);
  for (int d = p.lane; d < a.size; d += kWarp) {
    float sum = 0;
    for (int j = 0; j < keys; ++j) sum += weights[j] * to_float(qkv[p.at(a, 2, j) + d]);
    output[d] = from_float<T>(sum / total);
  }
  if (p.lane == 0) a.log_sums[p.sums(a, p.row)] = top + logf(total);
}

/// Softmax weight and gradient of the score of (query, key).
struct Pair {
  float dropped;  ///< weight after dropout
  float d_score;
};
template <typename T>
__device__ Pair pair_of(const Attention& a, const Place<T>& p, int query, int j) {
  const T* qkv = static_cast<const T*>(a.qkv);
  const float scale = score_scale(a.size);
  const float score = dot(qkv + p.at(a, 0, query), qkv + p.at(a, 1, j), a.size) * scale;
  const float weight = expf(score - a.log_sums[p.sums(a, query)]);
  const float factor = p.factor(a, query, j);
  const float d_weight =
      dot(static_cast<const T*>(a.d_output) + p.out(a, query), qkv + p.at(a, 2, j), a.size);
  return {weight * factor, weight * (d_weight * factor - a.delta[p.sums(a, query)]) * scale};
}

template <typename T, bool kReplayed>
__global__ void __launch_bounds__(kWarps* kWarp) plain_query_kernel(Attention a) {
  if constexpr (kReplayed) read_values(a);
  BERT_DYNAMIC_SHARED(float, rows);
  const Place<T> p(a);
  if (p.row >= p.rows.count) return;
  float* d_scores = rows + threadIdx.x / kWarp * static_cast<unsigned>(a.length);
  const int keys = p.seen(a);
  for (int j = p.lane; j < keys; j += kWarp) d_scores[j] = pair_of(a, p, p.row, j).d_score;
  __syncwarp();
  const T* qkv = static_cast<const T*>(a.qkv);
  for (int d = p.lane; d < a.size; d += kWarp) {
    float sum = 0;
    for (int j = 0; j < keys; ++j) sum += d_scores[j] * to_float(qkv[p.at(a, 1, j) + d]);
    static_cast<T*>(a.d_qkv)[p.at(a, 0, p.row) + d] = from_float<T>(sum);
  }
}

template <typename T, bool kReplayed>
__global__ void __launch_bounds__(kWarps* kWarp) plain_key_kernel(Attention a) {
  if constexpr (kReplayed) read_values(a);
  BERT_DYNAMIC_SHARED(float, rows);
  const Place<T> p(a);
  if (p.row >= p.rows.count) return;
  float* d_scores = rows + threadIdx.x / kWarp * static_cast<unsigned>(2 * a.length);
  float* dropped = d_scores + a.length;
  const int queries = p.row < p.keys ? p.rows.count : 0;  // padding gets zeros
  const int first = p.first_query(a);
  for (int i = first + p.lane; i < queries; i += kWarp) {
    const Pair pair = pair_of(a, p, i, p.row);
    d_scores[i] = pair.d_score;
    dropped[i] = pair.dropped;
  }
  __syncwarp();
  const T* qkv = static_cast<const T*>(a.qkv);
  const T* d_output = static_cast<const T*>(a.d_output);
  for (int d = p.lane; d < a.size; d += kWarp) {
    float d_key = 0;
    float d_value = 0;
    for (int i = first; i < queries; ++i) {
      d_key += d_scores[i] * to_float(qkv[p.at(a, 0, i) + d]);
      d_value += dropped[i] * to_float(d_output[p.out(a, i) + d]);
    }
    static_cast<T*>(a.d_qkv)[p.at(a, 1, p.row) + d] = from_float<T>(d_key);
    static_cast<T*>(a.d_qkv)[p.at(a, 2, p.row) + d] = from_float<T>(d_value);
  }
}

/// delta[row] = sum over the head's columns of d_output * output.
template <typename T>
__global__ void __launch_bounds__(kWarps* kWarp) delta_kernel(Attention a) {
  const Place<T> p(a);
  if (p.row >= p.rows.count) return;
  const T* output = static_cast<const T*>(a.output) + p.out(a, p.row);
  const T* d_output = static_cast<const T*>(a.d_output) + p.out(a, p.row);
  float sum = 0;
  for (int d = p.lane; d < a.size; d += kWarp) sum += to_float(output[d]) * to_float(d_output[d]);
  sum = warp_sum(sum);
  if (p.lane == 0) a.delta[p.sums(a, p.row)] = sum;
}

dim3 grid_of(const Attention& a) {
  return blocks(ceil_divide(a.length, kWarps), a.heads, a.sequences);
}

std::size_t row_bytes(const Attention& a) {
  return static_cast<std::size_t>(kWarps * a.length) * sizeof(float);
}

}  // namespace

bool has_flash_attention(DType type, int size) { return type != DType::f32 && size == kFlashHead; }

void attention_forward(DType type, const Attention& a, bool plain, Stream stream) {
  if (!plain && has_flash_attention(type, a.size)) return flash_forward(type, a, stream);
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(a.values != nullptr ? plain_forward_kernel<T, true> : plain_forward_kernel<T, false>,
           grid_of(a), dim3(kWarps * kWarp), row_bytes(a), stream, a);
  });
}

void attention_backward(DType type, const Attention& a, bool plain, Stream stream) {
  if (!plain && has_flash_attention(type, a.size)) return flash_backward(type, a, stream);
  with_type(type, [&]<typename T>(Tag<T>) {
    const dim3 threads(kWarps * kWarp);
    launch(delta_kernel<T>, grid_of(a), threads, 0, stream, a);
    const bool replayed = a.values != nullptr;
    launch(replayed ? plain_key_kernel<T, true> : plain_key_kernel<T, false>, grid_of(a), threads,
           2 * row_bytes(a), stream, a);
    launch(replayed ? plain_query_kernel<T, true> : plain_query_kernel<T, false>, grid_of(a),
           threads, row_bytes(a), stream, a);
  });
}

}  // namespace bert::cuda
