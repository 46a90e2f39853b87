#include "workloads/bert/cpu/gemm.h"

#include <oneapi/dnnl/dnnl.h>

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

#include "workloads/bert/cpu/onednn_products.h"

namespace bert {
namespace {

struct Product {
  dnnl::matmul primitive;
  dnnl::memory input, weight, bias, output;
};

}  // namespace

struct Gemm::Cache {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, bool>, Product> products;

  Product& product(std::int64_t m, std::int64_t n, std::int64_t k, bool with_bias) {
    const auto key = std::make_tuple(m, n, k, with_bias);
    if (const auto found = products.find(key); found != products.end()) return found->second;
    if (products.size() >= kProductsHeld) products.clear();
    using dnnl::memory;
    constexpr auto kFloat = memory::data_type::f32;
    const memory::desc input({m, k}, kFloat, memory::format_tag::ab);
    const memory::desc weight({k, n}, kFloat, memory::format_tag::ba);
    const memory::desc bias({1, n}, kFloat, memory::format_tag::ab);
    const memory::desc output({m, n}, kFloat, memory::format_tag::ab);
    const dnnl::matmul::desc operation = with_bias ? dnnl::matmul::desc(input, weight, bias, output)
                                                   : dnnl::matmul::desc(input, weight, output);
    const dnnl::matmul::primitive_desc description(operation, engine);
    Product made{dnnl::matmul(description), memory(input, engine, nullptr),
                 memory(weight, engine, nullptr), memory(bias, engine, nullptr),
                 memory(output, engine, nullptr)};
    return products.emplace(key, std::move(made)).first->second;
  }
};

Gemm::Gemm() : cache_(std::make_unique<Cache>()) {}
Gemm::~Gemm() = default;

void Gemm::forward(std::int64_t m, std::int64_t n, std::int64_t k, const float* x,
                   const float* weight, const float* bias, float* y) {
  Product& product = cache_->product(m, n, k, bias != nullptr);
  // oneDNN's handles are not const; inputs are only read.
  product.input.set_data_handle(const_cast<float*>(x));
  product.weight.set_data_handle(const_cast<float*>(weight));
  product.output.set_data_handle(y);
  if (bias != nullptr) product.bias.set_data_handle(const_cast<float*>(bias));
  // The C function: the C++ one copies its arguments into memory that it asks for.
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, product.input.get()},
                                       {DNNL_ARG_WEIGHTS, product.weight.get()},
                                       {DNNL_ARG_DST, product.output.get()},
                                       {DNNL_ARG_BIAS, product.bias.get()}};
  check_product(dnnl_primitive_execute(product.primitive.get(), cache_->stream.get(),
                                       bias != nullptr ? 4 : 3, arguments),
                m, n, k);
  cache_->stream.wait();
}

void Gemm::backward_input(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                          const float* weight, float* dx, bool accumulate) {
  sgemm(false, false, m, k, n, 1.0F, dy, n, weight, k, accumulate ? 1.0F : 0.0F, dx, k);
}

void Gemm::backward_weight(std::int64_t m, std::int64_t n, std::int64_t k, const float* dy,
                           const float* x, float* d_weight, bool accumulate) {
  sgemm(true, false, n, k, m, 1.0F, dy, n, x, k, accumulate ? 1.0F : 0.0F, d_weight, k);
}

void sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
           float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
           float beta, float* c, std::int64_t ldc) {
  const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                          alpha, a, lda, b, ldb, beta, c, ldc);
  check_product(status, m, n, k);
}

}  // namespace bert
