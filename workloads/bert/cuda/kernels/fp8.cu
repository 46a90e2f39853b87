// bf16 matrices, GELUs of them and their transposes as 8-bit numbers.
#include "workloads/bert/cuda/device/fp8.h"
#include "workloads/bert/cuda/kernels/dispatch.h"
#include "workloads/bert/cuda/kernels/gelu.h"
#include "workloads/bert/cuda/kernels/magnitudes.h"

namespace bert::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSide = 128;             ///< rows and columns of a tile
constexpr int kRowGroup = 16;          ///< rows that make 16 bytes of a transpose
constexpr int kTileWords = kSide / 4;  ///< of a tile's row
constexpr std::int64_t kMostBlocks = 1056;
/// The steepest slope of either form of GELU is 1.129.
constexpr float kSteepest = 1.13F;
/// Of a scale, as a power of two: so that the product of two of them is a number.
constexpr int kMostShift = 60;

struct Magnitudes {
  const void* values;
  std::int64_t count;
  std::uint32_t* largest;
};
__global__ void __launch_bounds__(kThreads) largest_magnitude_kernel(Magnitudes a) {
  const std::int64_t groups = a.count / 8;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  const Words* values = static_cast<const Words*>(a.values);
  std::uint32_t halves = 0;
  std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + 3 * step < groups; i += 4 * step) {
    const Words four[4] = {values[i], values[i + step], values[i + 2 * step], values[i + 3 * step]};
#pragma unroll
    for (int k = 0; k < 4; ++k) halves = larger_magnitudes(halves, four[k]);
  }
  for (; i < groups; i += step) halves = larger_magnitudes(halves, values[i]);
  keep_largest(halves, a.largest);
}

/// The power of two that brings the bound into the upper half of the format's range; 0 for a bound
/// of 0, infinity and NaN.
template <Fp8 kFormat>
__device__ __forceinline__ int shift_of(float bound) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(bound);
  if (bits == 0 || bits >= 0x7f800000) return 0;
  // The largest numbers are 1.75 times 2^8 and 2^15.
  const int largest = kFormat == Fp8::e5m2 ? 15 : 8;
  const int exponent = static_cast<int>(bits >> 23) - 127;
  const int shift = largest - exponent - ((bits & 0x7fffff) > 0x600000 ? 1 : 0);
  return shift > kMostShift ? kMostShift : shift < -kMostShift ? -kMostShift : shift;
}

__device__ __forceinline__ void unpack(const Words& words, float* out) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    out[2 * k] = std::bit_cast<float>(words.word[k] << 16);
    out[2 * k + 1] = std::bit_cast<float>(words.word[k] & 0xffff0000U);
  }
}

/// A tile of 128 x 128 a block: eight rows of eight columns a thread, then, for the transpose,
/// sixteen rows of four columns. In shared memory the words of a row change places by its group of
/// rows, so that neither way two lanes meet in a bank.
template <Fp8 kFormat, CastFp8::Source kSource, bool kTanh>
__global__ void __launch_bounds__(kThreads, kSource == CastFp8::Source::gelu_backward ? 2 : 3)
    cast_fp8_kernel(CastFp8 a) {
  constexpr bool kBackward = kSource == CastFp8::Source::gelu_backward;
  __shared__ TwoWords tile[kSide * kTileWords / 2];
  const int thread = static_cast<int>(threadIdx.x);
  const int first_column = static_cast<int>(blockIdx.x) * kSide;
  const int column = first_column + thread % 16 * 8;
  const std::int64_t first = std::int64_t{blockIdx.y} * kSide;
  const auto inside = [&](int i) {
    return first + thread / 16 + kRowGroup * i < a.rows && column < a.width;
  };
  const std::int64_t place = (first + thread / 16) * a.width + column;
  Words in[8] = {};
  Words wide[kBackward ? 8 : 1] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (!inside(i)) continue;
    const std::int64_t at = place + std::int64_t{kRowGroup} * i * a.width;
    in[i] = *reinterpret_cast<const Words*>(static_cast<const Bf16*>(a.input) + at);
    if constexpr (kBackward) {
      wide[i] = *reinterpret_cast<const Words*>(static_cast<const Bf16*>(a.wide) + at);
    }
  }
  float bound = std::bit_cast<float>(*a.largest << 16);
  if constexpr (kBackward) bound *= kSteepest;
  const int shift = shift_of<kFormat>(bound);
  // What is not finite shall show: it makes the whole matrix NaN.
  const float scale = bound - bound == 0.0F ? power_of_two(shift) : NAN;
  if (thread == 0 && blockIdx.x == 0 && blockIdx.y == 0) *a.inverse_scale = power_of_two(-shift);
  float sums[8] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float x[8];
    unpack(in[i], x);
    if constexpr (kSource == CastFp8::Source::gelu) {
#pragma unroll
      for (int k = 0; k < 8; ++k) x[k] = kTanh ? gelu_tanh<Bf16>(x[k]) : gelu<Bf16>(x[k]);
    } else if constexpr (kBackward) {
      float z[8];
      unpack(wide[i], z);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        x[k] *= kTanh ? gelu_tanh_slope<Bf16>(z[k]) : gelu_slope<Bf16>(z[k]);
        sums[k] += x[k];
      }
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) x[k] *= scale;
    const TwoWords two{{pack_four<kFormat>(x), pack_four<kFormat>(x + 4)}};
    if (a.output != nullptr && inside(i)) {
      *reinterpret_cast<TwoWords*>(static_cast<std::uint8_t*>(a.output) + place +
                                   std::int64_t{kRowGroup} * i * a.width) = two;
    }
    if (a.transposed != nullptr) {
      tile[(thread / 16 + kRowGroup * i) * kTileWords / 2 + (thread % 16 ^ 2 * i)] = two;
    }
  }
  if constexpr (kBackward) {
    __shared__ float part[kRowGroup][kSide];
#pragma unroll
    for (int k = 0; k < 8; ++k) part[thread / 16][thread % 16 * 8 + k] = sums[k];
    __syncthreads();
    if (thread < kSide && first_column + thread < a.width) {
      float total = 0;
      for (int row = 0; row < kRowGroup; ++row) total += part[row][thread];
      a.partials[std::int64_t{blockIdx.y} * a.width + first_column + thread] = total;
    }
  }
  if (a.transposed == nullptr) return;
  if constexpr (!kBackward) __syncthreads();
  const int group = thread % 8;
  const int word = thread / 8;
  const std::int64_t row = first + kRowGroup * group;
  const std::int64_t stride = fp8_row_count(a.rows);
  if (first_column + 4 * word >= a.width || row >= stride) return;
  Words out[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    std::uint32_t w[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int at = (kRowGroup * group + 4 * i + k) * kTileWords + (word ^ 4 * group);
      w[k] = tile[at / 2].word[at % 2];
    }
    const std::uint32_t low01 = choose_bytes(w[0], w[1], 0x5140);
    const std::uint32_t low23 = choose_bytes(w[2], w[3], 0x5140);
    const std::uint32_t high01 = choose_bytes(w[0], w[1], 0x7362);
    const std::uint32_t high23 = choose_bytes(w[2], w[3], 0x7362);
    out[0].word[i] = choose_bytes(low01, low23, 0x5410);
    out[1].word[i] = choose_bytes(low01, low23, 0x7632);
    out[2].word[i] = choose_bytes(high01, high23, 0x5410);
    out[3].word[i] = choose_bytes(high01, high23, 0x7632);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    store_words(static_cast<std::uint8_t*>(a.transposed) +
                    std::int64_t{first_column + 4 * word + k} * stride + row,
                out[k]);
  }
}

using Kernel = void (*)(CastFp8);
Kernel kernel_of(Fp8 format, const CastFp8& a) {
  using Source = CastFp8::Source;
  switch (a.source) {
    case Source::gelu:
      return a.tanh ? cast_fp8_kernel<Fp8::e4m3, Source::gelu, true>
                    : cast_fp8_kernel<Fp8::e4m3, Source::gelu, false>;
    case Source::gelu_backward:
      return a.tanh ? cast_fp8_kernel<Fp8::e5m2, Source::gelu_backward, true>
                    : cast_fp8_kernel<Fp8::e5m2, Source::gelu_backward, false>;
    case Source::input:
      break;
  }
  return format == Fp8::e5m2 ? cast_fp8_kernel<Fp8::e5m2, Source::input, false>
                             : cast_fp8_kernel<Fp8::e4m3, Source::input, false>;
}

}  // namespace

void largest_magnitude(const void* values, std::int64_t count, std::uint32_t* largest,
                       Stream stream) {
  if (count == 0) return;
  const std::int64_t wanted = ceil_divide(count / 8, 4 * kThreads);
  launch(largest_magnitude_kernel, blocks(wanted < kMostBlocks ? wanted : kMostBlocks),
         dim3(kThreads), 0, stream, Magnitudes{values, count, largest});
}

std::int64_t cast_partials_bytes(std::int64_t rows, std::int64_t width) {
  return ceil_divide(rows, kSide) * width * 4;
}

void cast_fp8(Fp8 format, const CastFp8& a, Stream stream) {
  const std::int64_t row_tiles = ceil_divide(a.rows, kSide);
  if (row_tiles == 0) return;
  launch(kernel_of(format, a), blocks(ceil_divide(a.width, kSide), row_tiles), dim3(kThreads), 0,
         stream, a);
  if (a.source != CastFp8::Source::gelu_backward) return;
  reduce_partials(a.partials, row_tiles, a.width, a.sums, a.accumulate, stream);
}

}  // namespace bert::cuda
