// The products of one BERT-base layer at 1024 tokens, and of the tied decoder, in all directions.
#include <benchmark/benchmark.h>
#include <omp.h>

#include "workloads/bert/cpu/gemm.h"
#include "workloads/bert/model/arena.h"
#include "workloads/kernels/machine_rates.h"

namespace bert::bench {
namespace {

enum Direction { kForward, kBackwardInput, kBackwardWeight };

void product(benchmark::State& state, Direction direction) {
  const std::int64_t m = state.range(0);
  const std::int64_t n = state.range(1);
  const std::int64_t k = state.range(2);
  const Buffer x(m * k), weight(n * k), y(m * n), bias(n);
  fill(x.data(), x.size(), 1);
  fill(weight.data(), weight.size(), 2);
  fill(y.data(), y.size(), 3);
  omp_set_num_threads(thread_count());
  Gemm gemm;
  const Stopwatch watch;
  for (auto _ : state) {
    switch (direction) {
      case kForward:
        gemm.forward(m, n, k, x.data(), weight.data(), bias.data(), y.data());
        break;
      case kBackwardInput:
        Gemm::backward_input(m, n, k, y.data(), weight.data(), x.data(), false);
        break;
      case kBackwardWeight:
        Gemm::backward_weight(m, n, k, y.data(), x.data(), weight.data(), false);
        break;
    }
  }
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  report(state, watch.seconds(), flops, 0, thread_count());
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "out", "in"})->UseRealTime()->Unit(benchmark::kMillisecond);
  b->Args({1024, 2304, 768});  // query, key, value
  b->Args({1024, 768, 768});   // attention output
  b->Args({1024, 3072, 768});  // FFN up
  b->Args({1024, 768, 3072});  // FFN down
  b->Args({160, 30522, 768});  // decoder at 8 x 20 masked positions
}

BENCHMARK_CAPTURE(product, forward, kForward)->Apply(shapes);
BENCHMARK_CAPTURE(product, backward_input, kBackwardInput)->Apply(shapes);
BENCHMARK_CAPTURE(product, backward_weight, kBackwardWeight)->Apply(shapes);

}  // namespace
}  // namespace bert::bench

BENCHMARK_MAIN();
