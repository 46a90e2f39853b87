// The installed cuBLASLt itself: descriptors need no device, so it can judge every attribute that
// plans set. What it computes is for bert_cuda_gpu_test.
#include <gtest/gtest.h>

#include "workloads/bert/core/module.h"
#include "workloads/bert/cuda/products/cublaslt_plan.h"

namespace bert::cuda {
namespace {

TEST(CublasLtLibrary, takes_every_attribute_that_plans_set) {
  try {
    static_cast<void>(cublaslt());
  } catch (const NoDevice& error) {
    GTEST_SKIP() << error.what();
  }
  alignas(256) static char memory[256];
  for (const auto activation :
       {Product::Activation::none, Product::Activation::gelu, Product::Activation::gelu_backward}) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      Product p;
      p.m = p.n = p.k = p.lda = p.ldb = p.ldc = 64;
      p.a = p.b = p.bias = memory;
      p.c = p.aux = memory;
      p.type = p.output = type;
      p.activation = activation;
      p.sums = p.partials = reinterpret_cast<float*>(memory);
      p.sum_count = 64;
      for (const Inside& inside : ways(p, {})) {
        EXPECT_NO_THROW(static_cast<void>(CublasLtPlan(p, inside, type == DType::f32)))
            << CublasLtKey(p, inside).text();
      }
    }
  }
  EXPECT_GT(cublaslt().version(), 0U);
}

}  // namespace
}  // namespace bert::cuda
