// The whole optimizer step: forward, backward, gradient norm, AdamW. Dropout 0.1.
//   step_bench --benchmark_filter=bert-base
// scripts/compare_pytorch runs the cases of BERT that it names, next to PyTorch.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/module.h"
#include "workloads/bert/cpu/cpu_backend.h"
#include "workloads/bert/model/philox.h"
#include "workloads/kernels/machine_rates.h"

namespace bert::bench {
namespace {

/// FLOPs that the model needs for one training sequence: 3 times the forward products, logits at
/// predicted positions only, no recomputation ("masked_head" of `bertbench flops`).
double model_flops(const ModelConfig& model, std::int64_t length, std::int64_t predicted) {
  const auto h = static_cast<double>(model.hidden);
  const auto s = static_cast<double>(length);
  const auto wide = static_cast<double>(model.intermediate);
  const double layer = 8 * s * h * h + 4 * s * h * wide + 4 * s * s * h;
  const bool bert = model.objective == Objective::masked_words;
  const double transform = bert ? 2 * h * h : 0;
  const double pooler = bert ? 2 * h * h + 4 * h : 0;
  const double head =
      static_cast<double>(predicted) * (transform + 2 * h * static_cast<double>(model.vocabulary));
  return 3 * (static_cast<double>(model.layers) * layer + head + pooler);
}

Batch make_batch(const ModelConfig& model, std::int64_t sequences, std::int64_t length) {
  Batch batch;
  batch.sequences = sequences;
  batch.sequence_length = length;
  batch.masked_per_sequence = model.predicted_positions(length);
  const auto random = [](std::int64_t i, std::int64_t below) {
    return static_cast<std::int32_t>(philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {1, 2})[0] %
                                     static_cast<std::uint32_t>(below));
  };
  for (std::int64_t i = 0; i < sequences * length; ++i) {
    batch.tokens.push_back(random(i, model.vocabulary));
  }
  if (model.objective == Objective::next_word) {
    for (std::int64_t i = 1; i <= sequences * length; ++i) {
      batch.labels.push_back(random(i, model.vocabulary));
    }
    batch.lengths.assign(static_cast<std::size_t>(sequences), static_cast<std::int32_t>(length));
    return batch;
  }
  for (std::int64_t i = 0; i < sequences * length; ++i) {
    batch.segments.push_back(i % length < length / 2 ? 0 : 1);
  }
  for (std::int64_t b = 0; b < sequences; ++b) {
    batch.lengths.push_back(static_cast<std::int32_t>(length));
    batch.next_sentence.push_back(static_cast<std::int32_t>(b % 2));
    for (std::int64_t j = 0; j < batch.masked_per_sequence; ++j) {
      batch.masked.push_back(
          static_cast<std::int32_t>(b * length + j * length / batch.masked_per_sequence));
      batch.labels.push_back(random(b * length + j + (1 << 24), model.vocabulary));
    }
  }
  return batch;
}

/// One trainer at a time: Google Benchmark calls a benchmark several times while it looks for the
/// number of iterations, and bert-large takes seconds to make.
struct Trainer {
  std::string name;
  std::unique_ptr<Backend> backend;
  Batch batch;
  std::int64_t update = 0;

  void step() {
    ++update;
    backend->zero_gradients();
    const Loss loss = backend->forward_backward(batch, 1.0, true, update, {});
    const double norm = backend->gradient_norm();
    backend->optimizer_step({}, 1e-4, std::min(1.0, 1.0 / norm), norm, update);
    benchmark::DoNotOptimize(loss);
  }
};

Trainer& trainer(const std::string& name, const BackendOptions& options, CpuPrecision precision) {
  static Trainer one;
  if (one.name == name) return one;
  one = {};
  one.backend = make_cpu_backend(options, precision);
  one.name = name;
  one.batch = make_batch(options.model, options.micro_batch_size, options.sequence_length);
  one.step();  // touches all memory and makes oneDNN's kernels
  return one;
}

void step(benchmark::State& state, const std::string& name, const BackendOptions& options,
          CpuPrecision precision) try {
  const bool bf16 = precision == CpuPrecision::bf16;
  Trainer& one = trainer(name, options, precision);
  sample_gemm_rate(options.threads, bf16);  // the first makes its operands
  // The machine's speed is sampled between the steps, so a neighbour that slows one slows both.
  std::vector<double> rates;
  double seconds = 0;
  for (auto _ : state) {
    const Stopwatch watch;
    one.step();
    seconds += watch.seconds();
    state.PauseTiming();
    rates.push_back(sample_gemm_rate(options.threads, bf16));
    state.ResumeTiming();
  }
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  const auto sequences = static_cast<double>(options.micro_batch_size);
  report_flops(state, seconds,
               sequences * model_flops(options.model, options.sequence_length,
                                       one.batch.masked_per_sequence),
               *middle);
  state.counters["sequences/s"] = sequences * static_cast<double>(state.iterations()) / seconds;
  state.counters["threads"] = options.threads;
} catch (const NoDevice& error) {
  state.SkipWithError(error.what());
}

void add(const std::string& model, std::int64_t sequences, std::int64_t length,
         const std::string& variant = "") {
  const std::string name = "step/" + model + "/b" + std::to_string(sequences) + "/s" +
                           std::to_string(length) + (variant.empty() ? "" : "/" + variant);
  BackendOptions options;
  options.model = *named_model(model);
  options.micro_batch_size = sequences;
  options.sequence_length = length;
  options.threads = thread_count();
  options.activation_checkpointing = variant == "checkpointing";
  const auto precision = variant == "bf16" ? CpuPrecision::bf16 : CpuPrecision::fp32;
  benchmark::RegisterBenchmark(
      name.c_str(), [=](benchmark::State& state) { step(state, name, options, precision); })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

/// At both lengths of pre-training, in both precisions, with about the same tokens in a step.
void add_pretraining(const std::string& model, std::int64_t sequences) {
  for (const char* precision : {"", "bf16"}) {
    add(model, sequences, 128, precision);
    add(model, sequences / 4, 512, precision);
  }
}

}  // namespace
}  // namespace bert::bench

int main(int argc, char** argv) {
  using bert::bench::add;
  using bert::bench::add_pretraining;
  add_pretraining("bert-tiny", 32);
  add_pretraining("bert-mini", 32);
  add("bert-small", 16, 128);
  add("bert-medium", 16, 128);
  add_pretraining("bert-base", 16);
  add("bert-base", 16, 128, "checkpointing");
  add_pretraining("bert-large", 8);
  add("gpt2", 1, 1024);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
