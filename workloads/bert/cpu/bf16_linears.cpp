#include "workloads/bert/cpu/bf16_linears.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "workloads/bert/cpu/onednn_products.h"

namespace bert {
namespace {

struct Bf16Product {
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c, scratch;
};

dnnl::memory::dims strides(bool transposed, std::int64_t rows_apart) {
  return transposed ? dnnl::memory::dims{1, rows_apart} : dnnl::memory::dims{rows_apart, 1};
}

dnnl::matmul::primitive_desc describe(const Bf16Shape& shape, const dnnl::engine& engine) {
  using dnnl::memory;
  constexpr auto kBf16 = memory::data_type::bf16;
  constexpr auto kFloat = memory::data_type::f32;
  const memory::desc a({shape.m, shape.k}, kBf16, strides(shape.transpose_a, shape.lda));
  const memory::desc b({shape.k, shape.n}, kBf16, strides(shape.transpose_b, shape.ldb));
  const memory::desc c({shape.m, shape.n}, kFloat, strides(false, shape.ldc));
  const memory::desc bias({1, shape.n}, kFloat, memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  // oneDNN's own scratch belongs to the thread that made a primitive, not to the one that runs it.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  return {shape.with_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c),
          attributes, engine};
}

}  // namespace

struct Bf16Products::Cache {
  int threads;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Bf16Shape, Bf16Product> products;
  Buffer scratch;

  Bf16Product& product(const Bf16Shape& shape) {
    if (const auto found = products.find(shape); found != products.end()) return found->second;
    if (products.size() >= kProductsHeld) products.clear();
    // A primitive is planned for as many threads as OpenMP would give it now.
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    const auto description = describe(shape, engine);
    Bf16Product made{dnnl::matmul(description),
                     {description.src_desc(), engine, nullptr},
                     {description.weights_desc(), engine, nullptr},
                     {},
                     {description.dst_desc(), engine, nullptr},
                     {description.scratchpad_desc(), engine, nullptr}};
    omp_set_num_threads(before);
    if (shape.with_bias) made.bias = {description.bias_desc(), engine, nullptr};
    const std::size_t wanted = description.scratchpad_desc().get_size();
    if (wanted > scratch.bytes()) scratch = Buffer(static_cast<std::int64_t>((wanted + 3) / 4));
    return products.emplace(shape, std::move(made)).first->second;
  }
};

Bf16Products::Bf16Products(int threads) : cache_(std::make_unique<Cache>()) {
  cache_->threads = threads;
}
Bf16Products::~Bf16Products() = default;
Bf16Products::Bf16Products(Bf16Products&&) noexcept = default;

void Bf16Products::multiply(const Bf16Shape& shape, const Bf16* a, const Bf16* b, const float* bias,
                            float* c) {
  Bf16Product& product = cache_->product(shape);
  // oneDNN's handles are not const; inputs are only read.
  product.a.set_data_handle(const_cast<Bf16*>(a));
  product.b.set_data_handle(const_cast<Bf16*>(b));
  product.c.set_data_handle(c);
  product.scratch.set_data_handle(cache_->scratch.data());
  if (shape.with_bias) product.bias.set_data_handle(const_cast<float*>(bias));
  // The C function: the C++ one copies its arguments into memory that it asks for.
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, product.a.get()},
                                       {DNNL_ARG_WEIGHTS, product.b.get()},
                                       {DNNL_ARG_DST, product.c.get()},
                                       {DNNL_ARG_SCRATCHPAD, product.scratch.get()},
                                       {DNNL_ARG_BIAS, product.bias.get(true)}};
  check_product(dnnl_primitive_execute(product.primitive.get(), cache_->stream.get(),
                                       shape.with_bias ? 5 : 4, arguments),
                shape.m, shape.n, shape.k);
  cache_->stream.wait();
}

bool Bf16Products::is_native() {
  constexpr auto kBf16 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kBf16) == kBf16;
}

namespace {

/// Elements that a thread converts at a time.
constexpr std::int64_t kConvertPart = 1 << 14;

/// A copy without gaps of `rows` rows that lie `ld` apart.
void pack(const Kernels& kernels, std::int64_t rows, std::int64_t width, const float* from,
          std::int64_t ld, Bf16* to) {
  if (ld == width) return kernels.to_bf16(rows * width, from, to);
  for (std::int64_t row = 0; row < rows; ++row) {
    kernels.to_bf16(width, from + row * ld, to + row * width);
  }
}

}  // namespace

Bf16Linears::Bf16Linears(const Kernels& kernels, int threads, std::int64_t weights,
                         std::int64_t head_operand)
    : kernels_(kernels), threads_(threads), products_(threads), weights_(weights) {
  for (int i = 0; i < threads; ++i) {
    heads_.emplace_back();
    heads_.back().first.resize(static_cast<std::size_t>(head_operand));
    heads_.back().second.resize(static_cast<std::size_t>(head_operand));
  }
}

void Bf16Linears::reserve(const Room& room) {
  const auto grow = [](Bf16Buffer& buffer, std::int64_t size) {
    if (size > buffer.size()) buffer = Bf16Buffer(size);
  };
  grow(gradient_, room.gradient);
  grow(transposed_, room.gradient);
  grow(input_, room.input);
}

std::int64_t Bf16Linears::bytes(int threads, std::int64_t weights, std::int64_t head_operand,
                                const Room& room) {
  return static_cast<std::int64_t>(sizeof(Bf16)) *
         (weights + 2 * threads * head_operand + 2 * room.gradient + room.input);
}

void Bf16Linears::convert(std::int64_t size, const float* from, Bf16* to) const {
  const std::int64_t parts = (size + kConvertPart - 1) / kConvertPart;
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = part * kConvertPart;
    kernels_.to_bf16(std::min(kConvertPart, size - begin), from + begin, to + begin);
  }
}

void Bf16Linears::take_weights(const float* weights) {
  convert(weights_.size(), weights, weights_.data());
}

const Bf16Linears::Input* Bf16Linears::find(const float* values) const {
  const auto found = std::ranges::find(inputs_, values, &Input::values);
  return found == inputs_.end() ? nullptr : &*found;
}
Bf16Linears::Input* Bf16Linears::find(const float* values) {
  return const_cast<Input*>(std::as_const(*this).find(values));
}

void Bf16Linears::keep_input(const float* input, Bf16* operand) {
  inputs_.push_back({input, operand});
}

void Bf16Linears::forward(std::int64_t m, std::int64_t n, std::int64_t k, const float* x,
                          std::int64_t weight, const float* bias, float* y) {
  Input* const kept = find(x);
  Bf16* const operand = kept != nullptr ? kept->operand : input_.data();
  if (kept == nullptr || !std::exchange(kept->given, false)) convert(m * k, x, operand);
  products_.multiply({false, true, m, n, k, k, k, n, false, bias != nullptr}, operand,
                     weights_.data() + weight, bias, y);
}

Bf16* Bf16Linears::operand_of(const float* values) {
  if (Input* const kept = find(values); kept != nullptr) {
    kept->given = true;
    return kept->operand;
  }
  given_ = values;
  gradient_is_ = nullptr;
  return gradient_.data();
}

void Bf16Linears::transpose(std::int64_t rows, std::int64_t width) const {
  constexpr std::int64_t kRows = 512, kColumns = 64;  // of a task: a kernel's tile is 32 x 32
  const std::int64_t down = (rows + kRows - 1) / kRows;
  const std::int64_t across = (width + kColumns - 1) / kColumns;
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t task = 0; task < down * across; ++task) {
    const std::int64_t row = task / across * kRows, column = task % across * kColumns;
    kernels_.transpose_bf16(std::min(kRows, rows - row), std::min(kColumns, width - column),
                            gradient_.data() + row * width + column, width,
                            transposed_.data() + column * rows + row, rows);
  }
}

void Bf16Linears::backward_input(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                                 std::int64_t weight, float* dx, bool accumulate) {
  if (std::exchange(gradient_is_, nullptr) != dy) convert(m * n, dy, gradient_.data());
  products_.multiply({false, false, m, k, n, n, k, k, accumulate, false}, gradient_.data(),
                     weights_.data() + weight, nullptr, dx);
}

void Bf16Linears::backward_weight(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                                  const float* x, float* d_weight, bool accumulate) {
  if (std::exchange(given_, nullptr) != dy) convert(m * n, dy, gradient_.data());
  gradient_is_ = dy;
  transpose(m, n);
  const Input* const kept = find(x);
  if (kept == nullptr) convert(m * k, x, input_.data());
  // oneDNN is slower by a sixth where the first operand is transposed in memory.
  products_.multiply({false, false, n, k, m, m, k, k, accumulate, false}, transposed_.data(),
                     kept != nullptr ? kept->operand : input_.data(), nullptr, d_weight);
}

void Bf16Linears::head(const HeadProduct& p) {
  HeadScratch& own = heads_[static_cast<std::size_t>(omp_get_thread_num())];
  const std::int64_t a_rows = p.transpose_a ? p.k : p.m, a_width = p.transpose_a ? p.m : p.k;
  const std::int64_t b_rows = p.transpose_b ? p.n : p.k, b_width = p.transpose_b ? p.k : p.n;
  pack(kernels_, a_rows, a_width, p.a, p.lda, own.first.data());
  pack(kernels_, b_rows, b_width, p.b, p.ldb, own.second.data());
  own.products.multiply(
      {p.transpose_a, p.transpose_b, p.m, p.n, p.k, a_width, b_width, p.ldc, p.accumulate, false},
      own.first.data(), own.second.data(), nullptr, p.c);
}

}  // namespace bert
