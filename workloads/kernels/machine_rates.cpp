#include "workloads/kernels/machine_rates.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/gemm.h"
#include "workloads/bert/cpu/kernels.h"
#include "workloads/bert/model/arena.h"
#include "workloads/bert/model/philox.h"

namespace bert::bench {
namespace {

constexpr int kRepeats = 5;

template <typename Body>
double best_seconds(const Body& body) {
  body();
  double best = 1e30;
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double gemm_rate(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                 float* c) {
  const double seconds =
      best_seconds([&] { sgemm(false, false, m, n, k, 1.0F, a, k, b, n, 0.0F, c, n); });
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / seconds;
}

}  // namespace

namespace {

/// The operands, made once: 2048 x 2048 each.
struct Operands {
  static constexpr std::int64_t kSide = 2048;
  Operands() : buffer(3 * kSide * kSide) { fill(buffer.data(), 2 * kSide * kSide, 1); }
  [[nodiscard]] const float* a() const { return buffer.data(); }
  [[nodiscard]] const float* b() const { return buffer.data() + kSide * kSide; }
  [[nodiscard]] float* c() const { return buffer.data() + 2 * kSide * kSide; }
  Buffer buffer;
};

const Operands& operands() {
  static const Operands made;
  return made;
}

}  // namespace

double measure_gemm_rate(int threads) {
  omp_set_num_threads(threads);
  const Operands& use = operands();
  return std::max(gemm_rate(2048, 2048, 2048, use.a(), use.b(), use.c()),
                  gemm_rate(1024, 3072, 768, use.a(), use.b(), use.c()));
}

double sample_gemm_rate(int threads, bool bf16) {
  omp_set_num_threads(threads);
  constexpr std::int64_t kSide = Operands::kSide;
  const Operands& use = operands();
  const auto timed = [](const auto& product) {
    const auto start = std::chrono::steady_clock::now();
    product();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return 2.0 * kSide * kSide * kSide / seconds;
  };
  if (!bf16) {
    return timed([&] {
      sgemm(false, false, kSide, kSide, kSide, 1.0F, use.a(), kSide, use.b(), kSide, 0.0F, use.c(),
            kSide);
    });
  }
  static const std::vector<Bf16> rounded = [&] {
    std::vector<Bf16> made(2 * kSide * kSide);
    kernels().to_bf16(2 * kSide * kSide, use.a(), made.data());
    return made;
  }();
  static Bf16Products products(threads);
  // The second operand is transposed: oneDNN's fastest of the four forms, by an eighth.
  const Bf16Shape shape{false, true, kSide, kSide, kSide, kSide, kSide, kSide};
  return timed([&] {
    products.multiply(shape, rounded.data(), rounded.data() + kSide * kSide, nullptr, use.c());
  });
}

double measure_copy_rate(int threads) {
  constexpr std::int64_t kSize = 1 << 25;  // floats: 128 MiB each way
  constexpr std::int64_t kBlocks = 64;
  static const Buffer buffer(2 * kSize);
  const float* from = buffer.data();
  float* to = buffer.data() + kSize;
  const double seconds = best_seconds([&] {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t block = 0; block < kBlocks; ++block) {
      constexpr std::int64_t kPart = kSize / kBlocks;
      std::memcpy(to + block * kPart, from + block * kPart, kPart * sizeof(float));
    }
  });
  return 2.0 * static_cast<double>(kSize) * sizeof(float) / seconds;
}

void report_flops(benchmark::State& state, double seconds, double flops, double gemm_rate) {
  const double rate = flops * static_cast<double>(state.iterations()) / seconds;
  state.counters["FLOP/s"] = rate;
  state.counters["gemm_FLOP/s"] = gemm_rate;
  state.counters["share_of_gemm"] = rate / gemm_rate;
}

void report(benchmark::State& state, double seconds, double flops, double bytes, int threads) {
  if (flops > 0) report_flops(state, seconds, flops, measure_gemm_rate(threads));
  if (bytes > 0) {
    const double rate = bytes * static_cast<double>(state.iterations()) / seconds;
    const double copy_rate = measure_copy_rate(threads);
    state.counters["bytes/s"] = rate;
    state.counters["copy_bytes/s"] = copy_rate;
    state.counters["share_of_copy"] = rate / copy_rate;
  }
}

int thread_count() { return omp_get_max_threads(); }

void fill(float* values, std::int64_t size, std::uint32_t stream) {
  for (std::int64_t i = 0; i < size; ++i) {
    const auto words = philox({static_cast<std::uint32_t>(i / 4), stream, 0, 0}, {3, 5});
    const std::uint32_t word = words[static_cast<std::size_t>(i % 4)];
    values[i] = static_cast<float>(word) / 2147483648.0F - 1.0F;
  }
}

}  // namespace bert::bench
