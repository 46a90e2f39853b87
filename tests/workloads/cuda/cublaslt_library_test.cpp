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
            << name_of(p, inside);
      }
    }
  }
  for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
    for (const DType output : {DType::bf16, DType::f32}) {
      Product p;
      p.transpose_b = true;
      p.m = p.n = p.k = p.lda = p.ldb = p.ldc = 64;
      p.a = p.b = p.c = memory;
      p.a_format = format;
      p.b_format = Fp8::e4m3;
      p.a_scale = p.b_scale = reinterpret_cast<const float*>(memory);
      p.type = DType::bf16;
      p.output = output;
      if (output == p.type) p.bias = memory;
      for (const Inside& inside : ways(p, {})) {
        EXPECT_NO_THROW(static_cast<void>(CublasLtPlan(p, inside, false))) << name_of(p, inside);
      }
    }
  }
  EXPECT_GT(cublaslt().version(), 0U);
}

}  // namespace
}  // namespace bert::cuda
