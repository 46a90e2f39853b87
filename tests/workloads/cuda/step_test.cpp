// Steps of the CUDA backend, emulated and on a real device: wide rows, what stands inside products,
// batches given ahead.
#include <gtest/gtest.h>

#include <memory>

#include "tests/workloads/cuda/support.h"

namespace bert {
namespace {

using testing::cuda_backend;
using testing::even_gpt2;
using testing::even_model;
using testing::gradients_of;
using testing::make_batch;
using testing::odd_model;
using testing::options_for;
using testing::reference_gradients;
using testing::skip_without_device;
using testing::state_of;
using testing::within;

class CudaStep : public ::testing::Test {
 protected:
  void SetUp() override { skip_without_device(); }
};

// gpt2-large's hidden size: its LayerNorm takes two warps a row. Everything else is kept small.
TEST_F(CudaStep, rows_wider_than_1024_follow_the_reference_too) {
  ModelConfig model = even_gpt2(1);
  model.hidden = 1280;
  model.heads = 20;
  model.intermediate = 64;
  model.vocabulary = 40;
  model.max_positions = 8;
  const BackendOptions options = options_for(model, 1, 3);
  const Batch batch = make_batch(model, 1, 3, 1);
  const auto backend = cuda_backend(options, "bf16");
  const auto weights = state_of(*backend, StateArray::weights);
  const auto gradients = gradients_of(*backend, batch);
  const auto exact = reference_gradients(options, batch, weights, 3);
  EXPECT_TRUE(within(3e-2, backend->parameters(), gradients, exact));
}

TEST_F(CudaStep, what_stands_inside_products_changes_gradients_by_rounding_alone) {
#ifndef BERT_REAL_DEVICE
  GTEST_SKIP() << "on the emulated device both ways are kernels; bert_cublaslt_test compares them";
#endif
  ModelConfig tanh_bert = even_model();
  tanh_bert.gelu = Gelu::tanh;
  for (const ModelConfig& model : {tanh_bert, even_gpt2(), even_model()}) {
    for (const auto& [precision, bound] : std::initializer_list<std::pair<const char*, double>>{
             {"fp32", 1e-5}, {"tf32", 2e-3}, {"bf16", 3e-2}, {"fp16", 5e-3}}) {
      BackendOptions options = options_for(model, 3, 24);
      std::vector<std::vector<float>> gradients;
      std::unique_ptr<Backend> backend;
      for (const bool inside : {true, false}) {
        options.matmul_epilogues = inside ? Epilogues::inside : Epilogues::kernels;
        backend = cuda_backend(options, precision);
        backend->zero_gradients();
        for (int i = 0; i < 2; ++i) {
          backend->forward_backward(make_batch(model, 3, 24, 4), 0.5, true, 3, {});
        }
        gradients.push_back(state_of(*backend, StateArray::gradients));
      }
      EXPECT_TRUE(within(bound, backend->parameters(), gradients[0], gradients[1]))
          << model.name << " " << precision;
    }
  }
}

TEST_F(CudaStep, a_batch_told_ahead_changes_no_bit_and_need_not_be_used) {
  const ModelConfig model = odd_model();
  std::vector<std::vector<float>> weights;
  for (const int ahead : {0, 1, 2}) {  // never, as the trainer does it, wrongly
    const auto backend = cuda_backend(options_for(model, 2, 16), "fp32");
    UpdateRequest request;
    request.learning_rate = 1e-2;
    Batch batches[2];
    for (std::int64_t step = 1; step <= 4; ++step) {
      Batch& batch = batches[step % 2];
      Batch& next = batches[1 - step % 2];
      if (ahead != 1 || step == 1) batch = make_batch(model, 2, 16, 3, 2 * step);
      backend->zero_gradients();
      backend->forward_backward(batch, 1.0, true, step, {});
      next = make_batch(model, 2, 16, ahead == 2 ? 11 : 3, 2 * step + (ahead == 2 ? 77 : 2));
      if (ahead > 0) backend->prefetch(next);
      request.update = step;
      backend->update(request);
    }
    weights.push_back(state_of(*backend, StateArray::weights));
  }
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_EQ(weights[2], weights[0]);
}

}  // namespace
}  // namespace bert
