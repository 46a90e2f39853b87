// AdamW and LAMB over a table of chunks; formulas in model/adam.h. Master weights and moments
// are fp32; the copy that products read is written in the same pass.
#include "workloads/bert/cuda/kernels/dispatch.h"

namespace bert::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kBlocks = 3;  ///< on a multiprocessor; leaves each thread 80 registers

template <typename T>
__device__ __forceinline__ void store_weight(const OptimizerArguments& a, std::int64_t i, float w) {
  a.weights[i] = w;
  if (a.copy != nullptr) static_cast<T*>(a.copy)[i] = from_float<T>(w);
}

/// The new moments of element i.
struct Moments {
  float first, second;
};
__device__ __forceinline__ Moments update_moments(const OptimizerArguments& a, const Chunk& chunk,
                                                  std::int64_t i) {
  const std::int64_t at = i - chunk.begin + chunk.local;
  const float g = a.gradients[i] * a.gradient_factor;
  Moments next;
  next.first = a.beta1 * a.first[at] + a.one_minus_beta1 * g;
  next.second = a.beta2 * a.second[at] + a.one_minus_beta2 * g * g;
  a.first[at] = next.first;
  a.second[at] = next.second;
  return next;
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocks) adamw_kernel(OptimizerArguments a) {
  const Chunk chunk = a.chunks[blockIdx.x];
  const float keep = a.decays[chunk.parameter] != 0 ? 1.0F - a.decay : 1.0F;
  const float rate = a.rate * a.first_correction;
#pragma unroll 4
  for (std::int64_t i = chunk.begin + threadIdx.x; i < chunk.begin + chunk.size; i += kThreads) {
    const Moments m = update_moments(a, chunk, i);
    const float denominator = sqrtf(m.second) * a.second_correction_root + a.epsilon;
    store_weight<T>(a, i, a.weights[i] * keep - rate * (m.first / denominator));
  }
}

__device__ __forceinline__ float lamb_update(const OptimizerArguments& a, float decay, float w,
                                             float first, float second) {
  const float denominator = sqrtf(second) * a.second_correction_root + a.epsilon;
  return first * a.first_correction / denominator + decay * w;
}

/// Moments, and this chunk's share of the squares of weights and update.
__global__ void __launch_bounds__(kThreads, kBlocks) lamb_moments_kernel(OptimizerArguments a) {
  __shared__ double part[2][kWarps];
  const Chunk chunk = a.chunks[blockIdx.x];
  const float decay = a.decays[chunk.parameter] != 0 ? a.decay : 0.0F;
  double sums[2] = {0, 0};
#pragma unroll 4
  for (std::int64_t i = chunk.begin + threadIdx.x; i < chunk.begin + chunk.size; i += kThreads) {
    const Moments m = update_moments(a, chunk, i);
    const float w = a.weights[i];
    const float u = lamb_update(a, decay, w, m.first, m.second);
    sums[0] += static_cast<double>(w) * static_cast<double>(w);
    sums[1] += static_cast<double>(u) * static_cast<double>(u);
  }
  for (int k = 0; k < 2; ++k) {
    sums[k] = warp_sum(sums[k]);
    if (threadIdx.x % kWarp == 0) part[k][threadIdx.x / kWarp] = sums[k];
  }
  __syncthreads();
  if (threadIdx.x >= 2) return;
  double total = 0;
  for (int w = 0; w < kWarps; ++w) total += part[threadIdx.x][w];
  a.sums[2 * std::int64_t{blockIdx.x} + threadIdx.x] = total;
}

/// One thread a tensor.
__global__ void __launch_bounds__(kThreads) lamb_sums_kernel(OptimizerArguments a) {
  const std::int32_t p = static_cast<std::int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (p >= a.parameters) return;
  double weights = 0;
  double update = 0;
  for (std::int32_t c = a.first_chunk[p]; c < a.first_chunk[p + 1]; ++c) {
    weights += a.sums[2 * c];
    update += a.sums[2 * c + 1];
  }
  a.parameter_sums[2 * p] = weights;
  a.parameter_sums[2 * p + 1] = update;
}

/// One thread a tensor here, too.
__global__ void __launch_bounds__(kThreads) lamb_ratio_kernel(OptimizerArguments a) {
  const std::int32_t p = static_cast<std::int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (p >= a.parameters) return;
  float ratio = 1;
  if (a.decays[p] != 0 || a.trust_without_decay) {
    const double weights = a.parameter_sums[2 * p];
    const double update = a.parameter_sums[2 * p + 1];
    if (weights > 0 && update > 0) ratio = static_cast<float>(sqrt(weights / update));
    if (a.min_trust > 0 && ratio < a.min_trust) ratio = a.min_trust;
    if (a.max_trust > 0 && ratio > a.max_trust) ratio = a.max_trust;
  }
  a.ratios[p] = ratio;
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocks) lamb_apply_kernel(OptimizerArguments a) {
  const Chunk chunk = a.chunks[blockIdx.x];
  const float decay = a.decays[chunk.parameter] != 0 ? a.decay : 0.0F;
  const float rate = a.rate * a.ratios[chunk.parameter];
#pragma unroll 4
  for (std::int64_t i = chunk.begin + threadIdx.x; i < chunk.begin + chunk.size; i += kThreads) {
    const float w = a.weights[i];
    const std::int64_t at = i - chunk.begin + chunk.local;
    store_weight<T>(a, i, w - rate * lamb_update(a, decay, w, a.first[at], a.second[at]));
  }
}

struct Squares {
  const Chunk* chunks;
  std::int64_t count;
  const float* values;
  double* partial;
  double* total;
};
__global__ void __launch_bounds__(kThreads) squares_kernel(Squares a) {
  __shared__ double part[kWarps];
  const Chunk chunk = a.chunks[blockIdx.x];
  double sum = 0;
#pragma unroll 4
  for (std::int64_t i = chunk.begin + threadIdx.x; i < chunk.begin + chunk.size; i += kThreads) {
    const auto x = static_cast<double>(a.values[i]);
    sum += x * x;
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) part[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double total = 0;
  for (int w = 0; w < kWarps; ++w) total += part[w];
  a.partial[blockIdx.x] = total;
}
__global__ void __launch_bounds__(kThreads) add_squares_kernel(Squares a) {
  __shared__ double part[kWarps];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < a.count; i += kThreads) sum += a.partial[i];
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) part[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double total = 0;
  for (int w = 0; w < kWarps; ++w) total += part[w];
  *a.total = total;
}

}  // namespace

void adamw(DType copy, const OptimizerArguments& a, Stream stream) {
  if (a.count == 0) return;
  with_type(copy, [&]<typename T>(Tag<T>) {
    launch(adamw_kernel<T>, blocks(a.count), dim3(kThreads), 0, stream, a);
  });
}

void lamb_moments(const OptimizerArguments& a, Stream stream) {
  if (a.count > 0) {  // a rank may own nothing of a small model
    launch(lamb_moments_kernel, blocks(a.count), dim3(kThreads), 0, stream, a);
  }
  launch(lamb_sums_kernel, blocks(ceil_divide(a.parameters, kThreads)), dim3(kThreads), 0, stream,
         a);
}

void lamb_weights(DType copy, const OptimizerArguments& a, Stream stream) {
  launch(lamb_ratio_kernel, blocks(ceil_divide(a.parameters, kThreads)), dim3(kThreads), 0, stream,
         a);
  if (a.count == 0) return;
  with_type(copy, [&]<typename T>(Tag<T>) {
    launch(lamb_apply_kernel<T>, blocks(a.count), dim3(kThreads), 0, stream, a);
  });
}

void sum_of_squares(const Chunk* chunks, std::int64_t count, const float* values, double* partial,
                    double* total, Stream stream) {
  const Squares a{chunks, count, values, partial, total};
  if (count > 0) launch(squares_kernel, blocks(count), dim3(kThreads), 0, stream, a);
  launch(add_squares_kernel, blocks(1), dim3(kThreads), 0, stream, a);
}

}  // namespace bert::cuda
