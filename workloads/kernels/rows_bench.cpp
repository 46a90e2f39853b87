// Row kernels at the shapes of BERT-base, 8 x 128 tokens. Buffers rotate through more memory than
// the caches hold, so the shares are of memory speed.
#include <benchmark/benchmark.h>

#include <vector>

#include "workloads/bert/cpu/context.h"
#include "workloads/bert/cpu/norm.h"
#include "workloads/bert/model/arena.h"
#include "workloads/kernels/machine_rates.h"

namespace bert::bench {
namespace {

constexpr std::int64_t kRows = 1024, kHidden = 768, kWide = 3072, kLength = 128;
constexpr std::int64_t kCopies = 16;
constexpr double kProbability = 0.1;

/// kCopies tensors of [rows, width], one after the other.
class Rotation {
 public:
  Rotation(std::int64_t rows, std::int64_t width, std::uint32_t stream)
      : size_(rows * width), buffer_(size_ * kCopies) {
    fill(buffer_.data(), size_, stream);
    for (std::int64_t i = 1; i < kCopies; ++i) {
      std::copy_n(buffer_.data(), size_, buffer_.data() + i * size_);
    }
  }
  [[nodiscard]] float* at(std::int64_t turn) const {
    return buffer_.data() + turn % kCopies * size_;
  }
  [[nodiscard]] double bytes() const { return static_cast<double>(size_) * sizeof(float); }

 private:
  std::int64_t size_;
  Buffer buffer_;
};

struct Setup {
  Setup()
      : model(*named_model("bert-base")),
        layout(model),
        partials(kRowBlocks * kWide),
        scratch(thread_count() * (kWide + 256) * 2),
        vectors(8 * kWide),
        context{model, layout, kernels(), gemm, thread_count()} {
    fill(vectors.data(), vectors.size(), 9);
    context.partials = partials.data();
    context.partials_width = kWide;
    context.scratch = scratch.data();
    context.scratch_size = (kWide + 256) * 2;
    context.shape = {kRows / kLength, kLength, 0};
    context.kept = &own;
    context.training = true;
  }
  [[nodiscard]] float* vector(std::int64_t i) const { return vectors.data() + i * kWide; }
  ModelConfig model;
  ParameterLayout layout;
  Gemm gemm;
  Buffer partials, scratch, vectors;
  StepScratch own{kRows / kLength, kLength, 0, kHidden};
  Context context;
};

void bias_dropout_residual_norm(benchmark::State& state) {
  Setup setup;
  Rotation sum(kRows, kHidden, 1), residual(kRows, kHidden, 2), output(kRows, kHidden, 3);
  std::vector<float> mean(kRows), rstd(kRows);
  const DropoutKey* keys = setup.context.dropout(1, kProbability);
  NormForward norm;
  norm.width = kHidden;
  norm.rows_per_sequence = kLength;
  norm.epsilon = 1e-12F;
  norm.bias = setup.vector(0);
  norm.gamma = setup.vector(1);
  norm.beta = setup.vector(2);
  norm.before = keys;
  norm.mean = mean.data();
  norm.rstd = rstd.data();
  std::int64_t turn = 0;
  const Stopwatch watch;
  for (auto _ : state) {
    norm.input = norm.sum = sum.at(turn);
    norm.residual = residual.at(turn);
    norm.output = output.at(turn);
    run_norm_forward(setup.context, norm, kRows);
    ++turn;
  }
  report(state, watch.seconds(), 0, 4 * sum.bytes(), thread_count());
}

void bias_dropout_residual_norm_backward(benchmark::State& state) {
  Setup setup;
  Rotation sum(kRows, kHidden, 1), gradient(kRows, kHidden, 2), input(kRows, kHidden, 3);
  const std::vector<float> mean(kRows, 0.0F), rstd(kRows, 1.7F);
  const DropoutKey* keys = setup.context.dropout(1, kProbability);
  NormBackward norm;
  norm.width = kHidden;
  norm.rows_per_sequence = kLength;
  norm.mean = mean.data();
  norm.rstd = rstd.data();
  norm.gamma = setup.vector(1);
  norm.before = keys;
  std::int64_t turn = 0;
  const Stopwatch watch;
  for (auto _ : state) {
    norm.sum = sum.at(turn);
    norm.d_output = norm.d_sum = gradient.at(turn);
    norm.d_input = input.at(turn);
    run_norm_backward(setup.context, norm, kRows,
                      {setup.vector(3), setup.vector(4), setup.vector(5)});
    ++turn;
  }
  report(state, watch.seconds(), 0, 4 * sum.bytes(), thread_count());
}

void bias_gelu(benchmark::State& state) {
  Setup setup;
  Rotation input(kRows, kWide, 1), output(kRows, kWide, 2);
  std::int64_t turn = 0;
  const Stopwatch watch;
  for (auto _ : state) {
    for_row_blocks(setup.context, kRows, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
      kernels().gelu_forward(Gelu::erf, end - begin, kWide, input.at(turn) + begin * kWide,
                             setup.vector(0), output.at(turn) + begin * kWide, nullptr);
    });
    ++turn;
  }
  report(state, watch.seconds(), 0, 2 * input.bytes(), thread_count());
}

void bias_gelu_backward(benchmark::State& state) {
  Setup setup;
  Rotation input(kRows, kWide, 1), gradient(kRows, kWide, 2);
  std::int64_t turn = 0;
  const Stopwatch watch;
  for (auto _ : state) {
    run_gelu_backward(setup.context, kRows, kWide, input.at(turn), setup.vector(0),
                      gradient.at(turn), setup.vector(1), nullptr);
    ++turn;
  }
  report(state, watch.seconds(), 0, 3 * input.bytes(), thread_count());
}

/// One thread, in cache, as inside attention.
void softmax(benchmark::State& state, bool dropped) {
  std::vector<float> scores(kLength * kLength), out(kLength * kLength), scratch(kLength + 64);
  fill(scores.data(), kLength * kLength, 1);
  const DropoutKey key = dropout_key(1, 1, 1, 0, kProbability);
  SoftmaxRows rows;
  rows.rows = rows.keys = rows.ld = kLength;
  rows.elements_per_row = kLength;
  rows.dropout = dropped ? &key : nullptr;
  for (auto _ : state) {
    kernels().softmax_forward(rows, scores.data(), out.data(), scratch.data());
  }
  state.SetItemsProcessed(state.iterations() * kLength * kLength);
}

/// One thread, in cache.
void dropout(benchmark::State& state) {
  std::vector<float> factors(kHidden + 64);
  const DropoutKey key = dropout_key(1, 1, 1, 0, kProbability);
  std::uint64_t first = 0;
  for (auto _ : state) {
    kernels().dropout_factors(key, first, kHidden, factors.data());
    first += kHidden;
    benchmark::DoNotOptimize(factors.data());
  }
  state.SetItemsProcessed(state.iterations() * kHidden);
}

void cross_entropy(benchmark::State& state) {
  constexpr std::int64_t kMasked = 160, kClasses = 30522;
  const Buffer logits(kMasked * kClasses), bias(kClasses);
  fill(logits.data(), logits.size(), 1);
  const Stopwatch watch;
  for (auto _ : state) {
#pragma omp parallel for num_threads(thread_count()) schedule(static)
    for (std::int64_t row = 0; row < kMasked; ++row) {
      kernels().cross_entropy(kClasses, logits.data() + row * kClasses, bias.data(), row, 0.5F);
    }
  }
  report(state, watch.seconds(), 0, 2 * static_cast<double>(logits.bytes()), thread_count());
}

BENCHMARK(bias_dropout_residual_norm)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(bias_dropout_residual_norm_backward)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(bias_gelu)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(bias_gelu_backward)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(softmax, plain, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(softmax, with_dropout, true)->Unit(benchmark::kMicrosecond);
BENCHMARK(dropout)->Unit(benchmark::kNanosecond);
BENCHMARK(cross_entropy)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace bert::bench

BENCHMARK_MAIN();
