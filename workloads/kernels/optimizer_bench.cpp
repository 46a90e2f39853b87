// AdamW, LAMB and the gradient norm over the parameters of bert-base (110 million).
#include <benchmark/benchmark.h>

#include "workloads/bert/cpu/optimizer.h"
#include "workloads/bert/model/arena.h"
#include "workloads/bert/model/parameters.h"
#include "workloads/kernels/machine_rates.h"

namespace bert::bench {
namespace {

struct Setup {
  Setup()
      : layout(*named_model("bert-base")),
        optimizer(layout.parameters, kernels(), thread_count()),
        gradients(layout.total),
        weights(layout.total),
        first(layout.total),
        second(layout.total) {
    fill(gradients.data(), gradients.size(), 1);
    fill(weights.data(), weights.size(), 2);
  }
  ParameterLayout layout;
  Optimizer optimizer;
  Buffer gradients, weights, first, second;
};

/// Made once: two thirds of a gigabyte of random numbers.
Setup& shared() {
  static Setup one;
  return one;
}

void update(benchmark::State& state, OptimizerOptions::Kind kind, double passes) {
  Setup& setup = shared();
  OptimizerOptions options;
  options.kind = kind;
  std::int64_t t = 0;
  const auto run = [&] {
    setup.optimizer.step(options, 1e-4, 1.0, 1.0, ++t, setup.gradients.data(), setup.weights.data(),
                         setup.first.data(), setup.second.data(), nullptr, {});
  };
  run();  // touches the moments
  const Stopwatch watch;
  for (auto _ : state) run();
  report(state, watch.seconds(), 0, passes * static_cast<double>(setup.weights.bytes()),
         thread_count());
}

void norm(benchmark::State& state) {
  Setup& setup = shared();
  const Stopwatch watch;
  for (auto _ : state) benchmark::DoNotOptimize(setup.optimizer.norm(setup.gradients.data()));
  report(state, watch.seconds(), 0, static_cast<double>(setup.gradients.bytes()), thread_count());
}

// AdamW reads g, w, m, v and writes w, m, v. LAMB's second pass reads w, m, v again.
BENCHMARK_CAPTURE(update, adamw, OptimizerOptions::Kind::adamw, 7.0)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(update, lamb, OptimizerOptions::Kind::lamb, 10.0)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(norm)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bert::bench

BENCHMARK_MAIN();
