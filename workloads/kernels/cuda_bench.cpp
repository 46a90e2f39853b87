// The CUDA backend's kernels and products at the shapes of a BERT, and NCCL's all-reduce of its
// gradients, each timed by events on its stream:
//
//   cuda_bench [--model bert-large] [--sequences 256] [--length 128] [--ranks N]
//              [Google Benchmark's options]
//
// bf16, dropout 0.1; casts and products of --precision fp8, too. Each figure has its share of a
// ceiling that the same run measures: of a copy for kernels, which are bound by memory, of a large
// square product for products. That product is in bf16, so those in 8 bits may exceed it. Inputs
// are random, as zeros draw less power and run faster. All-reduces are over N ranks, one a GPU,
// without --ranks over all GPUs; bandwidths as nccl-tests define them: bytes by time, and on the
// bus 2 (N - 1) / N of that. One rank has nothing to add up: its time is that of the call. On the
// emulated device (tests) it shows that all of it runs.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <vector>

#include "workloads/bert/core/model_config.h"
#include "workloads/bert/core/train_options.h"
#include "workloads/bert/cuda/attention/library_attention.h"
#include "workloads/bert/cuda/kernels/kernels.h"
#include "workloads/bert/cuda/products/matmul.h"
#include "workloads/bert/model/adam.h"
#include "workloads/bert/model/parameters.h"
#include "workloads/kernels/nccl_ranks.h"

namespace bert::bench {
namespace {

using namespace cuda;

constexpr DType kType = DType::bf16;
constexpr double kProbability = 0.1;
constexpr std::int64_t kSquare = 8192;     ///< of the product that is a ceiling, on a device
constexpr std::int64_t kCopied = 1 << 28;  ///< bytes of the copy that is a ceiling, on a device
constexpr int kCeilingRuns = 9;
constexpr std::int64_t kMostRanks = 64;  ///< more than a machine has GPUs

struct Shape {
  ModelConfig model;
  std::int64_t sequences = 256, length = 128;
  std::int64_t ranks = 0;  ///< of all-reduces; 0: as many as there are GPUs
  [[nodiscard]] std::int64_t tokens() const { return sequences * length; }
};

/// What all benchmarks share: the device, its stream, and a block of random numbers.
class Device {
 public:
  Device() : facts_(open_device(0)) {
    const std::vector<float> values = [] {
      std::vector<float> out(std::size_t{1} << 20);
      std::uint32_t state = 12345;
      for (float& x : out) {
        state = state * 1664525U + 1013904223U;
        x = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
      }
      return out;
    }();
    random_ = Memory(Memory::Place::device, static_cast<std::int64_t>(values.size()) * 4);
    upload(random_, values);
  }
  [[nodiscard]] Stream stream() const { return stream_.get(); }
  [[nodiscard]] const DeviceFacts& facts() const { return facts_; }

  template <typename T>
  void upload(const Memory& to, const std::vector<T>& values) const {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    const Memory pinned(Memory::Place::host, bytes);
    std::memcpy(pinned.data(), values.data(), values.size() * sizeof(T));
    copy_to_device(to.data(), pinned.data(), bytes, stream());
    synchronize(stream());
  }
  /// `count` random numbers in [-1, 1).
  [[nodiscard]] Memory random(std::int64_t count, DType type = kType) const {
    Memory out(Memory::Place::device, count * size_of(type));
    const std::int64_t block = random_.bytes() / 4;
    for (std::int64_t at = 0; at < count; at += block) {
      cast_from_float(type, random_.as<float>(), out.data() + at * size_of(type),
                      std::min(block, count - at), stream());
    }
    synchronize(stream());
    return out;
  }
  [[nodiscard]] Memory numbers(std::int64_t count) const { return random(count, DType::f32); }
  template <typename T>
  [[nodiscard]] Memory of(const std::vector<T>& values) const {
    Memory out(Memory::Place::device, static_cast<std::int64_t>(values.size() * sizeof(T)));
    upload(out, values);
    return out;
  }
  /// Seconds of one call.
  [[nodiscard]] double seconds_of(const std::function<void()>& work) const {
    Event begin(true);
    Event end(true);
    begin.record(stream());
    work();
    end.record(stream());
    end.wait_on_host();
    return end.seconds_since(begin);
  }
  [[nodiscard]] double median_seconds_of(const std::function<void()>& work) const {
    work();
    std::vector<double> seconds;
    for (int i = 0; i < kCeilingRuns; ++i) seconds.push_back(seconds_of(work));
    std::nth_element(seconds.begin(), seconds.begin() + kCeilingRuns / 2, seconds.end());
    return seconds[kCeilingRuns / 2];
  }

 private:
  DeviceFacts facts_;
  OwnedStream stream_;
  Memory random_;
};

/// Measured once, before the first benchmark.
struct Ceilings {
  double bytes_per_s = 0, flops = 0;
};

/// One benchmark: what keeps its memory, one call, and what a call must move or compute.
struct Work {
  std::shared_ptr<void> memory;
  std::function<void()> call;
  double bytes = 0, flops = 0;
  const char* missing = nullptr;  ///< why the device cannot do it
};

void run(benchmark::State& state, const Device& device, const Ceilings& ceilings,
         const std::function<Work()>& make) {
  const Work work = make();
  if (work.missing != nullptr) return state.SkipWithError(work.missing);
  work.call();  // loads the kernel
  double seconds = 0;
  for (auto _ : state) {
    const double one = device.seconds_of(work.call);
    state.SetIterationTime(one);
    seconds += one;
  }
  if (seconds <= 0) return;
  const auto rate = [&](double each) {
    return each * static_cast<double>(state.iterations()) / seconds;
  };
  if (work.bytes > 0) {
    state.counters["GB/s"] = rate(work.bytes) / 1e9;
    state.counters["of copy"] = rate(work.bytes) / ceilings.bytes_per_s;
  }
  if (work.flops > 0) {
    state.counters["TFLOP/s"] = rate(work.flops) / 1e12;
    state.counters["of square"] = rate(work.flops) / ceilings.flops;
  }
}

Dropout some_dropout() {
  Dropout dropout;
  dropout.key = dropout_key(1, 1, 1, 0, kProbability);
  dropout.on = true;
  return dropout;
}

template <typename Memories>
Work work_of(std::shared_ptr<Memories> memory, std::function<void()> call, double bytes) {
  return {std::move(memory), std::move(call), bytes, 0};
}

/// Bias, dropout, residual and LayerNorm around one row, forward or backward.
Work norm(const Device& device, const Shape& shape, bool backward) {
  const std::int64_t rows = shape.tokens();
  const std::int64_t width = shape.model.hidden;
  struct Memories {
    Memory input, residual, output, d_output, d_input, vectors, mean, rstd, kept, partials;
  };
  auto m = std::make_shared<Memories>();
  m->input = device.random(rows * width);
  m->residual = device.random(rows * width);
  m->output = device.random(rows * width);
  m->vectors = device.numbers(6 * width);
  m->mean = Memory(Memory::Place::device, rows * 4);
  m->rstd = Memory(Memory::Place::device, rows * 4);
  m->kept = Memory(Memory::Place::device, rows * width / 8);
  NormForward f;
  f.rows = rows;
  f.width = static_cast<int>(width);
  f.rows_per_sequence = static_cast<int>(shape.length);
  f.input = f.sum = m->input.data();
  f.residual = m->residual.data();
  f.bias = m->vectors.as<float>();
  f.gamma = f.bias + width;
  f.beta = f.gamma + width;
  f.dropout = some_dropout();
  f.kept = m->kept.as<std::uint8_t>();
  f.epsilon = 1e-12F;
  f.output = m->output.data();
  f.mean = m->mean.as<float>();
  f.rstd = m->rstd.as<float>();
  const Stream stream = device.stream();
  const double matrix = static_cast<double>(rows * width * size_of(kType));
  const double bytes = 4 * matrix + static_cast<double>(m->kept.bytes());
  if (!backward)
    return work_of(
        m, [=] { norm_forward(kType, f, stream); }, bytes);
  norm_forward(kType, f, stream);
  m->d_output = device.random(rows * width);
  m->d_input = device.random(rows * width);
  m->partials = Memory(Memory::Place::device, norm_partials_bytes(width));
  NormBackward b;
  b.rows = rows;
  b.width = f.width;
  b.rows_per_sequence = f.rows_per_sequence;
  b.d_output = m->d_output.data();
  b.sum = f.sum;
  b.mean = f.mean;
  b.rstd = f.rstd;
  b.gamma = f.gamma;
  b.dropout = f.dropout;
  b.kept = f.kept;
  b.d_sum = m->output.data();
  b.d_input = m->d_input.data();
  b.partials = m->partials.as<float>();
  b.sum_gamma = m->vectors.as<float>() + 3 * width;
  b.sum_beta = b.sum_gamma + width;
  b.sum_bias = b.sum_beta + width;
  return work_of(
      m, [=] { norm_backward(kType, b, stream); }, bytes);
}

Work gelu(const Device& device, const Shape& shape, bool backward, bool tanh) {
  const std::int64_t rows = shape.tokens();
  const std::int64_t width = shape.model.intermediate;
  struct Memories {
    Memory input, output, vectors, partials;
  };
  auto m = std::make_shared<Memories>();
  m->input = device.random(rows * width);
  m->output = device.random(rows * width);
  m->vectors = device.numbers(2 * width);
  const Stream stream = device.stream();
  const double matrix = static_cast<double>(m->input.bytes());
  if (!backward) {
    GeluForward f;
    f.rows = rows;
    f.width = static_cast<int>(width);
    f.input = m->input.data();
    f.bias = m->vectors.as<float>();
    f.output = m->output.data();
    f.tanh = tanh;
    return work_of(
        m, [=] { gelu_forward(kType, f, stream); }, 2 * matrix);
  }
  m->partials = Memory(Memory::Place::device, column_partials_bytes(rows, width));
  ColumnSums b;
  b.mode = ColumnSums::Mode::gelu_backward;
  b.rows = rows;
  b.width = static_cast<int>(width);
  b.stride = width;
  b.values = m->output.data();
  b.input = m->input.data();
  b.bias = m->vectors.as<float>();
  b.tanh = tanh;
  b.partials = m->partials.as<float>();
  b.sums = m->vectors.as<float>() + width;
  return work_of(
      m, [=] { column_sums(kType, b, stream); }, 3 * matrix);
}

/// Backward's bytes are those of one kernel that reads everything once, kept bits included, which a
/// library does without.
Work attention(const Device& device, const Shape& shape, bool backward, bool by_library) {
  const std::int64_t hidden = shape.model.hidden;
  const std::int64_t heads = shape.model.heads;
  const std::int64_t rows = shape.tokens();
  struct Memories {
    Memory qkv, output, d_output, d_qkv, log_sums, delta, kept, lengths, sums, partials;
    std::unique_ptr<LibraryAttention> library;
  };
  auto m = std::make_shared<Memories>();
  if (by_library) {
    BackendOptions options;
    options.model = shape.model;
    options.micro_batch_size = shape.sequences;
    options.sequence_length = shape.length;
    try {
      m->library = make_library_attention(options, kType, device.facts());
    } catch (const std::exception&) {
      Work none;
      none.missing = "there is no cuDNN, or it has no kernel for this shape";
      return none;
    }
  }
  m->qkv = device.random(rows * 3 * hidden);
  m->output = device.random(rows * hidden);
  m->log_sums = Memory(Memory::Place::device, rows * heads * 4);
  m->kept =
      Memory(Memory::Place::device, attention_kept_bytes(shape.sequences, shape.length, heads));
  m->lengths = device.of(std::vector<std::int32_t>(static_cast<std::size_t>(shape.sequences),
                                                   static_cast<std::int32_t>(shape.length)));
  Attention a;
  a.sequences = shape.sequences;
  a.length = static_cast<int>(shape.length);
  a.heads = static_cast<int>(heads);
  a.size = static_cast<int>(shape.model.head_size());
  a.padded = false;
  a.lengths = m->lengths.as<std::int32_t>();
  a.qkv = m->qkv.data();
  a.output = m->output.data();
  a.log_sums = m->log_sums.as<float>();
  a.kept = m->kept.as<std::uint32_t>();
  a.dropout = some_dropout();
  const Stream stream = device.stream();
  const double matrix = static_cast<double>(m->output.bytes());
  const double kept = static_cast<double>(m->kept.bytes());
  LibraryAttention* const library = m->library.get();
  const auto forward = [=] {
    library == nullptr ? attention_forward(kType, a, false, stream) : library->forward(a, stream);
  };
  if (!backward) return work_of(m, forward, 4 * matrix + kept);
  forward();
  m->d_output = device.random(rows * hidden);
  m->d_qkv = device.random(rows * 3 * hidden);
  m->delta = Memory(Memory::Place::device, rows * heads * 4);
  m->sums = Memory(Memory::Place::device, 3 * hidden * 4);
  m->partials = Memory(Memory::Place::device,
                       attention_partials_bytes(shape.sequences, shape.length, hidden));
  a.d_output = m->d_output.data();
  a.d_qkv = m->d_qkv.data();
  a.delta = m->delta.as<float>();
  a.sums = m->sums.as<float>();
  a.partials = m->partials.as<float>();
  return work_of(
      m,
      [=] {
        library == nullptr ? attention_backward(kType, a, false, stream)
                           : library->backward(a, stream);
      },
      8 * matrix + kept);
}

Work adamw_step(const Device& device, const Shape& shape) {
  // The four matrices of one layer, of which a step has as many as layers: enough to fill a device.
  const std::int64_t count = 4 * shape.model.hidden * shape.model.hidden +
                             2 * shape.model.hidden * shape.model.intermediate;
  struct Memories {
    Memory gradients, weights, first, second, copy, chunks, decays;
  };
  auto m = std::make_shared<Memories>();
  m->gradients = device.numbers(count);
  m->weights = device.numbers(count);
  m->first = device.numbers(count);
  m->second = Memory(Memory::Place::device, count * 4);
  m->copy = device.random(count);
  std::vector<Chunk> chunks;
  for (std::int64_t at = 0; at < count; at += kChunk) {
    chunks.push_back({at, at, static_cast<std::int32_t>(std::min(kChunk, count - at)), 0});
  }
  m->chunks = device.of(chunks);
  m->decays = device.of(std::vector<std::uint8_t>{1});
  OptimizerArguments a;
  static_cast<AdamConstants&>(a) = adam_constants({}, 1, 1, 1);
  a.chunks = m->chunks.as<Chunk>();
  a.count = static_cast<std::int64_t>(chunks.size());
  a.decays = m->decays.as<std::uint8_t>();
  a.gradients = m->gradients.as<float>();
  a.weights = m->weights.as<float>();
  a.first = m->first.as<float>();
  a.second = m->second.as<float>();
  a.copy = m->copy.data();
  a.rate = 1e-4F;
  const Stream stream = device.stream();
  // Gradient, both moments and weight are read; moments, weight and its copy are written.
  return work_of(
      m, [=] { adamw(kType, a, stream); }, 30.0 * static_cast<double>(count));
}

/// c[m, n] = op(a) op(b): forward and input gradients in bf16, weight gradients into fp32.
Work product(const Device& device, Matmul& matmul, std::int64_t m, std::int64_t n, std::int64_t k,
             bool transpose_a, bool transpose_b, DType output) {
  struct Memories {
    Memory a, b, c;
  };
  auto memory = std::make_shared<Memories>();
  memory->a = device.random(m * k);
  memory->b = device.random(n * k);
  memory->c = Memory(Memory::Place::device, m * n * size_of(output));
  Product p;
  p.transpose_a = transpose_a;
  p.transpose_b = transpose_b;
  p.m = m;
  p.n = p.ldc = n;
  p.k = k;
  p.lda = transpose_a ? m : k;
  p.ldb = transpose_b ? k : n;
  p.a = memory->a.data();
  p.b = memory->b.data();
  p.c = memory->c.data();
  p.type = kType;
  p.output = output;
  const Stream stream = device.stream();
  return {memory, [=, &matmul] { matmul.run(p, stream); }, 0,
          2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
}

struct Fp8Memories {
  Memory input, wide, largest, output, transposed, inverse_scale, partials, sums;
};

/// What makes a matrix and its transpose in 8 bits of random numbers.
CastFp8 cast_into(Fp8Memories& m, const Device& device, std::int64_t rows, std::int64_t width,
                  CastFp8::Source source) {
  m.input = device.random(rows * width);
  m.largest = Memory(Memory::Place::device, 4);
  m.output = Memory(Memory::Place::device, rows * width);
  m.transposed = Memory(Memory::Place::device, width * fp8_row_count(rows));
  m.inverse_scale = Memory(Memory::Place::device, 4);
  CastFp8 cast;
  cast.source = source;
  cast.rows = rows;
  cast.width = static_cast<int>(width);
  cast.input = m.input.data();
  cast.largest = m.largest.as<std::uint32_t>();
  cast.output = m.output.data();
  cast.transposed = m.transposed.data();
  cast.inverse_scale = m.inverse_scale.as<float>();
  if (source == CastFp8::Source::gelu_backward) {
    m.wide = device.random(rows * width);
    m.partials = Memory(Memory::Place::device, cast_partials_bytes(rows, width));
    m.sums = Memory(Memory::Place::device, width * 4);
    cast.wide = m.wide.data();
    cast.partials = m.partials.as<float>();
    cast.sums = m.sums.as<float>();
  }
  largest_magnitude(cast.input, rows * width, m.largest.as<std::uint32_t>(), device.stream());
  return cast;
}

Work magnitude(const Device& device, const Shape& shape, std::int64_t width) {
  auto m = std::make_shared<Fp8Memories>();
  const std::int64_t count = shape.tokens() * width;
  m->input = device.random(count);
  m->largest = Memory(Memory::Place::device, 4);
  const void* const input = m->input.data();
  std::uint32_t* const largest = m->largest.as<std::uint32_t>();
  const Stream stream = device.stream();
  return work_of(
      m, [=] { largest_magnitude(input, count, largest, stream); },
      static_cast<double>(m->input.bytes()));
}

Work cast(const Device& device, const Shape& shape, std::int64_t width, Fp8 format,
          CastFp8::Source source, bool tanh = false) {
  auto m = std::make_shared<Fp8Memories>();
  CastFp8 c = cast_into(*m, device, shape.tokens(), width, source);
  c.tanh = tanh;
  const Stream stream = device.stream();
  return work_of(
      m, [=] { cast_fp8(format, c, stream); },
      static_cast<double>(m->input.bytes() + m->wide.bytes() + m->output.bytes() +
                          m->transposed.bytes()));
}

/// c[m, n] = a b^T with a in `format`, b in E4M3.
Work product_fp8(const Device& device, Matmul& matmul, std::int64_t m, std::int64_t n,
                 std::int64_t k, Fp8 format, DType output) {
  if (10 * device.facts().major + device.facts().minor < 89) {
    Work none;
    none.missing = "products of 8-bit numbers need compute capability 8.9";
    return none;
  }
  struct Memories {
    Fp8Memories a, b;
    Memory c;
  };
  auto memory = std::make_shared<Memories>();
  const Stream stream = device.stream();
  cast_fp8(format, cast_into(memory->a, device, m, k, CastFp8::Source::input), stream);
  cast_fp8(Fp8::e4m3, cast_into(memory->b, device, n, k, CastFp8::Source::input), stream);
  memory->c = Memory(Memory::Place::device, m * n * size_of(output));
  Product p;
  p.transpose_b = true;
  p.m = m;
  p.n = p.ldc = n;
  p.k = p.lda = p.ldb = k;
  p.a = memory->a.output.data();
  p.b = memory->b.output.data();
  p.c = memory->c.data();
  p.type = kType;
  p.output = output;
  p.a_format = format;
  p.b_format = Fp8::e4m3;
  p.a_scale = memory->a.inverse_scale.as<float>();
  p.b_scale = memory->b.inverse_scale.as<float>();
  return {memory, [=, &matmul] { matmul.run(p, stream); }, 0,
          2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
}

Ceilings measure_ceilings(const Device& device, Matmul& matmul, const Shape& shape) {
  // As much as the shape's own work where that is less: the emulated device takes seconds for it.
  const std::int64_t square = std::min(kSquare, shape.tokens() * 2);
  const std::int64_t width = shape.model.hidden;
  const std::int64_t rows = std::min(kCopied / (2 * width), shape.tokens() * 16);
  Ceilings out;
  const Work large = product(device, matmul, square, square, square, false, true, kType);
  out.flops = large.flops / device.median_seconds_of(large.call);
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  const Memory list = device.of(order);
  const Memory from = device.random(rows * width);
  const Memory to = device.random(rows * width);
  const double seconds = device.median_seconds_of([&] {
    gather_rows(kType, from.data(), list.as<std::int32_t>(), rows, static_cast<int>(width),
                to.data(), device.stream());
  });
  out.bytes_per_s = 2 * static_cast<double>(from.bytes()) / seconds;
  return out;
}

void add(const std::string& name, const Device& device, const Ceilings& ceilings,
         std::function<Work()> make) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [&device, &ceilings, make = std::move(make)](
                                   benchmark::State& state) { run(state, device, ceilings, make); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_all(const Device& device, const Ceilings& ceilings, Matmul& matmul, const Shape& shape) {
  for (const bool backward : {false, true}) {
    const std::string way = backward ? "/backward" : "/forward";
    add("bias_dropout_residual_norm" + way, device, ceilings,
        [&, backward] { return norm(device, shape, backward); });
    add("gelu_erf" + way, device, ceilings,
        [&, backward] { return gelu(device, shape, backward, false); });
    add("gelu_tanh" + way, device, ceilings,
        [&, backward] { return gelu(device, shape, backward, true); });
    add("attention" + way, device, ceilings,
        [&, backward] { return attention(device, shape, backward, false); });
    add("attention_cudnn" + way, device, ceilings,
        [&, backward] { return attention(device, shape, backward, true); });
  }
  add("adamw/one_layer", device, ceilings, [&] { return adamw_step(device, shape); });
  const std::int64_t h = shape.model.hidden;
  const std::int64_t wide = shape.model.intermediate;
  using Source = CastFp8::Source;
  for (const std::int64_t width : {h, 3 * h, wide}) {
    add("largest_magnitude/" + std::to_string(width), device, ceilings,
        [&, width] { return magnitude(device, shape, width); });
  }
  add("cast_fp8/input", device, ceilings,
      [&, h] { return cast(device, shape, h, Fp8::e4m3, Source::input); });
  add("cast_fp8/qkv_gradient", device, ceilings,
      [&, h] { return cast(device, shape, 3 * h, Fp8::e5m2, Source::input); });
  for (const bool tanh : {false, true}) {
    const std::string name = std::string("cast_fp8/gelu_") + (tanh ? "tanh" : "erf");
    add(name + "/forward", device, ceilings,
        [&, wide, tanh] { return cast(device, shape, wide, Fp8::e4m3, Source::gelu, tanh); });
    add(name + "/backward", device, ceilings, [&, wide, tanh] {
      return cast(device, shape, wide, Fp8::e5m2, Source::gelu_backward, tanh);
    });
  }
  struct Linear {
    const char* name;
    std::int64_t inputs, outputs;
  };
  for (const Linear& linear : {Linear{"qkv", h, 3 * h}, Linear{"attention_output", h, h},
                               Linear{"intermediate", h, wide}, Linear{"output", wide, h}}) {
    const std::string name = std::string("product/") + linear.name;
    const std::int64_t t = shape.tokens();
    add(name + "/forward", device, ceilings, [&, t, linear] {
      return product(device, matmul, t, linear.outputs, linear.inputs, false, true, kType);
    });
    add(name + "/forward/fp8", device, ceilings, [&, t, linear] {
      return product_fp8(device, matmul, t, linear.outputs, linear.inputs, Fp8::e4m3, kType);
    });
    add(name + "/input_gradient", device, ceilings, [&, t, linear] {
      return product(device, matmul, t, linear.inputs, linear.outputs, false, false, kType);
    });
    add(name + "/input_gradient/fp8", device, ceilings, [&, t, linear] {
      return product_fp8(device, matmul, t, linear.inputs, linear.outputs, Fp8::e5m2, kType);
    });
    add(name + "/weight_gradient", device, ceilings, [&, t, linear] {
      return product(device, matmul, linear.outputs, linear.inputs, t, true, false, DType::f32);
    });
    add(name + "/weight_gradient/fp8", device, ceilings, [&, t, linear] {
      return product_fp8(device, matmul, linear.outputs, linear.inputs, fp8_row_count(t), Fp8::e5m2,
                         DType::f32);
    });
  }
}

/// The ranks of all-reduces, made when the first benchmark of them runs; or why there are none.
class Ranks {
 public:
  Ranks(int count, std::int64_t most_bytes) : count_(count), most_bytes_(most_bytes) {}
  NcclRanks* get(std::string& why_not) {
    if (ranks_ == nullptr && why_not_.empty()) {
      try {
        ranks_ = std::make_unique<NcclRanks>(count_, most_bytes_);
      } catch (const std::exception& error) {
        why_not_ = error.what();
      }
    }
    why_not = why_not_;
    return ranks_.get();
  }

 private:
  int count_;
  std::int64_t most_bytes_;
  std::unique_ptr<NcclRanks> ranks_;
  std::string why_not_;
};

void all_reduce(benchmark::State& state, Ranks& ranks, std::int64_t bytes) {
  std::string why_not;
  NcclRanks* const all = ranks.get(why_not);
  if (all == nullptr) return state.SkipWithError(why_not.c_str());
  double seconds = 0;
  try {
    static_cast<void>(all->seconds_of(bytes));  // the first connects the ranks
    for (auto _ : state) {
      const double one = all->seconds_of(bytes);
      state.SetIterationTime(one);
      seconds += one;
    }
  } catch (const std::exception& error) {
    return state.SkipWithError(error.what());
  }
  const double n = all->count();
  state.counters["ranks"] = n;
  if (seconds <= 0) return;
  const double rate =
      static_cast<double>(bytes) * static_cast<double>(state.iterations()) / seconds;
  state.counters["GB/s"] = rate / 1e9;
  state.counters["bus GB/s"] = rate / 1e9 * 2 * (n - 1) / n;
}

/// Of a bucket as bert_train has it without --bucket-mb, of others, and of all gradients at once.
void add_all_reduces(Ranks& ranks, std::int64_t all_bytes) {
  const auto add_one = [&](const std::string& name, std::int64_t bytes) {
    benchmark::RegisterBenchmark(
        ("all_reduce/" + name).c_str(),
        [&ranks, bytes](benchmark::State& state) { all_reduce(state, ranks, bytes); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  };
  const std::int64_t bucket = TrainOptions().bucket_bytes();
  for (const std::int64_t bytes : {bucket / 8, bucket, 4 * bucket, 16 * bucket}) {
    if (bytes < all_bytes) add_one(std::to_string(bytes >> 20) + "_MiB", bytes);
  }
  add_one("all_gradients", all_bytes);
}

/// Takes "--name value" out of the arguments; empty: it is not there.
std::string take(int& count, char** arguments, std::string_view name) {
  for (int i = 1; i + 1 < count; ++i) {
    if (arguments[i] != name) continue;
    const std::string value = arguments[i + 1];
    std::copy(arguments + i + 2, arguments + count, arguments + i);
    count -= 2;
    return value;
  }
  return {};
}

bool read(const std::string& text, std::int64_t& value) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

int main_of(int count, char** arguments) {
  Shape shape;
  const std::string named = take(count, arguments, "--model");
  const auto model = named_model(named.empty() ? "bert-large" : named);
  if (!model || !read(take(count, arguments, "--sequences"), shape.sequences) ||
      !read(take(count, arguments, "--length"), shape.length) ||
      !read(take(count, arguments, "--ranks"), shape.ranks) || shape.ranks > kMostRanks) {
    std::cerr << "cuda_bench: --model takes a model that bert_train has, --sequences, --length and "
                 "--ranks (at most "
              << kMostRanks << ") whole numbers above 0\n";
    return 2;
  }
  shape.model = *model;
  // Counters in columns, unless the arguments state otherwise.
  std::string tabular = "--benchmark_counters_tabular=true";
  std::vector<char*> all(arguments, arguments + count);
  all.insert(all.begin() + 1, tabular.data());
  count = static_cast<int>(all.size());
  benchmark::Initialize(&count, all.data());
  if (benchmark::ReportUnrecognizedArguments(count, all.data())) return 2;
  const Device device;
  MatmulOptions options;
  options.device = device.facts().name;
  options.l2_bytes = device.facts().l2_bytes;
  const auto matmul = make_matmul(options);
  const Ceilings ceilings = measure_ceilings(device, *matmul, shape);
  benchmark::AddCustomContext("device", device.facts().name);
  benchmark::AddCustomContext("copy GB/s", std::to_string(ceilings.bytes_per_s / 1e9));
  benchmark::AddCustomContext("square product TFLOP/s", std::to_string(ceilings.flops / 1e12));
  add_all(device, ceilings, *matmul, shape);
  const std::int64_t gradients = ParameterLayout(shape.model).total * 4;
  Ranks ranks(shape.ranks > 0 ? static_cast<int>(shape.ranks) : device.facts().devices, gradients);
  add_all_reduces(ranks, gradients);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace bert::bench

int main(int count, char** arguments) {
  try {
    return bert::bench::main_of(count, arguments);
  } catch (const std::exception& error) {  // no device
    std::cerr << "cuda_bench: " << error.what() << '\n';
    return 3;
  }
}
