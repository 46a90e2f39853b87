// AdamW and LAMB over a table of chunks; formulas in model/adam.h. Master weights and moments
// are fp32; the copy that products read is written in the same pass.
#include "workloads/bert/cuda/kernels/dispatch.h"

namespace bert::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kBlocks = 3;  ///< on a multiprocessor; leaves each thread 80 registers

/// Calls body(count, element, in_moments) for four neighbours of the chunk at a time: count is 4,
/// or less at the end and where the chunk begins at no multiple of four.
template <typename Body>
__device__ __forceinline__ void each_four(const Chunk& chunk, const Body& body) {
  const bool whole = (chunk.begin | chunk.local) % 4 == 0;
  const std::int64_t quads = whole ? chunk.size / 4 : 0;
#pragma unroll 2
  for (std::int64_t i = threadIdx.x; i < quads; i += kThreads) {
    body(Number<4>{}, chunk.begin + 4 * i, chunk.local + 4 * i);
  }
  for (std::int64_t i = 4 * quads + threadIdx.x; i < chunk.size; i += kThreads) {
    body(Number<1>{}, chunk.begin + i, chunk.local + i);
  }
}

/// kCount neighbours in one access.
template <int kCount>
struct Values {
  float value[kCount];
};
template <int kCount>
__device__ __forceinline__ Values<kCount> load(const float* from) {
  Values<kCount> out;
  if constexpr (kCount == 4) {
    const Floats four = *reinterpret_cast<const Floats*>(from);
    for (int i = 0; i < 4; ++i) out.value[i] = four.value[i];
  } else {
    out.value[0] = *from;
  }
  return out;
}
template <int kCount>
__device__ __forceinline__ void store(float* to, const Values<kCount>& values) {
  if constexpr (kCount == 4) {
    *reinterpret_cast<Floats*>(to) = {
        {values.value[0], values.value[1], values.value[2], values.value[3]}};
  } else {
    *to = values.value[0];
  }
}

template <typename T, int kCount>
__device__ __forceinline__ void store_weights(const OptimizerArguments& a, std::int64_t i,
                                              const Values<kCount>& w) {
  store(a.weights + i, w);
  if (a.copy == nullptr) return;
  T* copy = static_cast<T*>(a.copy) + i;
  if constexpr (kCount == 4 && sizeof(T) == 2) {
    *reinterpret_cast<TwoWords*>(copy) = {
        {pack<T>(w.value[0], w.value[1]), pack<T>(w.value[2], w.value[3])}};
  } else {
    for (int k = 0; k < kCount; ++k) copy[k] = from_float<T>(w.value[k]);
  }
}

/// Gradients, moments and weights of some neighbours. All are loaded before the first is stored:
/// for all that the compiler knows the arrays may overlap, so it keeps the order of the source.
template <int kCount>
struct Elements {
  __device__ __forceinline__ Elements(const OptimizerArguments& a, std::int64_t i, std::int64_t at)
      : gradient(load<kCount>(a.gradients + i)),
        first(load<kCount>(a.first + at)),
        second(load<kCount>(a.second + at)),
        weight(load<kCount>(a.weights + i)) {}
  /// The new moments, also stored.
  __device__ __forceinline__ void update_moments(const OptimizerArguments& a, std::int64_t at) {
    for (int k = 0; k < kCount; ++k) {
      const float g = gradient.value[k] * a.gradient_factor;
      first.value[k] = a.beta1 * first.value[k] + a.one_minus_beta1 * g;
      second.value[k] = a.beta2 * second.value[k] + a.one_minus_beta2 * g * g;
    }
    store(a.first + at, first);
    store(a.second + at, second);
  }
  Values<kCount> gradient, first, second, weight;
};

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocks) adamw_kernel(OptimizerArguments a) {
  const Chunk chunk = a.chunks[blockIdx.x];
  const float keep = a.decays[chunk.parameter] != 0 ? 1.0F - a.decay : 1.0F;
  const float rate = a.rate * a.first_correction;
  each_four(chunk, [&]<int kCount>(Number<kCount>, std::int64_t i, std::int64_t at) {
    Elements<kCount> e(a, i, at);
    e.update_moments(a, at);
    for (int k = 0; k < kCount; ++k) {
      const float denominator = sqrtf(e.second.value[k]) * a.second_correction_root + a.epsilon;
      e.weight.value[k] = e.weight.value[k] * keep - rate * (e.first.value[k] / denominator);
    }
    store_weights<T>(a, i, e.weight);
  });
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
  each_four(chunk, [&]<int kCount>(Number<kCount>, std::int64_t i, std::int64_t at) {
    Elements<kCount> e(a, i, at);
    e.update_moments(a, at);
    for (int k = 0; k < kCount; ++k) {
      const float w = e.weight.value[k];
      const float u = lamb_update(a, decay, w, e.first.value[k], e.second.value[k]);
      sums[0] += static_cast<double>(w) * static_cast<double>(w);
      sums[1] += static_cast<double>(u) * static_cast<double>(u);
    }
  });
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
  each_four(chunk, [&]<int kCount>(Number<kCount>, std::int64_t i, std::int64_t at) {
    Values<kCount> w = load<kCount>(a.weights + i);
    const Values<kCount> first = load<kCount>(a.first + at);
    const Values<kCount> second = load<kCount>(a.second + at);
    for (int k = 0; k < kCount; ++k) {
      w.value[k] -= rate * lamb_update(a, decay, w.value[k], first.value[k], second.value[k]);
    }
    store_weights<T>(a, i, w);
  });
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
  each_four(chunk, [&]<int kCount>(Number<kCount>, std::int64_t i, std::int64_t) {
    const Values<kCount> values = load<kCount>(a.values + i);
    for (int k = 0; k < kCount; ++k) {
      const auto x = static_cast<double>(values.value[k]);
      sum += x * x;
    }
  });
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
