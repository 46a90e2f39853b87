// What this machine can do, measured in the program that reports a kernel next to it.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

namespace bert::bench {

/// oneDNN sgemm of 1024 x 3072 x 768 (a BERT-base layer at 1024 tokens) and of 2048^3, whichever
/// is faster; best of a few calls, FLOP/s.
double measure_gemm_rate(int threads);

/// One product of 2048^3, FLOP/s, for a sample between two timed iterations: sgemm, or oneDNN's
/// product of bf16 numbers with fp32 sums in its fastest form.
double sample_gemm_rate(int threads, bool bf16 = false);

/// Copy between buffers far larger than the caches, bytes read + bytes written per second.
double measure_copy_rate(int threads);

/// Seconds since it was made. The shares need the time as a number, which State does not give.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Adds FLOP/s, `gemm_rate` and their ratio. `seconds` is the time of all iterations.
void report_flops(benchmark::State& state, double seconds, double flops, double gemm_rate);

/// Adds FLOP/s and bytes/s of the timed loop, the machine's rates just measured and the shares.
/// 0 = not counted. `flops` and `bytes` are per iteration; bytes count every array that must come
/// from or go to memory once.
void report(benchmark::State& state, double seconds, double flops, double bytes, int threads);

/// Threads of every benchmark: OMP_NUM_THREADS, else all cores.
int thread_count();

/// Fills with values in [-1, 1): zeros would run faster than real data.
void fill(float* values, std::int64_t size, std::uint32_t stream);

}  // namespace bert::bench
