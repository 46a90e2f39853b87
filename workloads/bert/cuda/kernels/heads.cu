// Losses: softmax cross-entropy over the vocabulary, and the two-class head.
#include "workloads/bert/cuda/kernels/dispatch.h"

namespace bert::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

/// Sum over the block, the same in every thread; `part` is shared memory of its own for each use.
template <typename Number>
__device__ __forceinline__ Number block_sum(Number x, Number* part) {
  x = warp_sum(x);
  if (threadIdx.x % kWarp == 0) part[threadIdx.x / kWarp] = x;
  __syncthreads();
  Number total = 0;
  for (int w = 0; w < kWarps; ++w) total += part[w];
  return total;
}

__device__ __forceinline__ float block_max(float x, float* part) {
  x = warp_max(x);
  if (threadIdx.x % kWarp == 0) part[threadIdx.x / kWarp] = x;
  __syncthreads();
  float top = part[0];
  for (int w = 1; w < kWarps; ++w) top = part[w] > top ? part[w] : top;
  return top;
}

/// Logits stay in the type they came in; exponentials are taken twice rather than stored.
template <typename T, bool kReplayed>
__global__ void __launch_bounds__(kThreads, 2) cross_entropy_kernel(CrossEntropy a) {
  if constexpr (kReplayed) a.scale = a.values->word_scale;
  __shared__ float part_max[kWarps];
  __shared__ float part_sum[kWarps];
  const std::int64_t row = blockIdx.x;
  T* logits = static_cast<T*>(a.logits) + row * a.stride;
  const bool whole = a.stride % 8 == 0;
  const auto stride = static_cast<int>(a.stride);
  const int label = a.labels[row];
  const auto bias = [&](int column) { return a.bias != nullptr ? a.bias[column] : 0.0F; };
  const float chosen = to_float(logits[label]) + bias(label);
  float top = -INFINITY;
  for (int column = 8 * static_cast<int>(threadIdx.x); column < stride; column += 8 * kThreads) {
    float x[8];
    load_eight(logits, column, stride, whole, x);
    for (int i = 0; i < 8; ++i) {
      if (column + i >= a.classes) break;
      const float value = x[i] + bias(column + i);
      // Written so that NaN is kept: the loss must show it.
      top = value <= top ? top : value;
    }
  }
  top = block_max(top, part_max);
  float sum = 0;
  for (int column = 8 * static_cast<int>(threadIdx.x); column < stride; column += 8 * kThreads) {
    float x[8];
    load_eight(logits, column, stride, whole, x);
    for (int i = 0; i < 8; ++i) {
      if (column + i < a.classes) sum += expf(x[i] + bias(column + i) - top);
    }
  }
  sum = block_sum(sum, part_sum);
  const float factor = a.scale / sum;
  for (int column = 8 * static_cast<int>(threadIdx.x); column < stride; column += 8 * kThreads) {
    float x[8];
    load_eight(logits, column, stride, whole, x);
    for (int i = 0; i < 8; ++i) {
      const int j = column + i;
      if (j >= a.classes) {
        x[i] = 0;
        continue;
      }
      x[i] = expf(x[i] + bias(j) - top) * factor;
      if (j == label) x[i] -= a.scale;
    }
    store_eight(logits, column, stride, whole, x);
  }
  if (threadIdx.x == 0) a.losses[row] = logf(sum) + top - chosen;
}

/// One block a sequence.
template <typename T, bool kReplayed>
__global__ void __launch_bounds__(kThreads) next_sentence_kernel(NextSentence a) {
  if constexpr (kReplayed) a.scale = a.values->sentence_scale;
  __shared__ float part[2][kWarps];
  const std::int64_t b = blockIdx.x;
  T* pooled = static_cast<T*>(a.pooled) + b * a.width;
  float logits[2] = {0, 0};
  for (int j = static_cast<int>(threadIdx.x); j < a.width; j += kThreads) {
    const float y = rounded<T>(tanhf(to_float(pooled[j]) + a.pooler_bias[j]));
    pooled[j] = from_float<T>(y);
    logits[0] += y * a.classifier[j];
    logits[1] += y * a.classifier[a.width + j];
  }
  for (int c = 0; c < 2; ++c) logits[c] = block_sum(logits[c], part[c]) + a.classifier_bias[c];
  const int label = a.labels[b];
  const float other = label == 0 ? logits[1] - logits[0] : logits[0] - logits[1];
  const float wrong = 1.0F / (1.0F + expf(-other));  // probability of the other class
  float d[2] = {wrong * a.scale, wrong * a.scale};
  if (label == 0) {
    d[0] = -d[0];
  } else {
    d[1] = -d[1];
  }
  for (int j = static_cast<int>(threadIdx.x); j < a.width; j += kThreads) {
    const float y = to_float(pooled[j]);
    const float d_tanh = d[0] * a.classifier[j] + d[1] * a.classifier[a.width + j];
    static_cast<T*>(a.d_pooled)[b * a.width + j] = from_float<T>(d_tanh * (1.0F - y * y));
  }
  if (threadIdx.x == 0) {
    a.losses[b] = other > 0 ? other + log1pf(expf(-other)) : log1pf(expf(other));
    a.d_logits[2 * b] = d[0];
    a.d_logits[2 * b + 1] = d[1];
  }
}

/// One thread a column of the classifier; the first two also take its bias.
template <typename T>
__global__ void __launch_bounds__(kThreads) classifier_gradient_kernel(NextSentence a) {
  const int j = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (j >= a.width) return;
  float sums[2] = {0, 0};
  float bias = 0;
  for (std::int64_t b = 0; b < a.sequences; ++b) {
    const float y = to_float(static_cast<const T*>(a.pooled)[b * a.width + j]);
    for (int c = 0; c < 2; ++c) sums[c] += a.d_logits[2 * b + c] * y;
    if (j < 2) bias += a.d_logits[2 * b + j];
  }
  for (int c = 0; c < 2; ++c) {
    float& out = a.d_classifier[c * a.width + j];
    out = a.accumulate ? out + sums[c] : sums[c];
  }
  if (j < 2) {
    float& out = a.d_classifier_bias[j];
    out = a.accumulate ? out + bias : bias;
  }
}

struct SumValues {
  const float* values;
  std::int64_t count;
  double* total;
};
__global__ void __launch_bounds__(kThreads) sum_values_kernel(SumValues a) {
  __shared__ double part[kWarps];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < a.count; i += kThreads) {
    sum += static_cast<double>(a.values[i]);
  }
  sum = block_sum(sum, part);
  if (threadIdx.x == 0) *a.total = sum;
}

struct StoreStepValues {
  StepValues values;
  StepValues* to;
};
__global__ void __launch_bounds__(kWarp) store_step_values_kernel(StoreStepValues a) {
  if (threadIdx.x == 0) *a.to = a.values;
}

}  // namespace

void cross_entropy(DType type, const CrossEntropy& a, Stream stream) {
  if (a.rows == 0) return;
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(a.values != nullptr ? cross_entropy_kernel<T, true> : cross_entropy_kernel<T, false>,
           blocks(a.rows), dim3(kThreads), 0, stream, a);
  });
}

void next_sentence(DType type, const NextSentence& a, Stream stream) {
  with_type(type, [&]<typename T>(Tag<T>) {
    launch(a.values != nullptr ? next_sentence_kernel<T, true> : next_sentence_kernel<T, false>,
           blocks(a.sequences), dim3(kThreads), 0, stream, a);
    if (a.d_classifier == nullptr) return;
    launch(classifier_gradient_kernel<T>, blocks(ceil_divide(a.width, kThreads)), dim3(kThreads), 0,
           stream, a);
  });
}

void sum_values(const float* values, std::int64_t count, double* total, Stream stream) {
  launch(sum_values_kernel, blocks(1), dim3(kThreads), 0, stream, SumValues{values, count, total});
}

void store_step_values(const StepValues& values, StepValues* to, Stream stream) {
  launch(store_step_values_kernel, blocks(1), dim3(kWarp), 0, stream, StoreStepValues{values, to});
}

}  // namespace bert::cuda
