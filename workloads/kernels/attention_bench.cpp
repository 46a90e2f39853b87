// Self-attention of BERT-base between its products: 8 x 128 and 2 x 512 tokens, dropout 0.1.
#include <benchmark/benchmark.h>

#include <vector>

#include "workloads/bert/cpu/attention.h"
#include "workloads/bert/model/arena.h"
#include "workloads/kernels/machine_rates.h"

namespace bert::bench {
namespace {

struct Setup {
  Setup(std::int64_t sequences, std::int64_t length)
      : model(*named_model("bert-base")),
        layout(model),
        qkv(sequences * length * 3 * model.hidden),
        d_qkv(qkv.size()),
        probabilities(sequences * length * length * model.heads),
        output(sequences * length * model.hidden),
        gradients(layout.total),
        partials(sequences * 3 * model.hidden),
        scratch(thread_count() * attention_scratch(length)),
        lengths(static_cast<std::size_t>(sequences), static_cast<std::int32_t>(length)),
        own(sequences, length, 0, model.hidden),
        context{model, layout, kernels(), gemm, thread_count()} {
    fill(qkv.data(), qkv.size(), 1);
    context.gradients = gradients.data();
    context.scratch = scratch.data();
    context.scratch_size = attention_scratch(length);
    context.shape = {sequences, length, 0};
    context.kept = &own;
    Batch batch;
    batch.sequences = sequences;
    batch.sequence_length = length;
    own.lay_out(batch, false);
    context.training = true;
  }
  ModelConfig model;
  ParameterLayout layout;
  Gemm gemm;
  Buffer qkv, d_qkv, probabilities, output, gradients, partials, scratch;
  std::vector<std::int32_t> lengths;
  StepScratch own;
  Context context;
};

double product_flops(const Setup& setup, double products) {
  const auto tokens = static_cast<double>(setup.context.kept->first_rows.back());
  return products * 2 * tokens * static_cast<double>(setup.context.shape.length) *
         static_cast<double>(setup.model.hidden);
}

void forward(benchmark::State& state) {
  Setup setup(state.range(0), state.range(1));
  const Stopwatch watch;
  for (auto _ : state) {
    attention_forward(setup.context, 0, setup.lengths.data(), setup.qkv.data(),
                      setup.probabilities.data(), setup.output.data());
  }
  const auto bytes = setup.qkv.bytes() + setup.probabilities.bytes() + setup.output.bytes();
  report(state, watch.seconds(), product_flops(setup, 2), static_cast<double>(bytes),
         thread_count());
}

void backward(benchmark::State& state) {
  Setup setup(state.range(0), state.range(1));
  attention_forward(setup.context, 0, setup.lengths.data(), setup.qkv.data(),
                    setup.probabilities.data(), setup.output.data());
  const Stopwatch watch;
  for (auto _ : state) {
    attention_backward(setup.context, 0, setup.lengths.data(), setup.qkv.data(),
                       setup.probabilities.data(), setup.output.data(), setup.d_qkv.data(),
                       setup.partials.data());
  }
  const auto bytes = 2 * setup.qkv.bytes() + setup.probabilities.bytes() + setup.output.bytes();
  report(state, watch.seconds(), product_flops(setup, 4), static_cast<double>(bytes),
         thread_count());
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"sequences", "length"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  b->Args({8, 128})->Args({2, 512});
}
BENCHMARK(forward)->Apply(shapes);
BENCHMARK(backward)->Apply(shapes);

}  // namespace
}  // namespace bert::bench

BENCHMARK_MAIN();
