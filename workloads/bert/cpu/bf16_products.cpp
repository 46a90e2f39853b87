#include "workloads/bert/cpu/bf16_products.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

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
  std::vector<std::byte> scratch;

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
    scratch.resize(std::max(scratch.size(), description.scratchpad_desc().get_size()));
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

}  // namespace bert
