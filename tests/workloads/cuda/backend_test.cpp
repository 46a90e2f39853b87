// The CUDA backend against the CPU backend and the fp64 reference: on the emulated device, and the
// same file on a real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <stdexcept>

#include "tests/workloads/cuda/support.h"
#include "tests/workloads/cuda/twin.h"
#include "workloads/bert/model/parameters.h"
#include "workloads/bert/reference/reference.h"

namespace bert {
namespace {

using testing::copy;
using testing::cpu_backend;
using testing::cuda_backend;
using testing::even_gpt2;
using testing::even_model;
using testing::gradients_of;
using testing::make_batch;
using testing::odd_gpt2;
using testing::odd_model;
using testing::options_for;
using testing::reference_gradients;
using testing::skip_without_device;
using testing::state_of;
using testing::TwinCommunicator;
using testing::within;

/// Every test needs a device: the emulated one, or (bert_cuda_gpu_test) a real one.
class CudaBackend : public ::testing::Test {
 protected:
  void SetUp() override { skip_without_device(); }
};

struct PrecisionCase {
  const char* precision;
  double bound;       ///< of the worst tensor's relative error
  double loss_bound;  ///< relative
};
/// ctest shows it in the test's name, which must not change from run to run.
void PrintTo(const PrecisionCase& one, std::ostream* out) { *out << one.precision; }

class CudaPrecision : public ::testing::TestWithParam<PrecisionCase> {
 protected:
  void SetUp() override { skip_without_device(); }
};

TEST_P(CudaPrecision, gradients_of_every_tensor_agree_with_the_fp64_reference) {
  const bool full = std::string(GetParam().precision).ends_with("32");
  for (const ModelConfig& model : {odd_model(), even_model(), odd_gpt2(), even_gpt2()}) {
    if (model.hidden % 8 != 0 && !full) continue;  // refused: no vectors of 16 bytes
    const std::int64_t length = model.max_positions - 4;
    BackendOptions options = options_for(model, 3, length);
    options.logit_rows = 2 * length + 1;  // of a GPT-2: one part and a rest
    const Batch batch = make_batch(model, 3, length, 4);
    const auto backend = cuda_backend(options, GetParam().precision);
    // Weights that the type holds exactly are not assumed: rounding them is part of the error.
    const auto weights = state_of(*backend, StateArray::weights);
    backend->zero_gradients();
    // The dropout of this step: over steps 1 to 8 the worst error of the larger BERT is 0.75
    // to 1.75 thousandths in tf32, and a device may round a little worse than its emulation.
    constexpr std::int64_t kStep = 5;
    EXPECT_TRUE(backend->forward_backward(batch, 1.0, true, kStep, {}).pending);
    const auto gradients = state_of(*backend, StateArray::gradients);
    const auto exact = reference_gradients(options, batch, weights, kStep);
    EXPECT_TRUE(within(GetParam().bound, backend->parameters(), gradients, exact)) << model.name;

    const auto losses = backend->pending_losses();
    ASSERT_EQ(losses.size(), 1U);
    const std::vector<double> same(weights.begin(), weights.end());
    const double loss = reference_loss<double>(model, batch, same, {true, options.seed, kStep});
    EXPECT_NEAR(losses[0].total(), loss, loss * GetParam().loss_bound);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaPrecision,
                         ::testing::Values(PrecisionCase{"fp32", 1e-5, 1e-6},
                                           PrecisionCase{"tf32", 2e-3, 2e-4},
                                           PrecisionCase{"bf16", 3e-2, 2e-3},
                                           PrecisionCase{"fp16", 5e-3, 5e-4},
                                           PrecisionCase{"fp8", 1.5e-1, 1e-3}),
                         [](const auto& one) { return std::string(one.param.precision); });

TEST_F(CudaBackend, five_steps_of_adamw_and_lamb_follow_the_cpu_backend) {
  OptimizerOptions adamw;
  OptimizerOptions lamb;
  lamb.kind = OptimizerOptions::Kind::lamb;
  OptimizerOptions apex = lamb;  // every option in which published versions differ
  apex.grad_pre_normalization = apex.trust_ratio_without_decay = true;
  apex.bias_correction = false;
  apex.min_trust = 0.08;
  apex.max_trust = 0.5;
  using Kinds = std::vector<std::pair<ModelConfig, OptimizerOptions>>;
  for (const auto& [model, optimizer] :
       Kinds{{odd_model(), adamw}, {odd_model(), lamb}, {odd_model(), apex}, {odd_gpt2(), adamw}}) {
    const BackendOptions options = options_for(model, 2, 16);
    const auto cpu = cpu_backend(options);
    if (cpu == nullptr) GTEST_SKIP() << "built without the CPU backend";
    const auto device = cuda_backend(options, "fp32");
    EXPECT_EQ(state_of(*device, StateArray::weights), copy(cpu->weights()));
    UpdateRequest request;
    request.optimizer = optimizer;
    request.learning_rate = 1e-3;
    request.gradient_clipping = 1;
    for (std::int64_t step = 1; step <= 5; ++step) {
      request.update = step;
      const Batch batch = make_batch(model, 2, 16, 3, 2 * step);
      double losses[2] = {};
      double norms[2] = {};
      int which = 0;
      for (Backend* backend : {cpu.get(), device.get()}) {
        backend->zero_gradients();
        const Loss loss = backend->forward_backward(batch, 1.0, true, step, {});
        norms[which] = backend->update(request).gradient_norm;
        losses[which] = loss.pending ? backend->pending_losses().at(0).total() : loss.total();
        ++which;
      }
      EXPECT_NEAR(losses[1], losses[0], 1e-5 * losses[0]) << "step " << step;
      EXPECT_NEAR(norms[1], norms[0], 1e-4 * norms[0]) << "step " << step;
    }
    const auto weights = state_of(*device, StateArray::weights);
    EXPECT_TRUE(within(1e-4, cpu->parameters(), weights, cpu->weights()));
  }
}

TEST_F(CudaBackend, a_batch_without_masked_positions_has_the_gradients_of_the_cpu_backend) {
  const BackendOptions options = options_for(odd_model(), 2, 16);
  const auto cpu = cpu_backend(options);
  if (cpu == nullptr) GTEST_SKIP() << "built without the CPU backend";
  const Batch batch = make_batch(options.model, 2, 16, 0);
  EXPECT_THAT(gradients_of(*cuda_backend(options, "fp32"), batch),
              ::testing::Pointwise(::testing::FloatNear(1e-5F), gradients_of(*cpu, batch)));
}

TEST_F(CudaBackend, fp16_skips_a_step_that_overflows_and_lowers_the_scale) {
  const ModelConfig model = even_model();
  BackendOptions options = options_for(model, 2, 16);
  options.loss_scale.initial = 1e9;  // beyond fp16: the first steps must overflow
  const auto backend = cuda_backend(options, "fp16");
  const auto before = state_of(*backend, StateArray::weights);
  UpdateRequest request;
  request.learning_rate = 1e-3;
  int skipped = 0;
  UpdateResult result;
  for (std::int64_t step = 1; step <= 40; ++step) {
    backend->zero_gradients();
    backend->forward_backward(make_batch(model, 2, 16, 3), 1.0, true, step, {});
    result = backend->update(request);
    if (!result.skipped) break;
    ++skipped;
    EXPECT_EQ(state_of(*backend, StateArray::weights), before);
  }
  EXPECT_GT(skipped, 2);
  EXPECT_FALSE(result.skipped);
  EXPECT_EQ(result.loss_scale, 1e9 / std::pow(2.0, skipped));
  EXPECT_NE(state_of(*backend, StateArray::weights), before);
  EXPECT_EQ(backend->scalar_state().loss_scale, result.loss_scale);
}

TEST_F(CudaBackend, state_written_is_state_read_and_is_what_the_step_uses) {
  const ModelConfig model = even_model();
  const BackendOptions options = options_for(model, 2, 16);
  BackendOptions other = options;
  other.seed = 7;
  const auto source = cuda_backend(other, "bf16");
  const auto target = cuda_backend(options, "bf16");
  const Batch batch = make_batch(model, 2, 16, 3);
  const auto loss_of = [&](Backend& backend) {
    backend.zero_gradients();
    backend.forward_backward(batch, 1.0, false, 1, {});
    return backend.pending_losses().at(0).total();
  };
  const double wanted = loss_of(*source);
  EXPECT_NE(loss_of(*target), wanted);
  target->write_state(StateArray::weights, 0, state_of(*source, StateArray::weights));
  EXPECT_EQ(loss_of(*target), wanted);
  EXPECT_EQ(target->forward(batch).total(), wanted) << "inference is the forward pass";
}

TEST_F(CudaBackend, inference_plans_no_training_state) {
  for (const ModelConfig& model : {even_model(), even_gpt2()}) {
    BackendOptions options = options_for(model, 2, 16);
    const auto training = cuda_backend(options, "fp16");
    options.inference = true;
    const auto inference = cuda_backend(options, "fp16");
    const Batch batch = make_batch(model, 2, 16, 3);
    EXPECT_EQ(inference->forward(batch).total(), training->forward(batch).total());
    const std::int64_t state = 12 * ParameterLayout(model).total;  // gradients and two moments
    EXPECT_GE(training->predicted_peak_bytes() - inference->predicted_peak_bytes(), state);
    EXPECT_THROW(inference->forward_backward(batch, 1.0, true, 1, {}), std::invalid_argument);
  }
}

TEST_F(CudaBackend, sums_every_gradient_once_in_buckets_while_backward_runs) {
#ifdef BERT_REAL_DEVICE
  GTEST_SKIP() << "the twin writes where only the emulated device lets the host write";
#endif
  const ModelConfig model = odd_model();
  BackendOptions options = options_for(model, 2, 16);
  UpdateRequest request;
  request.learning_rate = 1e-3;
  std::vector<std::vector<float>> weights;
  std::vector<double> norms;
  TwinCommunicator twin;
  for (const char* way : {"alone", "reduce", "reduce after a search"}) {
    const bool reduce = way != std::string("alone");
    // A micro-step before the first one finds the products' algorithms, and leaves no trace.
    if (way == std::string("reduce after a search")) options.algorithm_cache = "not read here";
    const auto backend = cuda_backend(options, "fp32");
    if (reduce) {
      EXPECT_TRUE(backend->reduce_with(twin, {4000, 0}));
    }
    for (std::int64_t step = 1; step <= 2; ++step) {
      request.update = step;
      backend->zero_gradients();
      for (std::int64_t micro = 0; micro < 2; ++micro) {  // summed in the last alone
        if (reduce && micro == 1) backend->begin_reduction();
        backend->forward_backward(make_batch(model, 2, 16, 3, 4 * step + 2 * micro),
                                  reduce ? 0.25 : 0.5, true, step, {});
      }
      const UpdateResult result = backend->update(request);
      norms.push_back(result.gradient_norm);
      if (reduce) {
        EXPECT_GE(result.communication_s, result.exposed_communication_s);
      }
    }
    weights.push_back(state_of(*backend, StateArray::weights));
  }
  const std::int64_t total = ParameterLayout(model).total;
  EXPECT_EQ(twin.sizes.size(), 4U * static_cast<std::size_t>((total + 999) / 1000));
  EXPECT_EQ(twin.sizes.front(), 1000);
  EXPECT_NEAR(norms[2], norms[0], 1e-6 * norms[0]);
  EXPECT_NEAR(norms[3], norms[1], 1e-6 * norms[1]);
  EXPECT_TRUE(within(1e-6, ParameterLayout(model).parameters, weights[1], weights[0]));
  EXPECT_EQ(weights[2], weights[1]);
}

TEST_F(CudaBackend, refuses_what_it_cannot_do_with_the_reason) {
  const auto message = [](BackendOptions options, const std::string& precision) -> std::string {
    try {
      cuda_backend(options, precision);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  BackendOptions options = options_for(odd_model(), 2, 16);
  EXPECT_THAT(message(options, "fp64"), ::testing::HasSubstr("fp32, tf32, bf16, fp16 and fp8"));
  EXPECT_THAT(message(options, "bf16"), ::testing::HasSubstr("multiples of 8"));
  BackendOptions eights = options_for(even_model(), 2, 16);
  eights.model.intermediate = 200;
  EXPECT_THAT(message(eights, "fp8"), ::testing::HasSubstr("multiples of 16"));
  options.micro_batch_size = 65536;
  EXPECT_THAT(message(options, "fp32"), ::testing::HasSubstr("up to 65535"));
  options.micro_batch_size = 2;
  options.memory_limit_bytes = 1000;
  EXPECT_THAT(message(options, "fp32"), ::testing::HasSubstr("MiB of device memory"));
  options = options_for(odd_model(), 2, 16);
  options.model.hidden = 2112;
  options.model.heads = 33;
  EXPECT_THAT(message(options, "fp32"), ::testing::HasSubstr("up to 2048"));
  options = options_for(odd_gpt2(), 2, 16);
  options.unpadded = true;
  EXPECT_THAT(message(options, "fp32"), ::testing::HasSubstr("all sequences are full"));
}

}  // namespace
}  // namespace bert
